# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A clip norm that follows a quantile: gradient and count together stay within the sensitivity (T46a)."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn
from torch_training import plan_of

from dperm.torch import QuantileClipping
from dperm.torch.noise import FastNoise

LEVEL = 1e-7


def slopes(values: torch.Tensor):
    """Records whose gradients are these numbers, whatever the model is."""
    return (values.reshape(-1, 1),)


def line() -> nn.Module:
    return nn.Linear(1, 1, bias=False)


def steps(plan, dataset) -> tuple[list[float], list[float]]:
    """Clip norms before each step, and the noisy counts that followed."""
    norms, counts, model = [], [], line()
    adapted = QuantileClipping.adapted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            QuantileClipping,
            "adapted",
            lambda own, norm, count, expected: counts.append(count) or adapted(own, norm, count, expected),
        )
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.0), dataset) as private:
            for (x,) in private:
                norms.append(private.clip_norm)
                private.step(model(x)[:, 0])
    return norms, counts


@pytest.mark.parametrize("angle", [1e-3, 0.1, 0.5, math.pi / 4, 1.0, 1.5])
def test_the_shares_have_squares_that_sum_to_one_at_most(angle):
    found = QuantileClipping(angle=angle)
    square = Fraction(found.gradient_share) ** 2 + Fraction(found.count_share) ** 2
    assert 1 - 1e-14 < square <= 1


@pytest.mark.parametrize("grade", ["fast", "exact"])
@pytest.mark.parametrize("value", [1e-9, 0.3, 0.999, 1.0, 1.001, 5.0, 1e15])
def test_what_a_record_adds_to_sum_and_count_has_norm_one_at_most(value, grade, monkeypatch):
    plan = plan_of(1, rate=1.0, steps=2, grade=grade, clipping=QuantileClipping(angle=0.6))
    seen = []
    add = type(plan.noise).add
    monkeypatch.setattr(
        type(plan.noise),
        "add",
        lambda own, sums, stream: seen.append(torch.cat([t.reshape(-1) for t in sums])) or add(own, sums, stream),
    )
    steps(plan, slopes(torch.tensor([value])))
    assert len(seen[0]) == 2
    assert float(torch.linalg.vector_norm(seen[0].double())) <= 1 + 1e-6
    short = math.copysign(1, float(seen[0][1]))
    assert short == (1 if value <= 1 else -1)
    assert abs(float(seen[0][1])) == pytest.approx(math.sin(0.6), rel=1e-6)


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.8])
@pytest.mark.filterwarnings("ignore:delta=0.001 is above 1/n")
def test_the_clip_norm_gets_to_the_quantile(quantile):
    """Of gradients that are uniform on (0, 8): with little noise it ends within a tenth of the range."""
    rule = QuantileClipping(quantile, learning_rate=0.5, angle=0.7)
    plan = plan_of(2000, epsilon=100.0, rate=0.5, steps=80, clipping=rule, clip_norm=0.2)
    norms, _ = steps(plan, slopes(torch.linspace(0.0, 8.0, 2000)))
    assert np.mean(norms[-20:]) == pytest.approx(8 * quantile, abs=0.8)


def test_what_it_costs_is_what_a_fixed_clip_norm_costs():
    """One draw covers sum and count."""
    fixed, adaptive = plan_of(), plan_of(clipping=QuantileClipping())
    assert adaptive.event == fixed.event
    assert adaptive.noise.scale == fixed.noise.scale


@pytest.mark.parametrize("grade", ["fast", "exact"])
def test_the_count_has_the_noise_of_the_sum(grade):
    """Without records the noisy count is noise of the planned scale, fresh in each step."""
    plan = plan_of(steps=300, rate=0.02, grade=grade, clipping=QuantileClipping())
    _, counts = steps(plan, slopes(torch.empty(0)))
    scaled = np.array(counts) / plan.noise.scale
    assert stats.kstest(scaled, "norm").pvalue > LEVEL
    assert LEVEL < stats.chi2.sf(float((scaled**2).sum()), 300) < 1 - LEVEL
    assert len(set(counts)) == 300


def test_the_gradient_of_a_step_is_scaled_by_the_clip_norm_of_that_step(monkeypatch):
    """Not by the next one, which is known by then."""
    monkeypatch.setattr(FastNoise, "add", lambda own, sums, stream: [total.clone() for total in sums])
    rule = QuantileClipping(0.5, angle=0.3)
    model, plan = line(), plan_of(10, rate=1.0, steps=3, clipping=rule, clip_norm=2.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with plan.attach(model, optimizer, slopes(torch.full((10,), 1.0)), rehearsal=False) as private:
        for (x,) in private:
            norm = private.clip_norm
            private.step(model(x)[:, 0])
            assert private.clip_norm == pytest.approx(norm * math.exp(-0.2 * (1 - 0.5)), rel=1e-6)
            assert float(model.weight.grad) == pytest.approx(
                math.cos(0.3), rel=1e-5
            )  # all gradients are 1, none is clipped
            assert norm > 1


def test_the_clip_norm_stays_a_number():
    rule = QuantileClipping(0.0, learning_rate=10.0)
    assert rule.adapted(1e-15, 1e9, 1.0) == 1e-15
    rule = QuantileClipping(1.0, learning_rate=10.0)
    assert rule.adapted(1e15, -1e9, 1.0) == 1e15
    assert QuantileClipping(0.5).adapted(1.0, 0.0, 8.0) == 1.0


def test_a_run_goes_on_at_the_ends_of_the_clip_norm():
    """Where it was driven by noise: the engine takes whatever the rule gives."""
    rule = QuantileClipping(0.0, learning_rate=10.0, angle=1.5)
    norms, _ = steps(plan_of(rate=1.0, epsilon=50.0, steps=30, clipping=rule), slopes(torch.zeros(40)))
    assert norms[-1] < 2e-15


def test_flat_clipping_is_under_it():
    assert plan_of(clipping=QuantileClipping()).clipping == "flat"
    assert plan_of().quantile is None
