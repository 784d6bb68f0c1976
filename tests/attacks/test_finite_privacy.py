# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choosing from a finite class, from both sides: all probabilities enumerated, for neighbours made to move them (T8).

The largest log-ratio is compared with epsilon, in both orders: never more, and nearly that. What a record adds is a
function of this record alone, on the decision boundary too, where a matrix product's rounding would decide.
"""

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from dperm import ApproxDP, PureDP
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.spec import ProblemSpec
from dperm.methods.finite import FiniteClass
from dperm.noise import NotPrivateBits
from dperm.privacy import Adjacency

LEVEL = 1e-4
ADD_REMOVE, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
BOTH = pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
SPACE = FeatureSpace(2, norm=1.0, intercept=False)
LONE = np.array([[0.0, 1.0], *[[0.0, -1.0]] * 200])
"""One hypothesis against two hundred: what is rare moves most."""
Record = tuple[tuple[float, float], int]


def plan_of(method: FiniteClass, adjacency: Adjacency, *, loss: Any = None, weight: float = 1.0, n: int = 3) -> Any:
    spec = ProblemSpec(loss or Logistic(), SPACE.radius, 2, n=n, weight=weight)
    return method.plan(spec, ApproxDP(1.0, 1e-5, adjacency))


def data_of(records: list[Record], weights: tuple[float, float] = (1.0, 1.0)) -> Any:
    X, y = np.array([x for x, _ in records]), np.array([label for _, label in records])
    return enforce(X, y, SPACE, Classes((-1, 1), weights))


def log_probabilities(plan: Any, data: Any) -> np.ndarray:
    """Of all hypotheses, from the costs that the code computes and its rate."""
    exponents = -plan.mechanism.rate * plan.total_costs(data)
    return exponents - logsumexp(exponents)


def largest_loss(plan: Any, one: Any, two: Any) -> float:
    first, second = (log_probabilities(plan, data) for data in (one, two))
    return float(np.abs(first - second).max())


def neighbours(adjacency: Adjacency, weights: tuple[float, float] = (1.0, 1.0)) -> list[tuple[Any, Any]]:
    """A record that only the lone hypothesis gets right, or wrong, far outside of its bounds; nobody, or the other."""
    crowd = [((0.0, 1.0), -1), ((0.3, -0.4), 1), ((1.0, 0.0), 1)]
    right, wrong = ((0.0, 1e300), 1), ((0.0, -1e300), 1)
    data = [data_of([*crowd, one], weights) for one in (right, wrong)]
    return list(permutations(data)) if adjacency is REPLACE_ONE else [(one, data_of(crowd, weights)) for one in data]


@BOTH
@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.2, 3.0)], ids=str)
def test_errors_move_the_choice_by_at_most_epsilon_and_nearly_by_that(weights, adjacency):
    plan = plan_of(FiniteClass(LONE), adjacency, weight=max(weights))
    losses = [largest_loss(plan, *pair) for pair in neighbours(adjacency, weights)]
    assert 0.98 <= max(losses) <= 1


@BOTH
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Hinge()], ids=repr)
def test_losses_move_the_choice_by_at_most_epsilon_and_nearly_by_that(loss, adjacency):
    """T49: hypotheses as long as the longest, on both sides of the record."""
    plan = plan_of(FiniteClass(5 * LONE, "loss"), adjacency, loss=loss)
    losses = [largest_loss(plan, *pair) for pair in neighbours(adjacency)]
    assert 0.98 <= max(losses) <= 1


def random_neighbours(rng: np.random.Generator, adjacency: Adjacency) -> tuple[Any, Any]:
    rows = int(rng.integers(1, 30))
    X = rng.normal(size=(rows + 2, 2)) * 10 ** rng.uniform(-3, 200, size=(rows + 2, 1))
    y = rng.choice([-1, 1], size=rows + 2)
    keep = [*range(rows), rows], [*range(rows), rows + 1] if adjacency is REPLACE_ONE else [*range(rows)]
    weights = (0.3, 2.0)
    return tuple(enforce(X[rows_], y[rows_], SPACE, Classes((-1, 1), weights)) for rows_ in keep)


@BOTH
@pytest.mark.parametrize("score", ["errors", "loss"])
def test_random_neighbours_never_exceed_epsilon(score, adjacency):
    rng = np.random.default_rng(80)
    for _ in range(60):
        table = rng.normal(size=(int(rng.integers(1, 60)), 2)) * 10 ** rng.uniform(-1, 1)
        plan = plan_of(FiniteClass(table, score), adjacency, weight=2.0)
        assert largest_loss(plan, *random_neighbours(rng, adjacency)) <= 1


def boundary(rng: np.random.Generator, dim: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose scores are 0 but for rounding, for every hypothesis: any other order of summation flips some."""
    theta, X = rng.normal(size=dim), rng.normal(size=(rows, dim))
    base = theta / np.linalg.norm(theta)
    X -= np.outer(X @ base, base)
    return X, np.vstack([3.0**power * theta for power in range(12)])


def test_a_record_adds_its_own_cost_and_nothing_else():
    """Exactly, whatever stands beside it, across chunks; the sum of the others does not change by a bit.

    Scores by a matrix product of doubles fail here, where the linear algebra library has several kernels.
    """
    rng = np.random.default_rng(81)
    X, hypotheses = boundary(rng, 7, 301)
    y = rng.choice([-1, 1], size=301)
    space = FeatureSpace(7, norm=1.0, intercept=False)
    plan = FiniteClass(hypotheses).plan(ProblemSpec(Logistic(), space.radius, 7), PureDP(1.0, ADD_REMOVE))

    def costs(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return plan.total_costs(enforce(rows, labels, space, Classes((-1, 1))))

    whole = costs(X, y)
    for place in range(0, 301, 20):
        rest = np.delete(np.arange(301), place)
        own = costs(X[place : place + 1], y[place : place + 1])
        assert np.array_equal(whole - costs(X[rest], y[rest]), own)
        assert set(own.tolist()) <= {0.0, 1.0}


def test_the_choice_has_the_probabilities_of_the_plan():
    """Drawn 4,000 times, against the enumeration; a rate of twice the plan's would be seen."""
    plan = plan_of(FiniteClass([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.2], [0.5, -0.5]]), REPLACE_ONE)
    data = data_of([((0.3, 0.9), 1), ((0.9, -0.1), -1), ((-0.5, 0.4), 1), ((0.1, 0.1), -1), ((0.7, 0.7), 1)])
    drawn = [plan.learn(data, NotPrivateBits(seed).stream()) for seed in range(4000)]
    places = [int(np.flatnonzero((plan.hypotheses == one).all(axis=1))[0]) for one in drawn]
    counts = np.bincount(places, minlength=4)
    wanted = 4000 * np.exp(log_probabilities(plan, data))
    assert stats.chisquare(counts, wanted).pvalue > LEVEL
    doubled = np.exp(2 * log_probabilities(plan, data))
    assert stats.chisquare(counts, 4000 * doubled / doubled.sum()).pvalue < LEVEL


# Mutants.


def choices_stay_within_epsilon(module: Any) -> None:
    for adjacency, score in ((ADD_REMOVE, "errors"), (REPLACE_ONE, "errors"), (REPLACE_ONE, "loss")):
        plan = plan_of(module.FiniteClass(5 * LONE, score), adjacency, weight=3.0)
        for pair in neighbours(adjacency, (3.0, 3.0)):
            assert largest_loss(plan, *pair) <= 1


def rounding_is_in_the_span(module: Any) -> None:
    plan = plan_of(module.FiniteClass(LONE, "loss"), ADD_REMOVE, n=10**6)
    assert plan.mechanism.numerical_error >= plan.most_rows * 2.0**-45
    assert math.isclose(float(plan.mechanism.span), 1.0, rel_tol=1e-3)


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (choices_stay_within_epsilon, "            1.0,\n            goal,", "            0.5,\n            goal,"),
        (choices_stay_within_epsilon, "np.floor(weights / self.weight", "np.floor(weights"),
        (rounding_is_in_the_span, "return rows * (2.0**-45 + 2.0**-48 * self._at(-1.0) / self.range)", "return 0.0"),
    ],
    ids=["half the sensitivity", "weights beyond the largest", "no rounding"],
)
def test_an_unsafe_mutant_is_killed(assert_killed, check, old, new):
    assert_killed(check, "dperm.methods.finite", old, new)
