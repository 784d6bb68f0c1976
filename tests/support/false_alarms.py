# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random numbers of the test suite, and the probability that the suite fails by chance.

By default a test is reproducible: the bits of `SystemBits` and the global generators of Python, numpy and torch are
keyed by the name of the test, or of the fixture that draws. Its false-alarm probability is 0: it gives the same result
everywhere, whatever its significance level is. That level says how likely a right program was to fail when the test
was written.

A test that must see the operating system's bits, or compares draws of several processes, is marked with
`unpredictable` and declares its false-alarm probability. The declared probabilities of all tests of ``make test`` sum
to at most `MOST`.
"""

import hashlib
import itertools
import os
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import stats

from dperm.noise import bits

MOST = 1e-6
"""Largest probability that ``make test`` fails by chance."""
NAME = "unpredictable"
_URANDOM, _REKEY = os.urandom, bits._ThreadKey.rekey


def unpredictable(level: float, checks: int = 1) -> pytest.MarkDecorator:
    """Mark a test that draws from the operating system's bits.

    Parameters
    ----------
    level
        Largest probability that one check fails although the program is right; 0 if no check depends on the bits.
    checks
        Number of checks at this level in one run of the test.
    """
    if not (0 <= level < 1 and checks >= 1):
        raise ValueError("level must be in [0, 1) and checks at least 1")
    return getattr(pytest.mark, NAME)(level=level, checks=checks)


def deviations(level: float) -> float:
    """Distance from the mean, in standard deviations, that a normal variable exceeds with probability ``level``."""
    return float(stats.norm.isf(level / 2))


def false_alarm(item: pytest.Item) -> float:
    """Declared false-alarm probability of a collected test; 0 for a reproducible one."""
    marker = item.get_closest_marker(NAME)
    return 0.0 if marker is None else marker.kwargs["level"] * marker.kwargs["checks"]


def total(items: Iterable[pytest.Item]) -> float:
    """Bound on the probability that any of these tests fails by chance (union bound)."""
    return sum(map(false_alarm, items))


@contextmanager
def reproducible(name: str) -> Iterator[None]:
    """A block in which all random numbers of this process are determined by ``name``.

    A test that replaces ``os.urandom`` itself still does so. Child processes draw from the operating system.
    """
    seed = hashlib.sha256(name.encode()).digest()
    _seed_generators(int.from_bytes(seed[:4], "big"))
    counter = itertools.count()

    def rekey(own: bits._ThreadKey) -> None:
        if os.urandom is not _URANDOM or bits.this_process() != here:
            return _REKEY(own)
        own.process, own.read = here, 0
        key = hashlib.sha512(seed + str(next(counter)).encode()).digest()
        own.cipher = bits.aes_ctr_cipher(key[: bits.KEY_BYTES], key[-bits.COUNTER_BYTES :])

    here, before = bits.this_process(), bits._ThreadKey.rekey
    bits._ThreadKey.rekey = rekey
    try:
        yield
    finally:
        bits._ThreadKey.rekey = before


@contextmanager
def system_bits() -> Iterator[None]:
    """A block in which `SystemBits` draws from the operating system."""
    before, bits._ThreadKey.rekey = bits._ThreadKey.rekey, _REKEY
    try:
        yield
    finally:
        bits._ThreadKey.rekey = before


def _seed_generators(seed: int) -> None:
    """Seed the global generators; torch only if the test has imported it."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
