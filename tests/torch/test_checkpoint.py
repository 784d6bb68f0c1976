# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: a resumed run goes on where it was, and never draws more noise than was planned and charged."""

import math
import signal
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch_crashes import draws_in, in_a_process, run
from torch_training import attached, data_of, loss_of, model_of, plan_of, sgd, walk, weights_of

from dperm import ApproxDP
from dperm.accounting.budget import State
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import BudgetError, DpermWarning, ModelFormatError, NotPrivateWarning, ParameterError
from dperm.ledger import Ledger
from dperm.torch import QuantileClipping
from dperm.torch.released_model import model_digest

pytestmark = pytest.mark.filterwarnings(
    "ignore:all planned steps", "ignore:the resumed training has", "ignore:the loop ended before"
)


def ledger_in(folder: Path) -> Ledger:
    limit = ApproxDP(5.0, 5e-3, "add_remove")
    return Ledger.open(folder / "train.ledger", limit, blocks=5, dataset="made up", unit="one record")


def states(ledger: Ledger) -> list[State]:
    return [booking.state for booking in ledger.bookings()]


def interrupted(plan, folder: Path, *, steps: int = 3, after: int = 0, model=None, **options):
    """Train some steps, save, perhaps go on, and fail."""
    model = model_of() if model is None else model
    with pytest.raises(KeyboardInterrupt) as caught, attached(plan, model, **options) as private:
        walk(private, model, steps)
        private.save(folder / "run.pt", extra={"epoch": 2, "values": [torch.ones(2)]})
        if after:
            walk(private, model, after)
        raise KeyboardInterrupt
    return caught.value


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_resumed_run_has_the_model_the_optimizer_and_the_steps_of_the_saved_one(name, tmp_path):
    plan, model = plan_of(steps=8), model_of()
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1)
    with plan.attach(model, optimizer, data_of()) as private:
        walk(private, model, 3)
        private.save(tmp_path / "run.pt", extra={"epoch": 2})
        saved, state = weights_of(model), optimizer.state_dict()
    other = model_of()
    other[0].bias.data += 1
    again = getattr(torch.optim, name)(other.parameters(), lr=0.7)
    with plan.attach(other, again, data_of(), resume=tmp_path / "run.pt") as private:
        assert torch.equal(weights_of(other), saved)
        assert again.param_groups[0]["lr"] == 0.1
        assert repr(again.state_dict()["state"]) == repr(state["state"])
        assert private.steps_taken == 3
        assert private.extra == {"epoch": 2}
        assert "After 3 of 8" in private.so_far()
        assert walk(private, other) == 5
    assert private.steps_taken == 8
    assert private.release.guarantee == plan.goal


def test_the_adapted_clip_norm_is_resumed(tmp_path):
    plan, model = plan_of(clipping=QuantileClipping()), model_of()
    with attached(plan, model) as private:
        walk(private, model, 3)
        private.save(tmp_path / "run.pt")
        adapted = private.clip_norm
    with attached(plan, model_of(), resume=tmp_path / "run.pt") as private:
        assert private.clip_norm == adapted != 1.0


def test_a_file_is_read_without_running_code(tmp_path):
    interrupted(plan_of(), tmp_path)
    held = torch.load(tmp_path / "run.pt", weights_only=True)
    assert held["draws"] == held["taken"] == 3
    assert list(held["model"]) == list(model_of().state_dict())


def test_extra_comes_back(tmp_path):
    interrupted(plan_of(), tmp_path)
    with attached(plan_of(), model_of(), resume=tmp_path / "run.pt") as private:
        assert private.extra["epoch"] == 2
        assert torch.equal(private.extra["values"][0], torch.ones(2))


@pytest.mark.parametrize(
    "extra", [{"f": lambda: 0}, {"model": model_of()}, {"path": Path()}], ids=["code", "model", "path"]
)
def test_extra_that_could_not_be_read_back_is_refused(extra, tmp_path):
    model = model_of()
    with attached(plan_of(), model) as private:
        with pytest.raises(ParameterError, match="extra"):
            private.save(tmp_path / "run.pt", extra=extra)
        assert walk(private, model) == 5
    assert list(tmp_path.iterdir()) == []


# Draws are counted.


def test_steps_after_the_checkpoint_count(tmp_path):
    plan = plan_of(steps=8)
    interrupted(plan, tmp_path, steps=3, after=2)
    model = model_of()
    with attached(plan, model, resume=tmp_path / "run.pt") as private:
        assert private.steps_taken == 3
        assert "After 5 of 8" in private.so_far()
        assert walk(private, model) == 3
    assert private.steps_taken == 6


@pytest.mark.parametrize("after", [0, 2])
def test_lost_steps_are_warned_of(after, tmp_path):
    plan, model = plan_of(steps=8), model_of()
    interrupted(plan, tmp_path, steps=3, after=after)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with attached(plan, model, resume=tmp_path / "run.pt") as private:
            walk(private, model)
    found = [str(warning.message) for warning in seen if warning.category is DpermWarning]
    if after:
        assert len(found) == 1
        assert found[0].startswith("the resumed training has 3 of 8 planned steps left, and has lost 2:")
    else:
        assert found == []


def test_steps_that_a_killed_run_had_leased_are_warned_of(tmp_path):
    """The ledger leases a block of 2 of 80 steps at the first checkpoint."""
    plan, ledger = plan_of(steps=80), ledger_in(tmp_path)
    assert in_a_process(lambda: run(plan, tmp_path, save_at=3, kill_at=4, ledger=ledger)) == -signal.SIGKILL
    model = model_of()
    with pytest.warns(DpermWarning, match=r"has 75 of 80 planned steps left, and has lost 2: .* leased them"):
        with attached(plan, model, ledger=ledger, resume=tmp_path / "run.pt") as private:
            walk(private, model)
    assert private.steps_taken == 78


@pytest.mark.parametrize("kill_at", [4, 6, 8])
def test_a_killed_run_never_draws_more_than_planned_in_all_its_parts(kill_at, tmp_path):
    """Killed between the draw and the step, twice; then run to its end."""
    plan = plan_of(steps=8)
    assert in_a_process(lambda: run(plan, tmp_path, save_at=3, kill_at=kill_at)) == -signal.SIGKILL
    assert draws_in(tmp_path) == kill_at
    resume = {"resume": tmp_path / "run.pt"}
    if kill_at < 7:
        assert in_a_process(lambda: run(plan, tmp_path, kill_at=1, **resume)) == -signal.SIGKILL
        assert draws_in(tmp_path) == kill_at + 1
    private = run(plan, tmp_path, **resume)
    assert draws_in(tmp_path) == plan.steps
    assert private.steps_taken == 3 + 8 - min(kill_at + 1, 8)
    run(plan, tmp_path, **resume)
    assert draws_in(tmp_path) == plan.steps, "there is nothing left to draw"


def test_long_runs_are_covered_some_steps_ahead_and_lose_them_in_a_crash(tmp_path):
    """A crash costs at most 1/256 of the steps, and what is lost is never drawn."""
    plan = plan_of(steps=1024, rate=0.02)
    assert in_a_process(lambda: run(plan, tmp_path, save_at=3, kill_at=5)) == -signal.SIGKILL
    with attached(plan, model_of(), resume=tmp_path / "run.pt") as private:
        assert 5 <= private.update.draws <= 5 + 1024 // 256


def test_a_run_that_is_left_in_good_order_loses_nothing(tmp_path):
    plan = plan_of(steps=1024, rate=0.02)
    interrupted(plan, tmp_path, steps=3, after=2)
    with attached(plan, model_of(), resume=tmp_path / "run.pt") as private:
        assert private.update.draws == 5


def test_from_an_older_checkpoint_all_draws_count_too(tmp_path):
    plan, model = plan_of(steps=8), model_of()
    with attached(plan, model) as private:
        for k in (2, 3):
            walk(private, model, 2)
            private.save(tmp_path / f"{k}.pt")
    with attached(plan, model, resume=tmp_path / "2.pt") as private:
        assert walk(private, model) == 4
    with attached(plan, model, resume=tmp_path / "3.pt") as private:
        assert walk(private, model) == 0


def test_without_a_ledger_a_finished_run_has_nothing_left_to_draw(tmp_path):
    plan, model = plan_of(), model_of()
    with attached(plan, model) as private:
        walk(private, model, 2)
        private.save(tmp_path / "run.pt")
        walk(private, model)
    with attached(plan, model, resume=tmp_path / "run.pt") as private:
        assert list(private) == []
    assert private.release.guarantee == plan.goal


# What is refused.


def test_a_run_goes_on_once_at_a_time(tmp_path):
    plan, model = plan_of(), model_of()
    with attached(plan, model) as private:
        walk(private, model, 2)
        private.save(tmp_path / "run.pt")
        with pytest.raises(ParameterError, match="under way"), attached(plan, model_of(), resume=tmp_path / "run.pt"):
            pass
    with (
        attached(plan, model_of(), resume=tmp_path / "run.pt"),
        pytest.raises(ParameterError, match="under way"),
        attached(plan, model_of(), resume=tmp_path / "run.pt"),
    ):
        pass


def test_without_its_journal_nothing_is_resumed(tmp_path):
    interrupted(plan_of(), tmp_path)
    (journal,) = tmp_path.glob("*.journal")
    journal.unlink()
    with pytest.raises(ParameterError, match="needs the journal"), attached(plan_of(), resume=tmp_path / "run.pt"):
        pass


OTHER = {
    "epsilon": {"epsilon": 2.5},
    "steps": {"steps": 6},
    "n": {"n": 41},
    "clip norm": {"clip_norm": 2.0},
    "grade": {"grade": "exact"},
    "adjacency": {"adjacency": "replace_one"},
}


@pytest.mark.parametrize("name", OTHER)
def test_another_plan_is_refused(name, tmp_path):
    interrupted(plan_of(), tmp_path)
    options = dict(OTHER[name])
    plan = plan_of(options.pop("n", 40), **options)
    with pytest.raises(ParameterError, match="plan"), attached(plan, resume=tmp_path / "run.pt"):
        pass


@pytest.mark.parametrize("grade", ["fast", "exact"])
def test_a_run_keeps_its_noise_where_calibration_differs_in_the_last_digits(grade, tmp_path):
    """Another processor or version finds other last digits; the charge in the ledger is for the noise of the run."""
    began, found = plan_of(grade=grade), plan_of(grade=grade)
    began = replace(began, noise=began.noise.recalibrated(*(x * (1 + 1e-9) for x in began.noise.calibrated)))
    ledger, path = ledger_in(tmp_path), tmp_path / "run.pt"
    interrupted(began, tmp_path, ledger=ledger)
    model = model_of()
    with attached(found, model, ledger=ledger, resume=path) as private:
        walk(private, model)
    assert private.release.event == began.event != found.event


@pytest.mark.parametrize("grade", ["fast", "exact"])
def test_a_file_without_the_noise_is_matched_within_a_few_units_in_the_last_place(grade, tmp_path):
    began, path = plan_of(grade=grade), tmp_path / "run.pt"
    interrupted(began, tmp_path)
    held = torch.load(path, weights_only=True)
    del held["noise"]  # as 0.8.0 wrote it
    torch.save(held, path)
    near, far = ([x + k * math.ulp(x) for x in began.noise.calibrated] for k in (3, 2000))
    with (
        pytest.raises(ParameterError, match="needs the plan of the run"),
        attached(replace(began, noise=began.noise.recalibrated(*far)), resume=path),
    ):
        pass
    model = model_of()
    with attached(replace(began, noise=began.noise.recalibrated(*near)), model, resume=path) as private:
        walk(private, model)
    assert private.release.event == began.event


def test_a_resumed_run_without_steps_left_says_which_model_it_has(tmp_path):
    plan, model = plan_of(steps=4), model_of()
    with attached(plan, model) as private:
        walk(private, model, 3)
        private.save(tmp_path / "run.pt")
        saved = weights_of(model)
        walk(private, model)
    with attached(plan, model, resume=tmp_path / "run.pt") as private:
        with pytest.warns(DpermWarning, match="The model is that of the checkpoint, step 3"):
            walk(private, model)
    assert torch.equal(weights_of(private.release.value), saved)


@pytest.mark.parametrize("damage", [b"", b"no checkpoint", None], ids=["empty", "text", "cut"])
def test_damaged_files_are_refused(damage, tmp_path):
    interrupted(plan_of(), tmp_path)
    path = tmp_path / "run.pt"
    path.write_bytes(path.read_bytes()[:-100] if damage is None else damage)
    with pytest.raises(ModelFormatError, match="checkpoint"), attached(plan_of(), resume=path):
        pass


def test_other_files_are_refused(tmp_path):
    torch.save({"model": model_of().state_dict()}, tmp_path / "model.pt")
    with pytest.raises(ModelFormatError, match="not a checkpoint"), attached(plan_of(), resume=tmp_path / "model.pt"):
        pass
    with (
        pytest.raises(ParameterError, match=r"nothing\.pt' does not exist"),
        attached(plan_of(), resume=tmp_path / "nothing.pt"),
    ):
        pass


def test_another_model_is_refused_and_the_run_stays_open(tmp_path):
    ledger = ledger_in(tmp_path)
    interrupted(plan_of(), tmp_path, ledger=ledger)
    other = torch.nn.Linear(3, 2)
    with (
        pytest.raises(ParameterError, match="model and optimizer"),
        plan_of().attach(other, sgd(other), data_of(), ledger, resume=tmp_path / "run.pt"),
    ):
        pass
    assert states(ledger) == [State.RESERVED]


def test_all_checkpoints_of_a_run_are_in_one_folder(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with attached(plan_of()) as private:
        private.save(tmp_path / "a" / "run.pt")
        with pytest.raises(ParameterError, match="must be in the folder of the run"):
            private.save(tmp_path / "b" / "run.pt")
        with pytest.raises(ParameterError, match="must be in the folder of the run"):
            private.save(tmp_path / "run.pt")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with attached(plan_of()) as private, pytest.raises(ParameterError, match="folder"):
        private.save(tmp_path / "none" / "run.pt")


def test_a_seeded_part_cannot_become_a_private_run(tmp_path):
    """All parts count: the record of the last one would hide the seed of the first."""
    with pytest.warns(NotPrivateWarning):
        interrupted(plan_of(), tmp_path, seed=1)
    with pytest.raises(ParameterError, match="bits"), attached(plan_of(), resume=tmp_path / "run.pt"):
        pass
    with pytest.warns(NotPrivateWarning), attached(plan_of(), resume=tmp_path / "run.pt", seed=2) as private:
        pass
    assert private.release.record.seeded


# Charged once.


def test_a_run_is_charged_once_over_interruption_and_resumption(tmp_path):
    plan, ledger = plan_of(), ledger_in(tmp_path)
    error = interrupted(plan, tmp_path, after=1, ledger=ledger)
    assert "stays open" in " ".join(error.__notes__)
    assert states(ledger) == [State.RESERVED]
    spent = ledger.spent
    model = model_of()
    with attached(plan, model, ledger=ledger, resume=tmp_path / "run.pt") as private:
        walk(private, model)
    (booking,) = ledger.bookings()
    assert ledger.spent == spent
    assert (booking.state, booking.digest) == (State.COMMITTED, model_digest(model))
    assert private.release.record.ledger["digest"] == model_digest(model)


def test_a_killed_run_is_charged_once(tmp_path):
    plan, ledger = plan_of(), ledger_in(tmp_path)

    def killed():
        run(plan, tmp_path, save_at=2, kill_at=4, ledger=Ledger(tmp_path / "train.ledger"))

    assert in_a_process(killed) == -signal.SIGKILL
    assert states(ledger) == [State.RESERVED]
    run(plan, tmp_path, ledger=ledger, resume=tmp_path / "run.pt")
    assert states(ledger) == [State.COMMITTED]
    assert draws_in(tmp_path) in (4, 5)  # the rest of the block leased to the killed run counts as drawn


def test_a_finished_run_is_not_resumed_on_its_charge(tmp_path):
    plan, ledger, model = plan_of(), ledger_in(tmp_path), model_of()
    with attached(plan, model, ledger=ledger) as private:
        walk(private, model, 2)
        private.save(tmp_path / "run.pt")
    with pytest.raises(BudgetError, match="committed"), attached(plan, ledger=ledger, resume=tmp_path / "run.pt"):
        pass
    assert len(states(ledger)) == 1


def test_an_error_without_a_checkpoint_burns(tmp_path):
    ledger, model = ledger_in(tmp_path), model_of()
    with pytest.raises(KeyboardInterrupt), attached(plan_of(), model, ledger=ledger) as private:
        walk(private, model, 2)
        raise KeyboardInterrupt
    assert states(ledger) == [State.BURNED]


def test_a_checkpoint_that_could_not_be_written_does_not_keep_the_charge_open(tmp_path):
    ledger = ledger_in(tmp_path)
    model = model_of()
    with pytest.raises(ParameterError), attached(plan_of(), model, ledger=ledger) as private:
        walk(private, model, steps=1)
        private.save(tmp_path / "run.pt", extra={"f": print})
    assert states(ledger) == [State.BURNED]


def test_another_request_id_is_refused_on_resumption(tmp_path):
    ledger = ledger_in(tmp_path)
    interrupted(plan_of(), tmp_path, ledger=ledger, request_id="one")
    with (
        pytest.raises(ParameterError, match="request_id"),
        attached(plan_of(), ledger=ledger, resume=tmp_path / "run.pt", request_id="two"),
    ):
        pass
    with attached(plan_of(), ledger=ledger, resume=tmp_path / "run.pt", request_id="one"):
        pass
    assert states(ledger) == [State.COMMITTED]


def test_a_budget_that_was_not_there_before_is_charged_on_resumption(tmp_path):
    interrupted(plan_of(), tmp_path)
    budget = MemoryBudget(ApproxDP(5.0, 5e-3, "add_remove"), blocks=5)
    with attached(plan_of(), ledger=budget, resume=tmp_path / "run.pt"):
        pass
    assert len(budget.entries) == 1
    poor = MemoryBudget(ApproxDP(1.0, 5e-3, "add_remove"), blocks=5)
    with pytest.raises(BudgetError), attached(plan_of(), ledger=poor, resume=tmp_path / "run.pt"):
        pass


def test_an_own_scheduler_goes_on_from_extra(tmp_path):
    plan, model = plan_of(), model_of()
    optimizer = sgd(model, lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    with plan.attach(model, optimizer, data_of()) as private:
        for x, y in private:
            if private.step(loss_of(model, x, y)):
                scheduler.step()
                private.save(tmp_path / "run.pt", extra={"scheduler": scheduler.state_dict()})
            if private.steps_taken == 2:
                break
    with plan.attach(model, optimizer, data_of(), resume=tmp_path / "run.pt") as private:
        scheduler.load_state_dict(private.extra["scheduler"])
        assert optimizer.param_groups[0]["lr"] == 0.25
