# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Poisson samples of rows: each row is included independently with the same probability (T22).

A row is included if U < rate for its own uniform U. The first 16 binary digits of U are compared with those of the
rate, four rows to a word. They agree once in 65536 rows. Then more words of U are read until it differs from the rate,
whose digits end because it is a double. The distribution is exact for ideal bits.
"""

import math
from fractions import Fraction

import numpy as np

from dperm import checks
from dperm.noise.arrays import Integers
from dperm.noise.bits import Stream

PIECE = 16
WORD = 64
CHUNK = 2**16
"""Rows per chunk; apart from the sample, memory does not grow with the number of rows."""
RATE = "It is the probability that a row is in the sample."


def sampled_rows(rate: float, count: int, stream: Stream) -> Integers:
    """Return the sorted indices of a Poisson sample of ``count`` rows.

    Parameters
    ----------
    rate
        Inclusion probability of each row, read exactly; 1 includes all rows.
    count
        Number of rows. It may be private: time and memory grow with it, as in all work on the rows.
    stream
        Random bits.

    Returns
    -------
    array of int64
        Indices in ascending order.

    Notes
    -----
    **Guarantees.** Rows are included independently, with probability exactly ``rate`` for ideal bits (T22).

    =========  =======================
    rate       result
    =========  =======================
    1          all rows, no bits read
    <= 0, nan  ParameterError
    > 1, inf   ParameterError
    count 0    empty array
    =========  =======================
    """
    probability = Fraction(checks.rate("rate", rate, RATE))
    if probability == 1:
        return np.arange(count, dtype=np.int64)
    parts = [start + _sampled(probability, min(CHUNK, count - start), stream) for start in range(0, count, CHUNK)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _sampled(rate: Fraction, count: int, stream: Stream) -> Integers:
    """Return the sampled indices of one chunk."""
    border, rest = _next_digits(rate, PIECE)
    pieces = stream.words(-(-count // 4)).view(np.uint16)[:count]
    taken = pieces < border
    if rest:
        ties = np.flatnonzero(pieces == border)
        taken[ties[_coins(rest, len(ties), stream)]] = True
    return np.flatnonzero(taken).astype(np.int64, copy=False)


def _coins(rate: Fraction, count: int, stream: Stream) -> Integers:
    """Return the positions of heads among ``count`` coins of probability ``rate``."""
    border, rest = _next_digits(rate, WORD)
    words = stream.words(count)
    heads = np.flatnonzero(words < np.uint64(border))
    ties = np.flatnonzero(words == np.uint64(border))
    if not rest or not len(ties):
        return heads
    return np.concatenate([heads, ties[_coins(rest, len(ties), stream)]])


def _next_digits(rate: Fraction, digits: int) -> tuple[int, Fraction]:
    """Split a number below 1 into its next binary digits and the remainder, again a number below 1."""
    shifted = rate * 2**digits
    whole = math.floor(shifted)
    return whole, shifted - whole
