# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reproducible bits for tests and teaching: **NOT PRIVATE**, since anyone with the seed can subtract the noise."""

import hashlib
import itertools

import numpy as np
from cryptography.hazmat.primitives.ciphers import CipherContext

from dperm import checks
from dperm.noise.bits import COUNTER_BYTES, Stream, Words, aes_ctr_cipher, keystream


class NotPrivateBits:
    """Bits determined by a seed. The record of a release drawn with these bits marks the release as NOT PRIVATE.

    The n-th stream of an object depends only on the seed and on n. No two streams of one object are the same.

    Parameters
    ----------
    seed
        Integer, at least 0.

    Examples
    --------
    >>> from dperm.noise import NotPrivateBits
    >>> NotPrivateBits(7).is_private
    False
    """

    @property
    def is_private(self) -> bool:
        """Always False: the seed determines the bits."""
        return False

    def __init__(self, seed: int) -> None:
        self.seed = checks.count("seed", seed, least=0)
        self._next = itertools.count()

    def stream(self) -> Stream:
        """Return the next stream: AES-256-CTR, keyed with the SHA-256 digest of the seed and of the stream number."""
        name = f"dperm NOT PRIVATE seed={self.seed} stream={next(self._next)}"
        return _SeededStream(aes_ctr_cipher(hashlib.sha256(name.encode()).digest(), bytes(COUNTER_BYTES)))

    def __repr__(self) -> str:
        return f"NotPrivateBits(seed={self.seed})"


class _SeededStream:
    def __init__(self, cipher: CipherContext) -> None:
        self._cipher = cipher

    def words(self, count: int) -> Words:
        return keystream(self._cipher, count)


def generator(seed: int | None = None, purpose: str = "") -> np.random.Generator:
    """Return a numpy generator for simulations: canary coins, shadow models and simulated mechanisms.

    Never use this generator for noise that protects data: its draws are floating-point numbers, and its outputs reveal
    its state.

    Parameters
    ----------
    seed
        Integer, at least 0; None takes a seed from the operating system.
    purpose
        Name of an independent stream, seeded with the SHA-256 digest of seed and purpose. Generators with different
        purposes are independent of each other and of ``numpy.random.default_rng(seed)``, even with the same seed.
    """
    if seed is None:
        return np.random.default_rng()
    seed = checks.count("seed", seed, least=0)
    if not purpose:
        return np.random.default_rng(seed)
    digest = hashlib.sha256(f"dperm NOT PRIVATE seed={seed} purpose={purpose}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest))
