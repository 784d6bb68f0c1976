# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact draws from a `StripTable`, vectorized (T10c).

A proposal takes 16 bytes: 32 bits choose the strip k, 53 bits are the first digits of the position u in it, one bit is
the sign, and 32 bits begin a uniform U. It is accepted if U < p(k, u). The floating-point error of p is below 2^-40.
With a band of 2^-36 around p, the first digits decide for all their continuations, except about once in 2e9 proposals;
`dperm.noise.lazy_reals` decides those. The distribution is therefore exact for ideal bits.

The digits of k + u beyond the first 53 remain undrawn and fair, whatever the result of the comparison. So the result is
a random *real* number and can be rounded to any grid without error.

The number of proposals does not depend on the values, and every proposal of a block costs the same time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dperm.noise.bits import Stream, Words, integer
from dperm.noise.lazy_reals import (
    FIRST_BITS,
    UNIFORM_BITS,
    WORD,
    BinaryReal,
    LazyReal,
    TailReal,
    accept_in_strip,
    accept_in_tail,
)
from dperm.noise.strips import THRESHOLD_BITS, TOTAL, StripTable

BAND = 2.0**-36
BLOCK = 6000
"""Proposals per block: every array fits the second-level cache and stays below the allocator's mapping threshold."""
ACCEPTED_AT_LEAST = 0.95
_ONE = np.uint64(1)
_FIRST = np.uint64(FIRST_BITS)
_UNUSED = np.uint64(WORD - FIRST_BITS)
_THRESHOLD_BITS = np.uint32(THRESHOLD_BITS)
_THRESHOLD_MASK = np.uint32(2**THRESHOLD_BITS - 1)


@dataclass(frozen=True)
class Draws:
    """Random reals of either sign in strip widths, with digits on demand.

    ``fixed`` holds 2^53 times the magnitude, rounded down. ``lazy`` holds, by position, the numbers with further digits
    already drawn or not fair. In the tail ``fixed`` has no meaning.
    """

    fixed: Words
    negative: NDArray[np.bool_]
    lazy: dict[int, LazyReal]


def draws(table: StripTable, size: int, stream: Stream, *, band: float = BAND) -> Iterator[Draws]:
    """Yield blocks of independent draws, ``size`` in total; a wider ``band`` leaves more to exact arithmetic."""
    left = size
    while left > 0:
        proposals = min(BLOCK, int(left / ACCEPTED_AT_LEAST) + 32)
        block = _accepted(table, stream, proposals, band, left)
        left -= len(block.fixed)
        yield block


def _accepted(table: StripTable, stream: Stream, proposals: int, band: float, most: int) -> Draws:
    """Return the accepted draws of a block of proposals, at most ``most``."""
    words = stream.words(2 * proposals)
    short = words[:proposals].view(np.uint32)
    strip = _strips(table, short[:proposals])
    place, uniform = words[proposals:], short[proposals:]
    fixed = place >> _UNUSED
    excess = uniform - _heights(table, strip, fixed)  # U - p in units of 2^-32, U cut off after 32 digits
    margin = band * TOTAL
    kept = excess <= -1 - margin
    fixed += strip.view(np.uint64) << _FIRST
    lazy = _settle(table, stream, kept=kept, excess=excess, margin=margin, proposed=_Proposals(strip, fixed, uniform))
    negative = (place & _ONE).astype(np.bool_)
    return Draws(fixed[kept][:most], negative[kept][:most], _positions(lazy, kept, most))


def _strips(table: StripTable, word: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Look up strips in the alias table: the high bits give the column, the low bits the comparison."""
    column = (word >> _THRESHOLD_BITS).astype(np.int64)
    beyond = (word & _THRESHOLD_MASK) >= table.thresholds.take(column, mode="clip")
    column += column
    column += beyond
    return table.choices.take(column, mode="clip").astype(np.int64)


def _heights(table: StripTable, strip: NDArray[np.int64], digits: Words) -> NDArray[np.float64]:
    """Return 2^32 p(k, u) = height e^-u (slope + curvature u); NaN in the tail."""
    u = digits.astype(np.float64)
    u *= 2.0**-FIRST_BITS
    cost = u * -table.curvature
    cost -= table.slopes.take(strip, mode="clip")
    cost *= u
    np.exp(cost, out=cost)
    cost *= table.heights.take(strip, mode="clip")
    return cost


@dataclass(frozen=True)
class _Proposals:
    strip: NDArray[np.int64]
    fixed: Words
    uniform: NDArray[np.uint32]


def _settle(
    table: StripTable,
    stream: Stream,
    kept: NDArray[np.bool_],
    excess: NDArray[np.float64],
    margin: float,
    proposed: _Proposals,
) -> dict[int, LazyReal]:
    """Decide the proposals left open by the band (NaN: the tail), update ``kept``, and return their digits."""
    lazy: dict[int, LazyReal] = {}
    for place in np.flatnonzero(~(kept | (excess >= margin))).tolist():
        strip = int(proposed.strip[place])
        uniform = BinaryReal(int(proposed.uniform[place]), UNIFORM_BITS, stream)
        if strip == table.strips:
            far = TailReal(BinaryReal(integer(stream, WORD), WORD, stream), table)
            kept[place], lazy[place] = accept_in_tail(table, far, uniform), far
        else:
            near = BinaryReal(int(proposed.fixed[place]), FIRST_BITS, stream)
            kept[place], lazy[place] = accept_in_strip(table, near, strip, uniform), near
    return lazy


def _positions(lazy: dict[int, LazyReal], kept: NDArray[np.bool_], most: int) -> dict[int, LazyReal]:
    """Return the accepted lazy numbers under their new positions."""
    if not lazy:
        return {}
    return {new: lazy[old] for new, old in enumerate(np.flatnonzero(kept)[:most].tolist()) if old in lazy}
