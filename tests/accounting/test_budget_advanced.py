# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T14a, the filter that adds squares: its capacity to the last digits, and adversaries that use all of it.

Truths are computed here on their own: T17 in 50 digits, exact hockey sticks by enumeration of every strategy on a grid.
"""

import dataclasses
import itertools
import math
import pickle
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dperm.accounting import Approximate, Gaussian, Laplace, Poisson, Pure, account
from dperm.accounting.filters import filter_of, price
from dperm.accounting.filters.limits import largest_rho, root
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import AdjacencyError, BudgetError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.privacy.renyi import zcdp_epsilon, zcdp_epsilon_simple

ADD, ONE = "add_remove", "replace_one"
CORNERS = [(0.0, 1e-3), (1e-6, 1e-6), (0.01, 0.1), (0.1, 1e-6), (1.0, 1e-6), (3.0, 1e-9), (8.0, 0.1), (50.0, 1e-5)]


def advanced(epsilon, delta, blocks=8, adjacency=ADD):
    return filter_of(ApproxDP(epsilon, delta, adjacency), blocks, "advanced")


def best_order_delta(rho, epsilon):
    """T17 with tau = rho alpha at its best order, in 50 digits: the derivative in x = alpha - 1 vanishes."""
    with mp.workdps(50):
        rho, epsilon = mp.mpf(rho), mp.mpf(epsilon)
        low, high = mp.mpf("1e-30"), mp.mpf("1e30")
        for _ in range(220):
            x = mp.sqrt(low * high)
            low, high = (x, high) if rho * (1 + 2 * x) - mp.log1p(1 / x) < epsilon else (low, x)
        return mp.exp(x * (rho * (1 + x) - epsilon) - x * mp.log1p(1 / x)) / (1 + x)


@pytest.mark.parametrize(("epsilon", "delta"), CORNERS)
def test_the_capacity_is_the_largest_that_t17_proves(epsilon, delta):
    rule = advanced(epsilon, delta)
    rho, shared = float(rule.capacity[0] / 2), rule.capacity[1]
    assert best_order_delta(rho, epsilon) + mp.mpf(float(shared)) <= delta
    assert best_order_delta(rho * (1 + 1e-11), epsilon) + mp.mpf(float(shared)) > delta
    assert zcdp_epsilon(rho, rule.slack) <= epsilon < zcdp_epsilon(rho * (1 + 1e-13), rule.slack)


@pytest.mark.parametrize(("epsilon", "delta"), CORNERS)
def test_at_the_last_double_one_more_is_over(epsilon, delta):
    rho = largest_rho(epsilon, delta / 2)
    assert zcdp_epsilon(math.nextafter(rho, math.inf), delta / 2) > epsilon


@pytest.mark.parametrize(("epsilon", "delta"), CORNERS)
def test_the_printed_form_lies_below(epsilon, delta):
    """sqrt(2 S log(1/d')) + S/2 <= epsilon, the form of Whitehouse et al., is T18's simple conversion."""
    log = math.log(2 / delta)
    printed = (2 * epsilon / (math.sqrt(2 * log + 2 * epsilon) + math.sqrt(2 * log))) ** 2
    assert zcdp_epsilon_simple(printed / 2, delta / 2) == pytest.approx(epsilon, rel=1e-12)
    assert printed < advanced(epsilon, delta).capacity[0]


def test_golden_capacity():
    """The numbers of T14a's page."""
    capacity, shared = advanced(1.0, 1e-6).capacity
    printed = math.sqrt(2 * math.log(2e6) + 2.0) - math.sqrt(2 * math.log(2e6))
    assert printed**2 == pytest.approx(0.0333234, abs=5e-8)
    assert float(capacity) == pytest.approx(0.0458749, abs=5e-8)
    assert shared == Fraction(1e-6) / 2


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e300, 1e-6), (1.7e308, 0.5), (0.0, 1e-300), (1.0, 1e-323), (0.0, 0.9999)]
)
def test_extreme_limits_have_a_proved_capacity(epsilon, delta):
    rule = advanced(epsilon, delta, blocks=1)
    rho = float(rule.capacity[0] / 2)
    assert 0 <= rho < math.inf
    assert zcdp_epsilon(rho, rule.slack) <= epsilon
    assert Fraction(rule.slack) + rule.capacity[1] == Fraction(delta)


@pytest.mark.parametrize("blocks", [1, 3, 7, 1000])
def test_the_two_halves_and_the_shares_never_exceed_delta(blocks):
    rule = advanced(1.0, 1e-6, blocks)
    assert rule.slack == 5e-7
    assert Fraction(rule.slack) + blocks * Fraction(rule.share) <= Fraction(1e-6)
    assert blocks * Fraction(rule.share) >= Fraction(5e-7) * (1 - Fraction(1, 2**50))


# What an event costs.


def test_an_event_costs_the_square_of_its_epsilon_at_its_share():
    event = Poisson(Gaussian(2.0), rate=0.01) * 100
    square, share = price(advanced(1.0, 1e-5, 5), event)
    assert share == 1e-6
    assert Fraction(square) >= Fraction(account(event, ADD).epsilon(share)) ** 2
    assert math.sqrt(square) == pytest.approx(account(event, ADD).epsilon(share), rel=1e-15)


@pytest.mark.parametrize(
    ("event", "adjacency", "square"),
    [
        pytest.param(Gaussian(4.0), ADD, 1 / 16, id="mu^2 of a Gaussian (T18)"),
        pytest.param(Gaussian(4.0), ONE, 1 / 4, id="under replace-one"),
        pytest.param(Gaussian(4.0) * 3 + Gaussian(2.0), ADD, 7 / 16, id="summed over an event"),
        pytest.param(Pure(0.25, ADD) * 64, ADD, 4.0, id="64 pure steps in one event add their squares"),
        pytest.param(Gaussian(4.0) + Laplace(4.0) * 2, ADD, 3 / 16, id="Gaussian and pure"),
    ],
)
def test_an_event_that_is_zcdp_costs_twice_its_rho(event, adjacency, square):
    assert price(advanced(1.0, 1e-6, adjacency=adjacency), event) == (square, 6.25e-8)


def test_a_pure_event_costs_at_most_its_square():
    """Its epsilon at the share is slightly less than its own."""
    assert 0.0625 * (1 - 1e-6) <= price(advanced(1.0, 1e-6), Pure(0.25, ADD))[0] <= 0.0625


def test_an_approximate_event_must_fit_into_its_share():
    budget = MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=2, composition="advanced")
    with pytest.raises(BudgetError, match=r"no finite epsilon at delta=2.5e-07, which is delta/2/blocks.*blocks=2"):
        budget.check(Approximate(0.01, 3e-7, ADD))
    budget.reserve(Approximate(0.01, 2.5e-7, ADD))
    assert budget.spent == {"epsilon_squared": pytest.approx(1e-4, rel=1e-15), "delta": 2.5e-7}
    assert budget.entries[0].cost[0][1] >= Fraction(0.01) ** 2


def test_an_event_under_another_adjacency_is_refused():
    with pytest.raises(AdjacencyError):
        MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=2, composition="advanced").check(Pure(0.1, ONE))


def test_what_remains_is_what_one_event_may_have():
    budget = MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=4, composition="advanced")
    for _ in range(3):
        budget.reserve(Pure(budget.remaining.epsilon / 2, ADD))
    last = budget.remaining
    budget.reserve(Approximate(last.epsilon, 1.25e-7, ADD))
    assert budget.remaining.delta == 0.0
    assert Fraction(budget.spent["epsilon_squared"]) <= Fraction(budget.capacity["epsilon_squared"])
    with pytest.raises(BudgetError, match=r"Every declared block is used"):
        budget.check(Pure(0.0, ADD))


def test_one_unit_above_what_remains_is_refused():
    budget = MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=4, composition="advanced")
    most = budget.remaining.epsilon
    with pytest.raises(BudgetError, match=r"costs epsilon_squared=.*of the limit of .* remains.*Nothing was charged"):
        budget.reserve(Approximate(math.nextafter(most, 1.0), 1.25e-7, ADD))
    budget.reserve(Approximate(most, 1.25e-7, ADD))


@pytest.mark.parametrize("square", [Fraction(1, 3), Fraction(2), Fraction(5e-324), Fraction(1, 10**400), Fraction(0)])
def test_a_root_is_rounded_down(square):
    assert Fraction(root(square)) ** 2 <= square
    assert Fraction(root(square)) ** 2 >= square * (1 - Fraction(1, 2**50)) or square < Fraction(1e-300)


# How it is opened.


@pytest.mark.parametrize("limit", [PureDP(1.0, ADD), ZCDP(1.0, ADD), GDP(1.0, ADD), RDP([(2.0, 1.0)], ADD)])
def test_advanced_is_for_approximate_limits(limit):
    with pytest.raises(ParameterError, match=r'composition="advanced" is a rule for ApproxDP.*Leave it out'):
        MemoryBudget(limit, composition="advanced")


@pytest.mark.parametrize("delta", [0.0, 5e-324])
def test_advanced_needs_a_delta_to_halve(delta):
    with pytest.raises(ParameterError, match=r"half of the delta.*Give a delta such as 1e-6, or leave"):
        MemoryBudget(ApproxDP(1.0, delta, ADD), blocks=1, composition="advanced")


@pytest.mark.parametrize("composition", ["Advanced", "optimal", None, 1])
def test_other_compositions_are_refused(composition):
    with pytest.raises(ParameterError, match=r'composition must be "basic" or "advanced"'):
        MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=1, composition=composition)


def test_advanced_needs_its_blocks_in_advance():
    with pytest.raises(ParameterError, match=r"blocks must be a whole number from 1.*fixed in advance"):
        MemoryBudget(ApproxDP(1.0, 1e-6, ADD), composition="advanced")


def test_basic_is_the_default():
    limit = ApproxDP(1.0, 1e-6, ADD)
    assert filter_of(limit, 3) == filter_of(limit, 3, "basic") != filter_of(limit, 3, "advanced")
    assert MemoryBudget(limit, blocks=3).capacity == {"epsilon": 1.0, "delta": 1e-6}


FILTERS = {
    "pure": filter_of(PureDP(1.0, ADD)),
    "basic": filter_of(ApproxDP(1.0, 1e-6, ADD), 4),
    "advanced": filter_of(ApproxDP(1.0, 1e-6, ADD), 4, "advanced"),
    "zCDP": filter_of(ZCDP(1.0, ADD)),
    "GDP": filter_of(GDP(1.0, ADD)),
    "RDP": filter_of(RDP([(2.0, 1.0)], ADD)),
}


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_is_plain_data_that_a_ledger_can_keep(name):
    """Frozen, equal after a trip through pickle; delta comes in shares, and only there."""
    rule = FILTERS[name]
    assert dataclasses.is_dataclass(rule)
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.limit = None
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert hasattr(rule, "share") == ("delta" in rule.names)
    cost = dict(zip(rule.names, price(rule, Pure(0.125, ADD)), strict=True))
    assert cost.get("delta") == getattr(rule, "share", None)
    assert len(rule.names) == len(rule.capacity) == len(cost)


def test_many_small_events_fit_where_the_sum_of_epsilons_would_not():
    def admitted(composition):
        budget = MemoryBudget(ApproxDP(1.0, 1e-6, ADD), blocks=150, composition=composition)
        try:
            while True:
                budget.reserve(Gaussian(50.0))
        except BudgetError:
            return len(budget.entries)

    assert (admitted("basic"), admitted("advanced")) == (10, 114)


# Adversaries. First the lemma under the theorem, then everything that fits, chosen at once or step by step.


@pytest.mark.parametrize("seed", range(20))
def test_a_close_pair_is_a_pure_pair_up_to_delta(seed):
    """T14a's first step, as the proof builds it: p' below p and q' below q, of mass 1 - delta, within e^eps."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(6, 0.5)), rng.dirichlet(np.full(6, 0.5))
    factor = math.exp(rng.uniform(0.0, 2.0))
    lost = np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum()
    if lost[0] > lost[1]:
        p, q = q, p
    delta = max(lost)
    low, other = np.minimum(p, factor * q), np.minimum(q, factor * p)
    share = (low.sum() - other.sum()) / (low.sum() - other.sum() / factor)
    low = low + share * (other / factor - low)
    assert np.allclose([low.sum(), other.sum()], 1 - delta)
    assert (low <= p + 1e-15).all() and (other <= q + 1e-15).all()
    assert (low <= factor * other + 1e-15).all() and (other <= factor * low + 1e-15).all()
    low, other = low / low.sum(), other / other.sum()
    seen = low > 0
    for alpha in (1.01, 1.5, 3.0, 30.0):
        divergence = math.log((low[seen] ** alpha * other[seen] ** (1 - alpha)).sum()) / (alpha - 1)
        assert divergence <= alpha * math.log(factor) ** 2 / 2 + 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), CORNERS)
@pytest.mark.parametrize("kind", ["Gaussian", "response"])
def test_what_just_fits_has_at_most_the_promised_delta(epsilon, delta, kind):
    """Fixed in advance, so the accountant is exact: all of S in one Gaussian or seven responses, all shares leaked."""
    rule = advanced(epsilon, delta, 8)
    largest, leak = root(rule.capacity[0]), Approximate(0.0, rule.share, ADD)
    if kind == "Gaussian":
        spent = Gaussian(1 / largest) + leak * 7
    else:
        spent = Approximate(largest / math.sqrt(8), rule.share, ADD) * 8
    found = account(spent, ADD).delta_bracket(epsilon)
    assert found[1] <= delta
    assert found[0] >= 0.43 * delta, "the shares are spent"


def best_strategy(epsilon, squares, share, blocks, units=8):
    """The largest delta at ``epsilon`` of any adaptive strategy on a grid, exactly.

    A step is randomised response with epsilon_i^2 a multiple of squares/units, which fails openly with probability
    ``share`` (the worst of its kind: T13). Which one is next, and whether to stop, depends on all answers so far; their
    loss is all that matters. delta = E_P (1 - e^(epsilon - loss))_+ (T2).
    """
    sizes = [math.sqrt(part * squares / units) for part in range(units + 1)]
    known = {}

    def value(left, loss, steps):
        key = (left, round(loss, 9), steps)
        if key not in known:
            best = max(0.0, -math.expm1(epsilon - loss))
            for part in range(left + 1) if steps else ():
                up = 1 / (1 + math.exp(-sizes[part]))
                after = [value(left - part, loss + sign * sizes[part], steps - 1) for sign in (1, -1)]
                best = max(best, share + (1 - share) * (up * after[0] + (1 - up) * after[1]))
            known[key] = best
        return known[key]

    return value(units, 0.0, blocks)


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"),
    [(0.0, 0.1, 0.87), (0.01, 0.1, 0.87), (0.1, 0.1, 0.82), (0.5, 0.1, 0.75), (1.0, 0.01, 0.6), (2.0, 0.5, 0.65)],
)
def test_no_adaptive_strategy_exceeds_the_promise(epsilon, delta, least):
    """T14a from both sides: the best of all strategies on the grid stays below delta, and comes near."""
    rule = advanced(epsilon, delta, 8)
    step = Approximate(math.sqrt(rule.capacity[0] / 8), rule.share, ADD)
    assert 8 * Fraction(price(rule, step)[0]) <= rule.capacity[0] * (1 + Fraction(1, 2**50)), "the grid is admitted"
    found = best_strategy(epsilon, float(rule.capacity[0]), rule.share, 8)
    assert least * delta <= found <= delta


def next_epsilon(seen, remaining):
    """Boldly after a 1: all that remains; timidly otherwise."""
    return remaining if seen and seen[-1] else remaining / 2


def test_a_run_that_depends_on_its_answers_stays_within_the_limit():
    """The budget itself, over all answers of up to seven randomised responses: exact hockey sticks, both ways."""
    limit, runs = ApproxDP(0.1, 0.2, ADD), set()
    for answers in itertools.product((0, 1), repeat=7):
        budget, chance, seen = MemoryBudget(limit, blocks=7, composition="advanced"), [1.0, 1.0], []
        for answer in answers:
            epsilon = next_epsilon(seen, budget.remaining.epsilon)
            try:
                budget.reserve(Pure(epsilon, ADD))
            except BudgetError:
                break
            for world in (0, 1):
                chance[world] /= 1 + math.exp(-epsilon if answer == world else epsilon)
            seen.append(answer)
        runs.add((tuple(seen), *chance))
    assert sum(p for _, p, _ in runs) == pytest.approx(1.0, rel=1e-12)
    for first, second in ((1, 2), (2, 1)):
        delta = sum(max(0.0, run[first] - math.exp(limit.epsilon) * run[second]) for run in runs)
        assert 0.3 * limit.delta <= delta <= limit.delta


def test_the_same_enumeration_sees_an_unsafe_rule():
    """T14, last paragraph: compose the responses asked so far by T14 and stop at the curve, and delta is exceeded."""

    def delta(epsilons, loss=0.0):
        total = 0.0
        for signs in itertools.product((1, -1), repeat=len(epsilons)):
            steps = [sign * epsilon for sign, epsilon in zip(signs, epsilons, strict=True)]
            chance = math.prod(1 / (1 + math.exp(-step)) for step in steps)
            total += chance * max(0.0, -math.expm1(0.5 - loss - sum(steps)))
        return total

    first, after_one, after_zero = 0.15, (0.65,), (0.35, 0.35, 0.35)
    assert delta((first, *after_one)) <= 0.1
    assert delta((first, *after_zero)) <= 0.1
    up = 1 / (1 + math.exp(-first))
    assert up * delta(after_one, first) + (1 - up) * delta(after_zero, -first) > 0.12
