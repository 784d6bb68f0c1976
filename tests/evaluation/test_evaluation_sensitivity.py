# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T85, T88, T89: sensitivities from both sides over all pairs of adversarial records, and the event of a plan."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dperm import GDP, ZCDP, Adjacency, ApproxDP, PureDP, account
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.evaluation import DeclaredGroups, EvaluationPlan
from dperm.evaluation.records import class_counts, contributions, error_sums
from dperm.noise import NotPrivateBits
from dperm.sensitivity import error_sums_sensitivity, evaluation_histogram_sensitivity, log_loss_sensitivity

BOTH = pytest.mark.parametrize("adjacency", list(Adjacency))
SEX = DeclaredGroups("sex", ("f", "m"))
LABELS = ["a", "b", "c", "other", None, 3.5]
SCORES = [0.0, 0.05, 0.5, math.nextafter(0.5, 1), 1.0, 7.0, math.nan, math.inf]
GROUPS = ["f", "m", None, "x"]


def goal(adjacency, epsilon=1.0):
    return ApproxDP(epsilon, 1e-5, adjacency)


def plan_of(kind, adjacency, groups):
    classes = ("a", "b") if kind == "binary" else ("a", "b", "c")
    positive = "b" if kind == "curves" else None
    return EvaluationPlan(
        goal=goal(adjacency), task="classification", classes=classes, positive=positive, groups=SEX if groups else None
    )


def counted(plan, records):
    """Exact counts of a data set of (label, score, group)."""
    labels, scores, groups = (list(part) for part in zip(*records, strict=True))
    matrix = np.array(scores)
    if not plan.is_binary:
        matrix = np.stack([matrix, 0.3 * np.ones_like(matrix), 0.2 * np.ones_like(matrix)], axis=1)
    return class_counts(plan, plan.read(labels, matrix, groups=groups if plan.groups else None))


@BOTH
@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("kind", ["binary", "many", "curves"])
def test_a_record_moves_the_counts_by_their_sensitivity_at_most(kind, groups, adjacency):
    """T85: sqrt(h) for one record added, sqrt(2 h) for one replaced; attained."""
    plan = plan_of(kind, adjacency, groups)
    records = list(itertools.product(LABELS, SCORES, GROUPS))
    rest = records[::29]
    base = counted(plan, rest)
    moved = np.array([counted(plan, [*rest, record]) for record in records]) - base
    alone = np.array([counted(plan, [record]) for record in records])
    np.testing.assert_array_equal(moved, alone)  # no record changes how another one is counted
    worst = np.linalg.norm(moved, axis=1).max() if adjacency is Adjacency.ADD_REMOVE else cdist(moved, moved).max()
    assert worst <= plan.sensitivity <= worst * (1 + 1e-12)
    assert plan.sensitivity == evaluation_histogram_sensitivity(plan.histograms, adjacency)
    assert (moved.sum(axis=1) == plan.histograms).all()  # every record is in one cell of each histogram


def test_one_and_two_histograms_have_the_sensitivities_of_t85():
    for histograms, adjacency, expected in [(1, "add", 1.0), (1, "rep", 2.0), (2, "add", 2.0), (2, "rep", 4.0)]:
        relation = Adjacency.ADD_REMOVE if adjacency == "add" else Adjacency.REPLACE_ONE
        assert evaluation_histogram_sensitivity(histograms, relation) == pytest.approx(math.sqrt(expected), rel=1e-14)


def regression_records():
    """Errors and labels on a grid that contains the corners, in units of half the range, and invalid records."""
    errors, labels = np.linspace(0, 1, 21), np.linspace(-1, 1, 41)
    pairs = [(label, label + error) for error in errors for label in labels]
    return [*pairs, (math.nan, 0.0), (0.0, math.inf), (1e308, -1e308), (-3.0, 8.0)]


@BOTH
@pytest.mark.parametrize("groups", [False, True])
def test_a_record_moves_the_sums_of_a_regression_by_their_sensitivity_at_most(groups, adjacency):
    """T88: sqrt(5) and sqrt(6), also with the sums for third and fourth moments; with groups sqrt(8) and sqrt(10)."""
    plan = EvaluationPlan(goal=goal(adjacency), task="regression", label_range=(-1, 1), groups=SEX if groups else None)
    labels, predictions = (np.array(part) for part in zip(*regression_records(), strict=True))
    moved = contributions(
        plan, plan.read(labels, predictions=predictions, groups=["f"] * len(labels) if groups else None)
    )
    if groups:
        own, none = moved[:, [0, 1, 2, 5]] * (1, 1, 1, 2 / 3), np.zeros((len(moved), 4))
        moved = np.concatenate([np.hstack([moved, own, none]), np.hstack([moved, none, own])])
    worst = np.linalg.norm(moved, axis=1).max() if adjacency is Adjacency.ADD_REMOVE else cdist(moved, moved).max()
    assert worst <= plan.sensitivity <= worst * (1 + 1e-12)
    assert plan.sensitivity == error_sums_sensitivity(adjacency, groups=groups)


def test_the_corners_are_the_worst_pairs_on_a_fine_grid():
    """T88: errors, labels and groups contribute at most 2, 4 and 6, attained at the corners."""
    e, t = np.linspace(0, 1, 1001)[:, None], np.linspace(-1, 1, 1001)[:, None]

    def power(x):
        return x**2 * (1 - x**2)

    def odd(x):
        return x * (1 - x**2)

    errors = (e - e.T) ** 2 + (e**2 - e.T**2) ** 2 + 9 * (power(e) - power(e.T)) ** 2
    labels = (t - t.T) ** 2 + (t**2 - t.T**2) ** 2 + 9 * (power(t) - power(t.T)) ** 2 + (odd(t) - odd(t.T)) ** 2
    own = 1 + e**2 + e**4 + 4 * power(e) ** 2
    assert errors.max() == pytest.approx(2) and errors[0, -1] == pytest.approx(2)
    assert labels.max() == pytest.approx(4) and labels[0, -1] == pytest.approx(4)
    assert (errors + own + own.T).max() == pytest.approx(6)


def test_sums_are_those_of_the_contributions_and_of_each_group():
    plan = EvaluationPlan(goal=goal("add_remove"), task="regression", label_range=(-1, 1), groups=SEX)
    labels, predictions = (np.array(part) for part in zip(*regression_records(), strict=True))
    groups = [GROUPS[place % 4] for place in range(len(labels))]
    private = plan.read(labels, predictions=predictions, groups=groups)
    parts, sums = contributions(plan, private), error_sums(plan, private)
    np.testing.assert_allclose(sums[:8], parts.sum(axis=0), atol=1e-4)
    for place, own in enumerate((["f"], ["m"], [None, "x"])):
        chosen = np.array([group in own for group in groups])
        np.testing.assert_allclose(
            sums[8 + 4 * place :][:4], (parts[chosen][:, [0, 1, 2, 5]] * (1, 1, 1, 2 / 3)).sum(axis=0), atol=1e-4
        )


@BOTH
def test_the_sum_of_clipped_log_losses_has_the_sensitivity_of_t89(adjacency):
    largest = math.log(100)
    losses = np.linspace(0, largest, 101)
    if adjacency is Adjacency.ADD_REMOVE:
        worst = np.hypot(losses, 1.0).max()
    else:
        worst = np.abs(losses[:, None] - losses).max()
    assert worst <= log_loss_sensitivity(largest, adjacency) <= worst * (1 + 1e-12)


@BOTH
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_event_spends_the_goal(task, adjacency):
    plan = EvaluationPlan(goal=goal(adjacency), task=task, groups=SEX)
    delta = account(plan.event, adjacency).delta(1.0)
    assert 0.9999e-5 <= delta <= 1e-5
    # golden/pipeline.json, evaluation: mu = .268 at (1, 1e-5)
    assert plan.sensitivity / plan.noise_deviation == pytest.approx(0.268, abs=5e-4)


def test_the_event_depends_on_no_class_range_or_number_of_records():
    """T70: classes and ranges may come from an earlier stage; the event is fixed before."""
    plan = EvaluationPlan(goal=goal("replace_one"), task="classification", groups=SEX)
    for classes in ((0, 1), range(7), [f"class {place}" for place in range(100)]):
        assert plan.with_labels(classes=tuple(classes)).event == plan.event
    numbers = EvaluationPlan(goal=goal("replace_one"), task="regression")
    assert numbers.with_labels(label_range=(0, 1e6)).event == numbers.event
    known = EvaluationPlan(goal=goal("replace_one"), task="classification", n=10, bins=200, groups=SEX)
    assert known.event == plan.event
    with pytest.raises(AssumptionError, match="would change the event"):
        EvaluationPlan(goal=goal("add_remove"), task="classification", positive=1).with_labels(classes=(0, 1, 2))


@pytest.mark.parametrize("refused", [PureDP(1.0, "add_remove"), ApproxDP(1.0, 0.0, "add_remove")])
def test_a_pure_goal_is_refused_with_a_remedy(refused):
    with pytest.raises(ConversionError, match=r"no pure guarantee \(T6\).*Give delta=1e-6"):
        EvaluationPlan(goal=refused, task="classification")


@pytest.mark.parametrize("accepted", [GDP(0.3, "add_remove"), ZCDP(0.05, "replace_one")])
def test_gdp_and_zcdp_goals_are_accepted(accepted):
    assert EvaluationPlan(goal=accepted, task="regression").event.singles()


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"n": 100}, "n"),
        ({"bins": 7}, "bins"),
        ({"bins": (0, 0.4, 1)}, "bins"),
        ({"bins": "many"}, "bins"),
        ({"level": 1.0}, "level"),
        ({"clip": 0.5}, "clip"),
        ({"positive": "x"}, "positive"),
        ({"label_range": (0, 1)}, "label_range"),
        ({"classes": ("1", "01")}, "classes"),
        ({"task": "ranking"}, "task"),
    ],
)
def test_a_public_argument_outside_its_rule_is_refused(changes, argument):
    arguments = {"goal": goal("add_remove"), "task": "classification", "classes": ("a", "b"), **changes}
    with pytest.raises(ParameterError) as refusal:
        EvaluationPlan(**arguments)
    assert refusal.value.argument == argument


def test_groups_must_differ_from_each_other_and_from_other():
    for names in ((), ("a", "a"), ("other",), (1, "1.0"), ("na",)):
        with pytest.raises(ParameterError, match="must be different public values"):
            DeclaredGroups("sex", names)


def test_the_rule_for_the_number_of_bins():
    numbers = [(None, 20), (200, 10), (5_000, 20), (60_000, 40)]
    for n, bins in numbers:
        plan = EvaluationPlan(goal=goal("replace_one"), task="classification", classes=(0, 1), n=n)
        assert len(plan.edges) - 1 == bins and 0.5 in plan.edges


# --- an attack from above and from below ---


@BOTH
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_best_attack_attains_the_claimed_mu(task, adjacency):
    """The projection on the difference of two neighbours shifts by mu standard deviations, and not by more."""
    mu, runs = 1.0, 3000
    plan = EvaluationPlan(
        goal=GDP(mu, adjacency),
        task=task,
        classes=("a", "b") if task == "classification" else None,
        label_range=(-1, 1) if task == "regression" else None,
        bins=2,
    )
    neighbours = worst_neighbours(plan)
    exact = [error_sums(plan, one) if task == "regression" else class_counts(plan, one) for one in neighbours]
    direction = (exact[1] - exact[0]) / np.linalg.norm(exact[1] - exact[0])
    bits = NotPrivateBits(3)
    seen = [np.array([plan.draw(one, bits.stream()).noisy @ direction for _ in range(runs)]) for one in neighbours]
    shift = (seen[1].mean() - seen[0].mean()) / math.sqrt((seen[0].var() + seen[1].var()) / 2)
    error = 4 * math.sqrt(2 / runs)
    assert 0.9 * mu <= shift <= mu + error
    assert min(len(set(one)) for one in seen) > runs / 2  # both are noisy


def worst_neighbours(plan):
    replaced = plan.adjacency is Adjacency.REPLACE_ONE
    if plan.task == "regression":
        rows = [(0.0, 0.0)], ([(-1.0, -1.0)] if replaced else []), [(1.0, 9.0)]
        sets = rows[0] + rows[1], rows[0] + rows[2]
        return [plan.read([y for y, _ in one], predictions=[p for _, p in one]) for one in sets]
    sets = [("a", 0.2)] + ([("a", 0.2)] if replaced else []), [("a", 0.2), ("b", 0.9)]
    return [plan.read([label for label, _ in one], [score for _, score in one]) for one in sets]


@pytest.mark.parametrize(("task", "growth"), [("classification", math.sqrt(2)), ("regression", math.sqrt(10 / 6))])
def test_the_plan_states_the_noise_that_groups_add(task, growth):
    """Under replace-one: a second histogram, and sqrt(10) instead of sqrt(6) for the sums."""
    plan, alone = (EvaluationPlan(goal=goal("replace_one"), task=task, groups=groups) for groups in (SEX, None))
    (fact,) = [fact for fact in plan.why if fact.code == "evaluation.groups"]
    assert fact.values["growth"] == pytest.approx(growth, rel=1e-12)
    assert plan.noise_deviation / alone.noise_deviation == pytest.approx(growth, rel=1e-5)
    assert f"{growth:.3g} times as large" in str(fact) and "groups" not in " ".join(map(str, alone.why))
