# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The table of NIPS 2008: who is better, and errors of the size that is printed (T30, T36, T36a, T36b, E3)."""

import pytest
from quick_lessons import quick_run

from dperm.reproduce import Effort, run
from dperm.reproduce.lessons import table_of_errors as lesson
from dperm.reproduce.perturbed_logistic import JMLR, NOISES, OURS, OUTPUT, PRINTED, SHARP, STANDARD, Noise

MEANS = (1, 4)
"""Columns of the means on both sets."""


@pytest.fixture(scope="module")
def outcome():
    return quick_run("table_of_errors").outcome


def errors(outcome):
    return {name: row for name, row in zip(lesson.ROWS, outcome.table.rows, strict=True)}


@pytest.mark.parametrize("column", MEANS)
def test_the_sensitivity_method_errs_most_and_standard_lr_least(outcome, column):
    found = {name: row[column] for name, row in errors(outcome).items()}
    assert found[STANDARD] < found[PRINTED] < found[OURS] < found[SHARP] < found[JMLR] < found[OUTPUT]
    assert found[OUTPUT] > 1.5 * found[JMLR]
    assert found[OURS] - found[PRINTED] < 0.002


def test_the_sizes_are_those_that_are_printed(outcome):
    found = errors(outcome)
    assert found[OUTPUT][1] == pytest.approx(0.2962, abs=0.06) and found[OUTPUT][4] == pytest.approx(0.3257, abs=0.06)
    assert found[PRINTED][1] == pytest.approx(0.1426, abs=0.06) and found[PRINTED][4] == pytest.approx(0.1903, abs=0.06)
    assert found[STANDARD][1] < 0.001 and found[STANDARD][4] == pytest.approx(0.0530, abs=0.003)


def test_the_printed_numbers_stand_beside_ours(outcome):
    assert errors(outcome)[PRINTED][3] == "0.1426 +- 0.1284"
    assert errors(outcome)[OUTPUT][6] == "0.3257 +- 0.0536"
    assert errors(outcome)[JMLR][3] == ""


def test_the_picture_shows_single_runs_from_best_to_worst(outcome):
    for curve in outcome.picture.curves:
        assert list(curve.y) == sorted(curve.y) and len(curve.y) == 21
    kinds = {curve.name: curve.kind for curve in outcome.picture.curves}
    assert kinds.pop(lesson.ROWS[PRINTED]) == "wrong" and set(kinds.values()) == {"measured"}


def test_the_standard_deviations_are_not_those_that_are_printed(outcome):
    """Over draws and folds; that of standard LR over folds, where the print repeats the cell above (E37)."""
    found = errors(outcome)
    assert 0.02 < found[PRINTED][2] < 0.1284 / 2 and 0.02 < found[PRINTED][5] < 0.1105 / 2
    assert found[STANDARD][5] < 0.005
    assert lesson.printed_spread(STANDARD) == lesson.printed_spread(PRINTED) == 0.1105
    assert "the means are close to the printed ones" in lesson.LESSON.claim and "E37" in lesson.LESSON.tags


def test_all_checks_hold(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


def test_checks_fail_where_the_noise_is_exchanged(monkeypatch):
    monkeypatch.setitem(NOISES, OUTPUT, lambda task: Noise(0.01, task.strength, in_objective=False))
    assert [check.holds for check in run("table_of_errors", Effort(quick=True)).checks] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_progress_is_told_and_seeds_matter(outcome):
    told = []
    other = run("table_of_errors", Effort(seed=1, quick=True, progress=told.append))
    assert told == sorted(told) and told[-1] == 1
    assert other.table != outcome.table
    assert other.parameters["seed"] == 1


@pytest.mark.slow
def test_with_all_draws_everything_holds():
    full = run("table_of_errors")
    assert all(check.holds for check in full.checks)
    assert errors(full)[OURS][1] == pytest.approx(0.105, abs=0.012)  # four standard errors of 200 runs
    assert errors(full)[OUTPUT][1] == pytest.approx(0.263, abs=0.025)
