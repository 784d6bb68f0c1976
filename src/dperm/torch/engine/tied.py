# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A table that is looked up and also multiplied with: the weight that an embedding shares with the last linear layer.

With R the gradient as a table and G that as a matrix, |R + G|^2 = |R|^2 + |G|^2 + 2 sum_t <G[i_t], r_t>, where r_t is
the gradient of the row i_t that was looked up at place t. Only the rows of G that an example looks up are needed: no
example needs memory for the whole weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dperm.torch.engine.factors import Factor, Outer, OuterSequence, combined, rounded_up
from dperm.torch.engine.rows import Rows, joined
from dperm.torch.engine.sums import Onto


@dataclass(frozen=True)
class Tied:
    """Gradients that are the sum of those of ``rows`` and of ``rest``."""

    rows: Rows
    rest: Factor

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""
        return self.rest.shape

    def squared_norms(self) -> Tensor:
        """Both squares and twice the product, where both may cancel: not below 1/128 of the spread."""
        return self.squares(self.rows.squared_norms(), self.rest.squared_norms())

    def squares(self, rows: Tensor, rest: Tensor) -> Tensor:
        """The squared norms, from those of both parts."""
        products = (rows_at(self.rest, self.rows.indices) * self.rows.grads).sum(2).sum(1)
        return rounded_up(rows + rest + 2 * products, self._spread(rest))

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
