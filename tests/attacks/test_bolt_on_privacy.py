# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bolt-on descent from both sides: how far one record moves the last iterate, through the real plan (T33, T34).

The record stays on the straight part of its loss and is replaced by its mirror image, so that the two runs are pushed
apart by 2L in every update that meets it; nobody else has a row to speak of. Then the bounds are reached but for what a
largest step 1/beta and a smaller last batch leave. TensorFlow Privacy's constant (E34) is exceeded.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dperm import GDP, ApproxDP, PureDP
from dperm.accounting import Gaussian, ReplaceOneOnly
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval
from dperm.erm.losses import HuberHinge, Logistic, SmoothedHinge
from dperm.erm.residual_losses import Huber, Squared
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.methods import bolt_on
from dperm.methods.bolt_on import BoltOn, longest_iterate, rounding_error
from dperm.noise import NotPrivateBits

LEVEL = 1e-4
GOAL = ApproxDP(1.0, 1e-5, "replace_one")
SPACES = {"norm": FeatureSpace(2, norm=1.0, intercept=False), "norm and intercept": FeatureSpace(2, norm=4.0)}
WEIGHTS = (0.5, 3.0)


# The largest moves.


def straight(
    rows: int, *, space: str = "norm", clip: float | None = None, strength: float | None = 1000.0
) -> ProblemSpec:
    """Lambda is in units of w R^2: 1000 keeps every margin below n/1000."""
    found = SPACES[space]
    given = None if strength is None else strength * max(WEIGHTS) * found.radius**2
    clip = None if clip is None else clip * found.radius
    return ProblemSpec(
        HuberHinge(0.5), found.radius, found.size, n=rows, regularization=given, clip=clip, weight=max(WEIGHTS)
    )


def pair(spec: ProblemSpec, place: int) -> list[Any]:
    """The record at ``place`` and its mirror image, of the heavier class; rows of length 0 elsewhere."""
    space = next(found for found in SPACES.values() if found.radius == spec.radius)
    found = []
    for side in (1e9, -1e9):
        X, y = np.zeros((spec.n, 2)), np.zeros(spec.n)
        X[place, 0], y[place] = side, 1
        found.append(enforce(X, y, space, Classes((0, 1), WEIGHTS)))
    return found


def last(plan: Any, data: Any, seed: int) -> np.ndarray:
    with np.errstate(all="ignore"):  # as in every release
        return plan.stopped(data, NotPrivateBits(seed).stream())


def distance(plan: Any, data: list[Any], seed: int = 0) -> float:
    """Between the last iterates of the same order of records."""
    one, two = (last(plan, each, seed) for each in data)
    return float(np.linalg.norm(one - two))


def allowed(plan: Any) -> float:
    """What the noise is calibrated to, apart from the grid."""
    statistic = plan.mechanism.statistic
    return statistic.sensitivity + 2 * statistic.numerical_error


def shares(plan: Any, seed: int = 0) -> np.ndarray:
    """Of the bound, how far the last iterate moves for each place of the record."""
    moved = [distance(plan, pair(plan.spec, place), seed) for place in range(plan.spec.n)]
    return np.array(moved) / allowed(plan)


@pytest.mark.parametrize("passes", [1, 5])
@pytest.mark.parametrize("batch", [1, 3, 7, 10, 20])
def test_with_decreasing_steps_every_place_of_the_record_reaches_the_bound(batch, passes):
    """2L/Lambda for every batch size; where b = 3 or 7 does not divide 20, 20/21 of it."""
    plan = BoltOn(passes, batch).plan(straight(20), GOAL)
    found = shares(plan)
    assert found.max() <= 1
    assert found.min() >= 0.9


@pytest.mark.parametrize("options", [{"space": "norm and intercept"}, {"clip": 0.5}], ids=str)
def test_with_an_intercept_or_clipped_gradients_too(options):
    """With an intercept the record and its image share the constant: 4/sqrt(17) of the bound."""
    found = shares(BoltOn(3, 4).plan(straight(20, **options), GOAL))
    assert found.max() <= 1
    assert found.min() >= 0.9


@pytest.mark.parametrize("batch", [1, 3, 10, 20])
@pytest.mark.parametrize("passes", [1, 5])
def test_with_constant_steps_and_no_regularisation(batch, passes):
    """2 k L eta / b."""
    plan = BoltOn(passes, batch, step_size=1e-4).plan(straight(20, strength=None), GOAL)
    assert plan.spec.regularization is None
    found = shares(plan)
    assert found.max() <= 1
    assert found.min() >= 0.99


def test_the_largest_constant_step_reaches_the_bound_too():
    """eta = 2/beta, one pass: the record has not moved its own margin off the slope yet."""
    spec = straight(20, strength=None)
    found = shares(BoltOn(1, 20, step_size=2 / spec.smoothness).plan(spec, GOAL))
    assert found.max() <= 1
    assert found.min() >= 0.99


@pytest.mark.parametrize("batch", [1, 3, 10])
def test_with_constant_steps_and_regularisation_the_last_place_is_the_worst(batch, monkeypatch):
    """(2 eta L/b) (1 - q^k)/(1 - q): a record that is last in every pass has been shrunk least."""
    spec = straight(20)
    plan = BoltOn(5, batch, step_size=0.2 / (spec.strength / 20)).plan(spec, GOAL)
    drawn = shares(plan)
    assert drawn.max() <= 1
    monkeypatch.setattr(bolt_on, "random_order", lambda count, stream: np.arange(count))
    found = shares(plan)
    assert 0.99 <= found[-1] == found.max() <= 1
    assert found[0] < 0.5 or batch == 10


@pytest.mark.parametrize("steps", [1, 30])
@pytest.mark.parametrize("strength", [None, 1000.0])
def test_full_gradient_descent(strength, steps):
    """2 L eta T/n, or (2L/(n gamma)) (1 - (1 - eta gamma)^T) (T34)."""
    spec = straight(20, strength=strength)
    step = 1e-3 if strength is None else 0.01 / (spec.strength / 20)
    plan = BoltOn(steps, "full", step_size=step).plan(spec, GOAL)
    found = shares(plan)
    assert found.max() <= 1
    assert found.min() >= 0.99


def test_full_gradient_descent_by_default():
    found = shares(BoltOn(50, "full").plan(straight(20), GOAL))
    assert 0.99 <= found.min() <= found.max() <= 1


def test_the_constant_of_tensorflow_privacy_is_exceeded():
    """E34: divided by b it is a tenth of what a record does at b = 10."""
    plan = BoltOn(5, 10).plan(straight(20), GOAL)
    published = plan.mechanism.sensitivity / 10
    assert distance(plan, pair(plan.spec, 3)) > 9 * published


def test_golden_numbers_of_the_pipeline():
    """m = 20, k = 5, gamma = .5, L = 1: .2 for b = 1, 2, 5, 10; eta = .1: 1.0 for b = 1, .2 for b = 5."""
    spec = ProblemSpec(HuberHinge(0.5), 1.0, 2, n=20, regularization=10.0)
    for batch in (1, 2, 5, 10):
        assert BoltOn(5, batch).plan(spec, GOAL).mechanism.sensitivity == pytest.approx(0.2, rel=1e-12)
    convex = ProblemSpec(HuberHinge(0.5), 1.0, 2, n=20)
    for batch, golden in ((1, 1.0), (5, 0.2)):
        found = BoltOn(5, batch, step_size=0.1).plan(convex, GOAL).mechanism.sensitivity
        assert found == pytest.approx(golden, rel=1e-12)


# Neighbours that nobody chose.

LOSSES = [Logistic(), HuberHinge(0.3), SmoothedHinge(0.5), Squared(), Huber(0.4), Softmax(3)]


def anything(rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """A random problem with rows of all lengths, a method with steps up to the largest, and neighbours."""
    loss, rows, norm = LOSSES[rng.integers(len(LOSSES))], int(rng.integers(2, 12)), 10 ** rng.uniform(-1, 1)
    space = FeatureSpace(2, norm=norm, intercept=bool(rng.integers(2)))
    clip = space.radius * rng.uniform(0.1, 1.2) if loss.outputs == 1 else None
    strength = 10 ** rng.uniform(-2, 2) * norm**2 if rng.integers(2) else None
    spec = ProblemSpec(loss, space.radius, loss.outputs * space.size, n=rows, regularization=strength, clip=clip)
    largest = 2 / spec.smoothness if strength is None else 1 / (spec.smoothness + strength / rows)
    batch = "full" if rng.integers(4) == 0 else int(rng.integers(1, rows + 1))
    step = None if rng.integers(3) == 0 else largest * rng.choice([1.0, 0.5, 0.01]) * (1 - 1e-12)
    plan = BoltOn(int(rng.integers(1, 6)), batch, step_size=step).plan(spec, GOAL)
    return plan, neighbours(spec, space, rng)


def neighbours(spec: ProblemSpec, space: FeatureSpace, rng: np.random.Generator) -> list[Any]:
    rows = spec.n
    X = space.norm * rng.normal(size=(rows + 1, 2)) * 10 ** rng.uniform(-2, 4, size=(rows + 1, 1))
    if spec.outputs > 1:
        y, target = rng.integers(3, size=rows + 1), Classes((0, 1, 2))
    elif isinstance(spec.loss, Squared | Huber):
        y, target = rng.choice([-1.0, 1.0, 0.3], size=rows + 1), Interval(-1.0, 1.0)
    else:
        y, target = rng.integers(2, size=rows + 1), Classes((0, 1))
    order = rng.permutation(rows)
    other = np.where(order == 0, rows, order)
    return [enforce(X[places], y[places], space, target) for places in (order, other)]


def random_shares(seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([distance(plan, data) / allowed(plan) for plan, data in (anything(rng) for _ in range(count))])


def test_random_neighbours_never_exceed_the_bound():
    found = random_shares(91, 250)
    assert 0.8 < found.max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_many_random_neighbours_never_exceed_the_bound(seed):
    found = random_shares(seed, 1500)
    assert 0.9 < found.max() <= 1


# Rounding.


def in_extended_precision(plan: Any, X: np.ndarray, y: np.ndarray, orders: list[np.ndarray]) -> np.ndarray:
    """The same updates on the logistic loss, written again in long doubles."""
    rows, signs = X.astype(np.longdouble), np.where(y > 0, 1, -1).astype(np.longdouble)
    run, gamma = plan.descent.run, np.longdouble(plan.descent.strong_convexity)
    theta, update = np.zeros(X.shape[1], dtype=np.longdouble), 0
    for order in orders:
        for start in range(0, run.records, run.batch):
            update += 1
            places = order[start : start + run.batch]
            slopes = -signs[places] / (1 + np.exp(signs[places] * (rows[places] @ theta)))
            eta = min(1 / np.longdouble(plan.descent.smoothness), 1 / (gamma * update))
            theta = theta - eta * (rows[places].T @ slopes / run.batch + gamma * theta)
    return theta


def rounded_away(plan: Any) -> float:
    """How far the computed last iterate is from the exact one, on the same rows of the grid (T200)."""
    rng = np.random.default_rng(92)
    X = rng.normal(size=(plan.spec.n, 3))
    X *= 0.999 / np.linalg.norm(X, axis=1)[:, np.newaxis]
    y = rng.integers(2, size=plan.spec.n)
    data = enforce(X, y, FeatureSpace(3, norm=1.0, intercept=False), Classes((0, 1)))
    stream = NotPrivateBits(5).stream()
    orders = [bolt_on.random_order(plan.spec.n, stream) for _ in range(plan.descent.run.passes)]
    exact = in_extended_precision(plan, data.block(0, plan.spec.n).x, y, orders)
    return float(np.linalg.norm((last(plan, data, 5) - exact).astype(float)))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long doubles are doubles here")
@pytest.mark.parametrize("strength", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("batch", [1, 37, 200])
def test_the_computed_iterate_is_within_the_bound_on_rounding(batch, strength):
    spec = ProblemSpec(Logistic(), 1.0, 3, n=200, regularization=strength)
    plan = BoltOn(10, batch).plan(spec, GOAL)
    error = rounding_error(plan.descent, spec)
    assert 0 < rounded_away(plan) <= error
    assert plan.mechanism.statistic.numerical_error >= error


def test_iterates_are_no_longer_than_is_said():
    """All records alike, on their slope: L/gamma is approached, and without regularisation L times all steps."""
    X, y = np.tile([1e9, 0.0], (20, 1)), np.ones(20)
    data = enforce(X, y, SPACES["norm"], Classes((0, 1), WEIGHTS))
    for strength, step in ((100.0, None), (None, 1e-3)):
        plan = BoltOn(20, 5, step_size=step).plan(straight(20, strength=strength), GOAL)
        length = np.linalg.norm(last(plan, data, 0))
        assert 0.98 * longest_iterate(plan.descent) <= length <= longest_iterate(plan.descent)


# The noise.


def assert_noise_is_added(plan: Any, draws: int = 400) -> np.ndarray:
    """What is released less what stopped, for the same order, in scales."""
    data = pair(plan.spec, 3)[0]
    with np.errstate(all="ignore"):
        released = [plan.learn(data, NotPrivateBits(seed).stream()) for seed in range(draws)]
    noise = np.array([found - last(plan, data, seed) for seed, found in enumerate(released)]) / plan.mechanism.scale
    assert np.abs(noise).min() > 0
    return noise


def test_gaussian_noise_has_the_deviation_that_was_charged():
    plan = BoltOn(2, 5, noise="gaussian").plan(straight(20), GDP(0.5, "replace_one"))
    noise = assert_noise_is_added(plan)
    assert stats.kstest(noise.ravel(), "norm").pvalue > LEVEL
    assert stats.kstest(1.3 * noise.ravel(), "norm").pvalue < LEVEL, "the test could not tell another scale"
    assert 0.4999 <= 2 / 1000 / SPACES["norm"].radius / plan.mechanism.scale <= 0.5  # 2L/Lambda by hand
    assert isinstance(plan.event, ReplaceOneOnly)
    assert isinstance(plan.event.event, Gaussian)
    assert plan.event.event.noise_multiplier == pytest.approx(4.0, rel=1e-4)


def test_gamma_norm_noise_has_its_law():
    plan = BoltOn(2, 5).plan(straight(20), PureDP(0.5, "replace_one"))
    noise = np.linalg.norm(assert_noise_is_added(plan), axis=1)
    assert stats.kstest(noise, "gamma", args=(2,)).pvalue > LEVEL
    assert stats.kstest(1.3 * noise, "gamma", args=(2,)).pvalue < LEVEL, "the test could not tell another scale"
    assert 0.4999 <= 2 / 1000 / SPACES["norm"].radius / plan.mechanism.scale <= 0.5


def test_the_order_is_fresh_in_every_pass_and_the_same_for_all_data(monkeypatch):
    seen, draw = [], bolt_on.random_order
    monkeypatch.setattr(bolt_on, "random_order", lambda *given: seen.append(draw(*given)) or seen[-1])
    plan = BoltOn(3, 4).plan(straight(20), GOAL)
    for data in pair(plan.spec, 7):
        last(plan, data, 8)
    assert all(sorted(order) == list(range(20)) for order in seen)
    assert len({tuple(order) for order in seen}) == 3
    assert np.array_equal(seen[:3], seen[3:])
