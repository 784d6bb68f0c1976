# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The regularised objective of bounded data, and its derivatives, in passes over blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from dperm.data.arrays import Floats
from dperm.data.blocks import row_multiples
from dperm.data.bounded import Block, BoundedData
from dperm.erm.losses import Limits, secant
from dperm.erm.spec import ProblemSpec

FULL = 0.1
"""Sparse blocks that are fuller are multiplied as dense ones."""


@dataclass(frozen=True)
class Objective:
    """J(theta) = sum_i w_i f_i(z_i) + (Lambda/2) ||theta||^2 + linear'theta, z_i = y_i x_i'theta.

    With ``stride`` > 1 the sum runs over every ``stride``-th block of rows and is multiplied to stand for all: an
    approximation to start from, never one that is certified. ``caution`` is the share of the secant curvature in the
    Hessian: 0 for the Hessian itself, 1 for that of a function above J.
    """

    data: BoundedData
    spec: ProblemSpec
    linear: Floats
    stride: int = 1
    caution: float = 0.0

    def value(self, theta: Floats) -> float:
        """J."""
        total = 0.0
        for block in self.data.blocks(self.stride):
            total += float(block.weights @ self.spec.loss.value(*self._margins(block, theta)))
        return self._share() * total + float(theta @ (self.spec.strength / 2 * theta + self.linear))

    def gradient(self, theta: Floats) -> Floats:
        """The gradient of J."""
        return self._share() * self.loss_gradient(theta) + self.spec.strength * theta + self.linear

    def loss_gradient(self, theta: Floats) -> Floats:
        """The sum of the records' clipped gradients (T44), without regulariser and linear term."""
        gradient = np.zeros(len(theta))
        for block in self.data.blocks(self.stride):
            slopes = self.spec.loss.derivative(*self._margins(block, theta))
            self._add_rows(gradient, block, block.weights * block.signs * slopes)
        return gradient

    def hessian(self, theta: Floats) -> Floats:
        """The matrix of second derivatives."""
        size, dim, constant = len(theta), self.data.space.dim, self.data.space.constant
        upper, column, corner = np.zeros((dim, dim), order="F"), np.zeros(dim), 0.0
        for block in self.data.blocks(self.stride):
            bends = self._bends(block, theta)
            upper = _with_squares(upper, row_multiples(block.x, block.factors * np.sqrt(bends)))
            if size > dim:
                column += block.x.T @ (block.factors * bends)
                corner += float(bends.sum())
        whole = np.empty((size, size))
        whole[:dim, :dim] = np.triu(upper) + np.triu(upper, 1).T
        if size > dim:
            whole[:dim, dim] = whole[dim, :dim] = constant * column
            whole[dim, dim] = constant**2 * corner
        whole *= self._share()
        whole[np.diag_indices(size)] += self.spec.strength
        return whole

    def bends(self, theta: Floats) -> list[Floats]:
        """The weighted second derivatives of the records, block by block: what Hessian products need."""
        return [self._bends(block, theta) for block in self.data.blocks(self.stride)]

    def hessian_product(self, bends: list[Floats], vector: Floats) -> Floats:
        """The Hessian times ``vector``."""
        product = np.zeros(len(vector))
        for block, bend in zip(self.data.blocks(self.stride), bends, strict=True):
            self._add_rows(product, block, bend * self._products(block, vector))
        return self._share() * product + self.spec.strength * vector

    def _share(self) -> float:
        """All rows over the rows that are summed."""
        if self.stride == 1:
            return 1.0
        height, rows = self.data.height, self.data.rows
        starts = range(0, rows, height * self.stride)
        return rows / sum(min(height, rows - start) for start in starts)

    def _products(self, block: Block, vector: Floats) -> Floats:
        """The inner products of the bounded rows with ``vector``."""
        dim = self.data.space.dim
        products = block.factors * (block.x @ vector[:dim])
        if len(vector) > dim:
            products += self.data.space.constant * vector[dim]
        return np.asarray(products)

    def _margins(self, block: Block, theta: Floats) -> tuple[Floats, Limits]:
        """Margins, and the largest slope of each record: clip / ||x|| (T44)."""
        margins = block.signs * self._products(block, theta)
        if self.spec.clip is None:
            return margins, None
        with np.errstate(divide="ignore", over="ignore"):
            return margins, self.spec.clip / block.lengths

    def _bends(self, block: Block, theta: Floats) -> Floats:
        margins, limits = self._margins(block, theta)
        bends = self.spec.loss.second(margins, limits)
        if self.caution:
            bends = (1 - self.caution) * bends + self.caution * secant(self.spec.loss, margins, limits)
        return np.asarray(block.weights * bends)

    def _add_rows(self, total: Floats, block: Block, amounts: Floats) -> None:
        """Add the bounded rows times ``amounts`` to ``total``."""
        dim = self.data.space.dim
        total[:dim] += block.x.T @ (block.factors * amounts)
        if len(total) > dim:
            total[dim] += self.data.space.constant * float(amounts.sum())


def _with_squares(upper: Floats, rows: Any) -> Floats:
    """``upper`` plus the sum of the squares x x', above the diagonal at least."""
    if not isinstance(rows, np.ndarray):
        if rows.nnz < FULL * rows.shape[0] * rows.shape[1]:
            return np.asarray(upper + (rows.T @ rows).toarray(order="F"))
        rows = rows.toarray()
    return np.asarray(dsyrk(1.0, rows.T, beta=1.0, c=upper, overwrite_c=1))
