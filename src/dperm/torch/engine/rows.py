# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Per-example gradients of a table of which every example meets a few rows: embeddings.

The gradient of row v is the sum of g_t over the places t whose index is v. No example needs memory for the whole table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dperm.torch.engine.factors import floored, in_double, row_squares
from dperm.torch.engine.sums import Onto, added, is_short, pieces


@dataclass(frozen=True)
class Rows:
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
        parts = zip(pieces(grads), pieces(indices), strict=True)
        return added(grads.new_zeros(self.shape).index_add_(0, at, some) for some, at in parts)

    def add_weighted(self, weights: Tensor, onto: Onto) -> None:
        """The same, added to what is there."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """The gradients of all examples: memory for a table each."""
        examples, rows = len(self.indices), self.shape[0]
        starts = rows * torch.arange(examples, device=self.indices.device)[:, None]
        found = self.grads.new_zeros(examples * rows, *self.shape[1:])
        found.index_add_(0, (self.indices + starts).flatten(), self.grads.flatten(0, 1))
        return found.reshape(examples, *self.shape)

    def masked(self, keep: Tensor) -> "Rows":
        """Zeros where not kept."""
        return Rows(self.indices, torch.where(keep[:, None, None], self.grads, 0), self.shape)


def _squares_of_totals(grads: Tensor, numbers: Tensor) -> Tensor:
    """Squared norms, floored, of the totals of ``grads`` (examples, T, d) at places of the same number (0 to T - 1)."""
    examples, places, width = grads.shape
    numbers = numbers + places * torch.arange(examples, device=numbers.device)[:, None]
    totals = grads.new_zeros(examples * places, width).index_add_(0, numbers.flatten(), grads.flatten(0, 1))
    return floored(row_squares(totals.reshape(examples, -1)), spread_of_rows(grads))


def spread_of_rows(grads: Tensor) -> Tensor:
    """sum_t |g_t|."""
    norms: Tensor = torch.linalg.vector_norm(grads, dim=2)
    return norms.sum(1)


def joined(parts: Sequence[Rows]) -> Rows:
    """One table that is looked up several times: the places of all uses, one after the other."""
    indices, grads = torch.cat([part.indices for part in parts], 1), torch.cat([part.grads for part in parts], 1)
    return Rows(indices, grads, parts[0].shape)
