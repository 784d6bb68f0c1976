# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Matrices in .npy files, read some rows at a time. The file is not mapped into memory: later writes would change rows.

Only arrays of numbers with two dimensions are read. Pickled objects are refused, because loading them runs code.
"""

from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dperm.errors import DataError

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_RULE = "must be a .npy file of numbers with two dimensions, complete and without pickled objects"


@dataclass(frozen=True)
class NpyMatrix:
    """Place and type of a matrix in a file.

    Attributes
    ----------
    rows
        Number of rows.
    columns
        Number of columns.
    type
        Type of the numbers, as text for numpy.
    offset
        Place of the first number in the file, in bytes.
    by_column
        Whether the file stores one column after the other.
    """

    rows: int
    columns: int
    type: str
    offset: int
    by_column: bool

    def read(self, file: FileIO, start: int, stop: int) -> NDArray[Any]:
        """Return the rows from ``start`` up to ``stop``.

        Raises
        ------
        EOFError
            If the file is shorter than its header says.
        """
        kind = np.dtype(self.type)
        if not self.by_column:
            found = np.empty((stop - start, self.columns), kind)
            _fill(file, found, self.offset + start * self.columns * kind.itemsize)
            return found
        columns = np.empty((self.columns, stop - start), kind)
        for place, column in enumerate(columns):
            _fill(file, column, self.offset + (place * self.rows + start) * kind.itemsize)
        return columns.T


def npy_matrix(path: Path) -> NpyMatrix:
    """Return the facts in the header of a .npy file, without reading its numbers.

    Raises
    ------
    DataError
        If the file is damaged or holds anything but a matrix of numbers.
    """
    found = None
    with open(path, "rb") as file:
        try:
            shape, by_column, kind = _HEADERS[npy.read_magic(file)](file)
        except (ValueError, KeyError):  # the message may quote the file
            pass
        else:
            size = path.stat().st_size - file.tell()
            if len(shape) == 2 and kind.kind in "biuf" and size >= kind.itemsize * shape[0] * shape[1]:
                found = NpyMatrix(*shape, kind.str, file.tell(), by_column)
    if found is None:
        raise DataError(f"{path} {_RULE}.")
    return found


def _fill(file: FileIO, array: NDArray[Any], offset: int) -> None:
    file.seek(offset)
    rest = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
    while rest:
        count = file.readinto(rest)
        if not count:
            raise EOFError
        rest = rest[count:]
