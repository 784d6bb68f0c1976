# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The certified minimiser of regression and of several classes (T31, T43): against other solvers, and on hard data."""

import math

import numpy as np
import pytest
from plain_objective import size_at
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression, Ridge

from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm import newton
from dperm.erm.losses import HuberHinge
from dperm.erm.minimize import minimize
from dperm.erm.objective import Objective
from dperm.erm.residual_losses import Huber, Squared
from dperm.erm.rounding import attainable_tolerance, minimizer_norm_bound
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError

RESIDUALS = [(Squared(), 0.3), *((Huber(kappa), None) for kappa in (1e-6, 1e-3, 0.5, 10.0)), (Huber(0.5), 0.1)]
SEVERAL = [(Softmax(3), None), (Softmax(10), None)]
OTHERS = pytest.mark.parametrize(("loss", "clip"), [*RESIDUALS, *SEVERAL], ids=repr)


def other_data(loss, rows: int, columns: int, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Labels in [-2, 4] and beyond, or as many classes as the loss has."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) / math.sqrt(columns)
    scores = X @ (3 * rng.normal(size=(columns, loss.outputs)))
    if loss.outputs > 1:
        return X, (scores + noise * rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X, 1 + scores[:, 0] + noise * rng.normal(size=rows)


@pytest.mark.parametrize("strength", [1e-2, 1.0])
@pytest.mark.usefixtures("quick_only")
def test_several_classes_have_the_optimum_of_scikit_learn(problem, strength):
    X, y = other_data(Softmax(4), 400, 3)
    data, spec, plain = problem(X, y, loss=Softmax(4), strength=strength, weights=(0.5, 2.0))
    model = LogisticRegression(C=1 / strength, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="lbfgs")
    model.fit(plain().rows, y, sample_weight=plain().weights)
    assert minimize(data, spec, 1e-9) == pytest.approx(model.coef_.ravel(), abs=1e-4)


@pytest.mark.usefixtures("quick_only")
def test_a_clip_that_limits_nothing_gives_ridge_regression(problem):
    X, y = other_data(Squared(), 300, 4)
    data, spec, plain = problem(X, y, loss=Squared(), clip=1e3, strength=0.7)
    model = Ridge(alpha=0.7, fit_intercept=False, solver="cholesky").fit(plain().rows, plain().targets)
    assert minimize(data, spec, 1e-10) == pytest.approx(model.coef_, abs=1e-9)


@OTHERS
@pytest.mark.usefixtures("quick_only")
def test_it_is_the_optimum_of_scipy_for_regression_and_several_classes(problem, loss, clip):
    X, y = other_data(loss, 120, 3, seed=1)
    linear = 3 * np.random.default_rng(7).normal(size=4 * loss.outputs)
    data, spec, plain = problem(X, y, loss=loss, clip=clip, strength=0.5, linear=linear, weights=(1.0, 2.0, 0.3))
    theta, reference = minimize(data, spec, 1e-10, linear), plain()
    options = {"gtol": 1e-8, "maxiter": 10_000}
    found = optimize.minimize(reference.value, theta + 0.1, jac=reference.gradient, method="BFGS", options=options)
    assert reference.value(theta) <= found.fun + 1e-12 * abs(found.fun) + 1e-12
    assert theta == pytest.approx(found.x, abs=1e-5)
    assert float(plain(np.longdouble).size(theta)) <= 1e-10


@OTHERS
@pytest.mark.parametrize("tolerance", [10.0, 1e-3, 1e-9])
@pytest.mark.usefixtures("quick_only")
def test_gradients_of_regression_and_several_classes_are_within_the_tolerance(problem, loss, clip, tolerance):
    X, y = other_data(loss, 5_000, 6)
    data, spec, plain = problem(X, y, loss=loss, clip=clip, strength=0.1)
    theta = minimize(data, spec, tolerance)
    assert size_at(data, spec, theta) <= tolerance
    assert float(plain(np.longdouble).size(theta)) <= tolerance


@OTHERS
@pytest.mark.usefixtures("quick_only")
def test_rows_of_every_kind_in_any_order_are_solved_by_newton(problem, loss, clip):
    """The thinned sum reads rows of some labels only."""
    X, y = other_data(loss, 17_000, 5, noise=1.0)
    for order in (np.argsort(y), np.argsort(X[:, 0])):
        data, spec, _ = problem(X[order], y[order], loss=loss, clip=clip)
        assert data.stride_for(1) > 1
        assert size_at(data, spec, minimize(data, spec, 1e-6)) <= 1e-6


HARD = {
    "separable": lambda X, y: (X, np.where(X[:, 0] > 0, 2, 0)),
    "one label": lambda X, y: (X, np.full(len(X), 2)),
    "two labels": lambda X, y: (X, np.where(np.arange(len(X)) % 2, 1, 2)),
    "one row": lambda X, y: (np.tile(X[:1], (len(X), 1)), y),
    "constant column": lambda X, y: (np.hstack([X, np.ones((len(X), 2))]), y),
    "zeros": lambda X, y: (np.zeros_like(X), y),
    "one record": lambda X, y: (X[:1], y[:1]),
    "fewer rows than columns": lambda X, y: (X[:3], y[:3]),
}


@pytest.mark.parametrize("strength", [1e-8, 1e-6, 1.0])
@OTHERS
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.usefixtures("quick_only")
def test_hard_data_of_every_kind_are_solved_by_newton(problem, kind, loss, clip, strength):
    """C up to 1e8: what is attainable is attained."""
    X, y = HARD[kind](*other_data(loss, 200, 5))
    data, spec, plain = problem(X, y, loss=loss, clip=clip, strength=strength, norm=5.0)
    tolerance = max(attainable_tolerance(spec, data.rows), 1e-6 * spec.lipschitz)
    theta = minimize(data, spec, tolerance)
    rounded = 2**-52 * np.linalg.norm(theta) * data.rows * spec.smoothness
    assert float(plain(np.longdouble).size(theta)) <= tolerance * (1 + 1e-9) + rounded


@OTHERS
@pytest.mark.usefixtures("quick_only")
def test_a_linear_term_far_beyond_data_of_every_kind_is_solved_by_newton(problem, loss, clip):
    X, y = other_data(loss, 50, 3)
    linear = np.tile([1e6, -1e6, 0.0, 1e5], loss.outputs) * np.repeat(np.arange(1, loss.outputs + 1), 4)
    data, spec, _ = problem(X, y, loss=loss, clip=clip, strength=1e-3)
    tolerance = attainable_tolerance(spec, 50, float(np.linalg.norm(linear)) * (1 + 1e-12))
    theta = minimize(data, spec, tolerance, linear)
    assert np.linalg.norm(theta) == pytest.approx(np.linalg.norm(linear) / 1e-3, rel=1e-2)
    assert size_at(data, spec, theta, linear) <= 2 * tolerance


@OTHERS
@pytest.mark.usefixtures("quick_only")
def test_sparse_and_dense_rows_of_every_kind_have_one_minimiser(problem, loss, clip):
    X, y = other_data(loss, 400, 8)
    X[np.abs(X) < 0.2] = 0.0
    found = []
    for matrix in (X, sparse.csr_array(X), np.asfortranarray(X)):
        data, spec, _ = problem(matrix, y, norm=0.7, loss=loss, clip=clip)
        found.append(minimize(data, spec, 1e-9))
    assert found[1] == pytest.approx(found[0], abs=1e-8)
    assert found[2] == pytest.approx(found[0], abs=1e-8)


@pytest.mark.usefixtures("quick_only")
def test_many_sparse_coefficients_of_several_classes():
    """More columns than are factored: conjugate gradients have to do without their help."""
    X = sparse.csr_array(sparse.random(1500, 3_000, density=3e-3, format="csr", random_state=0))
    y = np.random.default_rng(0).integers(0, 3, size=1500)
    space = FeatureSpace(3_000, norm=1.0)
    data = enforce(X, y, space, Classes((0, 1, 2)))
    spec = ProblemSpec(Softmax(3), space.radius, 3 * space.size, regularization=0.5)
    assert spec.width > newton.FACTORED_DIM
    assert size_at(data, spec, minimize(data, spec, 1e-5)) <= 1e-5


@pytest.mark.parametrize("loss", [Huber(0.5), Softmax(3)], ids=repr)
def test_rows_that_all_do_not_count_leave_the_regulariser_and_the_linear_term(loss):
    space, several = FeatureSpace(2, norm=1.0), loss.outputs > 1
    target = Classes((0, 1, 2)) if several else Interval(0.0, 1.0)
    data = enforce(np.full((7, 2), np.nan), np.zeros(7), space, target, invalid="drop")
    spec = ProblemSpec(loss, space.radius, 3 * loss.outputs, regularization=0.5)
    linear = np.arange(spec.dim, dtype=float)
    assert minimize(data, spec, 1e-9, linear) == pytest.approx(-linear / 0.5, abs=2e-9)


@OTHERS
@pytest.mark.usefixtures("slow_only")
def test_without_newton_every_kind_ends_certified(problem, loss, clip):
    X, y = other_data(loss, 100, 3)
    data, spec, _ = problem(X, y, loss=loss, clip=clip, strength=1.0)
    assert size_at(data, spec, minimize(data, spec, 1e-7)) <= 1e-7


def test_the_help_of_the_gram_matrix_saves_products(problem):
    """Columns of very different sizes: without it conjugate gradients need several times as many."""
    X, y = other_data(Softmax(3), 2_000, 10)
    data, spec, _ = problem(X * np.geomspace(1e-3, 1.0, 10), y, loss=Softmax(3), norm=100.0, strength=1e-6)
    objective = Objective(data, spec, np.zeros(spec.dim))
    gradient, bends = objective.gradient(np.zeros(spec.dim)), objective.bends(np.zeros(spec.dim))
    counts = []
    for easier in (None, newton._preconditioner(objective, newton.preconditioning_gram(objective))):
        products = []
        newton.conjugate_gradients(
            lambda v, seen=products: seen.append(1) or objective.hessian_product(bends, v), gradient, easier, 1e-6
        )
        counts.append(len(products))
    assert counts[1] <= 5 < 20 <= counts[0]


@OTHERS
def test_minimisers_of_neighbours_of_every_kind_are_no_further_apart_than_t30_and_t31_say(problem, loss, clip):
    X, y = other_data(loss, 60, 2)
    for x, label in [([50.0, 0.0], 0), ([0.0, -1e300], 2), ([-3.0, 3.0], 1)]:
        more, instead = np.vstack([X, [x]]), np.vstack([X[1:], [x]])
        found = []
        for rows, labels in [(X, y), (more, np.append(y, label)), (instead, np.append(y[1:], label))]:
            data, spec, _ = problem(rows, labels, loss=loss, clip=clip, strength=0.8)
            found.append(minimize(data, spec, 1e-6))
        reach = (spec.lipschitz + 2e-6) / 0.8
        assert np.linalg.norm(found[0] - found[1]) <= reach
        assert np.linalg.norm(found[0] - found[2]) <= 2 * reach


@pytest.mark.parametrize("loss", [Huber(1e-3), HuberHinge(0.02), Squared()], ids=repr)
def test_a_correction_without_a_minimiser_is_left_out(problem, loss, monkeypatch):
    """A small sample of rows of very different norms: the corrected model may be concave away from a point."""
    monkeypatch.setattr("dperm.data.bounded.SAMPLE_CELLS", (2**9, 2**10))
    failed, descend = [], newton.descend

    def seen(objective, start, done, **known):
        """Concave models have an indefinite Hessian, or no minimiser nearby."""
        try:
            found = descend(objective, start, done, **known)
        except AssumptionError:
            failed.append(objective)
            raise
        if np.linalg.norm(found[0].theta) > 2 * minimizer_norm_bound(objective.spec, 2_000):
            failed.append(objective)
        return found

    monkeypatch.setattr(newton, "descend", seen)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2_000, 3)) * 10 ** rng.uniform(-3, 3, size=(2_000, 1))
        y = (
            rng.normal(size=2_000)
            if loss.outputs == 1 and loss.labels is LabelKind.NUMBER
            else rng.integers(0, 2, 2_000)
        )
        data, spec, _ = problem(X, y, loss=loss, norm=10.0, strength=1e-2, clip=0.02 if loss == Squared() else None)
        tolerance = attainable_tolerance(spec, 2_000)
        assert size_at(data, spec, minimize(data, spec, tolerance)) <= tolerance
    assert failed
    assert all(objective.quadratic is not None for objective in failed)
