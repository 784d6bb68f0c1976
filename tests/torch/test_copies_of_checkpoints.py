# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One charge pays for one training: runs that resume from copies of a checkpoint never draw more than was charged."""

import math
import os
import signal
import time

import pytest
from torch_copies import SUPERSEDED, copies_of, draws_in, in_processes, train, wait_for
from torch_training import attached, loss_of, model_of, plan_of, walk

from dperm import ApproxDP
from dperm.accounting.budget import State
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import BudgetError, LedgerError, SupersededError
from dperm.ledger import EntryKind, Ledger, verify
from dperm.torch import lease
from dperm.torch.lease import DrawLease

pytestmark = pytest.mark.filterwarnings(
    "ignore:all planned steps", "ignore:the resumed training has", "ignore:the loop ended before"
)
LIMIT = ApproxDP(5.0, 5e-3, "add_remove")
STEPS = 128
BLOCK = 2  # 1/64 of the steps


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request, tmp_path):
    if request.param == "sqlite":
        yield Ledger.open(tmp_path / "train.ledger", LIMIT, blocks=5, dataset="made up")
        return
    import postgres

    with postgres.lent() as url:
        yield Ledger.open(url, LIMIT, blocks=5, dataset="made up")


def plan():
    return plan_of(steps=STEPS, rate=0.05)


def saved(ledger, folder, *, steps=3, killed=False):
    """A run that saves after some steps, and fails; or it is killed in its first lease."""
    folder.mkdir()

    def before_step(private, done):
        if done == steps:
            private.save(folder / "run.pt")
        if done == steps + 1:
            if killed:
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyboardInterrupt

    def work():
        train(plan(), folder.parent, before_step=before_step, ledger=ledger)

    (code,) = in_processes(work)
    assert code == (-signal.SIGKILL if killed else 1)
    return folder


def states(ledger):
    return [booking.state for booking in ledger.bookings()]


def test_of_several_copies_that_are_resumed_at_once_one_goes_on(ledger, tmp_path):
    """All take over before the first draw; the last of them draws what is left, and the others stop."""
    copies = copies_of(saved(ledger, tmp_path / "run"), "abc")
    before = draws_in(tmp_path)

    def resumed(copy):
        def before_step(private, done):
            if not done:
                (copy / "ready").touch()
                wait_for(lambda: all((other / "ready").exists() for other in copies))

        return lambda: train(plan(), tmp_path, before_step=before_step, ledger=ledger, resume=copy / "run.pt")

    assert sorted(in_processes(*map(resumed, copies))) == [0, SUPERSEDED, SUPERSEDED]
    assert draws_in(tmp_path) == STEPS, "all draws of all runs together, the first ones included"
    assert before == 4
    assert states(ledger) == [State.COMMITTED]
    assert verify(ledger.location, [ledger.anchor()], prices=True).problems == ()


def test_a_superseded_run_does_not_use_the_rest_of_its_lease(ledger, tmp_path):
    """It draws while another one takes over: its leased draws count, and its next draw does not happen."""
    folder = tmp_path / "run"
    folder.mkdir()
    began, taken = tmp_path / "began", tmp_path / "taken"

    def first():
        lease.CHECK_SHARE = math.inf  # before every draw

        def before_step(private, done):
            if done == 3:
                private.save(folder / "run.pt")  # leases the draws 4 and 5
            if done == 4:
                began.touch()
                wait_for(taken.exists)

        train(plan(), tmp_path, before_step=before_step, ledger=ledger)

    def second():
        wait_for(began.exists)
        (copy,) = copies_of(folder, "b")

        def before_step(private, done):
            if not done:
                assert private.update.draws == 3 + BLOCK, "every draw that was leased counts"
                taken.touch()

        train(plan(), tmp_path, before_step=before_step, ledger=ledger, resume=copy / "run.pt")

    assert in_processes(first, second) == [SUPERSEDED, 0]
    assert draws_in(tmp_path) == STEPS - 1, "one leased draw was never made"
    assert states(ledger) == [State.COMMITTED]


def test_a_crash_between_the_take_over_and_the_first_draw_costs_nothing(ledger, tmp_path):
    folder, taken = saved(ledger, tmp_path / "run"), DrawLease.take_over

    def killed_after(lease, draws):
        taken(lease, draws)
        os.kill(os.getpid(), signal.SIGKILL)

    def crashed():
        DrawLease.take_over = killed_after
        train(plan(), tmp_path, before_step=lambda private, done: None, ledger=ledger, resume=folder / "run.pt")

    for _ in range(2):
        assert in_processes(crashed) == [-signal.SIGKILL]
    assert states(ledger) == [State.RESERVED]
    train(plan(), tmp_path, before_step=lambda private, done: None, ledger=ledger, resume=folder / "run.pt")
    assert draws_in(tmp_path) == STEPS
    assert states(ledger) == [State.COMMITTED]


def test_a_killed_run_costs_its_last_block(ledger, tmp_path):
    folder = saved(ledger, tmp_path / "run", killed=True)
    assert draws_in(tmp_path) == 4
    with attached(plan(), ledger=ledger, resume=folder / "run.pt") as private:
        assert private.update.draws == 3 + BLOCK


def test_a_superseded_run_releases_nothing(ledger, tmp_path):
    folder = saved(ledger, tmp_path / "run")
    one, two = copies_of(folder, "ab")
    with (
        pytest.raises(SupersededError, match="took over its charge") as caught,
        attached(plan(), ledger=ledger, resume=one / "run.pt"),
    ):
        with attached(plan(), ledger=ledger, resume=two / "run.pt") as other:
            walk(other, other.model, 1)
        assert states(ledger) == [State.COMMITTED]
    assert "stays open" not in " ".join(getattr(caught.value, "__notes__", ()))
    with pytest.raises(BudgetError, match="committed"), attached(plan(), ledger=ledger, resume=folder / "run.pt"):
        pass


def test_a_superseded_run_saves_nothing(tmp_path):
    ledger = Ledger.open(tmp_path / "train.ledger", LIMIT, blocks=5, dataset="made up")
    (copy,) = copies_of(saved(ledger, tmp_path / "run"), "a")
    before = (copy / "run.pt").read_bytes()
    with (
        pytest.raises(SupersededError),
        attached(plan(), ledger=ledger, resume=copy / "run.pt") as private,
        attached(plan(), ledger=ledger, resume=tmp_path / "run" / "run.pt"),
    ):
        private.save(copy / "run.pt")
    assert (copy / "run.pt").read_bytes() == before


def test_a_copy_of_a_checkpoint_before_the_first_step_takes_over_too(tmp_path):
    """The first run saved before it was charged: it leases with its charge."""
    ledger, model = Ledger.open(tmp_path / "train.ledger", LIMIT, blocks=5, dataset="made up"), model_of()
    (tmp_path / "run").mkdir()
    with pytest.raises(SupersededError), attached(plan(), model, ledger=ledger) as private:
        private.save(tmp_path / "run" / "run.pt")
        walk(private, model, 1)
        (copy,) = copies_of(tmp_path / "run", "a")
        with attached(plan(), ledger=ledger, resume=copy / "run.pt") as other:
            assert other.update.draws == BLOCK
        walk(private, model)
    assert states(ledger) == [State.COMMITTED]


def test_a_budget_in_memory_is_taken_over_too(tmp_path):
    budget, model = MemoryBudget(LIMIT, blocks=5), model_of()
    (tmp_path / "run").mkdir()
    with pytest.raises(SupersededError), attached(plan(), model, ledger=budget) as private:
        walk(private, model, 3)
        private.save(tmp_path / "run" / "run.pt")
        (copy,) = copies_of(tmp_path / "run", "a")
        with attached(plan(), ledger=budget, resume=copy / "run.pt") as other:
            assert other.update.draws == 3 + BLOCK
            walk(other, other.model)
        walk(private, model)


def test_a_run_without_checkpoints_leases_nothing(tmp_path):
    ledger, model = Ledger.open(tmp_path / "train.ledger", LIMIT, blocks=5, dataset="made up"), model_of()
    with attached(plan(), model, ledger=ledger) as private:
        walk(private, model)
    assert [entry.kind for entry in ledger.entries()] == [EntryKind.OPEN, EntryKind.RESERVE, EntryKind.COMMIT]


def test_leases_are_few_and_cover_every_draw(ledger, tmp_path):
    model = model_of()
    with attached(plan(), model, ledger=ledger) as private:
        private.save(tmp_path / "run.pt")
        for x, y in private:
            private.step(loss_of(model, x, y))
            leased = [entry.body["draws"] for entry in ledger.entries() if entry.kind is EntryKind.LEASE]
            assert leased[-1] >= private.update.draws
    assert 4 <= len(leased) <= 64 and leased == sorted(leased) and leased[-1] == STEPS


# Without a ledger: what a file can do.


@pytest.mark.parametrize("change", ["removed", "replaced", "written by another run"])
def test_without_a_ledger_a_run_stops_when_its_journal_is_no_longer_its_own(change, tmp_path):
    model = model_of()
    with pytest.raises(SupersededError, match="journal"), attached(plan(), model) as private:
        private.save(tmp_path / "run.pt")
        walk(private, model, 2)
        (journal,) = tmp_path.glob("*.journal")
        drawn, content = private.update.draws, journal.read_bytes()
        if change == "written by another run":
            with journal.open("ab") as file:
                file.write(b"run-" + b"0" * 32 + b"\n")
        else:
            journal.unlink()
            if change == "replaced":
                journal.write_bytes(content)
        written = journal.read_bytes() if journal.exists() else None
        walk(private, model)
    assert private.update.draws == drawn
    assert (journal.read_bytes() if journal.exists() else None) == written, "the journal of another run stays as it is"


def test_a_ledger_that_does_not_answer_stops_the_next_lease_and_no_draw_before_it(tmp_path, monkeypatch):
    ledger, model = Ledger.open(tmp_path / "train.ledger", LIMIT, blocks=5, dataset="made up"), model_of()

    def lost(*rest):
        raise LedgerError("the connection was lost")

    with pytest.raises(LedgerError, match="lost"), attached(plan(), model, ledger=ledger) as private:
        walk(private, model, 3)
        private.save(tmp_path / "run.pt")
        time.sleep(0.2)  # a check is due
        monkeypatch.setattr(type(private._run.reservation), "check_holder", lost)
        monkeypatch.setattr(type(private._run.reservation), "lease", lost)
        walk(private, model)
    assert private.update.draws == 3 + BLOCK


def test_a_journal_names_who_resumed(tmp_path):
    model = model_of()
    with attached(plan(), model) as private:
        walk(private, model, 2)
        private.save(tmp_path / "run.pt")
    (journal,) = tmp_path.glob("*.journal")
    for times in (1, 2):
        with attached(plan(), model_of(), resume=tmp_path / "run.pt") as private:
            assert private.update.draws == 2
        assert journal.read_bytes().count(b"run-") == times
