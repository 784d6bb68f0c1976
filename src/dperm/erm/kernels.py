# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the passes of a linear model: pure functions of rows on a grid, with exact integer results (T201, T203).

A kernel holds public arguments of one pass, such as the coefficients, and returns `Sums`. The value that it computes of
a record, such as its slope, depends on this record alone. The driver turns the sums into doubles.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.grid_rows import SUMMED_ROWS, GridRows, RowGrid
from dperm.data.passes import Place, Sums
from dperm.data.targets import Target
from dperm.erm.exact_sums import (
    SLOPE_DIGITS,
    Integers,
    SlicedCoefficients,
    cut,
    doubles_of,
    halves,
    products_with_rows,
    total_of_products,
)
from dperm.erm.loss import Limits, Loss

CURVATURE_DIGITS = 13
"""Binary digits of an entry for second derivatives."""
BEND_DIGITS = 15
"""Binary digits of a second derivative: 2^13 2^13 2^15 2^11 = 2^52."""
LOSS_DIGITS = 40
"""Binary digits of a slice of a loss: sums of 2^11 of them are exact."""
LOSS_SLICES = 2
HALF = 2.0**12
"""Unit of the upper half of an entry in exact squares."""


@dataclass(frozen=True, repr=False)
class LossKernel:
    """Base of kernels that evaluate a loss at coefficients theta.

    Attributes
    ----------
    target
        Public shape of the labels.
    loss
        Loss of a record.
    clip
        Largest |f'| ||x||, or None.
    coefficients
        Coefficients in slices.
    """

    target: Target
    loss: Loss
    clip: float | None
    coefficients: SlicedCoefficients

    @property
    def grid(self) -> RowGrid:
        """Grid of the rows."""
        return self.coefficients.grid

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        """Return the sums over some rows, block by block."""
        return sum_of_blocks(rows, self._block)

    def _block(self, block: GridRows, cells: Any) -> Sums:
        """Return the sums of a block, whose entries are given in doubles by `in_doubles`."""
        raise NotImplementedError

    def limits(self, rows: GridRows) -> Limits:
        """Return the largest slope of each record: clip / ||x|| (T44)."""
        if self.clip is None:
            return None
        with np.errstate(over="ignore"):
            return np.asarray(self.clip / self.grid.step / rows.lengths.astype(np.float64))


@dataclass(frozen=True, repr=False)
class GradientKernel(LossKernel):
    """Sum of the records' clipped gradients, and of their second derivatives if ``shifts`` are given.

    Attributes
    ----------
    top
        Exponent of the largest slope times weight.
    shifts
        Binary digits to drop from each column, the constant included, before second derivatives; None without them.
    bend_top
        Exponent of the largest second derivative times weight.
    caution
        Share of the secant curvature in the second derivatives.
    """

    top: int
    shifts: Floats | None = None
    bend_top: int = 0
    caution: float = 0.0

    def _block(self, block: GridRows, cells: Any) -> Sums:
        scores, limits = self.coefficients.scores(cells), self.limits(block)
        targets, weights = self.target.targets(block.codes)
        slopes = self.loss.slopes(scores, targets, limits)
        amounts = weights * slopes if slopes.ndim == 1 else weights[:, np.newaxis] * slopes
        sums = Sums(gradient=products_with_rows(amounts, cells, outside_constant(block), self.top))
        if self.shifts is not None:
            bends = weights * self.loss.bends(scores, targets, limits, self.caution)
            sums["hessian"] = weighted_squares(cells, outside_constant(block), bends, self.bend_top, self.shifts)
        return sums

    def gradient(self, sums: Sums) -> Floats:
        """Return the gradient as doubles."""
        return total_of_products(sums["gradient"], self.grid.unit, self.top, self.loss.outputs)

    def hessian(self, sums: Sums) -> Floats:
        """Return the matrix of second derivatives as doubles."""
        assert self.shifts is not None
        return squares_total(sums["hessian"], self.grid.unit, self.bend_top, self.shifts)


@dataclass(frozen=True, repr=False)
class CurvatureKernel(LossKernel):
    """Sum of the records' second derivatives with all digits of the rows, for a loss of one score.

    It costs three products instead of one. Rows of very different norms need it, because the digits that
    `GradientKernel` drops are all that short rows have.

    Attributes
    ----------
    top
        Exponent of the largest second derivative times weight.
    caution
        Share of the secant curvature in the second derivatives.
    """

    top: int
    caution: float = 0.0

    def _block(self, block: GridRows, cells: Any) -> Sums:
        targets, weights = self.target.targets(block.codes)
        bends = self.loss.bends(self.coefficients.scores(cells), targets, self.limits(block), self.caution)
        shares = np.clip(np.rint(weights * bends * 2.0 ** (SLOPE_DIGITS - self.top)), 0.0, 2.0**SLOPE_DIGITS)
        return squares_in_halves(_with_constant(cells, outside_constant(block)), shares)

    def hessian(self, sums: Sums) -> Floats:
        """Return the matrix of second derivatives as doubles."""
        return np.asarray(total_of_halves(sums, self.grid.unit) * 2.0 ** (self.top - SLOPE_DIGITS))


@dataclass(frozen=True, repr=False)
class ProductKernel(LossKernel):
    """Sum of the records' second derivatives times a vector, for conjugate gradients; a rough curvature."""

    vector: SlicedCoefficients
    top: int
    caution: float = 0.0

    def _block(self, block: GridRows, cells: Any) -> Sums:
        targets, weights = self.target.targets(block.codes)
        bends = self.loss.bends(self.coefficients.scores(cells), targets, self.limits(block), self.caution)
        moved = self.loss.spread(bends, self.vector.scores(cells))
        table = moved.reshape(len(weights), self.loss.outputs)
        amounts = np.clip(weights[:, np.newaxis] * table, -(2.0**self.top), 2.0**self.top)
        return Sums(product=products_with_rows(amounts, cells, outside_constant(block), self.top, slices=2))

    def product(self, sums: Sums) -> Floats:
        """Return the product as doubles."""
        return total_of_products(sums["product"], self.grid.unit, self.top, self.loss.outputs, slices=2)


@dataclass(frozen=True, repr=False)
class ValueKernel(LossKernel):
    """Sum of the records' losses, for line searches."""

    top: int

    def _block(self, block: GridRows, cells: Any) -> Sums:
        targets, weights = self.target.targets(block.codes)
        losses = weights * self.loss.losses(self.coefficients.scores(cells), targets, self.limits(block))
        parts = cut(np.minimum(losses, 2.0**self.top), self.top, digits=LOSS_DIGITS, count=LOSS_SLICES)
        return Sums(value=halves(parts.sum(axis=1)))

    def value(self, sums: Sums) -> float:
        """Return the sum of the losses as a double."""
        high, low = doubles_of(sums["value"])
        return float((high + low * 2.0**-LOSS_DIGITS) * 2.0 ** (self.top - LOSS_DIGITS))


@dataclass(frozen=True, repr=False)
class SquaresKernel:
    """Exact sum of the squares x x' of the valid rows, of any accuracy: entries in two halves of 12 digits (T201)."""

    grid: RowGrid
    target: Target

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        """Return the integers of the sum."""
        return sum_of_blocks(rows, self._block)

    def _block(self, block: GridRows, cells: Any) -> Sums:
        weights = self.target.targets(block.codes)[1]  # 0 or 1
        return squares_in_halves(_with_constant(cells, outside_constant(block)), weights)

    def squares(self, sums: Sums) -> Floats:
        """Return the sum of x x' as doubles, rounded at the end."""
        return total_of_halves(sums, self.grid.unit)


def sum_of_blocks(rows: GridRows, block_sums: Callable[[GridRows, Any], Sums]) -> Sums:
    """Return the sum of a function of the blocks of some rows, which also receives a block's entries in doubles."""
    table, whole = work_table(rows), Sums()
    for block in rows.blocks():
        for name, found in block_sums(block, in_doubles(block, table)).items():
            if name in whole:
                whole[name] += found
            else:
                whole[name] = found
    return whole


def work_table(rows: GridRows) -> Floats | None:
    """Return a table of doubles for a block of dense rows, with the constant column in place; None for sparse rows."""
    if rows.is_sparse:
        return None
    dim, constant = rows.grid.space.dim, rows.grid.constant
    table = np.empty((min(rows.count, SUMMED_ROWS), dim + bool(constant)))
    table[:, dim:] = constant
    return table


def in_doubles(block: GridRows, table: Floats | None) -> Any:
    """Return the integer entries of a block in doubles: in ``table``, with the constant, or as a CSR matrix without."""
    if table is None:
        return block.cells.astype(np.float64)
    filled = table[: block.count]
    filled[:, : block.grid.space.dim] = block.cells
    return filled


def outside_constant(block: GridRows) -> int:
    """Return the integer of the constant column if `in_doubles` leaves it out, and 0 otherwise."""
    return block.grid.constant if block.is_sparse else 0


def _with_constant(cells: Any, constant: int) -> Floats:
    """Return dense rows with the constant column, unless it is 0."""
    table = cells if isinstance(cells, np.ndarray) else cells.toarray()
    return np.hstack([table, np.full((len(table), 1), float(constant))]) if constant else table


def squares_in_halves(table: Floats, weights: Floats) -> Sums:
    """Return sum_i w_i k_i k_i' over a block exactly, for integers w of at most 2^17; entries are cut into two halves.

    Halves have 12 digits. Products of halves are at most 2^12 2^12 2^17, so sums over 2^11 rows are at most 2^52.
    """
    high = np.rint(table / HALF)
    low = table - high * HALF
    weighted = high * weights[:, np.newaxis]
    mixed = weighted.T @ low
    squares = (low * weights[:, np.newaxis]).T @ low
    return Sums(high=halves(weighted.T @ high), mixed=halves(mixed) + halves(mixed.T), low=halves(squares))


def total_of_halves(sums: Sums, unit: float) -> Floats:
    """Return the sum of `squares_in_halves` as doubles, in units of the rows."""
    high, mixed, low = (doubles_of(sums[name]) for name in ("high", "mixed", "low"))
    return np.asarray(((low / HALF + mixed) / HALF + high) * (unit * HALF) ** 2)


def weighted_squares(cells: Any, constant: int, bends: Floats, top: int, shifts: Floats) -> Integers:
    """Return sum_i b_i k_i k_i' over a block, with entries of 13 digits and second derivatives b of 15, in `halves`."""
    table = _with_constant(cells, constant)
    most = 2.0**CURVATURE_DIGITS
    short = np.clip(np.rint(table * np.ldexp(1.0, -shifts.astype(int))), -most, most)
    weights = np.clip(np.rint(bends * 2.0 ** (BEND_DIGITS - top)), 0.0, 2.0**BEND_DIGITS)
    return halves((short * weights[:, np.newaxis]).T @ short)


def squares_total(sums: Integers, unit: float, top: int, shifts: Floats) -> Floats:
    """Return the sum of `weighted_squares` as doubles, in units of the rows."""
    sizes = np.ldexp(unit, shifts.astype(int))
    return np.asarray(doubles_of(sums) * 2.0 ** (top - BEND_DIGITS) * sizes[:, np.newaxis] * sizes)
