# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Where randomness comes from (T10): the cipher is the standard's, no two users share a word, nothing replaces it."""

import copy
import itertools
import os
import pickle
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from false_alarms import deviations, unpredictable

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.errors import NotPrivateWarning, ParameterError
from dperm.mechanisms import GaussianMechanism
from dperm.noise import Bits, NotPrivateBits, SystemBits, bits
from dperm.noise.bits import SystemStream, aes_ctr_cipher, integer, keystream

pytestmark = unpredictable(1e-12)  # 6,000 words have a pair in common with that probability

WORDS = 100_000
many_words = unpredictable(3e-8)  # nine times so many words have a pair in common with that probability at most
GOAL = ApproxDP(1.0, 1e-5, "add_remove")

# NIST SP 800-38A, F.5.5 CTR-AES256.Encrypt.
KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
COUNTER = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
PLAIN = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
CIPHER = bytes.fromhex(
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"
)
KEYSTREAM = bytes(a ^ b for a, b in zip(PLAIN, CIPHER, strict=True))


def assert_all_different(parts):
    """No word occurs twice; 8e5 fair words would have a pair in common with probability 2e-8."""
    words = np.concatenate(parts)
    assert len(np.unique(words)) == len(words)


def no_randomness(size):
    raise OSError("the operating system has no randomness")


# The cipher.


def test_the_keystream_is_that_of_the_standard():
    assert keystream(aes_ctr_cipher(KEY, COUNTER), 8).astype("<u8").tobytes() == KEYSTREAM


def test_the_keystream_goes_on_where_it_stopped():
    """Also in the middle of a block of the cipher, and beyond what is encrypted at a time."""
    whole = keystream(aes_ctr_cipher(KEY, COUNTER), 100_000)
    cipher = aes_ctr_cipher(KEY, COUNTER)
    parts = [keystream(cipher, count) for count in (1, 0, 3, 32_768, 32_769, 1, 34_458)]
    assert (np.concatenate(parts) == whole).all()


def test_words_are_in_an_array_of_their_own():
    stream = SystemBits().stream()
    first = stream.words(10)
    kept = first.copy()
    stream.words(10)[:] = 0
    assert (first == kept).all()
    assert first.dtype == np.uint64


@unpredictable(1e-8, checks=2)
def test_bits_of_the_operating_system_are_fair():
    """Ones among 2^24 bits, and among the exclusive or of words and their neighbours."""
    words = SystemBits().stream().words(2**18)
    for found in (words, words[1:] ^ words[:-1]):
        ones = int(np.unpackbits(found.view(np.uint8)).sum(dtype=np.int64))
        assert abs(ones - 32 * len(found)) <= deviations(1e-8) * np.sqrt(16 * len(found))


def test_a_large_integer_is_made_of_the_next_words(scripted):
    assert integer(scripted([3, 5]), 128) == 3 + 5 * 2**64


# No two users share a word.


@many_words
def test_two_streams_share_nothing():
    assert_all_different([SystemBits().stream().words(WORDS) for _ in range(4)])


@many_words
def test_eight_threads_with_one_stream_share_nothing():
    """And none of them raises, although one cipher object must not be used from two threads."""
    stream, start = SystemBits().stream(), threading.Barrier(8)

    def read(_):
        start.wait()
        return np.concatenate([stream.words(1000) for _ in range(WORDS // 1000)])

    with ThreadPoolExecutor(8) as pool:
        assert_all_different([stream.words(WORDS), *pool.map(read, range(8))])


@many_words
def test_eight_threads_with_their_own_streams_share_nothing():
    source = SystemBits()
    with ThreadPoolExecutor(8) as pool:
        assert_all_different(list(pool.map(lambda _: source.stream().words(WORDS), range(8))))


def forked(stream, count):
    """The words that a child reads from the parent's stream."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads, such as those of xdist
        child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writing, "wb") as out:
                out.write(stream.words(count).tobytes())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as into:
        words = np.frombuffer(into.read(), dtype=np.uint64)
    os.waitpid(child, 0)
    assert len(words) == count
    return words


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@many_words
def test_two_forked_children_and_their_parent_share_nothing():
    stream = SystemBits().stream()
    before = stream.words(WORDS)
    children = [forked(stream, WORDS), forked(stream, WORDS)]
    assert_all_different([before, *children, stream.words(WORDS)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@many_words
def test_forked_children_of_a_stream_that_was_never_read_share_nothing():
    stream = SystemBits().stream()
    assert_all_different([forked(stream, WORDS), forked(stream, WORDS), stream.words(WORDS)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_with_the_process_number_of_its_parent_shares_nothing(monkeypatch):
    """Process 1 of a container that forks into a new PID namespace has a child that is process 1 as well."""
    stream, number = SystemBits().stream(), os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)
    assert_all_different([forked(stream, 100), forked(stream, 100), stream.words(100)])


def test_a_stream_that_is_sent_to_new_processes_has_another_key_in_each():
    stream = SystemBits().stream()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        sent = [pool.submit(integer, stream, 64 * 1000) for _ in range(3)]
        read = [integer(stream, 64 * 1000), *(future.result() for future in sent)]
    assert_all_different([np.frombuffer(number.to_bytes(8000, "little"), dtype=np.uint64) for number in read])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda stream: pickle.loads(pickle.dumps(stream))])
def test_a_copy_of_a_stream_has_another_key(copied):
    stream = SystemBits().stream()
    other = copied(stream)
    assert_all_different([stream.words(1000), other.words(1000)])


# Keys.


@pytest.fixture
def asked(monkeypatch):
    """How many bytes the operating system was asked for, one entry for each call."""
    calls, urandom = [], os.urandom

    def counted(size):
        calls.append(size)
        return urandom(size)

    monkeypatch.setattr(os, "urandom", counted)
    return calls


def test_every_stream_takes_a_key_of_256_bits_and_a_counter_of_128(asked):
    SystemBits().stream()
    assert asked == [32, 16]
    SystemBits().stream()
    assert asked == [32, 16] * 2


def test_a_key_is_retired_when_it_has_given_all_it_may(monkeypatch, asked):
    monkeypatch.setattr(bits, "BYTES_PER_KEY", 800)
    stream = SystemBits().stream()
    stream.words(60)
    stream.words(40)
    assert asked == [32, 16]
    stream.words(1)
    assert asked == [32, 16] * 2
    stream.words(99)
    assert asked == [32, 16] * 2
    stream.words(1)
    assert asked == [32, 16] * 3


def test_a_key_gives_no_more_than_two_to_the_32_blocks():
    assert bits.BYTES_PER_KEY == 16 * 2**32


# Without randomness there is nothing.


def test_without_randomness_there_is_no_stream(monkeypatch):
    monkeypatch.setattr(os, "urandom", no_randomness)
    with pytest.raises(OSError, match="no randomness"):
        SystemBits().stream()


def test_without_randomness_nothing_is_released_and_nothing_is_charged(monkeypatch):
    budget = MemoryBudget(ApproxDP(2.0, 1e-4, "add_remove"), blocks=4)
    before = budget.remaining
    mechanism = GaussianMechanism.calibrate(1.0, GOAL)
    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", no_randomness)
        with pytest.raises(OSError, match="no randomness"):
            mechanism.release(1.0, budget)
    assert budget.remaining == before
    mechanism.release(1.0, budget)
    assert budget.remaining != before


def test_a_thread_that_gets_no_key_reads_nothing_and_asks_again(monkeypatch):
    stream = SystemBits().stream()
    with ThreadPoolExecutor(1) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(os, "urandom", no_randomness)
            for _ in range(2):
                with pytest.raises(OSError, match="no randomness"):
                    pool.submit(stream.words, 10).result()
        later = pool.submit(stream.words, 1000).result()
    assert_all_different([stream.words(1000), later])


def test_a_key_that_cannot_be_replaced_gives_nothing_more(monkeypatch):
    monkeypatch.setattr(bits, "BYTES_PER_KEY", 800)
    stream = SystemBits().stream()
    stream.words(100)
    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", no_randomness)
        for _ in range(2):
            with pytest.raises(OSError, match="no randomness"):
                stream.words(1)
    assert len(stream.words(1)) == 1


# Seeds.


def test_a_seed_says_the_same_again_and_its_streams_differ():
    one, other = NotPrivateBits(5), NotPrivateBits(5)
    first, second = one.stream().words(1000), one.stream().words(1000)
    assert (first == other.stream().words(1000)).all()
    assert (second == other.stream().words(1000)).all()
    assert_all_different([first, second, *(NotPrivateBits(seed).stream().words(1000) for seed in (0, 1, 50, 2**53))])


def test_seeds_and_stream_numbers_do_not_run_into_each_other():
    """Seed 1 with stream 11 is not seed 11 with stream 1."""
    sources = {seed: NotPrivateBits(seed) for seed in (1, 11, 111)}
    parts = [source.stream().words(10) for _, source in itertools.product(range(12), sources.values())]
    assert_all_different(parts)


@pytest.mark.parametrize("seed", [-1, 1.5, None, True, "5"])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ParameterError, match="seed"):
        NotPrivateBits(seed)


@pytest.mark.parametrize("seed", [5, "5", np.random.default_rng(5), object(), SystemStream()])
def test_a_release_takes_no_seed_and_no_other_generator(seed):
    budget = MemoryBudget(ApproxDP(2.0, 1e-4, "add_remove"), blocks=4)
    before = budget.remaining
    with pytest.raises(ParameterError, match="NotPrivateBits"):
        GaussianMechanism.calibrate(1.0, GOAL).release(1.0, budget, bits=seed)
    assert budget.remaining == before


def test_system_bits_take_no_seed():
    with pytest.raises(TypeError):
        SystemBits(5)
    with pytest.raises(TypeError):
        SystemStream(5)


def test_a_release_from_seeded_bits_warns_and_says_so_for_ever():
    mechanism = GaussianMechanism.calibrate(1.0, GOAL, dim=3)
    with pytest.warns(NotPrivateWarning, match="NOT PRIVATE"):
        seeded = mechanism.release([1, 2, 3], bits=NotPrivateBits(5))
    assert seeded.record.seeded
    assert "NOT PRIVATE" in seeded.record.noise
    assert not mechanism.release([1, 2, 3]).record.seeded


def test_both_sources_are_bits():
    assert isinstance(SystemBits(), Bits)
    assert SystemBits().is_private
    assert isinstance(NotPrivateBits(1), Bits)
    assert not NotPrivateBits(1).is_private


# Mutants.


def children_share_nothing(module):
    stream = module.SystemBits().stream()
    assert_all_different([forked(stream, 10), forked(stream, 10), stream.words(10)])


def streams_share_nothing(module):
    assert_all_different([module.SystemBits().stream().words(2) for _ in range(3)])


def keys_are_retired(module):
    module.BYTES_PER_KEY = 800
    stream = module.SystemBits().stream()
    first = stream._own.cipher
    for count in (40, 40, 40):
        stream.words(count)
    assert stream._own.cipher is not first


MUTANTS = [
    (children_share_nothing, "own.process != this_process() or ", ""),
    (keys_are_retired, "own.read += 8 * count", "own.read = 8 * count"),
    (
        streams_share_nothing,
        "os.urandom(KEY_BYTES), os.urandom(COUNTER_BYTES)",
        "bytes(KEY_BYTES), bytes(COUNTER_BYTES)",
    ),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(("check", "old", "new"), MUTANTS)
def test_a_mutant_of_the_bits_dies(check, old, new, assert_killed):
    assert_killed(check, "dperm.noise.bits", old, new)
