# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T4, T19: a group's delta by the formula, and the exact one of Gaussian noise."""

import math

import pytest
from scipy.special import ndtr

from dperm.privacy import GDP
from dperm.privacy.group import group
from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.group_privacy import LESSON, RecordGroup, laplace_group


def test_everything_that_was_to_be_shown_is_shown():
    assert [check.statement for check in LESSON.run(Effort(quick=True)).checks if not check.holds] == []


def test_the_golden_numbers():  # group_approx: epsilon = .5, delta = 1e-6, k = 3; mu = 1, k = 3 at epsilon = 5
    formula = RecordGroup(3).formula
    assert (formula.epsilon, formula.delta) == pytest.approx((1.5, 5.367003099159173e-06), rel=1e-9)
    assert group(GDP(1.0, "add_remove"), 3).profile().delta(5.0) == pytest.approx(0.319391879905888, rel=1e-9)


@pytest.mark.parametrize("k", [1, 2, 8, 24])
def test_the_exact_delta_is_that_of_k_times_mu(k):
    mu, epsilon = k * RecordGroup(1).one.mu, k * 0.5
    closed = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    assert RecordGroup(k).exact == pytest.approx(closed, rel=1e-6)


def test_the_formula_starts_exact_and_loses_more_and_more():
    rows = LESSON.run(Effort(quick=True)).table.rows
    ratios = [row[4] for row in rows]
    assert ratios[0] == pytest.approx(1.0, rel=1e-9)
    assert ratios == sorted(ratios) and ratios[-1] > 50
    assert all(row[5] >= row[6] * (1 - 1e-9) for row in rows)


def test_laplace_noise_attains_k_epsilon():
    assert all(0 < laplace_group(k) < 1e-3 for k in (1, 3, 24))


@pytest.mark.slow
def test_with_all_settings():
    assert all(check.holds for check in LESSON.run(Effort()).checks)
