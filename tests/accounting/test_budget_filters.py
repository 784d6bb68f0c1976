# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The filters of T14 on both sides: what just fits passes, one unit more is refused and charges nothing.

True costs are computed here on their own: exact fractions of the events' doubles.
"""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.accounting import (
    Approximate,
    Gaussian,
    Laplace,
    Pure,
    RandomizedResponse,
)
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import BudgetError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.privacy.convert import gdp_to_rdp

ADD, ONE = "add_remove", "replace_one"
TINY = 5e-324


def above(value):
    return math.nextafter(value, math.inf)


def below(value):
    return math.nextafter(value, 0.0)


BOTH_SIDES = [
    pytest.param(PureDP(0.75, ADD), Pure(0.25, ADD), 3, Pure(TINY, ADD), id="pure: sum of epsilon (T11)"),
    pytest.param(PureDP(0.75, ADD), Laplace(4.0), 3, Laplace(1e10), id="pure: Laplace"),
    pytest.param(PureDP(1.5, ONE), Laplace(4.0) * 3, 1, Pure(TINY, ONE), id="pure: Laplace, replace-one"),
    pytest.param(PureDP(1.0, ONE), Pure(0.25, ADD), 2, RandomizedResponse(TINY), id="pure: T4 doubles"),
    pytest.param(ZCDP(1.5, ADD), Gaussian(1.0), 3, Gaussian(1e10), id="zCDP: rho = mu^2/2 (T18)"),
    pytest.param(ZCDP(2.0, ONE), Gaussian(1.0), 1, Gaussian(1e10), id="zCDP: replace-one"),
    pytest.param(ZCDP(1.0, ADD), Pure(1.0, ADD), 2, Pure(1e-160, ADD), id="zCDP: pure is eps^2/2 (T18)"),
    pytest.param(GDP(2.0, ADD), Gaussian(1.0), 4, Gaussian(1e10), id="GDP: sum of mu^2 (T19)"),
    pytest.param(GDP(2.0, ONE), Gaussian(2.0) * 4, 1, Pure(1e-160, ONE), id="GDP: replace-one"),
    pytest.param(
        RDP([(2.0, 3.0), (8.0, 12.0)], ADD), Gaussian(1.0), 3, Pure(1e-160, ADD), id="RDP: alpha mu^2/2 (T16)"
    ),
]


@pytest.mark.parametrize(("limit", "event", "times", "more"), BOTH_SIDES)
def test_exactly_at_the_limit_passes_and_the_least_more_is_refused(limit, event, times, more):
    budget = MemoryBudget(limit)
    for _ in range(times):
        budget.check(event)
        budget.reserve(event)
    before = budget.spent, budget.entries
    for refused in (event, more):
        with pytest.raises(BudgetError, match=r"of the limit of .* remains.*Nothing was charged"):
            budget.check(refused)
        with pytest.raises(BudgetError, match=r"of the limit of .* remains.*Nothing was charged"):
            budget.reserve(refused)
    assert (budget.spent, budget.entries) == before


@pytest.mark.parametrize(
    ("limit", "event"),
    [
        (PureDP(below(1.0), ADD), Laplace(1.0)),
        (PureDP(1.0, ADD), Laplace(below(1.0))),
        (PureDP(1 / 3, ADD), Laplace(3.0)),  # the double 1/3 is less than the third that Laplace(3) costs
        (ZCDP(below(0.5), ADD), Gaussian(1.0)),
        (GDP(below(1.0), ADD), Gaussian(1.0)),
        (GDP(1.0, ADD), Gaussian(below(1.0))),
        (RDP([(2.0, 1.0), (8.0, below(4.0))], ADD), Gaussian(1.0)),  # every order counts, not the first
        (RDP([(2.0, below(1.0)), (8.0, 4.0)], ADD), Gaussian(1.0)),  # ... nor the last
    ],
)
def test_one_unit_below_is_refused(limit, event):
    budget = MemoryBudget(limit)
    with pytest.raises(BudgetError):
        budget.reserve(event)
    assert budget.entries == ()


def test_an_approximate_limit_is_spent_in_equal_shares_of_delta():
    """T11: sum of epsilon and sum of delta, each block at delta/blocks."""
    budget = MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=4)
    share = Approximate(0.25, 2.5e-7, ADD)
    for _ in range(4):
        budget.reserve(share)
    assert budget.spent == {"epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(BudgetError, match=r"costs epsilon=0.25, but only epsilon=0.0 of"):
        budget.reserve(share)
    assert len(budget.entries) == 4


def test_the_shares_of_delta_run_out_on_their_own():
    budget = MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=3)  # 1e-6/3 is no double: the share is rounded down
    for _ in range(3):
        budget.reserve(Pure(0.0, ADD))
    assert sum(Fraction(dict(entry.cost)["delta"]) for entry in budget.entries) <= Fraction(1e-6)
    with pytest.raises(BudgetError, match=r"costs delta=.*Every declared block is used"):
        budget.reserve(Pure(0.0, ADD))


@pytest.mark.parametrize(
    "event", [Approximate(above(0.5), 5e-7, ADD), Approximate(0.5, above(5e-7), ADD), Approximate(0.5, 3e-7, ADD) * 2]
)
def test_one_unit_above_a_share_is_refused(event):
    budget = MemoryBudget(ApproxDP(0.5, 1e-6, ADD), blocks=2)
    with pytest.raises(BudgetError, match=r"Nothing was charged"):
        budget.reserve(event)
    budget.reserve(Approximate(0.5, 5e-7, ADD))


def test_an_event_without_epsilon_at_its_share_is_told_the_share():
    budget = MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=2)
    with pytest.raises(BudgetError, match=r"no finite epsilon at delta=5e-07.*blocks=2.*fewer blocks"):
        budget.check(Approximate(0.1, 6e-7, ADD))
    with pytest.raises(BudgetError, match=r"no finite epsilon at delta=0.0"):
        MemoryBudget(ApproxDP(1.0, 0.0, ADD), blocks=1).check(Gaussian(100.0))


def test_a_limit_with_delta_zero_is_pure():
    budget = MemoryBudget(ApproxDP(1.0, 0.0, ADD), blocks=1)
    budget.reserve(Laplace(2.0) + Pure(0.5, ADD))
    with pytest.raises(BudgetError):
        budget.reserve(Pure(TINY, ADD))


def test_every_order_of_the_limit_is_kept():
    """T14: the best order after the stop is not covered, so a Gaussian stops at the first order that is full."""
    limit = RDP([(2.0, 100.0), (64.0, 64.0)], ADD)
    budget = MemoryBudget(limit)
    budget.reserve(Gaussian(1.0) * 2)
    with pytest.raises(BudgetError, match=r"costs tau\(64.0\)=32.0, but only tau\(64.0\)=0.0 of"):
        budget.reserve(Gaussian(1.0))


def test_a_gaussian_limit_as_a_curve_takes_the_gaussian_itself():
    budget = MemoryBudget(gdp_to_rdp(GDP(0.5, ADD)))  # 61 orders, most of them no short fractions
    budget.reserve(Gaussian(2.0))
    with pytest.raises(BudgetError):
        budget.reserve(Gaussian(1e9))


@pytest.mark.parametrize("limit", [PureDP(1.0, ADD), ZCDP(1.0, ADD), GDP(1.0, ADD), RDP([(2.0, 1.0)], ADD)])
def test_blocks_are_for_approximate_limits(limit):
    with pytest.raises(ParameterError, match=r"blocks divides the delta of an ApproxDP limit"):
        MemoryBudget(limit, blocks=2)


@pytest.mark.parametrize("blocks", [None, 0, 1.5, True])
def test_an_approximate_limit_needs_its_blocks_in_advance(blocks):
    with pytest.raises(ParameterError, match=r"blocks must be a whole number from 1.*fixed in advance"):
        MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=blocks)


def test_a_limit_is_a_guarantee():
    with pytest.raises(ParameterError, match=r"limit must be a PureDP"):
        MemoryBudget(1.0)


positive = st.floats(min_value=1e-3, max_value=10.0)


@given(limit=positive, epsilons=st.lists(positive, max_size=40))
def test_the_exact_sum_never_exceeds_a_pure_limit_and_nothing_that_fits_is_refused(limit, epsilons):
    budget, truth = MemoryBudget(PureDP(limit, ADD)), Fraction(0)
    for epsilon in epsilons:
        fits = truth + Fraction(epsilon) <= Fraction(limit)
        try:
            budget.reserve(Pure(epsilon, ADD))
        except BudgetError:
            assert not fits
        else:
            truth += Fraction(epsilon)
        assert truth <= Fraction(limit)
        assert (
            Fraction(budget.remaining.epsilon) <= Fraction(limit) - truth <= Fraction(above(budget.remaining.epsilon))
        )
        assert Fraction(budget.spent["epsilon"]) >= truth


@given(
    limit=positive,
    sigmas=st.lists(st.tuples(st.floats(0.01, 10.0), st.integers(1, 5)), max_size=30),
    kind=st.sampled_from("zgr"),
)
def test_the_exact_sum_never_exceeds_a_gaussian_limit(limit, sigmas, kind):
    """T18, T19, T16 with the exact 1/sigma^2 of the doubles; a refusal means that it would have been over, to 1e-15."""
    kinds = {
        "z": ZCDP(limit / 2, ADD),
        "g": GDP(math.sqrt(limit), ADD),
        "r": RDP([(2.0, limit), (9.0, 4.5 * limit)], ADD),
    }
    budget, truth = MemoryBudget(kinds[kind]), Fraction(0)
    most = Fraction(math.sqrt(limit)) ** 2 if kind == "g" else Fraction(limit)
    for sigma, count in sigmas:
        square = count / Fraction(sigma) ** 2
        try:
            budget.reserve(Gaussian(sigma) * count)
        except BudgetError:
            assert truth + square > most * (1 - Fraction(1, 10**14))
        else:
            truth += square
        assert truth <= most


@given(limit=positive, blocks=st.integers(1, 7), delta=st.floats(1e-12, 1e-3))
def test_the_exact_sum_of_deltas_never_exceeds_an_approximate_limit(limit, blocks, delta):
    budget = MemoryBudget(ApproxDP(limit, delta, ADD), blocks=blocks)
    for _ in range(blocks):
        budget.reserve(Pure(0.0, ADD))
    with pytest.raises(BudgetError):
        budget.reserve(Pure(0.0, ADD))
    assert sum(Fraction(dict(entry.cost)["delta"]) for entry in budget.entries) <= Fraction(delta)
