# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""DP-SGD for linear models: what a plan of it says (T46), and the rules for what was left open."""

import math
import tracemalloc

import numpy as np
import pytest

from dperm import GDP, ZCDP, ApproxDP, PureDP
from dperm.accounting import account
from dperm.accounting.sampled import Poisson
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.losses import Hinge, Logistic
from dperm.erm.rounding import gradient_error
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import ConversionError, ParameterError
from dperm.methods.gradient import default_projection
from dperm.methods.optimizers import Adam, AdamW, Momentum
from dperm.methods.sampled_gradient import SampledGradient
from dperm.methods.sampled_noise import largest_sample
from dperm.methods.sampling import Sampling, default_optimizer, rate_for, rate_of_epochs, steps_for
from dperm.noise import NotPrivateBits
from dperm.privacy.gaussian_profile import mu_for

BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])


def goal(adjacency: str = "add_remove", epsilon: float = 1.0, delta: float = 1e-5) -> ApproxDP:
    return ApproxDP(epsilon, delta, adjacency)


@BOTH
def test_all_steps_together_meet_the_goal(adjacency, spec):
    plan = SampledGradient(rate=0.02, steps=500).plan(spec(n=10_000), goal(adjacency))
    (sampled, count), (_, errors), (failure, once) = plan.event.singles()
    assert isinstance(sampled, Poisson)
    assert sampled.rate == 0.02
    assert (count, errors, once) == (500, 500, 1)
    assert 0 < failure.delta <= 1e-5 * 1e-12
    assert 1 - 1e-5 <= account(plan.event, adjacency).epsilon(1e-5) <= 1
    rule = "T22" if adjacency == "add_remove" else "T25"
    assert {"T46", rule, "T44", "T3", "T54"} <= set(plan.theorems)
    assert plan.method == "sgd"
    assert rule in plan.facts.known["theorems"]


def test_a_published_number(spec):
    """1000 steps at rate .01 and noise multiplier 1 have epsilon 1.828237 at delta = 1e-5 (T22)."""
    given = spec(n=100_000)
    plan = SampledGradient(batch_size=1000, epochs=10).plan(given, goal(epsilon=1.828237))
    assert plan.step_noise.scale == pytest.approx(given.lipschitz, rel=1e-3)
    assert plan.step_noise.scale >= given.lipschitz


def test_noise_is_for_what_is_clipped(spec):
    """T44: sigma is relative to the largest gradient, class weight included."""
    method = SampledGradient(rate=0.1, steps=50, projection=1.0)
    plain, clipped, heavy = (method.plan(s, goal()) for s in (spec(), spec(clip=0.25), spec(weight=3.0)))
    assert clipped.step_noise.scale / plain.step_noise.scale == pytest.approx(0.25 / spec().radius, rel=1e-4)
    assert heavy.step_noise.scale / plain.step_noise.scale == pytest.approx(3.0, rel=1e-4)


def test_sampling_lowers_the_noise_for_the_same_steps(spec):
    whole, part = (SampledGradient(rate=q, steps=100).plan(spec(), goal()) for q in (1.0, 0.1))
    assert 0.1 <= part.step_noise.scale / whole.step_noise.scale <= 0.15
    assert whole.step_noise.scale == pytest.approx(10 * spec().lipschitz / mu_for(1.0, 1e-5), rel=1e-3)


def test_rounding_is_bounded_for_every_sample_that_is_not_paid_for(spec):
    """At the end of the projection; where a sample may hold all rows, no delta is set aside."""
    given = spec(n=10**6)
    plan = SampledGradient(rate=0.01, steps=100, projection=50.0).plan(given, goal())
    held = plan.step_noise.sums
    rows = largest_sample(plan.most_rows, 0.01, held.failure / 100)
    assert plan.most_rows == 16 * 10**6
    assert 160_000 < rows < 200_000
    assert held.numerical_error >= gradient_error(given, rows, 50.0)
    everything = SampledGradient(rate=1.0, steps=100, projection=50.0).plan(given, goal()).step_noise.sums
    assert everything.failure == 0
    assert everything.numerical_error >= gradient_error(given, plan.most_rows, 50.0)


def test_what_is_given_is_used(spec):
    method = SampledGradient(
        batch_size=40, epochs=2.5, optimizer=Adam(0.1, schedule="cosine"), average=0.2, projection=3.0
    )
    plan = method.plan(spec(), goal("replace_one"))
    assert plan.sampling == Sampling(0.1, 25, 0.2, 3.0)
    assert plan.sampling.averaged == 5
    told = plan.describe()
    assert (told["rate"], told["steps"], told["batch_size"]) == (0.1, 25, 40.0)
    assert told["optimizer"]["name"] == "Adam"
    assert told["step_noise"]["noise_scale"] == plan.step_noise.scale
    assert told["method"] == "sgd"
    assert "25 steps" in str(plan.why[0])


def test_rules_for_what_was_left_open():
    """q = 1.5 mu/sqrt(T) with bounds; under replace-one a record counts twice."""
    mu, n = mu_for(1.0, 1e-5), 10**6
    assert rate_for(1000, goal(), n) == pytest.approx(1.5 * mu / math.sqrt(1000))
    assert rate_for(1000, goal("replace_one"), n) == pytest.approx(0.75 * mu / math.sqrt(1000))
    assert rate_for(1000, goal(epsilon=0.01), n) == 0.005
    assert rate_for(1000, goal(), 1000) == 0.256
    assert rate_for(1000, goal(), 100) == 1.0
    assert steps_for(0.005, goal()) == math.ceil((1.5 * mu / 0.005) ** 2)
    assert steps_for(1e-4, goal()) == 500_000
    assert steps_for(0.5, goal()) == 1000
    assert rate_of_epochs(10.0, n) == 0.01
    assert rate_of_epochs(10.0, 1000) == 0.256
    assert rate_of_epochs(5000.0, n) == 1.0


@BOTH
@pytest.mark.parametrize("n", [50, 3000, 10**6])
@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=lambda loss: loss.name)
def test_defaults_make_plans(loss, n, adjacency):
    given = ProblemSpec(loss, 2.0, 30, n=n)
    plan = SampledGradient().plan(given, goal(adjacency))
    assert plan.sampling.steps == 1000
    assert plan.sampling.projection == default_projection(given)
    assert min(256, n) <= plan.sampling.rate * n * (1 + 1e-9)
    assert plan.optimizer == default_optimizer(given, goal(adjacency), 1000)
    assert plan.step_noise.scale < 1.01 * given.lipschitz * plan.sampling.rate * 60 / mu_for(1.0, 1e-5) * 2


@pytest.mark.parametrize(
    ("method", "steps", "rate"),
    [
        (SampledGradient(steps=400), 400, 1.5 * mu_for(1.0, 1e-5) / 20),
        (SampledGradient(epochs=20), 1000, 0.02),
        (SampledGradient(batch_size=20_000), 1000, 0.02),
        (SampledGradient(rate=0.02), 1000, 0.02),
        (SampledGradient(rate=0.5, epochs=3), 6, 0.5),
    ],
    ids=str,
)
def test_what_is_given_decides_the_rest(method, steps, rate):
    plan = method.plan(ProblemSpec(Logistic(), 1.0, 5, n=10**6), goal())
    assert plan.sampling.steps == steps
    assert plan.sampling.rate == pytest.approx(rate)


def test_default_steps_keep_the_horizon_up_to_a_longest_step():
    """H = n/Lambda with Lambda = R sigma0/2, over ten times the steps for momentum .9; at most 8 or 2 units."""
    given = ProblemSpec(Logistic(), 2.0, 30, n=10_000, clip=1.0)
    horizon = 10_000 * mu_for(1.0, 1e-5)
    found = default_optimizer(given, goal(), 5000)
    assert found == Momentum(found.step_size, 0.9)
    assert found.step_size == pytest.approx(0.1 * horizon / 5000)
    assert default_optimizer(given, goal(), 1).step_size == pytest.approx(8 / 4)
    assert default_optimizer(ProblemSpec(Hinge(), 2.0, 30, n=10_000), goal(), 1).step_size == pytest.approx(2 / 4)
    strong = default_optimizer(given.with_regularization(1e4), goal(), 5000)
    assert strong.step_size == pytest.approx(0.1 / 5000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 0),
        ("rate", 0.0),
        ("rate", 1.1),
        ("epochs", -1.0),
        ("epochs", 1e6),
        ("steps", 0),
        ("steps", 2.5),
        ("average", 1.1),
        ("projection", 0.0),
        ("optimizer", Momentum),
        ("optimizer", "adam"),
    ],
)
def test_nonsense_is_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        SampledGradient(**{name: value})


@pytest.mark.parametrize("given", [{"batch_size": 10, "rate": 0.1}, {"epochs": 3, "steps": 10}], ids=str)
def test_one_of_two_that_follow_from_each_other(given):
    first, second = given
    with pytest.raises(ParameterError, match=f"only one of {first} and {second}.*Leave one of them out"):
        SampledGradient(**given)


def test_samples_of_more_than_n_and_endless_runs_are_refused(spec):
    with pytest.raises(ParameterError, match=r"batch_size must not exceed n=400, got 401\."):
        SampledGradient(batch_size=401).plan(spec(n=400), goal())
    with pytest.raises(ParameterError, match=r"steps must be.*fewer epochs"):
        SampledGradient(rate=1e-6, epochs=2).plan(spec(n=400), goal())


@BOTH
@pytest.mark.parametrize("make", [PureDP, GDP, ZCDP])
def test_goals_without_delta_are_refused_with_a_remedy(make, adjacency, spec):
    with pytest.raises(ConversionError, match=r"delta > 0.*method="):
        SampledGradient().plan(spec(), make(1.0, adjacency))
    with pytest.raises(ConversionError, match="delta > 0"):
        SampledGradient().plan(spec(), ApproxDP(1.0, 0.0, adjacency))


@BOTH
def test_n_has_to_be_public(adjacency, spec):
    with pytest.raises(ParameterError, match=r'n must be declared for method="sgd".*rough public number'):
        SampledGradient().plan(spec(n=None), goal(adjacency))


# Runs.


def predictions(X: np.ndarray, theta: np.ndarray, constant: float) -> np.ndarray:
    return (X @ theta[:-1] + constant * theta[-1] > 0).astype(int)


def lines(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)) / 3
    return X, (X @ np.array([2.0, -1.0, 0.5]) + 0.1 > 0).astype(int)


@pytest.mark.parametrize("optimizer", [None, Momentum(2.0, 0.5, "linear"), Adam(0.2), AdamW(0.2, decay=1e-3)], ids=str)
@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=lambda loss: loss.name)
def test_it_learns(loss, optimizer):
    X, y = lines(5000)
    space = FeatureSpace(3, norm=1.0)
    data = enforce(X, y, space, Classes((0, 1)))
    plan = SampledGradient(rate=0.1, steps=150, optimizer=optimizer).plan(
        ProblemSpec(loss, space.radius, space.size, n=5000), goal(epsilon=2.0)
    )
    theta = plan.learn(data, NotPrivateBits(1).stream())
    assert (predictions(X, theta, space.constant) == y).mean() > 0.93


def test_it_learns_three_classes():
    """The gradient of a record is a matrix, clipped as one vector."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6000, 2))
    y = np.argmax(X @ np.array([[1.0, -0.5, -0.5], [0.0, 0.9, -0.9]]), axis=1)
    space = FeatureSpace(2, norm=2.0)
    data = enforce(X, y, space, Classes((0, 1, 2)))
    given = ProblemSpec(Softmax(3), space.radius, 3 * space.size, n=6000, clip=space.radius)
    plan = SampledGradient(rate=0.1, steps=150).plan(given, goal(epsilon=2.0))
    weights = plan.learn(data, NotPrivateBits(2).stream()).reshape(3, 3)
    columns = np.column_stack([X, np.full(len(X), space.constant)])
    assert (np.argmax(columns @ weights.T, axis=1) == y).mean() > 0.9


def test_sparse_rows_give_the_same(spec):
    from scipy.sparse import csr_array

    X, y = lines(400)
    X[np.abs(X) < 0.2] = 0.0
    space = FeatureSpace(3, norm=1.0)
    plan = SampledGradient(rate=0.2, steps=20).plan(spec(), goal())
    dense, sparse = (
        plan.learn(enforce(table, y, space, Classes((0, 1))), NotPrivateBits(3).stream()) for table in (X, csr_array(X))
    )
    assert sparse == pytest.approx(dense, rel=1e-6)


def test_a_run_is_a_release(spec, data):
    plan = SampledGradient(rate=0.1, steps=10).plan(spec(), goal("replace_one"))
    with pytest.warns(match="NOT PRIVATE"):
        released = plan.run(data, bits=NotPrivateBits(7))
    assert released.value.shape == (4,)
    assert released.event == plan.event
    assert released.record.public["steps"] == 10
    assert "10 steps" in released.record.noise


def test_memory_is_that_of_a_sample():
    """Twice the rows at the same expected sample: no more memory while learning."""

    def peak(rows: int) -> int:
        X, y = lines(rows)
        space = FeatureSpace(3, norm=1.0)
        data = enforce(X, y, space, Classes((0, 1)))
        given = ProblemSpec(Logistic(), space.radius, space.size, n=rows)
        plan = SampledGradient(batch_size=1000, steps=100).plan(given, goal())
        plan.learn(data, NotPrivateBits(8).stream())  # what is imported and cached on the way
        tracemalloc.start()
        plan.learn(data, NotPrivateBits(9).stream())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    small, large = peak(100_000), peak(200_000)
    assert large <= small + 50_000
    assert large <= 1_000_000
