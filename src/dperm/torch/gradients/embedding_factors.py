# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A table that is looked up and also multiplied with: the weight that an embedding shares with the last linear layer.

With R the gradient as a table and G that as a matrix, |R + G|^2 = |R|^2 + |G|^2 + 2 sum_t <G[i_t], r_t>, where r_t is
the gradient of the row i_t that was looked up at place t. Only the rows of G that an example looks up are needed: no
example needs memory for the whole weight.
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
        """Sums of squares, after the gradients of an index that an example has several times are added."""
        rows, order = self.indices.sort(dim=1)
        new = torch.ones_like(rows, dtype=torch.bool)
        new[:, 1:] = rows[:, 1:] != rows[:, :-1]
        if bool(new.all()):
            return row_squares(self.grads.flatten(1))
        numbers = torch.empty_like(order).scatter_(1, order, new.cumsum(1).sub_(1))
        return in_double(_squares_of_totals, self.grads, numbers)

    def spread(self) -> Tensor:
        """sum_t |g_t|."""
        return spread_of_rows(self.grads)

    def weighted(self, weights: Tensor) -> Tensor:
        """Weighted gradients added to their rows."""
        grads, indices = (self.grads * weights[:, None, None]).flatten(0, 1), self.indices.flatten()
        if is_short(grads):
            return grads.new_zeros(self.shape).index_add_(0, indices, grads)
        parts = zip(split_terms(grads), split_terms(indices), strict=True)
        return sum_parts(grads.new_zeros(self.shape).index_add_(0, at, some) for some, at in parts)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """The same, added to what is there."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """The gradients of all examples: memory for a table each."""
        examples, rows = len(self.indices), self.shape[0]
        starts = rows * torch.arange(examples, device=self.indices.device)[:, None]
        found = self.grads.new_zeros(examples * rows, *self.shape[1:])
        found.index_add_(0, (self.indices + starts).flatten(), self.grads.flatten(0, 1))
        return found.reshape(examples, *self.shape)

    def masked(self, keep: Tensor) -> "TableRows":
        """Zeros where not kept."""
        return TableRows(self.indices, torch.where(keep[:, None, None], self.grads, 0), self.shape)


def _squares_of_totals(grads: Tensor, numbers: Tensor) -> Tensor:
    """Squared norms, floored, of the totals of ``grads`` (examples, T, d) at places of the same number (0 to T - 1)."""
    examples, places, width = grads.shape
    numbers = numbers + places * torch.arange(examples, device=numbers.device)[:, None]
    totals = grads.new_zeros(examples * places, width).index_add_(0, numbers.flatten(), grads.flatten(0, 1))
    return floor_norms(row_squares(totals.reshape(examples, -1)), spread_of_rows(grads))


def spread_of_rows(grads: Tensor) -> Tensor:
    """sum_t |g_t|."""
    norms: Tensor = torch.linalg.vector_norm(grads, dim=2)
    return norms.sum(1)


def join_tables(parts: Sequence[TableRows]) -> TableRows:
    """One table that is looked up several times: the places of all uses, one after the other."""
    indices, grads = torch.cat([part.indices for part in parts], 1), torch.cat([part.grads for part in parts], 1)
    return TableRows(indices, grads, parts[0].shape)


SQUARED_NORMS: Callable[[GradientFactor], Tensor] = methodcaller("squared_norms")
"""The squared norms of a factor by its own method."""


@dataclass(frozen=True)
class TiedTable:
    """Gradients that are the sum of those of ``rows`` and of ``rest``."""

    rows: TableRows
    rest: GradientFactor

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""
        return self.rest.shape

    def squared_norms(self, norms: Callable[[GradientFactor], Tensor] = SQUARED_NORMS) -> Tensor:
        """Both squares and twice the product, in double precision: both may cancel. Not below 1/128 of the spread.

        Parameters
        ----------
        norms
            Finds the squared norms of both parts; a trace needs another way.
        """

        def squares(grads: Tensor, indices: Tensor, *rest: Tensor) -> Tensor:
            own = TiedTable(TableRows(indices, grads, self.rows.shape), _with_tensors(self.rest, rest))
            return own._squares(norms(own.rows), norms(own.rest))

        return in_double(squares, self.rows.grads, self.rows.indices, *_tensors(self.rest))

    def _squares(self, rows: Tensor, rest: Tensor) -> Tensor:
        """The squared norms, from those of both parts."""
        products = (rows_at(self.rest, self.rows.indices) * self.rows.grads).sum(2).sum(1)
        return floor_norms(rows + rest + 2 * products, self._spread(rest))

    def spread(self) -> Tensor:
        """The sum of both."""
        return self._spread(None)

    def _spread(self, squares: Tensor | None) -> Tensor:
        """The sum of both, for the squared norms of the rest, if they are known."""
        rest = self.rest.spread()
        if rest is None:
            rest = (self.rest.squared_norms() if squares is None else squares).sqrt()
        return self.rows.spread() + rest

    def weighted(self, weights: Tensor) -> Tensor:
        """The sum of both."""
        return self.rows.weighted(weights) + self.rest.weighted(weights)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """The same, added to what is there."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """The sum of both."""
        return self.rows.dense() + self.rest.dense()

    def masked(self, keep: Tensor) -> "TiedTable":
        """Zeros where not kept."""
        return TiedTable(self.rows.masked(keep), self.rest.masked(keep))


def unite(factors: Sequence[GradientFactor]) -> GradientFactor:
    """The factor of a parameter that is used several times, lookups among them: gradients of its uses added."""
    rows = [factor for factor in factors if isinstance(factor, TableRows)]
    rest = [factor for factor in factors if not isinstance(factor, TableRows)]
    if not rows:
        return combine(rest)
    table = join_tables(rows) if len(rows) > 1 else rows[0]
    return TiedTable(table, combine(rest)) if rest else table


def _tensors(factor: GradientFactor) -> tuple[Tensor, ...]:
    """The tensors of a factor, each with the examples first; those of `_with_tensors`."""
    return (factor.inputs, factor.grads) if isinstance(factor, Outer | OuterSequence) else (factor.dense(),)


def _with_tensors(factor: GradientFactor, tensors: Sequence[Tensor]) -> GradientFactor:
    """The same kind of factor for other examples or in another precision."""
    match factor:
        case OuterSequence():
            return OuterSequence(tensors[0], tensors[1], factor.shape)
        case Outer():
            return Outer(tensors[0], tensors[1], factor.shape)
    return Dense(tensors[0])


def rows_at(factor: GradientFactor, indices: Tensor) -> Tensor:
    """(examples, T, d): for every example the rows ``indices`` (examples, T) of its gradient, in new memory."""
    match factor:
        case OuterSequence():
            found = factor.grads.gather(2, indices[:, None, :].expand(-1, factor.grads.shape[1], -1))
            return torch.bmm(found.transpose(1, 2), factor.inputs)
        case Outer():
            return factor.grads.gather(1, indices)[:, :, None] * factor.inputs[:, None, :]
    values = factor.dense()
    return values.gather(1, indices[:, :, None].expand(-1, -1, values.shape[2]))
