# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of sums of squares and products over bounded rows, for least squares (T6, T19, T44)."""

from fractions import Fraction

from dperm.erm.spec import ProblemSpec
from dperm.noise.grid import Norm, root_up
from dperm.privacy import Adjacency
from dperm.privacy.rounding import round_up


def eigenvalue_sensitivity(spec: ProblemSpec) -> float:
    """Return the sensitivity w R^2 of the smallest eigenvalue of M = sum_i w_i x_i x_i', rounded up.

    Here x_i is the row of record i as a column vector, and x_i' is its transpose. R bounds the norms of the rows, and w
    bounds the weights w_i. By Weyl's inequality, w_i x_i x_i' adds between 0 and w R^2 to each eigenvalue. A
    replacement removes one record and adds another. The two changes have opposite signs, so the bound is the same under
    add/remove and replace-one.

    Parameters
    ----------
    spec
        Public constants of the problem.

    Returns
    -------
    float
        The sensitivity, rounded up.

    Notes
    -----
    *Guarantees.* The bound holds for every data set, including the empty one. It does not include rounding errors; see
    `dperm.erm.moments.eigenvalue_error`.
    """
    return round_up(Fraction(spec.weight) * Fraction(spec.radius) ** 2)


def moments_sensitivity(spec: ProblemSpec, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of (M, R v) with M = sum_i w_i x_i x_i' and v = sum_i w_i y_i x_i, rounded up.

    Statement.
        Let record i have the row x_i (a column vector), the label y_i and the weight w_i, with ||x_i|| <= R,
        abs(y_i) <= 1 and w_i <= w (T44). The norm of M is the Frobenius norm. Then one record moves (M, R v) by at most
        sqrt(2) w R^2 if it is added or removed, and by at most 3/sqrt(2) w R^2 if it is replaced.
    Proof: let a record have row x, label y and weight at most w. For add/remove, ||w x x'||_F^2 + R^2 ||w y x||^2 <=
    2 w^2 R^4, since y^2 <= 1. For replace-one, the contribution of the record is part of z z' with the extended row
    z = sqrt(w) (x, R y / sqrt(2)). The products of x with the last entry occur twice in z z', which cancels the
    factor 1/2. The norm satisfies ||z||^2 <= w (R^2 + R^2/2). Let t be the extended row of the replacement. The squared
    distance between z z' and t t' is ||z||^4 + ||t||^4 - 2 (z't)^2 <= 2 (3/2)^2 w^2 R^4.

    Parameters
    ----------
    spec
        Public constants of the problem. Labels are scaled to [-1, 1].
    adjacency
        Neighbouring relation of the guarantee: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.

    Returns
    -------
    float
        The sensitivity, rounded up.

    Notes
    -----
    *Guarantees.* Both bounds are attained, the second by two rows of norm R at an angle of 60 degrees with labels 1 and
    -1. Under replace-one, separate releases of M and v would need more noise on one of the two. Under add/remove,
    separate releases would need as much noise as the joint release. The released vector is (M_ii, W M_ij for i < j,
    R v) with W = 181/128 < sqrt(2), so one record moves the released vector no further than it moves (M, R v).

    ====================  ======================================
    edge case             result
    ====================  ======================================
    empty data set        covered: the vector is 0
    label y = -1 or 1     covered; such labels attain the bounds
    rounding of the sums  not included; see `dperm.erm.moments`
    ====================  ======================================
    """
    square = Fraction(spec.weight) * Fraction(spec.radius) ** 2
    root = Fraction(root_up(2, Norm.L2))
    return round_up(square * root * (1 if adjacency is Adjacency.ADD_REMOVE else Fraction(3, 2)))
