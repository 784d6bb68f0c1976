# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums x x' and y x over bounded rows, which determine a least-squares fit, and how wrong they are when computed.

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
"""Units of rounding for each entry of a matrix, in an eigenvalue: two-sided Householder steps take 16, the rest is for
the tridiagonal matrix that is left."""


class Moments(NamedTuple):
    """The sums of w x x', a symmetric matrix, and of w y x."""

    gram: Floats
    cross: Floats


def moments(data: BoundedData, spec: ProblemSpec) -> Moments:
    """The two sums, in two passes; ``spec`` is that of a squared loss which is not clipped.

    At theta = 0 a residual is -y, so minus the gradient of that loss is the sum of y x.
    """
    objective = Objective(data, spec, np.zeros(spec.dim))
    return Moments(objective.gram(), -objective.loss_gradient(np.zeros(spec.dim)))


def least_eigenvalue(gram: Floats) -> float:
    """The least eigenvalue of a sum of squares; it is not negative."""
    return max(0.0, float(np.linalg.eigvalsh(gram)[0]))


def gram_error(spec: ProblemSpec, rows: int) -> float:
    """Bound on ||computed - true||_F of the sum of x x' over at most ``rows`` records."""
    return HIGHER_ORDERS * ULP * (2 * spec.dim + 34 + _summed(rows)) * largest_gram(spec, rows)


def cross_error(spec: ProblemSpec, rows: int) -> float:
    """Bound on ||computed - true|| of the sum of y x over at most ``rows`` records with |y| <= 1."""
    return HIGHER_ORDERS * ULP * (spec.dim + 20 + _summed(rows)) * largest_gram(spec, rows) / spec.radius


def eigenvalue_error(spec: ProblemSpec, rows: int) -> float:
    """Bound on the error of the computed least eigenvalue: that of the matrix (Weyl), and that of finding it.

    Reducing a D x D matrix to a tridiagonal one has a backward error of 2 D Householder steps, 8 D u each, relative to
    the Frobenius norm (Higham 2002, 19.3); twice that again is left for the eigenvalues of the tridiagonal matrix.
    """
    return gram_error(spec, rows) + EIGENVALUE * ULP * spec.dim**2 * largest_gram(spec, rows)


def largest_gram(spec: ProblemSpec, rows: int) -> float:
    """Bound on the Frobenius norm of the sum of x x': n w R^2."""
    return rows * spec.weight * spec.radius**2


def _summed(rows: int) -> float:
    """Additions on the longest way of a summand, k + m, whatever the blocks are."""
    return min(rows, SPARSE_HEIGHT) + rows / HEIGHTS[0] + 4
