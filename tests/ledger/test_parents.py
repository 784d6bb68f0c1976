# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accounts that overlap: a charge to one is a charge to all of its parents, or to none."""

import pytest

from dperm import ApproxDP, Laplace, Pure, PureDP
from dperm.errors import BudgetError, ParameterError
from dperm.ledger import Ledger, verify
from dperm.ledger.anchor import receipt_is_signed
from dperm.privacy import ZCDP

ADD = "add_remove"
QUARTER = Pure(0.25, ADD)
pytestmark = pytest.mark.filterwarnings("ignore:account .* remaining, but its ancestor")


@pytest.fixture
def diamond(open_at, location):
    """A census, two extracts, and a table joined from both."""
    open_at(PureDP(1.0, ADD), account="census")
    open_at(PureDP(2.0, ADD), account="north", parents=["census"])
    open_at(ApproxDP(2.0, 1e-6, ADD), account="old", blocks=9, parents=["census"])
    open_at(ZCDP(2.0, ADD), account="joined", parents=("north", "old", "north"))
    return {name: Ledger(location, name) for name in ("census", "north", "old", "joined")}


def lines(ledgers):
    return {name: len(ledger.entries()) for name, ledger in ledgers.items()}


def test_parents_are_declared_once_each(diamond):
    assert diamond["joined"].account_facts.parents == ("north", "old")


def test_a_charge_reaches_every_account_above_once(diamond, location):
    diamond["joined"].reserve(QUARTER, request_id="a").commit("sha256:1")
    assert lines(diamond) == dict.fromkeys(diamond, 3)
    assert diamond["census"].spent == {"epsilon": 0.25}
    assert diamond["joined"].spent == {"rho": 0.03125}
    assert [diamond[name].bookings()[0].request_id for name in diamond] == ["joined/a", "joined/a", "joined/a", "a"]
    assert all(ledger.bookings()[0].state == "committed" for ledger in diamond.values())
    assert verify(location, prices=True).ok


def test_the_receipt_has_limit_and_spending_of_every_ancestor_and_is_signed(diamond):
    diamond["north"].reserve(QUARTER).commit("sha256:0")
    reservation = diamond["joined"].reserve(QUARTER, request_id="a")
    reservation.commit("sha256:1")
    receipt = reservation.receipt
    above = {one["account"]: one for one in receipt["ancestors"]}
    assert list(above) == ["north", "old", "census"] and receipt_is_signed(receipt)
    assert above["census"]["limit"]["epsilon"] == 1.0 and above["census"]["spent"] == {"epsilon": 0.5}
    assert above["old"]["spent"]["epsilon"] == pytest.approx(0.25) and above["north"]["parents"] == ["census"]
    assert [one["releases"] for one in above.values()] == [2, 1, 2] and above["census"]["parents"] == []
    assert "ancestors" not in diamond["census"].reserve(QUARTER).receipt
    edited = [{**one, "limit": {**one["limit"], "epsilon": 0.1}} for one in receipt["ancestors"]]
    assert not receipt_is_signed({**receipt, "ancestors": edited})


def test_a_parent_that_is_short_stops_everything(diamond):
    diamond["census"].reserve(Pure(0.9, ADD))
    before = lines(diamond)
    for ask in (diamond["joined"].reserve, diamond["joined"].check):
        with pytest.raises(BudgetError, match=r"of the limit of 1.0 remains in account 'census'. Nothing was charged"):
            ask(QUARTER)
    assert lines(diamond) == before
    assert diamond["joined"].spent == {"rho": 0.0}


def test_a_child_that_is_short_spares_its_parents(diamond):
    diamond["north"].reserve(QUARTER)
    before = lines(diamond)
    with pytest.raises(BudgetError, match="remains in account 'joined'"):
        diamond["joined"].reserve(Pure(3.0, ADD))
    assert lines(diamond) == before


def test_closing_closes_everywhere(diamond):
    diamond["joined"].reserve(QUARTER).burn("stopped")
    assert {ledger.bookings()[0].reason for ledger in diamond.values()} == {"stopped"}


def test_repeating_a_request_charges_nobody(diamond):
    first = diamond["joined"].reserve(QUARTER, request_id="a")
    before = lines(diamond)
    again = diamond["joined"].reserve(QUARTER, request_id="a")
    assert (again.repeated, again.places) == (True, first.places)
    assert lines(diamond) == before


def test_the_same_id_in_two_accounts_is_two_requests(diamond):
    for name in ("north", "old", "census"):
        diamond[name].reserve(QUARTER, request_id="a")
    assert [one.request_id for one in diamond["census"].bookings()] == ["north/a", "old/a", "a"]


def test_no_id_and_no_account_looks_like_a_child_s_charge(diamond, open_at):
    """Charged to the parent alone, it would pay for the child's release, or use an approval of it."""
    before = lines(diamond)
    for ask in (
        lambda: diamond["census"].reserve(QUARTER, request_id="north/a"),
        lambda: Ledger(diamond["census"].location, "census", "north/a"),
        lambda: Ledger(diamond["census"].location, "north/a"),
        lambda: open_at(PureDP(1.0, ADD), account="north/a"),
    ):
        with pytest.raises(ParameterError, match='must have no "/"'):
            ask()
    assert lines(diamond) == before


def test_a_child_is_about_the_same_unit_as_its_parents(open_at):
    """A release about one visit says nothing of a person with several."""
    open_at(PureDP(1.0, ADD), account="people", unit="one person")
    with pytest.raises(
        ParameterError,
        match=r"unit must equal the unit 'one person' of the parent 'people', .*'one visit'",
    ):
        open_at(PureDP(1.0, ADD), account="visits", unit="one visit", parents=["people"])
    assert Ledger.accounts(open_at(PureDP(1.0, ADD), account="others", unit="one visit")) == ("people", "others")


def test_accounts_below_pay_nothing_for_a_charge_above(diamond):
    diamond["census"].reserve(QUARTER)
    assert lines(diamond) == {"census": 2, "north": 1, "old": 1, "joined": 1}


def test_an_event_without_a_price_above_is_refused(open_at, location):
    open_at(PureDP(1.0, "replace_one"), account="census")
    ledger = open_at(PureDP(1.0, ADD), account="north", parents=["census"])
    ledger.reserve(Laplace(8.0))
    assert (ledger.spent, Ledger(location, "census").spent) == ({"epsilon": 0.125}, {"epsilon": 0.25})
