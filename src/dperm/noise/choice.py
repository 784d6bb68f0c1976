# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact choices: a uniform integer, and an index with probability proportional to counts e^-unit cost (T8, T10).

**The quick path of a weighted choice.** Let W be the sum of the weights, S_h the sum of the first h + 1, and U uniform:
the choice is the h with S_{h-1} <= U W < S_h. In floating point, with u = 2^-53:

- a weight is wrong by a factor of at most 1 +- 2^-41.8 (`dperm.noise.exponents`, a rounded count, a product), or, if
  its exponent is beyond 700, by less than 2^512 e^-700; the sum of those errors is below 2^-400;
- partial sums are taken in about sqrt(n) rows of about sqrt(n) weights, and then over the rows, so that each is the
  result of at most 2 sqrt(n) + 5 rounded additions of nonnegative numbers: a factor of 1 +- (2 sqrt(n) + 5) u;
- W >= 1, because the least cost has weight count >= 1; so every S_h is off by at most E W with
  E = 2^-41.8 + (2 sqrt(n) + 5) u, and t = U W, for U known to 64 digits, by at most (E + 2.1 u + 2^-64) W.

So with slack = (2^-39 + (2 sqrt(n) + 8) 2^-52) W, which is more than the sum of both, S_{h-1} + slack <= t <= S_h -
slack in floating point proves S_{h-1} <= U W < S_h. That fails with probability at most 2 n slack / W: 4e-8 for 10^4
candidates, 5e-6 for 10^6. Then the same U is read to more digits, and rational bounds on all weights decide.

Every draw costs the same, whatever is chosen, except on that exact path.
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
from dperm.noise.exact import DIGITS, Bounds, outward
from dperm.noise.exponents import Exponents
from dperm.noise.lazy import WORD, BinaryReal

BAND = 2.0**-39
LARGEST_BOUND = 2**62
LARGEST_COUNT = 2**512


def uniform_below(bound: int, size: int, stream: Stream) -> Integers:
    """``size`` independent integers, uniform on 0, ..., bound - 1; ``bound`` is public and at most 2^62.

    As many bits as bound - 1 has, refused if they make bound or more: more than half are accepted.
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
    """A uniform integer on 0, ..., bound - 1, for any bound >= 1: floor(bound U).

    The digits of U are read until they decide, nearly always at once. The time does not depend on a bound below 2^64,
    which may be private.
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
    """An index h with probability proportional to counts[h] e^-unit costs[h], exactly (T8).

    Parameters
    ----------
    costs
        Finite doubles, read exactly. Only their differences matter: minus the scores will do.
    unit
        The exponent per unit of cost, read exactly.
    stream
        Random bits.
    counts
        Whole numbers from 0 to 2^512, one of them positive; 1 for each if left out.
    band
        What the float filter leaves open, as a share of the total weight. Wider bands are for tests: they leave more
        to exact arithmetic, and the law is the same.
    """
    multiplicities = None if counts is None else _counts(counts, len(costs))
    exponents = _exponents(costs, unit, multiplicities)
    uniform = BinaryReal(integer(stream, WORD), WORD, stream)
    found = _quick(_weights(exponents, multiplicities), uniform, max(band, BAND))
    return _exact(exponents, multiplicities, uniform) if found is None else found


def permute_and_flip(costs: Floats, unit: float | Fraction, stream: Stream) -> int:
    """An index by permute-and-flip (McKenna and Sheldon 2020), exactly (T8).

    Permute-and-flip visits the candidates in random order and returns the first whose coin, of probability
    e^-unit (cost - least), shows heads. The order is independent of the coins, so the first head in it is uniform among
    all heads: all coins are flipped here, and one of the heads is chosen. The least cost always shows heads.
    """
    heads = exponential_coins(costs, unit, stream, least=float(np.min(costs)))
    before = integer_below(int(np.count_nonzero(heads)), stream)
    return int(np.count_nonzero(np.cumsum(heads) <= before))


def _counts(counts: Sequence[int] | Integers, size: int) -> Integers | list[int]:
    """``counts`` after a check that says nothing about them: they may be private."""
    array = np.asarray(counts) if isinstance(counts, np.ndarray) else np.array(counts, dtype=object)
    whole = array.dtype.kind in "iu" or all(isinstance(count, Integral) for count in array.ravel())
    if not whole or array.shape != (size,) or not size or array.min() < 0 or not 0 < array.max() <= LARGEST_COUNT:
        raise ParameterError("counts must be whole numbers from 0 to 2^512, one for each cost, one of them positive.")
    return array if array.dtype.kind in "iu" else [int(count) for count in array]


def _exponents(costs: Floats, unit: float | Fraction, counts: Integers | list[int] | None) -> Exponents:
    """The exponents over the least cost that has a count; where there is none the cost does not matter."""
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
    """The index, if the first 64 digits of U prove it; all sums are compared, so that no outcome is quicker."""
    sums = partial_sums(weights)
    size, total = len(sums), float(sums[-1])
    slack = (band + (2 * math.sqrt(size) + 8) * 2.0**-52) * total
    place = uniform.digits * 2.0**-WORD * total
    found = int(np.count_nonzero(sums + slack <= place))
    return found if found < size and place + slack <= sums[found] else None


def partial_sums(weights: Floats) -> Floats:
    """S_0, ..., S_{n-1}, each by at most 2 sqrt(n) + 5 additions."""
    width = math.isqrt(len(weights)) + 1
    rows = -(-len(weights) // width)
    table = np.zeros((rows, width))
    table.ravel()[: len(weights)] = weights
    np.cumsum(table, axis=1, out=table)
    table[1:] += np.cumsum(table[:-1, -1])[:, None]
    return table.ravel()[: len(weights)]


def _exact(exponents: Exponents, counts: Integers | list[int] | None, uniform: BinaryReal) -> int:
    """The index by integers on both sides of every sum, to ever more digits."""
    multiplicities = [1] * len(exponents.costs) if counts is None else [int(count) for count in counts]
    digits = DIGITS
    while True:
        lows, highs = _sum_bounds(exponents, multiplicities, digits)
        found = _cell(lows, highs, uniform.bounds(4 * digits))
        if found is not None:
            return found
        digits *= 2


def _sum_bounds(exponents: Exponents, counts: list[int], digits: int) -> tuple[list[int], list[int]]:
    """Bounds on S_0, ..., S_{n-1} in units of 2^-(4 digits)."""
    known: dict[float, tuple[int, int]] = {}
    lows, highs, low, high = [], [], 0, 0
    for place, (cost, count) in enumerate(zip(exponents.costs.tolist(), counts, strict=True)):
        if cost not in known:
            known[cost] = outward(exponents.bounds(place, digits), 4 * digits)
        low, high = low + count * known[cost][0], high + count * known[cost][1]
        lows.append(low)
        highs.append(high)
    return lows, highs


def _cell(lows: list[int], highs: list[int], uniform: Bounds) -> int | None:
    """The h with S_{h-1} <= U W < S_h, if the bounds prove one."""
    found = bisect_right(highs, uniform[0] * lows[-1])
    return found if uniform[1] * highs[-1] <= lows[found] else None
