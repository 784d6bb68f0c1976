# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scores of canaries: gradients against the engine, likelihood ratios against densities."""

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import nn
from torch.nn import functional
from torch_training import data_of, loss_of, model_of, plan_of, sgd

from dperm.errors import ParameterError
from dperm.torch import PerExampleGradients
from dperm.torch.audit import TrainingCanaries, Watch, with_canaries
from dperm.torch.audit.canary_gradients import MOST_ENTRIES, ShadowModel, flat_clipped
from dperm.torch.audit.canary_scores import Products, evidence
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.loss_functions import per_example

LOSS = per_example(functional.cross_entropy)


class Recurrent(nn.Module):
    """A model with layers that vmap copies."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.layer(x[:, None])[0][:, 0])


class Counting(nn.Module):
    """A model that looks at numbers, which vmap refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = model_of()

    def forward(self, x):
        return self.layer(x) * (2.0 if float(x.detach().abs().max()) > 1e6 else 1.0)


def values_of(model):
    return {name: value.detach() for name, value in model.named_parameters()}


@pytest.mark.parametrize("clipping", list(Clipping))
@pytest.mark.parametrize("clip_norm", [0.05, 1.0])
@pytest.mark.parametrize("make", [model_of, Recurrent, Counting], ids=["perceptron", "recurrent", "one by one"])
def test_clipped_gradients_are_those_of_the_engine(clipping, clip_norm, make):
    model, (x, y) = make(), data_of(12)
    shadow = ShadowModel.of(model, LOSS)
    rows = torch.cat([flat_clipped(part, clip_norm, clipping) for part in shadow.gradients(values_of(model), (x, y))])
    assert rows.shape[0] == 12
    with PerExampleGradients(model) as engine:
        sums = engine.clipped_sum(loss_of(model, x, y), clip_norm=clip_norm, clipping=clipping)
    expected = torch.cat([sums[value].reshape(-1) for value in model.parameters()])
    assert torch.allclose(rows.sum(0), expected.to(rows.dtype), rtol=1e-4, atol=1e-5)


def test_gradients_come_some_at_a_time(monkeypatch):
    model, records = model_of(), data_of(12)
    whole = list(ShadowModel.of(model, LOSS).gradients(values_of(model), records))
    monkeypatch.setattr("dperm.torch.audit.canary_gradients.MOST_ENTRIES", 5 * 26)
    parts = list(ShadowModel.of(model, LOSS).gradients(values_of(model), records))
    assert (len(whole), len(parts)) == (1, 3)
    assert MOST_ENTRIES > 5 * 26
    together = torch.cat([flat_clipped(part, 1.0, Clipping.FLAT) for part in parts])
    assert torch.allclose(together, flat_clipped(whole[0], 1.0, Clipping.FLAT))


@pytest.mark.parametrize("rate", [0.1, 0.7, 1.0])
def test_evidence_is_the_logarithm_of_a_ratio_of_densities(rate):
    length, scale = 0.8, 1.3
    along = np.linspace(-3, 4, 9)  # of the sum, in the direction of the gradient
    products = Products(along * length, np.full(9, length**2), np.zeros(9))
    inside = (1 - rate) * norm.pdf(along, 0, scale) + rate * norm.pdf(along, length, scale)
    expected = np.log(inside / norm.pdf(along, 0, scale))
    assert evidence(products, rate=rate, scale=scale) == pytest.approx(expected, abs=1e-12)


def test_what_all_canaries_have_in_common_is_taken_away():
    noisy, squares, cross = np.array([1.0, 2.0, 3.0]), np.full(3, 0.5), np.full(3, -0.1)
    here, there = (Products(noisy + shift, squares, cross).centred(0.5) for shift in (0.0, 100.0))
    assert here.noisy == pytest.approx(there.noisy)
    assert here.noisy.mean() == pytest.approx(0.5 * (0.5 - 0.1) / 2)


def watched(plan, canaries, *, zeroed: bool = False):
    model = model_of()
    optimizer = sgd(model)
    watch = Watch(plan, model, canaries=canaries, loss=functional.cross_entropy)
    with plan.attach(model, optimizer, with_canaries(data_of(), canaries), rehearsal=False) as private:
        for x, y in private:
            if private.step(loss_of(model, x, y)):
                if zeroed:
                    optimizer.zero_grad()
                watch.see(private)
    return watch, model


def test_scores_are_those_of_a_plain_loop():
    plan, canaries = plan_of(100, rate=0.3, steps=4), TrainingCanaries(data_of(45), seed=2)
    model, expected, states = model_of(), np.zeros(45), []
    first = loss_of(model, *canaries.records).detach()
    watch = Watch(plan, model, canaries=canaries, loss=functional.cross_entropy)
    with plan.attach(model, sgd(model), with_canaries(data_of(), canaries), rehearsal=False) as private:
        before = model_of().state_dict()
        for x, y in private:
            if private.step(loss_of(model, x, y)):
                noisy = torch.cat([value.grad.reshape(-1) for value in model.parameters()]).double()
                states.append((before, noisy * plan.expected_batch_size))
                before = {name: value.clone() for name, value in model.state_dict().items()}
                watch.see(private)
    for state, noisy in states:
        shown = model_of()
        shown.load_state_dict(state)
        rows = []
        for x, y in zip(*canaries.records, strict=True):
            loss = loss_of(shown, x[None], y[None])[0]
            grad = torch.cat([part.reshape(-1) for part in torch.autograd.grad(loss, list(shown.parameters()))])
            rows.append((grad / grad.norm().clamp(min=1)).double())
        rows = torch.stack(rows)
        along, squares = (rows @ noisy).numpy(), rows.square().sum(1).numpy()
        along = along - along.mean() + 0.15 * squares.mean()
        expected += np.log(0.7 + 0.3 * np.exp((along - squares / 2) / plan.noise.scale**2))
    assert watch.steps_seen == 4
    assert watch.white_box == pytest.approx(expected, rel=1e-4, abs=1e-5)
    fell = first - loss_of(model, *canaries.records).detach()
    assert watch.black_box == pytest.approx(fell.double().numpy(), abs=1e-6)


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "normalized"])
def test_every_kind_of_clipping_is_watched(clipping):
    watch, _ = watched(plan_of(100, clipping=clipping), TrainingCanaries(data_of(45), seed=2))
    assert np.isfinite(watch.white_box).all()
    assert np.ptp(watch.white_box) > 0


def test_gradients_that_are_gone_are_asked_for():
    with pytest.raises(ParameterError, match=r"watch.see must be called right after private.step returned True"):
        watched(plan_of(100), TrainingCanaries(data_of(45), seed=2), zeroed=True)


def test_watching_does_not_touch_the_model():
    watch, model = watched(plan_of(100), TrainingCanaries(data_of(45), seed=2))
    kept = [value.detach().clone() for value in model.parameters()]
    _ = watch.black_box, watch.white_box
    assert all(torch.equal(one, other) for one, other in zip(kept, model.parameters(), strict=True))
    assert model.training


def test_a_canary_against_its_alternative_is_the_negative_of_the_other_way_round():
    plan, model = plan_of(80, rate=0.3, steps=3, adjacency="replace_one"), model_of()
    (x, y), other = data_of(45), (data_of(50)[0][:45], torch.zeros(45, dtype=torch.long))
    canaries, swapped = (
        TrainingCanaries((x, y), alternatives=other, seed=2),
        TrainingCanaries(other, alternatives=(x, y), seed=2),
    )
    watches = [Watch(plan, model, canaries=one, loss=functional.cross_entropy) for one in (canaries, swapped)]
    with plan.attach(model, sgd(model), with_canaries(data_of(35), canaries), rehearsal=False) as private:
        for inputs, targets in private:
            if private.step(loss_of(model, inputs, targets)):
                for watch in watches:
                    watch.see(private)
    for name in ("white_box", "black_box"):
        here, there = (getattr(watch, name) for watch in watches)
        assert np.ptp(here) > 0
        assert here == pytest.approx(-there, abs=1e-9)
