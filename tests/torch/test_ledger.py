# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A training is charged once, before any data are used, and committed with the digest of its model."""

import pytest
from torch_training import attached, data_of, model_of, plan_of, walk

from dperm import ApproxDP
from dperm.accounting.budget import State
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import BudgetError, DataError, ParameterError
from dperm.ledger import Ledger
from dperm.torch.released_model import model_digest

KINDS = ("memory", "file")


class Unread:
    """Data that must not be looked at."""

    def __len__(self) -> int:
        raise AssertionError("the data were read")

    def __getitem__(self, index: int) -> None:
        raise AssertionError("the data were read")


def budget_of(kind: str, folder, epsilon: float = 5.0):
    limit = ApproxDP(epsilon, 5e-3, "add_remove")
    if kind == "memory":
        return MemoryBudget(limit, blocks=5)
    return Ledger.open(folder / "train.ledger", limit, blocks=5, dataset="made up", unit="one record")


@pytest.fixture(params=KINDS)
def budget(request, tmp_path):
    return budget_of(request.param, tmp_path)


def charges(budget) -> list[tuple[State, str | None]]:
    if isinstance(budget, MemoryBudget):
        return [(entry.state, entry.digest) for entry in budget.entries]
    return [(booking.state, booking.digest) for booking in budget.bookings()]


def test_a_training_is_charged_in_its_first_step_and_committed_at_its_end(budget):
    plan, model = plan_of(), model_of()
    training = attached(plan, model, ledger=budget)
    with training as private:
        assert charges(budget) == []
        walk(private, model, steps=1)
        assert charges(budget) == [(State.RESERVED, None)]
        walk(private, model)
    assert charges(budget) == [(State.COMMITTED, model_digest(model))]
    assert private.release.record.ledger["digest"] == model_digest(model)
    assert 1.9 < budget.spent["epsilon"] <= 2.0


def test_a_model_of_another_value_has_another_digest():
    model = model_of()
    before = model_digest(model)
    assert before == model_digest(model_of())
    model[0].bias.data[0] += 1e-6
    assert model_digest(model) != before


@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_that_does_not_cover_it_refuses_before_the_data_are_read(kind, tmp_path):
    budget, model = budget_of(kind, tmp_path, epsilon=1.0), model_of()
    with pytest.raises(BudgetError), attached(plan_of(), model, Unread(), ledger=budget):
        pass
    assert charges(budget) == []
    assert budget.spent["epsilon"] == 0


def test_bad_data_are_not_charged(budget):
    with pytest.raises(DataError), attached(plan_of(41, adjacency="add_remove"), dataset=[], ledger=budget):
        pass
    assert charges(budget) == []


def test_an_error_burns_the_charge_and_says_so(budget):
    model = model_of()
    with pytest.raises(RuntimeError) as caught, attached(plan_of(), model, ledger=budget) as private:
        walk(private, model, steps=2)
        raise RuntimeError("mine")
    assert [state for state, _ in charges(budget)] == [State.BURNED]
    assert "burned" in " ".join(caught.value.__notes__)


@pytest.mark.filterwarnings("ignore:the loop ended before")
def test_a_loop_that_is_left_early_is_charged_in_full(budget):
    model = model_of()
    with attached(plan_of(), model, ledger=budget) as private:
        walk(private, model, steps=1)
    assert [state for state, _ in charges(budget)] == [State.COMMITTED]
    assert budget.spent["epsilon"] > 1.9


def test_a_request_is_run_once(budget):
    model = model_of()
    with attached(plan_of(), model, ledger=budget, request_id="one") as private:
        walk(private, model)
    with (
        pytest.raises(BudgetError, match="'one'"),
        attached(plan_of(), model, ledger=budget, request_id="one") as again,
    ):
        walk(again, model)
    with attached(plan_of(), model, ledger=budget, request_id="two") as private:
        walk(private, model)
    assert [state for state, _ in charges(budget)] == [State.COMMITTED] * 2


def test_runs_without_a_request_id_are_charged_each(budget):
    model = model_of()
    for _ in range(2):
        with attached(plan_of(), model, ledger=budget) as private:
            walk(private, model)
    assert len(charges(budget)) == 2


def test_without_a_ledger_nothing_is_booked():
    model = model_of()
    with attached(plan_of(), model) as private:
        walk(private, model)
    assert not private.release.record.ledger


def test_what_is_no_budget_is_refused_by_name():
    with pytest.raises(ParameterError, match="budget"), attached(plan_of(), dataset=data_of(), ledger="file.ledger"):
        pass
