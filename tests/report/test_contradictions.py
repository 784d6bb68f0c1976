# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A statement that contradicts itself is not read: whatever is read back can be shown, and says one thing."""

import json
import random

import pytest
from statements import RECEIPT, booked, fitted, kinds

from dperm import GDP, RDP, ZCDP, PureDP
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import EventFormatError, NotPrivateWarning
from dperm.mechanisms import GaussianMechanism, LaplaceMechanism
from dperm.noise import NotPrivateBits
from dperm.report import Statement, fields, page, statement
from dperm.report.contradictions import NO_PROMISE

KINDS = pytest.mark.parametrize("kind", kinds())
ODD = (None, True, 0, -1.5, "x", "", "nothing", [], [1], [[]], {}, {"a": 1}, {"known": 1}, {"limit": 3}, {"spent": 1})
GAUSSIAN = {"zcdp": ZCDP(0.5, "add_remove"), "gdp": GDP(1.0, "replace_one"), "rdp": RDP([(2.0, 1.0)], "add_remove")}


def forged(found: Statement, **changes: object) -> str:
    """The JSON of a statement with other fields; what it says of itself fits them."""
    made = Statement({**found.to_dict(), **changes})
    return made.to_json()


def refused(text: str, words: str) -> None:
    with pytest.raises(EventFormatError, match=f"^cannot read a statement: .*{words}"):
        Statement.from_json(text)


@pytest.mark.parametrize("kind", ["seeded", "seeded and booked", "without noise"])
def test_a_run_that_is_not_private_does_not_become_private_by_a_word(kind):
    refused(forged(kinds()[kind], status=fields.PRIVATE), "PRIVATE, but")
    promise = {name: fitted().statement_[name] for name in (*NO_PROMISE, "goal", "adjacency")}
    refused(forged(kinds()[kind], status=fields.PRIVATE, **promise), "NOT PRIVATE|is empty")


@pytest.mark.parametrize("status", ["private", "PRIVATE", "NOT PRIVATE: or is it?", "", None, 1], ids=str)
def test_there_are_no_other_words_for_it(status):
    refused(forged(fitted().statement_, status=status), "status")


@pytest.mark.parametrize("name", [*NO_PROMISE, "mechanism", "noise_source", "accountant", "sampling"])
def test_a_promise_says_something_in_every_field(name):
    refused(forged(fitted().statement_, **{name: "nothing" if name in NO_PROMISE else "none"}), name)


@pytest.mark.parametrize("name", NO_PROMISE)
@pytest.mark.parametrize("kind", ["seeded", "without noise"])
def test_where_nothing_is_promised_every_field_says_so(kind, name):
    refused(forged(kinds()[kind], **{name: fitted().statement_[name]}), f"NOT PRIVATE, but its {name}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parameters", {"epsilon": 0.001, "delta": 1e-6}),
        ("parameters", {"epsilon": 1.0}),
        ("parameters", {"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-6}),
        ("parameters", {"epsilon": True, "delta": 1e-6}),
        ("goal", {"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-6, "adjacency": "add_remove"}),
        ("goal", {"kind": "PureDP", "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}),
        ("goal", {"kind": "ApproxDP", "epsilon": -1.0, "delta": 1e-6, "adjacency": "replace_one"}),
        ("goal", {"kind": "Best", "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}),
        ("goal", "nothing"),
        ("adjacency", "add_remove"),
    ],
    ids=str,
)
def test_what_was_asked_for_is_what_is_promised(name, value):
    refused(forged(fitted().statement_, **{name: value}), "goal")


def test_a_flavour_is_that_of_its_goal():
    refused(forged(fitted().statement_, flavour=fields.FLAVOURS["PureDP"]), "flavour")


@pytest.mark.parametrize("meaning", [["x", 1], [], "good", [""]], ids=str)
def test_a_meaning_is_a_list_of_sentences(meaning):
    refused(forged(fitted().statement_, meaning=meaning), "meaning")


@pytest.mark.parametrize("name", fitted().statement_["profile"])
def test_a_profile_is_complete(name):
    profile = fitted().statement_["profile"]
    refused(
        forged(fitted().statement_, profile={key: value for key, value in profile.items() if key != name}), "profile"
    )
    refused(forged(fitted().statement_, profile={**profile, name: "x"}), "profile")


@pytest.mark.parametrize("change", [{"accuracy": 1.5}, {"advantage": -0.1}, {"gdp_mu": True}, {"more": 1}], ids=str)
def test_a_profile_has_the_numbers_of_one(change):
    refused(forged(fitted().statement_, profile={**fitted().statement_["profile"], **change}), "profile")
    refused(forged(fitted().statement_, profile={}), "profile")


def test_noise_and_limits_of_a_promise_do_not_say_not_private():
    found = fitted().statement_
    seeded = kinds()["seeded"]
    refused(forged(found, noise_source=seeded["noise_source"]), "NOT PRIVATE")
    refused(forged(found, limits=[*found["limits"], fields.SEEDED]), "NOT PRIVATE")
    refused(forged(seeded, limits=found["limits"]), "limits do not say so")


def test_where_all_that_was_charged_is_seeded_this_release_is_too():
    counts = {"burned": 0, "open": 0}
    refused(booked(releases=1, seeded=1, **counts).to_json(), "NOT PRIVATE")
    for releases, seeded in ((2, 1), (1, 0)):
        found = booked(releases=releases, seeded=seeded, **counts)
        assert Statement.from_json(found.to_json()) == found


@pytest.mark.parametrize("private", [1, 0, "true", None, False], ids=str)
def test_whether_it_is_private_is_true_or_false(private):
    data = json.loads(fitted().statement_.to_json())
    refused(json.dumps({**data, "private": private}), "do not follow from its fields")


def test_keys_are_all_there_once_and_no_others():
    text = fitted().statement_.to_json()
    data = json.loads(text)
    refused(json.dumps({**data, "x": 1}), "and no others")
    for name in data:
        refused(json.dumps({key: value for key, value in data.items() if key != name}), "")
    refused(text.replace('"private": true', '"private": false, "private": true'), "twice")
    refused(text.replace('"epsilon": 1.0', '"epsilon": 9.0, "epsilon": 1.0', 1), "twice")


@pytest.mark.parametrize(
    "change", [{"limit": 3}, {"limit": {}}, {"spent": {}}, {"capacity": {"epsilon": "3"}}], ids=str
)
def test_a_receipt_has_a_limit_and_numbers(change):
    refused(forged(booked(), ledger_entry={**RECEIPT, **change}), "ledger_entry")


@pytest.mark.parametrize("name", GAUSSIAN)
def test_statements_of_every_guarantee_are_read_back(name):
    mechanism = GaussianMechanism.calibrate(1.0, GAUSSIAN[name], dim=1)
    found = statement(mechanism.release([1.0]), audits=[{"epsilon": 0.5}])
    assert found.is_private and Statement.from_json(found.to_json()) == found


@pytest.mark.parametrize("seed", [None, 3], ids=["private", "seeded"])
@pytest.mark.filterwarnings(f"ignore::{NotPrivateWarning.__module__}.{NotPrivateWarning.__name__}")
def test_statements_of_a_budget_in_memory_are_read_back(seed):
    bits = {} if seed is None else {"bits": NotPrivateBits(seed)}
    mechanism = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove"))
    found = statement(mechanism.release(3.0, budget=MemoryBudget(PureDP(2.0, "add_remove")), **bits))
    assert found.is_private == (seed is None)
    for each in (found, found.filled({name: {"known": 1} for name in found.gaps})):
        assert Statement.from_json(each.to_json()) == each


@KINDS
def test_whatever_is_read_can_be_shown_and_is_written_as_it_was_read(kind, monkeypatch):
    monkeypatch.setattr("dperm.report.figures.can_draw", lambda: False)
    plain, generator = kinds()[kind].to_dict(), random.Random(kind)
    read = 0
    for name in [name for name in plain for _ in range(4)]:
        changed = json.loads(json.dumps(plain))
        inner, key = changed, name
        while isinstance(inner[key], dict) and inner[key] and generator.random() < 0.6:
            inner, key = inner[key], generator.choice(list(inner[key]))
        inner[key] = generator.choice(ODD)
        text = Statement(changed).to_json()
        try:
            found = Statement.from_json(text)
        except EventFormatError:
            continue
        assert found.to_json() == text
        assert page(found) and found.to_markdown() and str(found) and found._repr_html_()
        read += 1
    assert read > 10
