# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Adam without the bias of the noise: the public variance is taken out of the second moment."""

import copy
import math

import pytest
import torch
from torch import nn
from torch_training import attached, model_of, plan_of, walk

from dperm.errors import ParameterError
from dperm.torch import AdamBC, QuantileClipping
from dperm.torch.adam import corrected, tell_noise


def walked(optimizer: torch.optim.Optimizer, parameter: nn.Parameter, grads: torch.Tensor) -> torch.Tensor:
    for grad in grads:
        parameter.grad = grad.clone()
        optimizer.step()
    return parameter.detach()


def gradients(steps: int, size: int, seed: int = 46) -> torch.Tensor:
    return torch.randn(steps, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.7)], ids=["usual", "short"])
def test_without_noise_it_is_adam(betas):
    grads = gradients(30, 7)
    own, theirs = (nn.Parameter(torch.ones(7, dtype=torch.float64)) for _ in range(2))
    found = walked(AdamBC([own], lr=0.01, betas=betas), own, grads)
    expected = walked(torch.optim.Adam([theirs], lr=0.01, betas=betas), theirs, grads)
    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_of_noise_alone_the_corrected_second_moment_is_about_0():
    deviation, size = 3.0, 2000
    parameter = nn.Parameter(torch.zeros(size, dtype=torch.float64))
    optimizer = AdamBC([parameter], lr=0.0)
    tell_noise(optimizer, deviation)
    walked(optimizer, parameter, deviation * gradients(1500, size))
    state = optimizer.state[parameter]
    squares = state["exp_avg_sq"] / (1 - 0.999**1500)
    assert abs(float((squares - deviation**2).mean())) < 0.01 * deviation**2
    left = corrected(squares, deviation**2, 0.03)
    assert float(left.min()) == pytest.approx(0.03 * deviation**2)
    assert float(left.mean()) < 0.05 * deviation**2


def test_a_small_signal_is_seen_below_the_noise():
    """Adam divides both coordinates by about the noise; corrected, the steps tell a large gradient from a small one."""
    signal = torch.tensor([2.0, 0.0], dtype=torch.float64)
    grads = 1.0 * gradients(3000, 2) + signal
    parameter = nn.Parameter(torch.zeros(2, dtype=torch.float64))
    optimizer = AdamBC([parameter], lr=0.0)
    tell_noise(optimizer, 1.0)
    walked(optimizer, parameter, grads)
    squares = optimizer.state[parameter]["exp_avg_sq"] / (1 - 0.999**3000)
    assert corrected(squares, 1.0, 0.03)[0] == pytest.approx(4.0, rel=0.1)
    assert corrected(squares, 1.0, 0.03)[1] < 0.15


def test_parts_of_the_noise_add_their_variances_and_other_optimizers_need_not_know():
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = AdamBC([parameter])
    tell_noise(optimizer, 3.0, 4.0)
    assert optimizer.param_groups[0]["noise_variance"] == 25.0
    plain = torch.optim.SGD([parameter], lr=0.1)
    tell_noise(plain, 3.0)
    assert "noise_variance" not in plain.param_groups[0]


@pytest.mark.parametrize("clipping", ["flat", QuantileClipping()], ids=["flat", "quantile"])
def test_a_private_training_tells_the_noise_of_every_step(clipping):
    model, plan = model_of(), plan_of(clip_norm=0.7, clipping=clipping)
    optimizer = AdamBC(model.parameters())
    norms, told = [], []
    data = (torch.randn(40, 3, generator=torch.Generator().manual_seed(1)), torch.zeros(40, dtype=torch.long))
    with plan.attach(model, optimizer, data, rehearsal=False) as private:
        optimizer.register_step_post_hook(lambda *_: told.append(optimizer.param_groups[0]["noise_variance"]))
        for x, y in private:
            norms.append(private.clip_norm)
            private.step(nn.functional.cross_entropy(model(x), y, reduction="none"))
    expected = [(plan.noise.scale * norm / plan.expected_batch_size) ** 2 for norm in norms]
    assert told == pytest.approx(expected)
    assert (len(set(told)) == 1) is (clipping == "flat")


def test_noise_in_its_gradients_has_the_variance_that_is_told():
    plan, model = plan_of(steps=30), model_of()
    seen = []
    with attached(plan, model) as private:
        private._optimizer.register_step_pre_hook(
            lambda *_: seen.append(torch.cat([value.grad.reshape(-1) for value in model.parameters()]))
        )
        walk(private, model)
    told = plan.noise.scale / plan.expected_batch_size
    found = float(torch.stack(seen).std())
    assert found == pytest.approx(told, rel=4 / math.sqrt(2 * 30 * seen[0].numel()) + 0.1)


@pytest.mark.parametrize("bad", [{"lr": -1.0}, {"betas": (1.0, 0.9)}, {"floor": 0.0}], ids=["lr", "betas", "floor"])
def test_nonsense_is_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        AdamBC([nn.Parameter(torch.zeros(1))], **bad)


def test_its_state_can_be_stored():
    parameter = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    optimizer = AdamBC([parameter], lr=0.1)
    tell_noise(optimizer, 0.5)
    walked(optimizer, parameter, gradients(3, 3))
    other = nn.Parameter(parameter.detach().clone())
    restored = AdamBC([other], lr=0.2)
    restored.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    more = gradients(4, 3, seed=7)
    assert torch.equal(walked(optimizer, parameter, more), walked(restored, other, more))
