# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""ERM and the exponential mechanism on finitely many hypotheses: rates, factors, bounds (T59, E25)."""

import math

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.reproduce import Effort
from dperm.reproduce.lessons import finite_class as lesson
from dperm.theory import finite_class_empirical_gap, finite_class_excess_risk


@pytest.fixture(scope="module")
def outcome():
    return quick_run(lesson.LESSON.name).outcome


def columns(outcome, case):
    rows = [row[1:] for row in outcome.table.rows if row[0] == case]
    return dict(zip(outcome.table.columns[1:], np.array(rows).T, strict=True))


def power(table, name):
    return np.polyfit(np.log(table["n"]), np.log(table[name]), 1)[0]


def test_the_golden_numbers():  # expmech_finite
    goal = {"epsilon": 0.5, "adjacency": "replace_one"}
    risk = finite_class_excess_risk(1000, 5000, beta=0.05, **goal)
    assert risk.bound == pytest.approx(0.07567784919398642, rel=1e-9)
    assert risk.deviation == pytest.approx(0.03360027070375478, rel=1e-9)
    assert finite_class_empirical_gap(1000, 5000, beta=0.05, **goal) == pytest.approx(0.007922790042028902, rel=1e-9)


@pytest.mark.parametrize(
    ("case", "name", "rate"),
    [("agnostic", "ERM", -0.5), ("realizable", "ERM", -1.0), ("realizable", "exponential mechanism", -1.0)],
)
def test_the_measured_powers_of_n_are_those_of_theory(outcome, case, name, rate):
    assert power(columns(outcome, case), name) == pytest.approx(rate, abs=0.05)


def test_what_the_mechanism_adds_agnostically_vanishes_faster_than_the_rest(outcome):
    table = columns(outcome, "agnostic")
    factors = table["exponential mechanism"] / table["ERM"]
    assert factors[0] > 1.8
    assert factors[0] > factors[1] > factors[2]
    assert factors[2] == pytest.approx(1, abs=0.06)


def test_realizably_the_factor_stays_near_1_over_1_minus_e_to_minus_half_epsilon(outcome):
    table = columns(outcome, "realizable")
    factors = table["exponential mechanism"] / table["ERM"]
    assert factors == pytest.approx(np.full(3, 1 / -math.expm1(-0.1)), rel=0.2)


@pytest.mark.parametrize("case", lesson.RISKS)
def test_bounds_are_above_and_within_a_factor_of_three(outcome, case):
    table = columns(outcome, case)
    for measured, bound in [("ERM", "bound, ERM"), ("exponential mechanism", "bound, mechanism (T59)")]:
        share = table[measured] / table[bound]
        assert (share < 1).all()
        assert (share > 1 / 3).all()


def test_the_printed_table_is_exceeded_where_some_hypothesis_is_perfect(outcome):
    table = columns(outcome, "realizable")
    assert (table["exponential mechanism"] > 1.5 * table["as printed (E25)"]).all()


def test_every_check_holds(outcome):
    assert all(check.holds for check in outcome.checks)


@pytest.mark.slow
def test_with_all_effort():
    assert all(check.holds for check in lesson.LESSON.run(Effort()).checks)
