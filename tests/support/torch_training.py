# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tiny private trainings of PyTorch models."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from dperm.noise import NotPrivateBits
from dperm.torch import DPSGD, QuantileClipping

ROWS = 40
KINDS = {"flat": "flat", "per_layer": "per_layer", "normalized": "normalized", "quantile": QuantileClipping()}
GRADES = ("fast", "exact")


def data_of(rows: int = ROWS, width: int = 3, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """The same inputs and labels every time."""
    made = torch.Generator().manual_seed(rows)
    X = torch.randn(rows, width, generator=made, dtype=dtype)
    return X, (X.sum(1) > 0).long()


def model_of(width: int = 3, dtype: torch.dtype = torch.float32) -> nn.Module:
    """A network of two layers, the same every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4600)
        return nn.Sequential(nn.Linear(width, 4), nn.Tanh(), nn.Linear(4, 2)).to(dtype)


def sgd(model: nn.Module, lr: float = 0.5) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=lr)


def plan_of(n: int = ROWS, *, epsilon: float = 2.0, delta: float = 1e-3, adjacency: str = "add_remove", **options: Any):
    """A plan of few steps, of grade fast unless another one is asked for."""
    asked = {"rate": 0.2, "steps": 5, "grade": "fast", **options}
    return DPSGD(asked.pop("clip_norm", 1.0), **asked).plan(n, epsilon, delta, adjacency)


def loss_of(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return functional.cross_entropy(model(x), y, reduction="none")


def walk(private: Any, model: nn.Module, steps: int | None = None) -> int:
    """Take the steps that are left, or fewer; returns how many were taken."""
    taken = 0
    for x, y in private:
        taken += private.step(loss_of(model, x, y))
        if taken == steps:
            break
    return taken


def attached(
    plan: Any, model: nn.Module | None = None, dataset: Any = None, *, seed: int | None = None, **options: Any
):
    """A training of the usual model and data, without rehearsals; with a seed it is reproducible."""
    model = model_of() if model is None else model
    options = {"rehearsal": False, **options}
    bits = None if seed is None else NotPrivateBits(seed)
    return plan.attach(model, sgd(model), data_of() if dataset is None else dataset, bits=bits, **options)


def weights_of(model: nn.Module) -> Tensor:
    """All parameters, in one vector."""
    return torch.cat([value.detach().reshape(-1).double() for value in model.parameters()])
