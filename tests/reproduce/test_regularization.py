# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Over Lambda the excess risk, measured and proved, has its minimum inside (T56a, E23)."""

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.privacy.gaussian_profile import mu_for
from dperm.reproduce import Effort
from dperm.reproduce.lessons import regularization as lesson


@pytest.fixture(scope="module")
def outcome():
    return quick_run(lesson.LESSON.name).outcome


def columns(outcome):
    return dict(zip(outcome.table.columns, np.array(outcome.table.rows).T, strict=True))


@pytest.mark.parametrize("name", ["output", "output, bound", "objective", "objective, bound"])
def test_curves_fall_to_a_minimum_and_rise_from_it(outcome, name):
    values = columns(outcome)[name]
    place = values.argmin()
    assert 0 < place < len(values) - 1
    assert (np.diff(values[: place + 1]) < 0).all()
    assert (np.diff(values[place:]) > 0).all()


@pytest.mark.parametrize("method", ["output", "objective"])
def test_everything_is_below_its_bound(outcome, method):
    table = columns(outcome)
    assert (table[method] < table[f"{method}, bound"]).all()


def test_the_bound_of_output_perturbation_is_bias_plus_noise(outcome):
    """(Lambda/(4n)) R0^2 + (c/2) d (2/(Lambda mu))^2, the second what E23 is about."""
    table, n = columns(outcome), outcome.parameters["records"]
    strength, square = table["Lambda"], 20 * np.log(3) ** 2
    noise = 0.125 * 20 * (2 / (strength * mu_for(1.0, 1e-5))) ** 2
    assert table["output, bound"] == pytest.approx(strength / (4 * n) * square + noise, rel=1e-6)


def test_with_much_regularization_both_methods_are_held_back_alike(outcome):
    last = {name: values[-1] for name, values in columns(outcome).items()}
    assert last["output"] == pytest.approx(last["objective"], rel=0.01)
    assert last["output"] < outcome.parameters["excess of theta = 0"]


def test_every_check_holds(outcome):
    assert all(check.holds for check in outcome.checks)


@pytest.mark.slow
def test_with_all_effort():
    assert all(check.holds for check in lesson.LESSON.run(Effort()).checks)
