# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Standard normals in single precision, drawn ahead: what a small draw costs is mostly its beginning.

A pool hands out every number once. What it holds belongs to one thread of one process: another thread, a child process
and a copy of the pool begin with nothing, as streams do (`dperm.noise.bits`).
"""

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dperm.noise.bits import Stream, this_process
from dperm.noise.floating import floating_gaussian

AHEAD = 2**17
"""Numbers drawn at a time."""
MOST = AHEAD // 4
"""Numbers of one call; one that asks for more is not served from the pool, whose rest would be lost."""


Draw = Callable[[int, Stream], NDArray[np.float32]]


class FloatingPool:
    """Numbers of the law of `floating_gaussian`, from one stream; ``draw`` draws them."""

    def __init__(self, stream: Stream, draw: Draw = floating_gaussian) -> None:
        self._stream, self._draw = stream, draw
        self._own = _Held()

    def take(self, size: int) -> NDArray[np.float32]:
        """``size`` standard normals that nobody else has or gets."""
        if size > MOST:
            return self._draw(size, self._stream)
        own = self._own
        if own.process != this_process():
            own.pieces, own.process = [], this_process()
        try:
            numbers = own.pieces.pop()  # at once: whoever asks in between, such as a signal handler, finds others
        except IndexError:
            numbers = self._draw(AHEAD, self._stream)
        if len(numbers) < size:
            numbers = self._draw(AHEAD, self._stream)
        own.pieces.append(numbers[size:])
        return numbers[:size]

    def __reduce__(self) -> tuple[type["FloatingPool"], tuple[Stream, Draw]]:
        """A copy, here or in another process, holds nothing yet."""
        return (FloatingPool, (self._stream, self._draw))


class _Held(threading.local):
    """What one thread has drawn ahead and not handed out, and in which process."""

    def __init__(self) -> None:
        self.pieces: list[NDArray[np.float32]] = []
        self.process: tuple[int, int] | None = None
