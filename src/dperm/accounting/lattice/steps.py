# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of a composition prepared for the lattice engine."""

import math

from dperm.accounting.composition import Composition
from dperm.accounting.lattice.step import StepLaw
from dperm.accounting.laws.gaussian import GaussianLoss

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
