# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T21-T23, T26: the lemma and composition of pairs against exact accounting of DP-SGD."""

import math

import pytest
from quick_lessons import quick_run

from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.dpsgd_accounting import LESSON, SampledGaussianSteps


@pytest.fixture(scope="module")
def outcome():
    return quick_run(LESSON.name).outcome


def test_everything_that_was_to_be_shown_is_shown(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


@pytest.mark.parametrize(
    ("rate", "multiplier", "steps", "exact", "renyi"),
    [
        (0.01, 1.0, 1000, 1.8282436461219649, 2.1077530754515768),
        (0.1, 2.0, 100, 2.3374001924370993, 2.5866521781675296),
    ],
)
def test_the_golden_numbers(rate, multiplier, steps, exact, renyi):  # pld_poisson_*: delta = 1e-5
    setting = SampledGaussianSteps(multiplier, rate, steps)
    assert setting.exact[1] == pytest.approx(exact, rel=1e-3)
    assert setting.exact[1] <= exact  # the reference rounds up
    assert exact < setting.renyi <= renyi  # the reference has whole orders only


def test_one_step_by_hand():
    """The lemma for one step of sigma = 4: half of delta, over q, is the base's delta."""
    setting = SampledGaussianSteps(4.0, 0.01, 1)
    epsilon, delta = setting.step
    assert delta == pytest.approx(5e-6, rel=1e-9)
    assert epsilon == pytest.approx(math.log1p(0.01 * math.expm1(0.6505215292550266)), rel=1e-9)


def test_the_ways_are_in_order_in_every_row(outcome):
    for row in outcome.table.rows:
        advanced, optimal, renyi, high, low = row[3:]
        assert low <= high < min(optimal, renyi) and optimal < advanced


@pytest.mark.slow
def test_with_all_settings():
    assert all(check.holds for check in LESSON.run(Effort()).checks)
