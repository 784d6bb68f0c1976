# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Runs of a model that leave no trace: random numbers, buffers and attributes are afterwards as they were."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from dperm.torch.engine.held import Held

SEED = 20_260_101
"""Of torch's own generators during a check: dropout must drop the same every time."""


@contextmanager
def untouched(model: nn.Module) -> Iterator[Held]:
    """Restore what runs of the model change: torch's generators, parameters, buffers, and its attributes."""
    devices = sorted({p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"})
    held = Held.by(model)
    with torch.random.fork_rng(devices):
        try:
            yield held
        finally:
            held.restore()


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Nothing is dropped by the layers of torch, which stay in the mode in which they are."""
    kept = list(_dropout_rates(model))
    for module, name, _ in kept:
        setattr(module, name, 0.0)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def has_dropout(model: nn.Module) -> bool:
    """Whether a layer of torch in training mode drops values."""
    return any(module.training for module, _, _ in _dropout_rates(model))


def _dropout_rates(model: nn.Module) -> Iterator[tuple[nn.Module, str, float]]:
    """Layers that drop values, each with the attribute that holds its positive rate."""
    for module in model.modules():
        name = "p" if isinstance(module, _DropoutNd) else "dropout"
        value = getattr(module, name, None)
        if isinstance(value, float) and value > 0:
            yield module, name, value


def seeded() -> None:
    """Begin again with the same random numbers; only inside of `untouched`."""
    torch.default_generator.manual_seed(SEED)
    if torch.cuda.is_initialized():
        for generator in torch.cuda.default_generators:
            generator.manual_seed(SEED)
