# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Signed words about a line, and keyed fingerprints of files."""

import json
from dataclasses import replace

import pytest

from dperm import Laplace, PureDP
from dperm.accounting import MemoryBudget
from dperm.errors import LedgerError, ParameterError
from dperm.ledger import Anchor, Ledger, receipt_is_signed, verify
from dperm.ledger.anchor import Identity

ADD = "add_remove"


@pytest.fixture
def ledger(open_at):
    opened = open_at(PureDP(1.0, ADD))
    opened.reserve(Laplace(8.0), request_id="a").commit("sha256:1")
    return opened


def test_an_anchor_is_a_signed_word_about_the_last_line(ledger):
    anchor, last = ledger.anchor(), ledger.entries()[-1]
    assert (anchor.account, anchor.seq, anchor.hash) == ("main", last.seq, last.hash)
    assert anchor.is_signed
    assert verify(ledger.location, [anchor]).ok
    assert verify(ledger.location, [anchor]).anchors == 1
    assert Anchor.from_json(anchor.to_json()) == anchor


def test_an_anchor_stays_good_while_the_ledger_goes_on(ledger):
    anchor = ledger.anchor()
    ledger.reserve(Laplace(8.0)).commit("sha256:2")
    ledger.change_limit(PureDP(2.0, ADD), reason="more", by="owner")
    assert verify(ledger.location, [anchor, ledger.anchor()]).ok


def test_a_receipt_carries_one(ledger):
    receipt = ledger.reserve(Laplace(8.0), request_id="a").receipt
    assert Anchor.from_receipt(receipt) == ledger.anchor()
    assert Anchor.from_receipt(json.loads(json.dumps(dict(receipt)))).is_signed


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 2},
        {"hash": "0" * 64},
        {"account": "other"},
        {"ledger": "0" * 32},
        {"public_key": "0" * 64},
        {"public_key": "no hex"},
        {"signature": "00" * 64},
        {"signature": "no hex"},
        {"signature": ""},
    ],
)
def test_a_changed_anchor_is_not_signed_and_verify_says_so(ledger, change):
    forged = replace(ledger.anchor(), **change)
    assert not forged.is_signed
    (problem,) = verify(ledger.location, [forged]).problems
    assert "is not signed by its ledger: it was changed, or forged" in problem


def test_an_anchor_of_another_key_pair_does_not_pass_for_this_ledger(ledger, tmp_path):
    other = Ledger.open(tmp_path / "other.ledger", PureDP(1.0, ADD), dataset="d")
    other.reserve(Laplace(8.0)).commit("sha256:1")
    assert other.anchor().is_signed
    (problem,) = verify(ledger.location, [other.anchor()]).problems
    assert "is of another ledger" in problem
    posing = replace(other.anchor(), ledger=ledger.anchor().ledger)
    assert not posing.is_signed


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"ledger": "a"}', '{"seq": "1"}'])
def test_other_text_is_no_anchor(text):
    with pytest.raises((LedgerError, ParameterError), match=r"anchor|receipt"):
        Anchor.from_json(text)


def test_a_release_that_was_charged_to_no_ledger_has_none():
    budget = MemoryBudget(PureDP(1.0, ADD))
    for receipt in ({}, budget.reserve(Laplace(8.0)).receipt):
        with pytest.raises(LedgerError, match="was not charged to a ledger"):
            Anchor.from_receipt(receipt)


def test_a_boolean_is_no_number(ledger):
    receipt = {**ledger.reserve(Laplace(8.0), request_id="a").receipt, "seq": True}
    with pytest.raises(LedgerError, match="no anchor"):
        Anchor.from_receipt(receipt)


def test_fingerprints_know_the_files_of_an_account_and_are_keyed(open_at, tmp_path):
    file, copy, other = (tmp_path / name for name in ("data.csv", "copy.csv", "other.csv"))
    file.write_bytes(b"age\n41\n"), copy.write_bytes(b"age\n41\n"), other.write_bytes(b"age\n42\n")
    ledger = open_at(PureDP(1.0, ADD), files=[file])
    known = ledger.account_facts.fingerprints
    assert known == (ledger.fingerprint(file),) == (ledger.fingerprint(str(copy)),)
    assert ledger.fingerprint(other) not in known
    elsewhere = Ledger.open(tmp_path / "b.ledger", PureDP(1.0, ADD), dataset="d", files=[file])
    assert elsewhere.account_facts.fingerprints != known, "whoever has the file alone must not recognize it"


def test_a_missing_file_is_not_taken_for_a_missing_ledger(ledger, tmp_path):
    with pytest.raises(FileNotFoundError):
        ledger.fingerprint(tmp_path / "no such file")


@pytest.mark.parametrize(
    "change",
    [
        {"limit": {"kind": "PureDP", "epsilon": 0.1, "adjacency": ADD}},
        {"unit": "one household"},
        {"spent": {"epsilon": 0.0}},
        {"digest": "sha256:other"},
        {"seeded": 3},
        {"parents": ["census"]},
        {"approved": True},
        {"receipt_signature": "00" * 64},
        {"receipt_signature": None},
        {"signature": "00" * 64},
        {"note": object()},
    ],
)
def test_a_receipt_is_signed_word_for_word(ledger, change):
    receipt = ledger.reserve(Laplace(8.0), request_id="a").receipt
    assert receipt_is_signed(receipt)
    assert receipt_is_signed(dict(reversed(json.loads(json.dumps(receipt)).items())))
    assert not receipt_is_signed({**receipt, **change})
    assert not receipt_is_signed({name: value for name, value in receipt.items() if name != "unit"})


def test_a_receipt_of_another_key_is_not_that_of_the_ledger(ledger, tmp_path):
    other = Ledger.open(tmp_path / "other.ledger", PureDP(9.0, ADD), dataset="d").reserve(Laplace(8.0)).receipt
    own = ledger.reserve(Laplace(8.0), request_id="a").receipt
    mixed = {**own, **{name: other[name] for name in ("public_key", "receipt_signature")}}
    assert not receipt_is_signed(mixed)
    strange = Identity.generate()
    posing = {name: value for name, value in own.items() if name != "receipt_signature"}
    assert not receipt_is_signed(strange.sign_receipt({**posing, "public_key": strange.public_key}))
    with pytest.raises(LedgerError, match="contains no anchor"):
        receipt_is_signed({})
