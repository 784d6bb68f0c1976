# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Leases of draws: the last who took over a reservation holds it, and draws of others are never leased again."""

import pickle
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from dperm import Pure, PureDP
from dperm.errors import BudgetError, SupersededError
from dperm.ledger import EntryKind, Ledger, verify
from dperm.ledger.entry import next_entry, row_of
from dperm.ledger.stores import store_of

QUARTER = Pure(0.25, "add_remove")


@pytest.fixture
def ledger(open_at):
    return open_at(PureDP(1.0, "add_remove"))


def leases(ledger):
    return [entry.body["draws"] for entry in ledger.entries() if entry.kind is EntryKind.LEASE]


def test_the_last_who_took_over_holds_the_reservation(ledger):
    first = ledger.reserve(QUARTER, request_id="a")
    first.check_holder()  # nothing is leased yet
    first.lease(10)
    second = Ledger(ledger.location).reserve(QUARTER, request_id="a")
    assert second.repeated
    assert second.take_over(4) == 10, "draws that were leased count, made or not"
    for action in (first.check_holder, lambda: first.lease(20), lambda: first.commit("d"), lambda: first.burn("r")):
        with pytest.raises(SupersededError, match=r"'a' was superseded.*Go on with the run that resumed last"):
            action()
    second.check_holder()
    second.lease(20)
    third = ledger.reserve(QUARTER, request_id="a")
    assert third.take_over(25) == 25, "a journal may know of more draws"
    third.lease(30)
    third.lease(27)  # gives three back
    fourth = ledger.reserve(QUARTER, request_id="a")
    assert fourth.take_over(0) == 27
    fourth.commit("sha256:1")
    assert leases(ledger) == [10, 10, 20, 25, 30, 27, 27]
    assert verify(ledger.location, [ledger.anchor()]).problems == ()
    assert ledger.spent == {"epsilon": 0.25}
    assert [booking.state.value for booking in ledger.bookings()] == ["committed"]
    assert ledger.booking("a").digest == "sha256:1"


def test_the_same_call_again_changes_nothing(ledger):
    """As after a connection that was lost at COMMIT."""
    reservation = ledger.reserve(QUARTER, request_id="a")
    for _ in range(2):
        assert reservation.take_over(3) == 3
    for _ in range(2):
        pickle.loads(pickle.dumps(reservation)).lease(8)
    assert leases(ledger) == [3, 8]


@pytest.mark.parametrize("closing", ["commit", "burn"])
def test_a_closed_reservation_is_neither_leased_nor_taken_over(ledger, closing):
    reservation = ledger.reserve(QUARTER, request_id="a")
    reservation.lease(5)
    getattr(reservation, closing)("sha256:1")
    with pytest.raises(BudgetError, match="open reservation only"):
        reservation.lease(6)
    with pytest.raises(BudgetError, match="open reservation only"):
        ledger.reserve(QUARTER, request_id="a").take_over(0)
    assert leases(ledger) == [5]


def test_parents_are_closed_with_it_and_lease_nothing(open_at):
    parent = open_at(PureDP(1.0, "add_remove"), account="census")
    child = open_at(PureDP(1.0, "add_remove"), account="north", parents=["census"])
    reservation = child.reserve(QUARTER, request_id="a")
    reservation.lease(5)
    again = child.reserve(QUARTER, request_id="a")
    assert again.take_over(0) == 5
    again.commit("sha256:1")
    assert (leases(child), leases(parent)) == ([5, 5], [])
    assert [booking.state.value for booking in parent.bookings()] == ["committed"]
    assert verify(child.location).problems == ()


def test_a_store_refuses_what_follows_a_closing(ledger):
    """The second wall: lines that the bookkeeping would not write."""
    reservation = ledger.reserve(QUARTER, request_id="a")
    reservation.lease(5)
    reservation.commit("sha256:1")
    for kind, body in ((EntryKind.LEASE, {"holder": "x", "draws": 9}), (EntryKind.BURN, {"reason": "r"})):
        with pytest.raises(Exception, match=r"replaces no other|follows a closing"):
            with store_of(ledger.location).write(["main"]) as books:
                books.append(next_entry("main", books.head("main"), kind, about=2, body=body))


CHANGES = {
    "leased twice": ({"holder": "x", "draws": 4}, "leased to another run"),
    "no number": ({"holder": "x", "draws": "4"}, "not a valid lease of draws"),
    "below zero": ({"holder": "x", "draws": -1}, "not a valid lease of draws"),
    "nobody": ({"draws": 11}, "it is invalid (KeyError)"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_verify_finds_leases_that_the_bookkeeping_would_not_write(open_file, path, name):
    """With hashes that are right, as somebody would write them who has the program."""
    body, said = CHANGES[name]
    ledger = open_file(PureDP(1.0, "add_remove"))
    ledger.reserve(QUARTER, request_id="a").lease(10)
    with store_of(ledger.location).write(["main"]) as books:
        books.append(next_entry("main", books.head("main"), EntryKind.LEASE, about=2, body=body))
    assert any(said in problem for problem in verify(path).problems)


def test_verify_finds_a_lease_of_nothing(open_file, path):
    ledger = open_file(PureDP(1.0, "add_remove"))
    ledger.reserve(QUARTER, request_id="a").lease(10)
    line = replace(ledger.entries()[-1], about=1).with_hash()
    path.with_name(f"{path.name}.lock").unlink()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (trigger,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'entry_unchanged'").fetchone()
        connection.execute("DROP TRIGGER entry_unchanged")
        connection.execute("UPDATE entry SET about = 1, hash = ? WHERE seq = 3", (row_of(line)[-1],))
        connection.execute(trigger)
    assert any("leases draws of a reservation that does not exist" in problem for problem in verify(path).problems)


def test_a_writer_of_the_database_may_lease_and_take_over():
    import postgres

    from dperm.ledger.postgres import grant_writers

    with postgres.lent() as url:
        ledger, role = Ledger.open(url, PureDP(1.0, "add_remove"), dataset="d"), postgres.shared().role()
        grant_writers(url, role)
        writer = Ledger(postgres.as_role(url, role))
        writer.reserve(QUARTER, request_id="a").lease(5)
        writer.reserve(QUARTER, request_id="a").take_over(0)
        assert leases(ledger) == [5, 5]
