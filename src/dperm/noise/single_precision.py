# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian noise of grade "fast": single precision, from unpredictable bits.

The distribution approximates a Gaussian to single precision only. Outputs have about 24 random bits, end at about 6.76
standard deviations, and their low-order bits can reveal the value under the noise (T10). No eta or tau covers this
difference: a record with this grade states the guarantee of the ideal mechanism.

`FloatingPool` draws ahead, because most of the cost of a small draw is overhead. It returns every number once. Its
numbers belong to one thread of one process: another thread, a child process and a copy of the pool start empty, as
streams do (`dperm.noise.bits`).
"""

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dperm.noise.bits import Stream, this_process

BLOCK = 2**15
AHEAD = 2**17
"""Numbers drawn at a time."""
MOST = AHEAD // 4
"""Largest request served from the pool; larger ones are drawn directly, so the pool keeps its numbers."""

Draw = Callable[[int, Stream], NDArray[np.float32]]


def floating_gaussian(size: int, stream: Stream) -> NDArray[np.float32]:
    """Draw ``size`` standard normals by Box and Muller: sqrt(-2 log U) (cos V, sin V).

    Parameters
    ----------
    size
        Number of draws.
    stream
        Random bits; two draws use one word.

    Returns
    -------
    array of float32
        Approximate standard normals, for grade "fast" alone.
    """
    out = np.empty(size + size % 2, dtype=np.float32)
    for start in range(0, len(out), 2 * BLOCK):
        part = out[start : start + 2 * BLOCK]
        half = len(part) // 2
        words = stream.words(half).view(np.uint32)
        radius = words[:half].astype(np.float32)
        radius += np.float32(0.5)
        radius *= np.float32(2.0**-32)  # in (0, 1]
        np.log(radius, out=radius)
        radius *= np.float32(-2.0)
        np.sqrt(radius, out=radius)
        angle = words[half:].astype(np.float32)
        angle *= np.float32(2 * np.pi * 2.0**-32)
        np.multiply(radius, np.cos(angle), out=part[:half])
        np.multiply(radius, np.sin(angle), out=part[half:])
    return out[:size]


class FloatingPool:
    """Pool of standard normals in single precision from one stream.

    Parameters
    ----------
    stream
        Random bits.
    draw
        Sampler of the numbers.
    """

    def __init__(self, stream: Stream, draw: Draw = floating_gaussian) -> None:
        self._stream, self._draw = stream, draw
        self._own = _ThreadNumbers()

    def take(self, size: int) -> NDArray[np.float32]:
        """Return ``size`` standard normals, each handed out once."""
        if size > MOST:
            return self._draw(size, self._stream)
        own = self._own
        if own.process != this_process():
            own.pieces, own.process = [], this_process()
        try:
            numbers = own.pieces.pop()  # one step: an interrupting call, such as a signal handler's, gets other numbers
        except IndexError:
            numbers = self._draw(AHEAD, self._stream)
        if len(numbers) < size:
            numbers = self._draw(AHEAD, self._stream)
        own.pieces.append(numbers[size:])
        return numbers[:size]

    def __reduce__(self) -> tuple[type["FloatingPool"], tuple[Stream, Draw]]:
        """Make each copy, in this process or another, start empty."""
        return (FloatingPool, (self._stream, self._draw))


class _ThreadNumbers(threading.local):
    """Unused numbers of one thread and the process they belong to."""

    def __init__(self) -> None:
        self.pieces: list[NDArray[np.float32]] = []
        self.process: tuple[int, int] | None = None
