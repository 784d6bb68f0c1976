# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""DP-SVRG (T46): clipped differences against a loop, both queries in the event, and what one record can do."""

import math

import pytest
import svrg_checks as checks
import torch
from torch import nn
from torch.nn import functional
from torch_training import data_of, model_of, sgd, weights_of

from dperm import ApproxDP
from dperm.accounting import MemoryBudget, Poisson, account
from dperm.errors import DataError, ParameterError
from dperm.noise import NotPrivateBits
from dperm.torch import DPSVRG, AdamBC
from dperm.torch.gradients.clipping import SLACK
from dperm.torch.svrg_training import moved

ADJACENCIES = ("add_remove", "replace_one")
GRADES = ("fast", "exact")
both_grades = pytest.mark.parametrize("grade", GRADES)
both_adjacencies = pytest.mark.parametrize("adjacency", ADJACENCIES)


class Tied(nn.Module):
    """An embedding that is also the last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.middle = nn.Embedding(5, 3), nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(torch.tanh(self.middle(self.table(x).sum(1))), self.table.weight)


def images(rows: int = 6) -> torch.Tensor:
    return torch.randn(rows, 1, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


MODELS = {
    "network": (lambda: model_of(dtype=torch.float64), lambda: data_of(6, dtype=torch.float64)[0]),
    "convolution": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(18, 2)), images),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2)),
        lambda: torch.tensor([[0, 1], [2, 2], [4, 0], [3, 1], [1, 1], [0, 4]]),
    ),
    "tied weights": (Tied, lambda: torch.tensor([[0, 1], [2, 2], [4, 0], [3, 1], [1, 1], [0, 4]])),
}


def naive_difference(model, anchor, inputs, targets, clip_norm):
    """Sum of clip(g_i(w) - g_i(v), C) / C by a loop."""
    parameters = list(model.parameters())

    def gradient(row):
        loss = functional.cross_entropy(model(inputs[row : row + 1]), targets[row : row + 1])
        return torch.cat([grad.reshape(-1) for grad in torch.autograd.grad(loss, parameters)])

    total = 0.0
    for row in range(len(inputs)):
        here = gradient(row)
        with moved(parameters, anchor):
            there = gradient(row)
        total = total + (here - there) / max(clip_norm, float((here - there).norm()))
    return total


@pytest.mark.parametrize("clip_norm", [0.05, 100.0], ids=["all are clipped", "none is clipped"])
@pytest.mark.parametrize("name", MODELS)
def test_clipped_differences_are_those_of_a_loop(name, clip_norm):
    make, data = MODELS[name]
    torch.manual_seed(7)
    model, inputs, targets = make().double(), data(), torch.tensor([0, 1, 1, 0, 1, 0])
    anchor = [value.detach() + 0.3 * torch.randn_like(value) for value in model.parameters()]
    descent = checks.descent_of(model, (inputs, targets), clip_norm=clip_norm)
    with descent.gradients:
        found = descent.difference([inputs, targets], anchor)
    flat = torch.cat([found[value].reshape(-1) for value in model.parameters()])
    expected = naive_difference(model, anchor, inputs, targets, clip_norm)
    assert torch.allclose(flat, expected / (1 + SLACK), rtol=1e-6, atol=1e-7)


def test_dropout_drops_the_same_at_both_points():
    model = nn.Sequential(nn.Linear(3, 20), nn.Dropout(0.5), nn.Linear(20, 2))
    data = data_of(8)
    descent = checks.descent_of(model, data)
    with descent.gradients:
        found = descent.difference(list(data), [value.detach().clone() for value in model.parameters()])
    assert all(float(value.abs().max()) < 1e-12 for value in found.values())


@both_grades
@both_adjacencies
def test_the_event_has_both_queries(adjacency, grade):
    checks.assert_both_queries_are_charged(checks.plan_of(adjacency=adjacency, grade=grade))


@both_grades
@both_adjacencies
def test_the_event_meets_the_goal_and_not_much_more(adjacency, grade):
    plan = checks.plan_of(adjacency=adjacency, grade=grade)
    spent = account(plan.event, adjacency).epsilon(plan.goal.delta)
    assert 0.999 * plan.goal.epsilon < spent <= plan.goal.epsilon
    inner = account(plan.noise.event, adjacency).epsilon(plan.goal.delta)
    full = account(plan.snapshot_noise.event, adjacency).epsilon(plan.goal.delta)
    assert max(inner, full) < 0.9 * spent


@both_adjacencies
def test_noise_of_snapshots_is_in_the_ratio_that_was_asked_for(adjacency):
    plan = checks.plan_of(adjacency=adjacency, snapshot_noise=3.0)
    assert plan.snapshot_noise.scale == pytest.approx(3 * plan.noise.scale)


@pytest.mark.parametrize(("steps", "snapshots", "taken"), [(7, 3, 3), (6, 3, 3), (7, 5, 4), (3, 9, 3), (5, 1, 1)])
def test_noise_is_drawn_as_often_as_is_charged(steps, snapshots, taken):
    plan = checks.plan_of(steps=steps, snapshots=snapshots)
    assert plan.snapshots == taken
    checks.assert_draws_are_those_of_the_event(plan)


@both_grades
@both_adjacencies
def test_what_one_record_does_is_within_the_sensitivity_and_attains_it(adjacency, grade):
    checks.assert_one_record_is_covered(checks.plan_of(adjacency=adjacency, grade=grade))


def test_noise_has_the_deviations_that_are_stated():
    """With records that have no gradient the directions are noise alone."""
    model = nn.Linear(300, 2)
    data = (torch.zeros(40, 300), torch.zeros(40, dtype=torch.long))
    plan = checks.plan_of(steps=8, snapshots=4)
    descent = checks.descent_of(model, data, plan=plan, loss=lambda outputs, targets: 0.0 * outputs.sum(1))
    with descent.gradients:
        found = torch.stack([torch.cat([part.reshape(-1) for part in parts]) for parts in descent.directions()])
    inner, full = plan.deviations
    assert float(found.std()) == pytest.approx(math.hypot(inner, full), rel=0.1)
    pairs = (found[0::2] - found[1::2]).std() / math.sqrt(2)  # both steps of an interval have one snapshot
    assert float(pairs) == pytest.approx(inner, rel=0.1)


@both_grades
def test_it_converges_on_a_convex_problem(grade):
    inputs, targets = data_of(600, dtype=torch.float64)
    model = nn.Linear(3, 2).double()
    nn.init.zeros_(model.weight)
    plan = DPSVRG(0.5, 2.0, batch_size=60, epochs=6, snapshots=4, grade=grade).plan(600, 30.0, 1e-3)
    plan.run(model, sgd(model, 1.0), (inputs, targets), functional.cross_entropy, progress=False)
    with torch.no_grad():
        outputs = model(inputs)
    assert float(functional.cross_entropy(outputs, targets)) < 0.25
    assert float((outputs.argmax(1) == targets).double().mean()) > 0.93


def test_a_run_is_charged_and_released():
    budget = MemoryBudget(ApproxDP(5.0, 1e-2, "add_remove"), blocks=9)
    model, plan, seen = model_of(), checks.plan_of(), []
    optimizer = AdamBC(model.parameters())
    before = weights_of(model)
    release = plan.run(
        model, optimizer, data_of(), nn.CrossEntropyLoss(), budget, progress=False, after_step=seen.append
    )
    assert release.value is model
    assert not torch.equal(weights_of(model), before)
    assert release.guarantee == plan.goal
    assert seen == list(range(1, plan.steps + 1))
    assert 0 < budget.spent["epsilon"] <= 2.0
    assert release.record.public["snapshots"] == plan.snapshots
    assert optimizer.param_groups[0]["noise_variance"] == pytest.approx(sum(part**2 for part in plan.deviations))
    assert not model._forward_hooks


def test_empty_samples_take_their_noisy_steps():
    model, seen = model_of(), []
    plan = DPSVRG(0.1, 1.0, rate=1e-6, steps=4, snapshots=2, grade="fast").plan(40, 2.0, 1e-3)
    plan.run(model, sgd(model), data_of(), functional.cross_entropy, progress=False, after_step=seen.append)
    assert len(seen) == 4


def test_rows_that_are_not_finite_contribute_nothing():
    inputs, targets = data_of()
    broken = torch.cat([inputs, torch.full((2, 3), math.nan), torch.full((1, 3), 1e30)])
    more = torch.cat([targets, torch.zeros(3, dtype=torch.long)])
    anchor = [value.detach() + 0.1 for value in model_of().parameters()]
    sums = []
    for data in ((inputs, targets), (broken, more)):
        model = model_of()
        descent = checks.descent_of(model, data)
        with descent.gradients:
            sums.append([value.double() for value in descent.difference(list(data), anchor).values()])
    clean, odd = sums
    assert all(bool(value.isfinite().all()) for value in odd)
    moved_by = math.sqrt(sum(float((b - a).square().sum()) for a, b in zip(clean, odd, strict=True)))
    assert moved_by <= 1 + 1e-6  # the row of 1e30 is finite, and may add one clip norm


def test_a_seeded_run_is_reproducible_whatever_the_micro_batches():
    found = []
    for size in (512, 3):
        model, plan = model_of(dtype=torch.float64), checks.plan_of(physical_batch_size=size)
        with pytest.warns(UserWarning, match="NOT PRIVATE"):
            plan.run(
                model,
                sgd(model),
                data_of(dtype=torch.float64),
                functional.cross_entropy,
                progress=False,
                bits=NotPrivateBits(1),
            )
        found.append(weights_of(model))
    assert torch.allclose(*found, rtol=1e-9)


def test_bad_input_is_refused_before_the_charge():
    budget = MemoryBudget(ApproxDP(5.0, 1e-2, "replace_one"), blocks=9)
    model, plan = model_of(), checks.plan_of(adjacency="replace_one")
    with pytest.raises(DataError, match="n=40"):
        plan.run(model, sgd(model), data_of(39), functional.cross_entropy, budget)
    with pytest.raises(ParameterError, match="one loss for each example"):
        plan.run(model, sgd(model), data_of(), lambda outputs, targets: outputs.sum(), budget)
    with pytest.raises(ParameterError, match="optimizer"):
        plan.run(model, sgd(model_of()), data_of(), functional.cross_entropy, budget)
    assert budget.spent["epsilon"] == 0.0


@pytest.mark.parametrize(
    "bad",
    [{"snapshots": 0}, {"clip_norm": 0.0}, {"snapshot_noise": -1.0}, {"grade": "slow"}, {"rate": 2.0}],
    ids=["snapshots", "clip_norm", "snapshot_noise", "grade", "rate"],
)
def test_nonsense_is_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        DPSVRG(**bad)


def test_a_plan_can_be_read():
    plan = checks.plan_of()
    text = str(plan)
    assert f"{plan.snapshots} snapshots" in text
    assert f"{plan.steps} steps" in text
    assert plan.describe()["method"] == "dp-svrg"
    rates = [event.rate for event, _ in plan.event.singles() if isinstance(event, Poisson)]
    assert rates == [0.2, 1.0]
