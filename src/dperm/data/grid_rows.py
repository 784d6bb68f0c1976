# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounded rows on a grid: rows within their public bounds, with entries that are multiples of a public unit (T200).

A row x is bounded as `FeatureSpace` says. Its entries are then truncated towards zero to multiples of a unit,
``step * 2^-24``. The result q(x) has ||q(x)|| <= ||x|| <= R, and q is a function of the record alone, so every theorem
about bounded rows holds for the rows on the grid with the same constants. Entries are integers of at most 24 binary
digits, stored in single precision.

**The grid value depends on the record alone**, to the last bit: not on the block, its length or its memory order. All
operations are elementwise, in double precision. Sums of squares over the entries of a row either are exact integers, in
every order of additions, or add one column after the other. Library reductions such as ``(x * x).sum(axis=1)`` of
numbers that are no integers are not used, because their order of additions depends on the block.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dperm.data.arrays import Floats, Mask
from dperm.data.space import FeatureSpace
from dperm.data.targets import Codes

DIGITS = 24
"""Binary digits of an entry: integers of at most 2^24 are exact in single precision."""
ULP = 2.0**-53
SUMMED_ROWS = 2**11
"""Largest number of rows in one product: sums over 2^11 rows are exact (T201)."""
ENCODED_CELLS = 2**16
"""Cells of a block while rows are moved to the grid."""
SMALLEST_EXPONENT = -1000


class RowGrid:
    """Public grid of the bounded rows of a feature space (T200).

    Parameters
    ----------
    space
        Public geometry of the features.

    Attributes
    ----------
    step
        c, at least the largest entry of a bounded row, so that an entry is an integer k of at most 2^24 times
        ``unit``. The constant column is exactly on the grid.
    unit
        c 2^-24.
    constant
        Integer of the constant column; 0 without an intercept.
    """

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        self.step = _step(space)
        self.unit = self.step * 2.0**-DIGITS
        self.constant = round(space.constant / self.step * 2**DIGITS) if space.intercept else 0

    def rows(self, X: Any, codes: Codes) -> "tuple[GridRows, Mask]":
        """Return the rows of ``X`` on the grid, and a mask of the rows that are not finite, which become zero.

        Parameters
        ----------
        X
            2-D array, or a CSR matrix in canonical format.
        codes
            Code of each label, kept beside the rows.

        Notes
        -----
        *Guarantees.* Every row q has ||q|| <= R, and is a function of its record alone (T200).
        """
        count = X.shape[0]
        lengths, bad = np.empty(count, np.float32), np.zeros(count, np.bool_)
        height = max(1, ENCODED_CELLS // max(self.space.dim, 1))
        if isinstance(X, np.ndarray):
            cells, work = np.empty(X.shape, np.float32), np.empty((min(count, height), self.space.dim))
            for start in range(0, count, height):
                rows = slice(start, min(start + height, count))
                units = work[: rows.stop - start]
                with np.errstate(over="ignore", invalid="ignore"):  # a warning would tell something about the data
                    lengths[rows], bad[rows] = self._dense(np.asarray(X[rows], dtype=np.float64), units)
                    np.copyto(cells[rows], units, casting="unsafe")
            return GridRows(self, cells, lengths, codes), bad
        entries, pointers = np.empty(X.nnz, np.float32), X.indptr
        for start in range(0, count, SUMMED_ROWS):
            rows = slice(start, min(start + SUMMED_ROWS, count))
            inside = slice(int(pointers[rows.start]), int(pointers[rows.stop]))
            counts = np.diff(pointers[rows.start : rows.stop + 1])
            with np.errstate(over="ignore", invalid="ignore"):  # a warning would tell something about the data
                values = np.asarray(X.data[inside], dtype=np.float64)
                entries[inside], lengths[rows], bad[rows] = self._sparse(values, X.indices[inside], counts)
        matrix = sparse.csr_array((entries, X.indices[: X.nnz], pointers), shape=X.shape, copy=False)
        return GridRows(self, matrix, lengths, codes), bad

    def _dense(self, raw: Floats, units: Floats) -> tuple[NDArray[np.float32], Mask]:
        """Write the integers of a block to ``units``; return the lengths of its rows, and a mask of invalid rows."""
        with np.errstate(over="ignore"):
            np.trunc(np.multiply(self._within_bounds(raw, units), self._per_unit, out=units), out=units)
            squares = self._squares(units)
        bad = self._bad_rows(raw, squares)
        if bad is not None:
            units[bad], squares[bad] = 0.0, 0.0
        is_long = self._is_long(squares)
        if is_long is not None:
            long_rows = raw[is_long]
            columns = np.ascontiguousarray(self._within_bounds(long_rows, long_rows).T)
            small = columns * np.ldexp(1.0, -_exponents(np.abs(columns).max(axis=0)))
            units[is_long] = np.trunc(small * self._factors(_ordered_squares(small)) * self._per_unit).T
        return self._lengths(squares, is_long), np.zeros(len(raw), np.bool_) if bad is None else bad

    def _within_bounds(self, raw: Floats, out: Floats) -> Floats:
        """Return the rows with columns mapped to [-1, 1] and clipped, in ``out``; ``raw`` itself without bounds."""
        if self.space.bounds is None:
            return raw
        with np.errstate(over="ignore", invalid="ignore"):  # infinities become 1
            if self.space.center is not None:
                raw = np.subtract(raw, self.space.center, out=out)
            if self.space.scale is not None:
                raw = np.multiply(raw, self.space.scale, out=out)
            return np.clip(raw, -1.0, 1.0, out=out)

    def _sparse(
        self, raw: Floats, columns: NDArray[Any], counts: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], Mask]:
        places, count = np.repeat(np.arange(len(counts)), counts), len(counts)
        bad = np.zeros(count, np.bool_)
        bad[places[~np.isfinite(raw)]] = True
        x = raw
        if self.space.bounds is not None:
            x = _scaled_and_clipped(raw, None if self.space.scale is None else self.space.scale[columns])
        if bad.any():
            x = np.where(bad[places], 0.0, x)
        with np.errstate(over="ignore"):
            cells = np.trunc(x * self._per_unit)
            squares = _sparse_squares(self._measured(cells), places, count)
        is_long = self._is_long(squares)
        if is_long is not None:
            small = x * np.ldexp(1.0, -_exponents(_sparse_largest(x, places, count)))[places]
            factors = np.where(is_long, self._factors(_sparse_squares(small, places, count)), 0.0)
            cells = np.where(is_long[places], np.trunc(small * factors[places] * self._per_unit), cells)
        return cells.astype(np.float32), self._lengths(squares, is_long), bad

    @cached_property
    def _per_unit(self) -> float:
        return 2.0**DIGITS / self.step

    @cached_property
    def _dropped(self) -> int:
        """Binary digits of an entry that a sum of squares leaves out, so that the sum is an integer up to 2^53.

        It is 0 for a space with a norm: sums up to the square of the norm, at most 2^52, are exact.
        """
        if self.space.norm is not None:
            return 0
        return max(0, -((53 - 2 * DIGITS - (self.space.dim - 1).bit_length()) // 2))

    def _measured(self, cells: Floats) -> Floats:
        """Return the integers of which `_squares` adds the squares, in units of 2^dropped."""
        return np.rint(cells * 2.0**-self._dropped) if self._dropped else cells

    def _squares(self, cells: Floats) -> Floats:
        """Return the sums of squares of the integer rows: exact up to 2^53 and above 2^53 otherwise, in every order.

        Terms are not negative, and rounding is monotone. So a sum beyond 2^53 never rounds to less.
        """
        measured = self._measured(cells)
        return np.asarray(np.einsum("ij,ij->i", measured, measured))

    def _bad_rows(self, raw: Floats, squares: Floats) -> Mask | None:
        """Return a mask of the rows with NaN or infinities; None if there are none.

        Without bounds, ``squares`` are finite only for finite rows; clipping would hide infinities.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(float((squares if self.space.bounds is None else raw).sum())):
                return None
        bad = ~np.isfinite(raw).all(axis=1)
        return np.asarray(bad) if bad.any() else None

    def _is_long(self, squares: Floats) -> Mask | None:
        """Return a mask of the rows beyond the norm of the space; None if there are none.

        The sums of squared integers are exact up to the square of the norm, at most 2^52, so the decision is exact. The
        entries of other rows are at most 2^24: by their norm without bounds, otherwise by their bounds.
        """
        if self.space.norm is None:
            return None
        most = (self.space.row_norm / self.step * 2.0**DIGITS) ** 2
        is_long = ~(squares <= most)
        return np.asarray(is_long) if is_long.any() else None

    def _factors(self, squares: Floats) -> Floats:
        """Return the factors that shorten rows to the norm, with a margin for all rounding errors (T200)."""
        margin = 1 + (self.space.dim + 24) * ULP
        with np.errstate(divide="ignore"):
            return np.asarray(self.space.row_norm / (np.sqrt(squares) * margin))

    def _lengths(self, squares: Floats, is_long: Mask | None) -> NDArray[np.float32]:
        """Return upper bounds on the norms of rows with these sums of squared integers, the constant included.

        An integer is at most half a unit of 2^dropped longer than its measured part.
        """
        if is_long is not None:
            squares = np.where(is_long, (self.space.row_norm / self.step * 2.0**DIGITS) ** 2, squares)
        if self._dropped:
            squares = (np.sqrt(squares) + math.sqrt(self.space.dim) / 2) ** 2 * 4.0**self._dropped
        margin = 1 + (self.space.dim + 8) * ULP
        whole = np.sqrt(squares + float(self.constant) ** 2) * 2.0**-DIGITS * margin
        return np.nextafter(whole.astype(np.float32), np.float32(np.inf))


@dataclass(frozen=True, repr=False)
class GridRows:
    """Rows on a grid, with labels as codes; private.

    Attributes
    ----------
    grid
        Public grid of the rows.
    cells
        Integers k in single precision, as a 2-D array or a CSR matrix, without the constant column. The entries of a
        bounded row are ``k * grid.unit``.
    lengths
        Upper bounds on the norms of the bounded rows with their constant, in units of ``grid.step`` and in single
        precision; functions of the record alone.
    codes
        Code of each label.
    """

    grid: RowGrid
    cells: Any
    lengths: NDArray[np.float32]
    codes: Codes

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are a sparse matrix."""
        return not isinstance(self.cells, np.ndarray)

    def part(self, start: int, stop: int) -> "GridRows":
        """Return the rows from ``start`` up to ``stop``, on views of the arrays."""
        rows = slice(start, min(stop, self.count))
        return GridRows(self.grid, _row_slice(self.cells, rows), self.lengths[rows], self.codes[rows])

    def blocks(self, height: int = SUMMED_ROWS) -> "Iterator[GridRows]":
        """Yield the rows in blocks of ``height``, on views of the arrays; one empty block if there are no rows."""
        for start in range(0, max(self.count, 1), height):
            yield self.part(start, start + height)

    def at(self, places: Any) -> "GridRows":
        """Return a copy of the rows at these places, in their order."""
        return GridRows(self.grid, self.cells[places], self.lengths[places], self.codes[places])

    def nbytes(self) -> int:
        """Return the memory of the rows, in bytes."""
        cells = self.cells
        held = cells.nbytes if isinstance(cells, np.ndarray) else cells.data.nbytes + cells.indices.nbytes
        return int(held + self.lengths.nbytes + self.codes.nbytes)


def joined(parts: Sequence[GridRows], grid: RowGrid, empty: Codes) -> GridRows:
    """Return the rows of all parts, one part after the other; ``empty`` are the codes of no rows."""
    if not parts:
        return GridRows(grid, np.empty((0, grid.space.dim), np.float32), np.empty(0, np.float32), empty)
    if len(parts) == 1:
        return parts[0]
    cells = [part.cells for part in parts]
    whole = sparse.vstack(cells, format="csr") if any(part.is_sparse for part in parts) else np.concatenate(cells)
    lengths = np.concatenate([part.lengths for part in parts])
    return GridRows(grid, whole, lengths, np.concatenate([part.codes for part in parts]))


def _row_slice(cells: Any, rows: slice) -> Any:
    """Return some rows without a copy; scipy would copy the entries of a CSR matrix."""
    if isinstance(cells, np.ndarray):
        return cells[rows]
    pointers = cells.indptr[rows.start : rows.stop + 1]
    inside = slice(int(pointers[0]), int(pointers[-1]))
    shape = (len(pointers) - 1, cells.shape[1])
    return sparse.csr_array(
        (cells.data[inside], cells.indices[inside], pointers - pointers[0]), shape=shape, copy=False
    )


def _step(space: FeatureSpace) -> float:
    """Return c: 1 for columns in [-1, 1]; with a norm, the norm divided by the largest fitting power of 2 up to 4.

    The constant is 1 or a quarter of ``row_norm``, so it is a multiple of the unit in both cases.
    """
    if space.norm is None:
        return 1.0
    least = space.row_norm if space.bounds is None else min(1.0, space.row_norm)
    return space.row_norm / max(power for power in (1, 2, 4) if space.row_norm / power >= least)


def _ordered_squares(columns: Floats) -> Floats:
    """Return the sum of squares of each row, one column after the other."""
    squares = np.zeros(columns.shape[1])
    for column in columns * columns:
        squares += column
    return squares


def _sparse_squares(values: Floats, places: NDArray[Any], count: int) -> Floats:
    """Return the sum of squares of the stored entries of each sparse row, one entry after the other."""
    return np.asarray(np.bincount(places, weights=values * values, minlength=count), dtype=np.float64)


def _sparse_largest(values: Floats, places: NDArray[Any], count: int) -> Floats:
    """Return the largest magnitude of the stored entries of each sparse row."""
    largest = np.zeros(count)
    np.maximum.at(largest, places, np.abs(values))
    return largest


def _exponents(largest: Floats) -> NDArray[Any]:
    """Return exponents e for which entries times 2^-e have squares within range."""
    return np.maximum(np.frexp(largest)[1], SMALLEST_EXPONENT)


def _scaled_and_clipped(values: Floats, scale: Floats | None) -> Floats:
    """Return sparse values times their scale, clipped to [-1, 1]."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinities become 1
        return np.asarray(np.clip(values if scale is None else values * scale, -1.0, 1.0))
