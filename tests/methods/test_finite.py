# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Finite classes: plans from public constants, costs of records, T59's bound in simulation, refusals by name."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from dperm import GDP, ApproxDP, PureDP
from dperm.accounting.events import Pure
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.residual_losses import Huber
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, DataError, NotPrivateWarning, ParameterError
from dperm.methods.finite import FiniteClass, bounded_rows, row_scores, rows_at
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


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e150, 1e300])
def test_bounded_rows_are_those_of_the_data(size):
    rng = np.random.default_rng(1)
    X = size * rng.normal(size=(50, 2)) * rng.choice([0.1, 1.0, 5.0], size=(50, 1))
    found = bounded_rows(X, SPACE)
    data = enforce(X, np.zeros(50, dtype=int), SPACE, Classes((0, 1)))
    block = data.block(0, 50)
    assert found == pytest.approx(block.x * block.factors[:, np.newaxis], rel=1e-12, abs=1e-300)
    assert np.linalg.norm(found, axis=1).max() <= 1 + 1e-14
    assert bounded_rows(np.zeros((1, 2)), SPACE).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_a_score_does_not_depend_on_the_rows_beside_it(is_sparse):
    """To the last bit: alone, among others, after a row of 1e300, wherever it stands."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(301, 9)) * 10 ** rng.uniform(-5, 5, size=(301, 1))
    space, hypotheses = FeatureSpace(9, norm=1.0), rng.normal(size=(17, 10))

    def scores(rows: np.ndarray) -> np.ndarray:
        matrix = csr_array(rows) if is_sparse else rows
        data = enforce(matrix, np.zeros(len(rows), dtype=int), space, Classes((0, 1)))
        return row_scores(rows_at(data, slice(0, len(rows))), np.ascontiguousarray(hypotheses.T))

    whole = scores(X)
    shifted = scores(np.vstack([np.full((1, 9), 1e300), X[::-1]]))
    assert np.array_equal(shifted[1:][::-1], whole)
    for place in (0, 13, 300):
        assert np.array_equal(scores(X[place : place + 1])[0], whole[place])
    if not is_sparse:
        assert np.array_equal(scores(np.asfortranarray(X)), whole)


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
    costs = plan.costs.of(scores, np.where(y == 1, 1.0, -1.0))
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
