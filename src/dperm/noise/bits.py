# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random bits: AES-256 in counter mode, keyed by the operating system, a fresh key for every release.

`Bits` is where randomness comes from, `Stream` is what one release consumes. A stream belongs to the thread and the
process that use it: in another thread, or after a fork, the same object continues under a key of its own, so no two of
them ever read the same word.

What is lost against ideal bits is computational. Telling q blocks of AES in counter mode from random costs at most
q^2 / 2^129 beyond the security of the cipher itself; a key is retired after 2^32 blocks (64 GiB).
"""

import itertools
import os
import threading
from typing import Protocol, runtime_checkable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

Words = NDArray[np.uint64]

KEY_BYTES = 32
COUNTER_BYTES = 16
BYTES_PER_KEY = 2**36
_ZEROS = bytes(2**18)  # the keystream is the encryption of zeros
_SPARE = COUNTER_BYTES - 1  # room that update_into asks for beyond the data


class Stream(Protocol):
    """Uniform bits for one release."""

    def words(self, count: int) -> Words:
        """``count`` uniform 64-bit words in an array of their own."""


@runtime_checkable
class Bits(Protocol):
    """Where the bits of releases come from."""

    @property
    def is_private(self) -> bool:
        """False if somebody could know the bits: then nothing drawn from them is private."""

    def stream(self) -> Stream:
        """Bits for one release, under a key that no other release has."""


class SystemBits:
    """Bits that nobody can predict: every stream is keyed by the operating system's generator.

    There is no seed. For reproducible and therefore unprotected runs there is
    `dperm.noise.simulation.NotPrivateBits`.
    """

    @property
    def is_private(self) -> bool:
        """Nobody knows the bits."""
        return True

    def stream(self) -> Stream:
        """A stream under a fresh key. If the operating system has no randomness this raises, and nothing is drawn."""
        return SystemStream()

    def __repr__(self) -> str:
        """Reads as it is written."""
        return "SystemBits()"


class SystemStream:
    """A stream of `SystemBits`; each thread, and each process after a fork, goes on under a key of its own."""

    def __init__(self) -> None:
        self._own = _OwnKey()

    def words(self, count: int) -> Words:
        """``count`` uniform words."""
        own = self._own
        if own.process != this_process() or own.read + 8 * count > BYTES_PER_KEY:
            own.rekey()
        own.read += 8 * count
        return keystream(own.cipher, count)

    def __reduce__(self) -> tuple[type["SystemStream"], tuple[()]]:
        """A copy, here or in another process, has its own key."""
        return (SystemStream, ())


_forks = itertools.count(1)
_generation = 0


def _after_fork() -> None:
    """A child may have its parent's process id, in another namespace: count the forks as well."""
    global _generation
    _generation = next(_forks)


os.register_at_fork(after_in_child=_after_fork)


def this_process() -> tuple[int, int]:
    """The process, and how many forks lie between it and the one that imported this module."""
    return os.getpid(), _generation


class _OwnKey(threading.local):
    """The cipher of one thread, and the process in which it was keyed."""

    cipher: CipherContext
    process: tuple[int, int]
    read: int

    def __init__(self) -> None:
        self.rekey()

    def rekey(self) -> None:
        self.cipher = cipher_under(os.urandom(KEY_BYTES), os.urandom(COUNTER_BYTES))
        self.process = this_process()
        self.read = 0


def cipher_under(key: bytes, counter: bytes) -> CipherContext:
    """AES-256-CTR."""
    return Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()


def keystream(cipher: CipherContext, count: int) -> Words:
    """The next ``count`` words of the keystream, little-endian on every machine."""
    size = 8 * count
    words = np.empty(count + 2, dtype="<u8")
    room = memoryview(words).cast("B")  # type: ignore[arg-type]  # an array is a buffer
    zeros = memoryview(_ZEROS)
    for start in range(0, size, len(_ZEROS)):
        part = min(len(_ZEROS), size - start)
        cipher.update_into(zeros[:part], room[start : start + part + _SPARE])
    return words[:count].astype(np.uint64, copy=False)


def integer(stream: Stream, bits: int) -> int:
    """A uniform integer of ``bits`` binary digits, ``bits`` a multiple of 64."""
    return int.from_bytes(stream.words(bits // 64).tobytes(), "little")
