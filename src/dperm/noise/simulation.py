# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reproducible bits, for tests and teaching: **NOT PRIVATE**, since whoever knows the seed can subtract the noise."""

import hashlib
import itertools

import numpy as np
from cryptography.hazmat.primitives.ciphers import CipherContext

from dperm import checks
from dperm.noise.bits import COUNTER_BYTES, Stream, Words, cipher_under, keystream


class NotPrivateBits:
    """Bits that follow from a seed. Whatever is drawn from them is marked NOT PRIVATE in its record.

    The first stream of an object is always the same, so is the second, and they differ from each other.
    """

    @property
    def is_private(self) -> bool:
        """Whoever knows the seed knows the bits."""
        return False

    def __init__(self, seed: int) -> None:
        self.seed = checks.count("seed", seed, least=0)
        self._next = itertools.count()

    def stream(self) -> Stream:
        """The next stream: AES-256-CTR under the SHA-256 digest of the seed and the stream's number."""
        name = f"dperm NOT PRIVATE seed={self.seed} stream={next(self._next)}"
        return _SeededStream(cipher_under(hashlib.sha256(name.encode()).digest(), bytes(COUNTER_BYTES)))

    def __repr__(self) -> str:
        """Reads as it is written."""
        return f"NotPrivateBits(seed={self.seed})"


class _SeededStream:
    def __init__(self, cipher: CipherContext) -> None:
        self._cipher = cipher

    def words(self, count: int) -> Words:
        """``count`` words that the seed determines."""
        return keystream(self._cipher, count)


def generator(seed: int | None = None, purpose: str = "") -> np.random.Generator:
    """For whoever *attacks*, numpy's generator: an auditor's coins, shadow models, simulated mechanisms.

    Never for noise that protects anybody: that is floating point, and its state can be worked out from what it gives.
    None takes a seed from the operating system.

    A ``purpose`` gives it a stream of its own, by SHA-256 of seed and purpose: one seed then serves for coins and for
    data, and neither depends on the other, nor on what a user draws by ``numpy.random.default_rng(seed)``.
    """
    if seed is None:
        return np.random.default_rng()
    seed = checks.count("seed", seed, least=0)
    if not purpose:
        return np.random.default_rng(seed)
    digest = hashlib.sha256(f"dperm NOT PRIVATE seed={seed} purpose={purpose}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest))
