# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How far one record moves the minimiser, from both sides: neighbours made to move it far, through the real pipeline.

Public bounds are enforced, the problem is solved and certified, and the distance of the two solutions is compared with
what the plan calibrated its noise to (T29-T32, T54, T55): never more, and in each setting at least 3/4 of it, so that a
smaller constant would be caught.

Losses with a straight part reach the bound at once. The logistic loss needs the crowd of T30: many records e1, which
hold the margin of the record (-eta, +-sqrt(1 - eta^2)) so far below 0 that its slope is nearly 1, while nothing resists
it in the second direction.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import ndtr

from dperm import ApproxDP, PureDP
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.losses import HuberHinge, Logistic, SmoothedHinge
from dperm.erm.minimize import minimize
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.methods import OutputPerturbation
from dperm.methods import output as output_module
from dperm.noise import NotPrivateBits
from dperm.privacy import GDP, ZCDP, Adjacency

LEVEL = 1e-4
LEAST = 0.75
ADD_REMOVE, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
BOTH = pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
LOSSES = {
    "logistic": (Logistic(), False),
    "clipped logistic": (Logistic(), True),
    "Huber hinge": (HuberHinge(0.5), False),
    "clipped Huber hinge": (HuberHinge(0.1), True),
    "smoothed hinge": (SmoothedHinge(0.5), False),
}


# Designs: rows of a ball of radius 1, all of one class; the record, and what takes its place.


@dataclass(frozen=True)
class Design:
    """Rows within a ball or a box; ``strength`` is Lambda in units of w times the squared length of a row."""

    crowd: np.ndarray
    record: tuple[float, ...]
    other: tuple[float, ...]
    strength: float


def crowd_of_t30(count: int, eta: float, strength: float) -> Design:
    across = math.sqrt(1 - eta * eta)
    return Design(np.tile([1.0, 0.0], (count, 1)), (-eta, across), (-eta, -across), strength)


STRAIGHT = Design(np.array([[0.6, 0.0]]), (1.0, 0.0), (-1.0, 0.0), 100.0)
BENT = crowd_of_t30(10_000, 0.45, 2.0)
CORNERS = Design(np.array([[0.6, 0.0]]), (1.0, 1.0), (-1.0, -1.0), 100.0)
BENT_CORNERS = Design(
    np.tile([1.0] * 3 + [0.0] * 17, (10_000, 1)), (*[-1.0] * 3, *[1.0] * 17), (*[-1.0] * 3, *[-1.0] * 17), 2.0
)


# Dressings: how a design reaches the code, and which public constants go with it.


@dataclass(frozen=True)
class Dressing:
    """The user's units: rows of ``norm`` or in ``bounds``, a class and its weight, dense or sparse, some rows too long.

    ``factors`` multiply the rows of the crowd, the record and the other: what is longer than the norm is cut back.
    """

    norm: float | None = 1.0
    bounds: tuple[float, float] | None = None
    intercept: bool = False
    label: int = 1
    weights: tuple[float, float] = (1.0, 1.0)
    factors: tuple[float, float, float] = (1.0, 1.0, 1.0)
    kind: str = "dense"

    def space(self, dim: int) -> FeatureSpace:
        bounds = None if self.bounds is None else (self.bounds,) * dim
        return FeatureSpace(dim, norm=self.norm, bounds=bounds, intercept=self.intercept)

    def rows(self, unit: np.ndarray) -> Any:
        """Rows of the unit ball, or of the box, in the user's units."""
        X = self.label * unit * (1.0 if self.norm is None else self.norm)
        if self.bounds is not None:
            low, high = self.bounds
            X = (low + high) / 2 + X * (high - low) / 2
        match self.kind:
            case "single":
                return X.astype(np.float32)
            case "sparse":
                return csr_array(X)
            case "pieces":
                return in_pieces(X)
        return X


def in_pieces(X: np.ndarray) -> csr_array:
    """A sparse matrix that stores every entry as the sum of two: neither piece has the norm of the row."""
    rows, dim = X.shape
    data = np.stack([3 * X, -2 * X], axis=2).ravel()
    columns = np.tile(np.repeat(np.arange(dim), 2), rows)
    return csr_array((data, columns, np.arange(rows + 1) * 2 * dim), shape=X.shape)


DRESSINGS = {
    "plain": Dressing(),
    "a larger norm": Dressing(norm=5.0),
    "a smaller norm": Dressing(norm=1e-3),
    "an intercept": Dressing(intercept=True),
    "class weights": Dressing(weights=(0.5, 3.0)),
    "weights of the negative class": Dressing(label=-1, weights=(3.0, 0.5), norm=2.0, intercept=True),
    "rows far outside": Dressing(factors=(30.0, 1e6, 1e300)),
    "rows far outside, with an intercept": Dressing(norm=5.0, intercept=True, factors=(2.0, 1e200, 1e9)),
    "bounds": Dressing(norm=None, bounds=(0.0, 10.0)),
    "bounds, rows outside": Dressing(norm=None, bounds=(-2.0, 2.0), factors=(1.0, 1e9, 1e300), intercept=True),
    "bounds and a norm": Dressing(bounds=(-3.0, 5.0), intercept=True),
    "single precision": Dressing(kind="single"),
    "sparse": Dressing(kind="sparse", factors=(1.0, 1e6, 1e300), intercept=True),
    "sparse, entries in pieces": Dressing(kind="pieces", factors=(1.0, 4.0, 1e6)),
}


# A case: the plan's constants, and the two data sets.


@dataclass(frozen=True)
class Case:
    design: Design
    dressing: Dressing
    spec: ProblemSpec

    def data(self, which: str) -> Any:
        """The bounded data with the record, with the other in its place, or without either."""
        parts = [self.dressing.factors[0] * self.design.crowd]
        if which == "record":
            parts.append(self.dressing.factors[1] * np.array([self.design.record]))
        elif which == "other":
            parts.append(self.dressing.factors[2] * np.array([self.design.other]))
        unit = np.concatenate(parts)
        labels = np.full(len(unit), self.dressing.label)
        space = self.dressing.space(unit.shape[1])
        return enforce(self.dressing.rows(unit), labels, space, Classes((-1, 1), self.dressing.weights))

    def pair(self, adjacency: Adjacency) -> tuple[Any, Any]:
        return self.data("record"), self.data("other" if adjacency is REPLACE_ONE else "none")


def case(loss: str, dressing: Dressing) -> Case:
    function, clipped = LOSSES[loss]
    boxed = dressing.norm is None
    bent = loss == "logistic"
    design = (BENT_CORNERS if bent else CORNERS) if boxed else (BENT if bent else STRAIGHT)
    space = dressing.space(design.crowd.shape[1])
    weight = max(dressing.weights)
    spec = ProblemSpec(
        function,
        space.radius,
        space.size,
        n=len(design.crowd) + 1,
        regularization=design.strength * weight * space.row_norm**2,
        clip=space.radius / 2 if clipped else None,
        weight=weight,
    )
    return Case(design, dressing, spec)


def plan_for(spec: ProblemSpec, adjacency: Adjacency) -> Any:
    return OutputPerturbation("gaussian").plan(spec, ApproxDP(1.0, 1e-5, adjacency))


def moved_by(plan: Any) -> float:
    """What the noise of ``plan`` is calibrated to, apart from the grid: T30 and twice tau/Lambda (T31)."""
    statistic = plan.output_noise.statistic
    return statistic.sensitivity + 2 * statistic.numerical_error


def share_of_the_bound(found: Case, adjacency: Adjacency, plan: Any = None) -> float:
    plan = plan or plan_for(found.spec, adjacency)
    one, two = (minimize(data, plan.spec, plan.tolerance) for data in found.pair(adjacency))
    return float(np.linalg.norm(one - two)) / moved_by(plan)


@BOTH
@pytest.mark.parametrize("dressing", DRESSINGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_record_moves_the_minimiser_by_no_more_than_the_plan_says_and_nearly_by_that(loss, dressing, adjacency):
    found = case(loss, DRESSINGS[dressing])
    assert found.spec.lipschitz == pytest.approx(max(found.dressing.weights) * largest_gradient(found), rel=1e-12)
    assert LEAST <= share_of_the_bound(found, adjacency) <= 1


def largest_gradient(found: Case) -> float:
    """The norm of the longest row with its constant, times the largest slope: by hand (T54, T55)."""
    dressing, dim = found.dressing, found.design.crowd.shape[1]
    row = math.sqrt(dim) if dressing.norm is None else dressing.norm
    constant = (1.0 if dressing.norm is None else row / 4) if dressing.intercept else 0.0
    return math.hypot(row, constant) * (0.5 if found.spec.clip is not None else 1.0)


@BOTH
def test_losses_with_a_straight_part_reach_the_bound_itself(adjacency):
    for loss in ("Huber hinge", "clipped Huber hinge", "smoothed hinge"):
        assert share_of_the_bound(case(loss, Dressing()), adjacency) >= 1 - 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "eta", "strength", "share"),
    [(10**3, 0.5, 1.0, 0.757), (10**5, 0.4, 5.0, 0.872), (10**6, 0.35, 10.0, 0.899)],
)
def test_the_logistic_loss_approaches_the_bound_as_t30_says(count, eta, strength, share):
    found = case("logistic", Dressing())
    design = crowd_of_t30(count, eta, strength)
    found = Case(design, found.dressing, replace(found.spec, n=count + 1, regularization=strength))
    assert share_of_the_bound(found, REPLACE_ONE) == pytest.approx(share, abs=2e-3)


# Rows that do not count.

BAD = {"NaN": ([math.nan, 0.3], 1), "infinity": ([0.1, -math.inf], 1), "label": ([1.0, 0.0], 7)}


def with_row(row: list[float], label: int, kind: str) -> Any:
    X = np.array([[0.6, 0.0], [0.0, 0.5], row])
    X = csr_array(X) if kind == "sparse" else X
    space = FeatureSpace(2, norm=1.0)
    return enforce(X, np.array([1, -1, label]), space, Classes((-1, 1)), invalid="drop")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_that_is_dropped_is_a_row_that_is_not_there(loss, bad, kind):
    """Good and bad rows are neighbours under replace_one: the bad one moves nothing, a good one at most L/Lambda."""
    function, clipped = LOSSES[loss]
    space = FeatureSpace(2, norm=1.0)
    clip = space.radius / 2 if clipped else None
    spec = ProblemSpec(function, space.radius, 3, n=3, regularization=100.0, clip=clip)
    plan = plan_for(spec, REPLACE_ONE)
    good, dropped = (minimize(with_row(*row, kind), spec, plan.tolerance) for row in (([1.0, 0.0], 1), BAD[bad]))
    without = enforce(np.array([[0.6, 0.0], [0.0, 0.5]]), np.array([1, -1]), space, Classes((-1, 1)))
    absent = minimize(without, spec, plan.tolerance)
    assert np.linalg.norm(dropped - absent) <= 2 * plan.tolerance / spec.strength
    slope = 0.5 if loss == "logistic" else 1.0  # of a record at margin 0
    share = float(np.linalg.norm(good - dropped)) / (moved_by(plan) / 2)
    assert 0.98 * slope <= share <= 1
    assert share > LEAST or loss == "logistic"


# Neighbours that nobody chose.


def anything(rng: np.random.Generator) -> tuple[ProblemSpec, Any, Any, Adjacency]:
    """A random problem with rows of all lengths, and neighbours."""
    dim, rows, intercept = int(rng.integers(1, 5)), int(rng.integers(1, 7)), bool(rng.integers(2))
    function, clipped = LOSSES[list(LOSSES)[rng.integers(len(LOSSES))]]
    adjacency = (ADD_REMOVE, REPLACE_ONE)[rng.integers(2)]
    norm, weights = 10 ** rng.uniform(-1, 1), tuple(10 ** rng.uniform(-1, 1, size=2))
    space = FeatureSpace(dim, norm=norm, intercept=intercept)
    spec = ProblemSpec(
        function,
        space.radius,
        space.size,
        n=rows + 1,
        regularization=10 ** rng.uniform(-2, 2) * max(weights) * norm**2,
        clip=space.radius * rng.uniform(0.1, 1.2) if clipped else None,
        weight=max(weights),
    )
    X = norm * rng.normal(size=(rows + 2, dim)) * 10 ** rng.uniform(-2, 4, size=(rows + 2, 1))
    y = np.where(rng.random(rows + 2) < rng.choice([0.1, 0.5, 0.9]), -1, 1)
    keep = ([*range(rows), rows], [*range(rows), rows + 1] if adjacency is REPLACE_ONE else [*range(rows)])
    pair = [enforce(X[rows_], y[rows_], space, Classes((-1, 1), weights)) for rows_ in keep]
    return spec, *pair, adjacency


def largest_share(seed: int, count: int) -> float:
    rng, shares = np.random.default_rng(seed), []
    for _ in range(count):
        spec, one, two, adjacency = anything(rng)
        plan = plan_for(spec, adjacency)
        solutions = [minimize(data, spec, plan.tolerance) for data in (one, two)]
        shares.append(float(np.linalg.norm(solutions[0] - solutions[1])) / moved_by(plan))
    return max(shares)


def test_random_neighbours_never_exceed_the_bound():
    assert 0.5 < largest_share(71, 150) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_many_random_neighbours_never_exceed_the_bound(seed):
    assert 0.5 < largest_share(seed, 2000) <= 1


# Data that would move more than was planned for.


@BOTH
def test_data_with_longer_rows_or_larger_weights_than_were_planned_for_are_refused(adjacency):
    plan = plan_for(case("Huber hinge", Dressing(weights=(0.5, 3.0))).spec, adjacency)
    for dressing in (Dressing(norm=1.001, weights=(0.5, 3.0)), Dressing(weights=(3.1, 0.5))):
        data = case("Huber hinge", dressing).data("record")
        with pytest.raises(ParameterError, match="Plan again"):
            plan.run(lambda data=data: data)
    smaller = case("Huber hinge", Dressing(norm=0.5, weights=(1.0, 2.0))).data("record")
    assert plan.run(lambda: smaller).guarantee == plan.goal


# The solver's tolerance (T31).


def lazy(data: Any, plan: Any, push: float) -> np.ndarray:
    """A point that a solver may stop at: its gradient has norm tau, in the direction that suits the attacker.

    Where the loss is straight the gradient of J is Lambda (theta - minimiser).
    """
    theta = minimize(data, plan.spec, plan.tolerance * 1e-4)
    return theta + push * plan.tolerance / plan.spec.strength * np.eye(1, len(theta))[0]


def assert_stopping_early_is_covered(plan: Any, adjacency: Adjacency) -> None:
    """Two solvers that stop as soon as they may, on either side, reach what the noise hides, and do not exceed it."""
    one, two = case("Huber hinge", Dressing()).pair(adjacency)
    distance = np.linalg.norm(lazy(one, plan, 1.0) - lazy(two, plan, -1.0))
    beyond = 2 * plan.tolerance / plan.spec.strength
    assert moved_by(plan) - 0.1 * beyond <= distance <= moved_by(plan) * (1 + 1e-12)


@BOTH
def test_a_solver_that_stops_at_its_tolerance_is_covered_and_no_more(adjacency):
    plan = plan_for(case("Huber hinge", Dressing()).spec, adjacency)
    assert 0 < plan.tolerance <= 1e-3 * plan.spec.lipschitz
    assert_stopping_early_is_covered(plan, adjacency)


# The noise is the one that the sensitivity asks for (T6, T7, T32).

SPEC = ProblemSpec(HuberHinge(0.5), radius=1.25, dim=4, n=1000, regularization=30.0, weight=2.0)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """T6."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


@BOTH
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (10.0, 1e-3)])
def test_gaussian_noise_has_the_delta_of_the_goal(epsilon, delta, adjacency):
    plan = OutputPerturbation("gaussian").plan(SPEC, ApproxDP(epsilon, delta, adjacency))
    exact = 2.5 / 30 * (2 if adjacency is REPLACE_ONE else 1) + 2 * plan.tolerance / 30
    true = gaussian_delta(epsilon, exact / plan.output_noise.scale)
    assert 0.999 * delta <= true <= delta
    assert 0.999 * delta <= plan.facts.profile.delta(epsilon) <= delta


@BOTH
def test_gaussian_noise_has_the_mu_and_the_rho_of_the_goal(adjacency):
    exact = 2.5 / 30 * (2 if adjacency is REPLACE_ONE else 1)
    for goal in (GDP(0.4, adjacency), ZCDP(0.08, adjacency)):
        plan = OutputPerturbation("gaussian").plan(SPEC, goal)
        mu = (exact + 2 * plan.tolerance / 30) / plan.output_noise.scale
        assert 0.4 * (1 - 1e-5) <= mu <= 0.4


@BOTH
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
def test_pure_noise_has_the_epsilon_of_the_goal(epsilon, adjacency):
    """The loss between neighbours is their distance over the scale, in the norm of the law: L2, or L1 for Laplace."""
    exact = 2.5 / 30 * (2 if adjacency is REPLACE_ONE else 1)
    for noise, longest in (("gamma_norm", 1.0), ("laplace", math.sqrt(4))):  # of L1 over L2 in four dimensions
        plan = OutputPerturbation(noise).plan(SPEC, PureDP(epsilon, adjacency))
        moved = (exact + 2 * plan.tolerance / 30) * longest
        assert epsilon * (1 - 1e-5) <= moved / plan.output_noise.scale <= epsilon


@pytest.fixture
def nothing_learnt(monkeypatch):
    """Every solve ends at 0: what is released is the noise."""
    monkeypatch.setattr(output_module, "minimize", lambda data, spec, tolerance: np.zeros(spec.dim))


def draws(plan: Any, seeds: range) -> np.ndarray:
    return np.array([plan.learn(None, NotPrivateBits(seed).stream()) for seed in seeds])


@pytest.mark.usefixtures("nothing_learnt")
def test_the_noise_that_is_added_is_the_noise_of_the_plan():
    """One draw for each coefficient: normal of the plan's scale, or of a length that is a gamma variable."""
    gaussian = OutputPerturbation("gaussian").plan(replace(SPEC, dim=200), ApproxDP(1.0, 1e-5, REPLACE_ONE))
    found = draws(gaussian, range(100)).ravel() / gaussian.output_noise.scale
    assert stats.kstest(found, "norm").pvalue > LEVEL
    assert stats.kstest(found * 1.1, "norm").pvalue < LEVEL, "the test could not tell another scale"
    pure = OutputPerturbation("gamma_norm").plan(SPEC, PureDP(1.0, REPLACE_ONE))
    found = np.linalg.norm(draws(pure, range(600)), axis=1) / pure.output_noise.scale
    assert stats.kstest(found, "gamma", args=(4,)).pvalue > LEVEL
    assert stats.kstest(found * 1.2, "gamma", args=(4,)).pvalue < LEVEL, "the test could not tell another scale"
