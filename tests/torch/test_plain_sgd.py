# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The short way of plain SGD: the same numbers, and only where nobody could tell."""

import copy
import functools

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam
from torch.optim.lr_scheduler import StepLR
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch_training import data_of, loss_of, model_of, plan_of

from dperm.torch.optimizers import plain_step
from dperm.torch.update import private_steps


def model_with_gradients() -> nn.Module:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    for value in model.parameters():
        value.grad = torch.randn_like(value)
    return model


def taken(model: nn.Module, optimizer: torch.optim.Optimizer) -> bool:
    with private_steps(optimizer):
        return plain_step(optimizer, list(model.parameters()))


@pytest.mark.parametrize("foreach", [None, True, False])
def test_the_step_is_that_of_torch(foreach):
    model = model_with_gradients()
    twin = copy.deepcopy(model)
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        theirs.grad = mine.grad.clone()
    assert taken(model, SGD(model.parameters(), lr=0.3, foreach=foreach))
    SGD(twin.parameters(), lr=0.3, foreach=foreach).step()
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine, theirs)


OTHERS = {
    "momentum": lambda model: SGD(model.parameters(), lr=0.3, momentum=0.9),
    "decay": lambda model: SGD(model.parameters(), lr=0.3, weight_decay=0.1),
    "upwards": lambda model: SGD(model.parameters(), lr=0.3, maximize=True),
    "fused": lambda model: SGD(model.parameters(), lr=0.3, fused=True),
    "a_rate_that_is_a_tensor": lambda model: SGD(model.parameters(), lr=torch.tensor(0.3)),
    "two_groups": lambda model: SGD([{"params": [value]} for value in model.parameters()], lr=0.3),
    "another_order": lambda model: SGD([*model.parameters()][::-1], lr=0.3),
    "adam": lambda model: Adam(model.parameters(), lr=0.3),
    "a_subclass": lambda model: type("Own", (SGD,), {})(model.parameters(), lr=0.3),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_everything_else_steps_as_torch_does(make):
    model = model_with_gradients()
    before = [value.detach().clone() for value in model.parameters()]
    assert not taken(model, make(model))
    assert all(torch.equal(value, old) for value, old in zip(model.parameters(), before, strict=True))


def test_settings_count_as_they_are_now():
    model = model_with_gradients()
    optimizer = SGD(model.parameters(), lr=0.3)
    assert taken(model, optimizer)
    optimizer.param_groups[0]["weight_decay"] = 0.1
    assert not taken(model, optimizer)


@pytest.mark.parametrize("register", ["register_step_pre_hook", "register_step_post_hook"])
def test_hooks_are_called(register):
    calls, model, plan = [], model_of(), plan_of()
    optimizer = SGD(model.parameters(), lr=0.1)
    with plan.attach(model, optimizer, data_of(), rehearsal=False) as private:
        getattr(optimizer, register)(lambda *_: calls.append(1))
        for x, y in private:
            private.step(loss_of(model, x, y))
    assert len(calls) == plan.steps


@pytest.mark.parametrize(
    "register", [register_optimizer_step_pre_hook, register_optimizer_step_post_hook], ids=["before", "after"]
)
def test_hooks_of_all_optimizers_are_not_passed_over(register):
    model = model_with_gradients()
    handle = register(lambda *_: None)
    try:
        assert not taken(model, SGD(model.parameters(), lr=0.3))
    finally:
        handle.remove()


def test_schedulers_see_the_steps(recwarn):
    model, plan = model_of(), plan_of()
    optimizer = SGD(model.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 1, gamma=0.5)
    with plan.attach(model, optimizer, data_of(), rehearsal=False) as private:
        for x, y in private:
            if private.step(loss_of(model, x, y)):
                scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1 * 0.5**plan.steps)
    assert not [one for one in recwarn if "lr_scheduler.step()" in str(one.message)]


@pytest.mark.parametrize("wrapped", [True, False], ids=["wraps", "replaces"])
def test_a_step_that_was_patched_on_the_class_is_taken(wrapped, monkeypatch):
    model = model_with_gradients()
    optimizer, step = SGD(model.parameters(), lr=0.3), SGD.step

    def patched(self, closure=None):
        return step(self, closure)

    monkeypatch.setattr(SGD, "step", functools.wraps(step)(patched) if wrapped else patched)
    assert not taken(model, optimizer)
    monkeypatch.undo()
    assert taken(model, optimizer)


def test_whoever_profiles_sees_the_step():
    model = model_with_gradients()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        assert not taken(model, SGD(model.parameters(), lr=0.3))


def test_a_setting_that_is_missing_is_left_to_torch():
    model = model_with_gradients()
    optimizer = SGD(model.parameters(), lr=0.3)
    del optimizer.param_groups[0]["fused"]
    assert not taken(model, optimizer)
