# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Integer noise: continuous Gaussian or Laplace noise rounded to the grid (T10a), and discrete Laplace noise.

Let N be continuous noise and v a point of the grid gZ^d. Then

    v + g round(N / g) = g round((v + N) / g)

(ties have probability 0). Adding rounded noise to a rounded value therefore amounts to post-processing v + N. Every
theorem about the continuous mechanism holds unchanged, with the sensitivity of the rounded value.

*Discrete* distributions are different (T5a). The discrete Laplace distribution ``P(z) ~ e^(-|z|/s)`` also gives pure DP
for integer sensitivities, but its privacy profile lies above that of the continuous distribution. For a shift of 1, the
total variation distance is tanh(1/(2s)), compared with 1 - e^(-1/(2s)) for the continuous distribution. The accounting
event of discrete Laplace noise is therefore `Pure`, not `Laplace`.
"""

import math
from fractions import Fraction

import numpy as np

from dperm import checks
from dperm.noise.arrays import Integers
from dperm.noise.bits import Stream
from dperm.noise.lazy_reals import FIRST_BITS, LazyReal
from dperm.noise.sampler import BAND, Draws, draws
from dperm.noise.shapes import EXPONENTIAL, NORMAL, NoiseShape
from dperm.noise.strips import STRIPS, StripTable, strip_table

SMALLEST_SCALE = 2.0**-4
LARGEST_SCALE = 2.0**52
_SCALE = "The scale is the noise's standard deviation (Laplace: its scale) in units of the grid."


def rounded_gaussian(scale: float, size: int, stream: Stream, *, band: float = BAND, strips: int = STRIPS) -> Integers:
    """Draw ``size`` independent integers round(X), where X ~ N(0, scale^2), for the Gaussian mechanism (T6, T10).

    Parameters
    ----------
    scale
        Standard deviation in units of the grid, from 2^-4 to 2^52.
    size
        Number of draws.
    stream
        Stream of random bits.
    band, strips
        Tuning constants for tests, which set how often the sampler uses exact arithmetic and how often it draws from
        the tail. The distribution does not depend on these constants.

    Returns
    -------
    ndarray of int64
        The noise in units of the grid.

    Notes
    -----
    **Guarantees.** The distribution is exact if the random bits are ideal (T10a, T10c).

    ==============  ======================
    argument        result
    ==============  ======================
    size 0          empty array
    scale nan, inf  ParameterError
    scale <= 0      ParameterError
    ==============  ======================
    """
    return _rounded(_table(NORMAL, scale, strips), _size(size), stream, band)


def rounded_laplace(scale: float, size: int, stream: Stream, *, band: float = BAND, strips: int = STRIPS) -> Integers:
    """Draw ``size`` independent integers round(X), where X has a Laplace distribution of scale s (T5, T10).

    ``P(0) = 1 - e^(-1/(2s))``, and ``P(z) = e^(-|z|/s) sinh(1/(2s))`` for all other integers z. The Laplace
    mechanism uses this noise. Like continuous Laplace noise, it gives pure DP (T5a).

    Parameters
    ----------
    scale
        Scale s of the Laplace distribution in units of the grid, from 2^-4 to 2^52.
    size
        Number of draws.
    stream
        Stream of random bits.
    band, strips
        See `rounded_gaussian`.

    Returns
    -------
    ndarray of int64
        The noise in units of the grid.

    Notes
    -----
    **Guarantees.** The distribution is exact if the random bits are ideal (T10a, T10c).

    The edge cases are those of `rounded_gaussian`.
    """
    return _rounded(_table(EXPONENTIAL, scale, strips), _size(size), stream, band)


def discrete_laplace(scale: float, size: int, stream: Stream, *, band: float = BAND, strips: int = STRIPS) -> Integers:
    """Draw ``size`` independent integers with ``P(z) = tanh(1/(2s)) e^(-|z|/s)`` (T5, T5a).

    The noise gives pure DP for statistics with integer values.

    If E is an exponential variable with mean 1, floor(s E) has a geometric distribution. The sampler attaches a fair
    random sign to floor(s E) and rejects minus zero, which gives the distribution above.

    Parameters
    ----------
    scale
        Scale s of the distribution, from 2^-4 to 2^52.
    size
        Number of draws.
    stream
        Stream of random bits.
    band, strips
        See `rounded_gaussian`.

    Returns
    -------
    ndarray of int64
        The noise, as integers.

    Notes
    -----
    **Guarantees.** The distribution is exact if the random bits are ideal (T5a, T10c).

    The edge cases are those of `rounded_gaussian`.
    """
    table, size = _table(EXPONENTIAL, scale, strips), _size(size)
    out, filled = np.empty(size, dtype=np.int64), 0
    while filled < size:
        for block in draws(table, size - filled, stream, band=band):
            magnitudes = _floors(table, block, 0)
            values = _signed(magnitudes, block)[~block.negative | (magnitudes > 0)]
            out[filled : filled + len(values)] = values
            filled += len(values)
    return out


def _rounded(table: StripTable, size: int, stream: Stream, band: float) -> Integers:
    out, filled = np.empty(size, dtype=np.int64), 0
    for block in draws(table, size, stream, band=band):
        values = _signed(_floors(table, block, 1), block)
        out[filled : filled + len(values)] = values
        filled += len(values)
    return out


def _floors(table: StripTable, block: Draws, halves: int) -> Integers:
    """Return floor(y + halves/2) for the magnitudes y in grid units; 53 digits after a strip's point always suffice."""
    shift = FIRST_BITS - table.exponent
    found = ((block.fixed + np.uint64(halves << (shift - 1))) >> np.uint64(shift)).view(np.int64)
    for position, place in block.lazy.items():
        found[position] = _floor(place, Fraction(2) ** table.exponent, Fraction(halves, 2))
    return found


def _floor(place: LazyReal, width: Fraction, offset: Fraction) -> int:
    """Return floor(width y + offset), reading digits of y until both bounds agree."""
    bits = 128
    while True:
        low, high = (math.floor(bound * width + offset) for bound in place.bounds(bits))
        if low == high:
            return low
        bits *= 2


def _signed(magnitudes: Integers, block: Draws) -> Integers:
    sign = -block.negative.astype(np.int64)  # 0 or -1: (z ^ sign) - sign is z or -z
    return (magnitudes ^ sign) - sign


def _table(shape: NoiseShape, scale: float, strips: int) -> StripTable:
    return strip_table(shape, checks.between("scale", scale, SMALLEST_SCALE, LARGEST_SCALE, _SCALE), strips)


def _size(size: int) -> int:
    return checks.count("size", size, "It is the number of draws.", least=0)
