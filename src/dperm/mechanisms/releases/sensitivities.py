# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of statistics: one function per statement, each rounded up in exact arithmetic.

Under add/remove, a neighbour has one record more or one record fewer; under replace-one, one record differs (C0.1). The
norm is part of the name where it matters: L1 for Laplace noise (T5), L2 for Gaussian (T6) and gamma-norm noise (T7).
Every statement refers to contributions in exact arithmetic, as computed by `clipping` and `fixed_point`.
"""

from fractions import Fraction

from dperm.noise.grid import Norm, root_up
from dperm.privacy import Adjacency
from dperm.privacy.rounding import round_up

WEIGHT = Fraction(181, 128)
"""Weight of the entries above the diagonal of a second moment: rational, and just below sqrt 2 (181^2 < 2 128^2)."""


def count(adjacency: Adjacency) -> float:
    """Return the sensitivity of a count of records with a property: 1 under both relations.

    Adding, removing or replacing a record changes the count by at most 1.
    """
    return {Adjacency.ADD_REMOVE: 1.0, Adjacency.REPLACE_ONE: 1.0}[adjacency]


def sum_in_bounds(low: float, high: float, adjacency: Adjacency) -> float:
    """Return the sensitivity of a sum of numbers in [low, high].

    Add/remove: one term of at most max(|low|, |high|). Replace-one: |y - x| <= high - low, up to twice as much for an
    interval with both signs.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return max(abs(low), abs(high))
    return round_up(Fraction(high) - Fraction(low))


def sum_of_rows_l2(norm: float, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of a sum of rows of L2 norm at most C.

    Add/remove: one row, at most C. Replace-one: ||y - x|| <= 2C, attained by opposite rows.
    """
    return norm if adjacency is Adjacency.ADD_REMOVE else 2 * norm


def sum_of_rows_l1(norm: float, dim: int, adjacency: Adjacency) -> float:
    """Return the L1 sensitivity of a sum of rows of L2 norm at most C in R^d.

    It is sqrt(d) times the L2 sensitivity (Cauchy-Schwarz). Rows with entries of equal magnitude attain it.
    """
    return round_up(_root(dim) * Fraction(sum_of_rows_l2(norm, adjacency)))


def centred_sum_and_count_l1(width: float) -> float:
    """Return the L1 sensitivity of the pair (sum of x - m, h count) under add/remove, m the middle, h the half width.

    A record contributes (x - m, h): |x - m| + h <= 2h, the width.
    """
    return width


def centred_sum_and_count_l2(width: float) -> float:
    """Return the L2 sensitivity of the same pair under add/remove.

    sqrt((x - m)^2 + h^2) <= sqrt(2) h, the width over sqrt 2.
    """
    return round_up(_root(2) * Fraction(width) / 2)


def histogram_l1(bins: int, adjacency: Adjacency) -> float:
    """Return the L1 sensitivity of counts over disjoint bins.

    Add/remove: one count changes by 1. Replace-one: a record leaves one bin and enters another, so two counts change by
    1 (one, if there is only one bin).
    """
    return 1.0 if adjacency is Adjacency.ADD_REMOVE else float(min(bins, 2))


def histogram_l2(bins: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of counts over disjoint bins: 1, or ||(-1, +1)|| = sqrt 2 under replace-one."""
    return 1.0 if adjacency is Adjacency.ADD_REMOVE else round_up(_root(min(bins, 2)))


def second_moment_l2(norm: float, dim: int, adjacency: Adjacency) -> float:
    """Return the sensitivity in Frobenius norm of the sum of x x^T over rows with ||x|| <= R.

    Add/remove: ||x x^T||_F = ||x||^2 <= R^2. Replace-one:

        ||x x^T - y y^T||_F^2 = |x|^4 + |y|^4 - 2 <x, y>^2 <= 2 R^4,

    attained by orthogonal rows; in one dimension |x^2 - y^2| <= R^2. The released vector is (M_ii, w M_ij for i < j)
    with w = `WEIGHT`. Its squared L2 norm is sum M_ii^2 + w^2 sum_{i<j} M_ij^2 <= ||M||_F^2, since w^2 <= 2.
    """
    square = Fraction(norm) ** 2
    return round_up(square if adjacency is Adjacency.ADD_REMOVE else _root(min(dim, 2)) * square)


def second_moment_l1(norm: float, dim: int, adjacency: Adjacency) -> float:
    """Return the L1 sensitivity of the same vector (M_ii, w M_ij for i < j).

    Add/remove: sum x_i^2 + w sum_{i<j} |x_i x_j| <= R^2 (1 + w (d - 1)/2), since the second sum is
    ((sum |x_i|)^2 - sum x_i^2)/2 and (sum |x_i|)^2 <= d R^2. Replace-one: the vector has d (d + 1)/2 entries, so its L1
    norm is at most sqrt(d (d + 1)/2) times the L2 norm, sqrt(d (d + 1)) R^2; in one dimension R^2.
    """
    square = Fraction(norm) ** 2
    if adjacency is Adjacency.ADD_REMOVE:
        return round_up(square * (1 + WEIGHT * (dim - 1) / 2))
    return round_up(square * (_root(dim * (dim + 1)) if dim > 1 else 1))


def second_moment_and_count_l2(norm: float) -> float:
    """Return the L2 sensitivity of (second moment, R^2 count) under add/remove: two parts of norm at most R^2 each."""
    return round_up(_root(2) * Fraction(norm) ** 2)


def second_moment_and_count_l1(norm: float, dim: int) -> float:
    """Return the L1 sensitivity of (second moment, R^2 count) under add/remove: the sum of both parts."""
    moment = second_moment_l1(norm, dim, Adjacency.ADD_REMOVE)
    return round_up(Fraction(moment) + Fraction(norm) ** 2)


def quantile_cost(q: Fraction, adjacency: Adjacency) -> Fraction:
    """Return the sensitivity of the cost max(0, #{x < h} - q n, q n - #{x <= h}) of a candidate h, for every h (T8).

    Add/remove: n and possibly a count grow by 1, so each of the two expressions changes by q or by 1 - q. Replace-one:
    n is constant, and each count changes by at most 1. A maximum changes by no more than its arguments do. The result
    is exact.
    """
    return max(q, 1 - q) if adjacency is Adjacency.ADD_REMOVE else Fraction(1)


def errors_span(adjacency: Adjacency) -> int:
    """Return the width b - a of the interval of changes in the number of errors, over all rules (T8, T61).

    A rule either misclassifies a record or does not. Adding a record changes the number of errors of every rule by 0 or
    1, [0, 1]; removing a record gives [-1, 0], and replacing a record gives [-1, 1].
    """
    return 1 if adjacency is Adjacency.ADD_REMOVE else 2


def _root(number: int) -> Fraction:
    """Return the square root, rounded up."""
    return Fraction(root_up(number, Norm.L2))
