# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Quantiles: exact costs, the exponential mechanism's bound from both sides, and the numbers (T8)."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dperm.accounting import MemoryBudget
from dperm.errors import ConversionError
from dperm.mechanisms.releases import Quantile
from dperm.mechanisms.releases.quantile import SHARES
from dperm.privacy import GDP, ZCDP, Adjacency, ApproxDP, PureDP

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE


def planned(adjacency=ADD, *, q=0.5, intervals=8, epsilon=1.0, bounds=(0.0, 8.0), kind=Quantile):
    return kind(PureDP(epsilon, adjacency), q, bounds=bounds, intervals=intervals)


def costs(quantile, data):
    """The cost of every candidate, from the stretches."""
    starts, counts, found = quantile.stretches(data)
    assert starts[0] == 0 and (starts + counts).tolist() == [*starts[1:].tolist(), quantile.intervals + 1]
    return [Fraction(float(cost)) for cost in np.repeat(found, counts)]


def costs_by_definition(quantile, data):
    q, points = Fraction(quantile.shares, SHARES), quantile.snapped(data).tolist()
    target = q * len(points)
    return [
        max(Fraction(0), sum(x < h for x in points) - target, target - sum(x <= h for x in points))
        for h in range(quantile.intervals + 1)
    ]


def probabilities(quantile, data):
    """The law of the released candidate, in floating point."""
    weights = np.exp([-float(quantile.unit * cost) for cost in costs(quantile, data)])
    return weights / weights.sum()


def largest_loss(quantile, *, sizes=(1, 2, 3, 4), points=(0.0, 3.0, 4.0, 8.0)):
    """The largest log-ratio of probabilities over all small data sets, their neighbours and all candidates."""
    found = 0.0
    for size in sizes:
        for data in itertools.combinations_with_replacement(points, size):
            if quantile.goal.adjacency is ADD:
                others = [(*data, new) for new in points]
            else:
                others = [(*data[:i], new, *data[i + 1 :]) for i in range(size) for new in points]
            law = probabilities(quantile, data)
            found = max(found, *(np.abs(np.log(law / probabilities(quantile, other))).max() for other in others))
    return found


@pytest.mark.parametrize("q", [0.5, 0.25, 0.1, 0.999])
def test_costs_are_exact_for_every_candidate(q):
    rng, quantile = np.random.default_rng(8), planned(q=q, intervals=16)
    for size in (1, 2, 5, 40):
        data = rng.integers(-3, 20, size) / 2
        assert costs(quantile, data) == costs_by_definition(quantile, data)


def test_costs_of_adversarial_data_are_exact():
    quantile = planned(q=0.3, intervals=16)
    data = [1e300, -1e300, 5e-324, 8.0, math.nextafter(8.0, 9.0), 0.0, 4.0, 4.0, 4.0]
    assert costs(quantile, data) == costs_by_definition(quantile, data)
    assert costs(quantile, data[::-1]) == costs(quantile, data)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("q", [0.5, 0.25, 0.9])
def test_neighbours_move_a_cost_by_the_sensitivity_and_no_more(q, adjacency):
    """T8: max(q, 1 - q) or 1, in exact rationals."""
    quantile, rng = planned(adjacency, q=q), np.random.default_rng(10)
    found = Fraction(0)
    for _ in range(60):
        data = rng.integers(0, 9, 6).astype(float).tolist()
        new = float(rng.integers(0, 9))
        other = [*data, new] if adjacency is ADD else [new, *data[1:]]
        pairs = zip(costs(quantile, data), costs(quantile, other), strict=True)
        found = max(found, *(abs(one - two) for one, two in pairs))
    assert Fraction(3, 4) * quantile.sensitivity <= found <= quantile.sensitivity


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("q", [0.5, 0.25])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_law_is_epsilon_private_and_not_much_more(epsilon, q, adjacency):
    """T8, two-sided: where nearly all candidates lie between the records, the bound is nearly attained."""
    quantile = planned(adjacency, q=q, epsilon=epsilon, intervals=64)
    assert 0.95 * epsilon <= largest_loss(quantile, sizes=(4,), points=(0.0, 0.125, 7.875, 8.0)) <= epsilon * (1 + 1e-9)
    assert largest_loss(planned(adjacency, q=q, epsilon=epsilon)) <= epsilon * (1 + 1e-9)


def test_the_event_is_the_goal_and_delta_is_not_used():
    quantile = Quantile(ApproxDP(0.3, 1e-6, "add_remove"), 0.9, bounds=(0, 1))
    assert quantile.event.epsilon == 0.3
    assert 2 * quantile.sensitivity * quantile.unit == Fraction(0.3)
    MemoryBudget(PureDP(0.3, "add_remove")).check(quantile.event)


@pytest.mark.parametrize("goal", [GDP(1.0, "add_remove"), ZCDP(1.0, "add_remove")])
def test_other_goals_are_refused(goal):
    with pytest.raises(ConversionError, match="Quantile is calibrated to PureDP"):
        Quantile(goal, 0.5, bounds=(0, 1))


def test_a_share_is_a_multiple_of_a_millionth():
    assert planned(q=0.1).shares == round(0.1 * 2**20)
    assert planned(q=2.0**-20).shares == 1


def test_the_frequencies_are_those_of_the_law(seeded):
    """T8 end to end: a chi-square statistic of 8 degrees of freedom, seed fixed."""
    quantile, data, times = planned(epsilon=2.0), [1.0, 2.0, 2.0, 5.0], 3000
    found = np.bincount(seeded(quantile, data, seed=11, times=times).astype(int), minlength=9)
    expected = times * probabilities(quantile, data)
    assert ((found - expected) ** 2 / expected).sum() < 26.1


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_rank_is_right(q, adjacency, seeded):
    """T8's utility: within 2 Delta (log |H| + t)/epsilon ranks, but for probability e^-t, here t = 14."""
    data = np.random.default_rng(12).normal(50, 10, 10_000)
    quantile = planned(adjacency, q=q, bounds=(0.0, 100.0), intervals=2**20)
    (value,) = seeded(quantile, data, seed=13)
    assert abs(np.mean(data <= value) - q) <= (2 * (20 * math.log(2) + 14) + 2) / 10_000


def test_the_quantile_of_equal_records_is_that_record(seeded):
    (value,) = seeded(planned(q=0.9, epsilon=4.0, bounds=(0.0, 1.0)), [0.25] * 1000, seed=14)
    assert value == 0.25


def test_values_stay_within_the_bounds(seeded):
    values = seeded(planned(epsilon=1e-3, bounds=(-0.3, 0.1), intervals=4), [0.0], seed=15, times=200)
    assert values.min() == -0.3 and values.max() == 0.1


def is_private(module):
    for adjacency, q in itertools.product(Adjacency, (0.5, 0.25)):
        assert largest_loss(planned(adjacency, q=q, epsilon=2.0, kind=module.Quantile), sizes=(3, 4)) <= 2.0 + 1e-9


def knows_every_candidate(module):
    quantile = planned(q=0.3, kind=module.Quantile)
    for data in ([0.0], [8.0, 8.0], [0.0, 3.0, 4.0, 8.0], [1e300, -1e300, 2.0]):
        assert costs(quantile, data) == costs_by_definition(quantile, data)


MUTANTS = {
    "the factor 2 is dropped": (is_private, "/ (2 * self.sensitivity)", "/ self.sensitivity"),
    "costs are doubled": (is_private, "astype(np.float64), -20)", "astype(np.float64), -19)"),
    "records share the gap's cost": (
        knows_every_candidate,
        "_interleaved(upto, upto[1:])",
        "_interleaved(upto, upto[:-1])",
    ),
    "the last candidate is forgotten": (knows_every_candidate, "append=self.intervals + 1", "append=self.intervals"),
    "another q": (knows_every_candidate, "int(upto[-1]) * self.shares", "int(upto[-1]) * SHARES // 2"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_unsafe_mutants_die(name, assert_killed):
    check, old, new = MUTANTS[name]
    assert_killed(check, "dperm.mechanisms.releases.quantile", old, new)
