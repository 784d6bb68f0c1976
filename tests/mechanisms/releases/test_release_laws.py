# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What holds for every release: sensitivity in exact rationals, the charge, the refusals, the goal."""

import itertools
import json
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

from dperm.accounting import MemoryBudget
from dperm.errors import BudgetError, DataError, NotPrivateWarning, ParameterError
from dperm.mechanisms.releases import Count, Covariance, Histogram, Mean, Quantile, Sum
from dperm.noise import NotPrivateBits
from dperm.noise.grid import Norm
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, PureDP

NUMBERS = [1e300, -1e300, 5e-324, -5e-324, 0.0, -3.0, 7.0, math.nextafter(7.0, 8.0), math.nextafter(-3.0, -4.0), 0.1]
ROWS = [
    *([sign * 1e300, 0.0, 0.0] for sign in (1, -1)),
    *([0.0, sign * 2.5, 0.0] for sign in (1, -1)),
    *([sign * 9.0, sign * 9.0, other * 9.0] for sign in (1, -1) for other in (1, -1)),
    [5e-324, 1e-310, 0.0],
    [2.5000000001, 0.0, 0.0],
    [0.1, 0.2, 0.3],
    [0.0, 0.0, 0.0],
]


def n_of(goal, n):
    return n if goal.adjacency is Adjacency.REPLACE_ONE else None


CASES = {
    "count": (lambda goal, n: Count(goal), [True, False, 1, 0]),
    "sum": (lambda goal, n: Sum(goal, bounds=(-3.0, 7.0)), NUMBERS),
    "sum of positives": (lambda goal, n: Sum(goal, (2.0, 3.0)), NUMBERS),
    "sum of rows": (lambda goal, n: Sum(goal, norm=2.5, dim=3), ROWS),
    "mean": (lambda goal, n: Mean(goal, bounds=(-3.0, 7.0), n=n_of(goal, n)), NUMBERS),
    "histogram": (lambda goal, n: Histogram(goal, edges=[-3.0, 0.0, 1.0, 7.0]), NUMBERS),
    "histogram that drops": (lambda goal, n: Histogram(goal, edges=[-3.0, 0.0, 7.0], outside="drop"), NUMBERS),
    "categories": (lambda goal, n: Histogram(goal, categories=["a", 1, None]), ["a", "b", 1, "1", 1.0, None, True]),
    "covariance": (lambda goal, n: Covariance(goal, 2.5, dim=3, n=n_of(goal, n)), ROWS),
    "centred covariance": (
        lambda goal, n: Covariance(goal, 2.5, dim=3, center=[0.1, -1.0, 0.0], n=n_of(goal, n)),
        ROWS,
    ),
    "quantile": (lambda goal, n: Quantile(goal, 0.3, bounds=(-3.0, 7.0)), NUMBERS),
}
NOISY = [name for name in CASES if name != "quantile"]
GOALS = [
    kind
    for adjacency in ("replace_one", "add_remove")
    for kind in (
        PureDP(1.0, adjacency),
        ApproxDP(0.7, 1e-6, adjacency),
        ApproxDP(8.0, 1e-2, adjacency),
        GDP(0.5, adjacency),
        ZCDP(0.1, adjacency),
        RDP([(2.0, 0.2), (16.0, 1.0)], adjacency),
    )
]


def goals(name):
    return [goal for goal in GOALS if name != "quantile" or isinstance(goal, PureDP | ApproxDP)]


PLANS = [(name, goal) for name in CASES for goal in goals(name)]


def planned(name, goal, n=4):
    return CASES[name][0](goal, n)


def some(name, n=4):
    return list(itertools.islice(itertools.cycle(CASES[name][1]), n))


def whole(goal):
    return MemoryBudget(goal, blocks=1 if isinstance(goal, ApproxDP) else None)


class NoBits:
    is_private = True

    def stream(self):
        raise AssertionError("bits were drawn")


@pytest.fixture(params=PLANS, ids=lambda plan: f"{plan[0]}-{type(plan[1]).__name__}-{plan[1].adjacency.value}")
def plan(request):
    return request.param


def neighbours(name, goal):
    """Pairs of data sets: one record replaced by another, or added, among adversarial ones."""
    pool = CASES[name][1]
    for base in (some(name, 3), [pool[0]] * 3, [pool[-1]] * 3):
        if goal.adjacency is Adjacency.ADD_REMOVE:
            yield from ((base, [*base[:1], new, *base[1:]]) for new in pool)
        else:
            yield from (([old, *base[1:]], [new, *base[1:]]) for old, new in itertools.combinations(pool, 2))


def length(change, norm):
    """The norm of exact rationals, squared for L2."""
    return sum(map(abs, change)) if norm is Norm.L1 else sum(part * part for part in change)


def changes(release, pairs, *, rounded):
    """The largest exact change of the statistic: of exact totals, or of the doubles that noise is added to."""
    unit, found = Fraction(2) ** release.fixed_point.unit, Fraction(0)
    for pair in pairs:
        totals = [release.totals(data).values for data in pair]
        if rounded:
            one, other = ([Fraction(x) for x in release.fixed_point.doubles(t).tolist()] for t in totals)
        else:
            one, other = ([value * unit for value in t] for t in totals)
        change = [x - y for x, y in zip(one, other, strict=True)]
        found = max(found, length(change, release.mechanism.norm))
    return found


@pytest.mark.parametrize("goal", GOALS[:1] + GOALS[3:4] + GOALS[6:7] + GOALS[9:10], ids=repr)
@pytest.mark.parametrize("name", NOISY)
def test_neighbours_move_the_exact_statistic_by_the_sensitivity_and_no_more(name, goal):
    """T5, T6, T7, two-sided, in exact rationals; and T10 for the doubles that noise is added to."""
    release = planned(name, goal, 3)
    mechanism, pairs = release.mechanism, list(neighbours(name, goal))
    bound = Fraction(mechanism.sensitivity)
    paid = bound + 2 * Fraction(mechanism.numerical_error)
    power = 1 if mechanism.norm is Norm.L1 else 2
    exact = changes(release, pairs, rounded=False)
    assert (Fraction(3, 4) * bound) ** power <= exact <= bound**power
    assert changes(release, pairs, rounded=True) <= paid**power
    assert Fraction(mechanism.calibration.sensitivity) >= paid


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", NOISY)
def test_the_order_of_the_records_changes_no_bit(name, adjacency):
    release, data = planned(name, GDP(1.0, adjacency), 50), some(name, 50)
    if "categories" not in name:
        data = np.array(data)
    order = np.random.default_rng(6).permutation(50)
    shuffled = [data[place] for place in order]
    assert release.totals(shuffled) == release.totals(data) == release.totals(data[::-1])


def test_one_release_spends_no_more_than_its_goal(plan):
    """C0.6: the event alone is covered by a budget of exactly the goal."""
    name, goal = plan
    whole(goal).check(planned(name, goal).event)


def test_a_release_is_charged_once_and_says_what_it_spent(plan):
    name, goal = plan
    release, budget = planned(name, goal), whole(goal)
    released = release.release(some(name), budget)
    assert [entry.state for entry in budget.entries] == ["committed"]
    assert released.guarantee == goal
    assert released.event == release.event
    assert released.record.is_private and "T10" in released.record.theorems
    assert released.profile.adjacency is goal.adjacency
    json.loads(released.record.to_json())
    with pytest.raises(BudgetError):
        release.release(some(name), budget, bits=NoBits())
    assert len(budget.entries) == 1


BAD = {
    "count": [[], [0, 2], [0.5], [[True]], True, [math.nan], ["1"], None],
    "rows": [[], [[1.0, 2.0]], [1.0, 2.0, 3.0], [[math.nan, 0, 0]], [[math.inf, 0, 0]], [[1.0], [2.0, 3.0]], "abc"],
    "numbers": [[], [math.nan], [1.0, math.inf], [[1.0]], 1.0, ["12345.678"], None, [2**60, 1], [1j]],
    "items": [[], [["a"], ["b"]], "a", None, [{}], 3],
}


def bad_data(name):
    kind = {"count": "count", "categories": "items"}.get(name, "numbers")
    return BAD["rows" if "rows" in name or "covariance" in name else kind]


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", CASES)
def test_bad_data_raise_before_anything_is_charged_or_drawn(name, adjacency):
    release, budget = planned(name, PureDP(1.0, adjacency), 1), MemoryBudget(PureDP(1.0, adjacency))
    for data in bad_data(name):
        with pytest.raises(DataError, match=r"^data must ") as caught:
            release.release(data, budget, bits=NoBits())
        assert "12345" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert budget.entries == ()


@pytest.mark.parametrize("name", ["mean", "covariance"])
def test_another_number_of_records_than_the_public_one_is_refused_without_its_number(name):
    release, budget = planned(name, PureDP(1.0, "replace_one"), 4), MemoryBudget(PureDP(1.0, "replace_one"))
    with pytest.raises(DataError, match="n=4 was declared, but data has a different number of records") as caught:
        release.release(some(name, 7), budget, bits=NoBits())
    assert "7" not in str(caught.value)
    assert budget.entries == ()


@pytest.mark.parametrize("name", CASES)
def test_a_seed_warns_and_makes_the_value_repeatable(name):
    release = planned(name, PureDP(1.0, "add_remove"))
    values = []
    for _ in range(2):
        with pytest.warns(NotPrivateWarning, match="NOT PRIVATE"):
            released = release.release(some(name), bits=NotPrivateBits(9))
        assert not released.record.is_private
        values.append(released.value)
    np.testing.assert_array_equal(*values)


def test_the_record_does_not_know_the_data(plan):
    """Under add/remove not even the number of records: facts are equal before and after, whatever the data."""
    name, goal = plan
    release = planned(name, goal)
    before = release.facts.known
    records = [release.release(data).record for data in (some(name), list(reversed(some(name))))]
    assert release.facts.known == before
    assert records[0].public == records[1].public
    assert "n" not in records[0].public or records[0].public["n"] == n_of(goal, 4)


@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_frozen_hashable_and_equal_to_its_like(name):
    one, other = (planned(name, PureDP(1.0, "replace_one")) for _ in range(2))
    assert one == other and hash(one) == hash(other)
    with pytest.raises(FrozenInstanceError):
        one.goal = None


PURE, ADDED = PureDP(1.0, "replace_one"), PureDP(1.0, "add_remove")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("goal", lambda: Count("1.0")),
        ("goal", lambda: Sum(PureDP(0.0, "add_remove"), bounds=(0, 1))),
        ("goal", lambda: Mean(None, bounds=(0, 1))),
        ("bounds", lambda: Sum(PURE)),
        ("bounds", lambda: Sum(PURE, (0, 1), norm=1.0, dim=2)),
        ("bounds", lambda: Sum(PURE, (1.0, 1.0))),
        ("bounds", lambda: Sum(PURE, 3.0)),
        ("bounds", lambda: Mean(PURE, (0, math.inf), n=3)),
        ("bounds", lambda: Mean(PURE, (math.nan, 1), n=3)),
        ("bounds", lambda: Mean(PURE, (0, 1, 2), n=3)),
        ("bounds", lambda: Mean(ADDED, (1e9, 1e9 + 1e-3))),
        ("bounds", lambda: Mean(ADDED, (0, 5e-324))),
        ("bounds", lambda: Quantile(PURE, 0.5, bounds=(1, 0))),
        ("dim", lambda: Sum(PURE, (0, 1), dim=2)),
        ("dim", lambda: Sum(PURE, norm=1.0)),
        ("dim", lambda: Covariance(PURE, 1.0, dim=0, n=2)),
        ("norm", lambda: Sum(PURE, norm=-1.0, dim=2)),
        ("norm", lambda: Covariance(PURE, math.nan, dim=2, n=2)),
        ("n", lambda: Mean(PURE, (0, 1))),
        ("n", lambda: Mean(PURE, (0, 1), n=0)),
        ("n", lambda: Mean(ADDED, (0, 1), n=10)),
        ("n", lambda: Covariance(PURE, 1.0, dim=2)),
        ("n", lambda: Covariance(ADDED, 1.0, dim=2, n=10)),
        ("center", lambda: Covariance(ADDED, 1.0, dim=2, center=[1.0])),
        ("center", lambda: Covariance(ADDED, 1.0, dim=2, center=1.0)),
        ("psd", lambda: Covariance(ADDED, 1.0, dim=2, psd=1)),
        ("edges", lambda: Histogram(PURE)),
        ("edges", lambda: Histogram(PURE, [0, 1], categories=["a"])),
        ("edges", lambda: Histogram(PURE, [0, 2, 1])),
        ("edges", lambda: Histogram(PURE, [0])),
        ("edges", lambda: Histogram(PURE, [0, math.nan])),
        ("edges", lambda: Histogram(PURE, 3)),
        ("categories", lambda: Histogram(PURE, categories=[1, True])),
        ("categories", lambda: Histogram(PURE, categories=[math.nan])),
        ("categories", lambda: Histogram(PURE, categories="abc")),
        ("categories", lambda: Histogram(PURE, categories=[])),
        ("categories", lambda: Histogram(PURE, categories=[[1], [2]])),
        ("outside", lambda: Histogram(PURE, [0, 1], outside="raise")),
        ("outside", lambda: Histogram(PURE, categories=["a"], outside="clip")),
        ("q", lambda: Quantile(PURE, 0.0, bounds=(0, 1))),
        ("q", lambda: Quantile(PURE, 1.5, bounds=(0, 1))),
        ("goal", lambda: Quantile(PureDP(1e-300, "add_remove"), 0.5, bounds=(0, 1))),
        ("goal", lambda: Quantile(PureDP(1e3, "add_remove"), 0.5, bounds=(0, 1))),
        ("goal", lambda: Sum(PureDP(1e-15, "add_remove"), norm=1.0, dim=3)),
        ("goal", lambda: Mean(GDP(1e-15, "add_remove"), bounds=(0, 1))),
        ("intervals", lambda: Quantile(PURE, 0.5, bounds=(0, 1), intervals=1000)),
        ("intervals", lambda: Quantile(PURE, 0.5, bounds=(0, 1), intervals=2**50)),
    ],
)
def test_a_wrong_constant_is_refused_by_its_name(name, make):
    with pytest.raises(ParameterError, match=f"^{name} "):
        make()
