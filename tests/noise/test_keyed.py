# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Samples by a key (T207): exactly the digits of AES, below the rate, for every cut of the table and in every draw.

The reference computes the digits of a row in Python integers, from single blocks of AES. The law is tested by
statistics as well, at the level of conftest.py. Keys are fixed.
"""

import io
import math
import pickle
import pprint
import traceback
from copy import copy
from fractions import Fraction
from itertools import chain, pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dperm.accounting import account
from dperm.accounting.events import Gaussian
from dperm.accounting.sampled import Poisson
from dperm.errors import DataError, ParameterError
from dperm.noise import NotPrivateBits, keyed
from dperm.noise.bits import Stream
from dperm.noise.keyed import BLOCKS_PER_KEY, DrawNumbers, KeyedSampler, blocks_per_draw, keystream_distance
from dperm.noise.poisson import CHUNK

KEY = bytes(range(32))
TYING = 2.0**-16 * (3 + 1 / 3)
"""A tenth of a sample at this rate is decided by later digits."""
RATES = [0.37, 1 / 3, TYING, 2.0**-16 / 3, 2.0**-16 * 7, 1 - 2.0**-53, 2.0**-70]
LOW_ROWS = (6214570, 168532976, 314494656, 510884714)
"""Rows whose digits in draw 0 of the key begin with 27 zeros, so that all 80 digits are those of a double."""
MOST_ROWS = 6_871_947_672


class Reference:
    """Digits of the definition: the block of a counter with fields draw, region and block."""

    def __init__(self, key: bytes = KEY) -> None:
        self._blocks = Cipher(algorithms.AES(key), modes.ECB()).encryptor()

    def block(self, draw: int, region: int, number: int) -> bytes:
        assert max(draw, number) < 2**63, "the fields of a counter overlap"
        return self._blocks.update((draw * 2**64 + region * 2**63 + number).to_bytes(16, "big"))

    def digits(self, draw: int, row: int) -> int:
        """All 80 digits of a row as an integer: 16 in region 0, eight rows to a block, and 64 in region 1."""
        first = self.block(draw, 0, row // 8)[2 * (row % 8) :][:2]
        later = self.block(draw, 1, row // 2)[8 * (row % 2) :][:8]
        return int.from_bytes(first, "little") * 2**64 + int.from_bytes(later, "little")

    def sample(self, rate: float, draw: int, rows: range) -> list[int]:
        limit = math.floor(Fraction(rate) * 2**80)
        return [row for row in rows if self.digits(draw, row) < limit]


def sampler(rows: int = 2**30, *, first: int = 0, source: ModuleType = keyed) -> Any:
    return source.KeyedSampler(KEY, rows=rows, first=first)


def scattered(draw: int, rows: int) -> list[range]:
    """Short ranges at the beginning, the end, and about the borders of chunks."""
    return [range(0, 40), range(CHUNK - 13, CHUNK + 13), range(rows - 21, rows)]


def samples_are_the_digits_below_the_rate(source: ModuleType) -> None:
    """In early and late draws and rows: fields of the counter that overlapped would be seen."""
    reference = Reference()
    for rows, first in ((3 * CHUNK + 5, 0), (2**30, 2**40 + 1), (MOST_ROWS, 2**53 - 1)):
        found = sampler(rows, first=first, source=source)
        for rate in RATES:
            for part in scattered(first, rows):
                expected = reference.sample(rate, first, part)
                assert found.sample(rate, first, part.start, part.stop).tolist() == expected


def ties_are_decided_by_the_later_digits(source: ModuleType) -> None:
    """All ties among 2^21 rows, in two draws: 32 of each draw are expected, at either half of a block."""
    reference, border = Reference(), 3
    for draw in (0, 1):
        all_rows = sampler(source=source).sample((border + 1) / 2**16, draw, 0, 2**21)
        digits = {row: reference.digits(draw, row) for row in all_rows.tolist()}
        ties = [row for row, value in digits.items() if value >> 64 == border]
        assert len(ties) >= 16
        assert {row % 2 for row in ties} == {0, 1}
        kept = sampler(source=source).sample(TYING, draw, 0, 2**21).tolist()
        limit = math.floor(Fraction(TYING) * 2**80)
        assert kept == [row for row, value in digits.items() if value < limit]
        assert 0 < len(set(ties) & set(kept)) < len(ties)


def eighty_equal_digits_are_out(source: ModuleType) -> None:
    """At the rate with exactly the row's digits the row is out; it is in if the last digit is one more."""
    found = sampler(source=source)
    for row in LOW_ROWS:
        digits = Reference().digits(0, row)
        assert 0 < digits < 2**53
        for limit, expected in ((digits, []), (digits + 1, [row])):
            rate = math.ldexp(float(limit), -80)
            assert found.sample(rate, 0, row, row + 1).tolist() == expected


def parts_are_parts_of_the_whole(source: ModuleType, cuts: list[int] | None = None) -> None:
    rows = 3 * CHUNK + 5
    found = sampler(rows, source=source)
    for rate in (0.01, TYING):
        whole = found.sample(rate, 2, 0, rows).tolist()
        ends = [0, *sorted(cuts or [1, 9, CHUNK - 3, 2 * CHUNK + 4]), rows]
        parts = [found.sample(rate, 2, start, stop).tolist() for start, stop in pairwise(ends)]
        assert list(chain(*parts)) == whole


def keys_end_before_two_to_the_32_blocks(source: ModuleType) -> None:
    for rows in (1, 1000, 2**24, 3 * 10**9, MOST_ROWS):
        blocks = -(-rows // 8) + -(-rows // 2)  # with the later digits of all rows
        draws = sampler(rows, first=7, source=source).draws
        assert draws.start == 7
        assert len(draws) * blocks <= 2**32 < (len(draws) + 1) * blocks


def numbers_that_are_used_up_are_gone(source: ModuleType) -> None:
    """Repeated work finds the same sample; after `use_up` there is a new one, also across keys."""
    rows = 2 * 10**9  # three draws to a key
    draws, samples, keys = source.DrawNumbers(NotPrivateBits(4620).stream(), rows=rows, first=5), [], []
    for step in range(7):
        assert draws.number == 5 + step
        again = [tuple(draws.sampler.sample(0.01, draws.number, 0, 20_000)) for _ in range(2)]
        assert again[0] == again[1]
        samples.append(again[0])
        keys.append(draws.sampler._key)
        draws.use_up()
    assert len(set(samples)) == 7
    assert [keys.index(key) for key in keys] == [0, 0, 0, 3, 3, 3, 6]


def test_samples_are_the_digits_below_the_rate():
    samples_are_the_digits_below_the_rate(keyed)


def test_ties_are_decided_by_the_later_digits():
    ties_are_decided_by_the_later_digits(keyed)


def test_eighty_equal_digits_are_out():
    """So the rate is rounded down: never more than was accounted for."""
    eighty_equal_digits_are_out(keyed)


@given(st.lists(st.integers(0, 3 * CHUNK + 5), max_size=6))
def test_the_sample_does_not_depend_on_the_cut_of_the_table(cuts):
    parts_are_parts_of_the_whole(keyed, cuts)


def test_keys_end_before_two_to_the_32_blocks():
    keys_end_before_two_to_the_32_blocks(keyed)


def test_numbers_that_are_used_up_are_gone():
    numbers_that_are_used_up_are_gone(keyed)


# The law, under a fixed key.


@pytest.mark.parametrize("rate", [0.3, 2.0**-10, TYING])
def test_sizes_are_binomial(rate, statistics):
    """Counts over 20000 parts of 300 rows, 2000 in each of ten draws, cell by cell."""
    rows, parts = 300, 2000
    drawn = np.concatenate([sampler(2**20).sample(rate, t, 0, rows * parts) // rows + parts * t for t in range(10)])
    sizes = np.bincount(drawn, minlength=10 * parts)
    expected = 10 * parts * stats.binom.pmf(np.arange(rows + 1), rows, rate)
    found = statistics.merged(np.bincount(sizes, minlength=rows + 1), expected)
    assert statistics.chi_square_tail(*found) > statistics.level


def test_the_digits_after_the_sixteenth_count(statistics):
    """At (3 + 1/3)/2^16 one taken row in ten is a tie: neither 3/2^16 nor 4/2^16 would pass."""
    count = 10**8
    total = len(sampler().sample(TYING, 3, 0, count))
    assert stats.binomtest(total, count, TYING).pvalue > statistics.level
    for wrong in (3 / 2**16, 4 / 2**16):
        assert stats.binomtest(total, count, wrong).pvalue < statistics.level


@pytest.mark.parametrize("rate", [0.25, 0.37])
def test_rows_are_independent_of_each_other(rate, statistics):
    """Eight neighbouring rows share a block: all their patterns, and pairs at lags beyond a block."""
    rows = 8 * CHUNK
    taken = np.zeros(rows, dtype=np.int64)
    taken[sampler().sample(rate, 4, 0, rows)] = 1
    patterns = taken.reshape(-1, 8) @ 2 ** np.arange(8)
    sizes = np.array([pattern.bit_count() for pattern in range(256)])
    expected = rows / 8 * rate**sizes * (1 - rate) ** (8 - sizes)
    found = statistics.merged(np.bincount(patterns, minlength=256), expected)
    assert statistics.chi_square_tail(*found) > statistics.level
    for lag in (8, 32, CHUNK):
        score = statistics.correlation(taken.astype(np.float64), lag)
        assert 2 * stats.norm.sf(abs(score)) > statistics.level


@pytest.mark.parametrize("other", [1, 2**16, 2**32, 2**52])
def test_draws_are_independent_of_each_other(other, statistics):
    """The four cells of two draws of the same rows, for draw numbers that differ in one digit."""
    rate, rows = 0.3, 2**20
    one, two = (np.zeros(rows, dtype=np.int64) for _ in range(2))
    one[sampler().sample(rate, 0, 0, rows)] = 1
    two[sampler(first=other).sample(rate, other, 0, rows)] = 1
    expected = rows * np.array([(1 - rate) ** 2, rate * (1 - rate), rate * (1 - rate), rate**2])
    assert statistics.chi_square_tail(np.bincount(2 * one + two, minlength=4), expected) > statistics.level


# Edges, and the key.


@pytest.mark.parametrize("count", [0, 1, 9, CHUNK + 1])
def test_every_row_can_be_taken_and_no_other(count):
    found = sampler(2 * CHUNK)
    assert found.sample(1.0, 0, 3, 3 + count).tolist() == list(range(3, 3 + count))
    assert found.sample(1 - 2.0**-53, 0, 3, 3 + count).tolist() == list(range(3, 3 + count))
    nothing = found.sample(2.0**-81, 0, 3, 3 + count)
    assert (len(nothing), nothing.dtype) == (0, np.int64)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, float("nan"), True, "0.1"])
def test_only_rates_of_a_sample_are_accepted(rate):
    with pytest.raises(ParameterError, match=r"rate must be a number in \(0, 1\]"):
        sampler().sample(rate, 0, 0, 10)


@pytest.mark.parametrize("arguments", [(4, 0, 1), (-1, 0, 1), (0, -1, 1), (0, 2, 1), (0, 0, 2 * 10**9 + 1)])
def test_draws_of_another_key_and_rows_of_no_table_are_refused(arguments):
    """The message has no number of rows, and no draw number that follows from it."""
    with pytest.raises(ParameterError, match=r"^(draw|stop) must be") as error:
        sampler(2 * 10**9).sample(0.5, *arguments)
    assert not set("4567890") & set(str(error.value).replace("2^32", "").replace("T207", ""))


def test_tables_beyond_one_key_are_refused():
    assert len(sampler(MOST_ROWS).draws) == 1
    with pytest.raises(DataError, match="too many rows for samples by a key"):
        sampler(MOST_ROWS + 1)
    with pytest.raises(ParameterError, match="key must have 32 bytes, got 16 bytes"):
        KeyedSampler(bytes(16), rows=1)


def test_a_copy_in_another_process_has_the_same_sample():
    one = sampler(1000, first=3)
    for two in (pickle.loads(pickle.dumps(one)), copy(one)):
        assert two.draws == one.draws
        assert two.sample(0.1, 4, 0, 1000).tolist() == one.sample(0.1, 4, 0, 1000).tolist()


def test_draw_numbers_stay_with_their_run():
    """Two copies would draw two noises on one sample."""
    draws = DrawNumbers(NotPrivateBits(1).stream(), rows=10)
    for copied in (copy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(draws)


def test_the_key_is_nowhere_to_be_read():
    """Not in a representation, and not in a traceback with local variables."""
    draws = DrawNumbers(NotPrivateBits(2).stream(), rows=10)
    secret = draws.sampler._key
    try:
        draws.sampler.sample(0.5, draws.number - 1, 0, 10)
    except ParameterError as error:
        inner = error.with_traceback(error.__traceback__.tb_next)  # without the frame of this test
        told = "".join(traceback.TracebackException.from_exception(inner, capture_locals=True).format())
    shown = io.StringIO()
    pprint.pprint([draws, {"sampler": draws.sampler}], stream=shown)
    assert "self = KeyedSampler" in told
    text = " ".join([told, shown.getvalue(), f"{draws.sampler} {draws!r}", str([draws.sampler])])
    assert "KeyedSampler(<secret key>)" in text
    words = [secret[place : place + 4] for place in range(29)]
    numbers = [str(int.from_bytes(secret, order)) for order in ("little", "big")]
    assert not [form for word in words for form in (word.hex(), repr(word)[2:-1]) if form in text]
    assert not [number for number in numbers if number in text]
    with pytest.raises(TypeError):
        vars(draws.sampler)


class Counted:
    """A stream that counts the words it gave."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.given = stream, []

    def words(self, count: int) -> np.ndarray:
        self.given.append(self.stream.words(count))
        return self.given[-1]


def keys_are_words_of_the_stream(source: ModuleType) -> None:
    stream = Counted(NotPrivateBits(4621).stream())
    draws = source.DrawNumbers(stream, rows=3 * 10**9)  # two draws to a key
    keys = [draws.sampler._key]
    for _ in range(4):
        draws.use_up()
        keys.append(draws.sampler._key)
    assert [len(words) for words in stream.given] == [4, 4, 4]
    assert keys[::2] == [words.astype("<u8").tobytes() for words in stream.given]


def test_keys_are_words_of_the_run_s_own_stream():
    """So a seeded run is reproducible, and marked as NOT PRIVATE by its bits; all 256 digits are used."""
    keys_are_words_of_the_stream(keyed)


# The guarantee.


def test_the_distance_from_ideal_bits_is_bounded_for_a_key():
    """T207, T10: q^2/2^129, which is at least the probability that q ideal blocks are not distinct."""
    assert keystream_distance(BLOCKS_PER_KEY) == 2.0**-65
    assert keystream_distance(0) == 0
    assert keystream_distance(2**70) == 1
    for blocks in (1, 10**9, 2**32 - 1):
        exact = Fraction(blocks * (blocks - 1), 2**129)
        assert exact <= Fraction(keystream_distance(blocks)) <= (1 + Fraction(1, 2**50)) * Fraction(blocks**2, 2**129)
    assert blocks_per_draw(17) == 3 + 9


@pytest.mark.parametrize(("attempts", "same", "anew"), [(1, 0.8160, 0.2455), (1000, 4.4808, 2.5838)])
def test_two_noises_on_one_sample_cost_more_than_two_sampled_gaussians(attempts, same, anew):
    """Why draw numbers are used up (T207): their mean has noise sigma/sqrt 2, on one sample."""
    delta, rate = 1e-5, 0.01
    twice = Poisson(Gaussian(1 / math.sqrt(2)), rate=rate) * attempts
    fresh = Poisson(Gaussian(1.0), rate=rate) * (2 * attempts)
    assert account(twice, "add_remove").epsilon(delta) == pytest.approx(same, abs=5e-5)
    assert account(fresh, "add_remove").epsilon(delta) == pytest.approx(anew, abs=5e-5)


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_a_smaller_rate_costs_less_at_every_epsilon(adjacency):
    """A rate rounded down is covered by the event of the rate (T207), also in composition: at negative epsilons too."""
    exact, less = (account(Poisson(Gaussian(0.8), rate=q), adjacency) for q in (0.01, 0.0099))
    for epsilon in (0.0, 0.01, 0.1, 1.0, 2.0):
        assert less.delta(epsilon) <= exact.delta(epsilon)


# Unsafe mutants.


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (
            ties_are_decided_by_the_later_digits,
            "self._later_digits(draw, rows[places]) >= np.uint64(rest)",
            "False",
        ),
        (eighty_equal_digits_are_out, ">= np.uint64(rest)", "> np.uint64(rest)"),
        (samples_are_the_digits_below_the_rate, "((draw << DRAW_SHIFT) + block)", "block"),
        (ties_are_decided_by_the_later_digits, "counters[:, 0] = draw", "counters[:, 0] = 0"),
        (ties_are_decided_by_the_later_digits, "np.uint64(LATER_DIGITS) | ", ""),
        (samples_are_the_digits_below_the_rate, "DRAW_SHIFT = 64", "DRAW_SHIFT = 16"),
        (parts_are_parts_of_the_whole, "found + begin", "found + first"),
        (parts_are_parts_of_the_whole, "_counter(draw, first // PIECES_PER_BLOCK)", "_counter(draw, 0)"),
        (keys_end_before_two_to_the_32_blocks, " + -(-rows // WORDS_PER_BLOCK)", ""),
        (numbers_that_are_used_up_are_gone, "        self.number += 1\n", ""),
        (keys_are_words_of_the_stream, "integer(self._stream, 8 * KEY_BYTES)", "integer(self._stream, 64)"),
    ],
    ids=[
        "ties are in the sample",
        "eighty equal digits are in the sample",
        "the draw number is ignored",
        "the draw number is ignored in ties",
        "ties read first digits again",
        "draw numbers carry into blocks",
        "the offset of a chunk is forgotten",
        "the first block of a part is forgotten",
        "blocks of ties are not counted",
        "draw numbers are not used up",
        "keys of 64 digits",
    ],
)
def test_an_unsafe_mutant_is_killed(check, old, new, assert_killed):
    assert_killed(check, keyed.__name__, old, new)
