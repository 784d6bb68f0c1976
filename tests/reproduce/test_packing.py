# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The packing bound, and what the exponential mechanism on a grid needs (T60, T61, E20)."""

import math

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.reproduce import Effort
from dperm.reproduce.lessons import packing as lesson
from dperm.theory import packing_sample_size


@pytest.fixture(scope="module")
def outcome():
    return quick_run(lesson.LESSON.name).outcome


def test_the_golden_number():  # packing
    assert packing_sample_size(1001, 1.0, adjacency="replace_one") == pytest.approx(9.104979856318357, rel=1e-13)


def test_the_bound_is_ln_of_nine_times_k_minus_1_and_the_printed_one_has_k(outcome):
    for thresholds, bound, printed, needed, _ in outcome.table.rows:
        assert bound == pytest.approx(math.log(9 * (thresholds - 1)), rel=1e-12)
        assert printed == pytest.approx(math.log(9 * thresholds), rel=1e-12)
        assert needed >= math.ceil(bound)


def test_what_is_needed_is_four_times_the_bound(outcome):
    """All others make n/2 errors, at the rate 1/2: success is 1/(1 + (K - 1) e^(-n/4))."""
    for thresholds, bound, _, needed, success in outcome.table.rows:
        assert 4 * bound <= needed < 4 * bound + 2
        assert success == pytest.approx(1 / (1 + (thresholds - 1) * math.exp(-10)), rel=1e-9)


@pytest.mark.parametrize("intervals", [2, 64, 2**20])
def test_the_needed_number_is_the_least_even_one(intervals):
    needed = lesson.records_needed(intervals)
    assert lesson.success(intervals, needed) >= 0.9 > lesson.success(intervals, needed - 2)


@pytest.mark.parametrize("intervals", [4, 32])
def test_success_is_what_a_sum_over_all_thresholds_says(intervals):
    n, grid = 12, np.arange(intervals + 1) / intervals
    data, labels = lesson._records(intervals, n)
    errors = [sum((x >= t) != y for x, y in zip(data, labels, strict=True)) for t in grid]
    weights = np.exp(-0.5 * np.array(errors))
    assert errors.count(0) == 1
    assert lesson.success(intervals, n) == pytest.approx(weights.max() / weights.sum(), rel=1e-12)


def test_releases_succeed_as_often_as_computed():
    exact = lesson.success(16, lesson.records_needed(16))
    share = lesson.released_share(16, 600, 1)
    assert share == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 600))


def test_both_grow_with_the_logarithm_of_k(outcome):
    logs = np.log([row[0] - 1 for row in outcome.table.rows])
    slopes = [np.polyfit(logs, [row[place] for row in outcome.table.rows], 1)[0] for place in (1, 3)]
    assert slopes == pytest.approx([1.0, 4.0], abs=0.15)


def test_every_check_holds(outcome):
    assert all(check.holds for check in outcome.checks)


@pytest.mark.slow
def test_with_all_effort():
    assert all(check.holds for check in lesson.LESSON.run(Effort()).checks)
