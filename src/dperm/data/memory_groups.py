# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Row groups of tables and arrays in memory: blocks of consecutive rows, on views of the data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.file_groups import BLOCK_ROWS, column_names
from dperm.data.group_cells import GroupCells, MatrixCells, TableCells
from dperm.data.row_groups import CellGroup
from dperm.data.table_part import common_length
from dperm.data.tables import named_columns


@dataclass(frozen=True, eq=False)
class MatrixGroup(CellGroup):
    """Rows of an array of numbers."""

    id: str
    array: NDArray[Any] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)

    def cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        """Yield views of the array."""
        for start, stop in _blocks(len(self.array), rows):
            yield MatrixCells(self.array[start:stop], self.names)


@dataclass(frozen=True, eq=False)
class FrameGroup(CellGroup):
    """Rows of a pandas, polars or Arrow table, or of a mapping of names to arrays."""

    id: str
    columns: Mapping[str, Any] = field(repr=False)
    count: int = field(repr=False)

    def cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        """Yield slices of the columns."""
        for start, stop in _blocks(self.count, rows):
            parts = {name: _slice(self.columns[name], start, stop) for name in names}
            yield TableCells(parts, stop - start)


def memory_groups(source: Any) -> tuple[tuple[str, ...], tuple[CellGroup, ...]]:
    """Return the column names and the row groups of a table or a 2-D array in memory.

    Parameters
    ----------
    source
        Pandas, polars or Arrow table, mapping of names to one-dimensional arrays, or 2-D numpy array.
        Columns of an array are named x0, x1 and so on.

    Raises
    ------
    DataError
        If columns have different lengths or the same name, or an array has a mask or another number of dimensions.
    ParameterError
        If it is no table.
    """
    if isinstance(source, np.ndarray) and not isinstance(source, np.ma.MaskedArray) and source.dtype.kind in "biuf":
        if source.ndim == 2:
            names, array = column_names(source.shape[1]), np.asarray(source)
            blocks = enumerate(_blocks(len(array), BLOCK_ROWS, least=1))
            groups = (MatrixGroup(f"block {place}", array[start:stop], names) for place, (start, stop) in blocks)
            return names, tuple(groups)
    columns = named_columns(source)
    count = common_length(columns)
    blocks = enumerate(_blocks(count, BLOCK_ROWS, least=1))
    return tuple(columns), tuple(_frame_group(place, columns, start, stop) for place, (start, stop) in blocks)


def _frame_group(place: int, columns: Mapping[str, Any], start: int, stop: int) -> FrameGroup:
    parts = {name: _slice(values, start, stop) for name, values in columns.items()}
    return FrameGroup(f"block {place}", parts, stop - start)


def _blocks(count: int, rows: int | None, least: int = 0) -> Iterator[tuple[int, int]]:
    """Yield first and last rows of blocks, at least ``least`` blocks; one block without ``rows``."""
    step = rows or max(count, 1)
    return ((start, min(start + step, count)) for start in range(0, max(count, least), step))


def _slice(values: Any, start: int, stop: int) -> Any:
    """Return consecutive cells of a column in its own container, as a view where the library allows."""
    return values.iloc[start:stop] if hasattr(values, "iloc") else values[start:stop]
