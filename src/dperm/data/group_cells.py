# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Cells of some rows of a row group in the form of their source, converted to matrices and columns on request.

Each cell is converted on its own. The type of an array depends on the rows read together, its values do not.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrow_files import declared_column
from dperm.data.canonical import TEXT_TYPES, canonical_column
from dperm.data.cells import NumberCells, UndeclaredCells, as_classes, as_numbers, cell_reader
from dperm.data.columns import AnyColumn, Unseen
from dperm.data.schema import TargetSchema
from dperm.data.tables import as_array, column, numeric_matrix, read_column

Declaration = AnyColumn | TargetSchema | None
"""Declaration of a column; None for a column without one."""
HEIGHT = 2**11
"""Rows of a matrix that are filled at a time, so that they stay in a processor's cache."""
_NUMBERS = "biuf"
_SINGLE = ("?", "b", "B", "h", "H", "e", "f")
"""Types of numpy whose values are exact in single precision."""


class GroupCells(ABC):
    """Cells of named columns in some rows."""

    @abstractmethod
    def matrix(self, names: Sequence[str]) -> NDArray[Any]:
        """Return columns of numbers as a 2-D array in single or double precision, NaN for missing values.

        Raises
        ------
        DataError
            If a column holds anything but numbers and truth values. The message names the column.
        """

    @abstractmethod
    def column(self, name: str, declared: Declaration = None, unseen: Unseen = "raise") -> Any:
        """Return one column: by its declaration as `dperm.data.files.read_table` does, or without one.

        Without a declaration, numbers and truth values are a numpy array with NaN for missing values. Text is an Arrow
        array, or a numpy array of objects with None for missing values.

        Raises
        ------
        DataError
            If the column breaks the rule of its declaration. The message names the column.
        """


class TableCells(GroupCells):
    """Cells of a table in memory: a mapping of names to one-dimensional arrays, series or Arrow arrays."""

    def __init__(self, columns: Mapping[str, Any], rows: int) -> None:
        self.columns, self.rows = columns, rows

    def matrix(self, names: Sequence[str]) -> NDArray[Any]:
        """Return columns of numbers as a matrix, filled some rows at a time."""
        return filled_matrix([_numbers(name, self.columns[name]) for name in names], self.rows)

    def column(self, name: str, declared: Declaration = None, unseen: Unseen = "raise") -> Any:
        """Return one column; empty text is no missing value here, as in `PublicEncoder.transform`."""
        values = self.columns[name]
        if declared is None:
            return _undeclared(values)
        if not isinstance(declared, TargetSchema):
            return canonical_column(values) if declared.canonical else column({name: values}, name)
        found = column({name: values}, name)
        if declared.classes is None:
            return as_numbers(name, found, unseen)
        return as_classes(name, found, declared.classes, unseen)


class ArrowCells(TableCells):
    """Cells of an Arrow table or record batch of a file."""

    def column(self, name: str, declared: Declaration = None, unseen: Unseen = "raise") -> Any:
        """Return one column; empty text in a declared column is missing, as in CSV files."""
        if declared is None:
            return super().column(name)
        return declared_column(name, declared, self.columns[name], unseen)


class TextCells(GroupCells):
    """Cells of a CSV file, as lists of text."""

    def __init__(self, columns: Mapping[str, Sequence[str]], rows: int) -> None:
        self.columns, self.rows = columns, rows

    def matrix(self, names: Sequence[str]) -> NDArray[Any]:
        """Return columns of numbers as a matrix of doubles."""
        reader = NumberCells("as it is read as a number")
        return filled_matrix([reader.read(name, self.columns[name]) for name in names], self.rows)

    def column(self, name: str, declared: Declaration = None, unseen: Unseen = "raise") -> Any:
        """Return one column; without a declaration, cells that are numbers are numbers, and others are text."""
        reader = UndeclaredCells() if declared is None else cell_reader(declared, unseen)
        return reader.read(name, self.columns[name])


class MatrixCells(GroupCells):
    """Cells of a 2-D array of numbers with named columns."""

    def __init__(self, array: NDArray[Any], names: Sequence[str]) -> None:
        self.array, self.names = array, tuple(names)

    def matrix(self, names: Sequence[str]) -> NDArray[Any]:
        """Return the array itself if all columns are requested in their order; otherwise a copy of some columns."""
        array = self.array
        if tuple(names) != self.names:
            array = array[:, [self.names.index(name) for name in names]]
        return array if array.dtype in (np.float32, np.float64) else array.astype(_type_for([array.dtype]))

    def column(self, name: str, declared: Declaration = None, unseen: Unseen = "raise") -> Any:
        """Return one column of the array."""
        values = self.array[:, self.names.index(name)]
        return TableCells({name: values}, len(values)).column(name, declared, unseen)


def filled_matrix(columns: Sequence[NDArray[Any]], rows: int) -> NDArray[Any]:
    """Return columns as a matrix in C order, in single precision if that is exact for all their types.

    Parameters
    ----------
    columns
        Arrays of numbers, all of the same length.
    rows
        Their length.

    Returns
    -------
    ndarray
        Matrix of shape (rows, columns).
    """
    matrix = np.empty((rows, len(columns)), _type_for(values.dtype for values in columns))
    with np.errstate(over="ignore"):  # beyond doubles is infinite
        for start in range(0, rows, HEIGHT):
            block = matrix[start : start + HEIGHT]
            for place, values in enumerate(columns):
                block[:, place] = values[start : start + HEIGHT]
    return matrix


def joined_matrix(matrices: Sequence[NDArray[Any]], columns: int) -> NDArray[Any]:
    """Return the rows of all matrices, one matrix after the other."""
    if len(matrices) == 1:
        return matrices[0]
    return np.concatenate(matrices) if matrices else np.empty((0, columns))


def joined_column(pieces: Sequence[Any]) -> Any:
    """Return the cells of all pieces of a column without a declaration, one piece after the other."""
    if len(pieces) == 1:
        return pieces[0]
    arrays = [np.asarray(piece) for piece in pieces]
    if not any(array.dtype.kind == "O" for array in arrays):
        return np.concatenate([np.empty(0), *arrays])
    return np.concatenate([array if array.dtype.kind == "O" else _objects(array) for array in arrays])


def _objects(numbers: NDArray[Any]) -> NDArray[np.object_]:
    """Return numbers as objects, with None for NaN."""
    found = numbers.astype(object)
    found[np.isnan(numbers)] = None
    return found


def _type_for(types: Iterable[np.dtype[Any]]) -> type[np.floating[Any]]:
    return np.float32 if all(kind.char in _SINGLE for kind in types) else np.float64


def _numbers(name: str, values: Any) -> NDArray[Any]:
    """Return a column of numbers; the array itself for a type of numbers."""
    found = None
    with suppress(Exception):  # raised again below, without the message of another library
        found = as_array(values)
    if found is None or found.ndim != 1 or found.dtype.kind not in _NUMBERS:
        found = numeric_matrix({name: values})[0][:, 0]
    return found


def _undeclared(values: Any) -> Any:
    if str(getattr(values, "type", None)) in TEXT_TYPES:
        return values
    found = as_array(values)
    if found.dtype.kind != "O":
        return found
    read = read_column(found)
    return found if read is None else read
