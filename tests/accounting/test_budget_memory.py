# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The budget in memory: books, request ids, copies, threads, rounding, and events chosen by what was seen (T14)."""

import copy
import itertools
import math
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import pytest
from sklearn.base import clone

from dperm.accounting import Gaussian, Laplace, Pure, memory_budget
from dperm.accounting.memory_budget import MemoryBudget
from dperm.accounting.serialize import event_from_json
from dperm.errors import BudgetError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, PureDP

ADD = "add_remove"
QUARTER = Pure(0.25, ADD)


@pytest.fixture
def budget():
    return MemoryBudget(PureDP(1.0, ADD))


def test_the_books_say_what_was_charged_and_what_became_of_it(budget):
    budget.reserve(QUARTER, request_id="a").commit("sha256:1")
    budget.reserve(Laplace(4.0)).burn("stopped")
    budget.reserve(QUARTER)
    first, second, third = budget.entries
    assert (first.number, first.state, first.digest, first.request_id) == (0, "committed", "sha256:1", "a")
    assert (second.state, second.digest, second.reason) == ("burned", None, "stopped")
    assert (third.state, third.request_id) == ("reserved", None)
    assert event_from_json(second.event) == Laplace(4.0)
    assert [dict(entry.cost) for entry in budget.entries] == [{"epsilon": 0.25}] * 3


def test_the_books_cannot_be_written_from_outside(budget):
    budget.reserve(QUARTER)
    assert isinstance(budget.entries, tuple)
    with pytest.raises(FrozenInstanceError):
        budget.entries[0].state = "committed"
    budget.spent.clear()
    assert budget.spent == {"epsilon": 0.25}
    with pytest.raises(AttributeError):
        budget.limit = PureDP(2.0, ADD)


@pytest.mark.parametrize(
    ("limit", "blocks", "spent", "remaining"),
    [
        (PureDP(1.0, ADD), None, {"epsilon": 0.5}, PureDP(0.5, ADD)),
        (ApproxDP(1.0, 0.0, ADD), 2, {"epsilon": 0.5, "delta": 0.0}, ApproxDP(0.5, 0.0, ADD)),
        (ZCDP(1.0, ADD), None, {"rho": 0.125}, ZCDP(0.875, ADD)),
    ],
)
def test_what_is_spent_and_what_remains_is_told_in_the_limit_s_terms(limit, blocks, spent, remaining):
    budget = MemoryBudget(limit, blocks=blocks)
    assert budget.remaining == limit
    budget.reserve(Pure(0.5, ADD))
    assert (budget.spent, budget.remaining) == (spent, remaining)
    assert budget.limit is limit
    assert budget.adjacency is Adjacency.ADD_REMOVE
    assert repr(budget) == f"MemoryBudget(limit={limit!r}, spent={spent!r})"


def test_what_remains_of_a_gaussian_limit(budget):
    """T19: 1.25^2 - 0.75^2 = 1; T16 at each order."""
    gdp, rdp = MemoryBudget(GDP(1.25, ADD)), MemoryBudget(RDP([(2.0, 2.0), (4.0, 8.0)], ADD))
    gdp.reserve(Gaussian(2.0) + Gaussian(2.0) + Gaussian(4.0))
    rdp.reserve(Gaussian(1.0))
    assert gdp.remaining == GDP(1.0, ADD)
    assert rdp.remaining == RDP([(2.0, 1.0), (4.0, 6.0)], ADD)
    assert rdp.spent == {"tau(2.0)": 1.0, "tau(4.0)": 2.0}


@pytest.mark.parametrize("mu", [1.1, 0.3, 1e-7, 1e-170, 12345.678, 1e200])
def test_what_remains_of_a_gaussian_limit_is_never_more_than_what_remains(mu):
    fresh = MemoryBudget(GDP(mu, ADD)).remaining.mu
    assert fresh <= mu
    if 1e-150 < mu < 1e150:
        assert fresh == mu


def test_what_remains_can_be_spent(budget):
    for _ in range(9):
        budget.reserve(Pure(0.1, ADD))
    budget.reserve(Pure(budget.remaining.epsilon, ADD))
    with pytest.raises(BudgetError):
        budget.reserve(Pure(0.1, ADD))


@pytest.mark.parametrize(("limit", "times"), [(1.0, 9), (0.3, 2), (0.7, 6)])
def test_ten_times_a_tenth_is_over_one(limit, times):
    """In doubles ten tenths add up to less than 1; exactly they are more."""
    budget = MemoryBudget(PureDP(limit, ADD))
    for _ in range(times):
        budget.reserve(Pure(0.1, ADD))
    with pytest.raises(BudgetError):
        budget.reserve(Pure(0.1, ADD))


def test_small_costs_are_not_absorbed_by_large_ones():
    budget = MemoryBudget(PureDP(1.0, ADD))
    budget.reserve(Pure(1 - 2**-53, ADD))
    budget.reserve(Pure(2**-54, ADD))
    budget.reserve(Pure(2**-54, ADD))  # in doubles both would have been lost, and every later one too
    with pytest.raises(BudgetError):
        budget.reserve(Pure(2**-80, ADD))
    assert budget.spent == {"epsilon": 1.0}


def test_a_refusal_by_a_rounding_error_is_explained(budget):
    for _ in range(9):
        budget.reserve(Pure(0.1, ADD))
    with pytest.raises(BudgetError, match=r"costs epsilon=0.1, but only epsilon=0.0999\d+ .*remains.*rounding error"):
        budget.reserve(Pure(0.1, ADD))
    with pytest.raises(BudgetError, match=r"Request a smaller epsilon\. A limit that is raised"):
        budget.reserve(Pure(0.2, ADD))


def test_a_long_event_does_not_make_a_long_message(budget):
    event = Pure(0.5, ADD)
    for _ in range(99):
        event = event + Pure(0.5, ADD)
    with pytest.raises(BudgetError) as caught:
        budget.check(event)
    assert len(str(caught.value)) < 500


def test_a_reservation_is_closed_once(budget):
    reservation = budget.reserve(QUARTER)
    reservation.commit("sha256:1")
    reservation.commit("sha256:1")
    with pytest.raises(BudgetError, match=r"closed once.*is committed \(digest='sha256:1'\)"):
        reservation.commit("sha256:2")
    with pytest.raises(BudgetError, match=r"closed once"):
        reservation.burn("changed my mind")
    assert budget.entries[0].digest == "sha256:1"


def test_a_burned_reservation_cannot_be_committed_and_stays_charged(budget):
    reservation = budget.reserve(QUARTER)
    reservation.burn("first")
    reservation.burn("second")
    with pytest.raises(BudgetError, match=r"is burned"):
        reservation.commit("sha256:1")
    assert budget.entries[0].reason == "first"
    assert budget.spent == {"epsilon": 0.25}


def test_the_same_request_is_charged_once(budget):
    first = budget.reserve(QUARTER, request_id="a")
    again = budget.reserve(QUARTER, request_id="a")
    assert (again, first.repeated, again.repeated) == (first, False, True)
    again.commit("sha256:1")
    assert first.state == "committed"
    assert budget.spent == {"epsilon": 0.25}
    assert len(budget.entries) == 1


def test_a_repeated_request_is_answered_when_nothing_remains(budget):
    whole = Pure(1.0, ADD)
    first = budget.reserve(whole, request_id="a")
    assert budget.reserve(whole, request_id="a") == first


def test_a_request_id_belongs_to_one_event(budget):
    budget.reserve(QUARTER, request_id="a")
    with pytest.raises(BudgetError, match=r"'a' was used for .*0.25.*asked for .*0.125.*Nothing was charged"):
        budget.reserve(Pure(0.125, ADD), request_id="a")
    assert len(budget.entries) == 1


def test_a_refused_request_may_be_asked_again_with_less(budget):
    with pytest.raises(BudgetError):
        budget.reserve(Pure(2.0, ADD), request_id="a")
    assert not budget.reserve(QUARTER, request_id="a").repeated


@pytest.mark.parametrize("request_id", ["", 7])
def test_a_request_id_is_a_string(budget, request_id):
    with pytest.raises(ParameterError, match=r"request_id must be a string"):
        budget.reserve(QUARTER, request_id=request_id)
    assert budget.entries == ()


def test_without_request_ids_equal_events_are_charged_each(budget):
    assert budget.reserve(QUARTER) != budget.reserve(QUARTER)
    assert budget.spent == {"epsilon": 0.5}


def test_a_copy_is_the_same_budget(budget):
    """sklearn clones an estimator for every fold; each would have spent its own copy."""
    for copied in (copy.copy(budget), copy.deepcopy(budget), clone(budget, safe=False), copy.deepcopy([budget])[0]):
        assert copied is budget


def test_a_budget_does_not_travel_to_another_process(budget, monkeypatch):
    with pytest.raises(BudgetError, match=r"cannot be pickled.*threads"):
        pickle.dumps(budget)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for charge in (budget.check, budget.reserve):
        with pytest.raises(BudgetError, match=r"a fork of that process"):
            charge(QUARTER)


def test_racing_threads_never_exceed_the_limit(monkeypatch):
    """Eight threads, each pausing between the comparison and the charge."""
    decide = memory_budget.require

    def slowly(*arguments):
        decide(*arguments)
        time.sleep(1e-4)

    monkeypatch.setattr(memory_budget, "require", slowly)
    budget, start = MemoryBudget(PureDP(1.0, ADD)), threading.Barrier(8)

    def spend(worker):
        start.wait()
        granted = 0
        for _ in range(40):
            try:
                budget.reserve(Pure(2**-6, ADD)).commit(f"sha256:{worker}")
                granted += 1
            except BudgetError:
                pass
        return granted

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(spend, range(8)))
    assert granted == len(budget.entries) == 64
    assert budget.spent == {"epsilon": 1.0}
    assert [entry.number for entry in budget.entries] == list(range(64))


def test_racing_threads_with_one_request_id_are_charged_once(budget):
    start = threading.Barrier(8)

    def ask(_):
        start.wait()
        return budget.reserve(QUARTER, request_id="a").repeated

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(ask, range(8))) == [False] + [True] * 7
    assert budget.spent == {"epsilon": 0.25}


def next_epsilon(seen):
    """An analyst who asks boldly after a 1 and timidly after a 0, and stops at will."""
    return 0.4 if seen and seen[-1] else 0.1 + 0.05 * len(seen)


def run(answers):
    """The privacy loss of randomised responses whose epsilon depends on the answers, until the budget refuses."""
    budget, seen, loss = MemoryBudget(PureDP(1.0, ADD)), [], 0.0
    for answer in answers:
        epsilon = next_epsilon(seen)
        try:
            budget.reserve(Pure(epsilon, ADD))
        except BudgetError:
            break
        loss += epsilon if answer else -epsilon  # log of P(answer | record = 1) / P(answer | record = 0)
        seen.append(answer)
    return loss, len(seen)


def test_events_that_depend_on_the_answers_stay_within_the_limit():
    """T14: over all answers, the loss of the whole adaptive run is at most the limit, and comes close to it."""
    runs = [run(answers) for answers in itertools.product((0, 1), repeat=8)]
    assert max(abs(loss) for loss, _ in runs) <= 1.0
    assert max(loss for loss, _ in runs) >= 0.85
    assert len({asked for _, asked in runs}) > 1, "where the run stops depends on the answers"


def test_adaptive_gaussian_runs_stay_within_the_limit():
    """T19: sum of mu^2, whatever the answers say about the next sigma."""
    for signs in itertools.product((0.8, 1.7), repeat=6):
        budget, total = MemoryBudget(GDP(1.5, ADD)), 0.0
        for sigma in signs:
            try:
                budget.reserve(Gaussian(sigma))
            except BudgetError:
                continue  # a smaller question may still fit
            total += 1 / sigma**2
        assert math.sqrt(total) <= 1.5 * (1 + 1e-15)


def test_the_receipt_says_where_it_is_booked_and_what_is_spent_with_it():
    budget = MemoryBudget(PureDP(1.0, "add_remove"))
    reservation = budget.reserve(Pure(0.25, "add_remove"), request_id="a", facts={"seeded": True})
    reservation.commit("sha256:0")
    receipt = reservation.receipt
    assert (receipt["seq"], receipt["request_id"], receipt["digest"]) == (0, "a", "sha256:0")
    assert (receipt["capacity"], receipt["spent"]) == ({"epsilon": 1.0}, {"epsilon": 0.25})
    assert budget.entries[0].facts == {"seeded": True}
