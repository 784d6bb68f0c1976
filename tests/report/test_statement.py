# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A statement has every field, says only what follows from the release, and cannot be talked into more."""

import json
from dataclasses import FrozenInstanceError, replace
from xml.etree import ElementTree

import pytest

from dperm import ApproxDP, ParameterError, PureDP, Release, explain
from dperm.accounting import Gaussian, Poisson, WithoutReplacement, event_to_json
from dperm.errors import NotPrivateWarning
from dperm.mechanisms import GaussianMechanism, LaplaceMechanism
from dperm.mechanisms.releases import Mean
from dperm.noise import NotPrivateBits
from dperm.report import Statement, definitions, fields, run_facts, statement, unprotected
from dperm.sklearn import PrivateLogisticRegression

GOAL = ApproxDP(1.0, 1e-6, "replace_one")


@pytest.fixture
def release() -> Release:
    return GaussianMechanism.calibrate(0.02, GOAL, dim=3).release([1.0, 2.0, 3.0])


def test_every_field_is_there_in_order_and_the_user_is_told_what_is_missing(release):
    found = statement(release)
    assert list(found.fields) == list(fields.FIELDS)
    assert len(found.fields) >= 31
    missing = {name for name, value in found.fields.items() if value == fields.NOT_STATED}
    assert missing == set(fields.STATED_BY_THE_USER) - {"contribution_bound"}
    assert set(found.gaps) == set(fields.STATED_BY_THE_USER)


def test_what_is_promised_is_what_the_release_promises(release):
    found = statement(release)
    assert found["parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert found["flavour"] == "approximate: (epsilon, delta)-DP"
    assert found["adjacency"] == "replace_one" and found["unit_of_privacy"] == "one record"
    assert found["meaning"] == list(explain(release).sentences)
    assert found["profile"]["gdp_mu"] == explain(release).gdp_mu
    assert found["accountant"]["theorems"] == list(release.record.theorems)
    assert found["noise_source"]["law"] == release.record.noise
    assert found["goal"] == {"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}
    assert found["code_version"] == release.record.versions
    assert found["time"] == release.record.timestamp
    assert found.is_private


def test_a_release_is_covered_alone(release):
    assert str(statement(release)["covered"]).startswith("This release only")
    fit = replace(release, record=replace(release.record, public={"estimator": "E", "method": "output", "n": 7}))
    covered = str(statement(fit)["covered"])
    assert covered.startswith("This fit only") and "does not cover a search over many fits" in covered
    assert statement(fit)["public_quantities"] == {"estimator": "E", "n": 7}
    assert statement(fit)["mechanism"]["name"] == "output"


def test_a_seeded_release_is_not_private():
    with pytest.warns(NotPrivateWarning):
        seeded = LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove")).release(3.0, bits=NotPrivateBits(1))
    found = statement(seeded)
    assert not found.is_private and str(found["status"]).startswith("NOT PRIVATE")
    assert str(found).startswith("Privacy: NOT PRIVATE") and "NOT PRIVATE" in found._repr_html_()
    assert found["goal"] == {"kind": "PureDP", "epsilon": 1.0, "adjacency": "add_remove"}
    assert [found[name] for name in ("flavour", "parameters", "profile", "meaning", "covered")] == [fields.NOTHING] * 5
    assert statement(seeded, audits=[{"epsilon": 1}])["audit"] == [{"epsilon": 1}]


def test_without_noise_there_is_no_guarantee():
    found = unprotected({"n": 10})
    assert not found.is_private and "no guarantee" in str(found["status"])
    assert found["covered"] == "nothing" and found["parameters"] == fields.NOTHING
    assert list(found.fields) == list(fields.FIELDS)


def test_the_user_fills_in_what_only_the_user_knows(release):
    given = {"curator": "The office", "links": ["https://example.org"], "contribution_bound": "3 records"}
    found = statement(release, fields=given)
    assert [found[name] for name in ("curator", "links")] == ["The office", ["https://example.org"]]
    assert found["contribution_bound"] == {"known": definitions.CONTRIBUTION, "stated": "3 records"}


def test_a_finished_statement_can_be_filled(release):
    found = statement(release)
    filled = found.filled({"curator": "me", "intended_use": "teaching"})
    assert filled == statement(release, fields={"curator": "me", "intended_use": "teaching"})
    assert found["curator"] == fields.NOT_STATED


@pytest.mark.parametrize("name", ["parameters", "adjacency", "status", "epsilon", "covered", "meaning", "goal"])
def test_the_user_cannot_overwrite_what_follows_from_the_release(release, name):
    for change in (lambda given: statement(release, fields=given), statement(release).filled):
        with pytest.raises(ParameterError, match="follow from the release"):
            change({name: "better"})


def test_it_reads_as_a_mapping(release):
    found = statement(release)
    assert list(found) == list(found.keys()) == list(fields.FIELDS) and len(found) == len(fields.FIELDS)
    assert dict(found) == found.to_dict()


def test_audits_are_listed(release):
    assert statement(release)["audit"] == "none"
    assert statement(release, audits=[{"epsilon": 0.3, "confidence": 0.95}])["audit"] == [
        {"epsilon": 0.3, "confidence": 0.95}
    ]


def test_it_is_plain_data_that_nobody_changes(release):
    found = statement(release)
    text = json.loads(found.to_json())
    assert text["format"] == 3 and text["fields"] == found.to_dict()
    copied = found.to_dict()
    copied["parameters"]["epsilon"] = 0.0
    assert found["parameters"]["epsilon"] == 1.0
    with pytest.raises(FrozenInstanceError):
        found.fields = {}
    assert Statement(found.to_dict()) == found


def test_what_is_not_json_is_refused(release):
    for bad in (object(), float("nan")):
        with pytest.raises(ParameterError, match="JSON"):
            statement(release, fields={"utility": bad})


def test_only_a_release_has_a_statement_and_messages_are_short(release):
    model = PrivateLogisticRegression()
    for wrong, remedy in ((GOAL, "Release"), (statement(release), "filled"), (model, r"statement_\.filled")):
        with pytest.raises(ParameterError, match=f"release must be.*{remedy}") as raised:
            statement(wrong)
        assert len(str(raised.value)) < 250
    for wrong in ([1], {"epsilon": 1.0}, 7):
        with pytest.raises(ParameterError, match="audits must be a list of findings"):
            statement(release, audits=wrong)
    with pytest.raises(ParameterError, match="fields must be a mapping"):
        statement(release).filled("curator")
    with pytest.raises(ParameterError, match="got an object of type ApproxDP"):
        statement(release).filled({GOAL: 1})


def test_text_has_a_line_for_every_item_and_indents_what_is_nested(release):
    given = {"links": ["one link", {"a": 1, "b": {"c": ["x", "y"]}}, [0, 1]], "utility": {}, "product": ["T1", "T2"]}
    text = str(statement(release, fields=given)).splitlines()
    assert text[0] == "Privacy: PRIVATE, within the limits stated below."
    assert text[1].startswith("Protection: Not rated: required fields are missing. The protection would be rated ")
    start = text.index("Links:")
    expected = ["  - one link", "  - a: 1", "    b:", "      c: x, y", "  - 0, 1"]
    assert text[start + 1 : start + 6] == expected
    assert "Utility: none" in text and "Released product: T1, T2" in text
    assert "  epsilon: 1.0" in text
    html = statement(release, fields=given)._repr_html_()
    assert '<div>b: <div style="margin-left:1em"><div>c: x, y</div></div></div>' in html


def test_it_can_be_read_and_rendered_and_everything_is_escaped(release):
    found = statement(release, fields={"curator": "<script>", "links": {"<a>": "<b>"}})
    assert "Curator: <script>" in str(found)
    html = found._repr_html_()
    rows = ElementTree.fromstring(html)  # it is well formed
    assert rows.tag == "table" and len(rows) == len(fields.FIELDS) + 1
    assert "&lt;script&gt;" in html and "&lt;a&gt;: &lt;b&gt;" in html
    assert "<script>" not in html and "<a>" not in html and "<b>" not in html


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Poisson(Gaussian(2.0), rate=0.1) * 3, "Poisson sampling at rate 0.1"),
        (WithoutReplacement(Gaussian(2.0), rate=0.1), "sampling without replacement at rate 0.1"),
        (Gaussian(2.0) * 7, "no sampling (every record is used)"),
    ],
    ids=["poisson", "without replacement", "none"],
)
def test_sampling_is_that_of_the_event(release, event, words):
    record = replace(release.record, event=json.loads(event_to_json(event)))
    found = statement(replace(release, record=record))["sampling"]
    assert found["assumed"] == found["run"] == words


def test_floating_point_noise_is_named_as_a_limit(release):
    assert run_facts.FAST not in statement(release)["limits"]
    fast = replace(release, record=replace(release.record, grade="fast"))
    assert run_facts.FAST in statement(fast)["limits"]


def test_statistics_have_statements_too():
    mean = Mean(PureDP(1.0, "replace_one"), bounds=(0, 1), n=4).release([0.1, 0.2, 0.3, 0.4])
    found = statement(mean)
    assert found["mechanism"]["name"] == "mean"
    assert found["public_quantities"]["n"] == 4
