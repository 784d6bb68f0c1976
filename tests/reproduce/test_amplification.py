# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T21: a secret sample amplifies, a coin attains it, and 2 q epsilon stands for it up to epsilon = 1.2564."""

import math

import numpy as np
import pytest

from dperm.noise.simulation import generator
from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.amplification import (
    LESSON,
    amplified,
    coin_loss,
    largest_epsilon_for_twice,
    replaced_base,
)


def test_everything_that_was_to_be_shown_is_shown():
    assert [check.statement for check in LESSON.run(Effort(quick=True)).checks if not check.holds] == []


def test_the_golden_numbers():  # amp: epsilon = 1, q = .01
    assert amplified(1.0, 0.01) == pytest.approx(0.01703686323617655, rel=1e-9)
    assert largest_epsilon_for_twice() == pytest.approx(1.256431208626068, rel=1e-9)


def test_a_base_for_added_records_does_not_amplify_for_replaced_ones():  # T21: q = .1, sigma = 1, base at epsilon = 1
    assert replaced_base() == pytest.approx((0.02295, 0.01269), rel=1e-3)


def test_a_simulated_coin_has_the_loss_that_is_attained():
    """Draw the record, lie, and count: the log ratio of the answer "yes" with the record and without it."""
    epsilon, rate, draws = 1.0, 0.2, 400_000
    random = generator(0, "a coin on a sample")
    lie = 1 / (1 + math.exp(epsilon))
    drawn, lies = random.random(draws) < rate, random.random(draws) < lie
    present, absent = np.mean(drawn ^ lies), np.mean(random.random(draws) < lie)
    assert math.log(present / absent) == pytest.approx(coin_loss(epsilon, rate), abs=0.02)


def test_the_table_shows_where_twice_q_epsilon_fails():
    rows = LESSON.run(Effort(quick=True)).table.rows
    small = [row for row in rows if row[1] < 0.01]
    assert {row[0] for row in small if row[4] >= row[2]} == {0.5, 1.0}
    assert {row[0] for row in small if row[4] < row[2]} == {2.0, 4.0}
    assert all(row[2] == pytest.approx(row[3], rel=1e-9) for row in rows)


def test_formulas_are_not_drawn_as_measured():
    kinds = [curve.kind for curve in LESSON.run(Effort(quick=True)).picture.curves]
    assert kinds == ["proved", "published", "proved", "wrong"]


@pytest.mark.slow
def test_with_all_settings():
    assert all(check.holds for check in LESSON.run(Effort()).checks)
