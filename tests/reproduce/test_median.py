# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T42, E8: the perturbed median is a record, with any regularisation; a smooth loss has no such atoms."""

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.median import CASES, LESSON, minimizers

SMOOTH = CASES[-1]


@pytest.fixture(scope="module")
def outcome():
    return quick_run(LESSON.name).outcome


def test_everything_that_was_to_be_shown_is_shown(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


@pytest.mark.parametrize(
    ("case", "sigma", "golden"),
    [
        (CASES[0], 0.5, 0.4999683287581669),
        (CASES[0], 1.0, 0.4772498680518208),
        (CASES[0], 2.0, 0.3413447460685429),
        (CASES[1], 1.0, 0.44230774216015445),
    ],
)
def test_the_golden_numbers(case, sigma, golden):  # median_0.5, median_1.0, median_2.0, median_strongly_convex
    assert case.atom(sigma) == pytest.approx(golden, rel=1e-9)


def test_minimizers_of_the_median_are_where_subgradients_say():
    noise = np.array([-1.0, 1.0, -2.5, -0.5, 1.99])
    found = minimizers(np.sign, (0.0, 100.0), strength=0.0, noise=noise)
    assert found[[0, 1, 3, 4]] == pytest.approx([100.0, 0.0, 100.0, 0.0], abs=1e-9)
    assert found[2] > 9999  # no minimum: it runs away
    regularized = minimizers(np.sign, (0.0, 1.0), strength=0.1, noise=np.array([-3.0, -1.0, 0.05]))
    assert regularized == pytest.approx([10.0, 1.0, 0.0], abs=1e-9)


def test_minimizers_of_the_smoothed_median_have_no_gradient():
    noise = np.linspace(-4, 4, 41)
    found = minimizers(SMOOTH.slope, SMOOTH.points, strength=SMOOTH.strength, noise=noise)
    gradient = sum(SMOOTH.slope(found - x) for x in SMOOTH.points) + SMOOTH.strength * found + noise
    assert np.abs(gradient).max() < 1e-9
    assert len(set(found.round(9))) == len(noise)  # different noise, different release: no atom anywhere


def test_the_smoothed_loss_has_the_constants_that_its_guarantee_uses():
    z = np.linspace(-3, 3, 6001)
    slopes = SMOOTH.slope(z)
    assert np.abs(slopes).max() == pytest.approx(1.0, abs=1e-12)
    assert np.diff(slopes).max() / (z[1] - z[0]) == pytest.approx(1 / SMOOTH.width, rel=1e-6)


def test_noise_helps_the_smoothed_median_only(outcome):
    rows = [dict(zip(outcome.table.columns, row, strict=True)) for row in outcome.table.rows]
    smooth = [row["delta proved"] for row in rows if row["loss"] == "smoothed median"]
    assert smooth == sorted(smooth, reverse=True) and smooth[-1] < 1e-6
    kinked = [row["low"] for row in rows if row["loss"] == "median" and row["sigma"] == 8.0]
    assert min(kinked) > 1e6 * smooth[-1]


@pytest.mark.slow
def test_with_all_settings_and_another_seed():
    assert all(check.holds for seed in (0, 1) for check in LESSON.run(Effort(seed=seed)).checks)
