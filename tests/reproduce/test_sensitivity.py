# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Neighbours come near 2L/(n lambda) and never above; a free intercept does (T30, E17)."""

import math

import numpy as np
import pytest
from quick_lessons import quick_run
from scipy.optimize import brentq

from dperm.reproduce import Effort
from dperm.reproduce.lessons import sensitivity as lesson


@pytest.fixture(scope="module")
def outcome():
    return quick_run(lesson.LESSON.name).outcome


def columns(outcome):
    return dict(zip(outcome.table.columns, np.array(outcome.table.rows).T, strict=True))


def test_the_bound_is_2_over_n_lambda_and_nothing_exceeds_it(outcome):
    table = columns(outcome)
    assert table["bound 2L/(n lambda)"] == pytest.approx(2 / table["n lambda"], rel=1e-9)
    assert (table["adversarial neighbours"] < table["bound 2L/(n lambda)"]).all()
    assert (table["random neighbours"] < table["adversarial neighbours"]).all()


def test_at_a_thousand_records_the_share_is_that_of_t30(outcome):
    rows = {row[0]: row for row in outcome.table.rows}
    assert rows[1.0][3] == pytest.approx(0.757, abs=0.002)


def test_a_factor_of_2_less_would_be_exceeded_at_every_lambda(outcome):
    """Nobody may halve the constant for logistic loss, although its slopes at 0 are 1/2."""
    table = columns(outcome)
    assert (table["adversarial neighbours"] > table["bound 2L/(n lambda)"] / 2).all()


def test_random_records_say_nothing_about_the_sensitivity(outcome):
    table = columns(outcome)
    assert (table["random neighbours"] < table["adversarial neighbours"] / 5).all()


def test_a_free_intercept_moves_alike_at_every_lambda_and_without_end_at_last(outcome):
    """log(999/1) - log(998/2): more than sqrt(2) times the bound from n lambda = 4.1 on."""
    free = columns(outcome)["free intercept"]
    assert free == pytest.approx(np.full(len(free), math.log(999 * 2 / 998)), rel=1e-12)
    assert lesson.free_intercept_moves(1000, 1) == math.inf
    last = outcome.table.rows[-1]
    assert last[-1] > math.sqrt(2) * last[1]
    assert columns(outcome)["free intercept"][0] < columns(outcome)["bound 2L/(n lambda)"][0]


def test_the_free_intercept_is_the_minimiser_of_the_loss_without_a_penalty():
    n, b = 1000, np.linspace(0, 12, 1_200_001)
    places = [b[(k * np.logaddexp(0, b) + (n - k) * np.logaddexp(0, -b)).argmin()] for k in (2, 1)]
    assert places[1] - places[0] == pytest.approx(lesson.free_intercept_moves(n, 2), abs=1e-4)


def test_a_fainter_penalty_lets_the_last_record_move_the_intercept_farther():
    """Where the positive ones are alone, n/(1 + e^b) = Lambda b; with one negative, b is near log(999)."""
    for strength in lesson.FAINT:
        alone = brentq(lambda b, s=strength: 1000 / (1 + np.exp(b)) - s * b, 0, 50)
        other = brentq(lambda b, s=strength: 999 / (1 + np.exp(b)) - 1 / (1 + np.exp(-b)) - s * b, 0, 50)
        assert lesson.last_record_moves(strength) == pytest.approx(alone - other, abs=2e-3)


def test_the_last_check_fails_where_the_intercept_is_held(monkeypatch, outcome):
    assert outcome.checks[-1].holds
    monkeypatch.setattr(lesson, "FAINT", (300.0, 100.0, 30.0))
    assert not lesson.LESSON.run(Effort(quick=True)).checks[-1].holds


def test_every_check_holds(outcome):
    assert all(check.holds for check in outcome.checks)


@pytest.mark.slow
def test_with_all_effort():
    assert all(check.holds for check in lesson.LESSON.run(Effort()).checks)
