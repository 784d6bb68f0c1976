# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Learning curves: errors fall, who needs fewer records, and what the determinant costs (T36, T36a, T36b, T58, E3)."""

import pytest
from quick_lessons import quick_run

from dperm.reproduce import Effort, run
from dperm.reproduce.lessons.learning_curves import LESSON
from dperm.reproduce.perturbed_logistic import JMLR, NOISES, OURS, OUTPUT, PRINTED, STANDARD


@pytest.fixture(scope="module")
def outcome():
    return quick_run("learning_curves").outcome


def columns(outcome, name):
    """The columns of the table on one set, by their names."""
    rows = [row for row in outcome.table.rows if row[0] == name]
    return dict(zip(outcome.table.columns, zip(*rows, strict=True), strict=True))


@pytest.mark.parametrize("name", ["margin 0.03", "noise 0.2"])
def test_errors_fall_with_the_records(outcome, name):
    found = columns(outcome, name)
    assert found["n"] == (500, 1000, 2000, 4000) and found["n lambda"] == (5, 10, 20, 40)
    for algorithm in (OUTPUT, PRINTED, JMLR, OURS, STANDARD):
        assert list(found[algorithm]) == sorted(found[algorithm], reverse=True)
    assert found[OUTPUT][-1] > 1.8 * found[OURS][-1] > 1.8 * found[STANDARD][-1]


@pytest.mark.parametrize("name", ["margin 0.03", "noise 0.2"])
def test_corrections_cost_most_where_n_lambda_is_small(outcome, name):
    found = columns(outcome, name)
    prices = [ours - printed for ours, printed in zip(found[OURS], found[PRINTED], strict=True)]
    assert prices == sorted(prices, reverse=True)
    assert prices[0] > 0.04 and prices[-1] < 0.003
    assert found[JMLR][0] > found[OUTPUT][0]  # raised and halved, it is worse than the sensitivity method


def test_all_checks_hold_and_the_picture_has_bands(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []
    for curve in outcome.picture.curves:
        assert all(low <= y <= high for low, y, high in zip(curve.low, curve.y, curve.high, strict=True))
    kinds = {curve.name: curve.kind for curve in outcome.picture.curves}
    assert kinds.pop(PRINTED) == "wrong" and set(kinds.values()) == {"measured"}


@pytest.mark.parametrize("name", ["margin 0.03", "noise 0.2"])
def test_the_lead_begins_at_a_thousand_records_and_the_lesson_says_so(outcome, name):
    found = columns(outcome, name)
    assert found["n"][:2] == (500, 1000)
    assert found[JMLR][0] > found[OUTPUT][0] and found[JMLR][1] < found[OUTPUT][1]
    assert found[OUTPUT][1] < found[OURS][0] < found[OUTPUT][0] and found[OUTPUT][2] > found[OURS][1]
    assert "from n = 1000 on" in LESSON.claim and "At n = 500 it is the other way round" in LESSON.claim
    assert "From n = 1000 on" in outcome.sentence and "at n = 500" in outcome.sentence


def test_the_claim_does_not_say_what_an_absent_figure_shows():
    assert "Our text version has only their caption" in LESSON.claim


def test_checks_fail_where_the_determinant_is_not_charged(monkeypatch):
    monkeypatch.setitem(NOISES, OURS, NOISES[PRINTED])
    checks = run("learning_curves", Effort(quick=True)).checks
    assert [check.holds for check in checks] == [True, True, False, True, False]


def test_checks_fail_where_jmlr_is_no_worse_at_five_hundred_records(monkeypatch):
    monkeypatch.setitem(NOISES, JMLR, NOISES[OURS])
    checks = run("learning_curves", Effort(quick=True)).checks
    assert [check.holds for check in checks] == [True, True, False, True, True]


@pytest.mark.slow
def test_with_all_sizes_everything_holds():
    full = run("learning_curves")
    assert all(check.holds for check in full.checks)
    assert columns(full, "noise 0.2")["n"][-1] == 32_000
