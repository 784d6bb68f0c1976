# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audits in a statement: added, never compared away, and shown with floors rounded down."""

import pytest

from dperm import PureDP
from dperm.audit import Finding, LowerBound
from dperm.errors import ParameterError
from dperm.mechanisms import LaplaceMechanism
from dperm.report import Statement, page, statement
from dperm.report.audits_shown import audits_shown

CLAIM = PureDP(1.0, "add_remove")


@pytest.fixture
def release():
    return LaplaceMechanism.calibrate(1.0, CLAIM).release([1.0])


def finding(epsilon=0.98765439, **facts):
    bounds = {
        "likelihood ratio": LowerBound(epsilon, 0.0, 0.96, "one binomial (A4)"),
        "bits": LowerBound(0.5, 1e-5, 0.99, "mu-GDP (A3)", "the trade-off is Gaussian"),
    }
    return Finding("a <mechanism>", CLAIM, bounds, 0.95, facts=facts)


def test_audits_are_added_to_those_that_are_there(release):
    before = statement(release, audits=[{"epsilon": 0.3}])
    after = before.audited([finding().as_dict()])
    assert len(after["audit"]) == 2 and before["audit"] == [{"epsilon": 0.3}]
    assert Statement.from_json(after.to_json()) == after
    assert statement(release).audited([])["audit"] == "none"


def test_what_is_no_audit_is_refused(release):
    for wrong in ({"epsilon": 1}, "none", [1], 3):
        with pytest.raises(ParameterError, match="audits must be a list of mappings"):
            statement(release).audited(wrong)


def test_lower_bounds_are_rounded_down_and_what_they_assume_is_said(release):
    said = statement(release).audited([finding().as_dict()])
    for text in (page(said), said.to_markdown()):
        shown = (
            text.split("29")[-1] if text.startswith("#") else text.split('id="field-29"')[1].split('id="field-30"')[0]
        )
        assert "0.987654" in shown and "0.987655" not in shown
        assert "assumes that the trade-off is Gaussian" in shown and "with 96 % confidence" in shown
        assert "<mechanism>" not in shown


def test_the_verdict_comes_first_and_an_infinite_bound_is_called_so():
    audit = {**finding().as_dict(), "bounds": {"atom": {"epsilon": None, "delta": 1e-5, "confidence": 1.0}}}
    (shown,) = audits_shown([audit])
    assert next(iter(shown)) == "result"
    assert shown["lower bounds"]["atom"].startswith("epsilon is infinite at delta 1e-5, exactly")


def test_neighbours_are_shown_in_words():
    facts = {"rest": [[[0.5], -1.0, 3]], "record": [[1.0], 1.0, 1], "other": None}
    (shown,) = audits_shown([{"bounds": {}, **facts}])
    assert shown["the others"] == "3 with x = 0.5, y = -1"
    assert (shown["the record"], shown["in its place"]) == ("x = 1, y = 1", "nobody")


@pytest.mark.parametrize("odd", ["none", [1], [{"bounds": 3}], [{"bounds": {"a": 1}, "rest": "x"}]])
def test_whatever_else_stands_there_is_shown_as_it_is(release, odd):
    assert audits_shown(odd) is not None
    if isinstance(odd, list) and isinstance(odd[0], dict):
        assert page(statement(release, audits=odd))
