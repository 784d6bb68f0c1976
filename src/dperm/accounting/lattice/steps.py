# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of a composition prepared for the lattice engine, and their interface: less than a whole `LossLaw`."""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dperm.accounting.composition import Composition
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.law import Array

BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.int64]


class StepLaw(Protocol):
    """Privacy loss distribution of one step under P, given that the loss is finite. Every `LossLaw` is one."""

    def support(self, tail: float) -> tuple[float, float]:
        """[low, high] with P(L > high) <= tail and P(L < low) <= tail (atoms inside)."""

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return (loss, P-mass) of every atom."""

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """P- and Q-mass of the continuous part between consecutive (increasing) borders of L."""


MOST_VARIANCE = 4.0


class _Collect:
    """Sorts the laws (a `Parts`)."""

    tail = 1e-40

    def __init__(self) -> None:
        self.variance = 0.0
        self.steps: list[tuple[StepLaw, int]] = []

    def gaussian(self, variance: float) -> None:
        self.variance += variance

    def smooth(self, law: StepLaw, count: int) -> None:
        self.steps.append((law, count))

    def closed(self, law: StepLaw, count: int) -> None:
        self.steps.append((law, count))


def lattice_steps(composition: Composition) -> list[tuple[StepLaw, int]]:
    """Laws and counts, the Gaussian part cut into equal steps (T19): one with a large mean would underflow in Q."""
    parts = _Collect()
    for law, count in composition.steps:
        law.place(count, parts)
    if parts.variance:
        count = max(1, math.ceil(parts.variance / MOST_VARIANCE))
        parts.steps.append((GaussianLoss(math.sqrt(parts.variance / count)), count))
    return parts.steps
