# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Splitting off "every step is small": the near-atom of compositions in which almost surely nothing is sampled."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri_exp

from dperm.accounting.contour.closing import NotClosedError
from dperm.accounting.contour.product import Factors, SplitProduct
from dperm.accounting.contour.step import ContourStep, SmoothWindow
from dperm.accounting.contour.table import StepTable
from dperm.accounting.laws.law import Array
from dperm.accounting.special import log_kappa

LEVELS = np.geomspace(0.9, 1e-5, 23)  # borders tried, as shares of epsilon


@dataclass(frozen=True)
class NearAtom:
    """Chernoff bound on the part of delta due to "all steps left".

    E^{height - c eps}, plus mass left beyond its stop.
    """

    height: float
    c: float
    stray: float

    def bound(self, epsilon: float) -> float:
        """Return an upper bound on the near-atom's part of delta(epsilon)."""
        return math.exp(min(self.height - self.c * epsilon, 0.0)) + self.stray


def split(
    factors: Factors, steps: list[tuple[ContourStep, int]], epsilon: float, log_goal: float
) -> tuple[SplitProduct, NearAtom]:
    """The highest border whose left side contributes at most e^log_goal to delta(epsilon)."""
    c = np.geomspace(1.0, 3e4, 24) / epsilon
    z = -float(ndtri_exp(log_goal - math.log(2 * sum(count for _, count in steps))))
    for level in epsilon * LEVELS:
        borders = [_border(step, float(level)) for step, _ in steps]
        height = factors.log_real(c) + log_kappa(c) + 1e-6
        for (step, count), (place, width) in zip(steps, borders, strict=True):
            height = height + count * _left_mass(step, place, width, z, c)
        best = int(np.argmin(height - c * epsilon))
        if height[best] - c[best] * epsilon <= log_goal - math.log(2):
            near = NearAtom(float(height[best]), float(c[best]), math.exp(log_goal) / 2)
            return _product(factors, steps, borders), near
    raise NotClosedError("split")


def _border(step: ContourStep, level: float) -> tuple[float, float]:
    """(place, width) of the border where the loss is ``level``."""
    low, high = step.low, step.high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if float(step.loss(np.array([middle]))[0]) < level else (low, middle)
    return low, min(step.law.sigma / 4, step.v / 2)


def _left_mass(step: ContourStep, place: float, width: float, z: float, c: Array) -> Array:
    """Log of the left side's E e^{cL}, stopped at place + z width (the mass beyond is at most Phi(-z))."""
    left = step.windowed(SmoothWindow(place, width, -1.0), step.low, place + z * width)
    return StepTable.of(left, 2.0).log_mass(c, checked=False)


def _product(
    factors: Factors, steps: list[tuple[ContourStep, int]], borders: list[tuple[float, float]]
) -> SplitProduct:
    lefts, rights = [], []
    for (step, count), (place, width) in zip(steps, borders, strict=True):
        lefts.append((step.windowed(SmoothWindow(place, width, -1.0), step.low, step.high), count))
        pull = place * width**2 / step.v  # the normal density draws the right side's weight below the border
        rights.append((step.windowed(SmoothWindow(place, width, 1.0), place - pull - 14 * width, step.high), count))
    return SplitProduct(factors, lefts, rights)
