# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact gamma-norm noise (T7, T7a) on the grid: density proportional to e^-||x||_2 / s, then rounded.

The law is a scale mixture of Gaussians whose variance is s^2 times a chi-square of d + 1 degrees of freedom, so

    X = s ||H|| G,    G ~ N(0, I_d) and H ~ N(0, I_{d+1}) independent.

(By conditioning: the integral over v of v^{(d+1)/2 - 1} e^{-v/2} v^{-d/2} e^{-r^2/2v} dv is proportional to e^-r.) For
d = 1 this is the Laplace law. The normals come with digits on demand, the arithmetic is in integers with bounds on both
sides, and rounding to the grid comes last: what is returned is round(X), exactly, and v + round(X) = round(v + X) is a
post-processing of the pure mechanism.
"""

import math

import numpy as np

from dperm import checks
from dperm.noise.arrays import Integers
from dperm.noise.bits import Stream
from dperm.noise.exact import outward
from dperm.noise.lazy import FIRST_BITS, WORD, LazyReal
from dperm.noise.rounded import LARGEST_SCALE, SMALLEST_SCALE
from dperm.noise.sampler import draws
from dperm.noise.shapes import NORMAL
from dperm.noise.strips import strip_table

MOST_DIM = 2**20
STRIP_BITS = NORMAL.strips_per_scale_bits - 1
"""At a scale that is a power of two, a strip is exactly 2^-5 wide."""


def gamma_norm(scale: float, dim: int, stream: Stream) -> Integers:
    """One vector of ``dim`` integers round(X), X of density proportional to e^-||x||_2 / scale (T7, T10)."""
    dim = checks.count("dim", dim, most=MOST_DIM)
    largest = LARGEST_SCALE / math.sqrt(dim + 1)  # one coordinate deviates by sqrt(d + 1) scales
    scale = checks.between("scale", scale, SMALLEST_SCALE, largest, "It is b in units of the grid.")
    normals = _Normals(2 * dim + 1, stream)
    while True:
        rounded = _rounded(normals, dim, scale)
        if rounded is not None:
            signs = np.where(normals.negative[:dim], -1, 1)
            return np.array(rounded, dtype=np.int64) * signs
        normals.extend()


class _Normals:
    """Magnitudes of independent standard normals as integers: z lies in [low, high] 2^-(bits + 5)."""

    def __init__(self, size: int, stream: Stream) -> None:
        blocks = list(draws(strip_table(NORMAL, 1.0), size, stream))
        self.stream = stream
        self.bits = FIRST_BITS
        self.negative = np.concatenate([block.negative for block in blocks])
        self.low = np.concatenate([block.fixed for block in blocks]).tolist()
        self.lazy: dict[int, LazyReal] = {}
        start = 0
        for block in blocks:
            self.lazy |= {start + place: real for place, real in block.lazy.items()}
            start += len(block.fixed)
        self.extend()

    def extend(self) -> None:
        """Draw 64 further digits of each number; those that began lazily draw their own."""
        self.bits += WORD
        digits = self.stream.words(len(self.low))
        self.low = [(low << WORD) | digit for low, digit in zip(self.low, digits.tolist(), strict=True)]
        self.high = [low + 1 for low in self.low]
        for place, real in self.lazy.items():
            self.low[place], self.high[place] = outward(real.bounds(self.bits), self.bits)


def _rounded(normals: _Normals, dim: int, scale: float) -> list[int] | None:
    """round(s ||H|| |G_i|) for every i, or None if the digits so far do not decide one of them."""
    numerator, denominator = scale.as_integer_ratio()  # the denominator is a power of two
    point = 2 * (normals.bits + STRIP_BITS) + denominator.bit_length() - 1
    half = 1 << (point - 1)
    low = math.isqrt(sum(h * h for h in normals.low[dim:])) * numerator
    high = (math.isqrt(sum(h * h for h in normals.high[dim:])) + 1) * numerator
    rounded = [(g * low + half) >> point for g in normals.low[:dim]]
    return rounded if rounded == [(g * high + half) >> point for g in normals.high[:dim]] else None
