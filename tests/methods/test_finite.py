# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Finite classes: plans from public constants, exact costs (T201, T203), T59 in simulation, refusals by name."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from dperm import GDP, ApproxDP, PureDP
from dperm.accounting.events import Pure
from dperm.data.bounded import enforce
from dperm.data.passes import Place, total
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.residual_losses import Huber
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, DataError, NotPrivateWarning, ParameterError
from dperm.methods.finite import CostKernel, FiniteClass, HypothesisColumns
from dperm.noise import NotPrivateBits
from dperm.theory.finite_class import finite_class_empirical_gap, finite_class_excess_risk

SPACE = FeatureSpace(2, norm=1.0)
GRID = np.array([[math.cos(angle), math.sin(angle), shift] for angle in np.linspace(0, 6, 24) for shift in (-1, 0, 1)])
BOTH = pytest.mark.parametrize(("adjacency", "ends"), [("add_remove", 1), ("replace_one", 2)])


def spec_of(loss=None, **changes) -> ProblemSpec:
    return ProblemSpec(loss or Logistic(), SPACE.radius, SPACE.size, **changes)


def some_data(rows: int = 200, seed: int = 0, *, weights=(1.0, 1.0), is_sparse: bool = False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    y = np.where(X @ np.array([2.0, -1.0]) + 0.3 * rng.normal(size=rows) > 0, 1, 0)
    return enforce(csr_array(X) if is_sparse else X, y, SPACE, Classes((0, 1), weights)), X, y


def plain_scores(X: np.ndarray) -> np.ndarray:
    rows = X / np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, np.newaxis]
    return np.hstack([rows, np.full((len(X), 1), 0.25)]) @ GRID.T


@BOTH
def test_the_rate_is_epsilon_per_weighted_error(adjacency, ends):  # T8, T61
    plan = FiniteClass(GRID).plan(spec_of(weight=3.0), PureDP(0.5, adjacency))
    assert plan.describe()["rate"] == pytest.approx(0.5 / (3 * ends), rel=1e-12)
    assert plan.event == Pure(0.5, adjacency)
    assert plan.mechanism.numerical_error == 0
    assert {"T8", "T59", "T61"} <= set(plan.facts.known["theorems"])


@BOTH
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Hinge()], ids=repr)
def test_the_temperature_is_epsilon_over_the_range_of_the_loss(loss, adjacency, ends):  # T49
    plan = FiniteClass(GRID, score="loss").plan(spec_of(loss, n=1000), PureDP(0.5, adjacency))
    reach = SPACE.radius * math.sqrt(2)
    high, low = (float(loss.value(np.array([z]))[0]) for z in (-reach, reach))
    assert plan.describe()["largest_cost"] == pytest.approx(high - low, rel=1e-12)
    assert plan.describe()["rate"] == pytest.approx(0.5 / (ends * (high - low)), rel=1e-4)
    assert plan.describe()["rate"] <= 0.5 / (ends * (high - low))
    assert "T49" in plan.facts.known["theorems"]


def test_delta_is_not_used():
    pure, approximate = (
        FiniteClass(GRID).plan(spec_of(), g) for g in (PureDP(1.0, "add_remove"), ApproxDP(1.0, 1e-5, "add_remove"))
    )
    assert pure.mechanism.rate == approximate.mechanism.rate
    assert approximate.event == pure.event


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.25, 2.0)])
def test_errors_are_counted_with_their_weights(weights, is_sparse):
    data, X, y = some_data(weights=weights, is_sparse=is_sparse)
    plan = FiniteClass(GRID).plan(spec_of(weight=max(weights)), PureDP(1.0, "add_remove"))
    wrong = (plain_scores(X) > 0) != (y == 1)[:, np.newaxis]
    wanted = (np.array(weights)[y] / max(weights)) @ wrong
    assert plan.total_costs(data).tolist() == wanted.tolist()


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5)], ids=repr)
def test_losses_are_summed_above_the_least(loss):
    data, X, y = some_data(weights=(0.3, 2.0))
    plan = FiniteClass(GRID, "loss").plan(spec_of(loss, weight=2.0), PureDP(1.0, "add_remove"))
    signs, weights = np.where(y == 1, 1.0, -1.0), np.where(y == 1, 2.0, 0.3)
    losses = loss.value(signs[:, np.newaxis] * plain_scores(X))
    wanted = weights @ (losses - float(loss.value(np.array([SPACE.radius * math.sqrt(2)]))[0]))
    assert 2.0 * plan.costs.range * plan.total_costs(data) == pytest.approx(wanted, rel=1e-5)


def test_a_score_of_zero_predicts_the_negative_class():
    X, plan = np.zeros((2, 2)), FiniteClass([[1.0, 1.0, 0.0]]).plan(spec_of(), PureDP(1.0, "add_remove"))
    for label, cost in ((0, 0.0), (1, 2.0)):
        data = enforce(X, np.full(2, label), SPACE, Classes((0, 1)))
        assert plan.total_costs(data).tolist() == [cost]


def test_rows_that_do_not_count_cost_nothing():
    X = np.array([[np.nan, 1.0], [1.0, np.inf], [1.0, 0.0]])
    data = enforce(X, np.array([1, 0, 7]), SPACE, Classes((0, 1)), invalid="drop")
    for score in ("errors", "loss"):
        plan = FiniteClass(GRID, score).plan(spec_of(), PureDP(1.0, "replace_one"))
        assert not plan.total_costs(data).any()


def scores_of(X: np.ndarray, space: FeatureSpace, hypotheses: np.ndarray, *, is_sparse: bool = False) -> np.ndarray:
    data = enforce(csr_array(X) if is_sparse else X, np.zeros(len(X), dtype=int), space, Classes((0, 1)))
    return HypothesisColumns(data.grid, hypotheses).scores(data.in_memory().cells)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_a_score_does_not_depend_on_the_rows_beside_it(is_sparse):
    """T203, to the last bit: alone, among others, after a row of 1e300, wherever it stands, in any memory order."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(301, 9)) * 10 ** rng.uniform(-5, 5, size=(301, 1))
    space, hypotheses = FeatureSpace(9, norm=1.0), rng.normal(size=(17, 10))
    whole = scores_of(X, space, hypotheses, is_sparse=is_sparse)
    shifted = scores_of(np.vstack([np.full((1, 9), 1e300), X[::-1]]), space, hypotheses, is_sparse=is_sparse)
    assert np.array_equal(shifted[1:][::-1], whole)
    for place in (0, 13, 300):
        assert np.array_equal(scores_of(X[place : place + 1], space, hypotheses, is_sparse=is_sparse)[0], whole[place])
    if not is_sparse:
        assert np.array_equal(scores_of(np.asfortranarray(X), space, hypotheses), whole)


@pytest.mark.parametrize(
    "space",
    [FeatureSpace(9, norm=1.0), FeatureSpace(70, bounds=((-1, 1),) * 70), FeatureSpace(5, norm=1e-9, intercept=False)],
    ids=["norm", "bounds", "small"],
)
def test_scores_are_as_accurate_as_doubles_for_hypotheses_of_all_sizes(space):
    """T201: against fractions; a hypothesis of 1e-80 beside one of 1e80 keeps its digits."""
    rng = np.random.default_rng(8)
    X = space.row_norm * rng.normal(size=(40, space.dim))
    hypotheses = rng.normal(size=(9, space.size)) * 10.0 ** np.linspace(-80, 80, 9)[:, np.newaxis]
    data, found = enforce(X, np.zeros(40, dtype=int), space, Classes((0, 1))), scores_of(X, space, hypotheses)
    for row, scores in zip(data.in_memory().cells.tolist(), found.tolist(), strict=True):
        entries = [Fraction(k) for k in row] + [Fraction(data.grid.constant)] * space.intercept
        for theta, score in zip(hypotheses.tolist(), scores, strict=True):
            true = sum(k * Fraction(part) for k, part in zip(entries, theta, strict=True)) * Fraction(data.grid.unit)
            size = Fraction(space.radius * float(np.linalg.norm(theta)))
            assert abs(Fraction(score) - true) <= 8 * Fraction(2.0**-53) * size


@pytest.mark.parametrize("score", ["errors", "loss"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_total_costs_do_not_depend_on_the_cuts(is_sparse, score):
    """T203: equal bits from row groups of any sizes, in any order, by a kernel that was sent to another process."""
    rng = np.random.default_rng(9)
    data, _, _ = some_data(1500, weights=(0.3, 2.0), is_sparse=is_sparse)
    plan = FiniteClass(rng.normal(size=(150, 3)), score).plan(spec_of(weight=2.0), PureDP(1.0, "add_remove"))
    kernel = CostKernel(data.grid, data.target, plan.costs, plan.hypotheses, plan.spec.weight)
    kernel, rows = pickle.loads(pickle.dumps(kernel)), data.in_memory()
    cuts = [0, 0, 1, 2, 300, 557, 557, 1499, 1500]
    parts = [kernel(rows.part(*ends), Place("", ends[0])) for ends in pairwise(cuts)]
    assert np.array_equal(plan.costs.total(total(parts[::-1])["costs"]), plan.total_costs(data))


def exact_total(costs: np.ndarray, weights: np.ndarray) -> list[Fraction]:
    """Sums of rounded costs times weights of 20 digits, as fractions."""
    shares = [Fraction(math.floor(weight * 2**20), 2**20) for weight in weights.tolist()]
    rounded = [[Fraction(round(Fraction(cost) * 2**46), 2**46) for cost in row] for row in costs.tolist()]
    return [sum(share * row[at] for share, row in zip(shares, rounded, strict=True)) for at in range(costs.shape[1])]


def test_a_sum_of_losses_is_that_of_the_rounded_losses_exactly():
    data, _, y = some_data(600, weights=(0.3, 2.0))
    plan = FiniteClass(GRID, "loss").plan(spec_of(weight=2.0), PureDP(1.0, "add_remove"))
    scores = HypothesisColumns(data.grid, GRID).scores(data.in_memory().cells)
    costs = plan.costs.of(scores, np.where(y == 1, 1.0, -1.0))
    wanted = exact_total(costs, np.where(y == 1, 2.0, 0.3) / 2.0)
    assert plan.total_costs(data).tolist() == pytest.approx([float(one) for one in wanted], rel=2.0**-52, abs=0)
    assert (costs >= 0).all() and (costs <= 1).all()


def test_the_largest_costs_do_not_overflow_the_exact_sums():
    """Rows in one direction, all costs at their largest: sums of blocks are next to 2^51 and exact."""
    space = FeatureSpace(1, norm=1.0, intercept=False)
    plan = FiniteClass([[-5.0], [5.0]], "loss").plan(ProblemSpec(Logistic(), 1.0, 1), PureDP(1.0, "add_remove"))
    data = enforce(np.ones((5000, 1)), np.ones(5000, dtype=int), space, Classes((0, 1)))
    one = plan.costs.of(np.array([[-5.0, 5.0]]), np.ones(1))
    assert plan.total_costs(data).tolist() == [float(5000 * cost) for cost in exact_total(one, np.ones(1))]


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e5])
def test_the_stated_error_covers_other_last_bits_of_the_losses(size, monkeypatch):
    """T204: every loss off by 2^-50 of the largest one, as on a processor with another exponential function."""
    data, _, _ = some_data(700)
    plan = FiniteClass(size * GRID, "loss").plan(spec_of(), PureDP(1.0, "add_remove"))
    usual, losses = plan.total_costs(data), Logistic.losses
    allowed = plan.costs.error(data.rows)
    largest = plan.costs.range + plan.costs.least
    monkeypatch.setattr(Logistic, "losses", lambda *given: losses(*given) + 2.0**-50 * largest)
    moved = np.abs(plan.total_costs(data) - usual)
    assert 0 < moved.max() <= allowed


def test_more_rows_and_hypotheses_than_fit_at_a_time():
    """Sums over parts are those of the whole: exact for errors, within the claim for losses."""
    rng = np.random.default_rng(2)
    data, X, y = some_data(1000, seed=5)
    table = rng.normal(size=(300, 3))
    scores = (
        np.hstack([X / np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, np.newaxis], np.full((1000, 1), 0.25)]) @ table.T
    )
    plan = FiniteClass(table).plan(spec_of(), PureDP(1.0, "add_remove"))
    assert plan.total_costs(data).tolist() == ((scores > 0) != (y == 1)[:, np.newaxis]).sum(axis=0).tolist()
    plan = FiniteClass(table, "loss").plan(spec_of(), PureDP(1.0, "add_remove"))
    exact = HypothesisColumns(data.grid, table).scores(data.in_memory().cells)
    assert exact == pytest.approx(scores, rel=1e-5, abs=1e-5)
    costs = plan.costs.of(exact, np.where(y == 1, 1.0, -1.0))
    wanted = [math.fsum(column) for column in costs.T]
    assert np.abs(plan.total_costs(data) - wanted).max() <= plan.costs.error(1000)


def test_a_run_releases_a_hypothesis_and_nothing_else():
    data, _, _ = some_data(2000)
    plan = FiniteClass(GRID).plan(spec_of(n=2000), PureDP(5.0, "replace_one"))
    with pytest.warns(NotPrivateWarning):
        release = plan.run(lambda: data, bits=NotPrivateBits(3))
    chosen = release.value
    assert any(np.array_equal(chosen, one) for one in GRID)
    assert chosen[:2] @ np.array([2.0, -1.0]) > 1.5
    told = release.record.public
    assert told["hypotheses"] == len(GRID) and told["score"] == "errors" and told["method"] == "finite"
    assert told["hypotheses_digest"].startswith("sha256:")
    assert release.guarantee == PureDP(5.0, "replace_one")


def test_t59_holds_in_simulation():
    """The choice is within the bound of the best, as often as it says, and the risk on the population too."""
    rng, n, beta = np.random.default_rng(59), 400, 0.2
    thresholds = np.column_stack([np.ones(40), np.zeros(40), np.linspace(-4, 4, 40)])
    space = FeatureSpace(2, norm=1.0)
    plan = FiniteClass(thresholds).plan(ProblemSpec(Logistic(), space.radius, 3, n=n), PureDP(0.5, "replace_one"))
    gap = finite_class_empirical_gap(40, n, epsilon=0.5, beta=beta, adjacency="replace_one")
    risk = finite_class_excess_risk(40, n, epsilon=0.5, beta=beta, adjacency="replace_one").bound
    beyond, worse = 0, 0
    for seed in range(200):
        u = rng.uniform(-1, 1, size=n)
        y = np.where(rng.random(n) < 0.1, u <= 0.2, u > 0.2).astype(int)
        data = enforce(np.column_stack([u, np.zeros(n)]), y, space, Classes((0, 1)))
        costs = plan.total_costs(data)
        chosen = plan.learn(data, NotPrivateBits(seed).stream())
        place = int(np.flatnonzero((thresholds == chosen).all(axis=1))[0])
        beyond += costs[place] - costs.min() > gap * n
        cut = np.clip(-thresholds[:, 2] / 4, -1, 1)
        true = 0.1 + 0.8 * np.abs(cut - 0.2) / 2
        worse += true[place] - true.min() > risk
    assert beyond <= 0.2 * 200
    assert worse <= 0.2 * 200
    assert gap * n == pytest.approx(plan.mechanism.error_bound(beta), rel=1e-9)


def test_what_a_problem_has_beside_its_loss_plays_no_part():
    plan = FiniteClass(GRID, "loss").plan(spec_of(regularization=3.0, clip=0.1), PureDP(1.0, "add_remove"))
    assert plan.spec == spec_of()
    assert "regularization" in plan.describe() and plan.describe()["regularization"] is None


def test_hypotheses_are_copied():
    table = GRID.copy()
    method = FiniteClass(table)
    table[:] = 0.0
    assert np.array_equal(method.hypotheses, GRID)
    plan = method.plan(spec_of(), PureDP(1.0, "add_remove"))
    with pytest.raises(ValueError, match="read-only"):
        plan.hypotheses[0, 0] = 1.0


BAD = [
    [],
    [1.0, 2.0],
    [[1.0, math.nan]],
    [[math.inf, 0.0]],
    [[1.0], [1.0, 2.0]],
    "table",
    [["1", "2"]],
    [[True, False]],
    None,
    [[1e200, 0.0]],
    [[1j, 0]],
]


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_bad_hypotheses_are_refused_by_name(bad):
    with pytest.raises(ParameterError, match=r"^hypotheses must be a table of finite real numbers"):
        FiniteClass(bad)


@pytest.mark.parametrize("bad", ["accuracy", None, 1, ["errors"]])
def test_an_unknown_score_is_refused(bad):
    with pytest.raises(ParameterError, match=r'^score must be "errors" or "loss", got'):
        FiniteClass(GRID, bad)


def test_other_problems_goals_and_data_are_refused():
    goal = PureDP(1.0, "add_remove")
    with pytest.raises(ParameterError, match=r"hypotheses must have 4 columns.*got 3"):
        FiniteClass(GRID).plan(replace(spec_of(), dim=4), goal)
    with pytest.raises(ParameterError, match='hypotheses must not all be 0 for score="loss"'):
        FiniteClass(np.zeros((3, 3)), "loss").plan(spec_of(), goal)
    for loss, kind in ((Huber(), "of a regression"), (Softmax(3), "of 3 classes")):
        with pytest.raises(AssumptionError, match=f'FiniteClass supports .*two classes.*{kind}. Use method="auto"'):
            FiniteClass(GRID).plan(spec_of(loss), goal)
    with pytest.raises(ConversionError, match="PureDP"):
        FiniteClass(GRID).plan(spec_of(), GDP(1.0, "add_remove"))
    plan = FiniteClass(GRID).plan(spec_of(n=100), PureDP(1.0, "replace_one"))
    numbers = enforce(np.zeros((100, 2)), np.zeros(100), SPACE, Interval(0.0, 1.0))
    with pytest.raises(ParameterError, match="the labels must be of the kind"):
        plan.run(lambda: numbers)
    with pytest.raises(DataError, match="n=100"):
        plan.run(lambda: some_data(99)[0])
    heavy = FiniteClass(GRID).plan(spec_of(), goal)
    with pytest.raises(ParameterError, match="Plan again"):
        heavy.run(lambda: some_data(weights=(1.0, 1.5))[0])
