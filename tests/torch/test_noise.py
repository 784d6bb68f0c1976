# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The noise that the optimizer gets: its deviation, fresh in each step, never repeated; and that the event is true.

Every threshold is passed by chance below once in 1e6 runs.
"""

import os
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn
from torch.utils.data import Dataset
from torch_spies import watch_noise
from torch_training import GRADES, KINDS, attached, data_of, loss_of, model_of, plan_of, sgd, walk

from dperm.noise.bits import SystemBits
from dperm.torch import sampling
from dperm.torch.noise import FastNoise

LEVEL = 1e-7
BOTH = pytest.mark.parametrize("grade", GRADES)


def gradients(plan, model, dataset=None, factor=0.0, **options) -> np.ndarray:
    """What the optimizer gets in each step, of losses that are multiplied by ``factor``: a row for each step."""
    found = []
    with attached(plan, model, dataset, **options) as private:
        for x, y in private:
            if private.step(factor * loss_of(model, x, y)):
                found.append(torch.cat([value.grad.reshape(-1).double() for value in model.parameters()]).numpy())
    return np.array(found)


def wide() -> nn.Module:
    return nn.Linear(3, 40)


@BOTH
@pytest.mark.parametrize("options", [{}, {"clip_norm": 0.01}, {"records_per_group": 3}], ids=str)
def test_the_noise_has_the_stated_deviation(options, grade):
    """Of losses that are zero: scale times clip norm over the expected batch, whatever the samples hold."""
    plan = plan_of(steps=60, grade=grade, **options)
    group = {"group": np.arange(40) // 3} if "records_per_group" in options else {}
    found = gradients(plan, wide(), **group)
    deviation = plan.noise.scale * plan.method.clip_norm / plan.expected_batch_size
    assert plan.expected_batch_size == pytest.approx(8.0 * options.get("records_per_group", 1))
    assert stats.kstest(found.ravel() / deviation, "norm").pvalue > LEVEL
    square = float((found**2).sum() / deviation**2)
    assert LEVEL < stats.chi2.sf(square, found.size) < 1 - LEVEL
    assert stats.chi2.sf(square * 1.15, found.size) < LEVEL, "the check is not blind"


@BOTH
def test_under_quantile_clipping_the_noise_is_that_of_the_adapted_clip_norm(grade):
    plan, model, norms, found = plan_of(steps=60, grade=grade, clipping=KINDS["quantile"]), wide(), [], []
    with attached(plan, model) as private:
        for x, y in private:
            norms.append(private.clip_norm)
            private.step(0.0 * loss_of(model, x, y))
            found.append(torch.cat([value.grad.reshape(-1) for value in model.parameters()]).double().numpy())
    scaled = np.array(found) / np.array(norms)[:, None] * plan.expected_batch_size / plan.noise.scale
    assert len(set(norms)) > 20
    assert stats.kstest(scaled.ravel(), "norm").pvalue > LEVEL


@BOTH
def test_noise_is_fresh_in_each_step_and_uncorrelated(grade):
    found = gradients(plan_of(steps=120, grade=grade), wide())
    scaled = found / found.std()
    assert all(len(np.unique(found[:, k])) == len(found) for k in (0, 80, 159)), "nothing is drawn twice"
    for table in (scaled, scaled.T):  # between steps, and between coordinates
        products = table @ table.T / np.sqrt(table.shape[1])
        between = products[np.triu_indices(len(table), 1)]
        assert np.abs(between).max() < 8
        assert abs(between.mean()) < 6 / np.sqrt(len(between))
    for lag in range(1, 6):
        assert abs((scaled[lag:] * scaled[:-lag]).mean()) < 6 / np.sqrt(scaled[lag:].size)


@BOTH
def test_runs_share_no_noise(grade):
    one, two = (gradients(plan_of(grade=grade), wide()) for _ in range(2))
    assert not (one == two).any()


def test_exact_noise_lies_on_its_grid():
    plan = plan_of(grade="exact")
    law = plan.noise.law
    sums = [torch.full((2, 3), 0.1, dtype=torch.float64), torch.full((4,), 1 / 3, dtype=torch.float64)]
    noisy = plan.noise.add(sums, SystemBits().stream())
    assert [one.shape for one in noisy] == [one.shape for one in sums]
    for one in noisy:
        steps = one.numpy() / law.grid.step  # a power of two: the quotient is exact
        assert np.array_equal(steps, np.rint(steps))


@BOTH
def test_shapes_are_kept_and_what_is_added_is_noise(grade):
    plan = plan_of(grade=grade)
    sums = [torch.ones(2, 3, dtype=torch.float64), torch.ones(1, dtype=torch.float64)]
    noisy = plan.noise.add(sums, SystemBits().stream())
    assert [one.shape for one in noisy] == [(2, 3), (1,)]
    assert all((one != 1).all() for one in noisy)
    assert max(float((one - 1).abs().max()) for one in noisy) < 10 * plan.noise.scale


# Forks and workers.


def drawn(noise, stream) -> bytes:
    return noise.add([torch.zeros(8, dtype=torch.float64)], stream)[0].numpy().tobytes()


@BOTH
def test_a_fork_never_repeats_noise(grade):
    """Parent and child go on with the same stream object, and draw nothing that the other draws."""
    plan, stream = plan_of(grade=grade), SystemBits().stream()
    drawn(plan.noise, stream)
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writable, drawn(plan.noise, stream) + drawn(plan.noise, stream))
        finally:
            os._exit(0)
    own = drawn(plan.noise, stream) + drawn(plan.noise, stream)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    assert len(theirs) == len(own) == 128
    assert not np.intersect1d(np.frombuffer(own), np.frombuffer(theirs)).size


class Processes(Dataset):
    """Records that say which process read them."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int):
        return data_of()[0][index], os.getpid()


def test_workers_read_and_the_process_of_the_run_draws(monkeypatch):
    """A sample and a draw for each step, all in this process, and none of them twice."""
    draws, rows, readers = [], [], set()
    standard, sample = FastNoise.standard, sampling.sampled_rows

    def drawn(noise, size, *rest):
        numbers = standard(noise, size, *rest)
        draws.append((os.getpid(), tuple(numbers.tolist())))
        return numbers

    def sampled(*arguments):
        rows.append((os.getpid(), sample(*arguments)))
        return rows[-1][1]

    monkeypatch.setattr(FastNoise, "standard", drawn)
    monkeypatch.setattr(sampling, "sampled_rows", sampled)
    model = model_of()
    with plan_of(rate=0.3, steps=6).attach(model, sgd(model), Processes(), num_workers=2) as private:
        for x, pids in private:
            readers |= set(pids.tolist())
            private.step(loss_of(model, x, torch.zeros(len(x), dtype=torch.long)))
    assert os.getpid() not in readers - {0}
    assert {process for process, _ in draws + rows} == {os.getpid()}
    assert len({noisy for _, noisy in draws}) == len(draws) == 6
    assert len(rows) == 6


# The event is what was done.


@dataclass
class Spy:
    """What was drawn: the rates of samples, the laws that were added, and for which number of entries."""

    rates: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


@pytest.fixture
def spy(monkeypatch):
    found = Spy()
    sample = sampling.sampled_rows

    def sampled(rate, count, stream):
        found.rates.append(rate)
        found.counts.append(count)
        return sample(rate, count, stream)

    monkeypatch.setattr(sampling, "sampled_rows", sampled)

    def before(noise, sums, stream):
        found.scales.append(noise.scale)
        found.sizes.append(sum(total.numel() for total in sums))

    watch_noise(monkeypatch, before)
    return found


@BOTH
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_the_event_is_what_was_drawn(kind, grade, adjacency, spy):
    """One sample at the event's rate and one draw of at least its noise for each of its steps, for all parameters."""
    options = {"clipping": KINDS[kind], "grade": grade, "physical_batch_size": 3}
    plan, model = plan_of(rate=0.1, steps=7, adjacency=adjacency, **options), model_of()
    with attached(plan, model) as private:
        walk(private, model)
    (sampled, steps), *_ = private.release.event.singles()
    assert spy.rates == [sampled.rate] * steps
    assert spy.counts == [40] * steps
    assert len(spy.scales) == steps == 7
    assert min(spy.scales) >= sampled.event.noise_multiplier
    parameters = sum(value.numel() for value in model.parameters())
    assert set(spy.sizes) == {parameters + (kind == "quantile")}


@pytest.mark.parametrize("most", [2, 5])
def test_of_groups_the_noise_is_that_of_all_records_of_one(most, spy):
    plan, model = plan_of(rate=0.1, steps=4, records_per_group=most), model_of()
    with attached(plan, model, group=np.arange(40) // 4) as private:
        walk(private, model)
    (sampled, _), *_ = private.release.event.singles()
    assert spy.counts == [10] * 4
    assert spy.scales[0] / most >= sampled.event.noise_multiplier
