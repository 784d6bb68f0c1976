# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The certified minimiser (T31, T43): against other solvers, on hard data, by every one of its methods."""

import math
import re
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from plain_objective import size_at
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression

from dperm.data.bounded import HEIGHT, BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm import minimize as module
from dperm.erm import nesterov, newton
from dperm.erm.kernels import GradientKernel
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.minimize import minimize
from dperm.erm.newton import Iterate
from dperm.erm.objective import Objective
from dperm.erm.residual_losses import Pinball
from dperm.erm.rounding import attainable_tolerance, minimizer_norm_bound
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.erm.table_objective import EXACT, TableObjective
from dperm.errors import AssumptionError, ParameterError

LOSSES = [Logistic(), HuberHinge(0.5), SmoothedHinge(0.5)]


def some_data(rows: int, columns: int, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) / math.sqrt(columns)
    return X, (X @ rng.normal(size=columns) + noise * rng.normal(size=rows) > 0).astype(int)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.2, 3.0)])
@pytest.mark.parametrize("strength", [1e-2, 1.0, 50.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.usefixtures("quick_only")
def test_it_is_the_optimum_of_scikit_learn_on_bounded_rows(problem, strength, intercept, weights):
    X, y = some_data(300, 4)
    data, spec, plain = problem(X, y, strength=strength, intercept=intercept, weights=weights)
    model = LogisticRegression(
        C=1 / strength, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cholesky"
    )
    model.fit(plain().rows, y, sample_weight=plain().weights)
    assert minimize(data, spec, 1e-9) == pytest.approx(model.coef_[0], abs=1e-6)


@pytest.mark.parametrize("clip", [None, 0.4])
@pytest.mark.parametrize("loss", [*LOSSES, HuberHinge(0.05), SmoothedHinge(5.0)], ids=repr)
@pytest.mark.usefixtures("quick_only")
def test_it_is_the_optimum_of_scipy_for_every_loss_clip_and_linear_term(problem, loss, clip):
    X, y = some_data(120, 3, seed=1)
    linear = np.array([3.0, -2.0, 0.0, 5.0])
    data, spec, plain = problem(X, y, loss=loss, clip=clip, strength=0.5, linear=linear, weights=(1.0, 2.0))
    theta = minimize(data, spec, 1e-10, linear)
    reference = plain()
    options = {"gtol": 1e-9, "maxiter": 10_000}
    found = optimize.minimize(reference.value, np.zeros(4), jac=reference.gradient, method="BFGS", options=options)
    assert theta == pytest.approx(found.x, abs=1e-6)
    assert reference.value(theta) <= found.fun * (1 + 1e-14) + 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("tolerance", [10.0, 1e-2, 1e-6, 1e-10])
@pytest.mark.usefixtures("quick_only")
def test_the_gradient_is_within_the_tolerance(problem, loss, tolerance):
    X, y = some_data(5_000, 6)
    data, spec, _ = problem(X, y, loss=loss, strength=0.1)
    assert size_at(data, spec, minimize(data, spec, tolerance)) <= tolerance


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.usefixtures("quick_only")
def test_rows_in_any_order_are_solved_by_newton(problem, loss):
    """Blocks of the thinned sum unlike the rest: labels sorted, rows by length, the start all alike."""
    X, y = some_data(30_000, 5, noise=0.3)
    orders = [np.argsort(y), np.argsort(-y), np.argsort(np.linalg.norm(X, axis=1)), np.argsort(X[:, 0] * y)]
    sums = []
    for order in orders:
        data, spec, _ = problem(X[order], y[order], loss=loss, strength=1.0)
        assert data.stride_for(1) > 1
        sums.append(minimize(data, spec, 1e-6))
        assert size_at(data, spec, sums[-1]) <= 1e-6
    assert all(one == pytest.approx(sums[0], abs=1e-5) for one in sums)


def test_a_thinned_sum_that_is_of_no_use_does_no_harm(problem):
    """Every block that the thinned sum reads holds one label and one row; the others hold something else."""
    X, y = some_data(60_000, 3, noise=0.3)
    data, spec, _ = problem(X, y)
    stride = data.stride_for(max(newton.THINNED_ROWS[0] * 4, data.rows // 32))
    read = (np.arange(60_000) // HEIGHT) % stride == 0
    X[read], y[read] = [1.0, 0.0, 0.0], 1
    data, spec, _ = problem(X, y, strength=1e-3)
    assert size_at(data, spec, minimize(data, spec, 1e-6)) <= 1e-6


HARD = {
    "separable": lambda X, y: (X, (X[:, 0] > 0).astype(int)),
    "one label": lambda X, y: (X, np.ones_like(y)),
    "one row": lambda X, y: (np.tile(X[:1], (len(X), 1)), y),
    "constant column": lambda X, y: (np.hstack([X, np.ones((len(X), 2))]), y),
    "zeros": lambda X, y: (np.zeros_like(X), y),
    "one record": lambda X, y: (X[:1], y[:1]),
    "fewer rows than columns": lambda X, y: (X[:3], y[:3]),
}


@pytest.mark.parametrize("strength", [1e-8, 1.0])
@pytest.mark.parametrize("loss", [*LOSSES, HuberHinge(0.01), SmoothedHinge(0.01)], ids=repr)
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.usefixtures("quick_only")
def test_hard_data_are_solved_by_newton(problem, kind, loss, strength):
    X, y = HARD[kind](*some_data(200, 5))
    data, spec, _ = problem(X, y, loss=loss, strength=strength, norm=5.0)
    tolerance = max(attainable_tolerance(spec, data.rows), 1e-6 * spec.lipschitz)
    theta = minimize(data, spec, tolerance)
    assert (
        size_at(data, spec, theta)
        <= tolerance * (1 + 1e-9) + 2**-52 * np.linalg.norm(theta) * data.rows * spec.smoothness
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.usefixtures("quick_only")
def test_a_linear_term_far_beyond_the_data_is_solved_by_newton(problem, loss):
    X, y = some_data(50, 3)
    linear = np.array([1e6, -1e6, 0.0, 1e5])
    data, spec, _ = problem(X, y, loss=loss, strength=1e-3)
    tolerance = attainable_tolerance(spec, 50, float(np.linalg.norm(linear)) * (1 + 1e-12))
    theta = minimize(data, spec, tolerance, linear)
    assert np.linalg.norm(theta) == pytest.approx(np.linalg.norm(linear) / 1e-3, rel=1e-2)
    assert size_at(data, spec, theta, linear) <= 2 * tolerance


@pytest.mark.parametrize("strength", [0.01, 1.0])
@pytest.mark.usefixtures("quick_only")
def test_many_coefficients_by_conjugate_gradients(problem, strength):
    X, y = some_data(500, 3000)
    data, spec, _ = problem(X, y, strength=strength)
    assert spec.dim > newton.FACTORED_DIM
    theta = minimize(data, spec, 1e-6)
    assert size_at(data, spec, theta) <= 1e-6


@pytest.mark.parametrize(
    "loss", [LOSSES[0], *(pytest.param(loss, marks=pytest.mark.slow) for loss in LOSSES[1:])], ids=repr
)
@pytest.mark.usefixtures("quick_only")
def test_many_sparse_coefficients(problem, loss):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(sparse.random(2000, 20_000, density=1e-3, format="csr", random_state=0))
    y = (X @ rng.normal(size=20_000) > 0).astype(int)
    space = FeatureSpace(20_000, norm=1.0)
    data = enforce(X, y, space, Classes((0, 1)))
    spec = ProblemSpec(loss, space.radius, space.size, regularization=0.5)
    assert size_at(data, spec, minimize(data, spec, 1e-5)) <= 1e-5


@pytest.mark.usefixtures("quick_only")
def test_sparse_and_dense_rows_have_one_minimiser(problem):
    X, y = some_data(400, 8)
    X[np.abs(X) < 0.2] = 0.0
    found = []
    for matrix in (X, sparse.csr_array(X), np.asfortranarray(X)):
        data, spec, _ = problem(matrix, y, norm=0.7, clip=0.5)
        found.append(minimize(data, spec, 1e-9))
    assert found[1] == pytest.approx(found[0], abs=1e-8)
    assert found[2] == pytest.approx(found[0], abs=1e-8)


@pytest.mark.parametrize("matrix", [np.array, sparse.csr_array])
def test_two_calls_give_the_same_bits(problem, matrix):
    X, y = some_data(6_000, 7)
    data, spec, _ = problem(matrix(X), y, loss=SmoothedHinge(0.3), strength=0.01)
    assert minimize(data, spec, 1e-8).tobytes() == minimize(data, spec, 1e-8).tobytes()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("strength", [0.1, 10.0])
@pytest.mark.usefixtures("slow_only")
def test_without_newton_it_ends_certified_within_the_proven_number_of_steps(problem, monkeypatch, loss, strength):
    X, y = some_data(300, 4)
    data, spec, _ = problem(X, y, loss=loss, strength=strength)
    condition = (300 * spec.smoothness + strength) / strength
    first = size_at(data, spec, np.zeros(5))
    calls = []
    gradient = TableObjective.gradient
    monkeypatch.setattr(
        TableObjective, "gradient", lambda *given, **digits: calls.append(1) or gradient(*given, **digits)
    )
    theta = minimize(data, spec, 1e-7)
    most = nesterov.steps_needed(condition, first, 0.5e-7)
    assert size_at(data, spec, theta) <= 1e-7
    assert 10 < len(calls) <= (most + nesterov.LOOK) * (1 + 1 / nesterov.LOOK) + 3


@pytest.mark.usefixtures("slow_only")
def test_without_newton_the_least_attainable_tolerance_is_certified_too(problem):
    X, y = some_data(50, 3)
    data, spec, plain = problem(X, y, strength=5.0)
    tolerance = attainable_tolerance(spec, 50)
    assert tolerance < 2e-12
    assert float(plain(np.longdouble).size(minimize(data, spec, tolerance))) <= tolerance


def test_a_descent_that_ends_beyond_all_minimisers_starts_again(monkeypatch):
    """One row far from the others leads the sample astray; doubles are too coarse where the descent ends."""
    monkeypatch.setattr("dperm.data.bounded.SAMPLE_CELLS", (64, 256))
    rng = np.random.default_rng(223)
    X = rng.normal(size=(3000, 2))
    X[:, 1:], X[1500] = 0, 1e6
    y = (X @ rng.normal(size=2) * 3 / np.abs(X).mean() + rng.normal(size=3000) > 0).astype(int)
    space = FeatureSpace(2, bounds=((-1, 1),) * 2)
    spec = ProblemSpec(SmoothedHinge(2e-5), space.radius, 3, 3000, regularization=3e-11)
    theta = minimize(enforce(X, y, space, Classes((0, 1))), spec, attainable_tolerance(spec, 3000))
    assert np.linalg.norm(theta) <= minimizer_norm_bound(spec, 3000)


def few_digits_certify_nothing(module) -> None:
    """Gradients of few digits claim to be 0: the solver asks for all digits before it returns (T202, T205)."""
    rng = np.random.default_rng(205)
    data = enforce(rng.normal(size=(9_000, 3)), rng.integers(0, 2, 9_000), FeatureSpace(3, norm=1.0), Classes((0, 1)))
    spec = ProblemSpec(Logistic(), data.space.radius, 4, regularization=1.0)
    asked = []

    def lying(name: str) -> Callable[..., Any]:
        computed = getattr(TableObjective, name)

        def method(objective, *given, digits=EXACT, **options):
            asked.append(digits)
            found = computed(objective, *given, digits=digits, **options)
            scale = float(digits is EXACT)
            return found._replace(gradient=scale * found.gradient) if isinstance(found, tuple) else scale * found

        return method

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dperm.data.bounded.SAMPLE_CELLS", (2**10, 2**11))
        for name in ("gradient", "gradient_and_hessian"):
            patch.setattr(TableObjective, name, lying(name))
        theta = module.minimize(data, spec, 1e-6)
    assert size_at(data, spec, theta) <= 1e-6
    assert asked[0] is not EXACT and asked[-1] is EXACT


def test_a_gradient_of_few_digits_is_never_certified(assert_killed):
    assert_killed(
        few_digits_certify_nothing,
        "dperm.erm.minimize",
        "if digits is EXACT and certified(point)",
        "if certified(point)",
    )


@pytest.mark.parametrize(("loss", "clip"), [(Logistic(), None), (Logistic(), 0.4), (HuberHinge(0.5), None)], ids=repr)
def test_a_sample_of_an_eighth_needs_five_passes_at_most(problem, loss, clip, monkeypatch):
    """Certified at a millionth of a record's gradient after two passes with second derivatives and three without."""
    monkeypatch.setattr("dperm.data.bounded.SAMPLE_CELLS", (2**16, 2**20))
    rng, passes, sums = np.random.default_rng(5), [], BoundedData.sums
    X = rng.normal(size=(200_000, 4)) * [1.0, 1e-4, 1.0, 30.0]
    y = (X @ [1.0, 5e3, -1.0, 0.02] + rng.logistic(size=200_000) > 0).astype(int)
    data, spec, _ = problem(X, y, loss=loss, norm=40.0, clip=clip, strength=10.0)

    def counted(self, kernel):
        if isinstance(kernel, GradientKernel):
            passes.append(kernel.powers is not None)
        return sums(self, kernel)

    monkeypatch.setattr(BoundedData, "sums", counted)
    theta = minimize(data, spec, 1e-6 * spec.lipschitz)
    assert size_at(data, spec, theta) <= 1e-6 * spec.lipschitz
    assert len(passes) <= 5 and passes[:2] == [True, True]


def coarse_problem(problem, loss, seed, size):
    """Equal rows at right angles to a linear term: theta is long and all scores are near 0, so they are grainy."""
    rng = np.random.default_rng(seed)
    angle, rows = rng.uniform(0, 2 * math.pi), int(rng.integers(20, 200))
    row = np.array([math.cos(angle), math.sin(angle)])
    linear = size * np.array([-row[1], row[0]]) + rng.normal(size=2)
    labels = rng.integers(0, 2, rows)
    return problem(np.tile(row, (rows, 1)), labels, loss=loss, strength=1e-3, linear=linear, intercept=False), linear


@pytest.mark.parametrize("loss", [*LOSSES, HuberHinge(0.05)], ids=repr)
@pytest.mark.parametrize("size", [1e2, 1e5, 1e8])
@pytest.mark.usefixtures("quick_only")
def test_tolerances_below_the_last_digits_of_theta_are_certified(problem, loss, size):
    """The gradient at every double is longer than the tolerance; the minimiser is still within tolerance/Lambda."""
    coarse = 0
    for seed in range(4):
        (data, spec, plain), linear = coarse_problem(problem, loss, seed, size)
        tolerance = attainable_tolerance(spec, data.rows, float(np.linalg.norm(linear)) * (1 + 1e-12))
        theta = minimize(data, spec, tolerance, linear)
        with mp.workdps(50):
            reference = plain(mp.mpf)
            best = reference.minimizer(theta)
            apart = mp.sqrt(sum((mp.mpf(a) - b) ** 2 for a, b in zip(theta.tolist(), best, strict=True)))
            assert apart <= tolerance / spec.strength
            coarse += reference.size(theta) > tolerance
    assert coarse


@pytest.mark.parametrize("condition", [1.0, 1.5, 100.0, 1e6, 1e12])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 1e3, 1e12])
def test_the_number_of_steps_is_that_of_the_theorem(condition, ratio):
    """2 kappa (1 - 1/sqrt kappa)^k <= (t / start)^2 (Nesterov 2018, Thm 2.2.3), and hardly more steps than that."""
    steps = nesterov.steps_needed(condition, ratio, 1.0)
    shrinking = math.log1p(-1 / math.sqrt(condition)) if condition > 1 else -math.inf
    assert math.log(2 * condition) + steps * shrinking <= -2 * math.log(ratio)
    assert steps <= math.sqrt(condition) * max(math.log(2 * condition * ratio**2), 1.0) + 2


def test_nesterov_stops_within_the_proven_number_and_says_so(problem):
    X, y = some_data(40, 2)
    data, spec, _ = problem(X, y, strength=1.0)
    looks = []

    def never(point: Iterate) -> bool:
        looks.append(point.size)
        return False

    objective = Objective(data, spec, np.zeros(3))
    point, done = nesterov.descend(objective, np.full(3, 9.0), never, 1e-3)
    condition = 40 * spec.smoothness + 1
    most = nesterov.steps_needed(condition, looks[0], 0.5e-3)
    assert not done
    assert point.size <= 0.5e-3
    assert len(looks) <= most / nesterov.LOOK + 3


@pytest.mark.parametrize("dim", [3, 40])
def test_conjugate_gradients_solve_to_the_accuracy_asked_for(dim):
    rng = np.random.default_rng(dim)
    root = rng.normal(size=(dim, dim))
    matrix, target = root @ root.T + 0.1 * np.eye(dim), rng.normal(size=dim)
    for accuracy in (0.5, 1e-3, 1e-8):
        x = newton.conjugate_gradients(lambda v: matrix @ v, target, accuracy=accuracy)
        assert np.linalg.norm(matrix @ x - target) <= accuracy * np.linalg.norm(target) * (1 + 1e-6)
    assert newton.conjugate_gradients(lambda v: matrix @ v, np.zeros(dim)).tolist() == [0.0] * dim


def test_a_hessian_that_rounding_made_indefinite_is_factored_all_the_same(problem):
    X = np.ones((500, 3)) / 3
    data, spec, _ = problem(X, np.ones(500, dtype=int), strength=1e-18, norm=2.0)
    objective = Objective(data, spec, np.zeros(4))
    gradient = objective.gradient(np.zeros(4))
    move = newton.direction_at(objective, np.zeros(4))(gradient)
    assert np.isfinite(move).all()
    assert move @ gradient < 0


def test_a_kink_is_refused(problem):
    for loss in (Hinge(), Pinball()):
        data, spec, _ = problem(*some_data(10, 2), loss=loss)
        with pytest.raises(AssumptionError, match=f"{loss.name} has a kink"):
            minimize(data, spec, 1e-3)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.nan, math.inf, "1"])
def test_a_tolerance_is_a_positive_number(problem, tolerance):
    data, spec, _ = problem(*some_data(10, 2))
    with pytest.raises(ParameterError, match="tolerance"):
        minimize(data, spec, tolerance)


def test_lambda_has_to_be_known(problem):
    data, spec, _ = problem(*some_data(10, 2))
    unknown = ProblemSpec(spec.loss, spec.radius, spec.dim)
    with pytest.raises(ParameterError, match="regularization"):
        minimize(data, unknown, 1e-3)


def test_a_tolerance_that_cannot_be_certified_is_refused_without_a_word_about_the_data(problem):
    data, spec, _ = problem(*some_data(1234, 3))
    with pytest.raises(AssumptionError, match="tolerance is too small") as caught:
        minimize(data, spec, 1e-4 * attainable_tolerance(spec, 1234))
    assert not re.search(r"\d", str(caught.value))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("clip", [None, 0.5])
def test_minimisers_of_neighbours_are_no_further_apart_than_t30_and_t31_say(problem, loss, clip):
    """One record more moves the result by (L + 2 g)/Lambda at most, another record by twice L (T29, T30, T31)."""
    X, y = some_data(60, 2)
    for x, label in [([50.0, 0.0], 0), ([0.0, -1e300], 1), ([-3.0, 3.0], 0)]:
        found = []
        for rows, labels in [
            (X, y),
            (np.vstack([X, [x]]), np.append(y, label)),
            (np.vstack([X[1:], [x]]), np.append(y[1:], label)),
        ]:
            data, spec, _ = problem(rows, labels, loss=loss, clip=clip, strength=0.8)
            found.append(minimize(data, spec, 1e-6))
        reach = (spec.lipschitz + 2e-6) / 0.8
        assert np.linalg.norm(found[0] - found[1]) <= reach
        assert np.linalg.norm(found[0] - found[2]) <= 2 * reach


def certificates_count_rounding(mutant) -> None:
    """Rows that cancel exactly: the computed gradient at 0 is 0, which proves nothing below rounding."""
    space = FeatureSpace(1, norm=1.0, intercept=False)
    data = enforce(np.array([[0.3], [-0.3]]), np.array([1, 1]), space, Classes((0, 1)))
    spec = ProblemSpec(Logistic(), space.radius, 1, regularization=1.0)
    try:
        mutant.minimize(data, spec, 1e-25)
    except AssumptionError:
        return
    raise AssertionError("certified below rounding")


def tolerances_are_met(mutant) -> None:
    """On a sample of a sixth of the rows, so that the solver's own model does not meet them."""
    space = FeatureSpace(2, norm=1.0)
    X, y = some_data(3000, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dperm.data.bounded.SAMPLE_CELLS", (2**8, 2**9))
        for loss, labels, count in ((Softmax(3), y + (X[:, 0] > 0.5), 8), (Logistic(), y, 25)):
            data = enforce(X, labels, space, Classes(tuple(range(max(loss.outputs, 2)))))
            spec = ProblemSpec(loss, space.radius, 3 * loss.outputs, regularization=0.01)
            for tolerance in np.geomspace(1e-8, 100.0, count).tolist():
                assert size_at(data, spec, mutant.minimize(data, spec, tolerance)) <= tolerance


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (
            certificates_count_rounding,
            "_norm(point.gradient) + self.error(point.theta) <= tolerance",
            "_norm(point.gradient) <= tolerance",
        ),
        (
            certificates_count_rounding,
            "if size + self.error(whole) + objective.spec.strength * _norm(rest) <= tolerance:",
            "if size <= tolerance:",
        ),
        (tolerances_are_met, "_norm(point.gradient) + self.error(point.theta) <= tolerance", "True"),
        (
            tolerances_are_met,
            "_norm(point.gradient) + self.error(point.theta) <= tolerance",
            "_norm(point.gradient) + self.error(point.theta) <= 10 * tolerance",
        ),
    ],
    ids=["doubles without rounding", "two parts without rounding", "no tolerance", "ten times the tolerance"],
)
def test_a_certificate_that_certifies_too_much_is_noticed(assert_killed, check, old, new):
    assert_killed(check, module.__name__, old, new)
