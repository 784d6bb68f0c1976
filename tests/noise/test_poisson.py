# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Poisson samples have exactly the law that T22 needs: every row on its own, with the very probability that was given.

Exactness is tested from both sides: the digits of U are scripted to agree with those of the rate to the last one, and
to lie below or above it from there on. Level of the statistics: see conftest.py.
"""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dperm.errors import ParameterError
from dperm.noise import NotPrivateBits
from dperm.noise.poisson import CHUNK, sampled_rows

RATES = [0.1, 0.5, 1 / 3, 2.0**-16 * (7 + 1 / 3), 2.0**-16 / 3, 1 - 2.0**-53, 2.0**-70, 5e-324]
TYING = 2.0**-16 * (3 + 1 / 3)
"""Of what is taken at this rate, a tenth is decided by later digits."""


def digits_of(rate: float) -> list[int]:
    """The rate's binary digits: the first 16, which are a row's share of a word, then 64 at a time, to the last."""
    first, rest = divmod(Fraction(rate) * 2**16, 1)
    words = [int(first)]
    while rest:
        word, rest = divmod(rest * 2**64, 1)
        words.append(int(word))
    return words


@pytest.mark.parametrize("rate", RATES)
def test_u_equal_to_the_rate_is_not_taken_and_one_digit_below_is(rate, scripted):
    """U < rate: all digits are read before the two can be told apart, and what comes after them cannot matter."""
    first, *later = digits_of(rate)
    *known, last = [first, *later]
    below = [*known, last - 1]
    for words, taken in (([first, *later], False), (below, True)):
        stream = scripted(words, then=2**64 - 1 if taken else 0)
        assert sampled_rows(rate, 1, stream).tolist() == ([0] if taken else [])


@pytest.mark.parametrize("rate", [0.3, 2.0**-10, TYING])
def test_sizes_are_binomial(rate, statistics):
    """Counts over 20000 samples of 300 rows, cell by cell."""
    stream = NotPrivateBits(4601).stream()
    rows, samples = 300, 20_000
    drawn = sampled_rows(rate, rows * samples, stream)
    sizes = np.bincount(drawn // rows, minlength=samples)
    expected = samples * stats.binom.pmf(np.arange(rows + 1), rows, rate)
    found = statistics.merged(np.bincount(sizes, minlength=rows + 1), expected)
    assert statistics.chi_square_tail(*found) > statistics.level


def test_the_digits_after_the_sixteenth_count(statistics):
    """At (3 + 1/3)/2^16 one taken row in ten is a tie: neither 3/2^16 nor 4/2^16 would pass."""
    count = 10**8
    total = len(sampled_rows(TYING, count, NotPrivateBits(4602).stream()))
    assert stats.binomtest(total, count, TYING).pvalue > statistics.level
    for wrong in (3 / 2**16, 4 / 2**16):
        assert stats.binomtest(total, count, wrong).pvalue < statistics.level


@pytest.mark.parametrize("rate", [0.25, 0.37])
def test_rows_are_independent_of_each_other_and_of_their_place(rate, statistics):
    """Neighbouring rows share a word: all 16 patterns of four, and pairs at lags beyond a word."""
    rows = 4 * CHUNK
    taken = np.zeros(rows, dtype=np.int64)
    taken[sampled_rows(rate, rows, NotPrivateBits(4603).stream())] = 1
    patterns = taken.reshape(-1, 4) @ [1, 2, 4, 8]
    sizes = np.array([pattern.bit_count() for pattern in range(16)])
    expected = rows / 4 * rate**sizes * (1 - rate) ** (4 - sizes)
    observed = np.bincount(patterns, minlength=16)
    assert statistics.chi_square_tail(observed, expected) > statistics.level
    for lag in (4, 16, CHUNK):
        score = statistics.correlation(taken.astype(np.float64), lag)
        assert 2 * stats.norm.sf(abs(score)) > statistics.level
    places = np.flatnonzero(taken) / rows
    assert statistics.kolmogorov_smirnov(places) > statistics.level


def test_a_sample_is_drawn_anew_each_time():
    stream = NotPrivateBits(4604).stream()
    one, two = (sampled_rows(0.5, 1000, stream) for _ in range(2))
    assert one.dtype == np.int64
    assert (np.diff(one) > 0).all()
    assert one.tolist() != two.tolist()


@pytest.mark.parametrize("count", [0, 1, 3, 5, CHUNK + 1])
def test_every_row_can_be_taken_and_no_other(count, stream):
    assert sampled_rows(1.0, count, stream).tolist() == list(range(count))
    nearly = sampled_rows(1 - 2.0**-53, count, stream)
    assert nearly.tolist() == list(range(count))
    assert len(sampled_rows(5e-324, count, stream)) == 0


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, float("nan"), True, "0.1"])
def test_what_is_no_rate_is_refused(rate, stream):
    with pytest.raises(ParameterError, match=r"rate must be a number in \(0, 1\]"):
        sampled_rows(rate, 10, stream)


def test_memory_does_not_grow_with_the_number_of_rows():
    def peak(count: int) -> int:
        stream = NotPrivateBits(4605).stream()
        tracemalloc.start()
        sampled_rows(1e-4, count, stream)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(32 * CHUNK) <= 1.25 * peak(4 * CHUNK)
