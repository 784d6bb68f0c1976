# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random bits from AES-256 in counter mode, with a fresh operating-system key for each release.

`Bits` is a source of randomness; `Stream` provides the bits of one release. If a stream is used in another thread, or
after a fork, it continues there under a new key, so no word is used twice.

The bits are computationally indistinguishable from ideal random bits. The advantage in distinguishing q blocks of AES
in counter mode from random bits is at most q^2 / 2^129, plus the advantage against the cipher itself. A key is replaced
after 2^32 blocks (64 GiB).
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
_SPARE = COUNTER_BYTES - 1  # extra room required by update_into


class Stream(Protocol):
    """Protocol of a stream of uniform random bits for one release."""

    def words(self, count: int) -> Words:
        """Return an array of the next ``count`` uniform 64-bit words.

        Parameters
        ----------
        count
            Number of words.

        Returns
        -------
        ndarray of uint64
            Uniform 64-bit words.
        """


@runtime_checkable
class Bits(Protocol):
    """Protocol of a source of random bits for releases."""

    @property
    def is_private(self) -> bool:
        """Whether nobody can predict the bits. If False, releases made with these bits are NOT PRIVATE."""

    def stream(self) -> Stream:
        """Return a new stream of random bits, for a single release."""


class SystemBits:
    """Unpredictable bits from AES-256, with keys from the random generator of the operating system.

    There is no seed. Use `dperm.noise.NotPrivateBits` for reproducible runs without privacy.

    Notes
    -----
    **Guarantees.** Streams are independent up to the computational security of AES-256 (T10). Every stream has its own
    key. If a stream is copied, or is used in several threads or processes, each copy, thread and process gets its own
    key.

    Examples
    --------
    >>> from dperm.noise import SystemBits
    >>> SystemBits().is_private
    True
    """

    @property
    def is_private(self) -> bool:
        """Always True: the keys never leave the process."""
        return True

    def stream(self) -> Stream:
        """Return a stream with a fresh key.

        If the operating system cannot provide random bytes, an error is raised before any draw.
        """
        return SystemStream()

    def __repr__(self) -> str:
        return "SystemBits()"


class SystemStream:
    """Stream of `SystemBits`; each thread and each forked process continues under its own key."""

    def __init__(self) -> None:
        self._own = _ThreadKey()

    def words(self, count: int) -> Words:
        """Return ``count`` uniform words, with a new key after a fork or after `BYTES_PER_KEY` bytes."""
        own = self._own
        if own.process != this_process() or own.read + 8 * count > BYTES_PER_KEY:
            own.rekey()
        own.read += 8 * count
        return keystream(own.cipher, count)

    def __reduce__(self) -> tuple[type["SystemStream"], tuple[()]]:
        """Give each copy, in this process or another, its own key."""
        return (SystemStream, ())


_forks = itertools.count(1)
_generation = 0


def _after_fork() -> None:
    """Count forks: a child in another namespace may have the process id of its parent."""
    global _generation
    _generation = next(_forks)


os.register_at_fork(after_in_child=_after_fork)


def this_process() -> tuple[int, int]:
    """Return the process id and the number of forks since this module was imported."""
    return os.getpid(), _generation


class _ThreadKey(threading.local):
    """Cipher of one thread and the process of its key."""

    cipher: CipherContext
    process: tuple[int, int]
    read: int

    def __init__(self) -> None:
        self.rekey()

    def rekey(self) -> None:
        self.cipher = aes_ctr_cipher(os.urandom(KEY_BYTES), os.urandom(COUNTER_BYTES))
        self.process = this_process()
        self.read = 0


def aes_ctr_cipher(key: bytes, counter: bytes) -> CipherContext:
    """Return an AES-256-CTR cipher context for a key and an initial counter."""
    return Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()


def keystream(cipher: CipherContext, count: int) -> Words:
    """Return the next ``count`` words of the keystream, little-endian on every machine."""
    size = 8 * count
    words = np.empty(count + 2, dtype="<u8")
    room = memoryview(words).cast("B")  # type: ignore[arg-type]  # an array is a buffer
    zeros = memoryview(_ZEROS)
    for start in range(0, size, len(_ZEROS)):
        part = min(len(_ZEROS), size - start)
        cipher.update_into(zeros[:part], room[start : start + part + _SPARE])
    return words[:count].astype(np.uint64, copy=False)


def integer(stream: Stream, bits: int) -> int:
    """Return a uniform integer of ``bits`` binary digits; ``bits`` is a multiple of 64."""
    return int.from_bytes(stream.words(bits // 64).tobytes(), "little")
