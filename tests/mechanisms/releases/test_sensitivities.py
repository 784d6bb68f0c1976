# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities from both sides: adversarial neighbours attain at least 3/4 of each bound, and never more than it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dperm.mechanisms.releases import sensitivities as s
from dperm.privacy import Adjacency

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
INTERVALS = [(0.0, 1.0), (-3.0, 7.0), (-7.0, 3.0), (2.0, 5.0), (-5.0, -2.0), (-1.0, 1.0), (0.1, 0.3)]


def attained(records, statistic, norm, adjacency):
    """The largest change of a sum of contributions when a record is added, or replaced, among ``records``."""
    parts = [np.atleast_1d(np.asarray(statistic(record), dtype=float)) for record in records]
    changes = parts if adjacency is ADD else [x - y for x, y in itertools.combinations(parts, 2)]
    return max(np.linalg.norm(change, norm) for change in changes)


def holds(bound, found):
    """Two-sided, up to the rounding of the search itself."""
    return 0.75 * bound <= found <= bound * (1 + 1e-12)


def unit_rows(dim):
    """Axes, equal entries with all (few) signs, the two halves, and equally spaced angles in pairs of directions."""
    angles = np.pi * np.arange(dim) / max(dim, 1)
    rows = [*np.eye(dim), *(-np.eye(dim))]
    rows += [np.array(signs) for signs in itertools.islice(itertools.product((1.0, -1.0), repeat=dim), 64)]
    rows += [np.cos(angles), np.sin(angles), np.arange(dim) < (dim + 1) // 2, np.arange(dim) >= (dim + 1) // 2]
    return [row / np.linalg.norm(row) for row in np.array(rows, dtype=float) if np.any(row)]


def moment(row):
    upper = np.triu_indices(len(row))
    weights = np.where(upper[0] == upper[1], 1.0, float(s.WEIGHT))
    return weights * np.outer(row, row)[upper]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_count_moves_by_one(adjacency):
    assert attained([0, 1], float, 1, adjacency) == s.count(adjacency) == 1


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_a_sum_of_bounded_numbers(low, high, adjacency):
    """T5: in one dimension, both relations; a replaced record goes from one end to the other."""
    assert holds(s.sum_in_bounds(low, high, adjacency), attained([low, high], float, 1, adjacency))
    assert Fraction(s.sum_in_bounds(low, high, REPLACE)) >= Fraction(high) - Fraction(low)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("dim", [1, 2, 3, 10, 57])
def test_a_sum_of_rows(dim, adjacency):
    """T6 and T7 in L2, T5 in L1."""
    rows = [2.5 * row for row in unit_rows(dim)]
    assert holds(s.sum_of_rows_l2(2.5, adjacency), attained(rows, np.asarray, 2, adjacency))
    assert holds(s.sum_of_rows_l1(2.5, dim, adjacency), attained(rows, np.asarray, 1, adjacency))


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_a_centred_sum_with_its_count(low, high):
    """T5, T6: the pair that a mean under add/remove is made of."""
    middle, half = (low + high) / 2, (high - low) / 2

    def pair(x):
        return (x - middle, half)

    assert holds(s.centred_sum_and_count_l1(high - low), attained([low, high], pair, 1, ADD))
    assert holds(s.centred_sum_and_count_l2(high - low), attained([low, high], pair, 2, ADD))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("bins", [1, 2, 5])
def test_counts_over_disjoint_bins(bins, adjacency):
    """T5, T6: a replaced record leaves a bin and enters another, or comes from nowhere."""
    places = [*np.eye(bins), np.zeros(bins)]
    assert holds(s.histogram_l1(bins, adjacency), attained(places, np.asarray, 1, adjacency))
    assert holds(s.histogram_l2(bins, adjacency), attained(places, np.asarray, 2, adjacency))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("dim", [1, 2, 3, 8, 40])
def test_second_moments(dim, adjacency):
    """T6: ||xx^T - yy^T||_F <= sqrt(2) R^2; T5: the L1 norm of the weighted upper triangle."""
    rows = [3.0 * row for row in [*unit_rows(dim), np.zeros(dim)]]
    assert holds(s.second_moment_l2(3.0, dim, adjacency), attained(rows, moment, 2, adjacency))
    assert holds(s.second_moment_l1(3.0, dim, adjacency), attained(rows, moment, 1, adjacency))


@pytest.mark.parametrize("dim", [1, 2, 3, 8, 40])
def test_second_moments_with_their_count(dim):
    """T5, T6: the vector that a covariance under add/remove is made of."""
    rows = [3.0 * row for row in unit_rows(dim)]

    def with_count(row):
        return [*moment(row), 9.0]

    assert holds(s.second_moment_and_count_l2(3.0), attained(rows, with_count, 2, ADD))
    assert holds(s.second_moment_and_count_l1(3.0, dim), attained(rows, with_count, 1, ADD))


def test_random_rows_do_not_exceed_the_second_moment_bounds():
    rng = np.random.default_rng(5)
    for dim in (2, 3, 6):
        rows = rng.normal(size=(60, dim))
        rows = list(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        for adjacency in Adjacency:
            assert attained(rows, moment, 1, adjacency) <= s.second_moment_l1(1.0, dim, adjacency)
            assert attained(rows, moment, 2, adjacency) <= s.second_moment_l2(1.0, dim, adjacency)


def test_the_weight_is_rational_and_at_most_the_root_of_two():
    assert Fraction(199, 100) < s.WEIGHT**2 <= 2


def quantile_change(q, adjacency, *, points=4, most=4):
    """The largest change of the cost over all small data sets on a few points, all neighbours and all candidates."""

    def cost(data, h):
        target = q * len(data)
        return max(Fraction(0), sum(x < h for x in data) - target, target - sum(x <= h for x in data))

    found = Fraction(0)
    for size in range(1, most + 1):
        for data in itertools.combinations_with_replacement(range(points), size):
            others = [(*data, new) for new in range(points)]
            if adjacency is REPLACE:
                others = [(*data[:i], new, *data[i + 1 :]) for i in range(size) for new in range(points)]
            found = max(found, *(abs(cost(data, h) - cost(other, h)) for other in others for h in range(points)))
    return found


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(7, 8)])
def test_the_cost_of_a_quantile_by_brute_force(q, adjacency):
    """T8: max(q, 1 - q) when a record comes or goes, 1 when one is replaced."""
    bound = s.quantile_cost(q, adjacency)
    assert Fraction(3, 4) * bound <= quantile_change(q, adjacency) <= bound


def test_roots_are_rounded_up():
    assert Fraction(s.histogram_l2(2, REPLACE)) ** 2 >= 2
    assert Fraction(s.second_moment_and_count_l2(1.0)) ** 2 >= 2
    assert s.histogram_l2(2, REPLACE) < math.sqrt(2) * (1 + 1e-9)


def covers_a_replaced_number(module):
    assert module.sum_in_bounds(-3.0, 7.0, REPLACE) >= attained([-3.0, 7.0], float, 1, REPLACE)
    assert module.sum_in_bounds(-7.0, 3.0, ADD) >= 7.0


def covers_opposite_rows(module):
    rows = unit_rows(4)
    assert module.sum_of_rows_l2(1.0, REPLACE) >= attained(rows, np.asarray, 2, REPLACE)
    assert module.sum_of_rows_l1(1.0, 4, REPLACE) >= attained(rows, np.asarray, 1, REPLACE)


def covers_a_record_that_changes_its_bin(module):
    assert module.histogram_l1(3, REPLACE) >= attained(list(np.eye(3)), np.asarray, 1, REPLACE)
    assert module.histogram_l2(3, REPLACE) >= attained(list(np.eye(3)), np.asarray, 2, REPLACE)


def covers_the_pair_of_a_mean(module):
    assert module.centred_sum_and_count_l1(2.0) >= 2.0
    assert module.centred_sum_and_count_l2(2.0) >= math.sqrt(2)


def covers_orthogonal_rows(module):
    assert module.second_moment_l2(1.0, 3, REPLACE) >= attained(unit_rows(3), moment, 2, REPLACE)
    assert module.second_moment_and_count_l2(1.0) >= math.sqrt(2)


def covers_every_entry_of_a_moment(module):
    """With equal entries R/sqrt(d), the weighted triangle must not be longer than the Frobenius norm."""
    dim = 100
    assert Fraction(1, dim) + module.WEIGHT**2 * Fraction(dim - 1, 2 * dim) <= 1
    assert module.second_moment_l1(1.0, 5, ADD) >= attained(unit_rows(5), moment, 1, ADD) - 1e-12


def covers_every_candidate(module):
    for q in (Fraction(1, 4), Fraction(7, 8)):
        for adjacency in Adjacency:
            assert module.quantile_cost(q, adjacency) >= quantile_change(q, adjacency, most=3)


MUTANTS = {
    "a replaced number counts once": (
        covers_a_replaced_number,
        "return round_up(Fraction(high) - Fraction(low))",
        "return max(abs(low), abs(high))",
    ),
    "only the upper bound counts": (covers_a_replaced_number, "return max(abs(low), abs(high))", "return abs(high)"),
    "a replaced row counts once": (
        covers_opposite_rows,
        "return norm if adjacency is Adjacency.ADD_REMOVE else 2 * norm",
        "return norm",
    ),
    "L2 for L1": (covers_opposite_rows, "round_up(_root(dim) * Fraction(sum", "round_up(Fraction(sum"),
    "a replaced record changes one count": (covers_a_record_that_changes_its_bin, "float(min(bins, 2))", "1.0"),
    "a replaced record changes one count, in L2": (
        covers_a_record_that_changes_its_bin,
        "round_up(_root(min(bins, 2)))",
        "1.0",
    ),
    "the count is free": (covers_the_pair_of_a_mean, "    return width", "    return width / 2"),
    "the count is free, in L2": (
        covers_the_pair_of_a_mean,
        "round_up(_root(2) * Fraction(width) / 2)",
        "width / 2",
    ),
    "a replaced row moves one entry": (covers_orthogonal_rows, "_root(min(dim, 2)) * square", "square"),
    "the count of rows is free": (covers_orthogonal_rows, "_root(2) * Fraction(norm) ** 2", "Fraction(norm) ** 2"),
    "a weight above the root of two": (covers_every_entry_of_a_moment, "Fraction(181, 128)", "Fraction(182, 128)"),
    "only the diagonal counts": (covers_every_entry_of_a_moment, "(1 + WEIGHT * (dim - 1) / 2)", "1"),
    "q for max(q, 1 - q)": (covers_every_candidate, "max(q, 1 - q)", "q"),
    "a replaced record costs as an added one": (covers_every_candidate, "else Fraction(1)", "else max(q, 1 - q)"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_unsafe_mutants_die(name, assert_killed):
    check, old, new = MUTANTS[name]
    assert_killed(check, "dperm.mechanisms.releases.sensitivities", old, new)
