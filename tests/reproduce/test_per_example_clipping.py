# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T46, E10: a record without a bound moves the sum of gradients as far as it likes; clipped, by C."""

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.reproduce.lesson import Effort
from dperm.reproduce.lessons.per_example_clipping import CLIP, LESSON, claimed, clipped, gradients


@pytest.fixture(scope="module")
def outcome():
    return quick_run(LESSON.name).outcome


def test_everything_that_was_to_be_shown_is_shown(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


def test_gradients_are_those_of_the_squared_loss():
    x, y, weights, step = np.array([[1.0, 2.0], [-0.5, 0.3]]), np.array([0.7, -1.0]), np.array([0.2, -0.4]), 1e-6

    def losses(w):
        return (y - x @ w) ** 2 / 2

    for axis in range(2):
        moved = step * np.eye(2)[axis]
        slope = (losses(weights + moved) - losses(weights - moved)) / (2 * step)
        assert gradients(x, y, weights)[:, axis] == pytest.approx(slope, rel=1e-6)


def test_clipping_keeps_directions_and_short_rows():
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert clipped(rows) == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]), rel=1e-12)


def test_epsilon_has_no_bound_without_clipping_and_the_claimed_one_with_it(outcome):
    rows = [dict(zip(outcome.table.columns, row, strict=True)) for row in outcome.table.rows]
    sizes, moved = (np.log([row[name] for row in rows]) for name in ("size of the record", "moves the sum by"))
    assert np.polyfit(sizes, moved, 1)[0] == pytest.approx(2, abs=0.15)
    assert max(row["moves the clipped sum by"] for row in rows) == pytest.approx(CLIP, rel=1e-9)
    assert max(row["epsilon of a step"] for row in rows) > 1e4 * claimed()
    assert max(row["epsilon of a step, clipped"] for row in rows) == pytest.approx(claimed(), rel=1e-6)


@pytest.mark.slow
def test_with_all_settings_and_another_seed():
    assert all(check.holds for seed in (0, 1) for check in LESSON.run(Effort(seed=seed)).checks)
