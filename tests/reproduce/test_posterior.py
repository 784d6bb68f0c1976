# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Temperatures of posterior sampling, and the variance they cost (T49-T51)."""

import math

import pytest

from dperm.reproduce import Effort
from dperm.reproduce.lessons import posterior as lesson


@pytest.fixture(scope="module")
def rows():
    return {row[0]: row[1:] for row in lesson.LESSON.run(Effort(quick=True)).table.rows}


def test_the_golden_numbers(rows):  # posterior_gll, pure_posterior: epsilon 1, delta 1e-5, m = L = 1, B = 2
    bounded, minami, minami_epsilon, replaced, added, inflation, simulated = rows[1.0]
    assert bounded == 0.125
    assert inflation == 9.0
    assert minami == pytest.approx(0.10200715032447893, rel=1e-9)
    assert minami_epsilon == pytest.approx(0.741461679860415, rel=1e-6)
    assert replaced == pytest.approx(0.13402556160564777, rel=1e-9)
    assert added == pytest.approx(0.26805112321129554, rel=1e-9)
    assert simulated == pytest.approx(9.0, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_sample_varies_1_plus_4_b_over_epsilon_times_as_much(rows, epsilon):
    assert rows[epsilon][5] == pytest.approx(1 + 8 / epsilon)
    assert rows[epsilon][6] == pytest.approx(1 + 8 / epsilon, rel=0.05)


def test_minamis_temperature_is_smaller_and_stops_at_epsilon_1(rows):
    assert rows[0.5][1] < rows[0.5][3]
    assert rows[2.0][1:3] == ("none", "none")
    assert math.isnan(lesson.minami(1.5)[0])


@pytest.mark.parametrize("temperature", [0.02, 0.3, 1.0])
def test_the_inflation_at_any_temperature_is_1_plus_its_inverse(temperature):
    assert lesson.simulated_inflation(temperature, 40_000, 5) == pytest.approx(1 + 1 / temperature, rel=0.04)


def test_the_picture_has_temperatures_of_theorems_and_nothing_measured():
    curves = lesson.LESSON.run(Effort(quick=True)).picture.curves
    assert {curve.name: curve.kind for curve in curves} == {
        "T50, add/remove": "proved",
        "T49, |log p| <= 2, pure": "proved",
        "T50, replace-one": "proved",
        "T51 (Minami), replace-one": "published",
    }


def test_the_last_check_fails_where_a_sample_varies_more(monkeypatch):
    monkeypatch.setattr(lesson, "simulated_inflation", lambda temperature, *_: 1.2 / temperature)
    assert [check.holds for check in lesson.LESSON.run(Effort(quick=True)).checks] == [True, True, False]


def test_every_check_holds():
    for seed in (0, 1):
        assert all(check.holds for check in lesson.LESSON.run(Effort(quick=True, seed=seed)).checks)


@pytest.mark.slow
def test_with_all_effort():
    assert all(check.holds for check in lesson.LESSON.run(Effort()).checks)
