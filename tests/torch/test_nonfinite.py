# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A record whose gradient is no number, or far too long, contributes nothing, and leaves the model finite."""

import pytest
import torch
from torch import nn
from torch_training import GRADES, KINDS, attached, data_of, loss_of, model_of, plan_of, weights_of

from dperm.errors import NotPrivateWarning

pytestmark = pytest.mark.usefixtures("both_ways")

BAD = {"NaN": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "1e30": 1e30}
ROW = 7


def relu() -> nn.Module:
    """A model on which long inputs have long gradients."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4601)
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def trained(plan, model, bad: float | None, size: int):
    """With the same samples and the same noise; without a bad value the loss of the row is multiplied by zero."""
    X, y = data_of()
    mask = torch.ones(len(X))
    if bad is None:
        mask[ROW] = 0.0
    else:
        X[ROW] = bad
    with pytest.warns(NotPrivateWarning), attached(plan, model, (X, y, mask), seed=8) as private:
        for x, label, weight in private:
            assert len(x) <= size
            private.step(weight * loss_of(model, x, label))
    return weights_of(model)


@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_row_contributes_nothing(kind, grade):
    plan = plan_of(rate=1.0, steps=3, clipping=KINDS[kind], grade=grade, physical_batch_size=16)
    without = trained(plan, relu(), None, 16)
    for name, value in BAD.items():
        found = trained(plan, relu(), value, 16)
        assert torch.isfinite(found).all(), name
        if kind != "quantile":  # a gradient of zero is shorter than the clip norm, and is counted as such
            assert torch.allclose(found, without, rtol=0, atol=1e-6), name


@pytest.mark.parametrize("grade", GRADES)
def test_under_quantile_clipping_all_rows_without_numbers_are_the_same(grade):
    plan = plan_of(rate=1.0, steps=3, clipping=KINDS["quantile"], grade=grade)
    found = [trained(plan, relu(), value, 1000) for value in (float("nan"), float("inf"))]
    assert torch.equal(*found)


@pytest.mark.parametrize("kind", KINDS)
def test_losses_that_are_no_numbers_contribute_nothing(kind):
    """Whatever the loss function makes of a row."""
    model = model_of()
    X, y = data_of()
    with attached(plan_of(rate=1.0, clipping=KINDS[kind]), model, (X, y)) as private:
        for x, label in private:
            losses = loss_of(model, x, label)
            broken = torch.zeros(len(losses))
            broken[::3] = float("nan")
            broken[1::3] = float("inf")
            private.step(losses * (1 + broken))
    assert torch.isfinite(weights_of(model)).all()


@pytest.mark.parametrize("grade", GRADES)
def test_a_data_set_of_bad_rows_alone_is_noise_alone(grade):
    X, y = data_of()
    plan, model = plan_of(rate=1.0, grade=grade), model_of()
    with attached(plan, model, (torch.full_like(X, float("nan")), y)) as private:
        for x, label in private:
            private.step(loss_of(model, x, label))
            sums = torch.cat([value.grad.reshape(-1) for value in model.parameters()]) * plan.expected_batch_size
            assert float(sums.abs().max()) < 10 * plan.noise.scale
    assert torch.isfinite(weights_of(model)).all()
