# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`charged`: the order of a run, and what happens when it goes wrong (T14: charge before the release, no refunds)."""

import pytest

from dperm.accounting import Gaussian, Pure
from dperm.accounting.budget import Budget, State, charged
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import AdjacencyError, BudgetError, ConversionError, DpermWarning, ParameterError
from dperm.privacy import PureDP

HALF = Pure(0.5, "add_remove")


@pytest.fixture
def budget():
    return MemoryBudget(PureDP(1.0, "add_remove"))


def states(budget):
    return [entry.state for entry in budget.entries]


def test_a_memory_budget_is_a_budget(budget):
    assert isinstance(budget, Budget)


def test_the_charge_comes_before_the_first_line(budget):
    with charged(budget, HALF) as reservation:
        assert budget.spent == {"epsilon": 0.5}
        assert reservation.state == "reserved"
        reservation.commit("sha256:1")
    assert states(budget) == ["committed"]
    assert budget.entries[0].digest == "sha256:1"


def test_a_refusal_keeps_the_block_from_running_and_charges_nothing(budget):
    with pytest.raises(BudgetError), charged(budget, Pure(1.5, "add_remove")):
        pytest.fail("the data would have been read")
    assert budget.entries == ()
    assert budget.spent == {"epsilon": 0.0}


@pytest.mark.parametrize(
    ("event", "error"),
    [(Gaussian(1.0), ConversionError), (Pure(0.1, "replace_one"), AdjacencyError), ("laplace", ParameterError)],
)
def test_an_event_without_a_cost_keeps_the_block_from_running(budget, event, error):
    with pytest.raises(error), charged(budget, event):
        pytest.fail("the data would have been read")
    assert budget.entries == ()


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, BudgetError])
def test_an_exception_burns_the_reservation_says_so_and_goes_on(budget, kind):
    original = kind("row 17 is 3.14")
    with pytest.raises(kind) as caught, charged(budget, HALF):
        raise original
    assert caught.value is original
    assert any("burned" in note and "stays charged" in note for note in original.__notes__)
    assert states(budget) == ["burned"]
    assert budget.spent == {"epsilon": 0.5}


def test_the_books_keep_the_type_of_an_exception_and_never_its_message(budget):
    with pytest.raises(ValueError), charged(budget, HALF):
        raise ValueError("row 17 is 3.14")
    assert budget.entries[0].reason == "ValueError before commit"
    assert "3.14" not in repr(budget.entries)


def test_an_exception_after_the_commit_leaves_it_committed(budget):
    with pytest.raises(ValueError) as caught, charged(budget, HALF) as reservation:
        reservation.commit("sha256:1")
        raise ValueError("too late")
    assert states(budget) == ["committed"]
    assert not hasattr(caught.value, "__notes__")


def test_leaving_without_commit_burns_and_warns(budget):
    with pytest.warns(DpermWarning, match=r"without commit.*stays charged") as caught, charged(budget, HALF):
        pass
    assert caught[0].filename == __file__
    assert states(budget) == ["burned"]
    assert budget.spent == {"epsilon": 0.5}


def test_a_burn_on_purpose_is_no_surprise(budget):
    with charged(budget, HALF) as reservation:
        reservation.burn("the operator stopped it")
    assert states(budget) == ["burned"]
    assert budget.entries[0].reason == "the operator stopped it"


def test_without_a_budget_nothing_is_charged_and_the_code_is_the_same():
    with charged(None, Gaussian(1.0)) as reservation:
        assert reservation.state is State.RESERVED
        assert not reservation.repeated
        reservation.commit("sha256:1")
        reservation.burn("never mind")
    with pytest.raises(ValueError) as caught, charged(None, Gaussian(1.0)):
        raise ValueError("as it was")
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("close", ["commit", "burn"])
def test_without_a_budget_nonsense_is_refused_as_with_one(budget, close):
    for reservation in (budget.reserve(HALF), None):
        with charged(None, HALF) as free, pytest.raises(ParameterError, match=r"must be a string that is not empty"):
            getattr(reservation or free, close)("")


def test_a_request_is_run_once(budget):
    with charged(budget, HALF, request_id="a") as reservation:
        reservation.commit("sha256:1")
    with pytest.raises(BudgetError, match=r"'a' was charged before and is committed.*noise twice"):
        with charged(budget, HALF, request_id="a"):
            pytest.fail("noise would have been drawn twice for one charge")
    assert states(budget) == ["committed"]


def test_a_request_that_is_still_running_is_not_run_beside_itself_nor_closed(budget):
    with charged(budget, HALF, request_id="a") as reservation:
        with pytest.raises(BudgetError, match=r"is reserved"), charged(budget, HALF, request_id="a"):
            pytest.fail("noise would have been drawn twice for one charge")
        assert reservation.state == "reserved"
        reservation.commit("sha256:1")


def test_a_burned_request_stays_burned(budget):
    with pytest.raises(ValueError), charged(budget, HALF, request_id="a"):
        raise ValueError
    with pytest.raises(BudgetError, match=r"is burned"), charged(budget, HALF, request_id="a"):
        pytest.fail("noise would have been drawn")
    assert budget.spent == {"epsilon": 0.5}


def test_a_guarantee_is_not_a_budget():
    with pytest.raises(ParameterError, match=r"budget must be a budget or None.*MemoryBudget"):
        with charged(PureDP(1.0, "add_remove"), HALF):
            pytest.fail("nothing was charged")


class BrokenReservation:
    state = State.RESERVED
    repeated = False

    def commit(self, digest):
        raise OSError("the disk is full")

    def burn(self, reason):
        raise OSError("the disk is full")


class BrokenBudget:
    def check(self, event):
        pass

    def reserve(self, event, *, request_id=None, facts=None):
        return BrokenReservation()


def test_a_failure_to_burn_never_hides_the_error():
    with pytest.raises(ValueError, match=r"first") as caught, charged(BrokenBudget(), HALF):
        raise ValueError("first")
    assert caught.value.__notes__ == [
        "The reservation of this run could not be burned (the disk is full); it stays charged to the budget."
    ]
