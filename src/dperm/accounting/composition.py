# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Composition of one direction: independent losses with their repetition counts (T15, T23)."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.law import LossLaw


@dataclass(frozen=True)
class Composition:
    """Privacy loss distributions with repetition counts. Equal ones are merged, and all Gaussian ones (T19)."""

    steps: tuple[tuple[LossLaw, int], ...]

    @classmethod
    def of(cls, steps: Iterable[tuple[LossLaw, int]]) -> "Composition":
        """Merge equal laws, and combine all Gaussian laws by adding their variances."""
        merge = _Merge()
        for law, count in steps:
            law.place(count, merge)
        return cls(merge.steps())

    @property
    def infinity_bracket(self) -> tuple[float, float]:
        """Bounds on the mass at L = +infinity, 1 - prod (1 - infinity_i)^count_i; exact if only one step has any."""
        failing = [(law.infinity, count) for law, count in self.steps if law.infinity]
        if not failing:
            return 0.0, 0.0
        if len(failing) == 1 and failing[0][1] == 1:
            return failing[0][0], failing[0][0]
        if max(mass for mass, _ in failing) >= 1:
            return 1.0, 1.0
        total = -math.expm1(math.fsum(count * math.log1p(-mass) for mass, count in failing))
        return total * (1 - 1e-14), min(total * (1 + 1e-14), 1.0)

    @property
    def ceiling(self) -> float:
        """Largest possible finite loss, rounded up."""
        if self.count == 1:
            return self.steps[0][0].ceiling
        return math.fsum(count * law.ceiling for law, count in self.steps if law.ceiling) * (1 + 4e-16)

    @property
    def count(self) -> int:
        """Total number of steps, repetitions included."""
        return sum(count for _, count in self.steps)


class _Merge:
    """Collector of laws by kind (a `Parts`)."""

    tail = 1e-40

    def __init__(self) -> None:
        self._variances: list[float] = []
        self._counts: Counter[LossLaw] = Counter()

    def gaussian(self, variance: float) -> None:
        self._variances.append(variance)

    def smooth(self, law: LossLaw, count: int) -> None:
        self._counts[law] += count

    def closed(self, law: LossLaw, count: int) -> None:
        self._counts[law] += count

    def steps(self) -> tuple[tuple[LossLaw, int], ...]:
        variance = math.fsum(self._variances)
        plain = ((GaussianLoss(math.sqrt(variance)), 1),) if variance else ()
        return (*plain, *self._counts.items())
