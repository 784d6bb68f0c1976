# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger approve``: requests and limits."""

import json

import pytest

from dperm import GDP, RDP, ZCDP, ApproxDP, Gaussian, Pure, PureDP
from dperm.accounting.serialize import event_to_json
from dperm.errors import BudgetError
from dperm.ledger import Anchor, Ledger

APPROVE = "ledger approve census.ledger --by 'A. Officer' --reason 'as planned'"
LIMITS = {
    "--epsilon 4": (PureDP(3.0, "replace_one"), PureDP(4.0, "replace_one")),
    "--epsilon 5": (ApproxDP(3.0, 1e-6, "replace_one"), ApproxDP(5.0, 1e-6, "replace_one")),
    "--rho 4": (ZCDP(3.0, "replace_one"), ZCDP(4.0, "replace_one")),
    "--mu 4": (GDP(3.0, "replace_one"), GDP(4.0, "replace_one")),
    "--tau 4": (RDP([(8.0, 3.0)], "replace_one"), RDP([(8.0, 4.0)], "replace_one")),
}


@pytest.fixture
def census(tmp_path, monkeypatch):
    """A ledger whose account asks for approvals."""
    monkeypatch.chdir(tmp_path)
    return Ledger.open("census.ledger", PureDP(3.0, "replace_one"), dataset="census 2026", approval=True)


def test_a_request_that_was_approved_is_charged(dperm, census):
    with pytest.raises(BudgetError, match="approval"):
        census.reserve(Pure(0.25, "replace_one"), request_id="fit-7")
    result = dperm(f"{APPROVE} --request fit-7")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Approved request 'fit-7' in account 'main': any event, once." in result.stdout
    census.reserve(Pure(0.25, "replace_one"), request_id="fit-7").commit("sha256:00")
    assert census.entries()[1].body["by"] == "A. Officer"
    assert census.entries()[1].body["reason"] == "as planned"


def test_an_approval_of_an_event_is_of_no_other(dperm, census):
    assert "pure(0.25) * 2, once" in dperm(f"{APPROVE} --request fit-7 --event 'pure(0.25) * 2'").stdout
    with pytest.raises(BudgetError, match="another event"):
        census.reserve(Pure(0.5, "replace_one"), request_id="fit-7")
    census.reserve(Pure(0.25, "replace_one") * 2, request_id="fit-7").commit("sha256:00")


def test_the_event_may_be_in_a_file(answered, census, tmp_path):
    event = Pure(0.25, "replace_one") * 2
    (tmp_path / "event.json").write_text(event_to_json(event))
    data = answered(f"{APPROVE} --request fit-7 --event-file event.json")
    assert data["event"] == json.loads(event_to_json(event))
    assert (data["account"], data["request_id"]) == ("main", "fit-7")
    assert Anchor.from_receipt(data["anchor"]) == census.anchor()
    census.reserve(event, request_id="fit-7").commit("sha256:00")


def test_an_approval_that_nothing_asks_for_is_warned_about(dperm, census):
    Ledger.open("census.ledger", PureDP(1.0, "replace_one"), dataset="x", account="free")
    result = dperm(f"{APPROVE} --account free --request fit-7")
    assert result.exit_code == 0
    assert "Warning: account 'free' needs no approvals" in result.stderr


@pytest.mark.parametrize("line", LIMITS)
def test_a_limit_keeps_its_kind_and_changes_its_size(dperm, answered, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    before, after = LIMITS[line]
    blocks = 10 if isinstance(before, ApproxDP) else None
    ledger = Ledger.open("census.ledger", before, dataset="x", blocks=blocks)
    data = answered(f"{APPROVE} {line} --yes")
    assert ledger.limit == after
    assert [data["before"], data["after"]] == json.loads(json.dumps([data["before"], data["after"]]))
    assert data["before"] != data["after"]
    assert Anchor.from_receipt(data["anchor"]) == ledger.anchor()
    assert ledger.entries()[-1].body["reason"] == "as planned"


def test_what_a_larger_limit_means_is_said(dperm, census):
    out = dperm(f"{APPROVE} --epsilon 4 --yes").stdout
    assert "before  epsilon 3, replace_one" in out
    assert "after   epsilon 4, replace_one" in out
    assert "The guarantee of the old limit no longer holds" in out
    assert "The guarantee of the old limit still holds" in dperm(f"{APPROVE} --epsilon 3.5 --yes").stdout


def test_with_json_the_words_are_on_stderr(dperm, census):
    result = dperm(f"{APPROVE} --epsilon 4 --yes --json")
    assert json.loads(result.stdout)["after"]["epsilon"] == 4.0
    assert "no longer holds" in result.stderr


def test_nobody_to_ask_is_a_refusal(refused, census):
    assert "Add --yes" in refused(f"{APPROVE} --epsilon 4")
    assert census.limit == PureDP(3.0, "replace_one")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ["--request", "--epsilon", "neither was given"]),
        ("--request fit-7 --epsilon 4", ["both were given"]),
        ("--epsilon 4 --event 'pure(1)' --yes", ["--event and --event-file belong to --request"]),
        ("--epsilon 4 --rho 4 --yes", ["give one limit", "--epsilon and --rho"]),
        ("--rho 4 --yes", ["epsilon 3, replace_one", "its size is --epsilon, got --rho"]),
        ("--epsilon 3 --yes", ["already"]),
        ("--epsilon 0 --yes", ["--epsilon", "> 0"]),
        ("--epsilon much --yes", ["--epsilon", "'much'"]),
        ("--request fit-7 --event 'gauss(1)'", ["Did you mean gaussian?"]),
        ("--request fit-7 --event 'gaussian(?)'", ["?"]),
        ("--request fit-7 --event-file no-such.json", ["no-such.json"]),
        ("--request ''", ["request_id"]),
    ],
)
def test_a_wrong_request_is_refused(refused, census, line, words):
    said = refused(f"{APPROVE} {line}")
    for word in words:
        assert word in said
    assert len(census.entries()) == 1


@pytest.mark.parametrize("missing", ["--by 'A. Officer'", "--reason 'as planned'"])
def test_who_and_why_are_asked_for(refused, census, missing):
    assert missing.split()[0] in refused(f"{APPROVE} --request fit-7".replace(missing, ""))


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (f"{APPROVE} --request fit-1", "approved already"),
        (f"{APPROVE} --epsilon 0.125 --yes", "already spent"),
        (f"{APPROVE} --request fit-7 --account nobody", "no account 'nobody'"),
        (f"{APPROVE} --request fit-7".replace("census", "no-such"), "there is no ledger"),
    ],
)
def test_what_the_books_do_not_allow_is_refused(dperm, census, line, word):
    dperm(f"{APPROVE} --request fit-1")
    census.reserve(Pure(0.25, "replace_one"), request_id="fit-1").commit("sha256:00")
    before = census.anchor()
    result = dperm(line)
    assert result.exit_code == 3, result.output
    assert word in result.stderr
    assert "Traceback" not in result.stderr
    assert census.anchor() == before


def test_several_accounts_and_none_named_is_a_refusal(dperm, census):
    Ledger.open("census.ledger", PureDP(1.0, "replace_one"), dataset="x", account="other")
    result = dperm(f"{APPROVE} --request fit-7")
    assert result.exit_code == 3
    assert "--account must be given" in result.stderr
    assert "'main', 'other'" in result.stderr


def test_an_event_is_read_under_the_adjacency_of_the_account(dperm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    census = Ledger.open("census.ledger", ZCDP(3.0, "replace_one"), dataset="census 2026", approval=True)
    dperm(f"{APPROVE} --request fit-7 --event 'pure(0.25) + gaussian(2)'")
    assert census.entries()[-1].body["event"] == json.loads(event_to_json(Pure(0.25, "replace_one") + Gaussian(2.0)))


def test_an_event_that_can_never_be_charged_is_not_approved(refused, census):
    said = refused(f"{APPROVE} --request fit-7 --event 'gaussian(20)'")
    assert "--event: gaussian(20) can never be charged to account 'main', whose limit is epsilon 3" in said
    assert len(census.entries()) == 1


def test_a_limit_below_what_is_spent_is_refused_before_anything_is_said_about_it(dperm, census):
    dperm(f"{APPROVE} --request fit-1")
    census.reserve(Pure(0.25, "replace_one"), request_id="fit-1").commit("sha256:00")
    result = dperm(f"{APPROVE} --epsilon 0.125 --yes")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "still holds" not in result.stderr and "epsilon 0.25 is already spent" in result.stderr


def test_delta_never_changes_and_that_is_said(refused, census):
    assert "never changes" in refused(f"{APPROVE} --delta 1e-5 --yes")


def test_the_name_that_a_request_of_a_child_has_is_said(dperm, census):
    Ledger.open("census.ledger", PureDP(1.0, "replace_one"), dataset="x", account="child", parents=["main"])
    assert "use --request 'child/k1'" in dperm(f"{APPROVE} --account main --request k1").stderr
    assert dperm(f"{APPROVE} --account main --request child/k1").stderr == ""
    child = Ledger("census.ledger", "child")
    child.reserve(Pure(0.25, "replace_one"), request_id="k1").commit("sha256:00")
