# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The error falls with epsilon, in the order of the algorithms (T30, T36, T36a, T36b, E3)."""

import pytest
from quick_lessons import quick_run

from dperm.reproduce import Effort, by_name, run
from dperm.reproduce.perturbed_logistic import JMLR, NOISES, OURS, OUTPUT, PRINTED, STANDARD, Noise


@pytest.fixture(scope="module")
def outcome():
    return quick_run("dependence_on_epsilon").outcome


def columns(outcome, name):
    """The columns of the table on one set, by their names."""
    rows = [row for row in outcome.table.rows if row[0] == name]
    return dict(zip(outcome.table.columns, zip(*rows, strict=True), strict=True))


@pytest.mark.parametrize("name", ["margin 0.03", "noise 0.2"])
def test_errors_fall_with_epsilon_to_that_of_standard_lr(outcome, name):
    found = columns(outcome, name)
    assert found["epsilon"] == (0.05, 0.1, 0.2, 3.2)
    for algorithm in (OUTPUT, PRINTED, JMLR, OURS):
        assert list(found[algorithm]) == sorted(found[algorithm], reverse=True)
        assert found[algorithm][-1] == pytest.approx(found[STANDARD][-1], abs=0.006)
    assert len(set(found[STANDARD])) == 1
    assert found[OUTPUT][1] > 1.8 * found[OURS][1]


def test_t36b_makes_the_determinant_free_from_two_over_n_lambda_on(outcome):
    found = columns(outcome, "noise 0.2")
    prices = [ours - printed for ours, printed in zip(found[OURS], found[PRINTED], strict=True)]
    assert prices[0] > 0.015 and max(prices[1:]) < 0.003
    assert found[JMLR][1] - found[PRINTED][1] > 0.01


def test_all_checks_hold(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []
    assert outcome.picture.x_log


def test_checks_fail_where_algorithms_are_exchanged(monkeypatch):
    ours, output = NOISES[OURS], NOISES[OUTPUT]
    monkeypatch.setitem(NOISES, OURS, output)
    monkeypatch.setitem(NOISES, OUTPUT, ours)
    checks = run("dependence_on_epsilon", Effort(quick=True)).checks
    assert [check.holds for check in checks] == [True, False, False, False, False, True]


def test_the_first_check_fails_where_an_error_rises_with_epsilon(monkeypatch):
    """The printed noise turned upside down: it grows with epsilon."""
    monkeypatch.setitem(NOISES, PRINTED, lambda task: Noise(200 * task.epsilon, task.strength))
    assert not run("dependence_on_epsilon", Effort(quick=True)).checks[0].holds


def test_the_claim_does_not_say_what_an_absent_figure_shows():
    assert "Our text version has only its caption" in by_name("dependence_on_epsilon").claim


@pytest.mark.slow
def test_with_every_epsilon_everything_holds():
    full = run("dependence_on_epsilon")
    assert all(check.holds for check in full.checks)
    assert columns(full, "noise 0.2")["epsilon"][0] == 0.025
