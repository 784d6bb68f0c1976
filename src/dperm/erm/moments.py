# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums x x' and y x over bounded rows for least squares, with bounds on their rounding errors.

Entries of rows on the grid are integers times a unit, so the sum of x x' is computed exactly, in integers (T201), and
rounded at the end. So is the sum of y x, apart from the digits of the labels that no slice holds.
"""

from typing import NamedTuple

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.gradient import loss_gradient
from dperm.erm.kernels import SquaresKernel
from dperm.erm.rounding import HIGHER_ORDERS, ULP
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.presentation.spelling import quoted_arg

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

    Raises
    ------
    AssumptionError
        If valid records may have another weight than 1: the exact sum of x x' is for weights 0 and 1.
    """
    if data.target.weights_range != (1.0, 1.0):
        raise AssumptionError(
            "sums of squares are computed for records of weight 1 alone (T201), and these labels have other weights.",
            remedy=f"Use {quoted_arg('method', 'objective')} or {quoted_arg('method', 'gradient')}.",
        )
    squares = SquaresKernel(data.grid, data.target)
    gram = squares.squares(data.sums(squares))
    return Moments(gram, -loss_gradient(data, spec, np.zeros(spec.dim)))


def least_eigenvalue(gram: Floats) -> float:
    """Return the least eigenvalue of a sum of squares, at least 0."""
    return max(0.0, float(np.linalg.eigvalsh(gram)[0]))


def gram_error(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on ||computed - true||_F of the sum of x x' over at most ``rows`` records (T201).

    The integers are exact. Halves, three parts and units are put together with errors of at most 16u.
    """
    return HIGHER_ORDERS * ULP * 16 * largest_gram(spec, rows)


def cross_error(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on ||computed - true|| of the sum of y x over at most ``rows`` records with |y| <= 1 (T201).

    The slices hold 51 digits below 2^1, so a label loses at most 2^-51, and putting the sums together rounds by 16u.
    """
    return HIGHER_ORDERS * ULP * 20 * largest_gram(spec, rows) / spec.radius


def eigenvalue_error(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on the error of the computed least eigenvalue: of the matrix (Weyl), and of the eigenvalue solver.

    Reducing a D x D matrix to a tridiagonal one has a backward error of 2 D Householder steps, 8 D u each, relative to
    the Frobenius norm (Higham 2002, 19.3). Twice as much again is left for the eigenvalues of the tridiagonal matrix.
    """
    return gram_error(spec, rows) + EIGENVALUE * ULP * spec.dim**2 * largest_gram(spec, rows)


def largest_gram(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on the Frobenius norm of the sum of x x': n w R^2."""
    return rows * spec.weight * spec.radius**2
