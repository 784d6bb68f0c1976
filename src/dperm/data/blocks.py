# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of dense or sparse rows with scaled columns. X is never copied as a whole."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats, Mask
from dperm.data.space import FeatureSpace

CELLS = 2**17
"""Cells of a dense block, which stays in a processor's cache between its two uses."""
HEIGHTS = (256, 2048)
SPARSE_HEIGHT = 2**12
LARGE = 1e100
"""Norm above which rows are scaled down before products with coefficients, to avoid overflow and underflow."""
INFINITE = "infinite values (inf) or numbers beyond 1.8e+308, the largest double"
"""Description of cells that are infinite as doubles, for messages."""
SHRINK = 2.0**-600
"""Factor for long rows before their norm is computed, so that squares do not overflow."""


class RowBlocks(ABC):
    """Rows as blocks of doubles with scaled columns, before row factors and the constant column are applied."""

    space: FeatureSpace

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of rows of X."""

    @property
    @abstractmethod
    def height(self) -> int:
        """Number of rows per block."""

    @abstractmethod
    def raw(self, start: int, stop: int) -> Any:
        """Return a view of the given rows, without scaling."""

    @abstractmethod
    def scaled(self, start: int, stop: int, bad: Mask | None = None) -> Any:
        """Return rows with columns clipped and scaled to [-1, 1] if there are bounds; rows marked ``bad`` are zero."""

    @abstractmethod
    def at(self, places: NDArray[np.int64]) -> "RowBlocks":
        """Return a copy of the rows at these places, in their order."""

    @abstractmethod
    def lengths(self, start: int, stop: int) -> Floats:
        """Return L2 norms of the scaled rows: NaN if a row is not finite, infinite if only its square overflows."""


@dataclass(frozen=True)
class DenseRows(RowBlocks):
    """Rows of a 2-D array."""

    array: NDArray[Any]
    space: FeatureSpace

    @property
    def count(self) -> int:
        """Number of rows of X."""
        return int(self.array.shape[0])

    @property
    def height(self) -> int:
        """Rows per block, so that a block fits into the cache."""
        low, high = HEIGHTS
        return min(max(CELLS // self.space.dim, low), high)

    def raw(self, start: int, stop: int) -> NDArray[Any]:
        """Return a view of the array."""
        return self.array[start:stop]

    def scaled(self, start: int, stop: int, bad: Mask | None = None) -> Floats:
        """Return scaled rows; a view if there are no bounds and no bad rows."""
        rows = np.asarray(self.array[start:stop], dtype=np.float64)
        if self.space.bounds is not None:
            rows = self._to_unit(rows)
        if bad is not None and bad.any():
            rows = np.where(bad[:, np.newaxis], 0.0, rows)
        return rows

    def at(self, places: NDArray[np.int64]) -> "DenseRows":
        """Return a copy of the rows at these places."""
        return DenseRows(self.array[places], self.space)

    def _to_unit(self, rows: Floats) -> Floats:
        center, scale = self.space.center, self.space.scale
        if center is None and scale is None:
            return np.clip(rows, -1.0, 1.0)
        shifted = rows - center if center is not None else rows.copy()
        with np.errstate(over="ignore"):  # infinities become 1
            shifted *= 1.0 if scale is None else scale
        return np.clip(shifted, -1.0, 1.0, out=shifted)

    def lengths(self, start: int, stop: int) -> Floats:
        """Return the norms in one pass; a row with an entry that is not finite has the norm NaN."""
        rows = np.asarray(self.array[start:stop], dtype=np.float64)
        lengths = row_lengths(rows if self.space.bounds is None else self._to_unit(rows))
        if self.space.bounds is not None or not np.isfinite(lengths).all():
            lengths[~np.isfinite(rows).all(axis=1)] = np.nan
        return lengths


@dataclass(frozen=True)
class SparseRows(RowBlocks):
    """Rows of a compressed sparse row matrix, with columns scaled without a shift."""

    array: Any
    space: FeatureSpace

    @property
    def count(self) -> int:
        """Number of rows of X."""
        return int(self.array.shape[0])

    @property
    def height(self) -> int:
        """Rows per block; larger than for dense rows, since each block costs a pass over the coefficients."""
        return SPARSE_HEIGHT

    def raw(self, start: int, stop: int) -> Any:
        """Return a matrix on views of the three arrays."""
        return self._with(start, stop, self._data(start, stop))

    def scaled(self, start: int, stop: int, bad: Mask | None = None) -> Any:
        """Return scaled rows; zeros stay zeros."""
        data = np.asarray(self._data(start, stop), dtype=np.float64)
        if self.space.bounds is not None:
            scale = 1.0 if self.space.scale is None else self.space.scale[self._columns(start, stop)]
            with np.errstate(over="ignore"):  # infinities become 1
                data = np.clip(data * scale, -1.0, 1.0)
        if bad is not None and bad.any():
            data = np.where(np.repeat(bad, self._counts(start, stop)), 0.0, data)
        return self._with(start, stop, data)

    def at(self, places: NDArray[np.int64]) -> "SparseRows":
        """Return a copy of the rows at these places."""
        return SparseRows(self.array[places], self.space)

    def lengths(self, start: int, stop: int) -> Floats:
        """Return the norms; a row with an entry that is not finite has the norm NaN."""
        lengths = row_lengths(self.scaled(start, stop))
        odd = ~np.isfinite(self._data(start, stop))
        lengths[_row_sums(odd.astype(np.float64), self._counts(start, stop)) > 0] = np.nan
        return lengths

    def _span(self, start: int, stop: int) -> slice:
        return slice(int(self.array.indptr[start]), int(self.array.indptr[min(stop, self.count)]))

    def _data(self, start: int, stop: int) -> NDArray[Any]:
        return np.asarray(self.array.data[self._span(start, stop)])

    def _columns(self, start: int, stop: int) -> NDArray[Any]:
        return np.asarray(self.array.indices[self._span(start, stop)])

    def _counts(self, start: int, stop: int) -> NDArray[Any]:
        return np.diff(self.array.indptr[start : stop + 1])

    def _with(self, start: int, stop: int, data: NDArray[Any]) -> Any:
        from scipy.sparse import csr_array

        pointers = self.array.indptr[start : stop + 1] - self.array.indptr[start]
        shape = (len(pointers) - 1, self.space.dim)
        return csr_array((data, self._columns(start, stop), pointers), shape=shape, copy=False)


def row_lengths(rows: Any) -> Floats:
    """Return L2 norms of dense or sparse rows, infinite if a square overflows."""
    with np.errstate(over="ignore"):
        if isinstance(rows, np.ndarray):
            return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)), dtype=np.float64)
        return np.sqrt(_row_sums(rows.data * rows.data, np.diff(rows.indptr)))


def row_multiples(rows: Any, factors: Floats) -> Any:
    """Return each dense or sparse row times its factor."""
    if isinstance(rows, np.ndarray):
        return rows * factors[:, np.newaxis]
    multiples = rows.copy()
    multiples.data = rows.data * np.repeat(factors, np.diff(rows.indptr))
    return multiples


def _row_sums(entries: Floats, counts: NDArray[Any]) -> Floats:
    """Return the sums over stored entries, where row i has ``counts[i]`` of them."""
    places = np.repeat(np.arange(len(counts)), counts)
    return np.asarray(np.bincount(places, weights=entries, minlength=len(counts)), dtype=np.float64)


def nonfinite_columns(rows: Any) -> list[int]:
    """Return the places of columns with NaN or infinities, in dense or sparse rows."""
    if isinstance(rows, np.ndarray):
        return [int(place) for place in np.flatnonzero(~np.isfinite(rows).all(axis=0))]
    return [int(place) for place in np.unique(rows.indices[~np.isfinite(rows.data)])]


def column_description(place: int, names: Sequence[str] | None) -> str:
    """Return "column" with its name, or with its place if there are no names."""
    return f"column {names[place]!r}" if names is not None else f"column {place}"
