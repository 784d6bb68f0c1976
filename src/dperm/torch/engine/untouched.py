# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Runs of a model that leave no trace: random numbers, buffers and attributes are afterwards as they were."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

SEED = 20_260_101
"""Of torch's own generators during a check: dropout must drop the same every time."""


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Restore what runs of the model change: torch's generators, buffers, tensors that are attributes."""
    devices = sorted({p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"})
    kept = [(module, dict(module._buffers), dict(vars(module))) for module in model.modules()]
    values = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    with torch.random.fork_rng(devices):
        try:
            yield
        finally:
            for module, buffers, attributes in kept:
                module._buffers.update(buffers)
                own = vars(module)
                own.update({k: v for k, v in attributes.items() if _is_plain(v)})
                for name in [name for name, v in own.items() if name not in attributes and isinstance(v, Tensor)]:
                    del own[name]
            with torch.no_grad():
                for buffer, value in values:
                    if not _same(buffer, value):
                        buffer.copy_(value)


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Nothing is dropped by the layers of torch, which stay in the mode in which they are."""
    kept: list[tuple[nn.Module, str, float]] = []
    for module in model.modules():
        name = "p" if isinstance(module, _DropoutNd) else "dropout"
        value = getattr(module, name, None)
        if isinstance(value, float) and value > 0:
            kept.append((module, name, value))
            setattr(module, name, 0.0)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def seeded() -> None:
    """Begin again with the same random numbers; only inside of `untouched`."""
    torch.default_generator.manual_seed(SEED)
    if torch.cuda.is_initialized():
        for generator in torch.cuda.default_generators:
            generator.manual_seed(SEED)


def changed_buffer(model: nn.Module, before: dict[str, Tensor]) -> str | None:
    """The name of a buffer or parameter that is not what it was."""
    now: dict[str, Tensor] = {**dict(model.named_buffers()), **dict(model.named_parameters())}
    return next((name for name, value in before.items() if name not in now or not _same(now[name], value)), None)


def buffers_of(model: nn.Module) -> dict[str, Tensor]:
    """Copies of all buffers and parameters."""
    held = (*model.named_buffers(), *model.named_parameters())
    return {name: value.detach().clone() for name, value in held}


def _same(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _is_plain(value: Any) -> bool:
    """Whether an attribute is restored: tensors, and what counts calls."""
    return value is None or isinstance(value, Tensor | int | float | bool | str)
