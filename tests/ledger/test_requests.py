# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One charge, one release: request ids, and how a reservation is closed."""

import pytest

from dperm import Laplace, Pure, PureDP
from dperm.accounting import charged
from dperm.accounting.budget import Budget, Reservation, State
from dperm.errors import BudgetError, DpermWarning, LedgerError, ParameterError
from dperm.ledger import EntryKind, Ledger, verify

ADD = "add_remove"
QUARTER = Pure(0.25, ADD)


@pytest.fixture
def ledger(open_at):
    return open_at(PureDP(1.0, ADD))


def kinds(ledger):
    return [line.kind.value for line in ledger.entries()]


def test_a_ledger_is_a_budget(ledger):
    assert isinstance(ledger, Budget)
    reservation: Reservation = ledger.reserve(QUARTER)
    assert reservation.state is State.RESERVED
    assert not reservation.repeated


def test_the_same_request_is_charged_once(ledger):
    first = ledger.reserve(QUARTER, request_id="a")
    again = ledger.reserve(QUARTER, request_id="a")
    assert (first.repeated, again.repeated) == (False, True)
    assert first == again
    first.commit("sha256:1")
    assert again.state is ledger.reserve(QUARTER, request_id="a").state is State.COMMITTED
    assert ledger.spent == {"epsilon": 0.25}
    assert again.receipt["digest"] == "sha256:1"


def test_a_known_request_is_answered_though_nothing_is_left(ledger):
    ledger.reserve(Pure(1.0, ADD), request_id="a")
    assert ledger.reserve(Pure(1.0, ADD), request_id="a").repeated
    Ledger(ledger.location, request_id="a").check(Pure(1.0, ADD))
    with pytest.raises(BudgetError, match=r"but only .* of the limit of"):
        ledger.reserve(Pure(1.0, ADD), request_id="b")


def test_a_request_id_stands_for_one_event(ledger):
    ledger.reserve(QUARTER, request_id="a")
    for ask in (ledger.reserve, lambda event, **_: Ledger(ledger.location, request_id="a").check(event)):
        with pytest.raises(
            BudgetError, match=r"request id 'a' was used for .*0.25.* asked for .*0.5.* Nothing was charged"
        ):
            ask(Pure(0.5, ADD), request_id="a")
    assert ledger.spent == {"epsilon": 0.25}


def test_without_an_id_every_reservation_is_another(ledger):
    first, second = ledger.reserve(QUARTER), ledger.reserve(QUARTER)
    assert first != second
    assert len({booking.request_id for booking in ledger.bookings()}) == 2


def test_the_id_of_the_ledger_object_makes_its_release_idempotent(ledger):
    once = Ledger(ledger.location, request_id="fit-7")
    draws = []
    with charged(once, QUARTER) as reservation:
        draws.append(1)
        reservation.commit("sha256:1")
    with pytest.raises(BudgetError, match="request id 'fit-7' was charged before and is committed"):
        with charged(once, QUARTER):
            draws.append(2)
    assert (draws, ledger.spent) == ([1], {"epsilon": 0.25})


def test_an_id_in_the_call_goes_before_that_of_the_object(ledger):
    assert Ledger(ledger.location, request_id="a").reserve(QUARTER, request_id="b").request_id == "b"


@pytest.mark.parametrize("given", ["", "a\0b", "\ud800", "x" * 201, 7])
def test_an_id_is_a_line_of_text(ledger, given):
    with pytest.raises(ParameterError, match="request_id must be a line of text"):
        ledger.reserve(QUARTER, request_id=given)
    assert ledger.bookings() == ()


@pytest.mark.parametrize("given", ["x" * 200, "'; DROP TABLE entry; --", "a\\b", "%s ? {} \U0001f512", " a "])
def test_other_ids_are_kept_as_they_are(ledger, given):
    ledger.reserve(QUARTER, request_id=given)
    assert ledger.reserve(QUARTER, request_id=given).repeated
    assert [booking.request_id for booking in ledger.bookings()] == [given]
    assert verify(ledger.location).ok


def test_a_reservation_is_closed_once(ledger):
    reservation = ledger.reserve(QUARTER)
    reservation.commit("sha256:1")
    reservation.commit("sha256:1")
    assert kinds(ledger) == ["open", "reserve", "commit"]
    with pytest.raises(BudgetError, match=r"is committed .*sha256:1.* cannot be committed .*sha256:2"):
        reservation.commit("sha256:2")
    with pytest.raises(BudgetError, match=r"is committed .* cannot be burned"):
        reservation.burn("changed my mind")
    assert kinds(ledger) == ["open", "reserve", "commit"]


def test_what_is_burned_stays_burned_and_charged(ledger):
    reservation = ledger.reserve(QUARTER)
    reservation.burn("first")
    reservation.burn("second")
    with pytest.raises(BudgetError, match=r"is burned .*first.* cannot be committed"):
        reservation.commit("sha256:1")
    assert kinds(ledger) == ["open", "reserve", "burn"]
    assert ledger.spent == {"epsilon": 0.25}
    assert [(one.state, one.reason) for one in ledger.bookings()] == [(State.BURNED, "first")]


@pytest.mark.parametrize("given", ["", None, 3])
def test_digests_and_reasons_are_text(ledger, given):
    reservation = ledger.reserve(QUARTER)
    with pytest.raises(ParameterError, match="digest must be"):
        reservation.commit(given)
    with pytest.raises(ParameterError, match="reason must be"):
        reservation.burn(given)
    assert reservation.state is State.RESERVED


def test_nothing_is_given_back(ledger):
    """However reservations end, and whatever is asked for in vain, what is spent only grows."""
    spent = []
    for end in ("commit", "burn", "nothing"):
        reservation = ledger.reserve(QUARTER)
        if end != "nothing":
            getattr(reservation, end)("sha256:1")
        spent.append(ledger.spent["epsilon"])
    assert spent == [0.25, 0.5, 0.75]
    with pytest.raises(BudgetError):
        ledger.reserve(Pure(0.5, ADD))
    assert ledger.spent["epsilon"] == 0.75


def test_a_run_that_fails_burns_and_the_books_say_the_type_only(ledger):
    with pytest.raises(ValueError, match="row 7 is a secret") as caught, charged(ledger, QUARTER):
        raise ValueError("row 7 is a secret")
    assert "burned: it stays charged" in caught.value.__notes__[0]
    (booking,) = ledger.bookings()
    assert (booking.state, booking.reason) == (State.BURNED, "ValueError before commit")
    assert "secret" not in str(ledger.entries())


def test_a_block_left_without_commit_is_burned(ledger):
    with pytest.warns(DpermWarning, match="left without commit"), charged(ledger, QUARTER):
        pass
    assert ledger.bookings()[0].state is State.BURNED


def test_the_receipt_tells_where_it_is_booked_and_how_the_account_stands(ledger):
    ledger.reserve(QUARTER).burn("tried")
    ledger.reserve(QUARTER, facts={"seeded": True})
    reservation = ledger.reserve(Laplace(4.0), request_id="a", facts={"seeded": False})
    assert (reservation.receipt["digest"], reservation.receipt["releases"]) == (None, 0)
    reservation.commit("sha256:1")
    receipt = dict(reservation.receipt)
    last = ledger.entries()[-1]
    assert (receipt.pop("seq"), receipt.pop("hash")) == (last.seq, last.hash) == (6, last.hash)
    assert [len(receipt.pop(name)) for name in ("ledger", "public_key", "signature")] == [32, 64, 128]
    assert len(receipt.pop("receipt_signature")) == 128
    assert receipt == {
        "account": "main",
        "request_id": "a",
        "digest": "sha256:1",
        "dataset": "census 2026",
        "unit": "one person",
        "limit": {"kind": "PureDP", "epsilon": 1.0, "adjacency": ADD},
        "blocks": None,
        "composition": "basic",
        "parents": [],
        "capacity": {"epsilon": 1.0},
        "spent": {"epsilon": 0.75},
        "releases": 1,
        "burned": 1,
        "open": 1,
        "seeded": 1,
    }


def test_a_reservation_knows_its_line_from_another_of_the_same_number(tmp_path):
    """In another ledger at the same place, as after a restored copy, it closes nothing."""
    ledgers = []
    for name in ("a", "b"):
        ledgers.append(Ledger.open(tmp_path / f"{name}.ledger", PureDP(1.0, ADD), dataset="d"))
        mine = ledgers[-1].reserve(QUARTER)
    strange = type(mine)(ledgers[0].location, mine.places, mine.request_id)
    for ask in (
        lambda: strange.commit("sha256:1"),
        lambda: strange.burn("x"),
        lambda: strange.receipt,
        lambda: strange.state,
    ):
        with pytest.raises(LedgerError, match="is not the reservation made there"):
            ask()
    assert [line.kind for line in ledgers[0].entries()] == [EntryKind.OPEN, EntryKind.RESERVE]


def test_the_booking_of_one_request_is_the_one_among_all(open_at):
    ledger = open_at(PureDP(1.0, "add_remove"))
    ledger.reserve(Laplace(8.0), request_id="a").commit("sha256:0")
    ledger.reserve(Laplace(8.0), request_id="b").burn("a test")
    ledger.reserve(Laplace(8.0), request_id="c")
    assert tuple(ledger.booking(name) for name in "abc") == ledger.bookings()
    assert ledger.booking("d") is None


def nested(depth):
    found = 0
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize("facts", [{"x": nested(20)}, {"x": nested(900)}, {"x": nested(50_000)}, {"x": "x" * 2**16}])
def test_facts_are_small_and_flat_enough_for_every_reader(ledger, facts):
    with pytest.raises(ParameterError, match="facts must be"):
        ledger.reserve(QUARTER, facts=facts)
    assert ledger.bookings() == ()
    ledger.reserve(QUARTER, facts={"x": nested(19), "y": "x" * 60_000}).commit("sha256:1")
    assert verify(ledger.location).ok
