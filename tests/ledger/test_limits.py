# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Changing the size of a budget, for everybody to see."""

import pytest

from dperm import ApproxDP, Gaussian, Pure, PureDP
from dperm.errors import BudgetError, ParameterError
from dperm.ledger import EntryKind, Ledger, verify
from dperm.privacy import GDP, RDP

ADD = "add_remove"
WHO = {"reason": "a second year of data", "by": "the owner"}


@pytest.fixture
def ledger(open_at):
    opened = open_at(PureDP(1.0, ADD))
    opened.reserve(Pure(0.75, ADD))
    return opened


def test_a_limit_is_raised_and_the_books_say_when_by_whom_and_why(ledger):
    ledger.change_limit(PureDP(2.0, ADD), **WHO)
    again = Ledger(ledger.location)
    assert (again.limit, again.remaining, again.capacity) == (PureDP(2.0, ADD), PureDP(1.25, ADD), {"epsilon": 2.0})
    again.reserve(Pure(1.25, ADD))
    line = ledger.entries()[2]
    assert line.kind is EntryKind.LIMIT
    limit = {"kind": "PureDP", "epsilon": 2.0, "adjacency": ADD}
    assert line.body == {"limit": limit, "promise": limit, **WHO}
    assert verify(ledger.location, prices=True).accounts["main"].capacity == {"epsilon": 2.0}
    assert verify(ledger.location, prices=True).ok


def test_units_are_those_of_the_opening_so_a_limit_can_be_raised_only_so_far(ledger):
    """At least sixteenfold. The units of old lines must not change their meaning."""
    for epsilon in (0.8, 3.3, 16.0):
        ledger.change_limit(PureDP(epsilon, ADD), **WHO)
        assert ledger.spent == {"epsilon": 0.75}
        assert ledger.remaining.epsilon == pytest.approx(epsilon - 0.75, abs=1e-15)
    with pytest.raises(ParameterError, match=r"must be at most epsilon=64 in this account, got .* Open another"):
        ledger.change_limit(PureDP(100.0, ADD), **WHO)
    ledger.reserve(Pure(15.25, ADD))
    assert ledger.remaining == PureDP(0.0, ADD)
    assert verify(ledger.location, prices=True).ok


def test_a_limit_is_lowered_to_what_is_spent_and_no_further(ledger):
    before = ledger.entries()
    with pytest.raises(BudgetError, match=r"must be at least the spent amount, epsilon=0.75; charges are not refunded"):
        ledger.change_limit(PureDP(0.5, ADD), **WHO)
    assert ledger.entries() == before
    ledger.change_limit(PureDP(0.75, ADD), **WHO)
    with pytest.raises(BudgetError, match=r"only epsilon=0.0 of the limit of 0.75 remains"):
        ledger.reserve(Pure(1e-9, ADD))
    assert verify(ledger.location).ok


@pytest.mark.parametrize(
    ("opened", "declared", "other"),
    [
        (PureDP(1.0, ADD), {}, PureDP(2.0, "replace_one")),
        (PureDP(1.0, ADD), {}, GDP(2.0, ADD)),
        (PureDP(1.0, ADD), {}, "more"),
        (ApproxDP(1.0, 1e-6, ADD), {"blocks": 10}, ApproxDP(2.0, 1e-5, ADD)),
        (ApproxDP(1.0, 1e-6, ADD), {"blocks": 10}, ApproxDP(2.0, 1.0000000000000002e-06, ADD)),
        (ApproxDP(1.0, 1e-6, ADD), {"blocks": 10}, ApproxDP(2.0, 0.0, ADD)),
        (ApproxDP(1.0, 1e-6, ADD), {"blocks": 10, "composition": "advanced"}, ApproxDP(2.0, 1e-5, ADD)),
        (RDP([(8.0, 1.0)], ADD), {}, RDP([(4.0, 2.0)], ADD)),
        (RDP([(8.0, 1.0)], ADD), {}, RDP([(8.0, 2.0), (4.0, 1.0)], ADD)),
    ],
)
def test_only_the_size_changes(open_file, opened, declared, other):
    ledger = open_file(opened, **declared)
    with pytest.raises(ParameterError, match="limit"):
        ledger.change_limit(other, **WHO)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("composition", ["basic", "advanced"])
def test_an_approximate_limit_keeps_its_delta_and_its_shares(open_at, composition):
    ledger = open_at(ApproxDP(1.0, 1e-6, ADD), blocks=10, composition=composition)
    ledger.reserve(Gaussian(50.0))
    ledger.change_limit(ApproxDP(2.0, 1e-6, ADD), **WHO)
    ledger.reserve(Gaussian(50.0))
    assert ledger.account_facts.blocks == 10
    assert verify(ledger.location, prices=True).ok
    costs = [booking.cost for booking in ledger.bookings()]
    assert costs[0] == costs[1]


def test_a_change_between_pricing_and_charging_is_minded(ledger, monkeypatch):
    """The price does not depend on the size of the limit, and what remains is read when it is charged."""
    priced = Ledger._charges

    def lowered_meanwhile(self, line, event, request_id):
        charges = priced(self, line, event, request_id)
        monkeypatch.setattr(Ledger, "_charges", priced)
        ledger.change_limit(PureDP(0.8, ADD), **WHO)
        return charges

    monkeypatch.setattr(Ledger, "_charges", lowered_meanwhile)
    with pytest.raises(BudgetError):
        ledger.reserve(Pure(0.25, ADD))
    assert ledger.spent == {"epsilon": 0.75}


@pytest.mark.parametrize("given", [{"reason": ""}, {"by": None}])
def test_a_change_says_who_and_why(ledger, given):
    with pytest.raises(ParameterError):
        ledger.change_limit(PureDP(2.0, ADD), **{**WHO, **given})


def test_a_receipt_says_how_the_limit_came_to_be_what_it_is(open_at):
    ledger = open_at(PureDP(1.0, ADD))
    first = ledger.reserve(Pure(0.5, ADD))
    assert "limit_changes" not in first.receipt and "opening_limit" not in first.receipt
    ledger.change_limit(PureDP(2.0, ADD), reason="a second study", by="the board")
    ledger.change_limit(PureDP(3.0, ADD), reason="a third", by="the board")
    receipt = ledger.reserve(Pure(0.5, ADD)).receipt
    assert receipt["opening_limit"]["epsilon"] == 1.0 and receipt["limit"]["epsilon"] == 3.0
    assert [(one["limit"]["epsilon"], one["reason"], one["by"], one["after"]) for one in receipt["limit_changes"]] == [
        (2.0, "a second study", "the board", 1),
        (3.0, "a third", "the board", 1),
    ]


def test_a_lowered_limit_promises_no_less(open_at):
    """Who spends a little, looks, and stops, could have spent 10: what is promised was fixed before."""
    ledger = open_at(PureDP(10.0, ADD))
    ledger.reserve(Pure(0.0625, ADD))
    assert ledger.promise == ledger.limit == PureDP(10.0, ADD)
    assert "promise" not in ledger.reserve(Pure(0.0, ADD)).receipt
    for epsilon, promised in ((0.0625, 10.0), (0.5, 10.0), (12.0, 12.0), (1.0, 12.0)):
        ledger.change_limit(PureDP(epsilon, ADD), **WHO)
        assert (ledger.limit, ledger.promise) == (PureDP(epsilon, ADD), PureDP(promised, ADD))
        receipt = ledger.reserve(Pure(0.0, ADD)).receipt
        assert receipt.get("promise", receipt["limit"])["epsilon"] == promised
    assert [set(one) for one in receipt["limit_changes"]] == [{"at", "limit", "reason", "by", "after"}] * 4
    assert verify(ledger.location, prices=True).ok


@pytest.mark.parametrize("composition", ["basic", "advanced"])
def test_nothing_remains_when_every_block_is_used(open_at, composition):
    ledger = open_at(ApproxDP(1.0, 1e-6, ADD), blocks=2, composition=composition)
    ledger.reserve(Pure(0.01, ADD))
    assert ledger.remaining.epsilon > 0.2
    ledger.reserve(Pure(0.01, ADD))
    assert ledger.remaining == ApproxDP(0.0, 0.0, ADD)
