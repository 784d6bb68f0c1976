# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What was checked holds until the end: modes, what is trained, the process, whole steps, numbers of a plan (T46)."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_spies import watch_noise

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.errors import AssumptionError, DataError, DpermWarning, ParameterError
from dperm.torch import DPSGD, DPSVRG, fit
from dperm.torch.sampling import groups_of

PLAN = DPSGD(1.0, rate=0.5, steps=4).plan(n=20, epsilon=2.0, delta=1e-5)


def data() -> tuple[Tensor, Tensor]:
    inputs = torch.randn(20, 3, generator=torch.Generator().manual_seed(6))
    return inputs, (inputs[:, 0] > 0).long()


def attached(model: nn.Module, budget=None, **options):
    return PLAN.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), data(), budget, **options)


def losses(output: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(output, y, reduction="none")


def spent(budget: MemoryBudget) -> float:
    return budget.spent["epsilon"]


@pytest.fixture
def budget() -> MemoryBudget:
    return MemoryBudget(ApproxDP(9.0, 1e-3, "add_remove"), blocks=9)


def test_mistakes_before_the_first_gradient_cost_nothing(budget):
    model = nn.Linear(3, 2)
    with pytest.raises(ParameterError, match="one loss for each row"), attached(model, budget) as private:
        for x, y in private:
            private.step(cross_entropy(model(x), y))
    with pytest.raises(NameError), attached(model, budget) as private:
        for _ in private:
            undefined_name  # noqa: B018, F821
    with attached(model, budget) as private:
        pass
    assert spent(budget) == 0
    with pytest.raises(ParameterError, match="after at least one step"):
        _ = private.release


def test_the_budget_is_charged_in_the_first_step_and_an_error_afterwards_burns_it(budget):
    model = nn.Linear(3, 2)
    with pytest.raises(NameError), attached(model, budget) as private:
        for x, y in private:
            if private.step(losses(model(x), y)):
                assert spent(budget) > 0
                undefined_name  # noqa: B018, F821
    assert spent(budget) > 0


@pytest.mark.parametrize("change", ["eval", "freeze"])
def test_a_model_in_another_condition_than_it_was_checked_in_is_refused(change):
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.1), nn.Linear(4, 2))
    with pytest.raises(ParameterError, match=r"another mode|frozen or unfrozen"), attached(model) as private:
        for x, y in private:
            if private.step(losses(model(x), y)):
                model.eval() if change == "eval" else model[0].requires_grad_(False)


def test_buffers_that_change_are_named():
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 2)
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            return self.first(x)

    model = Counting()
    with pytest.warns(DpermWarning, match="mean"), attached(model) as private:
        for x, y in private:
            private.step(losses(model(x), y))
            model.mean += x.mean(0)


def test_a_step_that_failed_in_the_middle_ends_the_training(monkeypatch, budget):
    model, calls = nn.Linear(3, 2), []
    with pytest.raises(ParameterError, match="failed in the middle"), attached(model, budget) as private:

        def failing(noise, sums, stream):
            calls.append(1)
            if len(calls) == 2:
                raise OSError("no space left")

        watch_noise(monkeypatch, failing)
        for x, y in private:
            try:
                private.step(losses(model(x), y))
            except OSError:
                continue
    assert spent(budget) > 0


@pytest.mark.filterwarnings("ignore:the loop ended before")
def test_a_fork_draws_no_noise():
    model = nn.Linear(3, 2)
    with attached(model, rehearsal=False) as private:
        for x, y in private:
            child = os.fork()
            if child == 0:
                try:
                    private.step(losses(model(x), y))
                except ParameterError:
                    os._exit(7)
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            private.step(losses(model(x), y))
            break


CHANGES = {
    "rate": {"rate": 1.0},
    "steps": {"steps": 500},
    "records per group": {"method": replace(PLAN.method, records_per_group=50)},
    "adjacency": {"goal": ApproxDP(2.0, 1e-5, "replace_one")},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_plan_cannot_be_changed_beside_its_event(name):
    with pytest.raises(ParameterError, match="must be those of its noise"):
        replace(PLAN, **CHANGES[name])


def test_a_plan_cannot_promise_more_than_its_event():
    with pytest.raises(ParameterError, match="goal must be"):
        _ = replace(PLAN, goal=ApproxDP(0.01, 1e-5, "add_remove")).facts


KEYS = {
    "missing among objects": np.array([7, float("nan"), 3, 7, 1] * 4, dtype=object),
    "floats": [0.5] * 20,
    "none": [None] * 20,
    "masked": np.ma.masked_array(np.arange(20), mask=[True] + [False] * 19),
    "ragged": [[1], [1, 2]] * 10,
    "too few": list(range(19)),
    "text beside numbers": [1, "1"] * 10,
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_that_could_tear_or_mix_persons_are_refused(name):
    with pytest.raises(DataError, match="group must hold one key") as caught:
        groups_of(KEYS[name], 20, 2)
    assert caught.value.__context__ is None
    assert "20" not in str(caught.value)


def test_keys_are_compared_without_a_cast():
    assert groups_of([2**63 + i for i in range(6)] + [5], 7, 2).count == 7
    assert groups_of(["a", "a\0", "b"], 3, 2).count == 3
    found = groups_of(["x", "y", "x", "x", "y"], 5, 2)
    assert found.positions(np.array([0, 1])).tolist() == [0, 2, 1, 4]


def test_svrg_forgets_gradients_that_were_left_in_frozen_parameters():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    losses(model(data()[0]), data()[1]).sum().backward()
    model[0].requires_grad_(False)
    before = model[0].weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    plan = DPSVRG(1.0, 1.0, batch_size=10, epochs=2, snapshots=2).plan(n=20, epsilon=2.0, delta=1e-5)
    plan.run(model, optimizer, data(), nn.CrossEntropyLoss(), progress=False)
    assert torch.equal(model[0].weight, before)


def test_fit_repeats_no_words_about_records():
    inputs, labels = data()
    labels[:] = 4711
    with pytest.raises(DataError, match="of type IndexError") as caught:
        fit(nn.Linear(3, 2), (inputs, labels), nn.CrossEntropyLoss(), epsilon=1.0, delta=1e-5, n=20, progress=False)
    assert "4711" not in repr(caught.value) and caught.value.__context__ is None


class Mixing(nn.Tanh):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - x.mean(0))


MODEL_CHANGES = {
    "a layer that mixes": lambda model: model.__setitem__(1, nn.BatchNorm1d(8, affine=False)),
    "a layer more": lambda model: model.append(nn.BatchNorm1d(2, affine=False)),
    "a hook": lambda model: model[0].register_forward_hook(lambda layer, given, out: out - out.mean(0)),
    "a hook before": lambda model: model[2].register_forward_pre_hook(
        lambda layer, given: (given[0] - given[0].mean(0),)
    ),
    "another forward": lambda model: setattr(model[1], "forward", lambda x: torch.tanh(x - x.mean(0))),
    "another class": lambda model: setattr(model[1], "__class__", Mixing),
}


@pytest.mark.parametrize("grade", ["fast", "exact"])
@pytest.mark.parametrize("change", MODEL_CHANGES.values(), ids=MODEL_CHANGES)
def test_a_model_that_is_changed_in_the_loop_is_refused(change, grade):
    """It is not the model that was checked: a record might act on others, far beyond its clip norm."""
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    plan = DPSGD(1.0, rate=0.5, steps=6, grade=grade).plan(n=20, epsilon=2.0, delta=1e-5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ParameterError, match="were changed since"), plan.attach(model, optimizer, data()) as private:
        for x, y in private:
            if private.step(losses(model(x), y)) and private.steps_taken == 3:
                change(model)
    assert private.steps_taken == 3


def test_a_training_belongs_to_the_thread_that_entered_it():
    model = nn.Linear(3, 2)
    with attached(model) as private, ThreadPoolExecutor(1) as pool:
        for x, y in private:
            with pytest.raises(ParameterError, match="belongs to the thread"):
                pool.submit(private.step, losses(model(x), y)).result()
            private.step(losses(model(x), y))


def test_a_sample_that_was_seen_in_a_rehearsal_is_not_dropped(tmp_path):
    """Who breaks out of it gets the same sample again."""
    model, seen = nn.Linear(3, 2), []
    with attached(model) as private:
        for _ in range(5):
            for x, y in private:
                seen.append(x)
                assert not private.step(losses(model(x), y))  # the first batch of a rehearsal is the sample itself
                break
        assert all(torch.equal(x, seen[0]) for x in seen)
        with pytest.raises(ParameterError, match="between two steps"):
            private.save(tmp_path / "run.pt")  # who resumes would draw another one
        for x, y in private:
            if private.step(losses(model(x), y)) and private.steps_taken == 1:
                assert torch.equal(x, seen[0])
    assert private.steps_taken == PLAN.steps


def test_losses_of_another_model_are_refused_and_cost_nothing(budget):
    """As in a notebook whose model was made anew: the attached one would learn nothing, and be paid for."""
    model, other, weights = nn.Linear(3, 2), nn.Linear(3, 2), torch.ones(3, requires_grad=True)
    for made in (lambda x, y: losses(other(x), y), lambda x, y: x @ weights):
        with pytest.raises(ParameterError, match="model that was attached"), attached(model, budget) as private:
            for x, y in private:
                private.step(made(x, y))
    assert spent(budget) == 0


WRONG_LOSSES = {
    "a mean": (lambda found: found.mean(), "use reduction"),
    "a number": (lambda found: found.sum().item(), "Pass the tensor itself"),
    "a column": (lambda found: found[:, None], r"losses.squeeze\(1\)"),
    "several of a row": (lambda found: torch.stack([found, found], 1), "2 dimensions"),
    "all pairs": (
        lambda found: found[:, None] - found,
        r"give both the same shape, .* model\(x\).squeeze\(1\). If each",
    ),
    "some": (lambda found: found[:-1], "from all rows of the batch"),
}


@pytest.mark.parametrize(("made", "words"), WRONG_LOSSES.values(), ids=WRONG_LOSSES)
def test_losses_of_the_wrong_shape_are_refused_in_words_that_fit(made, words):
    model = nn.Linear(3, 2)
    with pytest.raises(ParameterError, match=words) as caught, attached(model, rehearsal=False) as private:
        for x, y in private:
            private.step(made(losses(model(x), y)))
    assert not any(figure in str(caught.value) for figure in "3456789")  # how many rows a sample has is private


def test_passes_over_parts_of_a_batch_are_refused():
    model = nn.Linear(3, 2)
    with pytest.raises(AssumptionError, match="different numbers of rows"), attached(model) as private:
        for x, y in private:
            private.step(torch.cat([losses(model(x[:1]), y[:1]), losses(model(x[1:]), y[1:])]))


@pytest.mark.filterwarnings("ignore:the loop draws random numbers")
def test_random_rows_of_the_loops_own_are_warned_of():
    """With torch's generator they do not move in a rehearsal, whatever the batch holds."""
    model, (X, Y) = nn.Linear(3, 2), data()
    with pytest.warns(DpermWarning, match="another record was put in its place"), attached(model) as private:
        for x, _ in private:
            own = torch.randint(0, 20, (len(x),))
            private.step(losses(model(X[own]), Y[own]))


def test_random_numbers_beside_the_batch_are_not_warned_of():
    model = nn.Linear(3, 2)
    with attached(model) as private:
        for x, y in private:
            private.step(losses(model(x + 0.1 * torch.randn_like(x)), y))
