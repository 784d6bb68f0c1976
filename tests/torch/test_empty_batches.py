# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Empty samples take their steps, with noise alone, in every mode."""

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset
from torch_training import GRADES, KINDS, attached, data_of, loss_of, model_of, plan_of

from dperm.torch import sampling


@pytest.fixture
def empty(monkeypatch):
    """Every sample is."""
    monkeypatch.setattr(sampling, "sampled_rows", lambda rate, count, stream: np.empty(0, dtype=np.int64))


class Pairs(Dataset):
    """A map-style data set."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int):
        X, y = data_of()
        return X[index], y[index]


SOURCES = {
    "tensors": (data_of, 0),
    "data set": (Pairs, 0),
    "workers": (Pairs, 2),
    "no records": (lambda: data_of(0), 0),
}


def assert_noise_steps(plan, dataset, workers=0, group=None):
    model = model_of()
    with attached(plan, model, dataset, num_workers=workers, group=group) as private:
        steps = 0
        for x, y in private:
            assert x.shape == (1, 3)
            assert not x.any()
            before = [value.detach().clone() for value in model.parameters()]
            assert private.step(loss_of(model, x, y)) is True
            grads = torch.cat([value.grad.reshape(-1) for value in model.parameters()])
            assert (grads != 0).all()
            assert float(grads.abs().max()) < 10 * plan.noise.scale * private.clip_norm / plan.expected_batch_size
            assert all((one != two).all() for one, two in zip(before, model.parameters(), strict=True))
            steps += 1
    assert steps == plan.steps == private.steps_taken


@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("empty")
def test_an_empty_sample_is_a_step_of_noise(kind, grade):
    assert_noise_steps(plan_of(steps=3, clipping=KINDS[kind], grade=grade), data_of())


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.usefixtures("empty")
def test_wherever_the_records_are(name):
    dataset, workers = SOURCES[name]
    assert_noise_steps(plan_of(steps=3), dataset(), workers)


@pytest.mark.usefixtures("empty")
def test_also_of_groups():
    assert_noise_steps(plan_of(steps=3, records_per_group=2), data_of(), group=torch.arange(40) // 4)


@pytest.mark.usefixtures("empty")
def test_padding_counts_for_nothing():
    """Its loss may be anything, and need not have a gradient."""
    for loss in (torch.full((1,), 1e9), torch.full((1,), float("nan"))):
        model, plan = model_of(), plan_of(steps=2)
        with attached(plan, model) as private:
            for x, _ in private:
                model(x)
                assert private.step(loss)
                grads = torch.cat([value.grad.reshape(-1) for value in model.parameters()])
                assert float(grads.abs().max()) < 10 * plan.noise.scale / plan.expected_batch_size


def test_samples_with_and_without_records_alternate():
    model, plan = model_of(), plan_of(rate=0.02, steps=30)
    seen = []
    with attached(plan, model) as private:
        for x, y in private:
            seen.append(bool(x.any()))
            assert private.step(loss_of(model, x, y))
    assert len(seen) == 30
    assert 0 < sum(seen) < 30  # each fails with probability (1 - .02)^1200 or (1 - .98^40)^30


@pytest.mark.filterwarnings("ignore:released parameters are larger")
@pytest.mark.filterwarnings("ignore:the noise for .* outweighs the gradients")
def test_samples_of_a_small_rate_are_empty_by_themselves():
    """Nothing is forced here; a record is drawn with probability 1.2e-7."""
    assert_noise_steps(plan_of(rate=1e-9, delta=1e-13, steps=3), data_of())
