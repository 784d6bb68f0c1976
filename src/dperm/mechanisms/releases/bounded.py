# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers clipped to public bounds and put on a public grid, as integers.

Sums of doubles depend on the order of the records and lose what cancels, so their sensitivity is not the one of the
theorem. Here each record becomes an integer first, by a function of that record alone:

    q(x) = clip(rint(x / g), ceil(low / g), floor(high / g)),

g a power of two that follows from the bounds. Then g q(x) lies in [low, high] exactly, replacing a record moves the sum
by at most (high - low)/g, adding one by at most max(|low|, |high|)/g, and integers are summed exactly in any order. A
number within the bounds moves by at most g <= 2^-31 (high - low).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dperm.mechanisms.releases import records, sensitivities
from dperm.mechanisms.releases.fixed_point import Totals
from dperm.noise.arrays import Floats, Integers
from dperm.privacy import Adjacency
from dperm.privacy.rounding import round_up

FINENESS = 31
"""The step g is at most 2^-31 of the width, and more than half of that."""
BLOCK = 2**20
"""Records per block: their integers are below 2^33, and sum to less than 2^53."""


@dataclass(frozen=True)
class ClippedNumbers:
    """Numbers in [low, high] as integers relative to the middle of the interval; `parameters.interval` checked both.

    The ends ``lowest`` and ``highest`` of the grid have equal parity, so that the middle is a point of the grid and no
    integer is farther from it than ``radius``: g radius <= (high - low)/2, exactly.
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval, rounded up."""
        return round_up(Fraction(self.high) - Fraction(self.low))

    @cached_property
    def exponent(self) -> int:
        """The step is g = 2^exponent."""
        return math.frexp(self.high - self.low)[1] - 1 - FINENESS

    @property
    def step(self) -> Fraction:
        """The step g."""
        return Fraction(2) ** self.exponent

    @cached_property
    def lowest(self) -> int:
        """The first point of the grid in the interval."""
        return math.ceil(Fraction(self.low) / self.step)

    @cached_property
    def highest(self) -> int:
        """The last one whose distance from the first is even."""
        last = math.floor(Fraction(self.high) / self.step)
        return last - (last - self.lowest) % 2

    @property
    def middle(self) -> int:
        """The point in the middle."""
        return (self.lowest + self.highest) // 2

    @property
    def radius(self) -> int:
        """The distance from the middle to both ends."""
        return (self.highest - self.lowest) // 2

    def integers(self, values: Floats) -> Integers:
        """q(x) - middle for each number: x is clipped first, so x / g is below 2^53 and exact."""
        inside = np.clip(values, self.low, self.high)
        steps = np.clip(np.rint(np.ldexp(inside, -self.exponent)), self.lowest, self.highest)
        return steps.astype(np.int64) - self.middle

    def sums(self, data: ArrayLike) -> Totals:
        """The sum of q(x) - middle over all numbers, exactly."""
        values = records.column(data)
        parts = (self.integers(values[start : start + BLOCK]) for start in range(0, len(values), BLOCK))
        return Totals([sum(int(part.sum()) for part in parts)], len(values))

    def sensitivity(self, adjacency: Adjacency) -> tuple[float, float]:
        """Of the sum of the numbers, in L1 and L2."""
        one = sensitivities.sum_in_bounds(self.low, self.high, adjacency)
        return one, one
