# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The rates of T48 in d are measured, below the bounds of T56a and T48."""

import numpy as np
import pytest

from dperm.reproduce import Effort
from dperm.reproduce.lessons import excess_risk_over_dimension as lesson

RATES = {"gradient": 1 / 2, "objective": 1 / 2, "output": 1 / 3, "output, with a kink": 1 / 4}


@pytest.fixture(scope="module")
def outcome():
    return lesson.LESSON.run(Effort(quick=True))


def columns(outcome):
    return dict(zip(outcome.table.columns, np.array(outcome.table.rows).T, strict=True))


def power(table, name):
    return np.polyfit(np.log(table["d"]), np.log(table[name]), 1)[0]


@pytest.mark.parametrize(("name", "rate"), RATES.items())
def test_the_measured_powers_of_d_are_those_of_theory(outcome, name, rate):
    table = columns(outcome)
    assert power(table, name) == pytest.approx(rate, abs=0.08)
    assert power(table, f"{name}, bound") == pytest.approx(rate, abs=0.08)


@pytest.mark.parametrize("name", RATES)
def test_everything_is_below_its_bound_and_not_far_below_those_of_t56a(outcome, name):
    table = columns(outcome)
    share = table[name] / table[f"{name}, bound"]
    assert (share < 1).all()
    assert (share > (0.001 if name == "gradient" else 0.2)).all()


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
