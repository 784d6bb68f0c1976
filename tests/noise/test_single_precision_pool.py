# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A pool hands out the numbers of its stream, each of them once, whoever asks."""

import copy
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dperm.noise import SystemBits
from dperm.noise.simulation import NotPrivateBits
from dperm.noise.single_precision import AHEAD, MOST, FloatingPool, floating_gaussian

FEW = 5
"""Equal numbers among a hundred of single precision by chance: never so many."""


def shared(one: np.ndarray, other: np.ndarray) -> int:
    """How many numbers of one are also in the other."""
    return int(np.isin(one, other).sum())


def test_numbers_are_those_of_the_law_in_its_order() -> None:
    pool = FloatingPool(NotPrivateBits(1).stream())
    expected = floating_gaussian(AHEAD, NotPrivateBits(1).stream())
    assert np.array_equal(np.concatenate([pool.take(5), pool.take(0), pool.take(1000)]), expected[:1005])


def test_no_number_is_handed_out_twice() -> None:
    pool = FloatingPool(SystemBits().stream())
    sizes = (MOST - 1, 3, MOST, MOST, MOST, MOST, MOST + 1, AHEAD, 7)
    drawn = np.concatenate([pool.take(size) for size in sizes])
    assert len(drawn) == sum(sizes)
    assert len(np.unique(drawn)) > 0.99 * len(drawn)  # single precision: a few are equal by chance
    assert abs(float(drawn.mean())) < 0.02
    assert float(drawn.std()) == pytest.approx(1, abs=0.02)


def test_a_thread_draws_its_own() -> None:
    pool = FloatingPool(SystemBits().stream())
    here = pool.take(100)
    with ThreadPoolExecutor(1) as other:
        there = other.submit(pool.take, 100).result()
    assert shared(there, here) < FEW
    assert shared(there, pool.take(100)) < FEW


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_draws_its_own(copied: object) -> None:
    pool = FloatingPool(SystemBits().stream())
    pool.take(1)
    other = copied(pool)  # type: ignore[operator]
    assert shared(other.take(100), pool.take(100)) < FEW


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_child_draws_its_own() -> None:
    pool = FloatingPool(SystemBits().stream())
    pool.take(1)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(send, pool.take(100).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(receive, 400), dtype=np.float32)
    os.close(receive), os.close(send)
    assert len(theirs) == 100
    assert shared(theirs, pool.take(100)) < FEW


def test_who_asks_in_the_middle_of_a_draw_gets_other_numbers() -> None:
    """As a signal handler does, between any two lines."""
    pool, inner = FloatingPool(SystemBits().stream()), []
    pool.take(10)

    def trace(frame: object, event: str, argument: object) -> object:
        if event == "line" and len(inner) < 40:
            sys.settrace(None)
            inner.append(pool.take(100))
            sys.settrace(trace)
        return trace

    sys.settrace(trace)
    try:
        outer = [pool.take(100) for _ in range(5)]
    finally:
        sys.settrace(None)
    assert len(inner) >= 20
    everything = [*outer, *inner]
    for place, one in enumerate(everything):
        for other in everything[:place]:
            assert shared(one, other) < FEW
