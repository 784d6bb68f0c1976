# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A private training, inside of its block: the loop, micro-batches, optimizers, and what is said of the result."""

import copy
import io
import pickle
import re
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch_training import attached, data_of, loss_of, model_of, plan_of, sgd, walk, weights_of

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.errors import AssumptionError, DpermWarning, NotPrivateWarning, ParameterError
from dperm.report import statement

OPTIMIZERS = {
    "SGD": lambda values: torch.optim.SGD(values, lr=0.1, momentum=0.9),
    "Adam": lambda values: torch.optim.Adam(values, lr=0.01),
    "AdamW": lambda values: torch.optim.AdamW(values, lr=0.01),
    "Adafactor": lambda values: torch.optim.Adafactor(values, lr=0.01),
}


def test_the_loop_takes_the_planned_steps_and_states_the_guarantee():
    plan, model = plan_of(), model_of()
    before = weights_of(model)
    with attached(plan, model) as private:
        assert walk(private, model) == 5
        with pytest.warns(DpermWarning, match="all planned steps"):
            assert list(private) == []
    assert private.steps_taken == plan.steps
    assert private.release.guarantee == ApproxDP(2.0, 1e-3, "add_remove")
    assert private.release.event == plan.event
    assert private.release.value is model
    assert not torch.equal(before, weights_of(model))
    assert private.release.record.public["trained_parameters"] == len(before)
    assert not private.release.record.seeded


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_step_is_taken_after_the_last_part_of_each_sample(size):
    plan, model = plan_of(rate=0.5, physical_batch_size=size), model_of()
    answers, rows = [], []
    with attached(plan, model) as private:
        for x, y in private:
            assert len(x) <= size
            rows.append(len(x))
            answers.append(private.step(loss_of(model, x, y)))
            assert type(answers[-1]) is bool
    assert sum(answers) == plan.steps == private.steps_taken
    assert answers[-1]
    if size == 3:  # all parts but the last of a sample are full
        assert all(count == 3 for count, last in zip(rows, answers, strict=True) if not last)


@pytest.mark.parametrize("grade", ["fast", "exact"])
def test_how_a_sample_is_cut_does_not_matter(grade):
    found, plan = [], plan_of(rate=0.5, grade=grade)
    for size in (2, 64):
        model = model_of(dtype=torch.float64)
        cut = replace(plan, method=replace(plan.method, physical_batch_size=size))
        with pytest.warns(NotPrivateWarning):
            training = attached(cut, model, data_of(dtype=torch.float64), seed=1)
            with training as private:
                walk(private, model)
        found.append(weights_of(model))
    assert torch.allclose(*found, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_along_the_private_gradient(name):
    """As they would along the same gradients without us."""
    model, twin = model_of(), model_of()
    plan, optimizer, other = plan_of(), OPTIMIZERS[name](model.parameters()), OPTIMIZERS[name](twin.parameters())
    with plan.attach(model, optimizer, data_of()) as private:
        for x, y in private:
            if private.step(loss_of(model, x, y)):
                for value, grad in zip(twin.parameters(), [value.grad for value in model.parameters()], strict=True):
                    value.grad = grad.clone()
                other.step()
    assert torch.equal(weights_of(model), weights_of(twin))


def test_a_scheduler_steps_where_the_optimizer_did():
    model = model_of()
    optimizer = sgd(model, lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    with plan_of(rate=0.5, physical_batch_size=4).attach(model, optimizer, data_of()) as private:
        for x, y in private:
            if private.step(loss_of(model, x, y)):
                scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.5**5


@pytest.mark.filterwarnings("ignore:the loop ended before")
def test_a_loop_that_is_left_early_keeps_the_planned_guarantee():
    plan, model = plan_of(), model_of()
    with attached(plan, model) as private:
        walk(private, model, steps=2)
    assert private.steps_taken == 2
    assert private.release.guarantee == plan.goal
    assert private.release.event == plan.event


def test_a_loop_that_takes_all_steps_or_is_continued_from_a_checkpoint_ends_without_a_warning(tmp_path):
    plan, model = plan_of(), model_of()
    with attached(plan, model) as private:
        walk(private, model, steps=2)
        private.save(tmp_path / "run.pt")
    with pytest.warns(DpermWarning, match="before the last of the"), attached(plan, model_of()) as private:
        walk(private, private.model, steps=1)
    with attached(plan, model_of()) as private:
        walk(private, private.model, steps=plan.steps)


@pytest.mark.parametrize("size", [1e-8, 1e-4, 1.0])
@pytest.mark.parametrize("rehearsal", [True, False])
def test_a_penalty_in_the_loss_is_refused_before_the_charge(size, rehearsal):
    budget, plan, model = MemoryBudget(ApproxDP(10.0, 1e-4, "add_remove"), blocks=2), plan_of(), model_of()
    message = "the loss uses the parameter '.*' outside of the model.*weight_decay"
    with (
        pytest.raises(AssumptionError, match=message),
        attached(plan, model, ledger=budget, rehearsal=rehearsal) as private,
    ):
        for batch in private:
            private.step(loss_of(model, *batch) + size * sum(p.square().sum() for p in model.parameters()))
    assert not budget.entries


def test_an_early_end_with_a_budget_warns_although_a_checkpoint_was_saved(tmp_path):
    budget, plan, model = MemoryBudget(ApproxDP(10.0, 1e-4, "add_remove"), blocks=2), plan_of(), model_of()
    with (
        pytest.warns(DpermWarning, match="cannot be resumed") as caught,
        attached(plan, model, ledger=budget) as private,
    ):
        walk(private, model, steps=2)
        private.save(tmp_path / "run.pt")
    assert not re.search(r"\b2\b", str(caught[0].message)), "the number of steps may depend on the data"


@pytest.mark.filterwarnings("ignore:all planned steps")
def test_steps_never_exceed_the_plan():
    plan, model = plan_of(), model_of()
    with attached(plan, model) as private:
        taken = [walk(private, model, steps=2) for _ in range(6)]
        assert taken == [2, 2, 1, 0, 0, 0]
        with pytest.raises(ParameterError, match="all planned steps"):
            private.update.finish()
    assert private.steps_taken == 5


def test_evaluation_within_the_loop_changes_nothing():
    found = []
    for evaluates in (False, True):
        model = model_of()
        with pytest.warns(NotPrivateWarning), attached(plan_of(), model, seed=3) as private:
            for x, y in private:
                losses = loss_of(model, x, y)
                if evaluates:
                    with torch.no_grad():
                        model(torch.ones(7, 3))
                    model.eval()
                    with torch.inference_mode():
                        model(torch.ones(2, 3))
                    model.train()
                private.step(losses)
        found.append(weights_of(model))
    assert torch.equal(*found)


def test_frozen_parameters_stay_as_they_are():
    model = model_of()
    for value in model[0].parameters():
        value.requires_grad_(False)
    before = copy.deepcopy(model.state_dict())
    with attached(plan_of(), model) as private:
        walk(private, model)
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in ("0.weight", "0.bias"))
    assert not torch.equal(before["2.weight"], after["2.weight"])


def test_a_parameter_that_is_frozen_on_the_way_is_refused():
    model = model_of()
    with pytest.raises(ParameterError, match="frozen or unfrozen"), attached(plan_of(), model) as private:
        for k, (x, y) in enumerate(private):
            model[0].weight.requires_grad_(k < 2)
            private.step(loss_of(model, x, y))
    assert private.steps_taken == 2


def test_the_clip_norm_is_that_of_the_plan():
    with attached(plan_of(clip_norm=0.25)) as private:
        assert private.clip_norm == 0.25


@pytest.mark.filterwarnings("ignore:the loop ended before")
def test_what_the_steps_so_far_would_have_cost_is_called_no_guarantee():
    plan, model = plan_of(), model_of()
    with attached(plan, model) as private:
        assert "epsilon is 0 at" in private.so_far()
        walk(private, model, steps=2)
        words = private.so_far()
    assert "NOT a guarantee" in words
    assert "After 2 of 5 planned steps" in words
    assert repr(plan.goal) in words or str(plan.goal) in words
    cost = float(words.split("epsilon is ")[1].split()[0])
    assert 0 < cost < 2.0


def test_seeded_runs_are_marked_and_repeat_themselves():
    found = []
    for seed in (5, 5, 6):
        model = model_of()
        with pytest.warns(NotPrivateWarning, match="NOT PRIVATE"), attached(plan_of(), model, seed=seed) as private:
            walk(private, model)
        assert private.release.record.seeded
        assert "NOT PRIVATE" in private.release.record.noise
        found.append(weights_of(model))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_runs_without_a_seed_differ():
    found = []
    for _ in range(2):
        model = model_of()
        with attached(plan_of(), model) as private:
            walk(private, model)
        found.append(weights_of(model))
    assert not torch.equal(*found)


@pytest.mark.parametrize("grade", ["fast", "exact"])
def test_the_release_has_a_statement(grade):
    model = model_of()
    with attached(plan_of(grade=grade), model) as private:
        walk(private, model)
    text = str(statement(private.release))
    assert "T46" in text
    assert "Poisson" in text
    assert grade in text


# The model is not wrapped.


def hooks(model: nn.Module) -> int:
    tables = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    own = sum(len(getattr(module, table)) for module in model.modules() for table in tables)
    return own + sum("forward" in vars(module) for module in model.modules())


def test_names_stay_and_copies_work_before_within_and_after():
    model = model_of()
    names = list(model.state_dict())
    with attached(plan_of(), model) as private:
        assert list(model.state_dict()) == names
        walk(private, model, steps=2)
        inside = copy.deepcopy(model)
        inside(torch.ones(2, 3)).sum().backward()
        walk(private, model)
    assert private.steps_taken == 5
    assert list(model.state_dict()) == names
    again = pickle.loads(pickle.dumps(model))
    for other in (copy.deepcopy(model), again):
        assert torch.equal(weights_of(other), weights_of(model))
        other(torch.ones(2, 3)).sum().backward()
    torch.save(model.state_dict(), io.BytesIO())


def test_hooks_are_gone_after_the_block_and_after_an_error():
    model = model_of()
    optimizer = sgd(model)
    with plan_of().attach(model, optimizer, data_of()) as private:
        assert hooks(model) > 0
        walk(private, model)
    assert hooks(model) == 0
    with pytest.raises(KeyError, match="mine"), plan_of().attach(model, optimizer, data_of()):
        raise KeyError("mine")
    assert hooks(model) == 0
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()


def test_ordinary_training_goes_on_afterwards():
    model = model_of()
    optimizer = sgd(model)
    with plan_of().attach(model, optimizer, data_of()) as private:
        walk(private, model)
    optimizer.zero_grad()
    X, y = data_of()
    loss_of(model, X, y).mean().backward()
    assert all(value.grad is not None for value in model.parameters())
