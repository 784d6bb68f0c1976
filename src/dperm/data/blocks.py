# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of rows, dense or sparse, scaled column by column: X is read where it lies, never copied as a whole."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats, Mask
from dperm.data.space import FeatureSpace

CELLS = 2**17
"""Cells of a dense block: it stays in a processor's cache while it is used twice."""
HEIGHTS = (256, 2048)
SPARSE_HEIGHT = 2**12
LARGE = 1e100
"""Rows longer than this are scaled down before they meet coefficients, so that nothing overflows or underflows."""
INFINITE = "infinite values (inf) or numbers beyond 1.8e+308, the largest double"
"""What messages call cells that are infinite as doubles."""
SHRINK = 2.0**-600
"""Long rows are multiplied by this before they are measured: no square overflows, nor underflows if it matters."""


class RowBlocks(ABC):
    """Rows as blocks of doubles with scaled columns; row factors and the constant column are somebody else's."""

    space: FeatureSpace

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def height(self) -> int:
        """Rows per block."""

    @abstractmethod
    def raw(self, start: int, stop: int) -> Any:
        """Rows as they are given: a view, nothing scaled."""

    @abstractmethod
    def scaled(self, start: int, stop: int, bad: Mask | None = None) -> Any:
        """Rows with columns clipped and scaled to [-1, 1] where there are bounds; rows marked ``bad`` are zero."""

    @abstractmethod
    def at(self, places: NDArray[np.int64]) -> "RowBlocks":
        """The rows at these places, in their order: a copy of these rows alone."""

    @abstractmethod
    def lengths(self, start: int, stop: int) -> Floats:
        """L2 norms of the scaled rows; NaN where a row is not finite, infinite where only its square is not."""


@dataclass(frozen=True)
class DenseRows(RowBlocks):
    """Rows of a 2-D array."""

    array: NDArray[Any]
    space: FeatureSpace

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    @property
    def height(self) -> int:
        """A block fits into the cache."""
        low, high = HEIGHTS
        return min(max(CELLS // self.space.dim, low), high)

    def raw(self, start: int, stop: int) -> NDArray[Any]:
        """A view."""
        return self.array[start:stop]

    def scaled(self, start: int, stop: int, bad: Mask | None = None) -> Floats:
        """A view where nothing has to be done."""
        rows = np.asarray(self.array[start:stop], dtype=np.float64)
        if self.space.bounds is not None:
            rows = self._to_unit(rows)
        if bad is not None and bad.any():
            rows = np.where(bad[:, np.newaxis], 0.0, rows)
        return rows

    def at(self, places: NDArray[np.int64]) -> "DenseRows":
        """As numpy picks them."""
        return DenseRows(self.array[places], self.space)

    def _to_unit(self, rows: Floats) -> Floats:
        center, scale = self.space.center, self.space.scale
        if center is None and scale is None:
            return np.clip(rows, -1.0, 1.0)
        shifted = rows - center if center is not None else rows.copy()
        with np.errstate(over="ignore"):  # infinite becomes 1
            shifted *= 1.0 if scale is None else scale
        return np.clip(shifted, -1.0, 1.0, out=shifted)

    def lengths(self, start: int, stop: int) -> Floats:
        """By one pass over the rows; an entry that is not finite shows in its row."""
        rows = np.asarray(self.array[start:stop], dtype=np.float64)
        lengths = row_lengths(rows if self.space.bounds is None else self._to_unit(rows))
        if self.space.bounds is not None or not np.isfinite(lengths).all():
            lengths[~np.isfinite(rows).all(axis=1)] = np.nan
        return lengths


@dataclass(frozen=True)
class SparseRows(RowBlocks):
    """Rows of a compressed sparse row matrix; columns are scaled without a shift."""

    array: Any
    space: FeatureSpace

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    @property
    def height(self) -> int:
        """Few blocks: each costs a pass over the coefficients."""
        return SPARSE_HEIGHT

    def raw(self, start: int, stop: int) -> Any:
        """A matrix on views of the three arrays."""
        return self._with(start, stop, self._data(start, stop))

    def scaled(self, start: int, stop: int, bad: Mask | None = None) -> Any:
        """As for dense rows; zeros stay zeros."""
        data = np.asarray(self._data(start, stop), dtype=np.float64)
        if self.space.bounds is not None:
            scale = 1.0 if self.space.scale is None else self.space.scale[self._columns(start, stop)]
            with np.errstate(over="ignore"):  # infinite becomes 1
                data = np.clip(data * scale, -1.0, 1.0)
        if bad is not None and bad.any():
            data = np.where(np.repeat(bad, self._counts(start, stop)), 0.0, data)
        return self._with(start, stop, data)

    def at(self, places: NDArray[np.int64]) -> "SparseRows":
        """As scipy picks them."""
        return SparseRows(self.array[places], self.space)

    def lengths(self, start: int, stop: int) -> Floats:
        """As for dense rows."""
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
    """L2 norms of dense or sparse rows; infinite where a square is."""
    with np.errstate(over="ignore"):
        if isinstance(rows, np.ndarray):
            return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)), dtype=np.float64)
        return np.sqrt(_row_sums(rows.data * rows.data, np.diff(rows.indptr)))


def row_multiples(rows: Any, factors: Floats) -> Any:
    """Each row times its factor, dense or sparse."""
    if isinstance(rows, np.ndarray):
        return rows * factors[:, np.newaxis]
    multiples = rows.copy()
    multiples.data = rows.data * np.repeat(factors, np.diff(rows.indptr))
    return multiples


def _row_sums(entries: Floats, counts: NDArray[Any]) -> Floats:
    """Sums over stored entries, of which row i has ``counts[i]``."""
    places = np.repeat(np.arange(len(counts)), counts)
    return np.asarray(np.bincount(places, weights=entries, minlength=len(counts)), dtype=np.float64)


def odd_columns(rows: Any) -> list[int]:
    """The columns that hold NaN or infinities, of dense or sparse rows."""
    if isinstance(rows, np.ndarray):
        return [int(place) for place in np.flatnonzero(~np.isfinite(rows).all(axis=0))]
    return [int(place) for place in np.unique(rows.indices[~np.isfinite(rows.data)])]


def column_in_words(place: int, names: Sequence[str] | None) -> str:
    """A column as messages call it: by its name if it has one."""
    return f"column {names[place]!r}" if names is not None else f"column {place}"
