# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is particular to the books in PostgreSQL; what all books have to do is tested with those in a file."""

import postgres
import pytest

from dperm import PureDP
from dperm.accounting import Pure
from dperm.accounting.budget import State
from dperm.errors import LedgerError
from dperm.ledger import Anchor, Entry, Ledger, transactions, verify
from dperm.ledger.books import Meter
from dperm.ledger.postgres import books as postgres_books
from dperm.ledger.postgres import connections
from dperm.ledger.stores import store_of
from dperm.ledger.units import MOST
from dperm.mechanisms.releases import Count

pytestmark = pytest.mark.filterwarnings("ignore:account .* is about the same data set")
OPEN = {"dataset": "census 2026", "unit": "one person"}
HALF = Pure(0.5, "replace_one")


@pytest.fixture
def url():
    with postgres.lent() as found:
        yield found


def opened(url, limit=1.0, **more):
    return Ledger.open(url, PureDP(limit, "replace_one"), **OPEN, **more)


def test_a_charge_is_reserved_committed_and_receipted(url):
    ledger = opened(url)
    reservation = ledger.reserve(HALF, request_id="a", facts={"noise": "laplace"})
    assert (reservation.state, reservation.repeated) == (State.RESERVED, False)
    reservation.commit("sha256:x")
    reservation.commit("sha256:x")
    receipt = reservation.receipt
    assert (reservation.state, receipt["seq"], receipt["releases"], receipt["open"]) == (State.COMMITTED, 3, 1, 0)
    assert Anchor.from_receipt(receipt).is_signed
    assert ledger.spent == {"epsilon": 0.5} and ledger.remaining == PureDP(0.5, "replace_one")
    assert [entry.kind.value for entry in ledger.entries()] == ["open", "reserve", "commit"]
    assert verify(url, [Anchor.from_receipt(receipt)], prices=True).problems == ()


def test_accounts_stand_in_the_order_in_which_they_were_opened(url):
    names = ["zebra", "ant", "Maus"]
    for name in names:
        opened(url, account=name)
    assert list(Ledger(url).accounts()) == names
    with pytest.raises(LedgerError, match="opened once"):
        opened(url, account="ant")
    with pytest.raises(LedgerError, match="must be existing accounts"):
        opened(url, account="bee", parents=["wasp"])
    with pytest.raises(LedgerError, match="no account 'bee'"):
        Ledger(url, account="bee").reserve(HALF)


def test_a_database_without_a_ledger_and_one_of_another_format_are_refused(url):
    with pytest.raises(LedgerError, match="holds none"):
        Ledger(url).reserve(HALF)
    opened(url)
    postgres.shared().run("ALTER TABLE dperm.ledger DISABLE TRIGGER ALL", url)
    postgres.shared().run("UPDATE dperm.ledger SET format = 99", url)
    with pytest.raises(LedgerError, match="has format 99"):
        Ledger(url).reserve(HALF)


STRANGE = {
    "floats": [0.1, 1e308, 5e-324, -0.0, 1 / 3, 123456789.123456789],
    "integers": [2**63, -(2**80), 0],
    "text": ["é漢字🎲", "\u0000", "\ud800", '"', "\\", "%s", "'; DROP TABLE dperm.entry; --", ""],
    "rest": [None, True, {"": {"b": 1, "a": 2}}],
}


def test_content_comes_back_exactly(url):
    name = """O'Brien "%s" é漢字🎲"""
    ledger = opened(url, account=name)
    ledger.reserve(HALF, request_id=name, facts=STRANGE).commit("sha256:é%s")
    (booking,) = ledger.bookings()
    assert repr(booking.facts) == repr(STRANGE)  # repr: -0.0 == 0.0
    assert (booking.request_id, booking.digest) == (name, "sha256:é%s")
    assert all(isinstance(entry, Entry) and entry.hash == entry.content_hash for entry in ledger.entries())
    assert verify(url).problems == ()


def test_the_largest_account_fits(url):
    opened(url, 2.0**22)
    with store_of(url).write(["main"]) as books:
        books.set_meter("main", "epsilon", Meter(MOST, MOST - 1))
    with store_of(url).read() as books:
        assert books.meters("main") == {"epsilon": Meter(MOST, MOST - 1)}


def test_seeded_runs_are_counted_whatever_else_the_facts_say(url):
    ledger = opened(url, 100.0)
    said = [
        {"seeded": True},
        {"seeded": False},
        {"note": '"seeded": true'},
        {"x": {"seeded": True}},
        {"\u0000": "\ud800"},
    ]
    for facts in [*said, {"seeded": True, "note": "\u0000\ud800"}]:
        reservation = ledger.reserve(HALF, facts=facts)
    assert (reservation.receipt["seeded"], reservation.receipt["open"]) == (2, 6)


def test_a_long_account_is_read_by_the_page(url, monkeypatch):
    monkeypatch.setattr(postgres_books, "_PAGE", 3)
    ledger = opened(url, 100.0)
    for _ in range(7):
        ledger.reserve(HALF)
    assert [entry.seq for entry in ledger.entries()] == list(range(1, 9))
    assert verify(url).accounts["main"].entries == 8


def test_an_older_copy_of_the_database_is_a_valid_ledger_and_an_anchor_tells(url):
    ledger = opened(url)
    reservation = ledger.reserve(HALF)
    connections.forget(url)  # a database that is copied must have no connections
    older = postgres.shared().database(template=url)
    reservation.commit("sha256:x")
    assert verify(older).problems == ()
    assert verify(url, [ledger.anchor()]).problems == ()
    (problem,) = verify(older, [ledger.anchor()]).problems
    assert "older state" in problem


def test_a_reservation_that_the_server_forgot_is_not_closed_in_the_place_of_another(url):
    ledger = opened(url)
    lost = ledger.reserve(HALF)
    server = postgres.shared()
    server.run("ALTER TABLE dperm.entry DISABLE TRIGGER ALL; ALTER TABLE dperm.meter DISABLE TRIGGER ALL", url)
    server.run("DELETE FROM dperm.entry WHERE seq = 2; UPDATE dperm.meter SET spent = 0", url)
    transactions._last.clear()  # as in another process
    ledger.reserve(HALF)
    transactions._last.clear()
    with pytest.raises(LedgerError, match="older state"):
        lost.commit("sha256:x")


def test_a_mechanism_charges_it_and_carries_the_anchor(url):
    ledger = opened(url)
    released = Count(PureDP(0.5, "replace_one")).release([True, False], budget=ledger)
    assert 0.4999 < ledger.spent["epsilon"] <= 0.5
    assert verify(url, [Anchor.from_receipt(released.record.ledger)]).problems == ()
