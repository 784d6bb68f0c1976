# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics: T6 and T19 for the noise, T44 and T54 for bounded rows; the ridge is post-processing (T3)."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from dperm import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.accounting.event import Composed
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Interval
from dperm.erm.losses import Logistic
from dperm.erm.moments import Moments, moments
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, DataError, ParameterError
from dperm.methods.sufficient import AdaptiveRidge, SufficientStatistics, pack_moments, unpack_moments
from dperm.noise import NotPrivateBits

GOAL = ApproxDP(1.0, 1e-6, "replace_one")
LABELS = Interval(-2.0, 4.0)


def problem(rows, dim, *, seed=0, spread=0.02):
    """Rows in the unit ball, labels that follow a plane through most of LABELS."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, np.newaxis]
    slope = rng.normal(size=dim)
    return X, 1 + 2.5 * X @ (slope / np.linalg.norm(slope)) + 3 * spread * rng.normal(size=rows)


def bounded(X, y, dim):
    return enforce(X, y, FeatureSpace(dim, norm=1.0), LABELS)


def spec_of(dim, **changes):
    space = FeatureSpace(dim, norm=1.0)
    return ProblemSpec(Squared(), space.radius, space.size, **changes)


def fitted(plan, data, seed=0):
    with np.errstate(all="ignore"):
        return plan.learn(data, NotPrivateBits(seed).stream())


def score(theta, X, y):
    """R^2 in the user's units."""
    weights, offset = FeatureSpace(X.shape[1], norm=1.0).coefficients(theta)
    predicted = LABELS.center + LABELS.half_width * (X @ weights + offset)
    return 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def ridge_solution(X, y, strength):
    """Without noise, by an augmented least-squares problem: another way than the sums."""
    extended = np.column_stack([X, np.full(len(X), 0.25)])
    targets = (np.clip(y, -2, 4) - 1) / 3
    rows = np.concatenate([extended, math.sqrt(strength) * np.eye(extended.shape[1])])
    return np.linalg.lstsq(rows, np.concatenate([targets, np.zeros(extended.shape[1])]), rcond=None)[0]


def test_sums_are_those_of_the_bounded_rows():
    X, y = problem(700, 5)
    X[:100] *= 50  # cut back to the norm
    data = bounded(X, y, 5)
    found = moments(data, spec_of(5))
    on_grid = np.column_stack([data.block(0, 700).x, np.full(700, 0.25)])
    inside = np.column_stack([X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, np.newaxis], np.full(700, 0.25)])
    for rows, accuracy in ((on_grid, 1e-12), (inside, 1e-5)):  # truncated by at most 2^-24 in an entry (T200)
        assert found.gram == pytest.approx(rows.T @ rows, rel=accuracy, abs=100 * accuracy)
        assert found.cross == pytest.approx(rows.T @ ((np.clip(y, -2, 4) - 1) / 3), rel=accuracy, abs=100 * accuracy)


def test_sparse_rows_have_the_sums_of_dense_ones():
    X, y = problem(700, 5)
    X[np.abs(X) < 0.3] = 0.0
    dense, sparse = (moments(bounded(kind, y, 5), spec_of(5)) for kind in (X, csr_array(X)))
    assert np.array_equal(sparse.gram, dense.gram)
    assert np.array_equal(sparse.cross, dense.cross)


def test_sums_do_not_depend_on_the_order_of_the_rows():
    """Exact sums (T201): equal bits for any order, and so for any cut."""
    X, y = problem(5000, 5)
    shuffled = np.random.default_rng(3).permutation(5000)
    one, two = moments(bounded(X, y, 5), spec_of(5)), moments(bounded(X[shuffled], y[shuffled], 5), spec_of(5))
    assert np.array_equal(one.gram, two.gram)
    assert np.array_equal(one.cross, two.cross)


def test_packing_keeps_everything_but_the_last_bits():
    rng = np.random.default_rng(1)
    gram = rng.normal(size=(6, 6))
    found = Moments(gram + gram.T, rng.normal(size=6))
    vector = pack_moments(found, 2.5)
    assert len(vector) == 6 * 7 // 2 + 6
    back = unpack_moments(vector, 2.5, 6)
    assert back.gram == pytest.approx(found.gram, rel=1e-15)
    assert back.cross == pytest.approx(found.cross, rel=1e-15)
    long = math.hypot(float(np.linalg.norm(found.gram)), 2.5 * float(np.linalg.norm(found.cross)))
    assert 0.9999 * long <= np.linalg.norm(vector) <= long


@pytest.mark.parametrize(("adjacency", "sums"), [("add_remove", math.sqrt(2)), ("replace_one", 1.5 * math.sqrt(2))])
def test_the_noise_of_both_releases(adjacency, sums):
    """mu/4 for the eigenvalue, the rest of mu^2 for the sums (T6, T19)."""
    plan = SufficientStatistics().plan(ProblemSpec(Squared(), 2.0, 5, n=1000), GDP(0.5, adjacency))
    assert plan.eigenvalue.scale == pytest.approx(4 / 0.125, rel=1e-4)
    assert plan.sums.scale == pytest.approx(4 * sums / (0.5 * math.sqrt(15 / 16)), rel=1e-4)
    assert plan.sums.dim == 5 * 6 // 2 + 5
    assert plan.event == Composed((plan.eigenvalue.event, plan.sums.event))


@pytest.mark.parametrize(
    "goal", [GDP(1.0, "add_remove"), ZCDP(0.1, "replace_one"), RDP([(2.0, 0.1), (8.0, 0.3)], "add_remove")]
)
def test_other_goals_are_met_too(goal):
    plan = SufficientStatistics().plan(spec_of(3), goal)
    X, y = problem(100, 3)
    assert plan.run(lambda: bounded(X, y, 3)).guarantee == goal


@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("n", [None, 500])
def test_a_clip_is_ignored_and_n_need_not_be_public(clip, n):
    plan = SufficientStatistics().plan(spec_of(3, clip=clip, n=n), GOAL)
    assert plan.spec.clip is None
    told = plan.describe()
    assert (told["clip"], told["lipschitz"], told["method"]) == (None, None, "sufficient")
    assert told["sums_noise"]["noise_scale"] == plan.sums.scale
    assert told["eigenvalue_noise"]["noise_scale"] == plan.eigenvalue.scale
    assert told["largest_ridge"] == plan.ridge.largest


@pytest.mark.parametrize("strength", [None, 50.0])
def test_with_hardly_any_noise_it_is_ridge_regression(strength):
    """Labels beyond their range are clipped, rows are long enough for the least eigenvalue to need no ridge."""
    X, y = problem(20_000, 5, spread=0.3)
    plan = SufficientStatistics().plan(spec_of(5, regularization=strength), GDP(50.0, "replace_one"))
    found = fitted(plan, bounded(X, y, 5))
    assert found == pytest.approx(ridge_solution(X, y, strength or 0.0), abs=2e-3)
    if strength:
        assert np.linalg.norm(found - ridge_solution(X, y, 0.0)) > 0.01


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_it_learns(adjacency):
    X, y = problem(20_000, 10)
    plan = SufficientStatistics().plan(spec_of(10, n=20_000), ApproxDP(1.0, 1e-6, adjacency))
    data = bounded(X, y, 10)
    best = score(ridge_solution(X, y, 1e-6), X, y)
    assert best > 0.98
    assert min(score(fitted(plan, data, seed), X, y) for seed in range(5)) > 0.95


def test_few_records_give_a_bounded_guess():
    """Nothing is divided by less than the largest ridge: coefficients stay within reason."""
    X, y = problem(5, 10)
    plan = SufficientStatistics().plan(spec_of(10), ApproxDP(0.1, 1e-6, "add_remove"))
    for seed in range(20):
        assert np.linalg.norm(fitted(plan, bounded(X, y, 10), seed)) < 3


@pytest.mark.parametrize("dim", [300, 1000])
def test_many_coefficients(dim):
    X, y = problem(2000, dim)
    plan = SufficientStatistics().plan(spec_of(dim), GDP(30.0, "add_remove"))
    theta = fitted(plan, bounded(X, y, dim))
    assert theta.shape == (dim + 1,)
    assert score(theta, X, y) > 0.3


# The ridge.


def test_the_bound_on_the_norm_of_the_noise_holds_and_is_not_far_away():
    """sigma (sqrt(2d) + sqrt(2 log(2/rho))), rho/2 = 2.5 %: exceeded in at most 2.5 % of 400 draws, by 3 deviations."""
    rng = np.random.default_rng(2)
    ridge = AdaptiveRidge(30, 2.0, 1.0, 0.0)
    norms = []
    for _ in range(400):
        gaussian = rng.normal(size=30 * 31 // 2)
        row, column = np.triu_indices(30)
        noise = np.zeros((30, 30))
        noise[row, column] = noise[column, row] = 2.0 * gaussian / np.where(row == column, 1.0, 181 / 128)
        norms.append(np.linalg.norm(noise, 2))
    assert np.mean(np.array(norms) > ridge.noise_norm) <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 400)
    assert np.median(norms) > 0.7 * ridge.noise_norm
    assert ridge.largest == ridge.noise_norm / 2


def test_a_known_eigenvalue_makes_the_ridge_superfluous():
    """lambda = max(0, largest - certain), and Lambda in any case."""
    ridge = AdaptiveRidge(2, 1.0, 1.0, 3.0)
    gram, cross = np.diag([100.0, 200.0]), np.array([100.0, 400.0])
    assert ridge.certain(1.0) == 0.0
    assert ridge.certain(101.96) == pytest.approx(100.0, abs=1e-2)
    assert ridge.coefficients(gram, cross, 1000.0) == pytest.approx(cross / (ridge.certain(1000.0) + 3.0))
    assert ridge.coefficients(gram, cross, 50.0) == pytest.approx(cross / (np.diag(gram) + 3.0))
    assert ridge.coefficients(gram, cross, 0.0) == pytest.approx(cross / (np.diag(gram) + 3.0 + ridge.largest))


def test_negative_eigenvalues_are_cut_off():
    ridge = AdaptiveRidge(2, 1.0, 1.0, 0.0)
    found = ridge.coefficients(np.diag([-1.0, 1e6]), np.array([1.0, 1e6]), 0.0)
    assert found == pytest.approx([1 / ridge.largest, 1.0], rel=1e-5)


# Refusals.


@pytest.mark.parametrize("loss", [Huber(0.5), Pinball(0.5), Logistic()], ids=lambda loss: loss.name)
def test_other_losses_are_refused_with_a_remedy(loss):
    with pytest.raises(AssumptionError, match=rf'squared loss.*got the loss {loss.name!r}.*method="gradient"'):
        SufficientStatistics().plan(ProblemSpec(loss, 1.0, 4), GOAL)


@pytest.mark.parametrize("goal", [PureDP(1.0, "add_remove"), ApproxDP(1.0, 0.0, "replace_one")])
def test_pure_goals_are_refused_with_a_remedy(goal):
    with pytest.raises(ConversionError, match=r'method="sufficient".*delta > 0.*method="objective"'):
        SufficientStatistics().plan(spec_of(3), goal)


def test_too_many_coefficients_are_refused():
    with pytest.raises(ParameterError, match=r'dim must be at most 4096.*got 4097.*method="gradient"'):
        SufficientStatistics().plan(ProblemSpec(Squared(), 1.0, 4097), GOAL)


def test_more_rows_than_rounding_is_bounded_for_are_refused(monkeypatch):
    X, y = problem(100, 3)
    plan = SufficientStatistics().plan(spec_of(3), GOAL)
    monkeypatch.setattr(type(plan), "most_rows", 99)
    with pytest.raises(DataError, match="public limit 99"):
        plan.run(lambda: bounded(X, y, 3))


def test_n_is_checked_where_it_is_public():
    X, y = problem(100, 3)
    with pytest.raises(DataError, match="n=101"):
        SufficientStatistics().plan(spec_of(3, n=101), GOAL).run(lambda: bounded(X, y, 3))
    rough = SufficientStatistics().plan(spec_of(3, n=101), ApproxDP(1.0, 1e-6, "add_remove"))
    assert rough.run(lambda: bounded(X, y, 3)).value.shape == (4,)
