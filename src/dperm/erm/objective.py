# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Regularised objective of bounded data in memory and its derivatives, in passes over blocks.

These are ordinary floating-point sums, for the curvature of a sample and for methods that need rows in memory. Sums
behind a certificate or a release are those of `dperm.erm.table_objective`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.bounded import HEIGHT, Block, BoundedData
from dperm.erm.loss import Bends, Limits
from dperm.erm.spec import ProblemSpec

FULL = 0.1
"""Largest share of nonzero entries for a sparse product; fuller blocks are multiplied as dense ones."""


@dataclass(frozen=True)
class Objective:
    """J(theta) = sum_i w_i f(x_i'theta, y_i) + (Lambda/2) ||theta||^2 + linear'theta.

    With ``stride`` > 1 the sum runs over every ``stride``-th block of rows and is scaled up to all rows: an
    approximation for a start, never certified. ``caution`` is the share of the secant curvature in the Hessian: 0 for
    the Hessian itself, 1 for the Hessian of a function above J.

    ``scale`` multiplies the sum over the records, for a sample in place of all records. ``quadratic`` is the matrix Q
    of an additional term theta' Q theta / 2, None for no such term.
    """

    data: BoundedData
    spec: ProblemSpec
    linear: Floats
    stride: int = 1
    caution: float = 0.0
    scale: float = 1.0
    quadratic: Floats | None = None

    def value(self, theta: Floats) -> float:
        """Return J(theta), for all rows or extrapolated from the thinned ones."""
        total = 0.0
        for block in self.data.blocks(self.stride):
            losses = self.spec.loss.losses(self._scores(block, theta), block.targets, self._limits(block))
            total += float(block.weights @ losses)
        rest = self.spec.strength / 2 * theta + self.linear
        if self.quadratic is not None:
            rest += self.quadratic @ theta / 2
        return self._share() * total + float(theta @ rest)

    def gradient(self, theta: Floats) -> Floats:
        """Return the gradient of J at ``theta``."""
        rest = self.spec.strength * theta + self.linear
        if self.quadratic is not None:
            rest += self.quadratic @ theta
        return self._share() * self.loss_gradient(theta) + rest

    def loss_gradient(self, theta: Floats) -> Floats:
        """Return the sum of the records' clipped gradients (T44), without regulariser and linear term."""
        gradient = np.zeros(len(theta))
        for block in self.data.blocks(self.stride):
            slopes = self.spec.loss.slopes(self._scores(block, theta), block.targets, self._limits(block))
            self._add_rows(gradient, block, _times(block.weights, slopes))
        return gradient

    def hessian(self, theta: Floats) -> Floats:
        """Return the matrix of second derivatives, for a loss of one score."""
        whole = self._share() * self._squares(self.bends(theta))
        whole[np.diag_indices(len(whole))] += self.spec.strength
        return whole if self.quadratic is None else whole + self.quadratic

    def gram(self) -> Floats:
        """Return the weighted sum of the squares x x' of the bounded rows with their constant."""
        ones = [np.ones(len(block.weights)) for block in self.data.blocks(self.stride)]
        return self._share() * self._squares(ones)

    def bends(self, theta: Floats) -> list[Bends]:
        """Return the second derivatives of the records, block by block, for Hessian products."""
        return [
            self.spec.loss.bends(self._scores(block, theta), block.targets, self._limits(block), self.caution)
            for block in self.data.blocks(self.stride)
        ]

    def hessian_product(self, bends: list[Bends], vector: Floats) -> Floats:
        """Return the Hessian times ``vector``."""
        product = np.zeros(len(vector))
        for block, bend in zip(self.data.blocks(self.stride), bends, strict=True):
            moved = self.spec.loss.spread(bend, self._scores(block, vector))
            self._add_rows(product, block, _times(block.weights, moved))
        rest = 0.0 if self.quadratic is None else self.quadratic @ vector
        return np.asarray(self._share() * product + self.spec.strength * vector + rest)

    def _share(self) -> float:
        """Return the ratio of all rows to the summed rows."""
        if self.stride == 1:
            return self.scale
        rows = self.data.rows
        starts = range(0, rows, HEIGHT * self.stride)
        return self.scale * rows / sum(min(HEIGHT, rows - start) for start in starts)

    def _scores(self, block: Block, theta: Floats) -> Floats:
        """Return the inner products of the bounded rows with ``theta``; a column for each of several scores."""
        dim, table = self.data.space.dim, self._table(theta)
        scores = np.asarray(block.x @ table[:dim])
        if len(table) > dim:
            scores += self.data.space.constant * table[dim]
        return scores

    def _limits(self, block: Block) -> Limits:
        """Return the largest slope of each record: clip / ||x|| (T44)."""
        if self.spec.clip is None:
            return None
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(self.spec.clip / block.lengths)

    def _add_rows(self, total: Floats, block: Block, amounts: Floats) -> None:
        """Add the bounded rows times ``amounts`` to ``total``."""
        dim, table = self.data.space.dim, self._table(total)
        table[:dim] += block.x.T @ amounts
        if len(table) > dim:
            table[dim] += self.data.space.constant * amounts.sum(axis=0)

    def _table(self, theta: Floats) -> Floats:
        """Return ``theta`` with a row for each column of the data: a view, of one dimension for one score."""
        return theta if self.spec.outputs == 1 else theta.reshape(self.spec.outputs, -1).T

    def _squares(self, bends: list[Floats]) -> Floats:
        """Return the sum of the squares x x' times weights and ``bends``."""
        size, dim, constant = self.data.space.size, self.data.space.dim, self.data.space.constant
        upper, column, corner = np.zeros((dim, dim), order="F"), np.zeros(dim), 0.0
        for block, bend in zip(self.data.blocks(self.stride), bends, strict=True):
            weights = block.weights * bend
            upper = _with_squares(upper, row_multiples(block.x, np.sqrt(weights)))
            if size > dim:
                column += block.x.T @ weights
                corner += float(weights.sum())
        whole = np.empty((size, size))
        whole[:dim, :dim] = np.triu(upper) + np.triu(upper, 1).T
        if size > dim:
            whole[:dim, dim] = whole[dim, :dim] = constant * column
            whole[dim, dim] = constant**2 * corner
        return whole


def _times(numbers: Floats, table: Floats) -> Floats:
    """Multiply each row by its number."""
    return np.asarray(numbers * table if table.ndim == 1 else numbers[:, np.newaxis] * table)


def _with_squares(upper: Floats, rows: Any) -> Floats:
    """Return ``upper`` plus the sum of the squares x x', at least above the diagonal."""
    if not isinstance(rows, np.ndarray):
        if rows.nnz < FULL * rows.shape[0] * rows.shape[1]:
            return np.asarray(upper + (rows.T @ rows).toarray(order="F"))
        rows = rows.toarray()
    return np.asarray(upper + rows.T @ rows)


def row_multiples(rows: Any, factors: Floats) -> Any:
    """Return each dense or sparse row times its factor."""
    if isinstance(rows, np.ndarray):
        return rows * factors[:, np.newaxis]
    multiples = rows.copy()
    multiples.data = rows.data * np.repeat(factors, np.diff(rows.indptr))
    return multiples
