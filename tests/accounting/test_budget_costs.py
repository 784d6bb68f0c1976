# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What events cost in the currency of each filter, and which have no cost there (T11, T16, T18-T20).

True costs are computed here on their own: 50-digit arithmetic, closed forms.
"""

import math

import mpmath as mp
import pytest

from dperm.accounting import (
    Approximate,
    Gaussian,
    Laplace,
    Poisson,
    Pure,
    RandomizedResponse,
    WithoutReplacement,
    account,
)
from dperm.accounting.event import SingleEvent
from dperm.accounting.filters import filter_of, price
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import AdjacencyError, BudgetError, ConversionError
from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP

ADD, ONE = "add_remove", "replace_one"


def cost(limit, event, blocks=None):
    return price(filter_of(limit, blocks), event)


def test_an_event_is_charged_its_exact_epsilon_at_its_share_not_at_the_whole_delta():
    """T6: sigma = 3.7306317 has epsilon 1 at delta 1e-5 (golden), which is the share here."""
    event = Gaussian(3.7306317)
    epsilon, delta = cost(ApproxDP(2.0, 2e-5, ADD), event, blocks=2)
    assert (epsilon, delta) == (account(event, ADD).epsilon(1e-5), 1e-5)
    assert epsilon == pytest.approx(1.0, rel=1e-6)


def test_a_block_is_composed_exactly_and_not_summed():
    """A pre-declared block is one event: far below the sum of its steps."""
    step = Poisson(Gaussian(1.0), rate=0.01)
    limit = ApproxDP(2.0, 2e-5, ADD)
    whole = cost(limit, step * 1000, blocks=2)[0]
    assert whole == account(step * 1000, ADD).epsilon(1e-5)
    assert whole < 1000 * cost(limit, step, blocks=2)[0] / 10


def test_gdp_of_a_pure_event_is_t20():
    for epsilon in (1e-6, 0.5, 3.0, 40.0):
        with mp.workdps(50):
            corner = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
            truth = (2 * mp.sqrt(2) * mp.erfinv(2 * corner - 1)) ** 2
            assert 1 <= cost(GDP(100.0, ADD), Pure(epsilon, ADD))[0] / truth <= 1 + 1e-12


def test_zcdp_of_events_adds_up_over_counts_and_parts():
    """T18: 5 / (2 * 4) + 3 * 0.5^2/2 + 2 * (1/4)^2/2, all exact."""
    event = Gaussian(2.0) * 5 + Pure(0.5, ADD) * 3 + Laplace(4.0) * 2
    assert cost(ZCDP(9.0, ADD), event) == (0.625 + 0.375 + 0.0625,)


def test_gdp_of_gaussians_adds_up_over_counts_and_parts():
    """T19."""
    assert cost(GDP(9.0, ADD), Gaussian(2.0) * 5 + Gaussian(0.5)) == (1.25 + 4.0,)


def test_rdp_of_a_composition_is_the_sum_at_each_order():
    """T16, T26: alpha/2 of each Gaussian, and log(1 + q^2 (e - 1)) of a sampled one at alpha = 2."""
    event = Gaussian(1.0) * 3 + Poisson(Gaussian(1.0), rate=0.1) * 2 + Laplace(2.0)
    taus = cost(RDP([(2.0, 9.0), (5.0, 99.0)], ADD), event)
    laplace_2 = math.log(2 / 3 * math.exp(0.5) + 1 / 3 * math.exp(-1.0))
    assert taus[0] == pytest.approx(3.0 + 2 * math.log1p(0.01 * math.expm1(1.0)) + laplace_2, rel=1e-12)
    assert taus[1] > 7.5 + 0.355265  # golden laplace_rdp: b = 2, alpha = 5


@pytest.mark.parametrize("kind", ["laplace", "pure"])
def test_a_sampled_pure_step_is_charged_what_t21_says(kind):
    """log(1 + q (e^eps - 1)); under replace-one it is read by T4 and costs twice as much."""
    base = Laplace(0.5) if kind == "laplace" else Pure(2.0, ADD)
    with mp.workdps(50):
        truth = mp.log(1 + mp.mpf(0.1) * mp.expm1(2))
    once = cost(PureDP(9.0, ADD), Poisson(base, rate=0.1))[0]
    twice = cost(PureDP(9.0, ONE), Poisson(base, rate=0.1))[0]
    assert 1 <= once / truth <= 1 + 1e-11
    assert 1 <= twice / (2 * truth) <= 1 + 1e-11
    assert cost(ZCDP(9.0, ONE), Poisson(base, rate=0.1))[0] >= (2 * truth) ** 2 / 2
    assert cost(RDP([(2.0, 9.0)], ONE), Poisson(base, rate=0.1))[0] <= 2 * truth * (1 + 1e-9)


@pytest.mark.parametrize(("top", "rate"), [(31.0, 1e-12), (90.0, 1e-12), (40.0, 1e-9), (29.0, 1e-12), (1e-9, 0.5)])
def test_the_ceiling_of_a_sampled_laplace_is_never_below_t21(top, rate):
    """Where q e^eps is small the law's ceiling is a difference of large logarithms."""
    event = Poisson(Laplace(1 / top), rate=rate)
    with mp.workdps(400):
        truth = mp.log1p(mp.mpf(rate) * mp.expm1(1 / mp.mpf(1 / top)))
    assert cost(PureDP(9.0, ADD), event)[0] >= truth
    assert cost(ApproxDP(9.0, 0.0, ADD), event, blocks=1)[0] >= truth


@pytest.mark.parametrize("sampler", [Poisson, WithoutReplacement])
@pytest.mark.parametrize(
    ("limit", "base"),
    [
        (PureDP(1.0, ONE), Laplace(1.0)),
        (ZCDP(1.0, ONE), Laplace(1.0)),
        (ZCDP(1.0, ONE), Gaussian(1.0)),
        (GDP(1.0, ONE), Gaussian(1.0)),
        (RDP([(3.0, 1.0)], ONE), Gaussian(1.0)),
    ],
)
def test_sampling_at_rate_one_costs_what_the_event_costs(sampler, limit, base):
    assert cost(limit, sampler(base, rate=1.0)) == cost(limit, base)


@pytest.mark.parametrize(
    ("limit", "event"),
    [
        (PureDP(9.0, ADD), Gaussian(9.0)),
        (PureDP(9.0, ADD), Pure(0.1, ADD) + Approximate(0.1, 1e-9, ADD)),
        (PureDP(9.0, ADD), Poisson(Gaussian(9.0), rate=0.1)),
        (ZCDP(9.0, ADD), Poisson(Gaussian(9.0), rate=0.1) * 10),
        (ZCDP(9.0, ADD), Approximate(0.1, 1e-9, ADD)),
        (GDP(9.0, ADD), Poisson(Gaussian(9.0), rate=0.1)),
        (GDP(9.0, ONE), WithoutReplacement(Gaussian(9.0), rate=0.1)),
        (GDP(9.0, ADD), Approximate(0.1, 1e-9, ADD)),
        (RDP([(2.0, 9.0)], ADD), Approximate(0.1, 1e-9, ADD)),
        (ZCDP(9.0, ONE), Poisson(Approximate(0.1, 1e-9, ADD), rate=0.1)),
    ],
)
def test_an_event_without_a_cost_is_refused_with_the_remedy(limit, event):
    """T20: nothing follows from a delta > 0, and a sampled Gaussian is neither Gaussian nor bounded."""
    budget = MemoryBudget(limit)
    with pytest.raises(ConversionError, match=r"Nothing was charged. Open the budget with an ApproxDP limit"):
        budget.reserve(event)
    assert budget.entries == ()


@pytest.mark.parametrize("limit", [PureDP(9.0, ADD), ZCDP(9.0, ADD), GDP(9.0, ADD), RDP([(2.0, 9.0)], ADD)])
@pytest.mark.parametrize(
    "event",
    [Pure(0.1, ONE), RandomizedResponse(0.1), WithoutReplacement(Laplace(9.0), rate=0.1), Laplace(9.0) + Pure(1, ONE)],
)
def test_an_event_that_says_nothing_under_the_adjacency_is_refused(limit, event):
    """T4: replace-one says nothing about data sets of different size."""
    for budget in (MemoryBudget(limit), MemoryBudget(ApproxDP(9.0, 1e-6, ADD), blocks=1)):
        with pytest.raises(AdjacencyError):
            budget.reserve(event)
        assert budget.entries == ()


@pytest.mark.parametrize("limit", [ZCDP(9.0, ADD), GDP(9.0, ADD), RDP([(2.0, 9.0)], ADD)])
def test_the_largest_cost_that_can_be_written_is_refused(limit):
    with pytest.raises(BudgetError):
        MemoryBudget(limit).reserve(Gaussian(1e-2) * 10**9)


class Objective(SingleEvent):
    """An event of another module whose loss happens to be Gaussian."""

    kind = "test_objective"

    def law(self, direction):
        return GaussianLoss(0.5)

    def rdp(self, orders, adjacency):
        raise ConversionError("none")

    def tags(self, adjacency):
        return ()

    def fields(self):
        return {}


def test_an_event_with_a_gaussian_law_is_charged_as_one():
    assert 0.25 <= cost(GDP(1.0, ADD), Objective())[0] <= 0.25 * (1 + 1e-14)
    assert 0.125 <= cost(ZCDP(1.0, ADD), Objective())[0] <= 0.125 * (1 + 1e-14)
