# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipping of numbers to an interval and of rows to an L2 norm, as integers on a public grid.

Sums of doubles depend on the order of the records and suffer from cancellation, so their sensitivity is not the
sensitivity in the theorem. Here each record first becomes an integer, by a function of this record alone, and integers
are summed exactly in any order.

**Numbers.** With a power of two g computed from the bounds,

    q(x) = clip(rint(x / g), ceil(low / g), floor(high / g)).

Then g q(x) lies in [low, high] exactly. Replacing a record moves the sum by at most (high - low)/g, adding one by at
most max(|low|, |high|)/g. A number within the bounds moves by at most g <= 2^-31 (high - low).

**Rows.** Sums over the entries of a row are integer sums, and doubles take part only in elementwise operations, each
correctly rounded. The final test is an exact comparison, sum q_i^2 <= floor(C^2/g^2) in integers, so ||g q||_2 <= C in
every case. A row within the ball moves by at most g/2 in each entry, or by g if rounding to nearest would leave the
ball. A row outside is scaled to the sphere with a relative error of about 2^-20 in addition to the error of the grid,
and never leaves the ball.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.mechanisms.releases import records, sensitivities
from dperm.mechanisms.releases.fixed_point import Totals
from dperm.noise.arrays import Floats, Integers
from dperm.privacy import Adjacency
from dperm.privacy.rounding import round_up

Mask = NDArray[np.bool_]

FINENESS = 31
"""The step g is at most 2^-31 of the width, and more than half of that."""
NUMBERS_PER_BLOCK = 2**20
"""Records per block: their integers are below 2^33, and sum to less than 2^53."""
MOST_BITS = 30
ENTRIES_PER_BLOCK = 2**20
"""Entries per block; sums of fewer than 2^20 integers of 30 bits are exact in int64."""
SHRINK = 20
"""A row still outside is shrunk by a relative 2^-20, then 2^-19, 2^-18, ..., until it is inside."""


@dataclass(frozen=True)
class ClippedNumbers:
    """Numbers in [low, high] as integers relative to the middle of the interval.

    The ends ``lowest`` and ``highest`` of the grid have equal parity. So the middle is a grid point, and no integer is
    farther from it than ``radius``: g radius <= (high - low)/2, exactly. `parameters.interval` checks the bounds.
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """Width of the interval, rounded up."""
        return round_up(Fraction(self.high) - Fraction(self.low))

    @cached_property
    def exponent(self) -> int:
        """Exponent of the step g = 2^exponent."""
        return math.frexp(self.high - self.low)[1] - 1 - FINENESS

    @property
    def step(self) -> Fraction:
        """Step g, as a fraction."""
        return Fraction(2) ** self.exponent

    @cached_property
    def lowest(self) -> int:
        """First grid point in the interval, in steps."""
        return math.ceil(Fraction(self.low) / self.step)

    @cached_property
    def highest(self) -> int:
        """Last grid point at an even distance from the first, in steps."""
        last = math.floor(Fraction(self.high) / self.step)
        return last - (last - self.lowest) % 2

    @property
    def middle(self) -> int:
        """Grid point in the middle, in steps."""
        return (self.lowest + self.highest) // 2

    @property
    def radius(self) -> int:
        """Distance from the middle to both ends, in steps."""
        return (self.highest - self.lowest) // 2

    def integers(self, values: Floats) -> Integers:
        """Return q(x) - middle for each number; after clipping, x / g is below 2^53 and exact."""
        inside = np.clip(values, self.low, self.high)
        steps = np.clip(np.rint(np.ldexp(inside, -self.exponent)), self.lowest, self.highest)
        return steps.astype(np.int64) - self.middle

    def sums(self, data: ArrayLike) -> Totals:
        """Return the sum of q(x) - middle over all numbers, exactly. Not private."""
        values = records.column(data)
        parts = (
            self.integers(values[start : start + NUMBERS_PER_BLOCK])
            for start in range(0, len(values), NUMBERS_PER_BLOCK)
        )
        return Totals([sum(int(part.sum()) for part in parts)], len(values))

    def sensitivity(self, adjacency: Adjacency) -> tuple[float, float]:
        """Return the L1 and L2 sensitivities of the sum of the numbers."""
        one = sensitivities.sum_in_bounds(self.low, self.high, adjacency)
        return one, one


def square_bits(dim: int) -> int:
    """Return the largest b for which the squares of ``dim`` integers up to 2^b sum to at most 2^62."""
    return (62 - (dim - 1).bit_length()) // 2


@dataclass(frozen=True)
class ClippedRows:
    """Rows of ``dim`` numbers with L2 norm at most ``norm``, as integers of ``bits`` bits.

    Notes
    -----
    **Guarantees.** Every clipped row satisfies ||g q||_2 <= norm in exact arithmetic and depends on its own row alone.

    ====================  ==============================
    row                   result
    ====================  ==============================
    0                     0
    norm below the bound  rounded to the grid
    norm above the bound  scaled to the sphere
    nan, inf              DataError (`records.rows`)
    ====================  ==============================
    """

    norm: float
    dim: int
    bits: int = MOST_BITS

    @property
    def magnitude(self) -> int:
        """Exponent k with 2^(k - 1) <= norm < 2^k."""
        return math.frexp(self.norm)[1]

    @property
    def exponent(self) -> int:
        """Exponent of the step g: ``bits`` binary digits below the norm, fewer if their squares could overflow."""
        return self.magnitude - min(self.bits, square_bits(self.dim))

    @property
    def step(self) -> Fraction:
        """Step g, as a fraction."""
        return Fraction(2) ** self.exponent

    @cached_property
    def largest(self) -> int:
        """Largest squared norm of a row in steps: floor(C^2/g^2), below 2^60."""
        return math.floor((Fraction(self.norm) / self.step) ** 2)

    @property
    def middle(self) -> int:
        """Reference point of the rows: the origin."""
        return 0

    def sums(self, data: ArrayLike) -> Totals:
        """Return the sums of the columns, exactly. Not private."""
        rows = records.rows(data, self.dim)
        parts = (block.sum(axis=0).tolist() for block in self.blocks(rows))
        return Totals([sum(column) for column in zip(*parts, strict=True)], len(rows))

    def sensitivity(self, adjacency: Adjacency) -> tuple[float, float]:
        """Return the L1 and L2 sensitivities of the sum of the rows."""
        return (
            sensitivities.sum_of_rows_l1(self.norm, self.dim, adjacency),
            sensitivities.sum_of_rows_l2(self.norm, adjacency),
        )

    def blocks(self, rows: Floats, most: int | None = None) -> Iterator[Integers]:
        """Yield the clipped rows as integers, at most ``most`` rows at a time."""
        height = min(most or ENTRIES_PER_BLOCK, max(1, ENTRIES_PER_BLOCK // self.dim))
        for start in range(0, len(rows), height):
            yield self.integers(rows[start : start + height])

    def integers(self, rows: Floats) -> Integers:
        """Return each row in steps: rounded to nearest, or towards zero, and shrunk until it is inside."""
        scaled = np.ldexp(self._scaled(rows), self.magnitude - self.exponent)
        steps = np.rint(scaled).astype(np.int64)
        outside = self._outside(steps)
        steps[outside] = np.trunc(scaled[outside]).astype(np.int64)
        shrink = SHRINK
        while (outside := self._outside(steps)).any():
            steps[outside] = _shrunk(steps[outside], shrink)
            shrink = max(1, shrink - 1)
        return steps

    def _scaled(self, rows: Floats) -> Floats:
        """Return the rows over 2^magnitude, scaled to the ball of radius c = norm / 2^magnitude in floating point.

        Each row is first divided by a power of two 2^k >= its largest entry (k = magnitude for small rows) to avoid
        overflow; y is the quotient. Then x / 2^magnitude = y 2^(k - magnitude), and the row inside the ball is y
        min(2^(k - magnitude), c / ||y||).
        """
        exponents = np.maximum(np.frexp(np.abs(rows).max(axis=1))[1], self.magnitude)
        small = np.ldexp(rows, -exponents[:, np.newaxis])
        factors = np.ldexp(1.0, np.minimum(exponents - self.magnitude, 60))
        norms = _norms(small, square_bits(self.dim))
        radius = math.ldexp(self.norm, -self.magnitude)
        factors = np.where(norms * factors > radius, radius / np.where(norms > 0, norms, 1.0), factors)
        scaled: Floats = small * factors[:, np.newaxis]
        return scaled

    def _outside(self, steps: Integers) -> Mask:
        """Return the rows with a squared norm above the largest one; exact, since no row is far outside."""
        return np.asarray((steps * steps).sum(axis=1) > self.largest)


def _norms(rows: Floats, bits: int) -> Floats:
    """Return L2 norms of rows with entries up to 1, from ``bits`` binary digits of each entry."""
    steps = np.rint(np.ldexp(rows, bits)).astype(np.int64)
    squares = (steps * steps).sum(axis=1).astype(np.float64)
    return np.asarray(np.ldexp(np.sqrt(squares), -bits), dtype=np.float64)


def _shrunk(steps: Integers, shrink: int) -> Integers:
    """Return the steps times 1 - 2^-shrink, rounded towards zero."""
    return np.asarray(np.sign(steps) * ((np.abs(steps) * (2**shrink - 1)) >> shrink), dtype=np.int64)
