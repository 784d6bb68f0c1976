# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics from both sides: what one record adds to what is released, and how much noise is drawn.

The claim is that of two Gaussians (T6, T19). It holds if a record moves the least eigenvalue and the vector of sums by
no more than the plan says, if each gets its noise once, and if the rest is a function of the two (T3).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import ndtr

from dperm import GDP, ApproxDP, account
from dperm.accounting import ReplaceOneOnly
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Interval, LabelKind
from dperm.erm.moments import cross_error, eigenvalue_error, gram_error, least_eigenvalue, moments
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.mechanisms import GaussianMechanism
from dperm.methods import sufficient
from dperm.methods.sufficient import SufficientStatistics, unpack_moments
from dperm.noise import NotPrivateBits
from dperm.privacy import Adjacency

LEVEL = 1e-4
ADD_REMOVE, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
BOTH = pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
LABELS = Interval(-10.0, 30.0)


# Designs: a record, what takes its place, and a crowd that leaves the direction of the record to it.


@dataclass(frozen=True)
class Design:
    """``record`` is as long as a row can be, ``turned`` as well, at 60 degrees with the constant, ``crowd`` at 90."""

    space: FeatureSpace
    record: tuple[float, ...]
    turned: tuple[float, ...]
    crowd: tuple[tuple[float, ...], ...]


ACROSS = (8.5 - 1) / 16  # cosine, without the constant 1, of rows of length 4 that are at 60 degrees with it
HADAMARD = ((1.0, -1.0, 1.0, -1.0), (1.0, 1.0, -1.0, -1.0), (1.0, -1.0, -1.0, 1.0))
DESIGNS = {
    "norm": Design(
        FeatureSpace(2, norm=1.0, intercept=False), (1e9, 0.0), (math.cos(math.pi / 3), math.sqrt(0.75)), ((0.0, 1.0),)
    ),
    "small norm": Design(
        FeatureSpace(2, norm=1e-3, intercept=False), (1.0, 0.0), (0.5, math.sqrt(0.75)), ((0.0, 1e-3),)
    ),
    "norm and intercept": Design(
        FeatureSpace(2, norm=4.0),
        (4.0, 0.0),
        (4 * ACROSS, 4 * math.sqrt(1 - ACROSS**2)),
        ((-0.25, 3.9), (-0.25, -3.9)),
    ),
    "bounds": Design(
        FeatureSpace(4, bounds=((-1.0, 1.0),) * 4, intercept=False), (1.0,) * 4, (1.0, 1.0, 1.0, -7.0), HADAMARD
    ),
}


@dataclass(frozen=True)
class Heavy:
    """Labels of an interval whose records all have one weight."""

    inner: Interval
    weight: float
    kind: LabelKind = LabelKind.NUMBER
    outputs: int = 1

    @property
    def weights_range(self) -> tuple[float, float]:
        return self.weight, self.weight

    def read(self, labels: np.ndarray) -> np.ndarray:
        return self.inner.read(labels)

    def counts(self, codes: np.ndarray) -> np.ndarray:
        return self.inner.counts(codes)

    def without(self, codes: np.ndarray, bad: np.ndarray) -> None:
        self.inner.without(codes, bad)

    def targets(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        targets, weights = self.inner.targets(codes)
        return targets, self.weight * weights


def data_of(
    design: Design, *records: tuple[tuple[float, ...], float], kind: str = "dense", labels: Any = LABELS
) -> Any:
    X = np.array([*design.crowd * 40, *[row for row, _ in records]])
    y = np.array([5.0] * (40 * len(design.crowd)) + [label for _, label in records])
    X = csr_array(X) if kind == "sparse" else X
    return enforce(X, y, design.space, labels)


def spec_of(space: FeatureSpace, **changes: Any) -> ProblemSpec:
    return ProblemSpec(Squared(), space.radius, space.size, **changes)


def plan_of(space: FeatureSpace, adjacency: Adjacency, **changes: Any) -> Any:
    return SufficientStatistics().plan(spec_of(space, **changes), ApproxDP(1.0, 1e-5, adjacency))


def run(plan: Any, data: Any, seed: int = 0) -> np.ndarray:
    with np.errstate(all="ignore"):  # as in every release
        return plan.learn(data, NotPrivateBits(seed).stream())


@dataclass
class Journal:
    """What noise was added to, and what it made of it."""

    mechanisms: list[Any]
    values: list[np.ndarray]
    noisy: list[np.ndarray]

    def clear(self) -> None:
        for part in (self.mechanisms, self.values, self.noisy):
            part.clear()


@pytest.fixture
def journal(monkeypatch):
    return written(monkeypatch)


def written(monkeypatch: Any) -> Journal:
    found, blur = Journal([], [], []), GaussianMechanism.noisy

    def noisy(mechanism: GaussianMechanism, value: np.ndarray, stream: Any) -> np.ndarray:
        found.mechanisms.append(mechanism)
        found.values.append(value.copy())
        found.noisy.append(blur(mechanism, value, stream))
        return found.noisy[-1]

    monkeypatch.setattr(GaussianMechanism, "noisy", noisy)
    return found


# The sensitivities.


def allowed(mechanism: GaussianMechanism) -> float:
    """What the noise is calibrated to, apart from the grid."""
    return mechanism.statistic.sensitivity + 2 * mechanism.statistic.numerical_error


def shares(plan: Any, pair: tuple[Any, Any], journal: Journal) -> np.ndarray:
    """Of what the plan allows, how far a record moves the least eigenvalue, and the vector of sums."""
    journal.clear()
    for data in pair:
        run(plan, data)
    eigenvalues, sums = journal.values[0::2], journal.values[1::2]
    moved = [np.linalg.norm(np.subtract(*parts)) for parts in (eigenvalues, sums)]
    return np.array(moved) / [allowed(plan.eigenvalue), allowed(plan.sums)]


def pairs_of(design: Design, adjacency: Adjacency, **how: Any) -> list[tuple[Any, Any]]:
    """One for the eigenvalue, from the crowd's direction to the record's own, and one for the sums."""
    one = data_of(design, (design.record, 30.0), **how)
    if adjacency is ADD_REMOVE:
        return [(one, data_of(design, **how))]
    return [(one, data_of(design, other, **how)) for other in ((design.crowd[0], 30.0), (design.turned, -1e9))]


def largest_shares(design: Design, adjacency: Adjacency, journal: Journal, **how: Any) -> Any:
    plan = plan_of(design.space, adjacency, n=50)
    return np.max([shares(plan, pair, journal) for pair in pairs_of(design, adjacency, **how)], axis=0)


@BOTH
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("design", DESIGNS)
def test_a_record_moves_each_part_by_no_more_than_the_plan_says_and_by_that(design, kind, adjacency, journal):
    found = largest_shares(DESIGNS[design], adjacency, journal, kind=kind)
    assert (found <= 1).all()
    assert (found >= 0.99).all()


def test_other_weights_than_one_are_refused():
    """Exact squares are for weights 0 and 1 (T201); another weight would enter twice, as its square."""
    design = DESIGNS["norm"]
    plan = plan_of(design.space, ADD_REMOVE, weight=3.0)
    with pytest.raises(AssumptionError, match="records of weight 1"):
        run(plan, data_of(design, labels=Heavy(LABELS, 3.0)))


def test_the_sensitivities_by_hand():
    """w R^2; sqrt(2) w R^2 for a record added or removed, 3/sqrt(2) w R^2 for one replaced."""
    spec = ProblemSpec(Squared(), 2.0, 5, weight=3.0)
    assert sufficient.eigenvalue_sensitivity(spec) == 12.0
    assert sufficient.moments_sensitivity(spec, ADD_REMOVE) == pytest.approx(12 * math.sqrt(2), rel=1e-9)
    assert sufficient.moments_sensitivity(spec, REPLACE_ONE) == pytest.approx(18 * math.sqrt(2), rel=1e-9)
    assert sufficient.moments_sensitivity(spec, REPLACE_ONE) >= 18 * math.sqrt(2)


def random_shares(seed: int, count: int, adjacency: Adjacency) -> float:
    """Of the sensitivity of the sums, the largest move by one record of any length, angle and label among a few."""
    rng, largest = np.random.default_rng(seed), 0.0
    space = FeatureSpace(3, norm=2.0)
    spec = spec_of(space)
    for _ in range(count):
        X = rng.normal(size=(6, 3)) * 10 ** rng.uniform(-1, 3, size=(6, 1))
        y = rng.choice([-10.0, 30.0, rng.uniform(-20, 40)], size=6)
        last = [5] if adjacency is REPLACE_ONE else []
        pair = [enforce(X[rows], y[rows], space, LABELS) for rows in ([0, 1, 2, 3, 4], [0, 1, 2, 3, *last])]
        one, two = (sufficient.pack_moments(moments(data, spec), spec.radius) for data in pair)
        largest = max(largest, float(np.linalg.norm(one - two)) / sufficient.moments_sensitivity(spec, adjacency))
    return largest


@BOTH
def test_random_neighbours_never_exceed_the_bound(adjacency):
    assert 0.97 < random_shares(81, 400, adjacency) <= 1


@pytest.mark.slow
@BOTH
def test_many_random_neighbours_never_exceed_the_bound(adjacency):
    assert 0.99 < random_shares(82, 5000, adjacency) <= 1


def test_one_vector_needs_less_noise_than_two_releases_of_its_parts():
    """Replace-one: with the same noise on x x', sqrt(2) R^2 sqrt(1 + r), a release of y x apart needs more (T19)."""
    spec = ProblemSpec(Squared(), 2.0, 5)
    joint = sufficient.moments_sensitivity(spec, REPLACE_ONE)
    ratio = (joint / (math.sqrt(2) * 4)) ** 2 - 1  # r, the square of mu for y x over that for x x'
    apart = 2 * 2.0 * math.sqrt(1 + 1 / ratio)
    assert joint / spec.radius < 0.8 * apart


@pytest.mark.parametrize("row", [[math.nan, 0.3], [0.1, -math.inf]])
def test_a_row_that_is_dropped_adds_nothing(row):
    space = DESIGNS["norm and intercept"].space
    X, y = np.array([[0.6, 0.0], [0.0, 0.5], row]), np.array([20.0, -5.0, 30.0])
    dropped = moments(enforce(X, y, space, LABELS, invalid="drop"), spec_of(space))
    absent = moments(enforce(X[:2], y[:2], space, LABELS), spec_of(space))
    assert np.array_equal(dropped.gram, absent.gram)
    assert np.array_equal(dropped.cross, absent.cross)


# Rounding.


def exact_moments(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of rows on the grid and labels in extended precision, without an error in the products of rows."""
    wide = X.astype(np.longdouble)
    return wide.T @ wide, wide.T @ y.astype(np.longdouble)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long doubles are doubles here")
@pytest.mark.parametrize("rows", [7, 5000])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_computed_sums_are_within_the_bound_on_rounding(kind, rows):
    rng = np.random.default_rng(83)
    X = rng.normal(size=(rows, 8))
    X *= rng.uniform(0.5, 0.999, size=(rows, 1)) / np.linalg.norm(X, axis=1)[:, np.newaxis]
    space = FeatureSpace(8, norm=1.0, intercept=False)
    y = rng.uniform(-1, 1, size=rows)
    data = enforce(csr_array(X) if kind == "sparse" else X, y, space, Interval(-1.0, 1.0))
    block = data.block(0, rows)
    table = block.x if kind == "dense" else block.x.toarray()
    spec, (gram, cross) = spec_of(space), exact_moments(table, block.targets)
    found = moments(data, spec)
    assert np.abs(table - X).max() < 2.0**-23
    off = [float(np.linalg.norm(part.astype(float))) for part in (found.gram - gram, found.cross - cross)]
    assert off[0] <= gram_error(spec, rows) and off[1] <= cross_error(spec, rows)
    assert (off[0] > 0) == (rows > 2**5), "few squares of 48 digits have an exact sum"
    assert off[1] > 0


def test_the_computed_eigenvalue_is_within_its_bound():
    """A matrix with eigenvalues of all sizes: by mpmath to 40 digits."""
    import mpmath as mp

    rng = np.random.default_rng(84)
    X = rng.normal(size=(300, 6)) * 10.0 ** -np.arange(6)
    X /= np.linalg.norm(X, axis=1)[:, np.newaxis].max()
    spec = ProblemSpec(Squared(), 1.0, 6)
    gram = X.T @ X
    with mp.workdps(40):
        least = float(min(mp.eigsy(mp.matrix(gram.tolist()), eigvals_only=True)))
    assert abs(least_eigenvalue(gram) - least) <= eigenvalue_error(spec, 300) - gram_error(spec, 300)
    assert least_eigenvalue(-gram) == 0.0


@BOTH
@pytest.mark.parametrize("n", [None, 10**6])
def test_rounding_is_bounded_for_as_many_rows_as_are_allowed(n, adjacency):
    plan = plan_of(DESIGNS["norm"].space, adjacency, n=n)
    assert plan.most_rows == (n if n and adjacency is REPLACE_ONE else 16 * n if n else 2**22)
    assert plan.sums.statistic.numerical_error >= sufficient.sums_error(plan.spec, plan.most_rows)
    assert plan.eigenvalue.statistic.numerical_error >= eigenvalue_error(plan.spec, plan.most_rows)
    assert allowed(plan.sums) <= 1.001 * plan.sums.sensitivity


# What a run does.


def assert_both_are_released_once(plan: Any, journal: Journal) -> None:
    assert journal.mechanisms == [plan.eigenvalue, plan.sums]
    assert [single for single, _ in plan.event.singles()] == [plan.eigenvalue.event, plan.sums.event]


@BOTH
def test_two_releases_are_made_and_two_are_charged(adjacency, journal):
    design = DESIGNS["norm and intercept"]
    plan = plan_of(design.space, adjacency)
    run(plan, data_of(design))
    assert_both_are_released_once(plan, journal)


def test_what_is_released_is_a_function_of_the_two(journal):
    """Replayed from the noisy numbers alone, to the last bit (T3)."""
    design = DESIGNS["norm and intercept"]
    plan = plan_of(design.space, REPLACE_ONE, regularization=2.0)
    released = run(plan, data_of(design, (design.record, 30.0)))
    sums = unpack_moments(journal.noisy[1], plan.spec.radius, 3)
    assert np.array_equal(plan.ridge.coefficients(sums.gram, sums.cross, float(journal.noisy[0][0])), released)


def multiplier_of(event: Any) -> float:
    """Sigma over the sensitivity that is charged."""
    return event.event.noise_multiplier / 2 if isinstance(event, ReplaceOneOnly) else event.noise_multiplier


@BOTH
def test_the_noise_that_is_drawn_has_the_multipliers_of_the_event(adjacency, journal):
    """Normal and independent, entry for entry, with the deviations that were charged."""
    space = FeatureSpace(4, norm=1.0)
    plan = plan_of(space, adjacency)
    rng = np.random.default_rng(85)
    data = enforce(rng.normal(size=(30, 4)), rng.normal(size=30), space, Interval(-1.0, 1.0))
    for seed in range(1000):
        run(plan, data, seed)
    radius = (1 + 1 / 16) * (1 + 2.0**-49)
    by_hand = [radius, radius * math.sqrt(2) * (1 if adjacency is ADD_REMOVE else 1.5)]
    for part, exact in enumerate(by_hand):
        noise = np.array(journal.noisy[part::2]) - np.array(journal.values[part::2])
        mechanism = journal.mechanisms[part]
        sigma = multiplier_of(mechanism.event) * (exact + 2 * mechanism.statistic.numerical_error)
        assert stats.kstest(noise.ravel() / sigma, "norm").pvalue > LEVEL
        assert stats.kstest(1.3 * noise.ravel() / sigma, "norm").pvalue < LEVEL, "the test could not tell another scale"
        if part:
            assert stats.kstest((noise**2).sum(axis=1) / sigma**2, "chi2", args=(20,)).pvalue > LEVEL


def true_mu(plan: Any, adjacency: Adjacency) -> float:
    """By hand, from the noise and the sensitivities: the root of the sum of squares (T19)."""
    square = plan.spec.weight * plan.spec.radius**2
    sums = square * math.sqrt(2) * (1 if adjacency is ADD_REMOVE else 1.5)
    return math.hypot(square / plan.eigenvalue.scale, sums / plan.sums.scale)


@BOTH
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-3)])
def test_both_releases_together_are_mu_gdp(epsilon, delta, adjacency):
    """delta by hand at the goal's epsilon (T6), and the accountant's, meet the goal."""
    space = DESIGNS["norm"].space
    plan = SufficientStatistics().plan(spec_of(space, n=1000), ApproxDP(epsilon, delta, adjacency))
    mu = true_mu(plan, adjacency)
    true = float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))
    assert 0.99 * delta <= true <= delta
    assert true * (1 - 1e-6) <= account(plan.event, adjacency).delta(epsilon) <= delta
    gdp = SufficientStatistics().plan(spec_of(space, n=1000), GDP(0.5, adjacency))
    assert 0.4999 <= true_mu(gdp, adjacency) <= 0.5
