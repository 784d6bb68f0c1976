# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums x x' and y x over bounded rows for least squares, with bounds on their rounding errors.

Let u be the unit of rounding, D the number of coefficients, k the rows of a block and m the number of blocks. To first
order in u, and as in `dperm.erm.rounding`:

- a bounded row has relative error (D + 12) u, times the root of its weight (D + 15) u;
- so a product x x' has relative error (2D + 32) u in Frobenius norm, a product y x (D + 18) u;
- summing over rows and blocks in any order adds (k + m + 4) u times the sum of |x| |x|', whose Frobenius norm is at
  most n w R^2, or of |y| |x|, at most n w R long;
- the constant column is multiplied after it is summed: 2u more.
"""

from typing import NamedTuple

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.blocks import HEIGHTS, SPARSE_HEIGHT
from dperm.data.bounded import BoundedData
from dperm.erm.objective import Objective
from dperm.erm.rounding import HIGHER_ORDERS, ULP
from dperm.erm.spec import ProblemSpec

EIGENVALUE = 40
"""Units of rounding in an eigenvalue for each entry of the matrix: 16 for two-sided Householder steps, the rest for the
tridiagonal matrix."""


class Moments(NamedTuple):
    """Sums of w x x', a symmetric matrix, and of w y x."""

    gram: Floats
    cross: Floats


def moments(data: BoundedData, spec: ProblemSpec) -> Moments:
    """Return both sums in two passes; ``spec`` has an unclipped squared loss.

    At theta = 0 a residual is -y, so minus the gradient of this loss is the sum of y x.
    """
    objective = Objective(data, spec, np.zeros(spec.dim))
    return Moments(objective.gram(), -objective.loss_gradient(np.zeros(spec.dim)))


def least_eigenvalue(gram: Floats) -> float:
    """Return the least eigenvalue of a sum of squares, at least 0."""
    return max(0.0, float(np.linalg.eigvalsh(gram)[0]))


def gram_error(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on ||computed - true||_F of the sum of x x' over at most ``rows`` records."""
    return HIGHER_ORDERS * ULP * (2 * spec.dim + 34 + _summed(rows)) * largest_gram(spec, rows)


def cross_error(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on ||computed - true|| of the sum of y x over at most ``rows`` records with |y| <= 1."""
    return HIGHER_ORDERS * ULP * (spec.dim + 20 + _summed(rows)) * largest_gram(spec, rows) / spec.radius


def eigenvalue_error(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on the error of the computed least eigenvalue: of the matrix (Weyl), and of the eigenvalue solver.

    Reducing a D x D matrix to a tridiagonal one has a backward error of 2 D Householder steps, 8 D u each, relative to
    the Frobenius norm (Higham 2002, 19.3). Twice as much again is left for the eigenvalues of the tridiagonal matrix.
    """
    return gram_error(spec, rows) + EIGENVALUE * ULP * spec.dim**2 * largest_gram(spec, rows)


def largest_gram(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on the Frobenius norm of the sum of x x': n w R^2."""
    return rows * spec.weight * spec.radius**2


def _summed(rows: int) -> float:
    """Return a bound on the additions of a summand, k + m, for any blocks."""
    return min(rows, SPARSE_HEIGHT) + rows / HEIGHTS[0] + 4
