# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accounts whose owner approves every release."""

import pytest

from dperm import Pure, PureDP
from dperm.accounting import charged
from dperm.errors import BudgetError, ParameterError
from dperm.ledger import EntryKind, Ledger, verify

ADD = "add_remove"
QUARTER = Pure(0.25, ADD)
WHO = {"reason": "in the plan", "by": "the owner"}


@pytest.fixture
def ledger(open_at):
    return open_at(PureDP(1.0, ADD), account="census", approval=True)


def asked(ledger, request_id):
    return Ledger(ledger.location, ledger.account, request_id)


def test_without_an_approval_nothing_is_charged(ledger):
    for ask in (ledger.check, ledger.reserve, asked(ledger, "a").check, asked(ledger, "a").reserve):
        with pytest.raises(BudgetError, match="account 'census' asks for an approval of every release"):
            ask(QUARTER)
    assert [line.kind for line in ledger.entries()] == [EntryKind.OPEN]


def test_an_approved_request_is_charged_once(ledger):
    ledger.approve("a", **WHO)
    asked(ledger, "a").check(QUARTER)
    with charged(asked(ledger, "a"), QUARTER) as reservation:
        reservation.commit("sha256:1")
    with pytest.raises(BudgetError, match="was charged before"), charged(asked(ledger, "a"), QUARTER):
        raise AssertionError("a second draw")
    with pytest.raises(BudgetError, match="asks for an approval"):
        ledger.reserve(QUARTER, request_id="b")
    (line,) = [line for line in ledger.entries() if line.kind is EntryKind.APPROVE]
    assert (line.request_id, line.body) == ("a", {**WHO, "event": None})
    assert verify(ledger.location).ok


def test_an_approval_of_an_event_is_for_that_event(ledger):
    ledger.approve("a", event=QUARTER, **WHO)
    with pytest.raises(BudgetError, match="is for another event"):
        ledger.reserve(Pure(0.5, ADD), request_id="a")
    ledger.reserve(QUARTER, request_id="a")
    assert verify(ledger.location).ok


def test_an_approval_is_no_budget(ledger):
    ledger.approve("a", **WHO)
    with pytest.raises(BudgetError, match=r"but only .* of the limit of"):
        ledger.reserve(Pure(2.0, ADD), request_id="a")


def test_an_id_is_approved_once(ledger):
    ledger.approve("a", **WHO)
    with pytest.raises(BudgetError, match="request id 'a' is approved already"):
        ledger.approve("a", event=QUARTER, **WHO)


def test_a_child_is_no_way_around_the_approval_of_its_parent(open_at, ledger):
    child = open_at(PureDP(1.0, ADD), account="north", parents=["census"])
    with pytest.raises(BudgetError, match=r"account 'census' asks for an approval .* id 'north/a' is not given"):
        child.reserve(QUARTER, request_id="a")
    ledger.approve("north/a", **WHO)
    child.reserve(QUARTER, request_id="a")
    assert (child.spent, ledger.spent) == ({"epsilon": 0.25}, {"epsilon": 0.25})
    assert verify(ledger.location).ok


def test_the_approval_of_a_child_s_release_pays_for_no_other(open_at, ledger):
    open_at(PureDP(1.0, ADD), account="north", parents=["census"])
    ledger.approve("north/a", **WHO)
    with pytest.raises(ParameterError, match='request_id must have no "/"'):
        ledger.reserve(QUARTER, request_id="north/a")
    assert ledger.bookings() == ()


BAD = ["", "a\0", "/a", "a/", "a/b/c", "x" * 201, None, f"a/{'x' * 201}"]


@pytest.mark.parametrize("given", [{"by": ""}, {"reason": None}, *({"request_id": bad} for bad in BAD)])
def test_an_approval_says_who_and_why(ledger, given):
    arguments = {"request_id": "a", **WHO, **given}
    with pytest.raises(ParameterError):
        ledger.approve(arguments.pop("request_id"), **arguments)
