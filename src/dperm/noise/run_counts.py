# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact samples of the number of runs of a private selection (T80).

A sample is the inverse of the distribution function at a uniform U: the k with P(K < k) <= U < P(K <= k). The first
probability is irrational and has rational bounds. The ratio of successive probabilities is rational. All sums are
integers in units of 2^-bits, rounded down and up. If they do not decide, more digits of the same U and tighter bounds
are used. The distribution is exact for ideal bits, so no error enters the guarantee.

The number of runs is secret: time and memory of a draw grow with it, as the runs do.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dperm import checks
from dperm.noise.bits import Stream, integer
from dperm.noise.lazy_reals import WORD, BinaryReal
from dperm.noise.rational_bounds import DIGITS, Bounds, exp_bounds, log_bounds, round_outward

CHUNK = 32
"""Largest mean of a Poisson sample that is inverted at once; larger ones are sums of independent samples."""
LARGEST_MEAN = 1e6
SMALLEST_ETA, LARGEST_ETA = -0.999, 100.0
SMALLEST_GAMMA = 1e-9


def negative_binomial_runs(eta: float, gamma: float, stream: Stream) -> int:
    """Draw K >= 1 from the negative binomial law conditioned on at least one run.

    P(K = k) is proportional to (1 - gamma)^k times the product of (l + eta)/(l + 1) over l = 0, ..., k - 1; for eta = 0
    it is proportional to (1 - gamma)^k / k.

    Parameters
    ----------
    eta
        Shape, from -0.999 to 100, read exactly; 1 is geometric, 0 logarithmic.
    gamma
        Parameter in [1e-9, 1], read exactly; 1 means exactly one run.
    stream
        Random bits.

    Returns
    -------
    int
        Number of runs.

    Notes
    -----
    **Guarantees.** The distribution is exact for ideal bits (T80). The expected time grows with the mean.
    """
    shape = Fraction(checks.between("eta", eta, SMALLEST_ETA, LARGEST_ETA))
    rest = 1 - Fraction(checks.between("gamma", gamma, SMALLEST_GAMMA, 1.0))
    if rest == 0:
        return 1

    def ratio(k: int) -> Fraction:
        return rest * (k + shape) / (k + 1)

    return _inverted(lambda digits: _first_probability(shape, rest, digits), ratio, 1, stream)


def poisson_runs(mean: float, stream: Stream) -> int:
    """Draw K >= 0 from the Poisson law.

    Parameters
    ----------
    mean
        Mean, positive and at most 1e6, read exactly.
    stream
        Random bits.

    Returns
    -------
    int
        Number of runs; 0 means that nothing is released.

    Notes
    -----
    **Guarantees.** The distribution is exact for ideal bits (T80). A mean above 32 is split into parts, whose samples
    are independent and added.
    """
    exact = Fraction(checks.between("mean", mean, 0.0, LARGEST_MEAN))
    parts, rest = divmod(exact, CHUNK)
    return sum(_poisson(part, stream) for part in [Fraction(CHUNK)] * int(parts) + [rest] if part)


def _poisson(mean: Fraction, stream: Stream) -> int:
    return _inverted(lambda digits: _exponential(mean, digits), lambda k: mean / (k + 1), 0, stream)


@lru_cache(maxsize=64)
def _exponential(exponent: Fraction, digits: int) -> Bounds:
    return exp_bounds(exponent, digits)


@lru_cache(maxsize=64)
def _first_probability(shape: Fraction, rest: Fraction, digits: int) -> Bounds:
    """Return bounds on P(K = 1) = rest eta/(gamma^-eta - 1), or rest/ln(1/gamma) for eta = 0, with rest = 1 - gamma."""
    low, high = log_bounds(1 - rest, digits)  # of ln(1/gamma)
    if shape == 0:
        return rest / high, rest / low
    size = abs(shape)
    least, most = exp_bounds(size * high, digits)[0], exp_bounds(size * low, digits)[1]  # of gamma^|eta|
    if most >= 1:  # eta is tiny, and these digits do not separate gamma^|eta| from 1
        return Fraction(0), Fraction(1)
    bounds = size * rest / (1 - least), size * rest / (1 - most)
    return bounds if shape < 0 else (bounds[0] * least, bounds[1] * most)


def _inverted(first: Callable[[int], Bounds], ratio: Callable[[int], Fraction], start: int, stream: Stream) -> int:
    """Return the inverse of the distribution function at a uniform number.

    Parameters
    ----------
    first
        Bounds on P(K = start) from a number of decimal digits.
    ratio
        P(K = k + 1)/P(K = k).
    start
        Smallest value.
    stream
        Random bits.
    """
    uniform = BinaryReal(integer(stream, WORD), WORD, stream)
    digits = DIGITS
    while True:
        bits = WORD * math.ceil(4 * digits / WORD)
        place = math.floor(uniform.bounds(bits)[0] * 2**bits)
        found = _cell(round_outward(first(digits), bits), ratio, start, place)
        if found is not None:
            return found
        digits *= 2


def _cell(first: tuple[int, int], ratio: Callable[[int], Fraction], start: int, place: int) -> int | None:
    """Return the k whose cell of the distribution function contains [place, place + 1], or None if undecided."""
    low, high = first
    below, above, k = low, high, start  # bounds on P(K <= k)
    previous = 0  # upper bound on P(K < k)
    while above <= place:
        step = ratio(k)
        low = low * step.numerator // step.denominator
        high = -(-high * step.numerator // step.denominator)
        if low == 0:  # these units are too coarse for the rest of the tail
            return None
        previous, below, above, k = above, below + low, above + high, k + 1
    return k if previous <= place and place + 1 <= below else None
