# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bolt-on descent: T33 and T34 for the sensitivity, replace-one only; T44 for clipping, T54 for the intercept."""

import numpy as np
import pytest

from dperm import GDP, ApproxDP, PureDP
from dperm.accounting import account
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.minimize import minimize
from dperm.erm.objective import Objective
from dperm.erm.residual_losses import Pinball, Squared
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import AdjacencyError, AssumptionError, ConversionError, DataError, ParameterError
from dperm.mechanisms import GammaNormMechanism, GaussianMechanism
from dperm.methods import OutputPerturbation
from dperm.methods.bolt_on import BoltOn, StoppedDescent, default_batch, random_order, rounding_error
from dperm.methods.defaults import output_regularization
from dperm.noise import NotPrivateBits
from dperm.sensitivity import Passes, constant_step_sensitivity, descent_sensitivity

GOAL = ApproxDP(1.0, 1e-5, "replace_one")


def stopped(plan, data, seed=0):
    with np.errstate(all="ignore"):
        return plan.stopped(data, NotPrivateBits(seed).stream())


# What is planned.


@pytest.mark.parametrize("batch", [1, 7, 400])
@pytest.mark.parametrize("goal", [GOAL, GDP(0.5, "replace_one"), PureDP(1.0, "replace_one")])
def test_the_noise_is_that_of_output_perturbation(goal, batch, spec):
    """Decreasing steps: 2L/Lambda whatever the batch, and rounding instead of a solver's tolerance."""
    given = spec(regularization=5.0)
    ours, theirs = (method.plan(given, goal).output_noise for method in (BoltOn(3, batch), OutputPerturbation()))
    assert type(ours) is type(theirs)
    assert ours.sensitivity == pytest.approx(theirs.sensitivity, rel=1e-12)
    assert ours.scale == pytest.approx(theirs.scale, rel=1e-5)
    assert ours.sensitivity >= 2 * given.lipschitz / 5.0 * (1 - 1e-15)


def test_lambda_is_chosen_as_for_output_perturbation(spec):
    plan = BoltOn().plan(spec(), GOAL)
    assert plan.spec.regularization == output_regularization(spec(), GOAL).value
    assert any("Lambda" in reason for reason in map(str, plan.why))


def test_constant_steps(spec):
    given = spec(HuberHinge(0.5))
    plan = BoltOn(4, 50, step_size=0.1).plan(given, GOAL)
    assert plan.spec.regularization is None
    assert plan.mechanism.sensitivity == pytest.approx(2 * 4 * given.lipschitz * 0.1 / 50, rel=1e-12)
    strong = given.with_regularization(40.0)
    wanted = constant_step_sensitivity(
        Passes(400, 4, 50),
        step_size=0.1,
        smoothness=given.smoothness + 0.1,
        strong_convexity=0.1,
        lipschitz=given.lipschitz,
        adjacency="replace_one",
    )
    assert BoltOn(4, 50, step_size=0.1).plan(strong, GOAL).mechanism.sensitivity == pytest.approx(wanted, rel=1e-12)


def test_full_gradient_descent(spec):
    """T34; one over the smoothness where no step is given."""
    given = spec(regularization=40.0)
    plan = BoltOn(30, "full").plan(given, GOAL)
    beta = given.smoothness + 0.1
    assert plan.descent.step_size == pytest.approx(1 / beta)
    wanted = descent_sensitivity(
        400,
        30,
        step_size=1 / beta / (1 + 1e-12),
        smoothness=beta,
        strong_convexity=0.1,
        lipschitz=given.lipschitz,
        adjacency="replace_one",
    )
    assert plan.mechanism.sensitivity == pytest.approx(wanted, rel=1e-9)
    assert "T34" in plan.theorems
    assert "T33" in BoltOn(30, 10).plan(given, GOAL).theorems


def test_the_event_meets_the_goal_exactly(spec):
    plan = BoltOn(noise="gaussian").plan(spec(), GOAL)
    assert 1.0 * (1 - 1e-6) <= account(plan.event, "replace_one").epsilon(1e-5) <= 1.0


@pytest.mark.parametrize(
    ("dim", "goal", "kind"),
    [
        (4, PureDP(1.0, "replace_one"), GammaNormMechanism),
        (12, GOAL, GammaNormMechanism),  # 13 < (1/.268)^2 = 13.9
        (13, GOAL, GaussianMechanism),
        (4, GDP(1.0, "replace_one"), GaussianMechanism),
    ],
)
def test_auto_takes_the_smaller_noise(dim, goal, kind, spec):
    assert isinstance(BoltOn().plan(spec(dim=dim), goal).output_noise, kind)


def test_what_is_given_is_told(spec):
    plan = BoltOn(7, 30, step_size=0.3).plan(spec(), GOAL)
    told = plan.describe()
    assert (told["method"], told["passes"], told["batch_size"], told["step_size"]) == ("bolt_on", 7, 30, 0.3)
    assert told["output_noise"]["noise_scale"] == plan.mechanism.scale
    assert BoltOn().plan(spec(regularization=40.0), GOAL).describe()["strong_convexity"] == 0.1


@pytest.mark.parametrize(
    ("n", "strength", "batch"), [(10_000, 1e4, 100), (10_000, 1.1, 8), (10_000, 1e-3, 1), (3, 1e9, 1)]
)
def test_the_default_batch_leaves_enough_updates(n, strength, batch):
    """sqrt(n), or so few that T = k n/b is ten times beta/gamma; k = 20."""
    given = ProblemSpec(Logistic(), 1.0, 4, n=n, regularization=strength)
    assert default_batch(given, n, 20) == batch


def test_steps_shrink_from_their_largest():
    """min(1/beta, 1/(gamma t)); their sum is within the horizon."""
    descent = StoppedDescent(Passes(50, 4), 1.0, 1.9, 0.1, None)
    steps = [descent.step(update) for update in range(1, descent.updates + 1)]
    assert steps[0] == steps[19] == pytest.approx(0.5)
    assert steps[99] == pytest.approx(0.1)
    assert sum(steps) <= descent.horizon <= 2 * sum(steps)
    constant = StoppedDescent(Passes(50, 4), 1.0, 1.9, 0.1, 0.25)
    assert constant.horizon == 200 * 0.25


def test_rounding_grows_with_updates_and_iterates(spec):
    def error(passes, strength):
        descent = BoltOn(passes, 1).plan(spec(regularization=strength), GOAL).descent
        return rounding_error(descent, spec(regularization=strength))

    assert error(10, 10.0) > error(1, 10.0)
    assert error(10, 0.1) > 10 * error(10, 10.0)
    assert error(10, 10.0) < 1e-9


# What is learnt.


@pytest.mark.parametrize("method", [BoltOn(), BoltOn(200, "full"), BoltOn(40, 20, step_size=0.5)], ids=str)
def test_it_comes_close_to_the_minimum(method, spec, data):
    """Without noise: of what there is to gain, all but a thousandth."""
    plan = method.plan(spec(regularization=4.0), GOAL)
    objective = Objective(data(), plan.spec, np.zeros(4))
    least = objective.value(minimize(data(), plan.spec, 1e-6))
    gained = objective.value(np.zeros(4)) - objective.value(stopped(plan, data()))
    assert gained >= 0.999 * (objective.value(np.zeros(4)) - least)


def test_without_regularisation_stopping_early_takes_its_place(spec, data):
    short, long = (BoltOn(k, 20, step_size=0.5).plan(spec(), GOAL) for k in (1, 50))
    assert np.linalg.norm(stopped(long, data())) > 2 * np.linalg.norm(stopped(short, data()))
    assert long.mechanism.sensitivity == pytest.approx(50 * short.mechanism.sensitivity)


def test_several_classes():
    space = FeatureSpace(2, norm=1.0)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 2))
    y = np.argmax(X @ np.array([[1.0, -1.0, 0.0], [0.0, 0.5, 1.0]]), axis=1)
    given = ProblemSpec(Softmax(3), space.radius, 3 * space.size, n=600, regularization=1.0)
    plan = BoltOn().plan(given, GDP(20.0, "replace_one"))
    data = enforce(X, y, space, Classes((0, 1, 2)))
    table = plan.run(lambda: data, bits=None).value.reshape(3, 3)
    inside = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, np.newaxis]
    found = np.argmax(np.column_stack([inside, np.full(600, 0.25)]) @ table.T, axis=1)
    assert (found == y).mean() > 0.85


def test_sparse_rows_too(data):
    from scipy.sparse import csr_array

    dense = data()
    rows = dense.in_memory()
    sparse = enforce(csr_array(rows.cells * dense.grid.unit), rows.codes, FeatureSpace(3, norm=1.0), Classes((0, 1)))
    space = FeatureSpace(3, norm=1.0)
    plan = BoltOn(3, 30).plan(ProblemSpec(Logistic(), space.radius, 4, n=400, regularization=5.0), GOAL)
    assert stopped(plan, sparse).tolist() == stopped(plan, dense).tolist()  # T203


def test_orders_are_uniform():
    """All 24 orders of four, 4800 draws: chi-square below its 99.99 % point, 57.1 at 23 degrees of freedom."""
    stream, counts = NotPrivateBits(4).stream(), {}
    for _ in range(4800):
        order = tuple(random_order(4, stream).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 57.1


# Refusals.


def test_add_remove_is_refused_with_a_remedy(spec):
    with pytest.raises(AdjacencyError, match=r'replace_one.*T33.*method="gradient".*method="objective"'):
        BoltOn().plan(spec(), ApproxDP(1.0, 1e-5, "add_remove"))


def test_n_has_to_be_public_and_true(spec, data):
    with pytest.raises(ParameterError, match="n must be declared"):
        BoltOn().plan(spec(n=None), GOAL)
    with pytest.raises(DataError, match="n=401"):
        BoltOn().plan(spec(n=401), GOAL).run(data)


@pytest.mark.parametrize("loss", [Hinge(), Pinball(0.5)], ids=lambda loss: loss.name)
def test_kinks_are_refused_with_a_remedy(loss, spec):
    with pytest.raises(AssumptionError, match=r'needs a smooth loss.*T33.*method="gradient"'):
        BoltOn().plan(spec(loss), GOAL)


def test_clipped_softmax_gradients_are_refused():
    with pytest.raises(AssumptionError, match="T44"):
        BoltOn().plan(ProblemSpec(Softmax(3), 1.0, 6, n=100, clip=0.1), GOAL)
    with pytest.raises(ParameterError, match="clip must be given"):
        BoltOn().plan(ProblemSpec(Squared(), 1.0, 6, n=100), GOAL)


def test_steps_that_expand_are_refused(spec):
    given = spec(HuberHinge(0.5))
    BoltOn(step_size=2 / given.smoothness).plan(given, GOAL)
    with pytest.raises(AssumptionError, match="step_size must be at most 2/smoothness"):
        BoltOn(step_size=2.1 / given.smoothness).plan(given, GOAL)
    with pytest.raises(AssumptionError, match="step_size must be at most 1/smoothness"):
        BoltOn(step_size=1.1 / given.smoothness).plan(given.with_regularization(1.0), GOAL)


def test_gaussian_noise_for_a_pure_goal_is_refused(spec):
    with pytest.raises(ConversionError, match="pure"):
        BoltOn(noise="gaussian").plan(spec(), PureDP(1.0, "replace_one"))


def test_more_updates_than_doubles_bear_are_refused():
    given = ProblemSpec(Logistic(), 1.0, 4, n=10**10, regularization=1e-9)
    with pytest.raises(AssumptionError, match=r"rounding errors.*fewer passes"):
        BoltOn(10**6, 1).plan(given, GOAL)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("passes", 0),
        ("passes", 1.5),
        ("batch_size", 0),
        ("batch_size", "all"),
        ("batch_size", 2.5),
        ("batch_size", True),
        ("step_size", 0.0),
        ("step_size", "small"),
        ("noise", "cauchy"),
    ],
)
def test_nonsense_is_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        BoltOn(**{name: value})


def test_a_batch_of_more_than_all_is_refused(spec):
    with pytest.raises(ParameterError, match=r"batch_size must be a whole number from 1 to 400, got 401"):
        BoltOn(batch_size=401).plan(spec(), GOAL)
