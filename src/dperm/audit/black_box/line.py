# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Empirical risk minimisation on a line, for many runs at once: all rows lie along one axis."""

from dataclasses import dataclass

import numpy as np

from dperm.erm.loss import Limits
from dperm.erm.spec import ProblemSpec
from dperm.noise.arrays import Floats

Row = tuple[float, float, int]
"""Entry of a bounded row, its target (a sign, or a number in [-1, 1]), and its multiplicity."""
Rows = tuple[Row, ...]
HALVINGS = 64


@dataclass(frozen=True)
class Line:
    """Problem of ``spec`` on rows along one axis; every record has the largest weight."""

    spec: ProblemSpec
    rows: Rows

    def gradient(self, theta: Floats) -> Floats:
        """Return the sum of the records' clipped gradients (T44) at each theta, without the regulariser."""
        total = np.zeros_like(theta)
        for x, target, count in self.rows:
            total += count * self.spec.weight * x * self.spec.loss.slopes(x * theta, np.full(1, target), self._limit(x))
        return total

    def curvature(self, theta: Floats) -> Floats:
        """Return the derivative of `gradient` at each theta, defined almost everywhere."""
        total = np.zeros_like(theta)
        for x, target, count in self.rows:
            bends = self.spec.loss.bends(x * theta, np.full(1, target), self._limit(x))
            total += count * self.spec.weight * x * x * bends
        return total

    def minimiser(self, linear: Floats) -> Floats:
        """Minimise Lambda theta^2 / 2 + losses + linear theta by bisection of its increasing derivative."""
        strength = self.spec.strength
        pull = sum(count for x, _, count in self.rows if x) * self.spec.lipschitz
        low, high = (-linear - pull) / strength, (-linear + pull) / strength
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            rises = strength * middle + self.gradient(middle) + linear > 0
            high = np.where(rises, middle, high)
            low = np.where(rises, low, middle)
        return np.asarray((low + high) / 2)

    def _limit(self, x: float) -> Limits:
        """Return the largest slope of a row, clip / ||x||, or None without clipping."""
        return None if self.spec.clip is None or not x else np.full(1, self.spec.clip / abs(x))
