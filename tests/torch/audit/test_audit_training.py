# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audits of real DP-SGD runs: near the claim, never above it, and above it for planted bugs."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch_canaries import CANARIES, audited, canaries_of, data_of, linear, margin_loss, plan_of, sgd

import dperm.torch.gradients.per_example as engine
from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.errors import BudgetError, NotPrivateWarning, ParameterError
from dperm.noise import NotPrivateBits
from dperm.torch import DPSGD
from dperm.torch.audit import Watch, audit_training, finding_of, random_canaries, with_canaries
from dperm.torch.gradients.clipping import ClippingWeights
from dperm.torch.noise import ExactNoise

pytestmark = pytest.mark.filterwarnings(f"ignore::{NotPrivateWarning.__module__}.{NotPrivateWarning.__name__}")
SETTINGS = [
    ("add_remove", "white_box", 1.0),
    ("add_remove", "black_box", 1.0),
    ("add_remove", "white_box", 0.5),
    ("replace_one", "white_box", 1.0),
    ("replace_one", "black_box", 1.0),
]


def with_noise(patch: pytest.MonkeyPatch, share: float) -> None:
    add = ExactNoise.add

    def changed(self, sums, stream):
        clean = [total.clone() for total in sums]
        return [one + share * (other - one) for one, other in zip(clean, add(self, sums, stream), strict=True)]

    patch.setattr(ExactNoise, "add", changed)


def without_clipping(patch: pytest.MonkeyPatch) -> None:
    def ones(clipping, clip_norm, layers):
        return ClippingWeights([torch.full_like(layers[0].squares, 1 / clip_norm)] * len(layers), None)

    patch.setattr(engine, "clipping_weights", ones)


BUGS = {
    "noise of .3": lambda patch: with_noise(patch, 0.3),
    "no noise": lambda patch: with_noise(patch, 0.0),
    "no clipping": without_clipping,
}


@pytest.mark.parametrize(("adjacency", "access", "rate"), SETTINGS)
def test_the_bound_is_decent_and_below_the_claim(adjacency, access, rate):
    finding = audited(plan_of(4.0, adjacency=adjacency, rate=rate), access=access)
    assert not finding.violation
    assert finding.claimed == ApproxDP(4.0, 1e-5, adjacency)
    assert 0.15 * 4.0 <= finding.bound.epsilon < 4.0
    assert finding.facts["canaries"] == CANARIES


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_right_code_raises_no_alarm(adjacency):
    plan = plan_of(2.0, adjacency=adjacency, steps=1)
    assert not any(audited(plan, seed).violation for seed in range(10))


@pytest.mark.parametrize(("adjacency", "access", "rate"), SETTINGS)
@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_planted_bugs_are_caught(monkeypatch, bug, adjacency, access, rate):
    bug(monkeypatch)
    finding = audited(plan_of(2.0, adjacency=adjacency, rate=rate), access=access)
    assert finding.violation
    assert str(finding).startswith("VIOLATION: claimed epsilon 2 at delta 1e-05, measured >= ")


def test_the_fast_grade_is_audited_too():
    assert not audited(plan_of(2.0, grade="fast")).violation
    finding = audited(plan_of(2.0, grade="fast", physical_batch_size=100), access="white_box")
    assert 0.2 < finding.bound.epsilon < 2.0


def test_a_network_is_audited_with_random_canaries():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        model = nn.Sequential(nn.Linear(60, 16), nn.Tanh(), nn.Linear(16, 2))
    canaries = random_canaries(200, 2, shape=(60,), seed=3)
    data = (torch.randn(40, 60, generator=torch.Generator().manual_seed(2)), torch.arange(40) % 2)
    plan = DPSGD(rate=1.0, steps=8, grade="fast").plan(240, 16.0, 1e-5)
    shares = []
    finding = audit_training(
        plan,
        model,
        canaries,
        dataset=data,
        loss=nn.CrossEntropyLoss(),
        guesses=(20, 20),
        bits=NotPrivateBits(5),
        progress=shares.append,
    )
    assert 0 < finding.bound.epsilon < 16.0
    assert shares == [(step + 1) / 8 for step in range(8)]
    assert finding.facts == {"canaries": 200, "guesses": 40, "access": "white_box", "steps": 8}


def test_a_loop_of_ones_own_is_watched_and_keeps_its_release():
    plan, model, canaries = plan_of(4.0), linear(), canaries_of()
    watch = Watch(plan, model, canaries=canaries, loss=margin_loss)
    with plan.attach(
        model, sgd(model.parameters()), with_canaries(data_of(), canaries), bits=NotPrivateBits(6)
    ) as private:
        for x, y in private:
            if private.step(margin_loss(model(x), y)):
                watch.see(private)
    assert private.release.guarantee == ApproxDP(4.0, 1e-5, "add_remove")
    for access in ("white_box", "black_box"):
        assert not finding_of(plan, watch, access=access).violation


def test_a_training_that_was_not_watched_to_its_end_is_no_white_box():
    plan, model = plan_of(4.0), linear()
    watch = Watch(plan, model, canaries=canaries_of(), loss=margin_loss)
    with pytest.raises(ParameterError, match="watch has seen 0 of 3 steps"):
        finding_of(plan, watch)


def test_the_training_is_charged():
    budget = MemoryBudget(ApproxDP(1.0, 1e-2, "add_remove"), blocks=9)
    with pytest.raises(BudgetError):
        audited(plan_of(4.0), ledger=budget)


@pytest.mark.filterwarnings("ignore::dperm.errors.DpermWarning")
def test_scores_that_are_no_numbers_are_refused():
    plan = plan_of(4.0)
    with pytest.raises(ParameterError, match="scores of canaries are NaN or infinite"):
        audit_training(
            plan,
            linear(),
            canaries_of(),
            dataset=data_of(),
            loss=lambda output, target: margin_loss(output, target) * float("nan"),
            access="black_box",
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"access": "grey"}, "access must be one of white_box, black_box, got 'grey'"),
        ({"guesses": 10}, "guesses must be two numbers"),
        ({"guesses": (300, 300)}, "guesses must be for 1 to 500 canaries, all of them, got 600"),
        ({"guesses": (0, 0)}, "guesses must be for 1 to 500"),
        ({"guesses": (1.5, 2)}, r"guesses\[0\] must be a whole number"),
        ({"guesses": (2, 2)}, "too few"),
        ({"confidence": 1.0}, "confidence must be a number in"),
    ],
    ids=["access", "one number", "too many", "none", "a half", "too few", "confidence"],
)
def test_bad_arguments_are_refused_before_the_training(monkeypatch, options, message):
    monkeypatch.setattr("dperm.torch.plan.PrivateTraining", None)
    with pytest.raises(ParameterError, match=message):
        audited(plan_of(4.0), **options)


def test_the_model_is_the_plain_training_of_data_and_canaries():
    plan, model, other = plan_of(4.0), linear(), linear()
    canaries = canaries_of()
    audit_training(plan, model, canaries, dataset=data_of(), loss=margin_loss, optimizer=sgd, bits=NotPrivateBits(3))
    with plan.attach(
        other, sgd(other.parameters()), with_canaries(data_of(), canaries), bits=NotPrivateBits(3)
    ) as private:
        for x, y in private:
            private.step(functional.softplus(-y * other(x)[:, 0]))
    assert np.array_equal(model.weight.detach().numpy(), other.weight.detach().numpy())
