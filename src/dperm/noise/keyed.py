# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Poisson samples by a keyed function of draw number and row number (T207).

Row i is in the sample of draw t if U(t, i) < rate, for 80 binary digits U(t, i) of AES-256 under a secret key. The
sample of a part of a table needs the numbers of its rows only, so it does not depend on the cut of the table.

The digits are the encryption of 128-bit counters with three fields: draw number (64 bits), region (1 bit), and block
(63 bits). The first 16 digits of row i are in block i div 8 of region 0. If they equal those of the rate, once in 65536
rows, the other 64 digits decide. These are in block i div 2 of region 1. No field carries into another.
"""

import math
from fractions import Fraction
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from dperm import checks
from dperm.errors import DataError, ParameterError
from dperm.noise.arrays import Integers
from dperm.noise.bits import BYTES_PER_KEY, COUNTER_BYTES, KEY_BYTES, Stream, Words, aes_ctr_cipher, integer, keystream
from dperm.noise.poisson import CHUNK, PIECE, RATE, WORD
from dperm.privacy.rounding import round_up

Mask = NDArray[np.bool_]
DIGITS = PIECE + WORD
"""Binary digits of a row's number U in a draw."""
PIECES_PER_BLOCK = 8 * COUNTER_BYTES // PIECE
WORDS_PER_BLOCK = 8 * COUNTER_BYTES // WORD
DRAW_SHIFT = 64
LATER_DIGITS = 2**63
"""Region of the 64 later digits, as a bit of the counter."""
BLOCKS_PER_KEY = BYTES_PER_KEY // COUNTER_BYTES
FIRST = "It is the first draw number of a run, or of its continuation."


def blocks_per_draw(rows: int) -> int:
    """Return the number of blocks of a draw on ``rows`` rows: the first digits, and the later digits of all rows."""
    return -(-rows // PIECES_PER_BLOCK) + -(-rows // WORDS_PER_BLOCK)


def keystream_distance(blocks: int) -> float:
    """Return a bound on the total variation between ``blocks`` distinct blocks of a key and ideal bits (T207).

    The bound is blocks^2 / 2^129. It holds for a random permutation in the place of AES. The advantage in breaking AES
    comes on top (T10).

    Parameters
    ----------
    blocks
        Number of blocks encrypted under one key, with those of ties.

    Returns
    -------
    float
        The bound, rounded up.

    Notes
    -----
    *Guarantees.* For several keys the distances add up. Delta grows by at most (1 + e^epsilon) times their sum (T10e,
    T52). Like all random bits of dperm, the bits of a sample are accounted for as ideal (T10), so no event contains
    this cost.

    =============  ======================
    blocks         result
    =============  ======================
    0              0
    2^32, a key    2^-65, about 2.7e-20
    =============  ======================

    Examples
    --------
    >>> from dperm.noise.keyed import BLOCKS_PER_KEY, keystream_distance
    >>> keystream_distance(BLOCKS_PER_KEY) == 2.0**-65
    True
    """
    return min(1.0, round_up(Fraction(blocks**2, 2**129)))


class KeyedSampler:
    """Poisson sampler of the rows of a table under one secret key (T207).

    The sample is a pure function of key, rate, draw number and row number. Copies of the sampler in other processes
    return the rows of the same sample.

    Parameters
    ----------
    key
        Secret key of 32 bytes, from `DrawNumbers`. It is as secret as the data: whoever knows it knows the samples.
    rows
        Number of rows of the whole table; private under add/remove.
    first
        First draw number of the key.

    Attributes
    ----------
    draws
        Draw numbers of the key. It encrypts at most 2^32 blocks; private under add/remove.

    Raises
    ------
    DataError
        If one draw on so many rows needs more than 2^32 blocks.

    Notes
    -----
    *Guarantees.* For ideal bits, each row is in the sample independently of the others, and of all other draws (T22,
    T207). Its probability is ``rate`` rounded down to a multiple of 2^-80, so never above ``rate``. The numbers of the
    rows must be distinct: two rows with one number are drawn together.

    The key appears in no representation of the sampler. Pickling keeps it, for the workers of a run. A checkpoint, a
    log or a statement must not contain a pickled sampler.

    Examples
    --------
    >>> from dperm.noise.keyed import KeyedSampler
    >>> sampler = KeyedSampler(bytes(32), rows=1000)
    >>> sampler.sample(0.01, 0, 0, 1000)
    array([240, 355, 565, 588, 601, 616, 783, 802, 987])
    >>> sampler.sample(0.01, 0, 300, 600)
    array([355, 565, 588])
    >>> sampler
    KeyedSampler(<secret key>)
    """

    __slots__ = ("_key", "_rows", "draws")

    def __init__(self, key: bytes, *, rows: int, first: int = 0) -> None:
        if len(key) != KEY_BYTES:
            raise ParameterError(argument="key", rule=f"must have {KEY_BYTES} bytes", got=f"{len(key)} bytes")
        first = checks.count("first", first, FIRST, least=0)
        served = BLOCKS_PER_KEY // max(1, blocks_per_draw(rows))
        if not served:
            raise DataError(
                "the table has too many rows for samples by a key: one draw encrypts more than 2^32 blocks (T207).",
                remedy="Train on a table with at most 6 billion rows.",
            )
        self._key, self._rows, self.draws = key, rows, range(first, first + served)

    def sample(self, rate: float, draw: int, start: int, stop: int) -> Integers:
        """Return the numbers of the sampled rows from ``start`` up to ``stop``, in ascending order.

        Parameters
        ----------
        rate
            Inclusion probability of each row; 1 includes all rows.
        draw
            Draw number, one of ``draws``.
        start, stop
            Range of row numbers in the whole table.

        Returns
        -------
        array of int64
            Row numbers, the same for every cut of the table.

        Raises
        ------
        ParameterError
            If the rate is not in (0, 1], if the key does not serve the draw, or if the rows are not rows of the table.

        Notes
        -----
        Apart from the sample, memory does not grow with the number of rows.

        ===============  ==========================
        edge case        result
        ===============  ==========================
        rate 1           all rows, no bits used
        rate < 2^-80     empty array
        start == stop    empty array
        rate 0, nan      ParameterError
        ===============  ==========================
        """
        probability = Fraction(checks.rate("rate", rate, RATE))
        self._require_served(draw, start, stop)
        if probability == 1 or start == stop:
            return np.arange(start, stop, dtype=np.int64)
        border, rest = divmod(math.floor(probability * 2**DIGITS), 2**WORD)
        rows, tied = self._up_to(border, draw, start, stop)
        places = np.flatnonzero(tied)
        if not len(places):
            return rows
        tied[places] = self._later_digits(draw, rows[places]) >= np.uint64(rest)  # 80 equal digits: not in the sample
        return np.asarray(rows[~tied])

    def _up_to(self, border: int, draw: int, start: int, stop: int) -> tuple[Integers, Mask]:
        """Return the rows whose first digits are at most ``border``, and a mask of those where they are equal."""
        first = start - start % PIECES_PER_BLOCK
        cipher = aes_ctr_cipher(self._key, _counter(draw, first // PIECES_PER_BLOCK))
        rows, tied = [], []
        for begin in range(first, stop, CHUNK):
            found, equal = _compared(cipher, min(CHUNK, stop - begin), border)
            rows.append(found + begin)
            tied.append(equal)
        numbers = np.concatenate(rows).astype(np.int64, copy=False)
        inside = int(np.searchsorted(numbers, start))
        return numbers[inside:], np.concatenate(tied)[inside:]

    def _later_digits(self, draw: int, rows: Integers) -> Words:
        """Return the 64 later digits of each row: counter mode, entered at the block of each row."""
        counters = np.empty((len(rows), 2), dtype=">u8")
        counters[:, 0] = draw
        counters[:, 1] = np.uint64(LATER_DIGITS) | (rows // WORDS_PER_BLOCK).astype(np.uint64)
        blocks = Cipher(algorithms.AES(self._key), modes.ECB()).encryptor().update(counters.tobytes())
        words = np.frombuffer(blocks, dtype="<u8").reshape(-1, WORDS_PER_BLOCK)
        return words[np.arange(len(rows)), rows % WORDS_PER_BLOCK].astype(np.uint64, copy=False)

    def _require_served(self, draw: int, start: int, stop: int) -> None:
        if draw not in self.draws:
            raise ParameterError(
                argument="draw",
                rule="must be one of the draws of the key, which encrypts at most 2^32 blocks (T207)",
                remedy="Take the sampler and the draw number of `DrawNumbers` together.",
            )
        if not 0 <= start <= stop <= self._rows:
            raise ParameterError(argument="stop", rule="must be from start up to the number of rows of the table")

    def __repr__(self) -> str:
        return "KeyedSampler(<secret key>)"


class DrawNumbers:
    """Draw numbers of a run and the keys of its samples, held by the driver alone (T207).

    A draw number stands for one sample. Work that fails before any noise is drawn is repeated under the same number, on
    the same sample. `use_up` is called before noise is drawn. From then on the number is used up, even if the noise was
    never released, and the next attempt draws a new sample.

    Parameters
    ----------
    stream
        Random bits of the release, the source of the keys. A run with seeded bits is reproducible and NOT PRIVATE.
    rows
        Number of rows of the whole table; private under add/remove.
    first
        First draw number. A run that continues an earlier one starts above all numbers that may have been used.

    Attributes
    ----------
    number
        Current draw number.
    sampler
        Sampler with the key of the current draw number. A new key replaces the old one before 2^32 blocks.

    Notes
    -----
    *Guarantees.* No two noises are drawn on one sample, provided that `use_up` precedes each of them. Two noises on one
    sample cost far more than two sampled Gaussians: at rate .01, noise multiplier 1 and delta = 1e-5, epsilon is .8160
    instead of .2455.

    Examples
    --------
    >>> from dperm.noise import SystemBits
    >>> from dperm.noise.keyed import DrawNumbers
    >>> draws = DrawNumbers(SystemBits().stream(), rows=1000)
    >>> rows = draws.sampler.sample(0.01, draws.number, 0, 1000)
    >>> draws.use_up()  # then draw the noise of the sample's sum
    >>> draws.number
    1
    """

    def __init__(self, stream: Stream, *, rows: int, first: int = 0) -> None:
        self.number = checks.count("first", first, FIRST, least=0)
        self._stream, self._rows = stream, rows
        self.sampler = self._new_sampler()

    def use_up(self) -> None:
        """Move on to the next draw number; call it before noise is drawn on the current sample."""
        self.number += 1
        if self.number not in self.sampler.draws:
            self.sampler = self._new_sampler()

    def _new_sampler(self) -> KeyedSampler:
        key = integer(self._stream, 8 * KEY_BYTES).to_bytes(KEY_BYTES, "little")
        return KeyedSampler(key, rows=self._rows, first=self.number)

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: two copies would draw two noises on one sample."""
        raise TypeError("draw numbers cannot be copied: send the sampler to other processes (T207).")

    def __repr__(self) -> str:
        return "DrawNumbers(<secret key>)"


def _counter(draw: int, block: int) -> bytes:
    """Return the counter of a block of first digits."""
    return ((draw << DRAW_SHIFT) + block).to_bytes(COUNTER_BYTES, "big")


def _compared(cipher: CipherContext, count: int, border: int) -> tuple[Integers, Mask]:
    """Return the places of the next ``count`` first digits that are at most ``border``, and a mask of equal ones."""
    words = keystream(cipher, -(-count // PIECES_PER_BLOCK) * WORDS_PER_BLOCK)
    pieces = words.astype("<u8", copy=False).view("<u2")[:count]
    found = np.flatnonzero(pieces <= border)
    return found, pieces[found] == border
