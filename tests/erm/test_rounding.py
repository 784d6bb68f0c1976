# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on rounding (T31, T202): of gradients, against 60 digits; of minimisers; and what is attainable."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_objective import Plain
from scipy import optimize, sparse

from dperm.data.bounded import enforce
from dperm.data.passes import Place
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm import rounding
from dperm.erm.exact_sums import exponent
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.minimize import minimize
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.rounding import attainable_tolerance, gradient_error, minimizer_norm_bound, slope_bound
from dperm.erm.smoothing import SmoothPinball
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.erm.table_objective import TableObjective, gradient_kernel

LOSSES = [Logistic(), HuberHinge(0.5), SmoothedHinge(0.5), HuberHinge(0.01), SmoothedHinge(0.02), HuberHinge(20.0)]
RESIDUALS = [Squared(), Huber(0.5), Huber(1e-6), Huber(10.0)]
KINKED = [Hinge(), Pinball(0.5), Pinball(0.9), SmoothPinball(0.3, 0.1)]
SEVERAL = [Softmax(3), Softmax(10)]
CLIPPED = [(loss, clip) for loss in [*LOSSES, *RESIDUALS, *KINKED, *SEVERAL] for clip in (None, 0.7, 1e-3)]
MEASURED = [(loss, clip) for loss, clip in CLIPPED if clip or loss != Squared()]
RNG = np.random.default_rng(3)
ULP = 2.0**-53


@pytest.fixture(autouse=True)
def own_numbers() -> None:
    """Each test draws the same numbers, whichever tests run before it."""
    global RNG
    RNG = np.random.default_rng(3)


def norm(vector) -> float:
    return float(np.linalg.norm(vector)) * (1 + 1e-12)


def table_objective(data, spec, linear=None) -> TableObjective:
    return TableObjective(data, spec, np.zeros(spec.dim) if linear is None else linear, np.zeros(spec.width))


def cancelling(row: np.ndarray, scores: np.ndarray, size: float) -> np.ndarray:
    """Coefficients of this size that give a row these scores, so that their terms cancel if they are huge."""
    tables = []
    for score in scores:
        theta = size * RNG.normal(size=len(row))
        theta[-1] = 0.0
        theta[-1] = (score - row @ theta) / row[-1]
        tables.append(theta)
    return np.concatenate(tables)


def bend_scores(loss, target) -> np.ndarray:
    """Scores at which the derivative of the loss moves."""
    if loss.outputs > 1:
        return RNG.uniform(-1.5, 1.5, size=loss.outputs)
    ends = {Logistic: 1.5, Huber: loss.slope, Squared: 1.0, Hinge: 2.0**-11, Pinball: 2.0**-11}
    width = ends.get(type(loss), getattr(loss, "width", 1.0)) * RNG.uniform(-1, 1, size=1)
    margin = 1.0 if loss.labels is LabelKind.SIGN and not isinstance(loss, Logistic) else 0.0
    return target * (margin + width) if loss.labels is LabelKind.SIGN else target + width


def error_at(data, spec, theta, linear=None) -> float:
    """The distance of the computed gradient from the exact one."""
    linear = np.zeros(spec.dim) if linear is None else linear
    found = table_objective(data, spec, linear).gradient(theta)
    with mp.workdps(60):
        reference = Plain(data, spec, linear, mp.mpf)
        exact = reference.gradient(reference.numbers(theta))
        return float(mp.sqrt(sum((mp.mpf(a) - b) ** 2 for a, b in zip(found.tolist(), exact, strict=True))))


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("loss", "clip"), MEASURED, ids=repr)
def test_a_gradient_is_no_further_from_the_exact_one_than_claimed(problem, loss, clip, is_sparse):
    """Scores of order 1 of small and of huge coefficients, and scores far beyond the bends of the loss."""
    X = RNG.normal(size=(10, 3)) * RNG.choice([1e-3, 1.0, 1e3, 1e200], size=(10, 1))
    X[5:] = X[:5]
    y = np.repeat([0, 1], 5)  # each row with both labels: the sum cancels
    matrix = sparse.csr_array(X) if is_sparse else X
    linear = RNG.normal(size=4 * loss.outputs)
    options = {"loss": loss, "clip": clip, "norm": 1.7, "weights": (1.0, 1.3), "strength": 0.3, "linear": linear}
    data, spec, plain = problem(matrix, y, **options)
    row = plain().rows[0]
    thetas = [np.zeros(spec.dim), 30 * RNG.normal(size=spec.dim)]
    target = plain().targets[0]
    for theta in [*thetas, *(cancelling(row, bend_scores(loss, target), size) for size in (1.0, 1e3, 1e6, 1e11))]:
        assert error_at(data, spec, theta, linear) <= gradient_error(spec, 10, norm(theta), norm(linear))


@pytest.mark.parametrize("loss", [*LOSSES, *RESIDUALS, *KINKED, *SEVERAL], ids=repr)
def test_the_claim_is_no_more_than_some_times_the_error_of_one_record(problem, loss):
    """For usual coefficients, and for coefficients in the thousands that cancel."""
    clip = 5.0 if loss == Squared() else None
    for size, share in ((1.0, 1 / 200), (3e3, 1 / 1000)):
        found = []
        for _ in range(30):
            labels = RNG.integers(0, 3 if loss.outputs > 1 else 2, size=1)
            data, spec, plain = problem(RNG.normal(size=(1, 3)), labels, loss=loss, clip=clip, strength=1e-20)
            theta = cancelling(plain().rows[0], bend_scores(loss, plain().targets[0]), size)
            found.append(error_at(data, spec, theta) / gradient_error(spec, 1, norm(theta)))
        assert share <= max(found) <= 1


def one_huge(columns: int, size: float) -> tuple[object, ProblemSpec, np.ndarray]:
    """A record without the first feature, and coefficients of which only the first is huge: others lose digits."""
    space = FeatureSpace(columns, bounds=((-1.0, 1.0),) * columns)
    X = RNG.choice([-1.0, 1.0], size=(1, columns))
    X[0, 0] = 0.0
    data = enforce(X, np.array([1]), space, Classes((0, 1)))
    spec = ProblemSpec(Logistic(), space.radius, space.size, regularization=1e-30)
    return data, spec, np.append(size, RNG.normal(size=columns))


@pytest.mark.parametrize("columns", [1, 7, 63, 300])
def test_digits_that_no_slice_holds_are_within_the_claim(columns):
    """The slices of 63 columns hold one digit more than is claimed."""
    offs = []
    for _ in range(20 if columns == 63 else 3):
        data, spec, theta = one_huge(columns, 1e13)
        offs.append(error_at(data, spec, theta) / gradient_error(spec, 1, norm(theta)))
    assert max(offs) <= 1
    assert columns != 63 or max(offs) >= 1 / 1000


@pytest.mark.parametrize("loss", SEVERAL, ids=repr)
def test_scores_that_differ_by_little_are_within_the_claim(problem, loss):
    """Scores of 1e8 that nearly cancel: the largest one is subtracted before anything is rounded."""
    X = RNG.normal(size=(20, 3))
    data, spec, _ = problem(X, RNG.integers(0, 3, size=20), loss=loss, strength=1e-20)
    theta = (1e8 * RNG.normal(size=4) + RNG.normal(size=(loss.classes, 4))).ravel()
    claimed = gradient_error(spec, 20, norm(theta))
    assert error_at(data, spec, theta) <= claimed
    assert error_at(data, spec, theta) <= 20 * 30 * ULP  # subtracted after rounding it would be off by 1e-8


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long doubles are doubles here")
@pytest.mark.parametrize("loss", [Logistic(), Huber(0.3), Squared(), Softmax(3)], ids=repr)
def test_many_rows_are_no_further_off_than_claimed(problem, loss):
    rng = np.random.default_rng(50_000)
    X, y = rng.normal(size=(50_000, 8)), rng.integers(0, 3 if loss.outputs > 1 else 2, size=50_000)
    data, spec, plain = problem(X, y, loss=loss, norm=3.0, clip=1.5 if loss == Squared() else None)
    for size in (1.0, 1e6):
        theta = size * rng.normal(size=spec.dim)
        exact = plain(np.longdouble).gradient(theta.astype(np.longdouble))
        off = norm((table_objective(data, spec).gradient(theta) - exact).astype(float))
        assert 0 < off <= gradient_error(spec, 50_000, norm(theta))


def test_the_bound_grows_like_the_rows_and_is_small_for_many():
    """T202: 10^8 records, 50 columns: less than 1e-6 L at any usual theta; 5.8e-4 L before sums were exact."""
    spec = ProblemSpec(Logistic(), 1.03, 51)
    for length in (0.0, 10.0, 1000.0):
        large = gradient_error(spec, 10**8, length)
        assert large == pytest.approx(100 * gradient_error(spec, 10**6, length), rel=1e-12)
        assert large <= 1e-6 * spec.lipschitz


def test_more_rows_longer_coefficients_and_larger_terms_are_bounded_by_more():
    spec = ProblemSpec(Logistic(), 2.0, 5, regularization=0.1)
    base = gradient_error(spec, 100, 1.0, 1.0)
    assert base < gradient_error(spec, 101, 1.0, 1.0)
    assert base < gradient_error(spec, 100, 1.1, 1.0)
    assert base < gradient_error(spec, 100, 1.0, 1e6)
    assert base < gradient_error(ProblemSpec(Logistic(), 2.0, 6, regularization=0.1), 100, 1.0, 1.0)
    assert base < gradient_error(ProblemSpec(Logistic(), 2.0, 5, regularization=0.1, weight=1.5), 100, 1.0, 1.0)
    huber = ProblemSpec(Huber(0.5), 2.0, 5, regularization=0.1)
    assert gradient_error(huber, 100, 1.0) < gradient_error(
        ProblemSpec(Huber(5.0), 2.0, 5, regularization=0.1), 100, 1.0
    )


def target_for(loss):
    classes = tuple(range(max(loss.outputs, 2)))
    return Interval(-1.0, 1.0) if loss.labels is LabelKind.NUMBER else Classes(classes)


@pytest.mark.parametrize("loss", [*LOSSES, *RESIDUALS[:2], *KINKED], ids=repr)
@pytest.mark.parametrize("limit", [None, 0.3, 1e-6, 1e-200])
def test_evaluating_a_slope_has_no_more_roundings_than_are_counted(loss, limit):
    """At most 10 of the 40 u of the largest slope after limiting, for scores that are doubles."""
    rng = np.random.default_rng(1)
    data = enforce(np.ones((1, 1)), np.zeros(1), FeatureSpace(1, norm=1.0), target_for(loss))
    is_number = loss.labels is LabelKind.NUMBER
    targets = np.round(rng.uniform(-1, 1, size=100), 6) if is_number else rng.choice([-1.0, 1.0], size=100)
    targets = np.rint(targets * 2.0**30) * 2.0**-30  # residuals are exact
    around = np.concatenate([rng.normal(size=60) * 10 ** rng.uniform(-6, 2, size=60), 1 + 0.1 * rng.normal(size=40)])
    scores = np.rint((around + targets * is_number) * 2.0**30) * 2.0**-30
    limits = None if limit is None else np.full(100, limit)
    found = loss.slopes(scores, targets, limits)
    with mp.workdps(60):
        plain = Plain(data, ProblemSpec(loss, 1.0, 2, clip=limit), np.zeros(2), mp.mpf)
        plain.__dict__.update(targets=targets, limits=np.array([mp.inf if limit is None else mp.mpf(limit)] * 100))
        exact = plain.by_score(plain.numbers(scores)[:, np.newaxis])[:, 0]
        off = max(abs(mp.mpf(a) - b) for a, b in zip(found.tolist(), exact, strict=True))
    assert off <= 10 * ULP * min(np.abs(found).max(), loss.slope)


@given(
    st.sampled_from([*LOSSES, *RESIDUALS, *KINKED, *SEVERAL]),
    st.sampled_from([None, 1e-9, 0.3, 50.0]),
    st.floats(-4, 8),
    st.sampled_from([0.0, 1e-9, 1e-4, 0.3, 1e5]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_no_slope_is_beyond_the_bound_that_fixes_its_digits(loss, clip, size, stretch, intercept, seed):
    """Of zero rows, short rows and long rows, with and without a constant: |w f'| <= 2^top, as T201 needs."""
    rng, space = np.random.default_rng(seed), FeatureSpace(2, norm=2.0, intercept=intercept)
    target = Interval(-1.0, 1.0) if loss.labels is LabelKind.NUMBER else target_for(loss)
    labels = rng.choice([-1.0, 1.0], 4) if loss.labels is LabelKind.NUMBER else rng.integers(0, 2, 4)
    rows = stretch * np.array([[1.0, 2.0], [-2.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    spec = ProblemSpec(loss, space.radius, loss.outputs * space.size, clip=clip)
    theta = 10**size * rng.normal(size=spec.dim)
    data = enforce(rows, labels, space, target)
    kernel, held = gradient_kernel(data, spec, theta), data.in_memory()
    scores = kernel.coefficients.scores(held.cells.astype(np.float64))
    slopes = loss.slopes(scores, target.targets(held.codes)[0], kernel.limits(held))
    bound = slope_bound(spec, float(np.linalg.norm(theta)), space.constant)
    assert np.abs(slopes).max() <= bound <= 2.0**kernel.top
    assert bound <= slope_bound(spec, float(np.linalg.norm(theta)))
    assert exponent(bound) == kernel.top
    assert np.isfinite(kernel.gradient(kernel(held, Place("", 0)))).all()


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
    assert attainable_tolerance(spec, 1000, 5.0) >= 3 * gradient_error(spec, 1000, length, 5.0)
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
    with mp.workdps(40):
        found = float(plain(mp.mpf).size(theta))
    grain = data.rows * spec.smoothness + spec.strength
    assert found <= tolerance * (1 + 1e-9) + 2 * ULP * grain * norm(theta)
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
            best = reference.minimizer(theta)
            off = mp.sqrt(sum((mp.mpf(float(a)) - b) ** 2 for a, b in zip(theta, best, strict=True)))
            assert off <= tolerance / strength


def claims_cover_errors(module) -> None:
    """Margins in a narrow bend, and coefficients of very different sizes: the scores are off by more than all else."""
    for _ in range(20):
        data, spec, theta = one_huge(63, 1e11)
        assert error_at(data, spec, theta) <= module.gradient_error(spec, 1, norm(theta))
        space = FeatureSpace(3, norm=1.0)
        data = enforce(RNG.normal(size=(1, 3)), np.array([1]), space, Classes((0, 1)))
        spec = ProblemSpec(HuberHinge(1e-3), space.radius, 4, regularization=1e-30)
        theta = cancelling(Plain(data, spec, np.zeros(4)).rows[0], RNG.uniform(0.999, 1.001, size=1), 1.0)
        assert error_at(data, spec, theta) <= module.gradient_error(spec, 1, norm(theta))


@pytest.mark.parametrize("old", ["4 * ULP * relative + ", " + steepness * rest"])
def test_a_count_that_forgets_scores_is_noticed(assert_killed, old):
    assert_killed(claims_cover_errors, "dperm.erm.rounding", old, "")


def test_the_unit_of_rounding_is_that_of_the_arithmetic():
    assert rounding.ULP == np.finfo(np.float64).eps / 2
