# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The check of a large model costs two ordinary steps at most, and models that diverged are warned of."""

import warnings
from collections import Counter

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dperm.accounting import MemoryBudget
from dperm.errors import AssumptionError, DpermWarning
from dperm.privacy import ApproxDP
from dperm.torch import DPSGD
from dperm.torch.model_checks.check import check_model

ROWS = 32
COUNTS: Counter[str] = Counter()  # the check restores attributes of a model


class Counting(nn.Module):
    """More than a million parameters; counts rows that go forward and backward."""

    def __init__(self, *, mixes: bool = False, beyond: int = 1) -> None:
        super().__init__()
        layers = [nn.Linear(64, 1024), nn.ReLU(), nn.Dropout(0.1), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 2)]
        self.layers, self.mixes, self.beyond = nn.Sequential(*layers), mixes, beyond

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        COUNTS["forward"] += len(x)
        if self.mixes and len(x) > self.beyond:
            x = x - x.mean(0)
        found = self.layers(x)
        if found.requires_grad and not torch._C._functorch.is_batchedtensor(found):
            found.register_hook(_count)
        return found


def _count(grad: Tensor) -> None:
    COUNTS["backward"] += len(grad)


def test_the_check_of_a_large_model_costs_two_ordinary_steps_at_most():
    """A backward pass costs two forward passes; rows that are not finite are counted like others."""
    COUNTS.clear()
    check_model(Counting(), torch.zeros(3, 64))
    assert COUNTS["backward"] >= 4  # gradients were compared
    assert COUNTS["forward"] + 2 * COUNTS["backward"] <= 2 * (3 * ROWS)


def test_a_large_model_that_mixes_examples_is_refused():
    for beyond in (1, 2, 4):
        with pytest.raises(AssumptionError, match=r"other examples|number of examples|place among"):
            check_model(Counting(mixes=True, beyond=beyond), torch.zeros(3, 64))


def test_a_large_model_that_mixes_from_many_examples_on_is_refused_by_the_rehearsal():
    with pytest.raises(AssumptionError, match="one record acts on"):
        trained(Counting(mixes=True, beyond=30), torch.randn(60, 64))


def trained(model: nn.Module, inputs: Tensor, *, lr: float = 0.1, loss=None, **options) -> None:
    plan = DPSGD(1.0, rate=1.0, steps=2, grade="fast").plan(n=len(inputs), epsilon=2.0, delta=1e-5)
    data = inputs, (torch.arange(len(inputs)) % 2)
    with plan.attach(model, torch.optim.SGD(model.parameters(), lr=lr), data, **options) as private:
        for x, y in private:
            own = cross_entropy(model(x), y, reduction="none")
            private.step(own if loss is None else loss(own))


def test_released_parameters_that_are_huge_are_warned_of():
    with pytest.warns(DpermWarning, match="larger than 100000: weight"):
        trained(nn.Linear(3, 2), torch.randn(40, 3), lr=1e9)


def test_released_parameters_that_are_not_finite_are_warned_of():
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e38, momentum=0.9, nesterov=True)
    plan = DPSGD(1.0, rate=1.0, steps=60, grade="fast").plan(n=40, epsilon=0.5, delta=1e-5)
    with pytest.warns(DpermWarning, match="are not finite: weight"):
        with plan.attach(model, optimizer, (torch.randn(40, 3), torch.zeros(40).long())) as private:
            for x, y in private:
                private.step(cross_entropy(model(x), y, reduction="none"))


def test_outputs_of_a_released_model_that_are_not_finite_are_warned_of():
    class Explosive(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x).abs().mul(10).exp()

    model = Explosive(3, 2)
    with pytest.warns(DpermWarning, match="outputs of the released model are not finite"):
        trained(model, torch.randn(40, 3), lr=3e3)


def test_losses_of_which_none_is_finite_are_warned_of_before_the_charge():
    budget = MemoryBudget(ApproxDP(5.0, 1e-2, "add_remove"), blocks=9)
    spent = []

    def loss(own: Tensor) -> Tensor:
        spent.append(budget.spent["epsilon"])
        return own * float("nan")

    told = "finite gradient.*Nothing is charged yet. Unless you stop it, this training run is charged and learns"
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=DpermWarning)
        with pytest.raises(DpermWarning, match=told):
            trained(nn.Linear(3, 2), torch.randn(40, 3), loss=loss, ledger=budget)
    assert budget.spent["epsilon"] == 0 == max(spent), "a user who stops there has paid nothing"


def test_a_model_that_learns_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", DpermWarning)
        trained(nn.Linear(3, 2), torch.randn(40, 3))


def test_the_check_shows_that_it_is_under_way(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # stands for a terminal
    trained(nn.Linear(3, 2), torch.randn(40, 3), progress=True)
    assert "checking model and data" in capsys.readouterr().err
