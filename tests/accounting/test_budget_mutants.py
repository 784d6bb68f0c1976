# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the budget: each is built from the source, and the check that kills it is run on both."""

import copy
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction

import pytest

from dperm.accounting import Approximate, Gaussian, Laplace, Poisson, Pure
from dperm.accounting.filters import filter_of
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import BudgetError
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, PureDP

ADD, ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE


def refused(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except BudgetError:
        return True
    return False


def costs_are_those_of_the_theorems(module):
    """T18, T19, T16, T20 and T4, in closed form."""
    assert module.rho(Gaussian(1.0), ADD) >= Fraction(1, 2)
    assert module.rho(Pure(1.0, ADD), ADD) >= Fraction(1, 2)
    assert module.mu_square(Gaussian(1.0), ONE) >= 4
    assert module.taus(Gaussian(1.0), ADD, (2.0, 8.0)) >= [1, 4]
    assert module.pure_epsilon(Laplace(1.0), ONE) >= 2
    assert module.pure_epsilon(Laplace(3.0), ADD) >= Fraction(1, 3)
    assert module.pure_epsilon(Approximate(0.1, 1e-6, ADD), ADD) is None
    assert module.claim(Approximate(0.1, 1e-6, ADD), ONE).delta >= Fraction(1e-6) * Fraction(1 + math.exp(0.1))


def events_read_through_add_remove_cost_twice(module):
    """T4: Poisson-sampled Laplace noise has no pair of its own under replace-one."""
    event = Poisson(Laplace(0.5), rate=0.1)
    assert module.pure_epsilon(event, ONE) >= 2 * math.log1p(0.1 * math.expm1(2.0))
    assert module.pure_epsilon(Poisson(Laplace(1 / 24.0), rate=1e-12), ADD) >= 0.02614  # log(1 + 1e-12 e^24) = .026145


def every_repetition_is_charged(module):
    """T11, T18, T19, T16."""
    assert module.filter_of(PureDP(9.0, ADD)).cost(Pure(0.5, ADD) * 4) >= (2.0,)
    assert module.filter_of(ZCDP(9.0, ADD)).cost(Gaussian(1.0) * 4) >= (2.0,)
    assert module.filter_of(GDP(9.0, ADD)).cost(Gaussian(1.0) * 4) >= (4.0,)
    assert module.filter_of(RDP([(2.0, 9.0)], ADD)).cost(Gaussian(1.0) * 4) >= (4.0,)


def a_block_pays_at_its_own_delta(module):
    """T11: epsilon at delta/blocks, T6 golden; a step's own delta must fit too, and every repetition is charged."""
    assert module.ApproxFilter(ApproxDP(9.0, 1e-6, ADD), 1).cost(Approximate(0.5, 1e-7, ADD) * 4)[0] >= 1.9
    rule = module.ApproxFilter(ApproxDP(9.0, 2e-5, ADD), 2)
    epsilon, delta = rule.cost(Gaussian(3.7306317))
    assert epsilon >= 1.0 - 1e-6
    assert delta == 1e-5
    assert refused(rule.cost, Approximate(0.5, 1.5e-5, ADD))
    shares = module.ApproxFilter(ApproxDP(9.0, 1e-6, ADD), 3)
    assert 3 * Fraction(shares.cost(Pure(0.0, ADD))[1]) <= Fraction(1e-6)


def what_remains_is_rounded_down(module):
    """No more than what is left."""
    for amount in (Fraction(1, 3), Fraction(2), Fraction(1, 10)):
        assert Fraction(module.filter_of(PureDP(9.0, ADD)).within((amount,)).epsilon) <= amount


def roots_are_rounded_down(module):
    """T19: a mu whose square is at most what is left."""
    for square in (Fraction(1, 3), Fraction(2), Fraction(1, 10)):
        assert Fraction(module.root(square)) ** 2 <= square


def sums_are_exact_and_every_limit_counts(module):
    """T14: nothing is over, in any of the numbers."""
    rule, nothing, event = filter_of(PureDP(1.0, ADD)), (Fraction(0),), Pure(0.1, ADD)
    spent = nothing
    for _ in range(9):
        spent = module.total(spent, (0.1,))
    assert spent == (9 * Fraction(0.1),)
    assert refused(module.require, rule, spent, (0.1,), event)
    assert module.total((Fraction(1),), (2**-60,)) > (Fraction(1),)
    assert refused(module.require, rule, nothing, (math.nextafter(1.0, 2.0),), event)
    curve = filter_of(RDP([(2.0, 1.0), (8.0, 1.0)], ADD))
    assert refused(module.require, curve, (Fraction(0), Fraction(0)), (0.5, 1.5), event)
    assert refused(module.price, filter_of(ApproxDP(1.0, 1e-9, ADD), blocks=1), Approximate(0.1, 1e-10, ADD) * 100)


def a_charge_is_never_given_back(module):
    """Charged when reserved, whatever follows."""
    budget = module.MemoryBudget(PureDP(1.0, ADD))
    budget.check(Pure(0.5, ADD))
    first = budget.reserve(Pure(0.5, ADD))
    assert budget.spent == {"epsilon": 0.5}
    first.burn("failed")
    assert budget.spent == {"epsilon": 0.5}
    assert refused(first.commit, "sha256:1")
    budget.reserve(Pure(0.5, ADD)).commit("sha256:1")
    assert refused(budget.reserve, Pure(0.5, ADD))
    assert refused(budget.check, Pure(0.5, ADD))


def a_budget_has_no_doubles(module):
    """One budget, however it is copied; one charge, one release."""
    budget = module.MemoryBudget(PureDP(1.0, ADD))
    copy.deepcopy(budget).reserve(Pure(0.5, ADD), request_id="a")
    assert budget.spent == {"epsilon": 0.5}
    assert budget.reserve(Pure(0.5, ADD), request_id="a").repeated
    assert refused(budget.reserve, Pure(0.25, ADD), request_id="a")


def threads_decide_one_at_a_time(module):
    """Eight threads that wait for each other between the comparison and the charge: in vain, if one has the lock."""
    decide, meeting = module.require, threading.Barrier(8, timeout=2.0)

    def meet(*arguments):
        decide(*arguments)
        with suppress(threading.BrokenBarrierError):
            meeting.wait()

    module.require = meet
    budget = module.MemoryBudget(PureDP(1.0, ADD))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: refused(budget.reserve, Pure(0.25, ADD)), range(16)))
    assert len(budget.entries) == 4


def a_run_that_fails_is_burned(module):
    """Also when it is interrupted; and an id is run once."""
    budget = MemoryBudget(PureDP(1.0, ADD))
    for kind in (ValueError, KeyboardInterrupt):
        with pytest.raises(kind) as caught, module.charged(budget, Pure(0.25, ADD), request_id=kind.__name__):
            assert budget.spent["epsilon"] > 0
            raise kind
        assert budget.entries[-1].state == "burned"
        assert hasattr(caught.value, "__notes__")
    runs = []
    with pytest.raises(BudgetError), module.charged(budget, Pure(0.25, ADD), request_id="ValueError") as reservation:
        runs.append(reservation)
        raise BudgetError
    assert runs == []


MUTANTS = {
    costs_are_those_of_the_theorems: [
        ("filters.costs", "return square / 2", "return square / 4"),
        ("filters.costs", ".epsilon) ** 2 / 2", ".epsilon) ** 2 / 8"),
        ("filters.costs", "Fraction(alpha) * square / 2", "square / 2"),
        ("filters.costs", "Fraction(sensitivity(reading.directions[0]))", "Fraction(1)"),
        ("filters.costs", "return _quotient(inner, reading)", "return Fraction(float(_quotient(inner, reading)))"),
        ("filters.costs", "own is not None and own.delta == 0", "own is not None"),
        ("filters.costs", "Fraction(lost if lost == declared else raised(lost))", "Fraction(declared)"),
    ],
    events_read_through_add_remove_cost_twice: [
        ("filters.costs", "return 1 if reading is adjacency else 2", "return 1"),
        (
            "filters.costs",
            "max(law.ceiling for law in laws)\n    if all",
            "min(law.ceiling for law in laws)\n    if all",
        ),
    ],
    every_repetition_is_charged: [
        ("filters.rules", "total += count * epsilon", "total += epsilon"),
        ("filters.rules", "count * costs.rho", "costs.rho"),
        ("filters.rules", "count * costs.mu_square", "costs.mu_square"),
        ("filters.rules", "total + count * tau", "total + tau"),
    ],
    a_block_pays_at_its_own_delta: [
        ("filters.approx", "epsilon + count * own.epsilon", "epsilon + own.epsilon"),
        ("filters.approx", ".epsilon(share)", ".epsilon(2 * share)"),
        ("filters.approx", "if delta <= Fraction(share)", "if delta <= 2 * Fraction(share)"),
        (
            "filters.approx",
            "round_down(Fraction(self.limit.delta) / self.blocks)",
            "round_up(Fraction(self.limit.delta) / self.blocks)",
        ),
    ],
    what_remains_is_rounded_down: [
        ("filters.rules", "PureDP(round_down(amounts[0])", "PureDP(round_up(amounts[0])"),
    ],
    roots_are_rounded_down: [
        ("filters.limits", "for value in nearby if Fraction(value) ** 2 <= square", "for value in nearby")
    ],
    sums_are_exact_and_every_limit_counts: [
        ("filters.charge", "Fraction(asked) > most - used", "Fraction(asked) > most"),
        ("filters.charge", "Fraction(asked) > most - used", "asked > float(most - used) + 1e-12"),
        ("filters.charge", "Fraction(asked) > most - used", "float(used) + asked > float(most)"),
        ("filters.charge", "old + Fraction(new)", "Fraction(float(old) + new)"),
        (
            "filters.charge",
            "spent, strict=True):\n        if",
            "spent, strict=True):\n        if name == rule.names[0] and",
        ),
    ],
    a_charge_is_never_given_back: [
        ("memory_budget", "self._spent = total(self._spent, cost)", "total(self._spent, cost)"),
        (
            "memory_budget",
            "if entry.state is State.RESERVED:",
            "self._spent = self._spent if digest else (0,)\n            if True:",
        ),
        ("memory_budget", "if entry.state is State.RESERVED:", "if True:"),
        ("memory_budget", "        require(self._filter, self._spent, cost, event)\n\n", "\n"),
    ],
    a_budget_has_no_doubles: [
        (
            "memory_budget",
            'itself: a copy could be spent a second time."""\n        return self',
            'as a copy."""\n        return MemoryBudget(self._limit)',
        ),
        ("memory_budget", "repeated=True)", "repeated=False)"),
        ("memory_budget", "if entry.event != event:", "if False:"),
        ("memory_budget", "if request_id is None or request_id not in self._numbers:", "if True:"),
    ],
    threads_decide_one_at_a_time: [("memory_budget", "with self._lock:  # between", "if True:  # between")],
    a_run_that_fails_is_burned: [
        ("budget", "except BaseException as error:", "except Exception as error:"),
        ("budget", "if reservation.repeated:", "if False:"),
        ("budget", '        reservation.burn(f"{type(error).__name__} before commit")\n', ""),
    ],
}


@pytest.mark.parametrize(
    ("check", "name", "old", "new"), [(check, *mutant) for check, mutants in MUTANTS.items() for mutant in mutants]
)
def test_an_unsafe_mutant_is_killed(check, name, old, new, assert_killed):
    assert_killed(check, f"dperm.accounting.{name}", old, new)
