# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities: one function per statement, each rounded up (Fractions), under both adjacencies where both are proved.

A neighbour under add/remove has one record more or less; under replace-one one record is another (C0.1). The norm is in
the name where it matters: L1 for Laplace noise (T5), L2 for Gaussian (T6) and gamma-norm noise (T7). Every statement is
about contributions in exact arithmetic, which is how `bounded`, `rows` and `fixed_point` compute them.
"""

from fractions import Fraction

from dperm.noise.grid import Norm, root_up
from dperm.privacy import Adjacency
from dperm.privacy.rounding import round_up

WEIGHT = Fraction(181, 128)
"""Weight of the entries above the diagonal of a second moment: rational, and just below sqrt 2 (181^2 < 2 128^2)."""


def count(adjacency: Adjacency) -> float:
    """Number of records with a property: 1 under both relations.

    A record added or removed changes it by at most 1, and so does a replaced one: from counted to not counted.
    """
    return {Adjacency.ADD_REMOVE: 1.0, Adjacency.REPLACE_ONE: 1.0}[adjacency]


def sum_in_bounds(low: float, high: float, adjacency: Adjacency) -> float:
    """Sum of numbers in [low, high].

    Add/remove: one term comes or goes, at most max(|low|, |high|). Replace-one: y instead of x, |y - x| <= high - low,
    which is up to twice as much when the interval has both signs.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return max(abs(low), abs(high))
    return round_up(Fraction(high) - Fraction(low))


def sum_of_rows_l2(norm: float, adjacency: Adjacency) -> float:
    """Sum of rows of L2 norm at most C, in L2.

    Add/remove: one row, at most C. Replace-one: ||y - x|| <= 2C, attained by opposite rows.
    """
    return norm if adjacency is Adjacency.ADD_REMOVE else 2 * norm


def sum_of_rows_l1(norm: float, dim: int, adjacency: Adjacency) -> float:
    """Sum of rows of L2 norm at most C in R^d, in L1: sqrt(d) times the L2 sensitivity (Cauchy-Schwarz).

    Attained by rows whose entries have equal magnitude.
    """
    return round_up(_root(dim) * Fraction(sum_of_rows_l2(norm, adjacency)))


def centred_sum_and_count_l1(width: float) -> float:
    """Pair (sum of x - m, h count), m the middle and h the half width of [low, high], in L1, under add/remove.

    A record brings (x - m, h): |x - m| + h <= 2h, the width.
    """
    return width


def centred_sum_and_count_l2(width: float) -> float:
    """The same pair in L2, under add/remove: sqrt((x - m)^2 + h^2) <= sqrt(2) h, the width over sqrt 2."""
    return round_up(_root(2) * Fraction(width) / 2)


def histogram_l1(bins: int, adjacency: Adjacency) -> float:
    """Counts over disjoint bins, in L1.

    Add/remove: one count changes by 1. Replace-one: a record leaves one bin and enters another: two counts change by 1
    (one, if there is only one bin).
    """
    return 1.0 if adjacency is Adjacency.ADD_REMOVE else float(min(bins, 2))


def histogram_l2(bins: int, adjacency: Adjacency) -> float:
    """Counts over disjoint bins, in L2: 1 under add/remove; (-1, +1) has norm sqrt 2 under replace-one."""
    return 1.0 if adjacency is Adjacency.ADD_REMOVE else round_up(_root(min(bins, 2)))


def second_moment_l2(norm: float, dim: int, adjacency: Adjacency) -> float:
    """Sum of x x^T over rows with ||x|| <= R, in Frobenius norm.

    Add/remove: ||x x^T||_F = ||x||^2 <= R^2. Replace-one:

        ||x x^T - y y^T||_F^2 = |x|^4 + |y|^4 - 2 <x, y>^2 <= 2 R^4,

    attained by orthogonal rows; in one dimension |x^2 - y^2| <= R^2. What is released is (M_ii, w M_ij for i < j) with
    w = `WEIGHT`: its squared L2 norm is sum M_ii^2 + w^2 sum_{i<j} M_ij^2 <= ||M||_F^2, since w^2 <= 2.
    """
    square = Fraction(norm) ** 2
    return round_up(square if adjacency is Adjacency.ADD_REMOVE else _root(min(dim, 2)) * square)


def second_moment_l1(norm: float, dim: int, adjacency: Adjacency) -> float:
    """The same vector (M_ii, w M_ij for i < j), in L1.

    Add/remove: sum x_i^2 + w sum_{i<j} |x_i x_j| <= R^2 (1 + w (d - 1)/2), since the second sum is
    ((sum |x_i|)^2 - sum x_i^2)/2 and (sum |x_i|)^2 <= d R^2. Replace-one: the vector has d (d + 1)/2 entries, so its L1
    norm is at most sqrt(d (d + 1)/2) times the L2 norm, sqrt(d (d + 1)) R^2; in one dimension R^2.
    """
    square = Fraction(norm) ** 2
    if adjacency is Adjacency.ADD_REMOVE:
        return round_up(square * (1 + WEIGHT * (dim - 1) / 2))
    return round_up(square * (_root(dim * (dim + 1)) if dim > 1 else 1))


def second_moment_and_count_l2(norm: float) -> float:
    """The pair (second moment, R^2 count), in L2, under add/remove: a record brings two parts of norm at most R^2."""
    return round_up(_root(2) * Fraction(norm) ** 2)


def second_moment_and_count_l1(norm: float, dim: int) -> float:
    """The pair (second moment, R^2 count), in L1, under add/remove: the two parts add."""
    moment = second_moment_l1(norm, dim, Adjacency.ADD_REMOVE)
    return round_up(Fraction(moment) + Fraction(norm) ** 2)


def quantile_cost(q: Fraction, adjacency: Adjacency) -> Fraction:
    """Cost max(0, #{x < h} - q n, q n - #{x <= h}) of a candidate h for the q-quantile, for every h (T8).

    Add/remove: n and possibly a count grow by 1, so each of the two expressions moves by q or by 1 - q. Replace-one: n
    stays, and each count moves by at most 1. A maximum moves by no more than its members do. Exact.
    """
    return max(q, 1 - q) if adjacency is Adjacency.ADD_REMOVE else Fraction(1)


def errors_span(adjacency: Adjacency) -> int:
    """Width b - a of the interval in which the number of errors of every rule moves between neighbours (T8, T61).

    A record is an error of a rule or is none. Add/remove: it comes, and every rule has 0 or 1 errors more, [0, 1] (it
    goes: [-1, 0]). Replace-one: one goes and another comes, [-1, 1].
    """
    return 1 if adjacency is Adjacency.ADD_REMOVE else 2


def _root(number: int) -> Fraction:
    """The square root, rounded up."""
    return Fraction(root_up(number, Norm.L2))
