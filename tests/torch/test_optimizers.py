# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Optimizers that cannot step are refused before the charge, and the trial of an optimizer leaves no trace."""

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch_training import data_of, loss_of, model_of, plan_of, weights_of

from dperm.errors import ParameterError
from dperm.torch import AdamBC, optimizers


class NeedsClosure(torch.optim.SGD):
    """An optimizer whose step calls its closure, although it need not be given."""

    def step(self, closure=None):
        return closure()


class RequiresClosure(torch.optim.SGD):
    """An optimizer whose step has to be given a closure."""

    def step(self, closure):
        return closure()


FAILING = {
    "sparse gradients": (lambda values: torch.optim.SparseAdam(values), "SparseAdam"),
    "capturable": (lambda values: torch.optim.Adam(values, capturable=True), "capturable"),
    "differentiable": (lambda values: torch.optim.SGD(values, lr=0.1, differentiable=True), "differentiable"),
    "a closure by name": (lambda values: RequiresClosure(values, lr=0.1), "closure"),
    "a closure by use": (lambda values: NeedsClosure(values, lr=0.1), "closure.*TypeError"),
}


@pytest.mark.parametrize("name", FAILING)
def test_an_optimizer_that_cannot_step_is_refused_in_attach(name):
    model = model_of()
    make, message = FAILING[name]
    optimizer = make(list(model.parameters()))
    with pytest.raises(ParameterError, match=f"optimizer must.*{message}"):
        plan_of().attach(model, optimizer, data_of())


UNUSABLE = {
    "lr": (lambda values: torch.optim.SGD(values, lr=1e39), torch.float32),
    "lr of a tensor": (lambda values: torch.optim.Adam(values, lr=torch.tensor(float("inf"))), torch.float32),
    "lr of NaN": (lambda values: torch.optim.SGD(values, lr=float("nan")), torch.float32),
    "lr beyond any double": (lambda values: torch.optim.SGD(values, lr=10**400), torch.float32),
    "lr in double": (lambda values: torch.optim.SGD(values, lr=float("inf")), torch.float64),
    "momentum": (lambda values: torch.optim.SGD(values, lr=0.1, momentum=float("inf")), torch.float32),
    "weight_decay": (lambda values: torch.optim.AdamW(values, weight_decay=1e39), torch.float32),
    "eps": (lambda values: torch.optim.Adam(values, eps=1e39), torch.float32),
    "alpha": (lambda values: torch.optim.RMSprop(values, alpha=1e39), torch.float32),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_settings_beyond_the_range_of_the_parameters_are_refused_in_attach(name):
    make, kind = UNUSABLE[name]
    model = model_of(dtype=kind)
    with pytest.raises(ParameterError, match=rf"optimizer must have a finite {name.split()[0]} within the range"):
        plan_of().attach(model, make(list(model.parameters())), data_of(dtype=kind))


def test_the_second_beta_is_checked_too():
    model = model_of()
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.param_groups[0]["betas"] = (0.9, float("nan"))
    with pytest.raises(ParameterError, match="optimizer must have a finite betas"):
        plan_of().attach(model, optimizer, data_of())


def test_large_settings_within_the_range_and_other_settings_pass():
    model, double = model_of(), model_of(dtype=torch.float64)
    plan_of().attach(model, torch.optim.SGD(model.parameters(), lr=1e38), data_of())
    plan_of().attach(double, torch.optim.SGD(double.parameters(), lr=1e39), data_of(dtype=torch.float64))
    optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1))
    optimizer.param_groups[0]["largest"] = float("inf")
    plan_of().attach(model, optimizer, data_of())
    plan_of().attach(model, torch.optim.Adafactor(model.parameters()), data_of())  # eps has a None


def test_large_models_are_checked_by_settings_alone(monkeypatch):
    monkeypatch.setattr(optimizers, "LARGEST_TRIAL", 0)
    model = model_of()
    for name in ("sparse gradients", "capturable", "differentiable", "a closure by name"):
        with pytest.raises(ParameterError, match="optimizer must"):
            plan_of().attach(model, FAILING[name][0](list(model.parameters())), data_of())
    plan_of().attach(model, NeedsClosure(model.parameters(), lr=0.1), data_of())


class Counting(torch.optim.AdamW):
    """An optimizer with state of its own, random numbers, and a reference to a parameter."""

    def __init__(self, values) -> None:
        values = list(values)
        super().__init__(values, lr=0.1)
        self.calls, self.first = 0, values[0]

    def step(self, closure=None):
        self.calls += 1
        with torch.no_grad():
            self.first += 0.1 * torch.randn_like(self.first)
        return super().step(closure)


WORKING = {
    "Adam": lambda values: torch.optim.Adam(values, lr=0.1),
    "SGD with momentum": lambda values: torch.optim.SGD(values, lr=0.1, momentum=0.9, weight_decay=0.1),
    "AdamBC": lambda values: AdamBC(values, lr=0.1),
    "Adagrad": lambda values: torch.optim.Adagrad(values, lr=0.1),
    "an own class": Counting,
}


@pytest.mark.parametrize("name", WORKING)
def test_a_trial_leaves_no_trace(name):
    """Neither weights, nor state, hooks, the scheduler or torch's random numbers."""
    model = model_of()
    model[0].bias.requires_grad_(False)
    optimizer = WORKING[name]([value for value in model.parameters() if value.requires_grad])
    scheduler, called = StepLR(optimizer, 1), []
    optimizer.register_step_post_hook(lambda *arguments: called.append(1))
    weights, state, generator = weights_of(model), repr(optimizer.state_dict()), torch.random.get_rng_state()
    attached = plan_of(steps=2).attach(model, optimizer, data_of(), rehearsal=False)
    assert torch.equal(weights_of(model), weights)
    assert repr(optimizer.state_dict()) == state
    assert torch.equal(torch.random.get_rng_state(), generator)
    assert called == [] and getattr(optimizer, "calls", 0) == 0
    assert all(value.grad is None for value in model.parameters())
    with attached as private:
        for x, y in private:
            if private.step(loss_of(model, x, y)):
                scheduler.step()
    assert len(called) >= 2  # a class that calls the step of its base has hooks around both


def test_an_optimizer_that_cannot_be_copied_is_not_tried():
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    optimizer.lines = (line for line in ())  # generators cannot be copied
    plan_of().attach(model, optimizer, data_of())
