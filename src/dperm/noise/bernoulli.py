# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact coins with irrational probabilities (T8, T9, T10), many at a time.

A coin compares a uniform U with p. The first 64 digits of U decide unless they come close to those of p; then both are
read to more digits, U from the stream, p from rational bounds, until they part. The law is exact, given ideal bits.
"""

from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.exact import DIGITS, Bounds, outward
from dperm.noise.exponents import Exponents, weight_bounds
from dperm.noise.lazy import WORD, BinaryReal, is_below

Coins = NDArray[np.bool_]

BAND = 2.0**-44
"""Around a probability in floating point; its error, and that of U cut to a double, are below 2^-49 each."""
LARGEST_EPSILON = 2.0**20
MOST_VALUES = 2**31


def exponential_coins(
    costs: Floats, unit: float | Fraction, stream: Stream, *, least: float = 0.0, band: float = BAND
) -> Coins:
    """Independent coins, heads with probability e^-unit (cost - least) exactly.

    Let p be that probability in floating point, V the first 64 digits of U rounded to a double. By
    `dperm.noise.exponents` |p - e^-x| < 2^-49, and |V - U| < 2^-53 + 2^-64. So V + band <= p proves U < e^-x, and
    V >= p + band proves U >= e^-x; in between the exact comparison decides, once in 2^43 coins. A wider ``band`` leaves
    more to it (for tests) and does not change the law.

    Parameters
    ----------
    costs
        Finite doubles, read exactly, none below ``least``.
    unit
        The exponent per unit of cost, read exactly.
    stream
        Random bits; one word for each coin.
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
    """``size`` independent coins, heads with probability p = e^eps / (e^eps + k - 1) exactly, k = ``values`` (T9).

    Rational bounds on p give integers low <= 2^64 p <= high. A word below low is heads for every U that begins with it,
    a word from high on is tails; what is in between, one word or two, is decided by more digits. ``band`` moves both
    bounds outward (for tests).
    """
    epsilon = checks.between("epsilon", epsilon, 0.0, LARGEST_EPSILON)
    values = checks.count("values", values, least=2, most=MOST_VALUES)
    low, high = outward(keep_bounds(epsilon, values, DIGITS), WORD)
    wider = int(checks.probability("band", band) * 2**WORD)
    words = stream.words(size)
    heads = words < np.uint64(max(low - wider, 0))
    for place in np.flatnonzero(~heads & (words <= np.uint64(min(high + wider, 2**WORD) - 1))).tolist():
        uniform = BinaryReal(int(words[place]), WORD, stream)
        heads[place] = is_below(uniform, partial(keep_bounds, epsilon, values))
    return heads


def keep_bounds(epsilon: float, values: int, digits: int) -> Bounds:
    """Bounds on p = 1 / (1 + (k - 1) e^-eps), which falls with e^-eps; relative width about (k - 1) 10^-digits."""
    low, high = weight_bounds(Fraction(epsilon), digits)
    return 1 / (1 + (values - 1) * high), 1 / (1 + (values - 1) * low)
