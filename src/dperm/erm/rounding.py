# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on the rounding error of an exactly summed gradient, by a count of its operations (T202).

Let u be the unit of rounding (2^-53 for doubles), D the number of coefficients of one score, K the number of scores.
Rows are on the grid, so they are exact. Coefficients are cut into M slices of q digits, of which all products with rows
are exact (T201). For a record with ||x|| <= R and ||theta|| <= l, to first order in u:

- its score z is the sum of M exact products, of which all but the first are at most sqrt(D) R 2^-q l. The last addition
  and the unit of the grid round by 2u |z|, the M - 2 others by u sqrt(D) R 2^-q l each. The digits of theta that no
  slice holds add R 2^-A l, A being their accuracy. Of several scores the largest one is subtracted before rounding: z
  stands for the differences, which have twice the other errors;
- subtracting the target, or the largest score once more, rounds by u |z| again. A relative error of z moves f' by at
  most zeta = sup |z f''(z)| times it, over the scores at which f' is not limited, and any other error by the steepness;
- evaluating, limiting and weighting a slope adds (38 + 2K) u times the largest slope S: 6u for 1 / (1 + e^z), 5u for
  the quartic, 10u for the pinball losses, (K + 8) u for the probabilities, 2u for a limit, (K/2 + 5) u for the length
  of a gradient of several scores and u for the weight. Norms of rows are exact numbers here, upper bounds in single
  precision. The slopes of one score have small relative errors, so S is the largest slope after limiting. The errors
  of p - e_y are absolute: there S is sqrt(2), however short the limited gradient is;
- the slices of the slopes hold all but 2^(t - 52) of each, 2^t being at most twice the largest slope;
- the sum adds nothing: it is exact. Each of its slices is rounded to a double (3u), they are added (2u) and multiplied
  by the unit (u), and so are the terms of the regulariser and the linear term (3u).

Hence ||computed - true|| <= n [w (4u zeta_R + steepness R rest) + (38 + 2K) u w R S + sqrt(K) R 2^(t - 52)] + 12u
(Lambda l + ||b|| + n L), times 1.01 for the higher orders, where zeta_R bounds ||x|| zeta. It is a count with a margin,
as in Higham's analysis, not interval arithmetic. There is no term for the number of rows in a sum, so the bound grows
like n.
"""

import math

from dperm.erm.exact_sums import SCORE_ACCURACY, SLOPE_DIGITS, SLOPE_SLICES, ScoreSlices, exponent
from dperm.erm.spec import ProblemSpec

ULP = 2.0**-53
SEVERAL_SCORES = 8
"""Change of the softmax probabilities by an error of each score, in units of the steepness: two for the difference with
the largest score, two for p_j |d_j - sum_k p_k d_k| summed over j, two for the steepness 1/2."""
HIGHER_ORDERS = 1.01
MARGIN = 3.0
"""Promised tolerance in units of the error bound; the solver needs room beside the error itself."""


def gradient_error(spec: ProblemSpec, rows: int, length: float, linear: float = 0.0) -> float:
    """Return a bound on ||computed - exact|| of the gradient over at most ``rows`` records (T31, T202).

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
    """
    steepest = slope_bound(spec, length)
    longest = min(spec.lipschitz, spec.radius * steepest)
    evaluated = longest if spec.outputs == 1 else spec.radius * steepest
    each = spec.weight * _slope_change(spec, length) + (38 + 2 * spec.outputs) * ULP * evaluated
    digits = exponent(steepest) - SLOPE_DIGITS * SLOPE_SLICES - 1
    kept = math.sqrt(spec.outputs) * spec.radius * 2.0**digits
    strength = spec.regularization or 0.0
    return HIGHER_ORDERS * (rows * (each + kept) + 12 * ULP * (strength * length + linear + rows * longest))


def _slope_change(spec: ProblemSpec, length: float) -> float:
    """Return a bound on ||x|| times the change of a slope by the error of its score."""
    columns, met = spec.width, spec.radius * length
    shape = ScoreSlices.of(columns, math.sqrt(columns))  # the fewest digits that any grid has
    dropped = met * 2.0**-SCORE_ACCURACY
    rest = dropped + 2 * (shape.count + 1) * ULP * math.sqrt(columns) * met * 2.0**-shape.digits
    steepness = spec.radius * spec.loss.steepness * (1 if spec.outputs == 1 else SEVERAL_SCORES)
    longest = math.inf if spec.clip is None else spec.clip
    relative = min(spec.loss.relative_steepness(spec.radius, longest), steepness * (met + 1.0))
    return 4 * ULP * relative + steepness * rest


def slope_bound(spec: ProblemSpec, length: float, least_norm: float = 0.0) -> float:
    """Return a bound on a record's weighted slope |w f'| at ||theta|| <= ``length``, from public numbers.

    A residual is at most ||x|| l + 1, and a limited slope clip / ||x||. The smaller one is largest where both are
    equal. Sums of slopes are exact up to twice the power of 2 above this bound (T201).

    Parameters
    ----------
    spec
        Problem with its clip.
    length
        Norm of theta.
    least_norm
        Smallest norm of a row with its constant; 0 without one.
    """
    met = spec.loss.slope
    if math.isinf(met):
        met = spec.radius * length + 1.0
        if spec.clip is not None:
            met = min(met, (1 + math.sqrt(1 + 4 * length * spec.clip)) / 2)
    if spec.clip is not None and least_norm > 0:
        met = min(met, spec.clip / least_norm)
    return spec.weight * met * (1 + 2.0**-40)


def minimizer_norm_bound(spec: ProblemSpec, rows: int, linear: float = 0.0) -> float:
    """Return a bound on ||theta|| where J(theta) <= J(0): 2 ||b|| / Lambda + sqrt(2 n w f(0) / Lambda).

    From (Lambda/2) ||theta||^2 - ||b|| ||theta|| <= J(theta) <= J(0) = n w f(0), losses being nonnegative.
    """
    return 2 * linear / spec.strength + math.sqrt(2 * rows * spec.weight * spec.loss.at_zero / spec.strength)


def attainable_tolerance(spec: ProblemSpec, rows: int, linear: float = 0.0) -> float:
    """Return a tolerance that `minimize` certifies for every data set of at most ``rows`` records, ||b|| <= ``linear``.

    The minimiser has J <= J(0), so public numbers bound its length l, and a point with a gradient within the tolerance
    is hardly longer. The solver carries further digits of theta if the gradient at every double exceeds the tolerance;
    rounding the result to doubles moves it by 2^-53 l.
    """
    length = 1.01 * minimizer_norm_bound(spec, rows, linear)
    return MARGIN * gradient_error(spec, rows, length, linear) + 2 * ULP * spec.strength * length
