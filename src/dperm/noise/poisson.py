# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Poisson samples of rows: each row is in the sample with the same probability, independently of all others (T22).

A row is taken if U < rate for a uniform U of its own. The first 16 binary digits of U are compared with those of the
rate, four rows to a word. They agree once in 65536 rows; there U is read on, a word at a time, until it differs from
the rate, whose digits end because it is a double. The law is exact, given ideal bits.
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
"""Rows at a time: beside what is taken, memory does not grow with the number of rows."""
RATE = "It is the probability that a row is in the sample."


def sampled_rows(rate: float, count: int, stream: Stream) -> Integers:
    """The indices, in order, of a Poisson sample of ``count`` rows.

    Parameters
    ----------
    rate
        Probability of each row, read exactly; 1 takes all rows.
    count
        Number of rows there are. It may be private: time and memory grow with it, as in all work on the rows.
    stream
        Random bits.
    """
    probability = Fraction(checks.rate("rate", rate, RATE))
    if probability == 1:
        return np.arange(count, dtype=np.int64)
    parts = [start + _sampled(probability, min(CHUNK, count - start), stream) for start in range(0, count, CHUNK)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _sampled(rate: Fraction, count: int, stream: Stream) -> Integers:
    """The sample of one chunk."""
    border, rest = _next_digits(rate, PIECE)
    pieces = stream.words(-(-count // 4)).view(np.uint16)[:count]
    taken = pieces < border
    if rest:
        ties = np.flatnonzero(pieces == border)
        taken[ties[_coins(rest, len(ties), stream)]] = True
    return np.flatnonzero(taken).astype(np.int64, copy=False)


def _coins(rate: Fraction, count: int, stream: Stream) -> Integers:
    """Which of ``count`` coins show heads, each with probability ``rate``: the positions."""
    border, rest = _next_digits(rate, WORD)
    words = stream.words(count)
    heads = np.flatnonzero(words < np.uint64(border))
    ties = np.flatnonzero(words == np.uint64(border))
    if not rest or not len(ties):
        return heads
    return np.concatenate([heads, ties[_coins(rest, len(ties), stream)]])


def _next_digits(rate: Fraction, digits: int) -> tuple[int, Fraction]:
    """The next binary digits of a number below 1, and what comes after them, again as a number below 1."""
    shifted = rate * 2**digits
    whole = math.floor(shifted)
    return whole, shifted - whole
