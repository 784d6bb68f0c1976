# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact totals as doubles: a public step, a public limit, and the rounding error of the step (T10).

A total is an exact integer in units of 2^unit, so it does not depend on the order of the records. Noise is added to
doubles, and doubles represent all integers only up to 2^53. So a total is rounded to the nearest multiple of a coarser
public step s and clamped to 2^53 steps:

- Clamping is 1-Lipschitz in each coordinate, so it raises no sensitivity.
- Rounding moves each coordinate by at most s/2. The mechanism declares this as its numerical error, s/2 d^(1/p) in the
  p-norm, and adds it twice to the sensitivity.

With s at most 2^-20 Delta / sqrt(d) this costs a relative 2^-20 of noise in L2. The limit is 2^33 / sqrt(d) times the
sensitivity, that is, billions of records.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dperm.noise.arrays import Floats
from dperm.noise.grid import Norm, root_up

SHARE = 20
"""A step is at most 2^-20 of the L2 sensitivity over sqrt(d), and more than half of that."""
LIMIT = 2**53
"""Totals are clamped to this many steps; every integer up to it is a double."""


class Totals(NamedTuple):
    """Exact totals in units of 2^unit, and the number of records. Not private."""

    values: list[int]
    records: int


def add_totals(one: Totals, other: Totals) -> Totals:
    """Return the totals of the records of both."""
    values = [first + second for first, second in zip(one.values, other.values, strict=True)]
    return Totals(values, one.records + other.records)


@dataclass(frozen=True)
class FixedPoint:
    """Exact integers in units of 2^unit, rounded to multiples of 2^step, step >= unit."""

    unit: int
    step: int

    @property
    def rounding(self) -> float:
        """Bound s/2 on the rounding error of one coordinate; 0 without rounding."""
        return math.ldexp(0.5, self.step) if self.step > self.unit else 0.0

    def doubles(self, totals: Sequence[int]) -> Floats:
        """Return the totals as doubles, rounded to the step and clamped."""
        steps = [max(-LIMIT, min(LIMIT, self._steps(total))) for total in totals]
        return np.ldexp(np.array(steps, dtype=np.float64), self.step)

    def _steps(self, total: int) -> int:
        shift = self.step - self.unit
        return (total + (1 << shift >> 1)) >> shift


INTEGERS = FixedPoint(0, 0)
"""Fixed-point format of counts, with step 1: integers are not rounded."""


def fixed_point(unit: int, *, l2: float, dim: int = 1) -> FixedPoint:
    """Return the fixed-point format for totals in units of 2^unit with L2 sensitivity ``l2``, from public numbers."""
    _, exponent = math.frexp(l2 / root_up(dim, Norm.L2))
    return FixedPoint(unit, max(unit, exponent - 1 - SHARE))
