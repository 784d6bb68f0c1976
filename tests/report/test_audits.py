# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audits in a statement: added, never compared away, and shown with floors rounded down."""

import json
import re

import pytest

from dperm import PureDP
from dperm.audit import Finding, LowerBound
from dperm.errors import EventFormatError, ParameterError
from dperm.mechanisms import LaplaceMechanism
from dperm.report import Statement, fields, page, statement
from dperm.report.audits import audits_for_display
from dperm.report.summary import key_facts

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
        with pytest.raises(ParameterError, match="audits must be a list of findings"):
            statement(release).audited(wrong)


def test_findings_are_taken_as_they_are_and_what_is_none_is_named_by_its_type(release):
    as_object, as_data = (statement(release).audited([one]) for one in (finding(), finding().as_dict()))
    assert as_object == as_data == statement(release, audits=[finding()])
    with pytest.raises(ParameterError, match="got an object of type int as item 1"):
        statement(release).audited([finding(), 1])
    infinite = Finding("all", CLAIM, {"atom": LowerBound(float("inf"), 0.0, 1.0, "atom")}, 1.0)
    assert statement(release).audited([infinite])["audit"][0]["bounds"]["atom"]["epsilon"] is None


def test_a_refutation_turns_the_status_everywhere(release):
    clean, refuted = (statement(release).audited([finding(epsilon)]) for epsilon in (0.5, 2.0))
    assert clean.is_private and not clean.is_refuted and not refuted.is_private and refuted.is_refuted
    assert refuted.audited([finding(0.5)]).is_refuted
    assert Statement.from_json(refuted.to_json()) == refuted
    whole = page(refuted)
    assert '<body class="refuted">' in whole and 'class="status bad"' in whole and 'class="status good"' not in whole
    for text in (whole, refuted.to_markdown(), str(refuted)):
        assert "REFUTED BY AN AUDIT" in text and "VIOLATION: claimed epsilon 1, measured &gt;= 2" in text.replace(
            "\\>", "&gt;"
        ).replace(">=", "&gt;=")


def test_a_status_that_its_audits_do_not_bear_out_is_not_read(release):
    for epsilon, status in ((2.0, fields.PRIVATE), (0.5, fields.REFUTED)):
        found = statement(release).audited([finding(epsilon)])
        text = Statement({**found.to_dict(), "status": status}).to_json()
        with pytest.raises(EventFormatError, match="its status does not follow from its audits"):
            Statement.from_json(text)


def test_the_schema_knows_the_refutation(release):
    validator = pytest.importorskip("jsonschema").Draft202012Validator(Statement.schema())
    refuted = statement(release).audited([finding(2.0)])
    assert validator.is_valid(json.loads(refuted.to_json()))
    for change in ({"private": True}, {"fields": {**refuted.to_dict(), "status": fields.PRIVATE}}):
        assert not validator.is_valid({**json.loads(refuted.to_json()), **change})


@pytest.mark.parametrize(
    ("audits", "words"),
    [
        ([], "this release has not been audited"),
        ([finding(0.5)], "1 audit, no violation found: epsilon >= 0.5 at 95 % confidence, claimed 1 (no leak: 0)"),
        ([finding(0.5), finding(0.98765)], "found: epsilon >= 0.9876 at 95 % confidence, claimed 1 (no leak: 0)"),
        ([finding(0.5), finding(2.0)], "REFUTED by 1 of 2 audits"),
        ([finding(0.5, powerless="too few")], "none with enough runs to refute"),
        ([{"by": "us"}], "1 audit, no violation found"),
    ],
    ids=range(6),
)
def test_key_facts_always_have_a_line_for_audits(release, audits, words):
    facts = dict(key_facts(statement(release).audited(audits).fields))
    assert words in facts["Audits"]


def test_an_audit_of_a_part_of_epsilon_says_so(release):
    part = Finding("noise", PureDP(0.99, "add_remove"), {"loss": LowerBound(0.98999, 0.0, 1.0, "A8")}, 1.0)
    said = dict(key_facts(statement(release).audited([finding(0.5), part]).fields))["Audits"]
    assert (
        "0.9899 with certainty, claimed 0.99, the part of epsilon 1 that the audited mechanism uses (no leak: 0)"
        in said
    )


def test_lower_bounds_are_rounded_down_and_what_they_assume_is_said(release):
    said = statement(release).audited([finding().as_dict()])
    for text in (page(said), said.to_markdown()):
        shown = (
            text.split("29")[-1] if text.startswith("#") else text.split('id="field-29"')[1].split('id="field-30"')[0]
        )
        assert "0.987654" in shown and "0.987655" not in shown
        shown = re.sub(r"</?span[^>]*>", "", shown)
        assert "assumes that the trade-off is Gaussian" in shown and "with 96 % confidence" in shown
        assert "<mechanism>" not in shown


def test_the_verdict_comes_first_and_an_infinite_bound_is_called_so():
    audit = {**finding().as_dict(), "bounds": {"atom": {"epsilon": None, "delta": 1e-5, "confidence": 1.0}}}
    (shown,) = audits_for_display([audit])
    ((sentence, bounds),) = shown.items()
    assert sentence.startswith("A <mechanism>. No violation found: epsilon >= 0.9876 at 95 % confidence, claimed 1")
    assert bounds["atom"].startswith("epsilon infinite (no leak: 0) at delta 1e-5, with certainty")


def test_a_finding_is_a_sentence_and_its_bounds_without_an_empty_bullet(release):
    text = statement(release).audited([finding(runs=2000, with_record=990)]).to_markdown().split("### 29.")[1]
    lines = text.split("### 30.")[0].splitlines()
    assert not any(line.strip() == "-" for line in lines) and "with record" not in text
    assert lines[2].startswith(r"- A \<mechanism\>, 2,000 runs. No violation found")
    assert lines[3].startswith("    - likelihood ratio: epsilon at least 0.987654 (claimed: at most 1, no leak: 0)")


def test_neighbours_are_shown_in_words():
    facts = {"rest": [[[0.5], -1.0, 3]], "record": [[1.0], 1.0, 1], "other": None}
    (shown,) = audits_for_display([{"bounds": {}, **facts}])
    assert shown["other records"] == "3 with x = 0.5, y = -1"
    assert (shown["the record"], shown["its replacement"]) == ("x = 1, y = 1", "none")


@pytest.mark.parametrize("odd", ["none", [1], [{"bounds": 3}], [{"bounds": {"a": 1}, "rest": "x"}]])
def test_whatever_else_stands_there_is_shown_as_it_is(release, odd):
    assert audits_for_display(odd) is not None
    if isinstance(odd, list) and isinstance(odd[0], dict):
        assert page(statement(release, audits=odd))


def test_a_small_lower_bound_does_not_read_as_a_leak(release):
    low = Finding(
        "a method", PureDP(1.0, "replace_one"), {"low-order bits": LowerBound(0.0923456789, 0.0, 0.95, "A4")}, 0.95
    )
    old = {name: value for name, value in low.as_dict().items() if name != "explanation"}
    old["bounds"] = {"low-order bits": low.bound.as_dict()}  # as versions before 0.9.0 wrote it
    for audit in (low, old):
        found = statement(release).audited([audit])
        for text in (page(found), found.to_markdown()):
            plain = re.sub(r"<[^>]+>", "", text).replace("\\", "")
            assert "epsilon at least 0.0923456 (claimed: at most 1, no leak: 0)" in plain
            assert "A lower bound above 0 is not a leak" in plain
        assert "claimed 1 (no leak: 0)" in dict(key_facts(found.fields))["Audits"]
