# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Row groups of Dask arrays and frames: each partition is a row group, read on a worker.

The driver knows the names and the types of the columns and the number of partitions, but no rows. The lengths of the
partitions may be unknown.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dperm.data.columns import Unseen
from dperm.data.group_cells import Declaration, GroupCells, MatrixCells, TableCells
from dperm.data.row_groups import CellGroup, RowGroups, RowPiece
from dperm.data.tables import as_array
from dperm.engines.guarded import guarded
from dperm.errors import DataError, ParameterError

ALIGN = "Take X and y from one frame, such as frame[features] and frame['y'], or give them the same partitions."
LABEL = "y"


def is_dask(value: object) -> bool:
    """Return whether ``value`` is a Dask object, such as a Dask array or data frame. Dask is not imported."""
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr")


def row_groups_of(X: Any, y: Any = None) -> RowGroups:
    """Return the partitions of Dask objects as row groups.

    Parameters
    ----------
    X
        Dask data frame, or two-dimensional Dask array. If an array is split along its columns, the blocks of each set
        of rows are joined to one partition.
    y
        Labels: Dask series, or Dask array or data frame with one column; None without labels.

    Returns
    -------
    RowGroups
        Row groups "partition 0", "partition 1" and so on. The columns of a data frame keep their names as text; the
        columns of an array are named x0, x1 and so on. The labels are the last column, named "y", or "yy" if X already
        has a column "y".

    Raises
    ------
    ParameterError
        If X is neither a Dask data frame nor a two-dimensional Dask array, if the number of its columns is unknown, if
        two columns have the same name, or if the partitions of X and y differ.

    Notes
    -----
    *Guarantees.* This function reads no rows. Later, a worker joins row i of each partition of y to row i of the same
    partition of X. Before that, it checks that the lengths and, for data frames, the indices of the two partitions are
    equal.

    ==================================  ==================================================================
    partitions                          effect
    ==================================  ==================================================================
    without rows                        allowed
    of unknown length                   allowed; the lengths of X and y are compared when the data are read
    different lengths in X and y        ParameterError if the lengths are known, DataError otherwise
    different divisions in X and y      ParameterError if both divisions are known
    ==================================  ==================================================================

    Examples
    --------
    >>> import dask.array as da
    >>> from dperm.engines import row_groups_of
    >>> table = row_groups_of(da.ones((6, 2), chunks=(3, 1)), da.ones(6, chunks=3))
    >>> [group.id for group in table.groups], table.columns
    (['partition 0', 'partition 1'], ('x0', 'x1', 'y'))
    """
    features, label = _feature_names(X), None
    if len(set(features)) < len(features):
        raise ParameterError(argument="X", rule="must have columns with different names")
    if y is not None:
        _check_labels(X, y)
        label = LABEL
        while label in features:
            label += LABEL
    blocks = [
        DaskBlock(f"partition {place}", features, label=label, dask_parts=parts)
        for place, parts in enumerate(_partitions(X, y))
    ]
    return RowGroups(tuple(blocks), features if label is None else (*features, label))


@dataclass(frozen=True)
class DaskBlock:
    """Partition of Dask objects as a row group.

    `dperm.engines.DaskEngine` computes a partition and encodes it on one worker. In all other cases, the methods
    compute the partition with Dask's current scheduler, and return it to this process.

    Attributes
    ----------
    id
        Public name of the partition.
    features
        Names of the columns of X.
    label
        Name of the column of the labels; None without labels.
    dask_parts
        Partitions of X and y as objects of ``dask.delayed``.
    """

    id: str
    features: tuple[str, ...]
    label: str | None = field(kw_only=True)
    dask_parts: tuple[Any, ...] = field(kw_only=True, repr=False)

    def read(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the named columns of all rows."""
        return self._computed().read(columns)

    def matrix(self, columns: Sequence[str]) -> Any:
        """Return columns of numbers of all rows as a matrix."""
        return self._computed().matrix(columns)

    def pieces(
        self, numbers: Sequence[str], others: Mapping[str, Declaration] | None = None, *, unseen: Unseen = "raise"
    ) -> Iterator[RowPiece]:
        """Yield the rows in pieces; see `dperm.data.row_groups.pieces_of`."""
        return self._computed().pieces(numbers, others, unseen=unseen)

    def without_parts(self) -> "DaskBlock":
        """Return the block without its partitions: the task of a worker receives them as arguments."""
        return replace(self, dask_parts=())

    def loaded(self, *parts: Any) -> "LoadedBlock":
        """Return the row group of computed partitions: X, X and y, or a pair of both.

        Raises
        ------
        DataError
            If the partitions have other columns than the table, or if the rows of X and y differ in number or index.
        """
        X, y = (*(parts[0] if isinstance(parts[0], tuple) else parts), None)[:2]
        names = tuple(map(str, X.columns)) if hasattr(X, "columns") else self.features
        if names != self.features or X.shape[1] != len(self.features):
            raise DataError(
                f"row group {self.id!r} must have the columns of the table.",
                remedy="Check that the partitions of the Dask object have the columns that it declares.",
            )
        if y is not None and (len(y) != X.shape[0] or not _same_index(X, y)):
            raise DataError(f"row group {self.id!r} must have the same rows in X and y.", remedy=ALIGN)
        return LoadedBlock(self.id, self.features, label=self.label, X=X, y=y)

    def _computed(self) -> "LoadedBlock":
        from dask.base import compute

        return guarded(lambda parts: self.loaded(*compute(*parts)), self.dask_parts, name=self.id)


@dataclass(frozen=True, repr=False)
class LoadedBlock(CellGroup):
    """Partition in the memory of this process, as a row group.

    Attributes
    ----------
    id, features, label
        See `DaskBlock`.
    X
        Data frame, array, or sparse matrix; private.
    y
        Labels: series, frame or array; None without labels; private.
    """

    id: str
    features: tuple[str, ...]
    label: str | None = field(kw_only=True)
    X: Any = field(kw_only=True)
    y: Any = field(kw_only=True)

    def cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        """Yield the cells of all columns, at most ``rows`` rows at a time; a sparse matrix is one piece."""
        count = self.X.shape[0]
        height = count if rows is None or _is_sparse(self.X) else rows
        for start in range(0, count, max(height, 1)):
            yield BlockCells(self, slice(start, start + height))


class BlockCells(GroupCells):
    """Cells of some rows of a partition."""

    def __init__(self, block: LoadedBlock, rows: slice) -> None:
        self._features, self._label = block.features, block.label
        self._has_columns = hasattr(block.X, "iloc")
        self._X = block.X.iloc[rows] if self._has_columns else block.X[rows]
        self._y = None if block.y is None else np.ravel(as_array(block.y))[rows]

    def matrix(self, names: Sequence[str]) -> Any:
        """Return columns of numbers as a matrix, in CSR format for sparse blocks."""
        if self._has_columns or self._label in names:
            return TableCells({name: self._values(name) for name in names}, self._X.shape[0]).matrix(names)
        if not _is_sparse(self._X):
            return MatrixCells(self._X, self._features).matrix(names)
        rows = self._X.tocsr()
        return rows if tuple(names) == self._features else rows[:, [self._features.index(name) for name in names]]

    def column(self, name: str, declared: Declaration = None, unseen: Unseen = "raise") -> Any:
        """Return one column; see `dperm.data.group_cells.GroupCells.column`."""
        return TableCells({name: self._values(name)}, self._X.shape[0]).column(name, declared, unseen)

    def _values(self, name: str) -> Any:
        if name == self._label:
            return self._y
        place = self._features.index(name)
        if self._has_columns:
            return self._X.iloc[:, place]
        return np.ravel(self._X.tocsc()[:, [place]].toarray() if _is_sparse(self._X) else self._X[:, place])


def _feature_names(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of a Dask frame or matrix, as text."""
    if _is_frame(X) and X.ndim == 2:
        return tuple(map(str, X.columns))
    if _is_array(X) and X.ndim == 2 and not math.isnan(X.shape[1]):
        return tuple(f"x{place}" for place in range(X.shape[1]))
    raise ParameterError(
        argument="X",
        rule="must be a Dask frame, or a two-dimensional Dask array with a known number of columns",
        got=f"an object of type {type(X).__name__}",
        remedy="Convert other objects of Dask first, such as a bag by bag.to_dataframe().",
    )


def _check_labels(X: Any, y: Any) -> None:
    """Check that y is one column of Dask, with the partitions of X as far as they are known."""
    if not (_is_frame(y) or _is_array(y)) or (y.ndim == 2 and y.shape[1] != 1) or y.ndim not in (1, 2):
        raise ParameterError(
            argument="y",
            rule="must be a Dask series or a Dask array with one column, where X is an object of Dask",
            got=f"an object of type {type(y).__name__}",
            remedy=ALIGN,
        )
    for ours, others in zip(_lengths(X), _lengths(y), strict=False):
        if ours != others and not math.isnan(ours) and not math.isnan(others):
            raise _misaligned()
    if len(_lengths(X)) != len(_lengths(y)):
        raise _misaligned()
    if _is_frame(X) and _is_frame(y) and X.known_divisions and y.known_divisions and X.divisions != y.divisions:
        raise _misaligned()


def _misaligned() -> ParameterError:
    return ParameterError(argument="y", rule="must have the partitions of X", remedy=ALIGN)


def _lengths(x: Any) -> tuple[float, ...]:
    """Return the lengths of the partitions; NaN where they are unknown."""
    return (math.nan,) * x.npartitions if _is_frame(x) else tuple(x.chunks[0])


def _partitions(X: Any, y: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the partitions of X and y as objects of ``dask.delayed``.

    Two frames become one, so that a common source is read once. The graphs of arrays with labels are not optimized, so
    that their common tasks keep their names and run once.
    """
    if _is_frame(X) and _is_frame(y):
        pairs = X.map_partitions(_pair, y, align_dataframes=False, enforce_metadata=False, meta=X._meta)
        return zip(pairs.to_delayed(), strict=True)
    if _is_array(X) and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    objects = [X] if y is None else [X, y]
    return zip(*(_delayed(x, optimize=_is_frame(x) or y is None) for x in objects), strict=True)


def _delayed(x: Any, *, optimize: bool) -> list[Any]:
    found = x.to_delayed(optimize_graph=optimize)
    return list(found if _is_frame(x) else found.ravel())


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    """Return both partitions; a task of a worker."""
    return X, y


def _is_frame(x: object) -> bool:
    """Whether ``x`` is a Dask frame or series."""
    return type(x).__module__.startswith(("dask.dataframe.", "dask_expr.")) and hasattr(x, "divisions")


def _is_array(x: object) -> bool:
    """Whether ``x`` is a Dask array."""
    return type(x).__module__.startswith("dask.array.") and hasattr(x, "chunks")


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")


def _same_index(X: Any, y: Any) -> bool:
    """Whether the partitions of two frames have the same index; true unless both are frames or series."""
    both = hasattr(X, "iloc") and hasattr(y, "iloc")
    return not both or bool(X.index.equals(y.index))
