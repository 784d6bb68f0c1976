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

from dperm.data.arrays import Floats, Singles
from dperm.data.grid_rows import SUMMED_ROWS, GridRows, RowGrid
from dperm.data.passes import Place, Sums
from dperm.data.targets import Target
from dperm.erm.exact_sums import (
    SLOPE_DIGITS,
    SLOPE_SLICES,
    Integers,
    SlicedCoefficients,
    cut,
    doubles_of,
    halves,
    products_with_rows,
    total_of_products,
)
from dperm.erm.loss import Limits, Loss

LARGEST_ROOT = np.float32(2.0**20)
"""Largest entry times the root of a second derivative: sums of 2^11 products are at most 2^51."""
SINGLE = 2.0**24
"""Integers up to this one are exact in single precision."""
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
    """Sum of the records' clipped gradients, and of their second derivatives if ``powers`` are given.

    Attributes
    ----------
    top
        Exponent of the largest slope times weight.
    slices
        Number of slices of a slope. Fewer than `SLOPE_SLICES` give a gradient that no certificate may use.
    powers
        Exponent of the scale of each column, the constant included, for second derivatives; None without them.
    bend_top
        Exponent of the largest second derivative times weight.
    caution
        Share of the secant curvature in the second derivatives.
    """

    top: int
    slices: int = SLOPE_SLICES
    powers: Integers | None = None
    bend_top: int = 0
    caution: float = 0.0

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        """Return the sums over some rows, block by block."""
        roots = None if self.powers is None else RootRows.of(rows, self.bend_top, self.powers)
        return sum_of_blocks(rows, lambda block, cells: self._sums(block, cells, roots))

    def _sums(self, block: GridRows, cells: Any, roots: "RootRows | None") -> Sums:
        scores, limits = self.coefficients.scores(cells), self.limits(block)
        targets, weights = self.target.targets(block.codes)
        slopes = self.loss.slopes(scores, targets, limits)
        amounts = weights * slopes if slopes.ndim == 1 else weights[:, np.newaxis] * slopes
        constant = outside_constant(block)
        sums = Sums(gradient=products_with_rows(amounts, cells, constant, self.top, slices=self.slices))
        if roots is not None:
            bends = weights * self.loss.bends(scores, targets, limits, self.caution)
            sums["hessian"] = roots.squares(block, bends)
            sums["curved"] = halves(np.array([float(np.count_nonzero(bends))]))
        return sums

    def gradient(self, sums: Sums) -> Floats:
        """Return the gradient as doubles."""
        return total_of_products(sums["gradient"], self.grid.unit, self.top, self.loss.outputs, slices=self.slices)

    def hessian(self, sums: Sums) -> Floats:
        """Return the matrix of second derivatives as doubles."""
        assert self.powers is not None
        return squares_total(sums["hessian"], self.grid.unit, self.bend_top, self.powers)


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


@dataclass(frozen=True, repr=False)
class RootRows:
    """Integer rows t_i near sqrt(b_i) x_i times a power of 2 for each column, and the exact sums of t_i t_i'.

    All operations before the product are elementwise, in single precision, so t_i is a function of the record alone.

    Attributes
    ----------
    short, factors
        Work tables of a block, with zero columns up to a multiple of four.
    exponent
        Exponent of the largest root.
    scale
        Power of 2 of each column, the constant included; 0 for the zero columns.
    columns
        Number of columns, the constant included.
    """

    short: Singles
    factors: Singles
    exponent: int
    scale: Singles
    columns: int

    @classmethod
    def of(cls, rows: GridRows, top: int, powers: Integers) -> "RootRows":
        """Return work tables for the blocks of ``rows``, for b_i of at most 2^top."""
        height, columns = min(rows.count, SUMMED_ROWS), len(powers)
        scale = np.zeros((1, -(-columns // 4) * 4), np.float32)
        scale[0, :columns] = np.ldexp(np.float32(1), powers)
        short = np.zeros((height, scale.size), np.float32)
        return cls(short, np.empty_like(short), root_exponent(top), scale, columns)

    def squares(self, block: GridRows, bends: Floats) -> Integers:
        """Return the sum of t_i t_i' over a block, in `halves`.

        Let the sums of t_ij^2 be at most 2^24. By the inequality of Cauchy and Schwarz, so are all partial sums of
        products t_ij t_ik, and single precision is exact. Rounding is monotone, so larger sums of t_ij^2 never round to
        less than 2^24. Then double precision is exact, as |t_ij| <= 2^20.
        """
        dim, short, factors = block.grid.space.dim, self.short[: block.count], self.factors[: block.count]
        roots = np.sqrt(bends * 2.0 ** (-2 * self.exponent)).astype(np.float32)[:, np.newaxis]
        short[:, :dim] = block.cells.toarray() if block.is_sparse else block.cells
        short[:, dim : self.columns] = block.grid.constant
        short *= np.dot(roots, self.scale, out=factors)  # one product for each entry
        np.clip(np.rint(short, out=short), -LARGEST_ROOT, LARGEST_ROOT, out=short)
        products = short.T @ short
        if not products.diagonal().max() < SINGLE:
            table = short.astype(np.float64)
            products = table.T @ table
        return halves(products[: self.columns, : self.columns].astype(np.float64))


def root_exponent(top: int) -> int:
    """Return an exponent for the roots of numbers of at most 2^top."""
    return -(-top // 2)


def squares_total(sums: Integers, unit: float, top: int, powers: Integers) -> Floats:
    """Return the sum of `RootRows.squares` as doubles, in units of the rows."""
    sizes = np.ldexp(unit, root_exponent(top) - powers)
    return np.asarray(doubles_of(sums) * sizes[:, np.newaxis] * sizes)
