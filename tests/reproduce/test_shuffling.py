# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T27: a shuffled epoch leaks what Poisson accounting does not see."""

import math

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons import shuffling
from dperm.reproduce.lessons.shuffling import LESSON, ShuffledEpoch, poisson_delta


@pytest.fixture(scope="module")
def outcome():
    return quick_run(LESSON.name).outcome


def test_everything_that_was_to_be_shown_is_shown(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


def test_the_golden_numbers():  # chua_0.4_4.0: sigma = .4, 10,000 batches, epsilon = 4
    golden = 1.1706361585735154e-05  # of a lattice that rounds up
    assert ShuffledEpoch(0.4, np.empty(0)).least == pytest.approx(0.22605560807621816, rel=1e-6)
    assert 0.99 * golden < poisson_delta(0.4) <= golden


def test_gains_have_the_mean_that_a_direct_density_gives(monkeypatch):
    """With two batches: (1 - e^(eps - L))_+ from the two densities themselves, at a few outputs."""
    monkeypatch.setattr(shuffling, "BATCHES", 2)
    noise, sigma = np.array([[0.3, -1.0], [2.0, 0.5], [-1.5, 3.0]]), 0.6
    outputs = sigma * noise + [2.0, 0.0]

    def density(x, height):
        return sum(math.exp(-((x[t] - height) ** 2 + x[1 - t] ** 2) / (2 * sigma**2)) for t in (0, 1))

    expected = [max(1 - math.exp(4.0) * density(x, 1.0) / density(x, 2.0), 0.0) for x in outputs]
    assert shuffling._gains(noise, sigma) == pytest.approx(expected, rel=1e-9)
    assert max(expected) > 0


def test_the_table_is_in_order(outcome):
    for row in outcome.table.rows:
        assert row[1] < row[2] <= row[6]
    deltas = [row[1:3] for row in outcome.table.rows]
    assert deltas == sorted(deltas, reverse=True)


def test_the_factor_that_is_told_holds_in_every_row(outcome):
    factors = [row[2] / row[1] for row in outcome.table.rows]
    assert 70 < factors[0] < 80 and factors == sorted(factors)
    assert "at least 70 times" in LESSON.claim


@pytest.mark.slow
def test_with_all_settings_and_another_seed():
    assert all(check.holds for seed in (0, 1) for check in LESSON.run(Effort(seed=seed)).checks)
