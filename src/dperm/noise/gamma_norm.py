# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact gamma-norm noise (T7, T7a) on the grid: density proportional to e^(-||x||_2 / s), then rounded.

Let d be the dimension. The distribution is a scale mixture of Gaussians, whose variance is s^2 times a chi-square
variable with d + 1 degrees of freedom. So

    X = s ||H|| G,    G ~ N(0, I_d) and H ~ N(0, I_{d+1}) independent.

(By conditioning: the integral over v of v^{(d+1)/2 - 1} e^{-v/2} v^{-d/2} e^{-r^2/2v} dv is proportional to e^-r.) For
d = 1 this is the Laplace distribution.

The sampler draws digits of the normal variables on demand, and computes lower and upper bounds in integers. Rounding to
the grid comes last, so the result is exactly round(X). For a value v on the grid, v + round(X) = round(v + X). The
release therefore amounts to post-processing v + X, which satisfies pure DP.
"""

import math
from typing import NamedTuple, cast

import numpy as np

from dperm import checks
from dperm.noise.arrays import Integers
from dperm.noise.bits import Stream
from dperm.noise.integer_noise import LARGEST_SCALE, SMALLEST_SCALE
from dperm.noise.lazy_reals import FIRST_BITS, WORD, LazyReal
from dperm.noise.rational_bounds import round_outward
from dperm.noise.sampler import draws
from dperm.noise.shapes import NORMAL
from dperm.noise.strips import strip_table

MOST_DIM = 2**20
STRIP_BITS = NORMAL.strips_per_scale_bits - 1
"""At a scale of a power of two, a strip is exactly 2^-5 wide."""
SHORT = 2**10
"""Longest row drawn in batches; for longer rows batches save no time."""


def gamma_norm(scale: float, dim: int, stream: Stream) -> Integers:
    """Draw a vector of ``dim`` integers round(X), where X has density proportional to e^(-||x||_2 / scale).

    Parameters
    ----------
    scale
        Scale of the distribution in units of the grid, at least 2^-4 and at most 2^52 / sqrt(dim + 1).
    dim
        Number of coordinates, at most 2^20.
    stream
        Stream of random bits.

    Returns
    -------
    ndarray of int64
        The rounded vector, in units of the grid.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    **Guarantees.** The distribution is exact if the random bits are ideal (T7, T7a, T10): the sampler reads random
    digits until the rounded value of every coordinate is determined. With scale = sensitivity / epsilon, the noise
    gives pure epsilon-DP for values on the grid with this L2 sensitivity, in units of the grid.
    """
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


def gamma_norm_rows(scale: float, dim: int, rows: int, stream: Stream) -> Integers:
    """Draw ``rows`` independent vectors of ``dim`` integers, one per row (T7, T10).

    Each row has the distribution of `gamma_norm`. For ``rows=1``, the row equals the result of `gamma_norm` on the same
    stream.

    Parameters
    ----------
    scale, dim, stream
        See `gamma_norm`.
    rows
        Number of rows, at least 0.

    Returns
    -------
    ndarray of int64
        Array with ``rows`` rows and ``dim`` columns.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    rows = checks.count("rows", rows, least=0)
    if dim > SHORT or rows <= 1:
        drawn = [gamma_norm(scale, dim, stream) for _ in range(rows)]
        return np.array(drawn, dtype=np.int64).reshape(rows, dim)
    gamma_norm(scale, dim, stream)  # checks the arguments
    normals, width = _Normals((2 * dim + 1) * rows, stream), 2 * dim + 1
    out = np.array([_row(normals, start, dim, scale) for start in range(0, rows * width, width)], dtype=np.int64)
    negative = normals.negative.reshape(rows, width)[:, :dim]
    return np.where(negative, -out, out)


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
        """Draw 64 further digits of each number; lazy numbers draw their own."""
        self.bits += WORD
        digits = self.stream.words(len(self.low))
        self.low = [(low << WORD) | digit for low, digit in zip(self.low, digits.tolist(), strict=True)]
        self.high = [low + 1 for low in self.low]
        for place, real in self.lazy.items():
            self.low[place], self.high[place] = round_outward(real.bounds(self.bits), self.bits)


def _rounded(normals: _Normals, dim: int, scale: float) -> list[int] | None:
    """Return round(s ||H|| |G_i|) for every i, or None if the digits so far do not decide one of them."""
    numerator, denominator = scale.as_integer_ratio()  # the denominator is a power of two
    point = 2 * (normals.bits + STRIP_BITS) + denominator.bit_length() - 1
    half = 1 << (point - 1)
    low = math.isqrt(sum(h * h for h in normals.low[dim:])) * numerator
    high = (math.isqrt(sum(h * h for h in normals.high[dim:])) + 1) * numerator
    rounded = [(g * low + half) >> point for g in normals.low[:dim]]
    return rounded if rounded == [(g * high + half) >> point for g in normals.high[:dim]] else None


class _Part(NamedTuple):
    """Normals of one row, in the form read by `_rounded`."""

    low: list[int]
    high: list[int]
    bits: int


def _row(normals: _Normals, start: int, dim: int, scale: float) -> list[int]:
    """Return the magnitudes of one row; all normals get more digits while one magnitude is undecided."""
    stop = start + 2 * dim + 1
    while True:
        part = _Part(normals.low[start:stop], normals.high[start:stop], normals.bits)
        rounded = _rounded(cast(_Normals, part), dim, scale)
        if rounded is not None:
            return rounded
        normals.extend()
