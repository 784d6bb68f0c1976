# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds: exact errors of every rule, the exponential mechanism's bound from both sides, bad input (T61, T8)."""

import itertools
import json
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

from dperm.accounting import MemoryBudget
from dperm.errors import BudgetError, ConversionError, DataError, NotPrivateWarning, ParameterError
from dperm.mechanisms.releases import Cut, Threshold, sensitivities
from dperm.mechanisms.releases.candidates import CandidateGrid
from dperm.noise import NotPrivateBits
from dperm.privacy import GDP, ZCDP, Adjacency, ApproxDP, PureDP

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
PURE = PureDP(1.0, "add_remove")
BOTH = ["up", "either"]
EXTREMES = [1e300, -1e300, 5e-324, -5e-324, 8.0, math.nextafter(8.0, 9.0), math.nextafter(0.0, -1.0), 0.0, 4.0, 4.0]


def planned(adjacency=ADD, *, intervals=8, epsilon=1.0, bounds=(0.0, 8.0), kind=Threshold, **public):
    return kind(PureDP(epsilon, adjacency), bounds=bounds, intervals=intervals, **public)


def rules(threshold):
    """Every rule, in the order of the candidates: (t, whether the second class is above)."""
    points = threshold.grid.points(np.arange(threshold.intervals + 1)).tolist()
    return [(t, up) for up in ((True, False) if threshold.orientation == "either" else (True,)) for t in points]


def errors(threshold, data, labels):
    """The number of errors of every rule, from the stretches."""
    starts, counts, found = threshold.stretches(data, labels)
    assert starts[0] == 0 and (starts + counts).tolist() == [*starts[1:].tolist(), threshold.candidates]
    return np.repeat(found, counts).tolist()


def errors_by_definition(threshold, data, labels):
    """Each rule on each record, as it is."""
    second = threshold.classes[1]
    pairs = list(zip(data, labels, strict=True))
    return [sum(((x >= t) == up) != (label == second) for x, label in pairs) for t, up in rules(threshold)]


def probabilities(threshold, data, labels):
    """The law of the released rule, in floating point."""
    weights = np.exp([-float(threshold.unit * Fraction(cost)) for cost in errors(threshold, data, labels)])
    return weights / weights.sum()


def largest_loss(threshold, *, size=3, points=(0.0, 3.0, 8.0)):
    """The largest log-ratio of probabilities over all small data sets, their neighbours and all rules."""
    records, found = list(itertools.product(points, threshold.classes)), 0.0
    laws = {}
    for many in (size, size + 1):
        for base in itertools.combinations_with_replacement(records, many):
            laws[tuple(sorted(base))] = np.log(probabilities(threshold, *zip(*base, strict=True)))
    for base, law in laws.items():
        if len(base) == size:
            kept = [base] if threshold.goal.adjacency is ADD else [base[:i] + base[i + 1 :] for i in range(size)]
            others = [laws[tuple(sorted((*rest, new)))] for rest in kept for new in records]
            found = max(found, *(np.abs(law - other).max() for other in others))
    return found


@pytest.mark.parametrize("orientation", BOTH)
def test_errors_are_those_of_every_rule_on_the_data_as_they_are(orientation):
    rng, threshold = np.random.default_rng(61), planned(intervals=16, orientation=orientation)
    for size in (1, 2, 5, 40):
        data, labels = rng.integers(-3, 20, size) / 2, rng.integers(0, 2, size)
        assert errors(threshold, data, labels) == errors_by_definition(threshold, data, labels)
        assert errors(threshold, data[::-1], labels[::-1]) == errors(threshold, data, labels)


@pytest.mark.parametrize("orientation", BOTH)
def test_errors_on_adversarial_data_are_exact(orientation):
    threshold = planned(intervals=16, orientation=orientation)
    for labels in ([0, 1] * 5, [1] * 10, [0] * 10):
        assert errors(threshold, EXTREMES, labels) == errors_by_definition(threshold, EXTREMES, labels)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.3, 0.1), (1e3, 1e3 + 0.3), (2.0**20 - 1, 2.0**20), (-1e100, 3e90)])
@pytest.mark.parametrize("intervals", [1, 64, 2**20, 2**30])
def test_a_record_reaches_exactly_the_thresholds_that_are_at_most_its_value(bounds, intervals):
    """The comparison is with the doubles that are released, not with real numbers near them."""
    grid, rng = CandidateGrid(*bounds, intervals), np.random.default_rng(5)
    numbers = np.unique(np.concatenate(([0, intervals], rng.integers(0, intervals + 1, 300))))
    points = grid.points(numbers)
    for values in (points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf), rng.uniform(*bounds, 300)):
        found = grid.last_at_most(values)
        assert (grid.points(np.maximum(found, 0)) <= values)[found >= 0].all()
        assert (values[found < 0] < bounds[0]).all()
        assert (grid.points(np.minimum(found + 1, intervals)) > values)[found < intervals].all()
    assert grid.last_at_most(np.array([-1e300, 1e300])).tolist() == [-1, intervals]


@pytest.mark.parametrize("orientation", BOTH)
@pytest.mark.parametrize(("adjacency", "ends"), [(ADD, (0, 1)), (REPLACE, (-1, 1))])
def test_neighbours_move_errors_within_the_interval_and_to_both_ends(orientation, adjacency, ends):
    """T61: [0, 1] when a record comes, [-1, 1] when one is replaced; the span is its width."""
    threshold, rng = planned(adjacency, orientation=orientation), np.random.default_rng(10)
    moves = []
    for _ in range(40):
        data, labels = rng.integers(0, 9, 6).tolist(), rng.integers(0, 2, 6).tolist()
        kept = 6 if adjacency is ADD else 5
        other = [*data[:kept], int(rng.integers(0, 9))], [*labels[:kept], int(rng.integers(0, 2))]
        moves += np.subtract(errors(threshold, *other), errors(threshold, data, labels)).tolist()
    assert (min(moves), max(moves)) == ends
    assert sensitivities.errors_span(adjacency) == ends[1] - ends[0]
    assert threshold.unit * sensitivities.errors_span(adjacency) == threshold.goal.epsilon


@pytest.mark.parametrize("orientation", BOTH)
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_law_is_epsilon_private_and_not_much_more(epsilon, adjacency, orientation):
    """T61, two-sided: where nearly all rules treat a record alike, the bound is nearly attained."""
    small = planned(adjacency, epsilon=epsilon, orientation=orientation)
    assert largest_loss(small) <= epsilon * (1 + 1e-9)
    fine = planned(adjacency, epsilon=epsilon, intervals=1024, orientation="up")
    assert 0.95 * epsilon <= largest_loss(fine, size=2, points=(0.0, 8.0)) <= epsilon * (1 + 1e-9)


def test_the_event_is_the_goal_and_delta_is_not_used():
    threshold = Threshold(ApproxDP(0.3, 1e-6, "add_remove"), bounds=(0, 1))
    assert threshold.event.epsilon == 0.3 and threshold.unit == Fraction(0.3)
    assert Threshold(ApproxDP(0.3, 1e-6, "replace_one"), bounds=(0, 1)).unit == Fraction(0.3) / 2
    MemoryBudget(PureDP(0.3, "add_remove")).check(threshold.event)


@pytest.mark.parametrize("orientation", BOTH)
def test_the_frequencies_are_those_of_the_law(orientation):
    """T61 end to end: chi-square statistics of 8 and 17 degrees of freedom below their 99.9 % points, seed fixed."""
    threshold = planned(epsilon=1.5, orientation=orientation)
    data, labels, times = [1.0, 2.0, 2.5, 5.0, 9.0], [0, 1, 0, 1, 1], 3000
    bits, order = NotPrivateBits(11), {rule: place for place, rule in enumerate(rules(threshold))}
    with pytest.warns(NotPrivateWarning):
        cuts = [threshold.release(data, labels, bits=bits).value for _ in range(times)]
    found = np.bincount([order[cut.threshold, cut.above == 1] for cut in cuts], minlength=threshold.candidates)
    expected = times * probabilities(threshold, data, labels)
    assert ((found - expected) ** 2 / expected).sum() < {"up": 26.1, "either": 40.8}[orientation]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_error_bound_holds_and_is_the_formula(adjacency):
    """T61: by enumeration, P(errors > OPT + (ln G + ln(1/beta))/r) <= beta; 2/(n epsilon) per record, or half."""
    threshold = planned(adjacency, epsilon=0.7, intervals=64)
    factor = 2 if adjacency is REPLACE else 1
    assert threshold.error_bound(0.05) == pytest.approx(factor * (math.log(65) + math.log(20)) / 0.7, rel=1e-12)
    rng = np.random.default_rng(3)
    for beta in (0.5, 0.05, 1e-3):
        for _ in range(20):
            data, labels = rng.uniform(0, 8, 60), rng.integers(0, 2, 60)
            counts = np.array(errors(threshold, data, labels))
            beyond = counts > counts.min() + threshold.error_bound(beta)
            assert probabilities(threshold, data, labels)[beyond].sum() <= beta


def test_the_error_bound_cannot_be_much_smaller():
    """One good rule, and 1024 that make 7 errors more: nearly every second release is one of those (ln 1025 = 6.93)."""
    threshold = planned(epsilon=1.0, intervals=1024)
    assert set(errors(threshold, [0.0] * 7, [1] * 7)[1:]) == {7.0}
    assert probabilities(threshold, [0.0] * 7, [1] * 7)[1:].sum() > 0.48
    assert 7 < threshold.error_bound(0.48) < 1.1 * 7


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_clear_threshold_is_found(adjacency):
    x = np.random.default_rng(12).uniform(0, 100, 5000)
    threshold = planned(adjacency, bounds=(0.0, 100.0), intervals=2**20, classes=("no", "yes"))
    with pytest.warns(NotPrivateWarning):
        cut = threshold.release(x, np.where(x >= 37.5, "yes", "no"), bits=NotPrivateBits(13)).value
    wrong = np.count_nonzero((x >= cut.threshold) != (x >= 37.5))
    assert wrong <= threshold.error_bound(1e-6)
    assert (cut.below, cut.above) == ("no", "yes")


def test_the_other_direction_is_found_if_it_may_be():
    x = np.random.default_rng(14).uniform(0, 1, 2000)
    threshold = planned(epsilon=2.0, bounds=(0.0, 1.0), intervals=256, orientation="either")
    with pytest.warns(NotPrivateWarning):
        cut = threshold.release(x, (x < 0.25).astype(int), bits=NotPrivateBits(15)).value
    assert cut == Cut(cut.threshold, 1, 0) and abs(cut.threshold - 0.25) < 0.05


def test_a_dropped_record_is_no_error_of_any_rule():
    threshold = planned(invalid="drop", orientation="either")
    data, labels = [1.0, math.nan, 5.0, math.inf, 3.0, -math.inf, 2.0], [0, 1, 1, 0, 7, 1, None]
    assert errors(threshold, data, labels) == errors(threshold, [1.0, 5.0], [0, 1])
    assert errors(threshold, [math.nan], [0]) == [0.0] * threshold.candidates
    moved = np.subtract(errors(threshold, data, labels), errors(threshold, data[:2], labels[:2]))
    assert set(moved) <= {0.0, 1.0}


BAD = [
    ([], [], "data"),
    ([1.0], [], "labels"),
    ([1.0], [0, 1], "labels"),
    ([1.0, 12345.678], [0], "labels"),
    ([[1.0]], [0], "data"),
    (1.0, [0], "data"),
    (None, [0], "data"),
    (["12345.678"], [0], "data"),
    ([1j], [0], "data"),
    ([2**60, 1], [0, 1], "data"),
    ([1.0], 0, "labels"),
    ([1.0], [[0]], "labels"),
    ([1.0], "0", "labels"),
    ([1.0], None, "labels"),
    ([1.0], [{}], "labels"),
    (np.ma.masked_array([1.0], [True]), [0], "data"),
    ([1.0], np.ma.masked_array([1], [True]), "labels"),
]
INVALID = [
    ([math.nan, 1.0], [0, 1], "data"),
    ([1.0, math.inf], [0, 1], "data"),
    ([1.0], [12345], "labels"),
    ([1.0], ["0"], "labels"),
    ([1.0], [None], "labels"),
    ([1.0], [math.nan], "labels"),
    ([1.0], [-1], "labels"),
]


def is_refused(threshold, data, labels, name):
    class NoBits:
        is_private = True

        def stream(self):
            raise AssertionError("bits were drawn")

    budget = MemoryBudget(threshold.goal)
    with pytest.raises(DataError, match=f"^{name} must ") as caught:
        threshold.release(data, labels, budget, bits=NoBits())
    assert "12345" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert budget.entries == ()


@pytest.mark.parametrize(("data", "labels", "name"), BAD, ids=str)
@pytest.mark.parametrize("invalid", ["raise", "drop"])
def test_bad_data_raise_before_anything_is_charged_or_drawn(data, labels, name, invalid):
    is_refused(planned(invalid=invalid), data, labels, name)


@pytest.mark.parametrize(("data", "labels", "name"), INVALID, ids=str)
def test_invalid_records_raise_unless_they_are_dropped(data, labels, name):
    is_refused(planned(), data, labels, name)
    planned(invalid="drop").release(data, labels)


@pytest.mark.parametrize("labels", [[True, False], np.array([1.0, 0.0]), np.array([1, 0], dtype=np.int8), (1, 0)])
def test_labels_are_compared_as_python_objects(labels):
    assert errors(planned(), [1.0, 5.0], labels) == errors(planned(), [1.0, 5.0], [1, 0])


def test_a_release_is_charged_once_and_its_record_knows_no_data():
    threshold, budget = planned(classes=("a", "b"), orientation="either"), MemoryBudget(PURE)
    before = threshold.facts.known
    released = threshold.release([1.0, 5.0], ["a", "b"], budget)
    assert [entry.state for entry in budget.entries] == ["committed"]
    assert (released.guarantee, released.event) == (PURE, threshold.event)
    assert {"T8", "T10", "T61"} <= set(released.record.theorems) and released.record.public["records"] == "at least one"
    json.loads(released.record.to_json())
    assert threshold.facts.known == before
    assert released.record.public == threshold.release([7.0], ["a"]).record.public
    with pytest.raises(BudgetError):
        threshold.release([1.0], ["a"], budget)
    assert len(budget.entries) == 1


def test_a_plan_is_frozen_hashable_and_equal_to_its_like():
    assert planned() == planned() and hash(planned()) == hash(planned())
    with pytest.raises(FrozenInstanceError):
        planned().goal = None


@pytest.mark.parametrize("goal", [GDP(1.0, "add_remove"), ZCDP(1.0, "add_remove")])
def test_other_goals_are_refused(goal):
    with pytest.raises(ConversionError, match="Threshold is calibrated to PureDP"):
        Threshold(goal, bounds=(0, 1))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("goal", {"epsilon": 1e-300}),
        ("goal", {"epsilon": 1e3}),
        ("bounds", {"bounds": (1, 0)}),
        ("bounds", {"bounds": (0, math.nan)}),
        ("bounds", {"bounds": 3}),
        ("classes", {"classes": (0, 0)}),
        ("classes", {"classes": (1, True)}),
        ("classes", {"classes": (0, math.nan)}),
        ("classes", {"classes": (0, 1, 2)}),
        ("classes", {"classes": "ab"}),
        ("classes", {"classes": ([], {})}),
        ("classes", {"classes": None}),
        ("orientation", {"orientation": "down"}),
        ("orientation", {"orientation": None}),
        ("intervals", {"intervals": 1000}),
        ("intervals", {"intervals": 2**31}),
        ("intervals", {"intervals": 0}),
        ("invalid", {"invalid": "ignore"}),
    ],
)
def test_a_wrong_constant_is_refused_by_its_name(name, arguments):
    with pytest.raises(ParameterError, match=f"^{name} "):
        planned(**arguments)


@pytest.mark.parametrize("probability", [0.0, 1.5, math.nan, "0.1"])
def test_the_error_bound_wants_a_probability(probability):
    with pytest.raises(ParameterError, match=r"^probability "):
        planned().error_bound(probability)


def test_the_users_numpy_settings_let_no_data_raise():
    with np.errstate(all="raise"):
        planned().release([5e-324, 1e300], [0, 1])


def knows_every_rule(module):
    for orientation, data in itertools.product(BOTH, ([0.0], [8.0, 8.0, 3.0], EXTREMES)):
        threshold = planned(orientation=orientation, kind=module.Threshold)
        labels = [(place + 1) % 2 for place in range(len(data))]
        assert errors(threshold, data, labels) == errors_by_definition(threshold, data, labels)


def is_private(module):
    for adjacency in Adjacency:
        assert largest_loss(planned(adjacency, epsilon=2.0, kind=module.Threshold), size=2) <= 2.0 + 1e-9


def leaves_out_what_is_invalid(module):
    threshold = planned(invalid="drop", kind=module.Threshold)
    assert errors(threshold, [1.0, math.nan, 5.0, 2.0], [0, 1, 1, 9]) == errors(threshold, [1.0, 5.0], [0, 1])


SOURCE = "dperm.mechanisms.releases.threshold"
MUTANTS = {
    "no factor 2 under replace-one": (is_private, " / sensitivities.errors_span(self.goal.adjacency)", ""),
    "errors are doubled": (is_private, "errors[kept].astype(np.float64)", "errors[kept].astype(np.float64) * 2"),
    "a record counts twice": (is_private, "([0], np.cumsum(ones - zeros))", "([0], 2 * np.cumsum(ones - zeros))"),
    "t itself is below": (knows_every_rule, "([0], places + 1)", "([0], places)"),
    "the last threshold is forgotten": (knows_every_rule, "append=self.grid.size", "append=self.grid.size - 1"),
    "both directions are alike": (knows_every_rule, "number - errors", "errors"),
    "unknown labels count as the first class": (
        leaves_out_what_is_invalid,
        "known = np.isfinite(values), codes != records.NOWHERE",
        "known = np.isfinite(values), codes > -2",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_unsafe_mutants_die(name, assert_killed):
    check, old, new = MUTANTS[name]
    assert_killed(check, SOURCE, old, new)


def the_span_is_right(module):
    assert [module.errors_span(adjacency) for adjacency in (ADD, REPLACE)] == [1, 2]


def test_a_span_of_one_for_replaced_records_is_seen(assert_killed):
    old, new = "return 1 if adjacency is Adjacency.ADD_REMOVE else 2\n", "return 1\n"
    assert_killed(the_span_is_right, "dperm.mechanisms.releases.sensitivities", old, new)
