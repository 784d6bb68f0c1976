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

from dperm.torch.engine.factors import Dense, Factor, Outer, OuterSequence, combined, floored, in_double
from dperm.torch.engine.rows import Rows, joined
from dperm.torch.engine.sums import Onto

SQUARED_NORMS: Callable[[Factor], Tensor] = methodcaller("squared_norms")
"""The squared norms of a factor by its own method."""


@dataclass(frozen=True)
class Tied:
    """Gradients that are the sum of those of ``rows`` and of ``rest``."""

    rows: Rows
    rest: Factor

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""
        return self.rest.shape

    def squared_norms(self, norms: Callable[[Factor], Tensor] = SQUARED_NORMS) -> Tensor:
        """Both squares and twice the product, in double precision: both may cancel. Not below 1/128 of the spread.

        Parameters
        ----------
        norms
            Finds the squared norms of both parts; a trace needs another way.
        """

        def squares(grads: Tensor, indices: Tensor, *rest: Tensor) -> Tensor:
            own = Tied(Rows(indices, grads, self.rows.shape), _with_tensors(self.rest, rest))
            return own._squares(norms(own.rows), norms(own.rest))

        return in_double(squares, self.rows.grads, self.rows.indices, *_tensors(self.rest))

    def _squares(self, rows: Tensor, rest: Tensor) -> Tensor:
        """The squared norms, from those of both parts."""
        products = (rows_at(self.rest, self.rows.indices) * self.rows.grads).sum(2).sum(1)
        return floored(rows + rest + 2 * products, self._spread(rest))

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

    def add_weighted(self, weights: Tensor, onto: Onto) -> None:
        """The same, added to what is there."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """The sum of both."""
        return self.rows.dense() + self.rest.dense()

    def masked(self, keep: Tensor) -> "Tied":
        """Zeros where not kept."""
        return Tied(self.rows.masked(keep), self.rest.masked(keep))


def united(factors: Sequence[Factor]) -> Factor:
    """The factor of a parameter that is used several times, lookups among them: gradients of its uses added."""
    rows = [factor for factor in factors if isinstance(factor, Rows)]
    rest = [factor for factor in factors if not isinstance(factor, Rows)]
    if not rows:
        return combined(rest)
    table = joined(rows) if len(rows) > 1 else rows[0]
    return Tied(table, combined(rest)) if rest else table


def _tensors(factor: Factor) -> tuple[Tensor, ...]:
    """The tensors of a factor, each with the examples first; those of `_with_tensors`."""
    return (factor.inputs, factor.grads) if isinstance(factor, Outer | OuterSequence) else (factor.dense(),)


def _with_tensors(factor: Factor, tensors: Sequence[Tensor]) -> Factor:
    """The same kind of factor for other examples or in another precision."""
    match factor:
        case OuterSequence():
            return OuterSequence(tensors[0], tensors[1], factor.shape)
        case Outer():
            return Outer(tensors[0], tensors[1], factor.shape)
    return Dense(tensors[0])


def rows_at(factor: Factor, indices: Tensor) -> Tensor:
    """(examples, T, d): for every example the rows ``indices`` (examples, T) of its gradient, in new memory."""
    match factor:
        case OuterSequence():
            found = factor.grads.gather(2, indices[:, None, :].expand(-1, factor.grads.shape[1], -1))
            return torch.bmm(found.transpose(1, 2), factor.inputs)
        case Outer():
            return factor.grads.gather(1, indices)[:, :, None] * factor.inputs[:, None, :]
    values = factor.dense()
    return values.gather(1, indices[:, :, None].expand(-1, -1, values.shape[2]))
