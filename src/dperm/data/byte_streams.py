# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Byte streams of files, also of compressed ones. A file is opened once, and all its stored bytes can be watched.

Compressed content is expanded in blocks. A file that expands to far more than tables do is refused (`LARGEST_RATIO`),
and so is a file whose expansion alone needs much memory.
"""

import bz2
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from dperm.errors import DataError

Watch = Callable[[bytes], object]
"""Receives the content of a file from beginning to end, the same bytes that are read."""
BLOCK = 2**20
LARGEST_RATIO = 200
"""Largest size of the content, as a multiple of the size of its compressed form, beyond `FREE_SIZE`."""
FREE_SIZE = 2**28
"""Number of bytes that a compressed file may expand to in any case."""
_XZ_MEMORY = 2**27
"""Largest memory for the expansion of an xz file; its strongest preset needs half of it."""


class CompressionError(Exception):
    """Raised for compressed content that breaks a rule; the message is the rule."""


class StoredBytes(io.RawIOBase):
    """Bytes of a file as stored. It shows each block to ``watch`` and counts the bytes read."""

    def __init__(self, file: io.FileIO, watch: Watch | None = None) -> None:
        self._file, self._watch, self._done = file, watch, 0
        self._size = os.fstat(file.fileno()).st_size

    @property
    def share(self) -> float:
        """Share of the file that was read, from 0 to 1."""
        return min(1.0, self._done / self._size) if self._size else 1.0

    @property
    def done(self) -> int:
        """Number of bytes read."""
        return self._done

    def readable(self) -> bool:
        """Return True, as `io.BufferedReader` requires."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class says bytes-like
        """Fill the buffer from the file, and return the number of bytes."""
        count = self._file.readinto(buffer) or 0
        block = bytes(buffer[:count])
        if self._watch is not None:
            self._watch(block)
        self._done += count
        return count


class MemberBytes(StoredBytes):
    """Bytes of a file read in any order, for a zip archive; ``watch`` receives the whole content first."""

    def __init__(self, file: io.FileIO, watch: Watch | None = None) -> None:
        super().__init__(file)
        pass_content(file, watch)

    def seekable(self) -> bool:
        """Return True, as `zipfile.ZipFile` requires."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a place in the file, and return it."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place in the file."""
        return self._file.tell()


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Streams(io.RawIOBase):
    """Content of one compressed stream, or of several one after another, as bzip2 and xz files may have."""

    def __init__(self, source: StoredBytes, new: Callable[[], _Decompressor]) -> None:
        self._source, self._new, self._pending = source, new, b""
        self._stream: _Decompressor | None = new()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class says bytes-like
        while self._stream is not None:
            block = self._pending
            if self._stream.needs_input and not block:
                block = self._source.read(BLOCK) or b""
                if not block:
                    raise EOFError
            self._pending = b""
            found = self._stream.decompress(block, len(buffer))
            if self._stream.eof:
                self._stream = self._next(self._stream.unused_data)
            if found:
                buffer[: len(found)] = found
                return len(found)
        return 0

    def _next(self, rest: bytes) -> _Decompressor | None:
        """Return the decompressor of the next stream; None at the end of the file. Zeros in between are padding."""
        while not (rest := rest.lstrip(b"\0")):
            rest = self._source.read(BLOCK) or b""
            if not rest:
                return None
        self._pending = rest
        return self._new()


class _Expanded(io.RawIOBase):
    """Content of a compressed file, refused where it grows beyond `LARGEST_RATIO` or is damaged."""

    def __init__(self, source: StoredBytes, content: Any) -> None:
        self._source, self._content, self._size = source, content, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class says bytes-like
        found = _understood(lambda: self._content.read(len(buffer)))
        self._size += len(found)
        if self._size > max(FREE_SIZE, LARGEST_RATIO * self._source.done):
            raise CompressionError(
                f"a compressed file whose content is at most {LARGEST_RATIO} times as large. Decompress it first if it "
                "is to be read all the same."
            )
        buffer[: len(found)] = found
        return len(found)


def _understood(work: Callable[[], Any]) -> Any:
    """Return the result of ``work``; errors of decompression are neither repeated nor kept as a context."""
    try:
        return work()
    except OSError as error:
        if error.errno is not None:  # of the file system
            raise
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError):
        pass
    raise CompressionError("a complete compressed file of the format in its name, without a password.")


def _gzip(source: StoredBytes) -> Any:
    return gzip.GzipFile(fileobj=io.BufferedReader(source, BLOCK))


def _bzip2(source: StoredBytes) -> Any:
    return _Streams(source, bz2.BZ2Decompressor)


def _xz(source: StoredBytes) -> Any:
    return _Streams(source, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY))


def _member(source: StoredBytes) -> Any:
    archive = _understood(lambda: zipfile.ZipFile(source))
    members = archive.infolist()
    if len(members) != 1 or not members[0].filename.lower().endswith(".csv"):
        raise CompressionError("a zip archive of exactly one member, whose name ends in .csv.")
    if members[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        raise CompressionError("a zip archive with the compression deflate or bzip2.")
    return _understood(lambda: archive.open(members[0]))


_OPENERS: dict[str, Callable[[StoredBytes], Any]] = {".gz": _gzip, ".bz2": _bzip2, ".xz": _xz, ".zip": _member}
COMPRESSED = tuple(_OPENERS)
"""Suffixes of compressed files."""


@contextmanager
def opened(path: Path, watch: Watch | None = None) -> Iterator[tuple[StoredBytes, io.RawIOBase]]:
    """Open a file; yield its stored bytes, which know the share read, and its content.

    At the end of the block, ``watch`` has received all stored bytes, unless there was an error. A zip archive is read
    twice, since its directory is at its end; a change in between is refused.

    Raises
    ------
    CompressionError
        If the file is compressed, and damaged or refused. Reading raises it too.
    """
    opener = _OPENERS.get(path.suffix.lower())
    with open(path, "rb", buffering=0) as file:
        before = file_state(file)
        source = MemberBytes(file, watch) if opener is _member else StoredBytes(file, watch)
        yield source, source if opener is None else _Expanded(source, opener(source))
        if opener is _member:
            require_unchanged(path, file, before)
        elif watch is not None:
            while source.read(BLOCK):
                pass


def file_state(file: BinaryIO | io.FileIO) -> tuple[int, int, int]:
    """Return inode, size and modification time, which change when a file is written."""
    found = os.fstat(file.fileno())
    return found.st_ino, found.st_size, found.st_mtime_ns


def require_unchanged(path: Path, file: BinaryIO | io.FileIO, before: tuple[int, int, int]) -> None:
    """Raise DataError if the state of an open file is not that of `file_state` before it was read."""
    if file_state(file) != before:
        problem = f"{path} was changed while it was read."
        raise DataError(problem, remedy="Try again when nobody writes to it.")


def pass_content(file: BinaryIO | io.FileIO, watch: Watch | None) -> None:
    """Pass the whole content to ``watch``, and return to the beginning."""
    while watch is not None and (block := file.read(BLOCK)):
        watch(block)
    file.seek(0)
