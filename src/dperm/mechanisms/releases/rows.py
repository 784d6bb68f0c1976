# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rows clipped to a public L2 norm and put on a public grid, as integers.

A row is clipped by a function of that row alone, to the last bit: whatever is summed over its entries is summed in
integers, where the order does not matter, and doubles meet elementwise operations only, each correctly rounded. The
last word has an exact comparison: sum q_i^2 <= floor(C^2/g^2) in integers, so ||g q||_2 <= C, whatever happened before.

A row within the ball moves by at most g/2 in each entry, or by g if rounding to nearest would lead out of the ball. A
row outside is scaled to the sphere, with a relative error of about 2^-20 besides the grid's, and never beyond.
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

Mask = NDArray[np.bool_]

MOST_BITS = 30
BLOCK = 2**20
"""Entries per block; sums of fewer than 2^20 integers of 30 bits are exact in int64."""
SHRINK = 20
"""A row that is still outside is shrunk by a relative 2^-20, then 2^-19, 2^-18, ..., until it is inside."""


def square_bits(dim: int) -> int:
    """The largest b such that the squares of ``dim`` integers up to 2^b sum to at most 2^62."""
    return (62 - (dim - 1).bit_length()) // 2


@dataclass(frozen=True)
class ClippedRows:
    """Rows of ``dim`` numbers with L2 norm at most ``norm``, as integers of ``bits`` bits."""

    norm: float
    dim: int
    bits: int = MOST_BITS

    @property
    def magnitude(self) -> int:
        """The exponent k with 2^(k - 1) <= norm < 2^k."""
        return math.frexp(self.norm)[1]

    @property
    def exponent(self) -> int:
        """The step is g = 2^exponent: ``bits`` binary digits below the norm, fewer if their squares could overflow."""
        return self.magnitude - min(self.bits, square_bits(self.dim))

    @property
    def step(self) -> Fraction:
        """The step g."""
        return Fraction(2) ** self.exponent

    @cached_property
    def largest(self) -> int:
        """The largest squared norm of a row in steps: floor(C^2/g^2), below 2^60."""
        return math.floor((Fraction(self.norm) / self.step) ** 2)

    @property
    def middle(self) -> int:
        """The point that rows are relative to: the origin."""
        return 0

    def sums(self, data: ArrayLike) -> Totals:
        """The sums of the columns, exactly."""
        rows = records.rows(data, self.dim)
        parts = (block.sum(axis=0).tolist() for block in self.blocks(rows))
        return Totals([sum(column) for column in zip(*parts, strict=True)], len(rows))

    def sensitivity(self, adjacency: Adjacency) -> tuple[float, float]:
        """Of the sum of the rows, in L1 and L2."""
        return (
            sensitivities.sum_of_rows_l1(self.norm, self.dim, adjacency),
            sensitivities.sum_of_rows_l2(self.norm, adjacency),
        )

    def blocks(self, rows: Floats, most: int | None = None) -> Iterator[Integers]:
        """The clipped rows as integers, at most ``most`` rows at a time."""
        height = min(most or BLOCK, max(1, BLOCK // self.dim))
        for start in range(0, len(rows), height):
            yield self.integers(rows[start : start + height])

    def integers(self, rows: Floats) -> Integers:
        """Each row in steps: rounded to nearest, towards zero if that is outside, and shrunk until it is inside."""
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
        """The rows over 2^magnitude, scaled to the ball of radius c = norm / 2^magnitude as doubles can.

        Each row is first divided by a power of two 2^k >= its largest entry (k = magnitude for small rows), so that
        nothing overflows; y is the quotient. Then x / 2^magnitude = y 2^(k - magnitude), and inside the ball the row is
        y min(2^(k - magnitude), c / ||y||).
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
        """Which rows have a squared norm above the largest one: exact, since none is far outside."""
        return np.asarray((steps * steps).sum(axis=1) > self.largest)


def _norms(rows: Floats, bits: int) -> Floats:
    """L2 norms of rows with entries up to 1, from ``bits`` binary digits of each entry, in any order of summation."""
    steps = np.rint(np.ldexp(rows, bits)).astype(np.int64)
    squares = (steps * steps).sum(axis=1).astype(np.float64)
    return np.asarray(np.ldexp(np.sqrt(squares), -bits), dtype=np.float64)


def _shrunk(steps: Integers, shrink: int) -> Integers:
    """Times 1 - 2^-shrink, rounded towards zero."""
    return np.asarray(np.sign(steps) * ((np.abs(steps) * (2**shrink - 1)) >> shrink), dtype=np.int64)
