# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tiny trainings with canaries whose gradients are orthogonal and longer than the clip norm: nearly the worst case."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from dperm.noise import NotPrivateBits
from dperm.torch import DPSGD
from dperm.torch.audit import TrainingCanaries, audit_training, one_hot

CANARIES, FEATURES, REST = 500, 520, 30
DELTA = 1e-5


def margin_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """The logistic loss of targets -1 and +1."""
    return functional.softplus(-targets * outputs[:, 0])


def sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.01)


def data_of() -> tuple[Tensor, Tensor]:
    """Records on features that no canary has."""
    made = torch.Generator().manual_seed(1)
    inputs = torch.zeros(REST, FEATURES)
    inputs[:, CANARIES:] = torch.randn(REST, FEATURES - CANARIES, generator=made)
    return inputs, torch.sign(inputs.sum(1))


def canaries_of(seed: int = 0, *, replaced: bool = False) -> TrainingCanaries:
    """One-hot inputs; where they are replaced, then by the same of the other class, of the opposite gradient."""
    found = one_hot(CANARIES, torch.tensor(1.0), shape=(FEATURES,), scale=10.0, seed=seed)
    inputs, targets = found.records
    return TrainingCanaries((inputs, targets), alternatives=(inputs, -targets), seed=seed) if replaced else found


def linear() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4700)
        return nn.Linear(FEATURES, 1)


def plan_of(epsilon: float = 2.0, *, adjacency: str = "add_remove", **options: Any) -> Any:
    asked = {"rate": 1.0, "steps": 3, "grade": "exact", **options}
    return DPSGD(**asked).plan(CANARIES + REST, epsilon, DELTA, adjacency)


def audited(plan: Any, seed: int = 0, **options: Any):
    """The finding of a reproducible training of a linear model."""
    replaced = plan.adjacency.value == "replace_one"
    return audit_training(
        plan,
        linear(),
        canaries_of(seed, replaced=replaced),
        dataset=data_of(),
        loss=margin_loss,
        optimizer=sgd,
        bits=NotPrivateBits(seed),
        **options,
    )
