# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A release of several stages is killed after each of them: charged as a whole, nothing released, never drawn again."""

import pytest
from ledger_reader import broken_chain, read_books
from staged_releases import EVENT, REQUEST, STAGES, run_release

from dperm import ApproxDP, Ledger, PureDP
from dperm.errors import BudgetError
from dperm.ledger import verify

RELEASE = "staged_releases:three_stages"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def location(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "census.ledger")
        return
    import postgres

    with postgres.lent() as url:
        yield str(url)


@pytest.mark.parametrize("stages", range(len(STAGES) + 1))
def test_a_kill_after_a_stage_releases_nothing_and_stays_charged(location, stages):
    ledger = Ledger.open(location, PureDP(1.0, "add_remove"), dataset="d")
    killed = run_release(RELEASE, location, kill_after=stages)
    assert (killed.returncode, killed.stdout) == (-9, ""), killed.stderr
    (booking,) = ledger.bookings()
    assert (booking.state.value, booking.digest, booking.request_id) == ("reserved", None, REQUEST)
    assert [stage.name for stage in booking.stages] == list(STAGES[:stages])
    assert ledger.spent == {"epsilon": 0.25}, "the whole release is charged, whatever was done of it"

    entries = ledger.entries()
    again = run_release(RELEASE, location)
    assert again.returncode == 1 and "released" not in again.stdout
    assert "'staged' is reserved by another run" in again.stderr
    assert ledger.entries() == entries, "nothing was written, and no stage ran again"

    ledger.burn(REQUEST, reason="the machine was restarted", by="officer")
    (booking,) = ledger.bookings()
    assert (booking.state.value, booking.digest, len(booking.stages)) == ("burned", None, stages)
    assert ledger.spent == {"epsilon": 0.25}
    with pytest.raises(BudgetError, match="cannot be committed"):
        ledger.reserve(EVENT, request_id=REQUEST).commit("sha256:1")
    assert verify(location, [ledger.anchor()], prices=True).problems == ()
    assert broken_chain(read_books(location).of("main")) == []


def test_a_release_that_nobody_kills_is_released(location):
    """The check above can fail: the same program without a kill releases, and once only."""
    ledger = Ledger.open(location, PureDP(1.0, "add_remove"), dataset="d")
    assert run_release(RELEASE, location).stdout == "released\n"
    assert "'staged' was charged before and is committed" in run_release(RELEASE, location).stderr
    assert [booking.state.value for booking in ledger.bookings()] == ["committed"]


@pytest.mark.parametrize(
    "stages", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow), 3]
)
def test_a_kill_after_a_stage_of_a_table_model_releases_nothing_and_stays_charged(tmp_path, stages):
    """The whole pipeline: private schema, model and metrics are one charge (T70, T71)."""
    location = str(tmp_path / "census.ledger")
    ledger = Ledger.open(location, ApproxDP(3.0, 1e-5, "add_remove"), blocks=1, dataset="d")
    killed = run_release("staged_releases:measured_model", location, kill_after=stages)
    assert (killed.returncode, killed.stdout) == (-9, ""), killed.stderr
    (booking,) = ledger.bookings()
    assert (booking.state.value, booking.digest) == ("reserved", None)
    assert [stage.name for stage in booking.stages] == list(STAGES[:stages])
    again = run_release("staged_releases:measured_model", location)
    assert again.returncode == 1 and "'staged' is reserved by another run" in again.stderr
    ledger.burn(REQUEST, reason="killed", by="officer")
    assert [booking.state.value for booking in ledger.bookings()] == ["burned"]
    assert verify(location, [ledger.anchor()], prices=True).problems == ()
