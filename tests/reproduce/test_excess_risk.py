# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The rates of T48 in n are measured, below the bounds of T56a and T48 (E30)."""

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.reproduce import Effort
from dperm.reproduce.categories import ladder
from dperm.reproduce.lessons import excess_risk as lesson
from dperm.theory import gradient_empirical_risk, objective_empirical_risk, output_empirical_risk

RATES = {"gradient, steps of 1/c": -1.0, "objective": -1.0, "output": -2 / 3, "output, with a kink": -0.5}
BOUNDED = ("objective", "output", "output, with a kink")


@pytest.fixture(scope="module")
def outcome():
    return quick_run(lesson.LESSON.name).outcome


def columns(outcome):
    return dict(zip(outcome.table.columns, np.array(outcome.table.rows).T, strict=True))


def power(table, name):
    return np.polyfit(np.log(table["n"]), np.log(table[name]), 1)[0]


@pytest.mark.parametrize(("name", "rate"), RATES.items())
def test_the_measured_powers_of_n_are_those_of_theory(outcome, name, rate):
    assert power(columns(outcome), name) == pytest.approx(rate, abs=0.15)


def test_output_perturbation_is_slower_than_the_others_and_slower_still_with_a_kink(outcome):
    powers = {name: power(columns(outcome), name) for name in RATES}
    assert max(powers["gradient, steps of 1/c"], powers["objective"]) < powers["output"] - 0.15
    assert powers["output"] == pytest.approx(-2 / 3, abs=0.04)
    assert powers["output, with a kink"] == pytest.approx(-0.5, abs=0.04)
    assert powers["output, with a kink"] - powers["output"] == pytest.approx(1 / 6, abs=0.04)


@pytest.mark.parametrize("name", BOUNDED)
def test_everything_is_below_its_bound_and_not_far_below(outcome, name):
    table = columns(outcome)
    share = table[name] / table[f"{name}, bound"]
    assert (share < 1).all()
    assert (share > 0.05).all()


def test_the_bound_of_t48_is_said_to_be_of_other_steps_and_has_a_colour_of_its_own(outcome):
    """T48 takes steps of c/sqrt(t), 82,661 of them at the least n; the descent that is run takes some 150 of 1/c."""
    data = ladder(lesson.SHARES * 4000)
    own = gradient_empirical_risk(data.problem, 4032, epsilon=1.0, delta=1e-5, adjacency="replace_one")
    assert own.steps == 82_661
    assert lesson.descent_steps(data, lesson.GOAL) < own.steps / 400
    assert "gradient, bound" not in outcome.table.columns
    beside = {curve.name: curve.beside for curve in outcome.picture.curves if curve.kind == "proved"}
    assert beside.pop(lesson.OTHER_STEPS) == ""
    assert set(beside.values()) == set(BOUNDED)


def test_where_t48s_algorithm_could_be_run_its_bound_says_nothing(outcome):
    """At the least n the bound is above the excess of every point of the ball: slopes are 3/4 of the shares at most."""
    data = ladder(lesson.SHARES * 4000)
    steepest = 0.75 * float(np.linalg.norm((data.ones + data.zeros) / data.n))
    most = float(data.excess(np.zeros(lesson.DIM))) + steepest * data.problem.reference_norm
    assert 2 < most < columns(outcome)[lesson.OTHER_STEPS][0]


def test_checks_fail_where_both_powers_of_output_perturbation_are_alike(outcome):
    """A loss with a kink that falls as one without it would be within 0.15 of neither's rate, or of both."""
    found = [
        lesson.ExcessOverRecords(n, dict.fromkeys(lesson.RATES, n**-0.58), dict.fromkeys(lesson.RATES, 1.0))
        for n in (10, 100)
    ]
    slopes = {"gradient": -0.9, "objective": -1.0, "output": -0.58, "kink": -0.58}
    holds = [check.holds for check in lesson._checks(found, slopes)]
    assert holds[:7] == [True, True, True, True, False, False, True]


def test_the_bounds_are_those_of_theory_at_their_best(outcome):
    data = ladder(lesson.SHARES * 4000)
    goal = {"epsilon": 1.0, "delta": 1e-5, "adjacency": "replace_one"}
    table = columns(outcome)
    assert table["n"][0] == data.n == 4032
    for name, bound in [
        ("output, bound", output_empirical_risk),
        ("objective, bound", objective_empirical_risk),
        (lesson.OTHER_STEPS, gradient_empirical_risk),
    ]:
        assert table[name][0] == pytest.approx(bound(data.problem, data.n, **goal).bound, rel=1e-9)


def test_logarithms_bend_the_bound_of_descent_only(outcome):
    table = columns(outcome)
    assert power(table, "objective, bound") == pytest.approx(-1, abs=0.02)
    assert power(table, "output, bound") == pytest.approx(-2 / 3, abs=0.02)
    assert -0.95 < power(table, lesson.OTHER_STEPS) < -0.8


def test_every_check_holds_and_the_seed_matters_little(outcome):
    assert all(check.holds for check in outcome.checks)
    other = lesson.LESSON.run(Effort(quick=True, seed=1))
    assert other.table != outcome.table
    assert all(check.holds for check in other.checks)


def test_on_data_of_one_curvature_the_slow_rate_is_not_seen():
    """Twenty categories of one size: output perturbation falls much faster than n^(-2/3) once they are frequent."""
    few, many = output_excesses((10**6, 10**7))
    assert np.log10(many / few) < -1


def output_excesses(sizes):
    excesses = []
    for n in sizes:
        data = ladder(np.full(20, n / 20))
        bound = output_empirical_risk(data.problem, int(data.n), epsilon=1.0, delta=1e-5, adjacency="replace_one")
        runs = lesson.RepeatedRuns(data, lesson.GOAL, 200, 0)
        excesses.append(float(data.excess(runs.output(bound.regularization)).mean()))
    return excesses


@pytest.mark.slow
def test_with_all_effort():
    outcome = lesson.LESSON.run(Effort())
    assert all(check.holds for check in outcome.checks)
    for name, rate in RATES.items():
        assert power(columns(outcome), name) == pytest.approx(rate, abs=0.1)
