# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact Bernoulli samples with irrational probabilities (T8, T9, T10), vectorized.

A coin compares a uniform U with its probability p. The first 64 binary digits of U decide unless they are close to
those of p. In that case the sampler reads more digits of U from the stream and tighter rational bounds on p, until the
two differ. The distribution is exact for ideal bits.
"""

from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.exponents import Exponents, weight_bounds
from dperm.noise.lazy_reals import WORD, BinaryReal, is_below
from dperm.noise.rational_bounds import DIGITS, Bounds, round_outward

Coins = NDArray[np.bool_]

BAND = 2.0**-44
"""Half-width of the undecided band; the floating-point errors of p and of U are below 2^-49 each."""
LARGEST_EPSILON = 2.0**20
MOST_VALUES = 2**31


def exponential_coins(
    costs: Floats, unit: float | Fraction, stream: Stream, *, least: float = 0.0, band: float = BAND
) -> Coins:
    """Draw independent coins with P(heads) = e^(-unit (cost - least)).

    Parameters
    ----------
    costs
        Finite doubles, read exactly, none below ``least``.
    unit
        Exponent per unit of cost, read exactly.
    stream
        Random bits; each coin uses one word.
    least
        Lower bound of the costs.
    band
        Half-width of the band decided in exact arithmetic. Tests widen it; the distribution does not depend on it.

    Returns
    -------
    array of bool
        True for heads.

    Notes
    -----
    **Guarantees.** The distribution is exact for ideal bits (T8, T10). Let p be the probability in floating point and V
    the first 64 digits of U, rounded to a double. By `dperm.noise.exponents`, |p - e^-x| < 2^-49, and |V - U| < 2^-53 +
    2^-64. So V + band <= p proves U < e^-x, and V >= p + band proves U >= e^-x. Exact comparison decides the rest, once
    in 2^43 coins.
    """
    exponents = Exponents(costs, unit, least)
    words = stream.words(len(costs))
    excess = words * 2.0**-WORD - exponents.floats
    margin = max(band, BAND)
    heads = excess <= -margin
    for place in np.flatnonzero(~heads & (excess < margin)).tolist():
        uniform = BinaryReal(int(words[place]), WORD, stream)
        heads[place] = is_below(uniform, partial(exponents.bounds, place))
    return heads


def keep_coins(epsilon: float, values: int, size: int, stream: Stream, *, band: float = 0.0) -> Coins:
    """Draw coins with P(heads) = e^eps / (e^eps + k - 1) for k-ary randomized response (T9).

    Parameters
    ----------
    epsilon
        Privacy parameter, from 0 to 2^20.
    values
        Number k of categories.
    size
        Number of coins.
    stream
        Random bits; each coin uses one word.
    band
        Widening of both bounds, for tests; the distribution does not depend on it.

    Returns
    -------
    array of bool
        True where the value is kept.

    Notes
    -----
    **Guarantees.** The distribution is exact for ideal bits (T9, T10). Rational bounds on p give integers low <= 2^64 p
    <= high. A word below low is heads for every continuation of its digits, and a word of at least high is tails. More
    digits decide the one or two words in between.
    """
    epsilon = checks.between("epsilon", epsilon, 0.0, LARGEST_EPSILON)
    values = checks.count("values", values, least=2, most=MOST_VALUES)
    low, high = round_outward(keep_bounds(epsilon, values, DIGITS), WORD)
    wider = int(checks.probability("band", band) * 2**WORD)
    words = stream.words(size)
    heads = words < np.uint64(max(low - wider, 0))
    for place in np.flatnonzero(~heads & (words <= np.uint64(min(high + wider, 2**WORD) - 1))).tolist():
        uniform = BinaryReal(int(words[place]), WORD, stream)
        heads[place] = is_below(uniform, partial(keep_bounds, epsilon, values))
    return heads


def keep_bounds(epsilon: float, values: int, digits: int) -> Bounds:
    """Return bounds on p = 1 / (1 + (k - 1) e^-eps), of relative width about (k - 1) 10^-digits."""
    low, high = weight_bounds(Fraction(epsilon), digits)
    return 1 / (1 + (values - 1) * high), 1 / (1 + (values - 1) * low)
