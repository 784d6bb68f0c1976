# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Encoded rows in a scratch file without a name, which the system removes when the process ends for any reason.

The file is not mapped into memory. Rows are read into arrays of their own, so the memory of a pass does not grow with
the file, and rows of an earlier chunk stay valid.
"""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from threading import Lock
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dperm.checks import shown
from dperm.data.grid_rows import GridRows, RowGrid
from dperm.errors import DataError, ParameterError

STORED_ROWS = 2**14
"""Largest number of rows in a chunk of a scratch file."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL)
"""Errors of `open` where the file system or the kernel has no files without a name."""


class StoredArrays(NamedTuple):
    """Place of some arrays in a scratch file, one after the other, with type and shape of each."""

    offset: int
    layout: tuple[tuple[str, tuple[int, ...]], ...]


class ScratchFile:
    """File without a name, for one process; only its owner may read it (mode 0600).

    Methods may be called by several threads at the same time.

    Parameters
    ----------
    folder
        Folder on the disk to use.

    Raises
    ------
    ParameterError
        If no file can be created in the folder.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self._file = _unnamed_file(self.folder)
        finalize(self, self._file.close)
        self._lock, self._end = Lock(), 0

    def append(self, arrays: Sequence[NDArray[Any]]) -> StoredArrays:
        """Write arrays to the end of the file, and return their place.

        Raises
        ------
        ParameterError
            If the disk is full or cannot be written to.
        """
        arrays = [np.ascontiguousarray(array) for array in arrays]
        with self._lock:
            offset = self._end
            self._end += sum(array.nbytes for array in arrays)
        stored = StoredArrays(offset, tuple((array.dtype.str, array.shape) for array in arrays))
        buffers = [_bytes(array) for array in arrays if array.nbytes]
        while buffers:
            try:
                count = os.pwritev(self._file.fileno(), buffers, offset)
            except OSError as error:
                code = error.errno
            else:
                code = 0 if count else errno.ENOSPC
            if code:
                raise self._refusal(code)
            offset += count
            buffers = _rest(buffers, count)
        return stored

    def read(self, stored: StoredArrays) -> list[NDArray[Any]]:
        """Return arrays that were written, as new arrays.

        Raises
        ------
        DataError
            If the disk returns an error or less than was written.
        """
        arrays = [np.empty(shape, kind) for kind, shape in stored.layout]
        buffers, offset = [_bytes(array) for array in arrays if array.nbytes], stored.offset
        while buffers:
            count = 0
            with suppress(OSError):
                count = os.preadv(self._file.fileno(), buffers, offset)
            if not count:
                raise DataError(
                    f"the scratch file in {shown(self.folder)} cannot be read.",
                    remedy="Check the disk, or choose another folder for scratch files.",
                )
            offset += count
            buffers = _rest(buffers, count)
        return arrays

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the file; the system frees its space."""
        self._file.close()

    def _refusal(self, code: int) -> ParameterError:
        if code in _FULL:
            rule, remedy = "must be on a disk with enough free space", "Free some space, choose another folder, or give"
        else:
            rule, remedy = f"must be writable; the system says: {os.strerror(code)}", "Choose another folder, or give"
        return ParameterError(
            argument="scratch",
            rule=rule,
            got=shown(self.folder),
            remedy=f"{remedy} scratch=None to read the source again in each pass.",
        )


@dataclass(frozen=True)
class ScratchGroup:
    """Encoded rows of one row group in a scratch file.

    Attributes
    ----------
    id, rows, checksum, problems
        See `HeldGroup`.
    file
        Scratch file.
    grid
        Public grid of the rows.
    stored
        Places of the chunks, in the order of the rows, each with the number of its first row.
    """

    id: str
    rows: int
    checksum: int
    problems: frozenset[str]
    file: ScratchFile
    grid: RowGrid | None
    stored: tuple[tuple[int, StoredArrays], ...]

    def chunks(self) -> Iterator[tuple[int, GridRows]]:
        """Yield the rows in chunks of at most `STORED_ROWS` rows, read from the file."""
        return self.chunks_within(lambda start, stop: True)

    def chunks_within(self, wanted: Callable[[int, int], bool]) -> Iterator[tuple[int, GridRows]]:
        """Yield the chunks whose first row and row after the last one ``wanted`` accepts; others are not read."""
        stops = (*(start for start, _ in self.stored[1:]), self.rows)
        for (start, stored), stop in zip(self.stored, stops, strict=bool(self.stored)):
            if wanted(start, stop):
                assert self.grid is not None  # stored rows have one
                yield start, _grid_rows(self.grid, self.file.read(stored))


class ScratchWriter:
    """Writer of the rows of one row group to a scratch file.

    Parameters
    ----------
    file
        Scratch file, shared by all row groups.
    """

    def __init__(self, file: ScratchFile) -> None:
        self._file = file
        self._grid: RowGrid | None = None
        self._stored: list[tuple[int, StoredArrays]] = []
        self._rows = 0

    def add(self, rows: GridRows) -> None:
        """Write the next rows, in chunks of at most `STORED_ROWS`."""
        self._grid = rows.grid
        for start in range(0, rows.count, STORED_ROWS):
            part = rows.part(start, start + STORED_ROWS)
            self._stored.append((self._rows, self._file.append(_arrays(part))))
            self._rows += part.count

    def group(self, id: str, rows: int, checksum: int, problems: frozenset[str]) -> ScratchGroup:
        """Return the rows that were written, all ``rows`` of them, as a held group."""
        assert rows == self._rows
        return ScratchGroup(id, rows, checksum, problems, self._file, self._grid, tuple(self._stored))


def _arrays(rows: GridRows) -> list[NDArray[Any]]:
    """Return the arrays of some rows: three for dense rows, five for a CSR matrix."""
    cells = rows.cells
    own = [cells] if isinstance(cells, np.ndarray) else [cells.data, cells.indices, cells.indptr]
    return [*own, rows.lengths, rows.codes]


def _grid_rows(grid: RowGrid, arrays: list[NDArray[Any]]) -> GridRows:
    *own, lengths, codes = arrays
    if len(own) == 1:
        return GridRows(grid, own[0], lengths, codes)
    shape = (len(codes), grid.space.dim)
    return GridRows(grid, sparse.csr_array(tuple(own), shape=shape, copy=False), lengths, codes)


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _rest(buffers: list[memoryview], count: int) -> list[memoryview]:
    """Return the buffers without their first ``count`` bytes."""
    place = 0
    while place < len(buffers) and count >= len(buffers[place]):
        count -= len(buffers[place])
        place += 1
    rest = buffers[place:]
    if count:
        rest[0] = rest[0][count:]
    return rest


def _unnamed_file(folder: str) -> FileIO:
    flag = getattr(os, "O_TMPFILE", None)
    try:
        descriptor = None
        if flag is not None:
            descriptor = _without_name(folder, flag)
        if descriptor is None:  # a name for an instant
            descriptor, path = tempfile.mkstemp(prefix="dperm-", dir=folder)
            os.unlink(path)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
    else:
        os.fchmod(descriptor, 0o600)
        return FileIO(descriptor, "r+")
    raise ParameterError(
        argument="scratch",
        rule=f"must be a folder for files; the system says: {reason}",
        got=shown(folder),
    )


def _without_name(folder: str, flag: int) -> int | None:
    try:
        return os.open(folder, flag | os.O_RDWR, 0o600)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    return None
