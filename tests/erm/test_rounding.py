# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on rounding (T31): of gradients, against 60 digits and long doubles; of minimisers; and what is attainable."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from dperm.erm import extended_precision, rounding
from dperm.erm.losses import HuberHinge, Logistic, SmoothedHinge
from dperm.erm.minimize import minimize
from dperm.erm.objective import Objective
from dperm.erm.residual_losses import Huber, Squared
from dperm.erm.rounding import attainable_tolerance, gradient_error, minimizer_norm_bound
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec

LOSSES = [Logistic(), HuberHinge(0.5), SmoothedHinge(0.5), HuberHinge(0.01), SmoothedHinge(0.02), HuberHinge(20.0)]
RESIDUALS = [Squared(), Huber(0.5), Huber(1e-6), Huber(10.0)]
SEVERAL = [Softmax(3), Softmax(10)]
CLIPPED = [(loss, clip) for loss in [*LOSSES, *RESIDUALS, *SEVERAL] for clip in (None, 0.7)]
MEASURED = [(loss, clip) for loss, clip in CLIPPED if clip or loss != Squared()]
RNG = np.random.default_rng(3)
ULP = 2.0**-53
longer = pytest.mark.skipif(extended_precision.ULP >= ULP, reason="long doubles are doubles here")


def norm(vector) -> float:
    return float(np.linalg.norm(vector)) * (1 + 1e-12)


def near_the_bends(X: np.ndarray, dim: int, size: float) -> np.ndarray:
    """Coefficients that give about half the rows scores of order 1, where losses bend; or huge ones."""
    theta = RNG.normal(size=dim)
    return theta * size / max(np.median(np.abs(X @ theta[: X.shape[1]])), 1e-9)


def exactly(numbers) -> np.ndarray:
    """Long doubles, in 60 digits."""
    heads = numbers.astype(float)
    tails = (numbers - heads).astype(float)
    return np.array([mp.mpf(float(head)) + mp.mpf(float(tail)) for head, tail in zip(heads, tails, strict=True)])


def difference(found, exact) -> float:
    with mp.workdps(60):
        return float(mp.sqrt(sum((mp.mpf(float(a)) - b) ** 2 for a, b in zip(found, exact, strict=True))))


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("loss", "clip"), MEASURED, ids=repr)
def test_a_gradient_is_no_further_from_the_exact_one_than_claimed(problem, loss, clip, is_sparse):
    for size in (0.0, 1.0, 30.0, 1e7):
        X = RNG.normal(size=(12, 3)) * RNG.choice([1e-3, 1.0, 1e3, 1e200], size=(12, 1))
        X[6:] = X[:6]
        y = np.repeat([0, 1], 6)  # each row with both labels: the sum cancels
        matrix = sparse.csr_array(X) if is_sparse else X
        linear = RNG.normal(size=4 * loss.outputs)
        options = {"loss": loss, "clip": clip, "norm": 1.7, "weights": (1.0, 1.3), "strength": 0.3, "linear": linear}
        data, spec, plain = problem(matrix, y, **options)
        theta = near_the_bends(np.clip(X, -1, 1), spec.dim, size)
        objective = Objective(data, spec, linear)
        with mp.workdps(60):
            reference = plain(mp.mpf)
            exact = reference.gradient(reference.numbers(theta))
            off = exactly(extended_precision.gradient(objective, theta.astype(np.longdouble))) - exact
            wide_error = float(mp.sqrt(sum(off * off)))
        claimed = gradient_error(spec, 12, norm(theta), norm(linear), height=data.height)
        assert difference(objective.gradient(theta), exact) <= claimed
        assert claimed <= gradient_error(spec, 12, norm(theta), norm(linear))
        assert wide_error <= claimed * extended_precision.ULP / ULP


@pytest.mark.parametrize("loss", SEVERAL, ids=repr)
def test_scores_that_differ_by_rounding_alone_are_within_the_claim(problem, loss):
    """Scores of 1e8 that nearly cancel: probabilities move by the rounding of the scores, which the count knows."""
    X = RNG.normal(size=(20, 3))
    data, spec, plain = problem(X, RNG.integers(0, 3, size=20), loss=loss, strength=1e-9)
    row = 1e8 * RNG.normal(size=4)
    theta = (row + RNG.normal(size=(loss.classes, 4))).ravel()
    with mp.workdps(60):
        reference = plain(mp.mpf)
        off = difference(
            Objective(data, spec, np.zeros(spec.dim)).gradient(theta), reference.gradient(reference.numbers(theta))
        )
    claimed = gradient_error(spec, 20, norm(theta), height=data.height)
    assert 1e-12 < off <= claimed <= 1e4 * off


@longer
@pytest.mark.parametrize("loss", [Huber(0.3), Squared(), Softmax(3)], ids=repr)
def test_many_rows_of_every_kind_are_no_further_off_than_claimed(problem, loss):
    rng = np.random.default_rng(50_000)
    X, y = rng.normal(size=(50_000, 8)), rng.integers(0, 3, size=50_000)
    data, spec, plain = problem(X, y, loss=loss, norm=3.0, clip=None if loss.outputs > 1 else 1.5)
    objective, reference = Objective(data, spec, np.zeros(spec.dim)), plain(np.longdouble)
    for size in (1.0, 1e6):
        theta = near_the_bends(X[:1000], spec.dim, size)
        off = norm((objective.gradient(theta) - reference.gradient(theta.astype(np.longdouble))).astype(float))
        assert 0 < off <= gradient_error(spec, 50_000, norm(theta), height=data.height)


@longer
def test_a_gradient_over_many_rows_is_no_further_off_than_claimed(problem):
    """The bound holds for any order of summation; on 200,000 rows it is 30,000 times what happens in a usual one."""
    rng = np.random.default_rng(200_000)
    X = rng.normal(size=(200_000, 20))
    y = rng.integers(0, 2, size=200_000)  # labels tell nothing: pulls cancel
    data, spec, plain = problem(X, y, norm=4.0, strength=1.0)
    objective, reference = Objective(data, spec, np.zeros(21)), plain(np.longdouble)
    for size in (1.0, 1e6):
        theta = near_the_bends(X[:1000], 21, size)
        exact = reference.gradient(theta.astype(np.longdouble))
        off = norm((objective.gradient(theta) - exact).astype(float))
        claimed = gradient_error(spec, 200_000, norm(theta), height=data.height)
        assert 0 < off <= claimed
        assert size > 1 or claimed <= 1e5 * off


@longer
def test_the_bound_is_not_absurdly_loose_for_a_plain_problem(problem):
    rng = np.random.default_rng(1000)
    X = rng.normal(size=(1000, 5))
    data, spec, plain = problem(X, (X[:, 0] + rng.normal(size=1000) > 0).astype(int))
    theta = rng.normal(size=6)
    exact = plain(np.longdouble).gradient(theta.astype(np.longdouble))
    off = norm((Objective(data, spec, np.zeros(6)).gradient(theta) - exact).astype(float))
    claimed = gradient_error(spec, 1000, norm(theta), height=data.height)
    assert off <= claimed <= 1e4 * off
    assert claimed <= 1e-9 * spec.lipschitz


def test_more_rows_longer_coefficients_and_larger_terms_are_bounded_by_more():
    spec = ProblemSpec(Logistic(), 2.0, 5, regularization=0.1)
    base = gradient_error(spec, 100, 1.0, 1.0)
    assert base < gradient_error(spec, 101, 1.0, 1.0)
    assert base < gradient_error(spec, 100, 1.1, 1.0)
    assert base < gradient_error(spec, 100, 1.0, 1e6)
    assert base < gradient_error(ProblemSpec(Logistic(), 2.0, 6, regularization=0.1), 100, 1.0, 1.0)
    assert base < gradient_error(ProblemSpec(Logistic(), 2.0, 5, regularization=0.1, weight=1.5), 100, 1.0, 1.0)
    assert gradient_error(spec, 100, 1.0, 1.0, ulp=ULP / 8) == pytest.approx(base / 8)


@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("pull", [0.0, 30.0])
def test_no_minimiser_is_longer_than_longest(problem, loss, clip, pull):
    for strength in (1e-4, 1.0, 100.0):
        X = RNG.normal(size=(30, 2))
        y = (X[:, 0] > 0).astype(int)
        linear = pull * RNG.normal(size=3)
        data, spec, plain = problem(X, y, loss=loss, clip=clip, strength=strength, linear=linear, weights=(1.0, 2.0))
        theta = minimize(data, spec, 1e-6, linear)
        reference = plain()
        found = optimize.minimize(reference.value, theta, jac=reference.gradient, method="BFGS").x
        bound = minimizer_norm_bound(spec, 30, norm(linear))
        assert max(np.linalg.norm(theta), np.linalg.norm(found)) <= bound
        assert reference.value(theta) <= reference.value(np.zeros(3))


def test_longest_follows_from_j_at_zero():
    """Without data the minimiser is -b/Lambda; with n records that all pull one way, sqrt(n) enters."""
    spec = ProblemSpec(HuberHinge(0.5), 1.0, 1, regularization=1e-3)
    assert minimizer_norm_bound(spec, 0, 2.0) >= 2.0 / 1e-3
    assert minimizer_norm_bound(spec, 400) == pytest.approx(2 * minimizer_norm_bound(spec, 100))
    assert minimizer_norm_bound(spec, 100) == pytest.approx(math.sqrt(2 * 100 * 1.0 / 1e-3))


def test_attainable_leaves_room_beside_the_error_at_the_longest_coefficients():
    spec = ProblemSpec(Logistic(), 3.0, 4, regularization=0.01, weight=2.0)
    length = minimizer_norm_bound(spec, 1000, 5.0)
    assert attainable_tolerance(spec, 1000, 5.0) >= 2 * gradient_error(
        spec, 1000, length, 5.0, ulp=extended_precision.ULP
    )
    assert attainable_tolerance(spec, 1000, 5.0) >= spec.strength * ULP * length
    assert attainable_tolerance(spec, 1000, 5.0) <= 1e-6 * spec.lipschitz


@st.composite
def hard_problems(draw) -> dict[str, object]:
    """Problems on which a solver may fail: separable, constant, duplicate, zero, few rows, terms beyond the data."""
    rows, columns = draw(st.sampled_from([1, 2, 3, 7, 40, 150])), draw(st.sampled_from([1, 2, 5, 12]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(rows, columns)) * 10 ** draw(st.floats(-3, 3))
    noise = draw(st.sampled_from([0.0, 1.0, 30.0]))
    y = (X[:, 0] + noise * np.abs(X).mean() * rng.normal(size=rows) > 0).astype(int)
    shape = draw(
        st.sampled_from(["plain", "one label", "one row", "constant", "zeros", "rounded", "one column", "huge"])
    )
    if shape == "one label":
        y[:] = draw(st.integers(0, 1))
    elif shape == "one row":
        X[:] = X[0]
    elif shape == "constant":
        X[:, 0] = 1.0
    elif shape == "zeros":
        X[::2] = 0.0
    elif shape == "rounded":
        X = np.round(X)
    elif shape == "one column":
        X[:] = X[:, :1]
    elif shape == "huge":
        X[0] = 1.7e308
    intercept = draw(st.booleans())
    term = rng.normal(size=columns + intercept)
    return {
        "X": sparse.csr_array(X) if draw(st.booleans()) else X,
        "y": y,
        "loss": draw(st.sampled_from(LOSSES)),
        "norm": 10 ** draw(st.floats(-2, 2)),
        "intercept": intercept,
        "strength": 10 ** draw(st.floats(-8, 4)),
        "clip": draw(st.one_of(st.none(), st.floats(0.01, 100.0))),
        "weights": draw(st.sampled_from([(1.0, 1.0), (0.01, 1.0), (3.0, 100.0)])),
        "linear": term * draw(st.sampled_from([0.0, 1e-3, 10.0, 1e5])),
    }


def assert_attained(problem, options) -> None:
    """Lambda over 12 orders of magnitude. theta is rounded to doubles in the end, which moves it by 2^-53 ||theta||."""
    data, spec, plain = problem(**options)
    linear = options["linear"]
    tolerance = attainable_tolerance(spec, data.rows, norm(linear))
    theta = minimize(data, spec, tolerance, linear)
    assume(extended_precision.ULP < ULP)
    reference = plain(np.longdouble)
    with np.errstate(over="ignore"):
        found = float(reference.size(theta))
    slope = data.rows * spec.smoothness + spec.strength
    error = gradient_error(spec, data.rows, norm(theta), norm(linear), ulp=extended_precision.ULP)
    assert found <= (tolerance + error) * (1 + 1e-9) + 2 * ULP * slope * norm(theta)
    assert norm(theta) <= 1.01 * minimizer_norm_bound(spec, data.rows, norm(linear)) + tolerance / spec.strength


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(hard_problems())
def test_what_is_attainable_is_always_attained_and_true(problem, options):
    assert_attained(problem, options)


OTHERS = [
    (Squared(), 0.3),
    (Huber(0.4), None),
    (Huber(1e-3), None),
    (Huber(5.0), 0.2),
    (Softmax(3), None),
    (Softmax(5), None),
]


@st.composite
def other_problems(draw) -> dict[str, object]:
    """The same for regression and several classes: labels at random, of one kind, at the ends or far beyond them."""
    options = draw(hard_problems())
    rows, (loss, clip) = len(options["y"]), draw(st.sampled_from(OTHERS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if loss.outputs > 1:
        labels = rng.integers(0, draw(st.integers(1, loss.outputs)), size=rows)
    else:
        labels = draw(st.sampled_from([1.0, 100.0, 1e300])) * rng.normal(size=rows)
    term = options["linear"][0] * rng.normal(size=loss.outputs * len(options["linear"]))
    limit = None if clip is None else clip * options["norm"]
    return {**options, "y": labels, "loss": loss, "clip": limit, "linear": term}


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(other_problems())
def test_what_is_attainable_is_attained_for_regression_and_several_classes(problem, options):
    assert_attained(problem, options)


@pytest.mark.parametrize("strength", [1e-3, 1.0])
@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge(0.5)], ids=repr)
def test_the_minimiser_is_within_tolerance_over_lambda(problem, loss, strength):
    """T31, against a minimiser in 40 digits."""
    X = RNG.normal(size=(9, 2))
    y = np.array([0, 1, 0, 1, 1, 0, 1, 1, 0])
    data, spec, plain = problem(X, y, loss=loss, strength=strength)
    with mp.workdps(40):
        reference = plain(mp.mpf)
        for tolerance in (attainable_tolerance(spec, 9), 1e-9, 1e-3):
            theta = minimize(data, spec, tolerance)
            best = mp.findroot(lambda *t: list(reference.gradient(np.array(t))), [mp.mpf(float(one)) for one in theta])
            off = mp.sqrt(sum((mp.mpf(float(a)) - b) ** 2 for a, b in zip(theta, best, strict=True)))
            assert off <= tolerance / strength


def certified_errors_are_errors(module) -> None:
    """A margin of huge terms that cancel, in single precision: the count has to know the length of theta."""
    x = np.array([1.0, -1.0]) / math.sqrt(2)
    spec = ProblemSpec(Logistic(), 1.0, 2, regularization=1e-9)
    theta = np.array([1e9 + 0.1, 1e9])
    with mp.workdps(60):
        margin = sum(mp.mpf(float(a)) * mp.mpf(float(b)) for a, b in zip(x, theta, strict=True))
        exact = -1 / (1 + mp.exp(margin))
        computed = -1 / (1 + math.exp(float(x @ theta.astype(np.float32).astype(float))))
        off = float(abs(exact - computed))
    assert module.gradient_error(spec, 1, norm(theta), ulp=2.0**-24) >= off > 1e-3


def test_a_count_that_forgets_margins_is_noticed(assert_killed):
    old = "spec.loss.steepness * score"
    assert_killed(certified_errors_are_errors, "dperm.erm.rounding", old, "0")


def test_the_unit_of_rounding_is_that_of_the_arithmetic():
    assert rounding.ULP == np.finfo(np.float64).eps / 2
    assert extended_precision.ULP <= rounding.ULP
