# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of private trainings, quickly: each raises on an unsafe change of the package (tests/mutants)."""

import math
import os
import shutil
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_spies import replace_noise, watch_noise
from torch_training import attached, data_of, loss_of, model_of, sgd, walk, weights_of

import dperm.torch.plan as plans
import dperm.torch.quantile as quantiles
import dperm.torch.session as session
from dperm import ApproxDP
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import BudgetError, DpermError, LeakError, NotPrivateWarning, SupersededError
from dperm.noise.bits import SystemBits
from dperm.torch.noise import FastNoise

CLIP = 2.5


def plan_of(n: int = 40, **options: Any) -> Any:
    """Looked up as it is now: a mutant may be in its place."""
    asked = {"rate": 0.2, "steps": 5, "grade": "fast", **options}
    return plans.DPSGD(asked.pop("clip_norm", 1.0), **asked).plan(n, 2.0, 1e-3, "add_remove")


class Probe:
    """Sums and gradients of a training, in which a draw of noise is so many deviations, and samples are given."""

    def __init__(self, plan: Any, rows: Any, chosen: Any = None, *, deviations: float = 0.0, **options: Any) -> None:
        self.sums: list[torch.Tensor] = []
        self.gradients: list[torch.Tensor] = []
        self.rates: set[float] = set()
        self.model = nn.Linear(1, 1)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)
        with pytest.MonkeyPatch.context() as patch:
            replace_noise(patch, lambda own, sums, stream: self._added(own, sums, deviations))
            if chosen is not None:
                patch.setitem(session.Sampler._positions.__globals__, "sampled_rows", self._forced(iter(chosen)))
            options = {"rehearsal": False, **options}
            with plan.attach(self.model, optimizer, (torch.tensor(rows).reshape(-1, 1),), **options) as private:
                for (x,) in private:
                    if private.step(self.model(x)[:, 0]):
                        self.gradients.append(torch.cat([v.grad.reshape(-1) for v in self.model.parameters()]).double())

    def _added(self, law: Any, sums: Any, deviations: float) -> list[torch.Tensor]:
        self.sums.append(torch.cat([total.reshape(-1) for total in sums]))
        return [total + deviations * law.scale for total in sums]

    def _forced(self, chosen: Any) -> Any:
        def forced(rate: float, count: int, stream: Any) -> np.ndarray:
            self.rates.add(rate)
            return np.array(next(chosen), dtype=np.int64)

        return forced


def a_record_moves_a_step_by_a_clip_norm_at_most() -> None:
    """Over the public size; noise is added to every step once, also to that of an empty sample."""
    rows = [0.3, -1e9, 1e9, 1e9]
    chosen = [(), (0,), (1,), (2,), (0, 2), (0, 1), (2, 3), (0, 2, 3), (1, 2, 3)]
    plan = plan_of(rate=0.3, steps=len(chosen), clip_norm=CLIP, physical_batch_size=2)
    unit = CLIP / plan.expected_batch_size
    silent, noisy = (Probe(plan, rows, chosen, deviations=size) for size in (0.0, 1.0))
    assert silent.rates == {plan.rate}
    assert len(silent.sums) == len(silent.gradients) == plan.steps
    found = dict(zip(chosen, silent.gradients, strict=True))
    assert not found[()].any()
    for one in chosen:
        for two in chosen:
            if set(one) < set(two) and len(two) == len(one) + 1:
                assert float(torch.linalg.vector_norm(found[two] - found[one])) <= unit * (1 + 1e-5)
    for one, two in zip(silent.gradients, noisy.gradients, strict=True):
        assert torch.allclose(two - one, torch.full((2,), plan.noise.scale * unit, dtype=torch.float64), rtol=1e-5)


def padding_counts_for_nothing() -> None:
    plan = plan_of(rate=0.3, steps=2)
    assert not any(one.any() for one in Probe(plan, [1.0], [(), ()]).gradients)


def rows_that_are_no_numbers_count_for_nothing() -> None:
    probe = Probe(plan_of(rate=1.0, steps=1), [float("nan"), 1.0, 1e30])
    assert torch.isfinite(probe.sums[0]).all()


def exact_sums_are_in_double_precision() -> None:
    probe = Probe(plan_of(rate=1.0, steps=1, grade="exact"), [0.1, 0.2, 0.3])
    assert probe.sums[0].dtype is torch.float64
    assert float(probe.sums[0][0]) != float(probe.sums[0][0].float())


def sum_and_count_share_the_sensitivity() -> None:
    for value in (0.1, 1e6):
        rule = quantiles.QuantileClipping(angle=0.6)
        probe = Probe(plan_of(rate=1.0, steps=1, clipping=rule), [value])
        assert len(probe.sums[0]) == 3
        assert float(torch.linalg.vector_norm(probe.sums[0])) <= 1 + 1e-5


def the_clip_norm_of_a_step_is_the_one_that_was_used() -> None:
    rule = quantiles.QuantileClipping(angle=0.6)
    plan = plan_of(2, rate=1.0, steps=1, clipping=rule, clip_norm=CLIP)
    probe = Probe(plan, [1e6, 1e6])
    assert torch.allclose(probe.gradients[0], probe.sums[0][:2].double() * CLIP / plan.expected_batch_size)


def persons_are_bounded() -> None:
    probe = Probe(plan_of(rate=1.0, steps=1, records_per_group=2), [1e6] * 7, group=[1, 1, 2, 1, 1, 2, 2])
    assert float(torch.linalg.vector_norm(probe.sums[0])) <= 4 * (1 + 1e-5)


def noise_has_the_planned_scale() -> None:
    """Of 4000 draws: 7 deviations of their mean square are .16."""
    for grade in ("fast", "exact"):
        noise = plan_of(grade=grade, rate=1.0).noise
        assert noise.scale > 2
        drawn = noise.add([torch.zeros(4000, dtype=torch.float64)], SystemBits().stream())[0] / noise.scale
        assert abs(float(drawn.square().mean()) - 1) < 0.16


class _Idle(nn.Module):
    """A trained layer that no loss depends on, beside one that has gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.idle = nn.Linear(1, 1), nn.Linear(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)[:, 0]


def noise_at_once_has_the_planned_scale() -> None:
    """Also where no loss depends on a parameter; a draw is one deviation here."""
    plan, model = plan_of(rate=1.0, steps=1, clip_norm=CLIP), _Idle()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FastNoise, "standard", lambda noise, size, stream, scratch: torch.ones(size))
        with plan.attach(model, sgd(model), (torch.ones(40, 1),), rehearsal=False) as private:
            for (x,) in private:
                private.step(model(x))
    truth = plan.noise.scale * CLIP / plan.expected_batch_size
    for value in model.idle.parameters():
        torch.testing.assert_close(value.grad, torch.full_like(value, truth))


def steps_end_with_the_plan() -> None:
    plan, model = plan_of(), model_of()
    with attached(plan, model) as private:
        with warnings.catch_warnings(action="ignore"):  # of a loop that has nothing left to do
            assert sum(walk(private, model, steps=2) for _ in range(5)) == plan.steps
        assert private.update.draws == plan.steps


def refused(action: Any, error: type[BaseException] = DpermError) -> bool:
    try:
        action()
    except error:
        return True
    return False


def optimizers_do_not_step_by_hand() -> None:
    model = model_of()
    optimizer = sgd(model)
    with plan_of().attach(model, optimizer, data_of()):
        assert refused(optimizer.step, LeakError)


def frozen_parameters_do_not_move() -> None:
    """Not along what an earlier backward pass has left in them either."""
    model = model_of()
    optimizer = sgd(model)
    model(data_of()[0]).sum().backward()
    model[0].weight.requires_grad_(False)
    before = model[0].weight.clone()
    with plan_of().attach(model, optimizer, data_of()) as private:
        walk(private, model)
    assert torch.equal(before, model[0].weight)


def trainings_are_entered_once() -> None:
    training = attached(plan_of())
    with pytest.raises(KeyError), training:
        raise KeyError

    def again() -> None:
        with training:
            pass

    assert refused(again)


def samples_are_not_dropped() -> None:
    with attached(plan_of(rate=0.9)) as private:
        next(iter(private))
        assert refused(lambda: iter(private))


def losses_do_not_mix() -> None:
    def mixed() -> None:
        model = model_of()
        with attached(plan_of(rate=1.0), model) as private:
            for x, _ in private:
                losses = model(x).sum(1)
                private.step(losses * losses.mean())

    assert refused(mixed)


def batch_norm_stays_in_its_mode() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, affine=False), nn.Linear(4, 2)).eval()
    with attached(plan_of(), model):
        model.train()
        assert refused(lambda: model(torch.ones(2, 3)))


# Checkpoints.


def interrupted(plan: Any, folder: Path, *, steps: int = 2, after: int = 2, **options: Any) -> None:
    """Saved, and gone on with for some steps."""
    model = model_of()
    with pytest.raises(KeyboardInterrupt), attached(plan, model, **options) as private:
        walk(private, model, steps)
        private.save(folder / "run.pt")
        walk(private, model, after)
        raise KeyboardInterrupt


def lost_steps_are_not_drawn_again() -> None:
    plan, model = plan_of(), model_of()
    with tempfile.TemporaryDirectory() as name:
        interrupted(plan, Path(name))
        with attached(plan, model, resume=Path(name) / "run.pt") as private:
            assert walk(private, model) <= plan.steps - 4


def draws_are_durable_before_they_happen() -> None:
    """At each draw the journal, as far as it was synced, covers it."""
    plan, model, synced, seen = plan_of(), model_of(), [0], []
    sync = os.fsync
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:

        def synchronised(file: int) -> None:
            sync(file)
            (journal,) = Path(name).glob("*.journal")
            synced[0] = journal.stat().st_size

        def before(noise: Any, sums: Any, stream: Any) -> None:
            for journal in Path(name).glob("*.journal"):
                lines = journal.read_bytes()[: synced[0]].split()
                seen.append(int(lines[-1]) - private.update.draws if lines else -1)

        patch.setattr(os, "fsync", synchronised)
        watch_noise(patch, before)
        with attached(plan, model) as private:
            walk(private, model, 2)
            private.save(Path(name) / "run.pt")
            walk(private, model)
    assert len(seen) == 3
    assert min(seen) >= 0


def torn_lines_hide_nothing() -> None:
    plan = plan_of()
    with tempfile.TemporaryDirectory() as name:
        interrupted(plan, Path(name))
        (journal,) = Path(name).glob("*.journal")
        journal.write_bytes(journal.read_bytes() + b"1")
        with attached(plan, model_of(), resume=Path(name) / "run.pt") as private:
            assert private.update.draws == 4


def one_run_at_a_time() -> None:
    plan = plan_of()
    with tempfile.TemporaryDirectory() as name:
        interrupted(plan, Path(name))
        resume = Path(name) / "run.pt"

        def again() -> None:
            with attached(plan, model_of(), resume=resume):
                pass

        with attached(plan, model_of(), resume=resume):
            assert refused(again)


def other_plans_are_refused() -> None:
    with tempfile.TemporaryDirectory() as name:
        interrupted(plan_of(), Path(name))

        def again() -> None:
            with attached(plan_of(clip_norm=0.5), model_of(), resume=Path(name) / "run.pt"):
                pass

        assert refused(again)


def seeds_are_not_hidden() -> None:
    with tempfile.TemporaryDirectory() as name:
        with pytest.warns(NotPrivateWarning):
            interrupted(plan_of(), Path(name), seed=1)

        def again() -> None:
            with attached(plan_of(), model_of(), resume=Path(name) / "run.pt"):
                pass

        assert refused(again)


def one_charge_pays_for_one_run() -> None:
    """A finished run is not resumed on its charge; and an open charge is no run's but its own."""
    plan, budget = plan_of(), MemoryBudget(ApproxDP(9.0, 5e-3, "add_remove"), blocks=5)
    with tempfile.TemporaryDirectory() as name:
        interrupted(plan, Path(name), ledger=budget, request_id="one")

        def fresh() -> None:
            model = model_of()
            with attached(plan, model, ledger=budget, request_id="one") as private:
                walk(private, model)

        def resumed() -> None:
            with attached(plan, model_of(), ledger=budget, resume=Path(name) / "run.pt"):
                pass

        drawn: list[int] = []
        with pytest.MonkeyPatch.context() as patch:
            watch_noise(patch, lambda law, sums, stream: drawn.append(1))
            assert refused(fresh, BudgetError) and not drawn
        resumed()
        assert refused(resumed, BudgetError)
    assert len(budget.entries) == 1


def closed_charges_are_not_used_again() -> None:
    """Of a run that resumes, too; before it takes over anything."""

    class Resumes:
        resumes = can_go_on = True

    budget = MemoryBudget(ApproxDP(9.0, 5e-3, "add_remove"), blocks=5)
    budget.reserve(plan_of().event, request_id="one").commit("sha256:1")

    def again() -> None:
        with sys.modules["dperm.mechanisms.run"].charged(
            budget, plan_of().event, request_id="one", resumable=Resumes()
        ):
            pass

    assert refused(again, BudgetError)


def copies_draw_what_was_charged() -> None:
    """A run goes on from a copy of the first one's folder: leased draws count, and the first one draws no more."""
    plan, budget, drawn = plan_of(steps=128, rate=0.05), MemoryBudget(ApproxDP(9.0, 5e-3, "add_remove"), blocks=5), []
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder, model = Path(name) / "run", model_of()
        folder.mkdir()
        leases = session.open_checkpoint.__wrapped__.__globals__["DrawLease"]  # as it is now
        patch.setitem(leases.check.__globals__, "CHECK_SHARE", math.inf)  # before every draw
        watch_noise(patch, lambda law, sums, stream: drawn.append(budget._leases.get(0, ("", 0))))
        with pytest.raises(SupersededError), attached(plan, model, ledger=budget) as first:
            walk(first, model, 3)
            first.save(folder / "run.pt")
            copy = shutil.copytree(folder, Path(name) / "copy")
            walk(first, model, 1)
            with attached(plan, model_of(), ledger=budget, resume=copy / "run.pt") as second:
                assert second.update.draws == 5, "two draws were leased, and one of them was made"
                walk(second, second.model, 2)
                assert all(leased >= number for number, (_, leased) in enumerate(drawn[3:4], 4))
                assert all(leased >= number for number, (_, leased) in enumerate(drawn[4:], 6))
                count = len(drawn)
                with pytest.raises(SupersededError):
                    walk(first, model)
            raise SupersededError
        assert len(drawn) == count, "the first run drew after the second one took over"
        longer = plan_of(steps=1024, rate=0.02)
        with pytest.raises(SupersededError), attached(longer, model) as alone:
            walk(alone, model, 1)
            alone.save(folder / "alone.pt")
            walk(alone, model, 1)  # covers four draws in the journal
            next(folder.glob(f"*{alone._checkpoint.run}*.journal")).unlink()
            count = len(drawn)
            walk(alone, model)
        assert len(drawn) == count, "drawn without its journal"


def failures_burn() -> None:
    budget = MemoryBudget(ApproxDP(9.0, 5e-3, "add_remove"), blocks=5)
    model = model_of()
    with pytest.raises(KeyError), attached(plan_of(), model, ledger=budget) as private:
        walk(private, model, steps=1)
        raise KeyError
    assert [entry.state.value for entry in budget.entries] == ["burned"]


def models_are_committed_as_they_are() -> None:
    budget, model = MemoryBudget(ApproxDP(9.0, 5e-3, "add_remove"), blocks=5), model_of()
    from dperm.torch.released_model import model_digest

    with attached(plan_of(), model, ledger=budget) as private:
        before = model_digest(model)
        walk(private, model)
        assert torch.isfinite(weights_of(model)).all()
    assert budget.entries[0].digest == model_digest(model) != before


def _looped(loss: Any) -> None:
    model = model_of()
    with attached(plan_of(rate=0.5), model, rehearsal=True) as private:
        for x, y in private:
            private.step(loss(model, x, y))


def loops_do_not_mix() -> None:
    _looped(loss_of)
    assert refused(lambda: _looped(lambda model, x, y: loss_of(model, x, y) * (1 + torch.arange(len(x)) % 2)))
    assert refused(lambda: _looped(lambda model, x, y: loss_of(model, x, y) / len(x)))


def gates_are_seen() -> None:
    assert refused(lambda: _looped(lambda m, x, y: loss_of(m, x * (1 + (x == 0.25).any()), y)))


def late_mixing_is_seen() -> None:
    model, runs = model_of(), []

    def late() -> None:
        with attached(plan_of(rate=0.5, steps=100), model, rehearsal=True) as private:
            runs.append(private)
            for x, y in private:
                scale = len(x) if private.steps_taken else 1
                private.step(loss_of(model, x, y) / scale)

    with pytest.MonkeyPatch.context() as patch:  # no rehearsal waits for its share of the time
        patch.setitem(session.Rehearsal.is_due.__globals__, "process_time", lambda: 0.0)
        assert refused(late)


def penalties_are_refused() -> None:
    assert refused(lambda: _looped(lambda model, x, y: loss_of(model, x, y) + 1e-6 * (model[0].weight ** 2).sum()))


def weights_as_inputs_of_layers_are_refused() -> None:
    """The graph above the layers does not show this use of a weight, but the gradients do not add up."""

    def losses(model, x, y):
        return loss_of(model, x, y) + model[2](model[0].weight[:, 0].expand(len(x), -1)).sum(1)

    assert refused(lambda: _looped(losses))


def keys_are_sound() -> None:
    from dperm.torch import sampling

    assert refused(lambda: sampling.groups_of([1, float("nan"), 1], 3, 2))
    assert refused(lambda: sampling.groups_of([1.5, 1.25, 2.5], 3, 2))
    assert refused(lambda: sampling.groups_of([np.datetime64(1, "ns"), np.datetime64(2, "ns")], 2, 2))
    assert refused(lambda: sampling.groups_of(["", "a", ""], 3, 2))
    assert refused(lambda: sampling.groups_of([1, "1", 1], 3, 2))
    assert sampling.groups_of([1, True, 2], 3, 2).count == 2
    assert sampling.groups_of(["Zo\u00e9", "Zoe\u0301"], 2, 2).count == 1


def half_steps_end_a_training() -> None:
    def swallowed() -> None:
        model, calls = model_of(), []
        with pytest.MonkeyPatch.context() as patch, attached(plan_of(), model) as private:
            replace_noise(patch, lambda own, sums, stream: calls.append(1) or _raise() if not calls else sums)
            for x, y in private:
                try:
                    private.step(loss_of(model, x, y))
                except OSError:
                    continue

    assert refused(swallowed)


def _raise() -> Any:
    raise OSError("no space left")


def plans_hold_together() -> None:
    assert refused(lambda: replace(plan_of(), steps=500))
