# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T2, T28, E11: bins cost first or second order, the tail of the loss costs what no bins give back."""

import math

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.theorems import analytic_gaussian_delta, gaussian_loss_tail, gaussian_tail_epsilon
from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.fourier_accountant import GAUSSIAN, LESSON, SAMPLED, Bins


@pytest.fixture(scope="module")
def outcome():
    return quick_run(LESSON.name).outcome


def found(outcome, name):
    return [dict(zip(outcome.table.columns, row, strict=True)) for row in outcome.table.rows if row[0] == name]


def test_everything_that_was_to_be_shown_is_shown(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


def test_the_golden_numbers(outcome):  # plrv_tail_vs_exact (mu = 1), pld_gauss_10_100, pld_poisson_0.01_1_1000
    assert gaussian_tail_epsilon(1.0, 1e-5) == pytest.approx(4.764890793922825, rel=1e-9)
    assert gaussian_loss_tail(3.0, 1.0) == pytest.approx(0.006209665325776132, rel=1e-9)
    assert analytic_gaussian_delta(3.0, 1.0) == pytest.approx(0.0015371853694009568, rel=1e-9)
    finest = found(outcome, GAUSSIAN.name)[-1]
    assert finest["exact"] == pytest.approx(4.377178095681232, rel=1e-6)
    assert finest["losses split between bin ends"] == pytest.approx(4.377178518939869, rel=1e-3)
    assert finest["tail P(L > epsilon)"] == pytest.approx(4.764890793922825, rel=1e-3)
    assert finest["Rényi"] == pytest.approx(4.7283895756085155, rel=1e-3)
    assert found(outcome, SAMPLED.name)[-1]["losses split between bin ends"] == pytest.approx(
        1.8282436461219649, rel=1e-3
    )


@pytest.mark.parametrize(("column", "order"), [("losses rounded up", -1), ("losses split between bin ends", -2)])
@pytest.mark.parametrize("problem", [GAUSSIAN, SAMPLED], ids=["gaussian", "sampled"])
def test_the_excess_falls_with_the_bins(outcome, problem, column, order):
    rows = found(outcome, problem.name)
    excess = [row[column] - row["exact"] for row in rows]
    slope = np.polyfit(np.log([row["bins"] for row in rows]), np.log(excess), 1)[0]
    assert slope == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("dots", [False, True])
def test_a_circle_has_the_profile_of_the_composition(dots):
    """Gaussian steps, whose composition is a Gaussian: above it, and close, at every epsilon.

    A dot costs c(c+1) h^2/8 of delta in each of 100 steps, a bin that is rounded up c h; c is below 6 here.
    """
    bins = Bins(2**18, 24.0, dots, 0.0)
    circle = bins.composed(GaussianLoss(0.1), 100)
    cost = 100 * (42 * bins.spacing**2 / 8 if dots else 6 * bins.spacing)
    for epsilon in (0.0, 1.0, 3.0, 5.0):
        exact = analytic_gaussian_delta(epsilon, 1.0)
        assert exact * (1 - 1e-9) <= circle.delta(epsilon) <= exact * (1 + cost)


def test_mass_above_the_circle_counts_as_infinite():
    circle = Bins(2**12, 2.0, True, 0.0).composed(GaussianLoss(1.0), 1)
    beyond = math.erfc(0.5 / math.sqrt(2)) / 2  # P(L > 1), L ~ N(1/2, 1)
    assert 0 < circle.infinite < beyond
    assert circle.delta(0.5) == pytest.approx(analytic_gaussian_delta(0.5, 1.0), rel=1e-2)
    assert circle.delta(0.5) >= analytic_gaussian_delta(0.5, 1.0) * (1 - 1e-12)


def test_what_comes_around_is_added():
    law = GaussianLoss(0.1)
    plain, wary = (Bins(2**12, 24.0, True, around).composed(law, 100) for around in (0.0, 1e-3))
    assert wary.delta(2.0) == pytest.approx(plain.delta(2.0) + 1e-3, rel=1e-12)


@pytest.mark.slow
def test_with_all_settings():
    assert all(check.holds for check in LESSON.run(Effort()).checks)
