# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The bytes of a file on their way to the reader of CSV: looked at, counted, and shown to whoever watches."""

import io
import os

from dperm.data.files import Watch


class NulError(Exception):
    """The file has a NUL byte."""


class Source(io.RawIOBase):
    """The bytes of a file, without NULs; knows which share of them was read. What is passed on is watched first."""

    def __init__(self, file: io.FileIO, watch: Watch | None = None) -> None:
        self._file, self._watch, self._done = file, watch, 0
        self._size = os.fstat(file.fileno()).st_size

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(1.0, self._done / self._size) if self._size else 1.0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class says bytes-like
        """Fill the buffer from the file."""
        count = self._file.readinto(buffer) or 0
        block = without_nul(bytes(buffer[:count]))
        if self._watch is not None:
            self._watch(block)
        self._done += count
        return count


def without_nul(block: bytes) -> bytes:
    """The same bytes, if none of them is NUL."""
    if b"\0" in block:
        raise NulError
    return block
