# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The rates of T48 in d are measured, below the bounds of T56a and T48."""

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.reproduce import Effort
from dperm.reproduce.lessons import excess_risk_over_dimension as lesson

RATES = {"gradient, steps of 1/c": 1 / 2, "objective": 1 / 2, "output": 1 / 3, "output, with a kink": 1 / 4}
BOUNDED = ("objective", "output", "output, with a kink")


@pytest.fixture(scope="module")
def outcome():
    return quick_run(lesson.LESSON.name).outcome


def columns(outcome):
    return dict(zip(outcome.table.columns, np.array(outcome.table.rows).T, strict=True))


def power(table, name):
    return np.polyfit(np.log(table["d"]), np.log(table[name]), 1)[0]


@pytest.mark.parametrize(("name", "rate"), RATES.items())
def test_the_measured_powers_of_d_are_those_of_theory(outcome, name, rate):
    table = columns(outcome)
    assert power(table, name) == pytest.approx(rate, abs=0.04)
    assert power(table, f"{name}, bound" if name in BOUNDED else lesson.OTHER_STEPS) == pytest.approx(rate, abs=0.08)


def test_a_kink_has_another_power(outcome):
    """Narrower than 1/3 - 1/4 on either side, so that one cannot stand for the other."""
    smooth, kinked = (power(columns(outcome), name) for name in ("output", "output, with a kink"))
    assert smooth - kinked == pytest.approx(1 / 12, abs=0.04)


@pytest.mark.parametrize("swapped", [{"output": 1 / 4}, {"kink": 1 / 3}])
def test_checks_fail_where_a_power_is_that_of_the_other_loss(swapped):
    found = [lesson.ExcessOverDimension(dim, dict.fromkeys(lesson.RATES, (0.1, 1.0)), 0.5) for dim in (16, 64)]
    holds = [check.holds for check in lesson._checks(found, {**lesson.RATES, **swapped})]
    assert holds == [True, True, True, True, False, False, True, True]


def test_the_bound_of_t48_is_said_to_be_of_other_steps_and_has_a_colour_of_its_own(outcome):
    assert "gradient, bound" not in outcome.table.columns
    beside = {curve.name: curve.beside for curve in outcome.picture.curves if curve.kind == "proved"}
    assert beside.pop(lesson.OTHER_STEPS) == ""
    assert set(beside.values()) == set(BOUNDED)


@pytest.mark.parametrize("name", BOUNDED)
def test_everything_is_below_its_bound_and_not_far_below(outcome, name):
    table = columns(outcome)
    share = table[name] / table[f"{name}, bound"]
    assert (share < 1).all()
    assert (share > 0.2).all()


def test_on_the_linear_model_noise_costs_the_trace_of_the_hessian(outcome):
    """(tr H/2) sigma^2, in units of (c/2) sigma^2: a record in a category bends by 3/16 at the optimum, 1/4 at most."""
    for dim, cost in zip(lesson.QUICK_DIMS, columns(outcome)["linear noise cost"], strict=True):
        data = lesson._categories(dim, lesson.QUICK_RECORDS)
        share = (data.ones + data.zeros).sum() / lesson.QUICK_RECORDS
        assert data.n == lesson.QUICK_RECORDS
        assert 0.7 * share < cost < 1.02 * share < 1


def test_every_check_holds(outcome):
    assert all(check.holds for check in outcome.checks)


@pytest.mark.slow
def test_with_all_effort():
    outcome = lesson.LESSON.run(Effort())
    assert all(check.holds for check in outcome.checks)
    for name, rate in RATES.items():
        assert power(columns(outcome), name) == pytest.approx(rate, abs=0.05)
