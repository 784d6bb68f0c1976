# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Per-example gradients of lookup tables: embeddings, and tables shared with a linear layer.

An example uses a few rows of the table. The gradient of row v is the sum of g_t over the positions t with index v, so
no example needs memory for the whole table.

A *tied* table is both looked up and multiplied: an embedding shares its weight with the last linear layer. With R the
gradient as a table and G the gradient as a matrix, |R + G|^2 = |R|^2 + |G|^2 + 2 sum_t <G[i_t], r_t>, where r_t is the
gradient of the row i_t looked up at position t. This needs only the rows of G with an index of the example.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller

import torch
from torch import Tensor

from dperm.torch.gradients.factors import (
    Dense,
    GradientFactor,
    Outer,
    OuterSequence,
    combine,
    floor_norms,
    in_double,
    row_squares,
)
from dperm.torch.gradients.weighted_sums import Accumulator, is_short, split_terms, sum_parts


@dataclass(frozen=True)
class TableRows:
    """Gradients g_t of the rows ``indices`` (examples, T) of a table: ``grads`` (examples, T, d)."""

    indices: Tensor
    grads: Tensor
    shape: tuple[int, ...]

    def squared_norms(self) -> Tensor:
        """Return the sums of squares after adding gradients with the same index in an example."""
        rows, order = self.indices.sort(dim=1)
        new = torch.ones_like(rows, dtype=torch.bool)
        new[:, 1:] = rows[:, 1:] != rows[:, :-1]
        if bool(new.all()):
            return row_squares(self.grads.flatten(1))
        numbers = torch.empty_like(order).scatter_(1, order, new.cumsum(1).sub_(1))
        return in_double(_squares_of_totals, self.grads, numbers)

    def spread(self) -> Tensor:
        """Return sum_t |g_t| for each example."""
        return spread_of_rows(self.grads)

    def weighted(self, weights: Tensor) -> Tensor:
        """Return a table with the weighted gradients added to their rows."""
        grads, indices = (self.grads * weights[:, None, None]).flatten(0, 1), self.indices.flatten()
        if is_short(grads):
            return grads.new_zeros(self.shape).index_add_(0, indices, grads)
        parts = zip(split_terms(grads), split_terms(indices), strict=True)
        return sum_parts(grads.new_zeros(self.shape).index_add_(0, at, some) for some, at in parts)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """Add the weighted table to an existing tensor."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """Return the gradients of all examples; needs memory for one table per example."""
        examples, rows = len(self.indices), self.shape[0]
        starts = rows * torch.arange(examples, device=self.indices.device)[:, None]
        found = self.grads.new_zeros(examples * rows, *self.shape[1:])
        found.index_add_(0, (self.indices + starts).flatten(), self.grads.flatten(0, 1))
        return found.reshape(examples, *self.shape)

    def masked(self, keep: Tensor) -> "TableRows":
        """Return rows with zeros outside ``keep``."""
        return TableRows(self.indices, torch.where(keep[:, None, None], self.grads, 0), self.shape)


def _squares_of_totals(grads: Tensor, numbers: Tensor) -> Tensor:
    """Return floored squared norms of the totals of ``grads`` (examples, T, d) over positions with equal numbers."""
    examples, places, width = grads.shape
    numbers = numbers + places * torch.arange(examples, device=numbers.device)[:, None]
    totals = grads.new_zeros(examples * places, width).index_add_(0, numbers.flatten(), grads.flatten(0, 1))
    return floor_norms(row_squares(totals.reshape(examples, -1)), spread_of_rows(grads))


def spread_of_rows(grads: Tensor) -> Tensor:
    """Return sum_t |g_t| for each example."""
    norms: Tensor = torch.linalg.vector_norm(grads, dim=2)
    return norms.sum(1)


def join_tables(parts: Sequence[TableRows]) -> TableRows:
    """Return one factor for a table with several lookups: the positions of all uses in sequence."""
    indices, grads = torch.cat([part.indices for part in parts], 1), torch.cat([part.grads for part in parts], 1)
    return TableRows(indices, grads, parts[0].shape)


SQUARED_NORMS: Callable[[GradientFactor], Tensor] = methodcaller("squared_norms")
"""Default function for the squared norms of a factor."""


@dataclass(frozen=True)
class TiedTable:
    """Gradients of a tied table: the sum of ``rows`` (lookups) and ``rest`` (products)."""

    rows: TableRows
    rest: GradientFactor

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter, without the example dimension."""
        return self.rest.shape

    def squared_norms(self, norms: Callable[[GradientFactor], Tensor] = SQUARED_NORMS) -> Tensor:
        """Return |R|^2 + |G|^2 + 2 <R, G> in double precision, at least the square of 1/128 of the spread.

        Parameters
        ----------
        norms
            Function that computes the squared norms of both parts; a trace needs a branchless variant.
        """

        def squares(grads: Tensor, indices: Tensor, *rest: Tensor) -> Tensor:
            own = TiedTable(TableRows(indices, grads, self.rows.shape), _with_tensors(self.rest, rest))
            return own._squares(norms(own.rows), norms(own.rest))

        return in_double(squares, self.rows.grads, self.rows.indices, *_tensors(self.rest))

    def _squares(self, rows: Tensor, rest: Tensor) -> Tensor:
        """Return the squared norms of the sum from the squared norms of both parts."""
        products = (rows_at(self.rest, self.rows.indices) * self.rows.grads).sum(2).sum(1)
        return floor_norms(rows + rest + 2 * products, self._spread(rest))

    def spread(self) -> Tensor:
        """Return the sum of the spreads of both parts."""
        return self._spread(None)

    def _spread(self, squares: Tensor | None) -> Tensor:
        """Return the sum of both spreads, given the squared norms of ``rest`` if known."""
        rest = self.rest.spread()
        if rest is None:
            rest = (self.rest.squared_norms() if squares is None else squares).sqrt()
        return self.rows.spread() + rest

    def weighted(self, weights: Tensor) -> Tensor:
        """Return the sum of both weighted sums."""
        return self.rows.weighted(weights) + self.rest.weighted(weights)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """Add the weighted sum to an existing tensor."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """Return the added gradients of both parts."""
        return self.rows.dense() + self.rest.dense()

    def masked(self, keep: Tensor) -> "TiedTable":
        """Return a tied table with zeros outside ``keep``."""
        return TiedTable(self.rows.masked(keep), self.rest.masked(keep))


def unite(factors: Sequence[GradientFactor]) -> GradientFactor:
    """Return the factor of a parameter with several uses, lookups among them.

    The gradients of all uses are added example by example.
    """
    rows = [factor for factor in factors if isinstance(factor, TableRows)]
    rest = [factor for factor in factors if not isinstance(factor, TableRows)]
    if not rows:
        return combine(rest)
    table = join_tables(rows) if len(rows) > 1 else rows[0]
    return TiedTable(table, combine(rest)) if rest else table


def _tensors(factor: GradientFactor) -> tuple[Tensor, ...]:
    """Return the tensors of a factor, examples first, as expected by `_with_tensors`."""
    return (factor.inputs, factor.grads) if isinstance(factor, Outer | OuterSequence) else (factor.dense(),)


def _with_tensors(factor: GradientFactor, tensors: Sequence[Tensor]) -> GradientFactor:
    """Return a factor of the same kind for other examples or another precision."""
    match factor:
        case OuterSequence():
            return OuterSequence(tensors[0], tensors[1], factor.shape)
        case Outer():
            return Outer(tensors[0], tensors[1], factor.shape)
    return Dense(tensors[0])


def rows_at(factor: GradientFactor, indices: Tensor) -> Tensor:
    """Return the rows ``indices`` (examples, T) of each example's gradient, shape (examples, T, d), in new memory."""
    match factor:
        case OuterSequence():
            found = factor.grads.gather(2, indices[:, None, :].expand(-1, factor.grads.shape[1], -1))
            return torch.bmm(found.transpose(1, 2), factor.inputs)
        case Outer():
            return factor.grads.gather(1, indices)[:, :, None] * factor.inputs[:, None, :]
    values = factor.dense()
    return values.gather(1, indices[:, :, None].expand(-1, -1, values.shape[2]))
