# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of a pipeline: parts in parallel (T70, T71), discovered values (T73, T73a, T73b), bounded range (T74a).

Golden numbers are from the scripts of the theory pages: exact two-dimensional integrals and direct formulas in scipy.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from dperm.accounting import (
    Approximate,
    BoundedRange,
    Gaussian,
    Laplace,
    ParallelParts,
    Poisson,
    Pure,
    ReplaceOneOnly,
    ThresholdedValues,
    account,
)
from dperm.accounting.filters.rules import filter_of
from dperm.accounting.laws.bounded_range import BoundedRangeLoss
from dperm.accounting.theorems import thresholded_values_delta
from dperm.accounting.thresholded import fresh_value_probability
from dperm.errors import AdjacencyError, BudgetError, ConversionError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.privacy.adjacency import Adjacency, Direction
from dperm.sensitivity import discovery_threshold

ADD, REPLACE = "add_remove", "replace_one"


def hockey_stick(p, q, epsilon):
    return float(np.maximum(np.asarray(p) - math.exp(epsilon) * np.asarray(q), 0.0).sum())


# --- T71 ---


def two_part_mixture(epsilon, share, first, second):
    """One record with a secret coin against none: H of the mixture of two shifted planes, by a grid."""
    x = np.linspace(-9, 10, 1901)
    cell = (x[1] - x[0]) ** 2
    base = norm.pdf(x)
    without = np.outer(base, base)
    shifted = share * np.outer(norm.pdf(x - first), base) + (1 - share) * np.outer(base, norm.pdf(x - second))
    return max(
        hockey_stick(shifted * cell, without * cell, epsilon), hockey_stick(without * cell, shifted * cell, epsilon)
    )


@pytest.mark.parametrize(
    ("epsilon", "share", "first", "second", "exact", "bound"),
    [
        (0.5, 0.8, 1.0, 1.0, 0.1811791447187328, 0.23842170813487656),
        (1.0, 0.9, 0.7, 1.2, 0.030105339021514962, 0.20148452891879998),
        (0.2, 0.5, 0.3, 0.3, 0.022393295548810498, 0.04979142338063486),
    ],
)
def test_two_parts_cost_the_larger_part(epsilon, share, first, second, exact, bound):
    """T71: the secret coin can only help, and without its secrecy the larger part is attained."""
    found = account(ParallelParts((Gaussian(1 / first), Gaussian(1 / second))), ADD).delta(epsilon)
    assert found == pytest.approx(bound, rel=1e-9)
    assert two_part_mixture(epsilon, share, first, second) == pytest.approx(exact, rel=1e-3)
    assert exact <= found
    certain = two_part_mixture(epsilon, 1.0 if first >= second else 0.0, first, second)
    assert certain == pytest.approx(found, rel=1e-3)


def visible_coins(parts, epsilon):
    """Two releases with fresh fair coins that are shown: the mean over all four pairs of parts."""
    total = 0.0
    for one, other in itertools.product(parts, repeat=2):
        p, q = ([a * b for a in one[side] for b in other[side]] for side in (0, 1))
        total += hockey_stick(p, q, epsilon) / 4
    return total


FAILING = ((0.1, 0.9, 0.0), (0.0, 0.9, 0.1))  # (0, 0.1)-DP
HIGH = math.exp(0.4) / (1 + math.exp(0.4))
ANSWER = ((HIGH, 1 - HIGH), (1 - HIGH, HIGH))  # 0.4-DP
UNORDERED = ParallelParts((Approximate(0.0, 0.1, REPLACE), Pure(0.4, REPLACE)))


def test_parts_with_fresh_coins_cost_more_than_the_larger_composition():
    """T71: the maximum of the composed parts is 0.1974, but two releases with fresh coins have 0.2357."""
    truth = visible_coins((FAILING, ANSWER), 0.0)
    composed = [account(part * 2, REPLACE).delta(0.0) for part in UNORDERED.events]
    assert truth == pytest.approx(0.2357, abs=5e-5)
    assert composed == pytest.approx([0.19, 0.1974], abs=5e-5)
    low, high = account(UNORDERED * 2, REPLACE).delta_bracket(0.0)
    assert max(composed) < truth <= low
    worst = 0.1 + 0.9 * math.tanh(0.2)  # one release of each part, the worst coins
    assert high == pytest.approx(worst, rel=1e-5)
    assert low >= worst * (1 - 1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3, 0.5, 0.79])
def test_the_pair_of_several_parts_is_above_every_sequence_of_coins(epsilon):
    """T71, T23: whatever parts the coins choose, and with another release."""
    _, high = account(UNORDERED * 3 + Laplace(4.0), REPLACE).delta_bracket(epsilon)
    for chosen in itertools.product(UNORDERED.events, repeat=3):
        low, _ = account(chosen[0] + chosen[1] + chosen[2] + Laplace(4.0), REPLACE).delta_bracket(epsilon)
        assert low <= high


PARTS = {
    "noise": (Gaussian(2.0), Laplace(1.5)),
    "sgd": (Poisson(Gaussian(1.0), 0.02) * 300, Gaussian(3.0)),
    "values": (ThresholdedValues(20.0, 80.0, 3) + Gaussian(5.0), Laplace(3.0)),
    "equal": (Poisson(Gaussian(1.0), 0.02) * 300, Poisson(Gaussian(1.0), 0.02) * 300),
    "range": (BoundedRange(0.7, ADD) * 2, Pure(0.5, ADD)),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.6, 1.5])
def test_a_discretized_law_is_just_above_all_parts(name, epsilon):
    """T71 from both sides: in every direction, at every epsilon, also at negative ones."""
    event = ParallelParts(PARTS[name])
    largest = account(event, ADD).delta_bracket(epsilon)
    own = [account(part, ADD).delta_bracket(epsilon) for part in event.events]
    assert largest == (max(low for low, _ in own), max(high for _, high in own))
    found = max(event.law(direction).delta(epsilon) for direction in Adjacency.ADD_REMOVE.directions)
    assert largest[0] <= found * (1 + 1e-12)
    assert found <= largest[1] * 1.005 + 1e-13
    twice = account(event + Gaussian(4.0), ADD).delta(epsilon)
    lows, highs = zip(
        *(account(part + Gaussian(4.0), ADD).delta_bracket(epsilon) for part in event.events), strict=True
    )
    assert max(lows) <= twice
    if name in ("equal", "sgd"):  # one part is the larger one everywhere that matters
        assert twice <= max(highs) * 1.01 + 1e-13


@pytest.mark.parametrize("name", PARTS)
def test_the_law_of_the_parts_is_a_pair_that_composes(name):
    """The masses under Q sum to at most 1, and the order of the parts does not matter."""
    for direction in Adjacency.ADD_REMOVE.directions:
        law = ParallelParts(PARTS[name]).law(direction)
        losses, weights = (np.array(one) for one in zip(*law.atoms(), strict=True))
        assert math.fsum(weights) == pytest.approx(1.0, abs=1e-12)
        assert (1 - law.infinity) * math.fsum(weights * np.exp(-losses)) <= 1 + 1e-12


def test_the_larger_direction_of_each_part_counts():
    """T22, T71: the profile is at least that of either order of a sampled part."""
    part = Poisson(Gaussian(0.8), 0.3)
    event = ParallelParts((part, Laplace(30.0)))
    for direction in Adjacency.ADD_REMOVE.directions:
        for epsilon in (0.0, 0.2, 0.34):
            assert event.law(direction).delta(epsilon) >= part.law(direction).delta(epsilon) * (1 - 1e-11)


def test_gaussian_parts_are_ordered():
    """T19, T71: the law of the largest mu, exactly, with any company."""
    event = ParallelParts((Gaussian(4.0), Gaussian(5.0) * 2, ParallelParts((Gaussian(9.0), Gaussian(8.0)))))
    same = Gaussian(5.0) * 2
    for adjacency in (ADD, REPLACE):
        assert account(event + Laplace(3.0), adjacency).directions == account(same + Laplace(3.0), adjacency).directions


def test_parts_that_are_pure_stay_pure():
    event = ParallelParts((Pure(0.5, ADD) * 3, Laplace(1.0), BoundedRange(0.2, ADD)))
    assert account(event, ADD).epsilon(0.0) == pytest.approx(1.5)
    assert account(event * 2, ADD).epsilon(0.0) == pytest.approx(3.0)


def test_parts_are_read_under_replace_one_by_their_own_theorems():
    """T71 with coins of positions: each part by its own route, T4 where a stage needs it."""
    sampled = Poisson(Laplace(2.0), 0.1) * 5
    event = ParallelParts((sampled, Gaussian(6.0)))
    found, own = account(event, REPLACE), [account(part, REPLACE) for part in event.events]
    assert found.delta(0.3) == max(part.delta(0.3) for part in own)
    assert {"T71", "T4", "T6"} <= set(found.tags)
    assert (
        account(event * 2, REPLACE).delta(0.6)
        >= max(account(part * 2, REPLACE).delta_bracket(0.6)[0] for part in event.events) * 0.999
    )
    only = ParallelParts((ReplaceOneOnly(Gaussian(6.0)), Gaussian(6.0)))
    assert account(only, REPLACE).delta(0.3) == pytest.approx(account(Gaussian(6.0), REPLACE).delta(0.3))
    with pytest.raises(AdjacencyError, match="replace_one"):
        account(only, ADD)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.5])
def test_the_tradeoff_of_the_parts_is_below_each_of_them(rate):
    event = ParallelParts((Gaussian(1.0), Approximate(0.1, 0.2, ADD)))
    found = account(event, ADD).tradeoff(rate)
    assert found <= min(account(part, ADD).tradeoff(rate) for part in event.events) + 1e-9
    assert found > 0


@pytest.mark.parametrize("events", [(), (Gaussian(1.0),), (Gaussian(1.0), 2.0), 3.0])
def test_parts_are_checked(events):
    with pytest.raises(ParameterError, match="events"):
        ParallelParts(events)


def test_the_costs_of_parts_are_those_of_the_larger_part():
    """T71 under each kind of limit."""
    event = ParallelParts((Gaussian(2.0) * 3, Gaussian(1.0), Pure(0.5, ADD)))
    budget = filter_of(GDP(10.0, ADD))
    assert budget.cost(event)[0] == pytest.approx(1.0)
    budget = filter_of(ZCDP(10.0, ADD))
    assert budget.cost(event)[0] == pytest.approx(0.5)
    budget = filter_of(RDP([(2.0, 10.0), (8.0, 50.0)], ADD))
    assert budget.cost(event) == pytest.approx((1.0, 4.0))
    budget = filter_of(PureDP(10.0, ADD))
    assert budget.cost(ParallelParts((Pure(0.5, ADD) * 3, Laplace(1.0)))) == (1.5,)
    with pytest.raises(ConversionError, match="pure epsilon"):
        budget.cost(event)
    budget = filter_of(ApproxDP(10.0, 1e-5, ADD), blocks=1)
    assert budget.cost(event)[0] == pytest.approx(account(event, ADD).epsilon(1e-5), rel=1e-9)
    curve = event.rdp(np.array([2.0, 8.0]), Adjacency.ADD_REMOVE)
    assert curve == pytest.approx([1.0, 4.0], rel=1e-12)


# --- T73 ---


@pytest.mark.parametrize(
    ("epsilon", "values", "sigma", "threshold", "exact", "pair"),
    [
        (0.1, 1, 20.0, 80.0, 0.00044619186488469714, 0.0004852500262691672),
        (0.26, 15, 58.99, 312.1, 1.002341430633713e-06, 1.6391689502974324e-06),
        (1.0, 15, 15.0, 73.0, 1.1899856195651815e-05, 1.7161681185178048e-05),
    ],
)
def test_discovered_values_have_the_numbers_of_t73(epsilon, values, sigma, threshold, exact, pair):
    found = thresholded_values_delta(epsilon, sigma, threshold, values)
    assert found == pytest.approx(exact, rel=2e-9)
    event = ThresholdedValues(sigma, threshold, values)
    assert account(event, ADD).delta(epsilon) == pytest.approx(pair, rel=1e-9)
    assert found <= account(event, ADD).delta(epsilon)
    same = Gaussian(sigma / math.sqrt(values)) + Approximate(0.0, event.failure(), ADD)
    assert account(event, ADD).delta(epsilon) == pytest.approx(account(same, ADD).delta(epsilon), rel=1e-9)


def release(counts, sigma, threshold, grid):
    """Law of the shown counts on a grid of noisy counts above the threshold; one cell more for "not shown"."""
    law = np.ones(1)
    for count in counts:
        if count == 0:
            one = np.append(np.zeros(len(grid) - 1), 1.0)  # does not occur, is never shown
        else:
            mass = np.diff(ndtr((grid - count) / sigma))
            one = np.append(mass, ndtr((threshold - count) / sigma))
        law = np.multiply.outer(law, one)
    return law.ravel()


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4, 0.8])
def test_discovered_values_match_the_enumerated_release(epsilon):
    """T73 from both sides: two columns, every number of fresh values, both orders."""
    sigma, threshold, common = 3.0, 5.0, 60
    grid = np.append(threshold + np.linspace(0.0, 75.0, 700), np.inf)
    truth = 0.0
    for fresh in range(3):
        before = [0] * fresh + [common] * (2 - fresh)
        small, large = (release([count + more for count in before], sigma, threshold, grid) for more in (0, 1))
        truth = max(truth, hockey_stick(large, small, epsilon), hockey_stick(small, large, epsilon))
    found = thresholded_values_delta(epsilon, sigma, threshold, 2)
    assert truth <= found <= truth * 1.01
    assert found <= account(ThresholdedValues(sigma, threshold, 2), ADD).delta(epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7])
def test_a_replaced_record_counts_its_failure_once(epsilon):
    """T73 under replace-one: one column; values that vanish, appear, or stay, in both orders."""
    sigma, threshold, common = 3.0, 5.0, 60
    grid = np.append(threshold + np.linspace(0.0, 75.0, 700), np.inf)
    truth = 0.0
    for leaving, entering in itertools.product((1, common), (0, common)):
        one = release([leaving, entering], sigma, threshold, grid)
        other = release([leaving - 1, entering + 1], sigma, threshold, grid)
        truth = max(truth, hockey_stick(one, other, epsilon), hockey_stick(other, one, epsilon))
    found = account(ThresholdedValues(sigma, threshold, 1), REPLACE).delta(epsilon)
    assert truth <= found
    once = fresh_value_probability(threshold, sigma, 1)
    gaussian = account(Gaussian(2 * sigma / math.sqrt(2)), REPLACE).delta(epsilon)
    assert found == pytest.approx(once + (1 - once) * gaussian, rel=1e-9)


def test_the_probability_of_a_fresh_value_is_right_in_far_tails():
    """1 - Phi(x)^d: scipy's logsf at 20 deviations, d = 15; the simulated share of the theory page at 2 deviations."""
    assert fresh_value_probability(61.0, 3.0, 15) == pytest.approx(15 * math.exp(norm.logsf(20.0)), rel=1e-11)
    assert fresh_value_probability(7.0, 3.0, 1) == pytest.approx(0.022750131948179195, rel=1e-11)
    assert fresh_value_probability(7.0, 3.0, 1) == pytest.approx(0.0228405, abs=4 * math.sqrt(0.02275 / 2e6))
    assert fresh_value_probability(7.0, 3.0, 4) == pytest.approx(1 - ndtr(2.0) ** 4, rel=1e-11)
    assert fresh_value_probability(1e6, 1.0, 1) > 0
    assert fresh_value_probability(1.0, 3.0, 10**6) == 1.0


@pytest.mark.parametrize("values", [1, 15, 1000])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-30, 1e-200])
def test_a_threshold_is_the_smallest_for_its_delta(delta, values):
    """T73: tau = 1 + sigma Phi^-1((1 - delta)^(1/d)), rounded up; a Laplace threshold for one value would be E44."""
    tau = discovery_threshold(delta, 34.5, values)
    assert fresh_value_probability(tau, 34.5, values) <= delta
    if tau > 1:
        assert fresh_value_probability(max(tau * (1 - 1e-9), 1.0), 34.5, values) > delta * (1 - 1e-11)


@pytest.mark.parametrize(
    "arguments", [(0.0, 5.0, 1), (1.0, 0.99, 1), (1.0, math.inf, 1), (1.0, 5.0, 0), (1.0, 5.0, 1.5), (0.02, 5.0, 10**6)]
)
def test_the_parameters_of_discovered_values_are_checked(arguments):
    with pytest.raises(ParameterError):
        ThresholdedValues(*arguments)


@pytest.mark.parametrize("limit", [GDP(9.0, ADD), ZCDP(9.0, ADD), RDP([(2.0, 9.0)], ADD), PureDP(9.0, ADD)])
def test_limits_without_a_delta_refuse_an_infinite_loss(limit):
    """T73b: discovered values have no pure version; T20: an infinite loss has no Rényi curve."""
    budget = filter_of(limit)
    for event in (ThresholdedValues(20.0, 90.0, 3), Approximate(0.1, 1e-9, ADD)):
        with pytest.raises(ConversionError, match="may be infinite"):
            budget.cost(event)
        with pytest.raises(ConversionError, match="may be infinite"):
            budget.cost(ParallelParts((event, Gaussian(3.0))))


def test_a_limit_with_a_delta_takes_discovered_values():
    event = ThresholdedValues(20.0, 150.0, 3)
    budget = filter_of(ApproxDP(2.0, 1e-6, ADD), blocks=1)
    assert budget.cost(event)[0] == pytest.approx(account(event, ADD).epsilon(1e-6), rel=1e-9)
    budget = filter_of(ApproxDP(2.0, 1e-15, ADD), blocks=1)
    with pytest.raises(BudgetError, match="finite epsilon"):
        budget.cost(event)


def optimal_selection(epsilon, delta, count):
    shown = 0.0
    for _ in range(count):
        shown = min(math.exp(epsilon) * shown + delta, 1 - math.exp(-epsilon) * (1 - shown - delta), 1.0)
    return shown


def test_optimal_selection_of_one_value_is_worse_for_several_columns():
    """T73a, E43: the recursion's golden numbers, and the counts at which half the values are shown.

    The same total (0.2504, 2e-6): one Gaussian release with mu = 0.065, or one optimal selection for each column.
    """
    assert optimal_selection(1.0, 1e-5, 12) == pytest.approx(0.7603109969226272, rel=1e-12)
    assert optimal_selection(1.0, 1e-5, 20) == pytest.approx(0.9999254111119027, rel=1e-12)
    for columns, optimal, gaussian in ((1, 45, 74.1296), (3, 133, 133.4574), (8, 354, 225.4336), (15, 663, 315.2601)):
        epsilon, delta = 0.2504363457483511 / columns, 2e-6 / columns
        assert optimal == next(n for n in range(1, 1000) if optimal_selection(epsilon, delta, n) >= 0.5)
        assert discovery_threshold(1e-6, math.sqrt(columns) / 0.065, columns) == pytest.approx(gaussian, abs=1e-4)


# --- T74a ---


def two_point_profile(width, t, epsilon):
    """Losses t and t - width: their masses under Q follow from the two sums being 1."""
    q = math.expm1(width - t) / math.expm1(width)
    return hockey_stick([q * math.exp(t), (1 - q) * math.exp(t - width)], [q, 1 - q], epsilon)


@pytest.mark.parametrize("width", [0.05, 0.7, 3.0])
def test_the_profile_of_a_range_is_the_supremum_over_pairs(width):
    """T74a by brute force over t, also at negative epsilons, where the pair is symmetric."""
    law = BoundedRangeLoss(width)
    for epsilon in np.linspace(-1.1, 1.1, 23) * width:
        brute = max(two_point_profile(width, t, epsilon) for t in np.linspace(0.0, width, 2001))
        found = law.delta(epsilon) if epsilon >= 0 else -math.expm1(epsilon) + math.exp(epsilon) * law.delta(-epsilon)
        assert brute <= found * (1 + 1e-12) + 1e-15
        assert found <= brute * (1 + 1e-5) + 1e-9


@pytest.mark.parametrize("width", [0.05, 0.7, 3.0])
def test_the_law_of_a_range_has_its_profile_masses_and_moments(width):
    law, borders = BoundedRangeLoss(width), np.linspace(-width, width, 4001)
    p, q = law.masses(borders)
    assert p.sum() == pytest.approx(1.0, rel=1e-12)
    assert q.sum() == pytest.approx(1.0, rel=1e-12)
    for epsilon in (0.0, 0.3 * width, 0.9 * width):
        assert hockey_stick(p, q, epsilon) == pytest.approx(law.delta(epsilon), rel=1e-3)
    middle = (borders[1:] + borders[:-1]) / 2
    for s in (0.5, 2.0, 1.0 + 7.0j):
        direct = np.sum(p * np.exp(s * middle))
        assert np.exp(law.log_mgf(np.array([s], dtype=complex))[0][0]) == pytest.approx(direct, rel=1e-4)
    assert law.log_mgf_real(np.array([-0.5]))[0] == pytest.approx(math.log(np.sum(p * np.exp(-middle / 2))), rel=1e-4)


def test_random_exponential_mechanisms_are_within_the_claims():
    """T74a: profile, Rényi curve and GDP of random mechanisms of range 1, alone and twice; the worst come close."""
    rng = np.random.default_rng(7)
    event, closest, closest_rdp = BoundedRange(1.0, REPLACE), 0.0, 0.0
    orders = np.array([1.5, 2.0, 8.0])
    single, double = account(event, REPLACE), account(event * 2, REPLACE)
    mu = math.sqrt(float(gdp_cost(event)))
    for _ in range(400):
        size = int(rng.integers(2, 6))
        p = rng.dirichlet(np.ones(size) * rng.choice([0.3, 1.0, 5.0]))
        q = p * np.exp(rng.choice([-0.5, 0.5], size) if rng.random() < 0.7 else rng.uniform(-0.5, 0.5, size))
        q /= q.sum()
        for epsilon in (0.0, 0.3, 0.6):
            truth = hockey_stick(p, q, epsilon)
            assert truth <= single.delta(epsilon)
            closest = max(closest, truth / single.delta(epsilon))
            assert truth <= account(Gaussian(2 / mu), REPLACE).delta(epsilon) * (1 + 1e-9)
            assert hockey_stick(np.outer(p, p), np.outer(q, q), epsilon) <= double.delta(epsilon)
        curve = np.log(np.sum(p * (p / q)[:, None].T ** (orders[:, None] - 1), axis=1)) / (orders - 1)
        bound = event.rdp(orders, Adjacency.REPLACE_ONE)
        assert np.all(curve <= bound)
        closest_rdp = max(closest_rdp, float(np.max(curve / bound)))
    assert closest > 0.95
    assert closest_rdp > 0.9


def gdp_cost(event):
    budget = filter_of(GDP(10.0, REPLACE))
    return budget.cost(event)[0]


def test_the_costs_of_a_range():
    """T74a: rho = eps^2/8, the mu of a pure eps/2, and the whole eps under a pure limit."""
    event = BoundedRange(1.0, ADD)
    budget = filter_of(ZCDP(10.0, ADD))
    assert budget.cost(event * 8) == (1.0,)
    budget = filter_of(ZCDP(10.0, REPLACE))
    assert budget.cost(event * 8) == (4.0,)
    budget = filter_of(PureDP(1.0, ADD))
    assert budget.cost(event) == (1.0,)
    expected = (2 * norm.ppf(math.exp(0.5) / (1 + math.exp(0.5)))) ** 2
    assert gdp_cost(BoundedRange(1.0, REPLACE)) == pytest.approx(expected, rel=1e-9)
    budget = filter_of(RDP([(2.0, 9.0), (99.0, 9.0)], ADD))
    assert budget.cost(event) == pytest.approx((0.25, 1.0))


def test_a_range_is_between_half_and_all_of_a_pure_guarantee():
    """T13, T74a: range eps contains the pure eps/2 mechanisms and is contained in the pure eps ones."""
    for count, epsilon in ((1, 0.3), (5, 0.5), (40, 1.0)):
        half, found, whole = (
            account(one * count, REPLACE).delta(epsilon)
            for one in (Pure(0.2, REPLACE), BoundedRange(0.4, REPLACE), Pure(0.4, REPLACE))
        )
        assert half <= found <= whole


def test_a_range_doubles_under_replace_one_and_is_refused_the_other_way():
    """T4: the losses of two steps add, and so do the intervals."""
    doubled = account(BoundedRange(0.4, ADD) * 3, REPLACE)
    assert doubled.delta(0.5) == account(BoundedRange(0.8, REPLACE) * 3, REPLACE).delta(0.5)
    with pytest.raises(AdjacencyError, match="replace_one"):
        account(BoundedRange(0.4, REPLACE), ADD)
    assert account(BoundedRange(0.0, ADD) * 3, ADD).delta(0.0) == 0.0
    assert BoundedRange(0.4, ADD).law(Direction.REPLACE).width == 0.8


# --- T70 ---


def test_stages_that_read_earlier_outputs_are_one_event():
    """T70: the second query is chosen by the first answer; the product of the pairs bounds both, and is attained."""
    strength = 0.6
    high = math.exp(strength) / (1 + math.exp(strength))
    answer = {0: (1 - high, high), 1: (high, 1 - high)}  # randomized response to bit 0 or 1
    for follow_up in itertools.product(
        (0, 1), repeat=2
    ):  # is the second query asked about the record, after answer 0, 1?
        p, q = [], []
        for first in (0, 1):
            for second in (0, 1):
                informative = follow_up[first]
                p.append(answer[1][first] * (answer[1][second] if informative else 0.5))
                q.append(answer[0][first] * (answer[0][second] if informative else 0.5))
        for epsilon in (0.0, 0.5, 1.0):
            bound = account(Pure(strength, REPLACE) * 2, REPLACE).delta(epsilon)
            truth = hockey_stick(p, q, epsilon)
            assert truth <= bound * (1 + 1e-12)
            if follow_up == (1, 1):
                assert truth == pytest.approx(bound, rel=1e-9)
