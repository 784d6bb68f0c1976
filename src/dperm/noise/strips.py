# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Integer table of strip proposals (T10c).

The half-line is divided into 1,023 strips [k, k + 1) of width h scales, and a tail. With an integer alpha, strip k gets
the integer weight w_k >= alpha e^-cost(kh), the tail a weight of at least alpha times its mass, and all weights sum to
exactly 2^32. A strip is proposed with probability w_k / 2^32, a position u in it uniformly, and the proposal is
accepted with probability

    p(k, u) = alpha e^-cost((k + u) h) / w_k  <= 1,

so accepted positions have exactly the density e^-cost. The weights need only be large enough: their rounding changes
the rejection rate, never the distribution.

A 32-bit word chooses a strip through an integer alias table (Walker 1977, Vose 1991): ten bits select the column, and
22 bits are compared with its threshold. The arrays take 24 kB and fit the first-level cache.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dperm.noise.arrays import Floats
from dperm.noise.rational_bounds import exp_bounds
from dperm.noise.shapes import NoiseShape

COLUMN_BITS = 10
STRIPS = 2**COLUMN_BITS - 1
TOTAL_BITS = 32
TOTAL = 2**TOTAL_BITS
THRESHOLD_BITS = TOTAL_BITS - COLUMN_BITS
MARGIN = 2.0**-30
"""Relative excess of the weights, far above the error of a double's exponential (2^-42 for costs up to 512)."""


@dataclass(frozen=True, eq=False)
class StripTable:
    """Strips of one shape at one scale; the index `strips` denotes the tail."""

    shape: NoiseShape
    scale: float
    exponent: int
    """Base-2 logarithm of a strip's width in grid units."""
    alpha: int
    weights: tuple[int, ...]
    """Weights of the strips, then of the tail; they sum to 2^32."""
    thresholds: NDArray[np.uint32]
    choices: NDArray[np.int16]
    """Each column and its alias: entry 2 c below the threshold, 2 c + 1 from the threshold on."""
    heights: Floats
    """2^32 p(k, 0); NaN for the tail, so every comparison there is undecided."""
    slopes: Floats
    curvature: float

    @property
    def strips(self) -> int:
        """Number of strips before the tail."""
        return len(self.weights) - 1

    @property
    def width(self) -> Fraction:
        """Width h of a strip in scales, exactly."""
        return Fraction(2) ** self.exponent / Fraction(self.scale)


@lru_cache(maxsize=64)
def strip_table(shape: NoiseShape, scale: float, strips: int = STRIPS) -> StripTable:
    """Return the table for noise of ``scale`` grid units; tests use fewer ``strips`` to reach the tail."""
    exponent = math.floor(math.log2(scale)) + 1 - shape.strips_per_scale_bits
    width = math.ldexp(1.0, exponent) / scale
    left = np.arange(strips, dtype=np.float64) * width
    density = np.exp(-shape.costs(left))
    tail = tail_mass(shape, Fraction(2) ** exponent / Fraction(scale), strips)
    alpha = int((TOTAL - 2 * strips - 2) / ((density.sum() + float(tail)) * (1 + 2 * MARGIN)))
    weights = [*np.ceil(alpha * density * (1 + MARGIN)).astype(np.int64).tolist(), math.ceil(alpha * tail)]
    weights[0] += TOTAL - sum(weights)  # the slack is refused in strip 0
    thresholds, choices = alias_table(weights)
    heights = np.append(alpha * density / np.array(weights[:-1]) * TOTAL, np.nan)
    slopes = np.append(shape.slopes(left, width), 0.0)
    return StripTable(
        shape,
        scale,
        exponent=exponent,
        alpha=alpha,
        weights=tuple(weights),
        thresholds=thresholds,
        choices=choices,
        heights=_column_sized(heights),
        slopes=_column_sized(slopes),
        curvature=shape.curvature(width),
    )


def tail_mass(shape: NoiseShape, width: Fraction, strips: int) -> Fraction:
    """Return an upper bound on the mass beyond the strips, in strip widths, under its dominating exponential.

    integral over v > 0 of e^-cost(start) e^-rate v dv / h = e^-cost(start) / (rate h).
    """
    start = strips * width
    return exp_bounds(shape.cost(start), 20)[1] / (shape.tail_rate(start) * width)


def alias_table(weights: list[int]) -> tuple[NDArray[np.uint32], NDArray[np.int16]]:
    """Return (thresholds, choices): column c means itself below its threshold and its alias from there on.

    Every column has 2^22 of the 2^32 equally likely words. The sums are integers, so the table is exact.
    """
    room = 2**THRESHOLD_BITS
    left = [*weights, *[0] * (2**COLUMN_BITS - len(weights))]
    thresholds, aliases = [room] * len(left), list(range(len(left)))
    small = [column for column, weight in enumerate(left) if weight < room]
    large = [column for column, weight in enumerate(left) if weight > room]
    while small:
        column, giver = small.pop(), large[-1]
        thresholds[column], aliases[column] = left[column], giver
        left[giver] -= room - left[column]
        if left[giver] <= room:
            large.pop()
            if left[giver] < room:
                small.append(giver)
    choices = np.column_stack([np.arange(len(left)), aliases]).ravel()
    return np.array(thresholds, dtype=np.uint32), choices.astype(np.int16)


def _column_sized(values: Floats) -> Floats:
    return np.append(values, np.full(2**COLUMN_BITS - len(values), np.nan))
