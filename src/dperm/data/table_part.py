# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Part of a raw table: some of its records, cut out column by column when a column is read (T71)."""

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dperm.data.canonical import CanonicalColumn
from dperm.data.tables import as_array
from dperm.errors import DataError

Rows = NDArray[np.int64]


@runtime_checkable
class _Located(Protocol):
    """Pandas column, or column of a library with the same interface."""

    iloc: Any


@runtime_checkable
class _Gathered(Protocol):
    """Polars column."""

    def gather(self, indices: Any) -> Any: ...


@runtime_checkable
class _Taken(Protocol):
    """Arrow column."""

    def take(self, indices: Any) -> Any: ...

    def to_pylist(self) -> list[Any]: ...


class TablePart(Mapping[str, object]):
    """Some records of named columns. A column is cut out each time it is read, so the part holds no copy of it.

    Cells keep their types: a part is read cell by cell like the whole table.

    Parameters
    ----------
    columns
        Whole columns by name, all of the same length.
    rows
        Places of the records, in ascending order.
    """

    def __init__(self, columns: Mapping[str, object], rows: Rows) -> None:
        self._columns, self._rows = columns, rows

    def __getitem__(self, name: str) -> object:
        """Return the cells of one column, of the records of this part."""
        return part_of_column(self._columns[name], self._rows)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the columns."""
        return iter(self._columns)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def __repr__(self) -> str:
        """Return the names of the columns; the number of records may be private."""
        return f"TablePart(columns={list(self._columns)})"


def joined_columns(*parts: Mapping[str, object]) -> Mapping[str, object]:
    """Return the columns of several parts of a table as one mapping, which cuts a column out when it is read."""
    return ChainMap({}, *map(_read_only, parts))


def _read_only(part: Mapping[str, object]) -> MutableMapping[str, object]:
    return cast(MutableMapping[str, object], part)  # a ChainMap writes to its first mapping alone


def common_length(columns: Mapping[str, object]) -> int:
    """Return the number of cells of each column.

    Raises
    ------
    DataError
        If a column has no length, or the lengths differ.
    """
    lengths = {column_length(values) for values in columns.values()}
    if len(lengths) > 1:
        raise DataError("all columns of the table must have the same length.")
    return lengths.pop() if lengths else 0


def column_length(values: object) -> int:
    """Return the number of cells of a column."""
    try:
        return len(values)  # type: ignore[arg-type]  # checked by the call
    except TypeError:
        raise DataError("every column of the table must be one-dimensional.") from None


def part_of_column(values: object, rows: Rows) -> object:
    """Return the cells of a column at these places, in the container of the column.

    Parameters
    ----------
    values
        Pandas, polars or Arrow column, array or list.
    rows
        Places of the records.
    """
    if isinstance(values, CanonicalColumn):
        return values.part(rows)
    if isinstance(values, list | tuple):
        return [values[row] for row in rows.tolist()]
    if isinstance(values, np.ndarray):
        return values[rows]
    if isinstance(values, _Located):
        return values.iloc[rows]
    if isinstance(values, _Gathered):
        return values.gather(rows)
    if isinstance(values, _Taken):
        return values.take(rows)
    return as_array(values)[rows]
