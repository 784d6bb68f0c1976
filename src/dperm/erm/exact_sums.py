# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact sums and products of rows on a grid, computed by ordinary linear algebra libraries (T201).

Entries of a row are integers k of at most 2^24 in magnitude. Other factors are cut into *slices*: integers of so few
binary digits that every product of a slice with a block of rows, and every partial sum of it, is an integer below 2^53.
Doubles hold such integers exactly. Therefore the result does not depend on the order of additions, on fused operations,
on the library, or on its number of threads. Sums over blocks are 64-bit integers in two halves.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.grid_rows import DIGITS, RowGrid

Integers = NDArray[np.int64]

SLOPE_DIGITS = 17
"""Binary digits of a slice that multiplies rows and is summed over a block: 2^17 2^24 2^11 = 2^52."""
SLOPE_SLICES = 3
SCORE_ACCURACY = 62
"""Binary digits of coefficients beyond the largest one, kept by their slices for rows of norm R (T202)."""
FEW_SLICES = 8
"""Number of slices up to which products with vectors are faster than a product with a matrix; all are exact."""
LOW = 30
"""Binary digits of the lower half of a sum; blocks add up without overflow up to 2^33 of them."""


def cut(values: Floats, top: int, *, digits: int, count: int, low: Floats | None = None) -> Floats:
    """Return integers S with values = sum_m S_m 2^(top - digits (m + 1)) + rest, one row of slices after another.

    ``|values| <= 2^top`` gives ``|S_m| <= 2^digits`` and ``|rest| <= 2^(top - digits count - 1)``. The cut is exact.
    ``low`` are further digits of the values, |low| <= 2^(top - 53); adding them rounds by at most 2^(top - 79).
    """
    slices = np.empty((count, *values.shape))
    rest = values * 2.0 ** (digits - top)
    for place in range(count):
        np.rint(rest, out=slices[place])
        if place < count - 1:
            rest -= slices[place]
            rest *= 2.0**digits
            if low is not None and place == 52 // digits - 1:
                rest += low * 2.0 ** (digits * (place + 2) - top)
    return slices


def exponent(bound: float) -> int:
    """Return the smallest t with bound < 2^t, so that 2^t is at most twice the bound; at least -900."""
    return max(math.frexp(bound)[1], -900) if bound > 0 else -900


def halves(products: Floats) -> Integers:
    """Return exact integers below 2^53 in two 64-bit integers: the value over 2^30 rounded down, and the rest."""
    whole = products.astype(np.int64)
    found = np.empty((2, *whole.shape), dtype=np.int64)
    np.right_shift(whole, LOW, out=found[0])
    np.bitwise_and(whole, 2**LOW - 1, out=found[1])
    return found


def doubles_of(sums: Integers) -> Floats:
    """Return sums of `halves` as doubles, with a relative error of at most 3u.

    Carries from the low half are settled first, since they depend on the cuts: the result is a function of the integer.
    """
    high, low = sums[0] + (sums[1] >> LOW), sums[1] & (2**LOW - 1)
    return np.asarray(high.astype(np.float64) * 2.0**LOW + low.astype(np.float64))


@dataclass(frozen=True)
class ScoreSlices:
    """Shape of the slices of coefficients for the rows of a grid, from public numbers.

    A score sums |k_j| <= 2^24 times a slice over all columns. By the norms of the rows, sum |k_j| is at most
    min(D, sqrt(D) R/step) 2^24, the constant column included.

    Attributes
    ----------
    digits
        Binary digits of a slice.
    count
        Number of slices.
    """

    digits: int
    count: int

    @classmethod
    def of(cls, columns: int, radius_in_steps: float, *, accuracy: int = SCORE_ACCURACY) -> "ScoreSlices":
        """Return the slices for rows of ``columns`` entries and of norm at most ``radius_in_steps`` steps."""
        summed = min(float(columns), math.sqrt(columns) * radius_in_steps * (1 + 1e-9))
        digits = 52 - DIGITS - math.ceil(math.log2(max(summed, 1.0)))
        return cls(digits, max(1, math.ceil((accuracy + math.log2(columns) / 2) / digits)))

    @property
    def rest(self) -> float:
        """Bound on the digits of a coefficient that no slice holds, in units of the largest coefficient."""
        return 2.0 ** (-self.digits * self.count)


@dataclass(frozen=True)
class SlicedCoefficients:
    """Coefficients theta of K scores, cut into slices for exact scores.

    Attributes
    ----------
    grid
        Grid of the rows.
    table
        Coefficients: a row for each column of the data and one for the constant, a column for each score.
    shape
        Digits and number of the slices.
    low
        Further digits of the coefficients, below the last ones of ``table``; None for none.
    """

    grid: RowGrid
    table: Floats
    shape: ScoreSlices
    low: Floats | None = None

    @classmethod
    def of(
        cls, grid: RowGrid, theta: Floats, outputs: int, *, accuracy: int = SCORE_ACCURACY, low: Floats | None = None
    ) -> "SlicedCoefficients":
        """Return the slices of a vector of coefficients, ``theta`` or ``theta + low``, score after score."""
        table = theta.reshape(outputs, -1).T
        radius = grid.space.radius / grid.step
        rest = None if low is None else low.reshape(outputs, -1).T
        return cls(grid, table, ScoreSlices.of(len(table), radius, accuracy=accuracy), rest)

    @cached_property
    def top(self) -> int:
        """Exponent of the largest coefficient."""
        return exponent(float(np.abs(self.table).max(initial=0.0)))

    @cached_property
    def _slices(self) -> Floats:
        """Slices times their powers of 2: a row for each slice of each score, (M K, D + 1)."""
        parts = cut(
            self.table, self.top, digits=self.shape.digits, count=self.shape.count, low=self.low
        )  # (M, D + 1, K)
        powers = self.top - self.shape.digits * np.arange(1, self.shape.count + 1)
        scaled = parts * np.ldexp(1.0, powers)[:, np.newaxis, np.newaxis]
        return np.ascontiguousarray(scaled.transpose(0, 2, 1).reshape(-1, len(self.table)))

    def scores(self, cells: Any) -> Floats:
        """Return x'theta of rows with integer entries in doubles, (m,) or (m, K), a function of each row alone.

        For several scores the largest one of a row is subtracted before rounding: a loss of differences of scores is
        unchanged, and the error is relative to the differences.

        Parameters
        ----------
        cells
            Integer entries of the rows, in doubles; a dense table may have the constant column.
        """
        parts = self._products(cells).reshape(self.shape.count, self.table.shape[1], cells.shape[0])
        if len(parts[0]) == 1:
            return np.asarray(self._sum(parts)[0])
        largest = self._sum(parts).argmax(axis=0)
        parts -= np.take_along_axis(parts, largest[np.newaxis, np.newaxis], axis=1)
        return np.ascontiguousarray(self._sum(parts).T)

    def _products(self, cells: Any) -> Floats:
        """Return the exact products with all slices, (M K, m)."""
        dim, slices = self.grid.space.dim, self._slices
        if cells.shape[1] == slices.shape[1]:
            return _row_products(slices, cells)
        products = _row_products(slices[:, :dim], cells)
        return np.asarray(products + slices[:, dim:] * self.grid.constant)

    def _sum(self, parts: Floats) -> Floats:
        """Return the sum of the slices' exact products, the smallest first, in units of the rows; (K, m)."""
        total = parts[-1] + parts[-2] if len(parts) > 1 else parts[-1].copy()
        for part in parts[-3::-1] if len(parts) > 2 else ():
            total += part
        total *= self.grid.unit
        return np.asarray(total)


def _row_products(slices: Floats, cells: Any) -> Floats:
    """Return the products of slices with rows, a row for each slice."""
    if not isinstance(cells, np.ndarray):
        return np.ascontiguousarray((cells @ np.ascontiguousarray(slices.T)).T)
    if len(slices) <= FEW_SLICES:
        products = np.empty((len(slices), len(cells)))
        for part, product in zip(slices, products, strict=True):
            np.dot(cells, part, out=product)
        return products
    return np.asarray(slices @ cells.T)


def products_with_rows(amounts: Floats, cells: Any, constant: int, top: int, *, slices: int = SLOPE_SLICES) -> Integers:
    """Return sum_i a_i (k_i, constant) over a block of at most 2^11 rows, exactly for each slice of the amounts.

    Parameters
    ----------
    amounts
        One number a_i, or K numbers, for each row; at most 2^top.
    cells
        Integer entries k of the rows, in doubles.
    constant
        Integer of the constant column; 0 without one.
    top
        Public exponent.
    slices
        Number of slices.

    Returns
    -------
    ndarray
        Integers in `halves`: axes half, slice and score (slices M times K scores), column.
    """
    parts = cut(amounts.T if amounts.ndim == 2 else amounts[np.newaxis], top, digits=SLOPE_DIGITS, count=slices)
    flat = parts.reshape(parts.shape[0] * parts.shape[1], parts.shape[2])
    if not isinstance(cells, np.ndarray):
        sums = np.asarray((cells.T @ flat.T).T)
    elif len(flat) <= FEW_SLICES:
        sums = np.empty((len(flat), cells.shape[1]))
        for part, total in zip(flat, sums, strict=True):
            np.dot(part, cells, out=total)
    else:
        sums = flat @ cells
    if constant:
        sums = np.hstack([sums, flat.sum(axis=1, keepdims=True) * constant])
    return halves(sums)


def total_of_products(sums: Integers, unit: float, top: int, outputs: int, *, slices: int = SLOPE_SLICES) -> Floats:
    """Return the sums of `products_with_rows` as doubles, score after score.

    Only the last steps round: the error of an entry is at most 8u times its sum.
    """
    parts = doubles_of(sums).reshape(slices, outputs, -1)
    whole = parts[-1]
    for place in range(slices - 2, -1, -1):
        whole = whole * 2.0**-SLOPE_DIGITS + parts[place]
    return np.asarray(whole * (unit * 2.0 ** (top - SLOPE_DIGITS))).ravel()
