# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Loops in which one record acts on another one's loss or gradient are refused before anything is charged (T46)."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.errors import AssumptionError
from dperm.torch import DPSGD, fit
from dperm.torch.rehearsal import _order


def data() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(40, 6, generator=generator)
    return inputs, (inputs[:, 0] > 0).long()


def losses(output: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(output, y, reduction="none")


def run(loss, *, model=None, dataset=None, budget=None, steps=3, **options):
    model = model or nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Dropout(0.3), nn.Linear(5, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = DPSGD(1.0, rate=0.5, steps=steps, grade="fast").plan(n=40, epsilon=2.0, delta=1e-5)
    stepped = 0
    with plan.attach(model, optimizer, dataset or data(), budget, **options) as private:
        for x, y in private:
            stepped += private.step(loss(model, x, y))
    return private, stepped


MIXING = {
    "divided by the number of rows": lambda m, x, y: losses(m(x), y) / len(x),
    "divided by a sum without gradient": lambda m, x, y: (own := losses(m(x), y)) / own.detach().sum(),
    "running sum": lambda m, x, y: losses(m(x), y).cumsum(0),
    "class weights of the batch": lambda m, x, y: losses(m(x), y) * torch.bincount(y, minlength=2)[y],
    "centred inputs": lambda m, x, y: losses(m(x - x.mean(0)), y),
    "sorted inputs": lambda m, x, y: losses(m(x[x[:, 0].argsort()]), y),
    "a shape beside another one": lambda m, x, y: ((m(x)[:, :1] - y) ** 2).mean(1),
    "only one class uses the batch": lambda m, x, y: losses(m(x), y) + torch.where(y == 1, m(x).sum(), 0.0),
    "every second row": lambda m, x, y: losses(m(x), y) * (1 + torch.arange(len(x)) % 2),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXING)
def test_a_loop_that_mixes_records_is_refused_and_costs_nothing(name):
    budget = MemoryBudget(ApproxDP(5.0, 1e-4, "add_remove"), blocks=9)
    with pytest.raises(AssumptionError, match=r"depends on|one record acts on"):
        run(MIXING[name], budget=budget)
    assert budget.spent == {"epsilon": 0.0, "delta": 0.0}


def test_a_loop_that_keeps_records_apart_runs_and_counts_its_steps():
    private, stepped = run(lambda m, x, y: losses(m(x), y))
    assert stepped == private.steps_taken == 3


def test_random_numbers_of_torch_in_the_loop_are_allowed():
    run(lambda m, x, y: losses(m(x + 0.1 * torch.randn(x.shape)), y))


def test_a_loop_with_random_numbers_in_which_records_mix_is_refused():
    with pytest.raises(AssumptionError, match="one record acts on"):
        run(lambda m, x, y: losses(m(x + torch.randn(x.shape) + x.sum(0)), y))


def test_it_can_be_switched_off_for_random_numbers_that_torch_does_not_know():
    import numpy as np

    noise = np.random.default_rng(1)

    def jittered(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return losses(m(x + torch.from_numpy(noise.normal(size=x.shape)).float()), y)

    with pytest.raises(AssumptionError, match="rehearsal=False"):
        run(jittered)
    assert run(jittered, rehearsal=False)[1] == 3


def test_torchs_random_numbers_go_on_as_if_nothing_had_been():
    found = []
    for rehearsal in (True, False):
        torch.manual_seed(3)
        model = nn.Linear(6, 2)
        run(lambda m, x, y: losses(m(x), y), model=model, steps=1, rehearsal=rehearsal)
        found.append(torch.random.get_rng_state())
    assert torch.equal(*found)


def test_records_that_are_not_finite_do_not_disturb_it():
    inputs, labels = data()
    inputs[3], inputs[20, 1] = float("nan"), float("inf")
    assert run(lambda m, x, y: losses(m(x), y), dataset=(inputs, labels))[1] == 3


PENALTIES = {
    "a penalty in the loss": lambda m, x, y: losses(m(x), y) + 0.1 * (m[0].weight ** 2).sum(),
    "a weight used again": lambda m, x, y: losses(linear(m[0](x), m[0].weight.t()[:2, :]), y),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_parameters_that_are_used_outside_of_the_model_are_named(name):
    model = nn.Sequential(nn.Linear(6, 5))
    loss = PENALTIES[name]
    with pytest.raises(AssumptionError, match=r"'0.weight'.* is used outside|other examples|rows"):
        run(loss, model=model)


def test_mixing_that_shows_only_when_parameters_have_moved_is_refused_later():
    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(6, 5), nn.Linear(5, 2)
            self.share = nn.Parameter(torch.zeros(()))

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.first(x)) + 0.0 * self.share

    model = Centred()
    calls = {"model": 0}

    def drifting(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        calls["model"] += 1
        own = losses(m(x), y)
        return own if calls["model"] <= 3 else own / len(x)

    with pytest.raises(AssumptionError, match="one record acts on"):
        run(drifting, model=model, steps=20)


def test_fit_refuses_targets_of_another_shape():
    inputs, _ = data()
    with pytest.warns(UserWarning, match="target size"), pytest.raises(AssumptionError, match="one record acts on"):
        fit(
            nn.Linear(6, 1),
            (inputs, inputs[:, 0]),
            nn.MSELoss(),
            epsilon=1.0,
            delta=1e-5,
            n=40,
            batch_size=20,
            epochs=1,
        )


@pytest.mark.parametrize("rows", range(2, 12))
def test_every_record_but_the_first_comes_once_and_in_a_place_of_the_other_parity(rows):
    order = _order(rows)
    assert sorted(order) == list(range(1, rows))
    assert all((place + row) % 2 for place, row in enumerate(order))
