# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T45, E12: the lecture's noise of DP-GD is 18.6 times the exact one."""

import math

import pytest

from dperm.accounting import Gaussian, account
from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.dpgd_noise import LESSON, DescentNoise, planned


def test_everything_that_was_to_be_shown_is_shown():
    assert [check.statement for check in LESSON.run(Effort(quick=True)).checks if not check.holds] == []


def test_the_golden_numbers():  # dpgd_sigma: T = 100, n = 10,000, L = 1, epsilon = .5, delta = 1e-5
    at = DescentNoise(100)
    assert at.slide == pytest.approx(0.2616190325300112, rel=1e-9)
    assert at.derived == pytest.approx(0.25982775175445927, rel=1e-9)
    assert at.literal == pytest.approx(0.21952677911309645, rel=1e-9)
    assert at.exact == pytest.approx(0.014063653351165014, rel=1e-9)
    assert at.slide / at.exact == pytest.approx(18.602494387302215, rel=1e-9)
    assert at.spent == pytest.approx(0.020169054151954715, rel=1e-9)


def test_the_exact_noise_is_what_account_certifies():
    """A millionth less noise would not do. The multiplier is relative to one record added or removed, 1/n."""
    multiplier = DescentNoise(100).exact * 10_000
    low, high = (account(Gaussian(multiplier * f) * 100, "replace_one").epsilon(1e-5) for f in (1 + 1e-6, 1 - 1e-6))
    assert low <= 0.5 < high
    assert planned(100) == pytest.approx(DescentNoise(100).exact, rel=1e-4)


def test_the_noise_of_the_printed_derivation_suffices_though_its_proof_does_not_say_so():
    at = DescentNoise(100)
    assert account(Gaussian(at.literal * 10_000) * 100, "replace_one").epsilon(1e-5) == pytest.approx(
        at.true_epsilon(at.literal), rel=1e-6
    )
    assert at.spent < at.true_epsilon(at.literal) < 0.5 == pytest.approx(at.true_epsilon(at.exact), rel=1e-9)


def test_checks_fail_where_dperm_plans_other_noise(monkeypatch):
    monkeypatch.setattr("dperm.reproduce.lessons.dpgd_noise.planned", lambda steps: 1e-4 * steps)
    holds = [check.holds for check in LESSON.run(Effort(quick=True)).checks]
    assert holds == [True, True, True, True, False, False]


def test_the_slide_and_the_exact_noise_part_with_the_steps():
    rows = LESSON.run(Effort(quick=True)).table.rows
    ratios = [row[5] for row in rows]
    assert ratios == sorted(ratios) and 14 < ratios[0] < ratios[-1] < 24
    for row in rows:
        assert row[4] / math.sqrt(row[0]) == pytest.approx(rows[0][4], rel=1e-9)


@pytest.mark.slow
def test_with_all_settings():
    assert all(check.holds for check in LESSON.run(Effort()).checks)
