# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of a release: facts under its one charge, recorded by the run that was charged, while it is open (T14)."""

import json
import sqlite3
from contextlib import closing

import pytest
from staged_releases import EVENT, STAGES, three_stages

from dperm import Ledger, PureDP
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import BudgetError, LedgerError, ParameterError, SupersededError
from dperm.ledger import Anchor, EntryKind, verify
from dperm.ledger.entry import next_entry
from dperm.ledger.stores import store_of
from dperm.privacy import Record

LIMIT = PureDP(1.0, "add_remove")
WHO = {"reason": "the machine was restarted", "by": "officer"}


@pytest.fixture
def ledger(open_at):
    return open_at(LIMIT)


@pytest.fixture(params=["file", "memory"])
def budget(request, open_file):
    """A budget of each kind; the rules of both stores are the same."""
    return MemoryBudget(LIMIT) if request.param == "memory" else open_file(LIMIT)


def test_a_release_of_three_stages_is_one_charge_and_one_release(ledger):
    release = three_stages(ledger)
    kinds = [entry.kind.value for entry in ledger.entries()]
    assert kinds == ["open", "reserve", "stage", "stage", "stage", "commit"]
    assert ledger.spent == {"epsilon": 0.25}
    (booking,) = ledger.bookings()
    booked = [{"name": stage.name, "facts": stage.facts} for stage in booking.stages]
    assert [stage["name"] for stage in booked] == list(STAGES)
    assert list(release.record.stages) == booked
    assert ledger.booking(booking.request_id) == booking
    assert verify(ledger.location, [ledger.anchor(), Anchor.from_receipt(release.record.ledger)]).problems == ()


def test_a_record_with_stages_is_read_back_and_one_without_is_as_before():
    release = three_stages(None)
    text = release.record.to_json()
    assert Record.from_json(text) == release.record
    assert [stage["name"] for stage in release.record.stages] == list(STAGES)
    assert json.loads(text)["format"] == 3, "earlier versions refuse it by its number"
    plain = json.loads(Record(LIMIT, {}).to_json())
    assert plain["format"] == 2 and "stages" not in plain, "earlier versions read it"


@pytest.mark.parametrize(
    "stages", [[{"name": "a", "facts": {}}] * 2, [{"name": "", "facts": {}}], [{"name": "a", "facts": 1}]]
)
def test_stages_of_a_record_have_names_of_their_own(stages):
    with pytest.raises(ParameterError, match="stages must be mappings, each with a name of its own"):
        Record(LIMIT, {}, stages=stages)


def test_a_failure_after_a_stage_burns_the_whole_charge(ledger):
    def fails(name, facts):
        raise RuntimeError("something about the data")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(RuntimeError):
        real = type(ledger.reserve(EVENT, request_id="other")).record_stage
        patch.setattr(
            "dperm.ledger.reservation.LedgerReservation.record_stage",
            lambda self, name, facts: (fails if name == "training" else real.__get__(self))(name, facts),
        )
        three_stages(ledger)
    booking = ledger.bookings()[-1]
    assert (booking.state.value, booking.reason, booking.digest) == ("burned", "RuntimeError before commit", None)
    assert [stage.name for stage in booking.stages] == ["preparation"]
    assert ledger.spent == {"epsilon": 0.5}
    assert verify(ledger.location).problems == ()


@pytest.mark.parametrize("end", ["commit", "burn"])
def test_a_closed_reservation_has_no_further_stage(budget, end):
    reservation = budget.reserve(EVENT)
    reservation.record_stage("preparation", {"digest": "sha256:0"})
    getattr(reservation, end)("sha256:1")
    with pytest.raises(BudgetError, match="open reservation only"):
        reservation.record_stage("training", {})


def test_a_stage_is_recorded_once(budget):
    reservation = budget.reserve(EVENT)
    for _ in range(2):  # as after a connection that was lost at COMMIT
        reservation.record_stage("preparation", {"rows": [1, 2]})
    with pytest.raises(BudgetError, match=r"'preparation' of request id .* is recorded already, with other facts"):
        reservation.record_stage("preparation", {"rows": [1, 3]})
    reservation.record_stage("training", {})
    assert budget.spent == {"epsilon": 0.25}


def test_only_the_run_that_was_charged_records_stages(budget):
    first = budget.reserve(EVENT, request_id="a")
    again = budget.reserve(EVENT, request_id="a")
    with pytest.raises(BudgetError, match="'a' is reserved by another run: only the run that was charged"):
        again.record_stage("preparation", {})
    again.take_over(0)
    with pytest.raises(SupersededError):
        first.record_stage("preparation", {})
    again.record_stage("preparation", {})


@pytest.mark.parametrize(
    ("name", "facts"), [("", {}), (3, {}), ("two\nlines", {}), ("a", {"x": float("nan")}), ("a", {"x": "y" * 2**16})]
)
def test_an_invalid_stage_is_refused(ledger, name, facts):
    reservation = ledger.reserve(EVENT)
    with pytest.raises(ParameterError, match="must be"):
        reservation.record_stage(name, facts)
    assert len(ledger.entries()) == 2


def test_parents_are_charged_for_the_release_and_have_no_stages(open_at):
    parent = open_at(LIMIT, account="census")
    child = open_at(LIMIT, account="north", parents=["census"])
    three_stages(child)
    assert [entry.kind.value for entry in parent.entries()] == ["open", "reserve", "commit"]
    assert verify(child.location).problems == ()


def test_a_store_refuses_a_stage_after_a_closing(ledger):
    """The second wall: a line that the bookkeeping would not write."""
    ledger.reserve(EVENT).commit("sha256:1")
    body = {"name": "late", "facts": {}, "holder": "x"}
    with pytest.raises(Exception, match=r"replaces no other|follows a closing"):
        with store_of(ledger.location).write(["main"]) as books:
            books.append(next_entry("main", books.head("main"), EntryKind.STAGE, about=2, body=body))


def test_a_charge_is_burned_by_its_request_id(open_at):
    parent = open_at(LIMIT, account="census")
    child = open_at(LIMIT, account="north", parents=["census"])
    running = child.reserve(EVENT, request_id="a")
    running.lease(5)
    running.record_stage("preparation", {})
    with pytest.raises(ParameterError, match=r"not through a child account.*Burn request 'a' of account 'north'"):
        parent.burn("north/a", **WHO)
    with pytest.raises(BudgetError, match="'b' was never charged to account 'north'"):
        child.burn("b", **WHO)
    for _ in range(2):
        child.burn("a", **WHO)
    for account in (child, parent):
        assert [booking.state.value for booking in account.bookings()] == ["burned"]
        assert (account.spent, account.entries()[-1].body) == ({"epsilon": 0.25}, WHO)
    for late in (lambda: running.commit("sha256:1"), lambda: running.record_stage("training", {})):
        with pytest.raises(BudgetError, match="burned"):
            late()
    done = child.reserve(EVENT, request_id="c")
    done.commit("sha256:2")
    with pytest.raises(BudgetError, match=r"is committed .*, and cannot be burned"):
        child.burn("c", **WHO)
    assert verify(child.location).problems == ()


def test_a_writer_of_the_database_may_record_stages_and_burn():
    import postgres

    from dperm.ledger.postgres import grant_writers

    with postgres.lent() as url:
        ledger, role = Ledger.open(url, LIMIT, dataset="d"), postgres.shared().role()
        grant_writers(url, role)
        writer = Ledger(postgres.as_role(url, role))
        three_stages(writer)
        writer.reserve(EVENT, request_id="a")
        writer.burn("a", **WHO)
        assert [booking.state.value for booking in ledger.bookings()] == ["committed", "burned"]


def test_a_ledger_of_a_later_format_is_refused_by_its_number(open_file, path):
    """Earlier versions say this of format 3, and do not take a stage for damage."""
    ledger = open_file(LIMIT)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER ledger_unchanged")
        connection.execute("UPDATE ledger SET format = 4")
    with pytest.raises(LedgerError, match=r"format 4, and this version of dperm reads the formats 1, 2, 3.*or a newer"):
        ledger.entries()
