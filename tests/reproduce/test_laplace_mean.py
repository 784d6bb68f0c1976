# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T5, E27: the Laplace mean is off by 1/(n epsilon), and its scale must not depend on a private n."""

import math

import numpy as np
import pytest
from quick_lessons import quick_run
from scipy.integrate import quad

from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.laplace_mean import LESSON, delta_if_n_sets_the_scale


@pytest.fixture(scope="module")
def outcome():
    return quick_run(LESSON.name).outcome


def settings(outcome):
    return [dict(zip(outcome.table.columns, row, strict=True)) for row in outcome.table.rows]


def test_everything_that_was_to_be_shown_is_shown(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


def test_the_golden_numbers(outcome):  # laplace_mean: n = 10,000, epsilon = .1
    at = next(row for row in settings(outcome) if (row["n"], row["epsilon"]) == (10_000, 0.1))
    assert at["mean error in theory"] == pytest.approx(0.001, rel=1e-9)
    assert at["standard deviation in theory"] == pytest.approx(0.0014142135623730952, rel=1e-9)
    assert at["mean error"] == pytest.approx(0.001, rel=0.25)
    assert at["standard deviation"] == pytest.approx(0.0014142135623730952, rel=0.3)


def test_errors_fall_like_one_over_n_and_one_over_epsilon(outcome):
    rows = settings(outcome)
    sizes, errors = (
        np.log([row[name] * row["epsilon"] ** power for row in rows]) for name, power in (("n", 1), ("mean error", 0))
    )
    assert np.polyfit(sizes, errors, 1)[0] == pytest.approx(-1, abs=0.15)


def test_settings_have_noise_of_their_own(outcome):
    scaled = [row["mean error"] * row["n"] * row["epsilon"] for row in settings(outcome)]
    assert len({round(value, 6) for value in scaled}) == len(scaled)


@pytest.mark.parametrize(("n", "epsilon"), [(10, 0.1), (3, 1.0), (50, 0.05)])
def test_a_scale_that_tells_n_has_this_delta(n, epsilon):  # E27, by quadrature over both densities
    def density(z, size):
        return size * epsilon / 2 * math.exp(-size * epsilon * abs(z))

    def gain(z):
        return max(density(z, n) - math.exp(epsilon) * density(z, n + 1), 0.0)

    edge = 1 + math.log1p(1 / n) / epsilon
    delta = 2 * quad(gain, edge, edge + 60 / (n * epsilon))[0]
    assert delta == pytest.approx(delta_if_n_sets_the_scale(n, epsilon), rel=1e-6)
    assert quad(gain, 0, edge)[0] == 0.0


@pytest.mark.slow
def test_with_all_settings_and_another_seed():
    assert all(check.holds for seed in (0, 1) for check in LESSON.run(Effort(seed=seed)).checks)
