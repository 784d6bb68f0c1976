# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact random choices: uniform integers, and indices weighted by count e^(-unit cost) (T8, T10).

**Fast path of a weighted choice.** Let W be the sum of the weights, S_h the sum of the first h + 1, and U uniform. The
choice is the h with S_{h-1} <= U W < S_h. In floating point, with u = 2^-53:

- A weight has relative error at most 2^-41.8 (`dperm.noise.exponents`, a rounded count, a product). If its exponent
  exceeds 700, its error is below 2^512 e^-700 instead; the sum of these errors is below 2^-400.
- Partial sums run over about sqrt(n) rows of about sqrt(n) weights, then over the rows. Each results from at most
  2 sqrt(n) + 5 rounded additions of nonnegative numbers, a factor of 1 +- (2 sqrt(n) + 5) u.
- W >= 1, because the least cost has a count of at least 1. So every S_h has an error of at most E W with
  E = 2^-41.8 + (2 sqrt(n) + 5) u. The error of t = U W, for 64 digits of U, is at most (E + 2.1 u + 2^-64) W.

The slack (2^-39 + (2 sqrt(n) + 8) 2^-52) W exceeds the sum of both errors. So S_{h-1} + slack <= t <= S_h - slack in
floating point proves S_{h-1} <= U W < S_h. The test is inconclusive with probability at most 2 n slack / W: 4e-8 for
10^4 candidates, 5e-6 for 10^6. Then more digits of the same U and rational bounds on all weights decide.

Apart from this exact path, the time of a draw does not depend on the result.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral

import numpy as np

from dperm import checks
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats, Integers
from dperm.noise.bernoulli import exponential_coins
from dperm.noise.bits import Stream, integer
from dperm.noise.exponents import Exponents
from dperm.noise.lazy_reals import WORD, BinaryReal
from dperm.noise.rational_bounds import DIGITS, Bounds, round_outward

BAND = 2.0**-39
LARGEST_BOUND = 2**62
LARGEST_COUNT = 2**512


def uniform_below(bound: int, size: int, stream: Stream) -> Integers:
    """Draw ``size`` independent integers, uniform on 0, ..., bound - 1.

    Parameters
    ----------
    bound
        Public bound, at most 2^62.
    size
        Number of draws.
    stream
        Random bits. Each attempt takes as many bits as bound - 1 has, and more than half of the attempts succeed.
    """
    bound = checks.count("bound", bound, most=LARGEST_BOUND)
    mask = np.uint64(2 ** (bound - 1).bit_length() - 1)
    out, filled = np.empty(size, dtype=np.int64), 0
    while filled < size:
        drawn = stream.words(size - filled) & mask
        kept = drawn[drawn < np.uint64(bound)]
        out[filled : filled + len(kept)] = kept.view(np.int64)
        filled += len(kept)
    return out


def integer_below(bound: int, stream: Stream) -> int:
    """Draw one uniform integer on 0, ..., bound - 1 as floor(bound U), for any bound >= 1.

    The function reads digits of U until they decide, nearly always once. The time does not depend on a bound below
    2^64, so such a bound may be private.
    """
    known = WORD * (1 + -(-bound.bit_length() // WORD))
    digits = integer(stream, known)
    while (digits * bound) >> known != ((digits + 1) * bound - 1) >> known:
        digits, known = (digits << WORD) | integer(stream, WORD), known + WORD
    return (digits * bound) >> known


def exponential_choice(
    costs: Floats,
    unit: float | Fraction,
    stream: Stream,
    counts: Sequence[int] | Integers | None = None,
    *,
    band: float = BAND,
) -> int:
    """Choose an index h with probability proportional to counts[h] e^(-unit costs[h]) (T8).

    Parameters
    ----------
    costs
        Finite doubles, read exactly. Only differences matter, so negated scores are valid costs.
    unit
        Exponent per unit of cost, read exactly.
    stream
        Random bits.
    counts
        Whole numbers from 0 to 2^512, at least one of them positive; 1 for each cost by default.
    band
        Share of the total weight left undecided by the floating-point test. Tests widen it; the distribution is the
        same.

    Returns
    -------
    int
        Index into ``costs``.

    Raises
    ------
    ParameterError
        For invalid costs, counts or unit. The message contains no cost and no count: they may be private.

    Notes
    -----
    **Guarantees.** The distribution is exact for ideal bits (T8, T10), including ties. The time does not depend on the
    result outside the exact path.
    """
    multiplicities = None if counts is None else _counts(counts, len(costs))
    exponents = _exponents(costs, unit, multiplicities)
    uniform = BinaryReal(integer(stream, WORD), WORD, stream)
    found = _quick(_weights(exponents, multiplicities), uniform, max(band, BAND))
    return _exact(exponents, multiplicities, uniform) if found is None else found


def permute_and_flip(costs: Floats, unit: float | Fraction, stream: Stream) -> int:
    """Choose an index by permute-and-flip (McKenna and Sheldon 2020), exactly (T8).

    Permute-and-flip visits the candidates in random order and returns the first one with heads, where
    P(heads) = e^(-unit (cost - least)). The order is independent of the coins, so the first head is uniform among all
    heads. This function flips all coins and chooses one of the heads. The least cost always shows heads.

    Parameters
    ----------
    costs
        Finite doubles, read exactly.
    unit
        Exponent per unit of cost, read exactly.
    stream
        Random bits.

    Returns
    -------
    int
        Index into ``costs``.
    """
    heads = exponential_coins(costs, unit, stream, least=float(np.min(costs)))
    before = integer_below(int(np.count_nonzero(heads)), stream)
    return int(np.count_nonzero(np.cumsum(heads) <= before))


def _counts(counts: Sequence[int] | Integers, size: int) -> Integers | list[int]:
    """Check the counts; the message reveals nothing about them, since they may be private."""
    array = np.asarray(counts) if isinstance(counts, np.ndarray) else np.array(counts, dtype=object)
    whole = array.dtype.kind in "iu" or all(isinstance(count, Integral) for count in array.ravel())
    if not whole or array.shape != (size,) or not size or array.min() < 0 or not 0 < array.max() <= LARGEST_COUNT:
        raise ParameterError(
            argument="counts", rule="must be whole numbers from 0 to 2^512, one for each cost, one of them positive"
        )
    return array if array.dtype.kind in "iu" else [int(count) for count in array]


def _exponents(costs: Floats, unit: float | Fraction, counts: Integers | list[int] | None) -> Exponents:
    """Return the exponents relative to the least cost with a positive count; other costs are replaced by it."""
    if counts is None:
        return Exponents(costs, unit, float(np.min(costs, initial=math.inf)))
    present = np.array(counts, dtype=np.float64) > 0
    least = float(np.min(costs[present]))
    return Exponents(np.where(present, costs, least), unit, least)


def _weights(exponents: Exponents, counts: Integers | list[int] | None) -> Floats:
    if counts is None:
        return exponents.floats
    return exponents.floats * np.array(counts, dtype=np.float64)


def _quick(weights: Floats, uniform: BinaryReal, band: float) -> int | None:
    """Return the index if the first 64 digits of U prove it. All sums are compared, so no outcome is faster."""
    sums = partial_sums(weights)
    size, total = len(sums), float(sums[-1])
    slack = (band + (2 * math.sqrt(size) + 8) * 2.0**-52) * total
    place = uniform.digits * 2.0**-WORD * total
    found = int(np.count_nonzero(sums + slack <= place))
    return found if found < size and place + slack <= sums[found] else None


def partial_sums(weights: Floats) -> Floats:
    """Return S_0, ..., S_{n-1}, each the result of at most 2 sqrt(n) + 5 additions."""
    width = math.isqrt(len(weights)) + 1
    rows = -(-len(weights) // width)
    table = np.zeros((rows, width))
    table.ravel()[: len(weights)] = weights
    np.cumsum(table, axis=1, out=table)
    table[1:] += np.cumsum(table[:-1, -1])[:, None]
    return table.ravel()[: len(weights)]


def _exact(exponents: Exponents, counts: Integers | list[int] | None, uniform: BinaryReal) -> int:
    """Return the index by integer bounds on every partial sum, doubling the digits until they decide."""
    multiplicities = [1] * len(exponents.costs) if counts is None else [int(count) for count in counts]
    digits = DIGITS
    while True:
        lows, highs = _sum_bounds(exponents, multiplicities, digits)
        found = _cell(lows, highs, uniform.bounds(4 * digits))
        if found is not None:
            return found
        digits *= 2


def _sum_bounds(exponents: Exponents, counts: list[int], digits: int) -> tuple[list[int], list[int]]:
    """Return bounds on S_0, ..., S_{n-1} in units of 2^-(4 digits)."""
    known: dict[float, tuple[int, int]] = {}
    lows, highs, low, high = [], [], 0, 0
    for place, (cost, count) in enumerate(zip(exponents.costs.tolist(), counts, strict=True)):
        if cost not in known:
            known[cost] = round_outward(exponents.bounds(place, digits), 4 * digits)
        low, high = low + count * known[cost][0], high + count * known[cost][1]
        lows.append(low)
        highs.append(high)
    return lows, highs


def _cell(lows: list[int], highs: list[int], uniform: Bounds) -> int | None:
    """Return the h with S_{h-1} <= U W < S_h, or None if the bounds do not prove one."""
    found = bisect_right(highs, uniform[0] * lows[-1])
    return found if uniform[1] * highs[-1] <= lows[found] else None
