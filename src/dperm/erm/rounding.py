# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on the rounding error of a computed gradient, by a count of its operations.

Let u be the unit of rounding (2^-53 for doubles), D the number of coefficients of one score, K the number of scores, k
the rows of a block and m the number of blocks. For a record with ||x|| <= R and ||theta|| <= l, to first order in u:

- its bounded row (norm and factor; columns are scaled entry by entry, as part of the definition of a bounded row) has
  relative error (D + 12) u;
- so its scores are off by (2D + 20) u R l, a residual by 2u more (labels are in [-1, 1]), exponents of the softmax loss
  by 4u R l more;
- its slope is off by steepness times that, plus (36 + 2K) u times the largest slope for evaluating and limiting: the
  evaluations have small relative errors, sums over classes included;
- summing |slope| ||x|| <= L over rows and blocks in any order adds (D + k + m + 20) u L.

Hence ||computed - true|| <= n [w R steepness ((2D + 24) u R l + 2u) + (36 + 2K + D + k + m + 20) u L] + 4u (Lambda l +
||b|| + n L), times 1.01 for the higher orders. It is a count with a margin, as in Higham's analysis, not interval
arithmetic. It holds for every order of summation, so it covers any linear algebra library.
"""

import math

from dperm.data.blocks import HEIGHTS, SPARSE_HEIGHT
from dperm.erm import extended_precision
from dperm.erm.spec import ProblemSpec

ULP = 2.0**-53
HIGHER_ORDERS = 1.01
MARGIN = 3.0
"""Promised tolerance in units of the error bound; the solver needs room beside the error itself."""


def gradient_error(
    spec: ProblemSpec,
    rows: int,
    length: float,
    linear: float = 0.0,
    *,
    ulp: float = ULP,
    height: int | None = None,
) -> float:
    """Return a bound on ||computed - exact|| of the gradient over at most ``rows`` records (T31).

    Parameters
    ----------
    spec
        Public constants of the problem.
    rows
        Largest number of records.
    length
        Largest norm of theta.
    linear
        Bound on the norm of the linear term.
    ulp
        Unit of rounding.
    height
        Rows of a block; None for any.
    """
    size, slope = spec.width, spec.lipschitz
    score = (2 * size + 24) * spec.radius * length + 2
    each = spec.weight * spec.radius * spec.loss.steepness * score + (36 + 2 * spec.outputs) * slope
    summed = (size + min(rows, height or SPARSE_HEIGHT) + rows / (height or HEIGHTS[0]) + 20) * slope
    strength = spec.regularization or 0.0
    whole = rows * (each + summed) + 4 * (strength * length + linear + rows * slope)
    return HIGHER_ORDERS * ulp * whole


def minimizer_norm_bound(spec: ProblemSpec, rows: int, linear: float = 0.0) -> float:
    """Return a bound on ||theta|| where J(theta) <= J(0): 2 ||b|| / Lambda + sqrt(2 n w f(0) / Lambda).

    From (Lambda/2) ||theta||^2 - ||b|| ||theta|| <= J(theta) <= J(0) = n w f(0), losses being nonnegative.
    """
    return 2 * linear / spec.strength + math.sqrt(2 * rows * spec.weight * spec.loss.at_zero / spec.strength)


def attainable_tolerance(spec: ProblemSpec, rows: int, linear: float = 0.0) -> float:
    """Return a tolerance that `minimize` certifies for every data set of at most ``rows`` records, ||b|| <= ``linear``.

    The minimiser has J <= J(0), so public numbers bound its length l, and a point with a gradient within the tolerance
    is hardly longer. Extended precision is used if needed; rounding the result to doubles moves it by 2^-53 l.
    """
    length = 1.01 * minimizer_norm_bound(spec, rows, linear)
    return (
        MARGIN * gradient_error(spec, rows, length, linear, ulp=extended_precision.ULP)
        + 2 * ULP * spec.strength * length
    )
