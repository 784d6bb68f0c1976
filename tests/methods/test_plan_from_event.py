# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plans from an event declared before the problem is known: what was discovered never chooses the event (T70)."""

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_objective import Exact, deltas

from dperm import ApproxDP, PureDP, account
from dperm.accounting import Gaussian, PerturbedObjective, PerturbedSoftmax
from dperm.accounting.dominance import dominates
from dperm.accounting.objective import objective_delta, objective_noise_multiplier
from dperm.accounting.softmax import softmax_delta, softmax_determinant_loss
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.residual_losses import Huber, Squared
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, NotPrivateWarning, ParameterError
from dperm.mechanisms.calibration import covers
from dperm.methods import (
    BoltOn,
    ObjectivePerturbation,
    OutputPerturbation,
    SampledGradient,
    choose,
    declare_event,
    plan_from_event,
)
from dperm.methods import objective as objective_module
from dperm.methods.defaults import default_clip
from dperm.noise import NotPrivateBits
from dperm.sensitivity.objective import relative_curvature

METHOD = ObjectivePerturbation()
DIMS = (1, 2, 7, 57, 313, 2000)
RADII = (1e-3, 0.1, 1.0, 1 / 3, math.sqrt(15), 1e4)
ADJACENCIES = ("add_remove", "replace_one")
BOTH = pytest.mark.parametrize("adjacency", ADJACENCIES)
LOSSES = {"logistic": Logistic(), "Huber hinge": HuberHinge(0.5), "squared": Squared(), "Huber": Huber(0.2)}
METHODS = {
    "objective": Logistic(),
    "output": Logistic(),
    "gradient": Hinge(),
    "sgd": Softmax(4),
    "sufficient": Squared(),
}


def goal_of(adjacency: str, epsilon: float = 1.0, delta: float = 1e-5) -> ApproxDP:
    return ApproxDP(epsilon, delta, adjacency)


def assert_enough_noise(plan, event) -> None:
    """The noise in absolute units, against the event's numbers, in exact arithmetic."""
    exact, spec = event.events[0], plan.spec
    assert Fraction(plan.linear_term.scale) >= Fraction(exact.noise_multiplier) * Fraction(spec.lipschitz)
    if isinstance(exact, PerturbedObjective):
        assert Fraction(spec.bend) / Fraction(spec.strength) <= Fraction(exact.curvature)
    own, blur = plan.mechanism, event.events[1]
    per_record = own.calibration.sensitivity / (1 if plan.adjacency.value == "add_remove" else 2)
    declared = blur.unwrapped().noise_multiplier
    assert own.scale >= declared * per_record * (1 - 1e-15)


def assert_the_event_is_the_declared_one(loss, goal, method=METHOD) -> None:
    event = METHOD.declare_event(goal, loss)
    assert covers(goal, event)
    for dim, radius in zip(DIMS, RADII, strict=True):
        spec = ProblemSpec(loss, radius, dim, weight=1.7)
        plan = method.plan_from_event(spec.clipped(default_clip(spec)), event, goal)
        assert plan.event == event == plan.facts.event
        assert relative_curvature(plan.spec) <= event.events[0].curvature
        assert_enough_noise(plan, event)


@BOTH
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_event_is_the_declared_one_for_every_dimension_and_radius(loss, adjacency):
    for epsilon in (0.1, 1.0, 4.0):
        assert_the_event_is_the_declared_one(loss, goal_of(adjacency, epsilon))


def test_lambda_is_rounded_to_the_safe_side_for_every_radius():
    assert_lambda_is_rounded_up()


def assert_lambda_is_rounded_up(method=METHOD) -> None:
    goal = goal_of("add_remove")
    event = METHOD.declare_event(goal, Logistic())
    kappa = Fraction(event.events[0].curvature)
    for radius in np.random.default_rng(1).uniform(0.5, 2.0, 60):
        plan = method.plan_from_event(ProblemSpec(Logistic(), float(radius), 3, clip=radius / 2), event, goal)
        assert kappa * (1 - Fraction(1, 10**12)) <= Fraction(plan.spec.bend) / Fraction(plan.spec.strength) <= kappa


def test_a_declared_event_takes_less_than_50_milliseconds():
    start = time.perf_counter()
    for epsilon in np.linspace(0.1, 3.0, 20):
        METHOD.declare_event(goal_of("replace_one", epsilon), Softmax(12))
    assert (time.perf_counter() - start) / 20 < 0.05


def test_the_events_noise_is_near_that_of_a_plan_with_the_same_lambda():
    goal = goal_of("add_remove")
    event = METHOD.declare_event(goal, Logistic())
    spec = ProblemSpec(Logistic(), 2.0, 30, clip=1.0)
    plan = METHOD.plan_from_event(spec, event, goal)
    usual = ObjectivePerturbation("gaussian").plan(spec.with_regularization(plan.spec.strength), goal)
    assert plan.linear_term.scale == pytest.approx(usual.linear_term.scale, rel=1e-9)
    assert plan.mechanism.scale == pytest.approx(usual.mechanism.scale, rel=1e-6)
    assert "T70" in plan.theorems
    assert "T70" not in usual.theorems


def test_a_run_is_close_to_that_of_a_goal_with_the_same_lambda(data):
    goal, rows = goal_of("add_remove"), data()
    spec = ProblemSpec(Logistic(), rows.space.radius, rows.space.size, clip=rows.space.radius / 2)
    plan = METHOD.plan_from_event(spec, METHOD.declare_event(goal, Logistic()), goal)
    usual = ObjectivePerturbation("gaussian").plan(spec.with_regularization(plan.spec.strength), goal)
    with pytest.warns(NotPrivateWarning):
        found, expected = (one.run(lambda: rows, bits=NotPrivateBits(3)) for one in (plan, usual))
    assert found.value == pytest.approx(expected.value, abs=1e-3)


# Which Lambda is covered.


def test_a_larger_lambda_is_covered_and_a_smaller_one_refused():
    goal = goal_of("add_remove")
    event = METHOD.declare_event(goal, Logistic())
    spec = ProblemSpec(Logistic(), 1.0, 5, clip=0.5)
    least = METHOD.plan_from_event(spec, event, goal).spec.strength
    larger = METHOD.plan_from_event(spec.with_regularization(2 * least), event, goal)
    assert (larger.spec.strength, larger.event) == (2 * least, event)
    with pytest.raises(AssumptionError, match="covers Lambda >="):
        METHOD.plan_from_event(spec.with_regularization(0.99 * least), event, goal)


def test_wide_tables_get_a_larger_lambda_under_the_same_event():
    goal = goal_of("add_remove", 5.0)
    event = METHOD.declare_event(goal, Logistic())
    narrow, wide = (
        METHOD.plan_from_event(ProblemSpec(Logistic(), 1.0, dim, n=1000, clip=0.5), event, goal) for dim in (5, 2000)
    )
    assert wide.spec.strength > 2 * narrow.spec.strength
    assert wide.event == narrow.event == event


# Classes.


@BOTH
def test_the_event_of_most_classes_covers_fewer(adjacency):
    """T53a: fixed Lambda, L and sigma."""
    for noise, share in ((2.0, 0.5), (5.0, 0.05), (30.0, 0.002)):
        epsilons = (0.0, 0.2, 1.0, 3.0)
        before = [0.0] * 4
        for classes in range(3, 14):  # w R^2 / Lambda = share
            found = [softmax_delta(e, noise, share / classes, classes, adjacency) for e in epsilons]
            assert all(a <= b * (1 + 1e-12) for a, b in zip(before, found, strict=True))
            before = found
        costs = [softmax_determinant_loss(share / classes, classes) for classes in range(3, 200)]
        assert costs == sorted(costs)
        assert math.log1p(share / 2) <= costs[0]  # two scores


@BOTH
def test_one_score_is_covered_by_the_event_of_several_classes(adjacency):
    for classes in (3, 4, 10, 50):
        for noise, curvature in ((1.0, 0.2), (4.0, 0.01), (25.0, 1e-3)):
            several = PerturbedSoftmax(noise, curvature, classes)
            one = PerturbedObjective(noise, (classes - 1) * curvature * (1 - 1e-15))
            assert dominates(several, one)
            for epsilon in (0.0, 0.05, 0.5, 1.0, 2.0, 5.0):
                own = objective_delta(epsilon, one.noise_multiplier, one.curvature, adjacency)
                assert own <= softmax_delta(epsilon, noise, curvature, classes, adjacency) * (1 + 1e-12)


@BOTH
def test_the_number_of_classes_that_were_found_does_not_choose_the_event(adjacency):
    goal = goal_of(adjacency)
    assert_classes_do_not_choose_the_event(goal)
    event = declare_event(goal, Softmax(8))
    two = plan_from_event(ProblemSpec(Logistic(), 2.0, 11), event, goal)
    assert two.event == event
    with pytest.raises(AssumptionError, match="at most 8 classes"):
        plan_from_event(ProblemSpec(Softmax(9), 2.0, 99), event, goal)


def assert_classes_do_not_choose_the_event(goal, method=METHOD) -> None:
    event, adjacency, strengths = METHOD.declare_event(goal, Softmax(8)), goal.adjacency, []
    assert event.events[0].classes == 8
    for classes in range(3, 9):
        spec = ProblemSpec(Softmax(classes), 2.0, 11 * classes)
        assert (
            8
            * Fraction(event.events[0].curvature)
            * Fraction(objective_module.least_regularization(event.events[0], spec))
            >= 4
        )
        plan = method.plan_from_event(spec, event, goal)
        strengths.append(plan.spec.strength)
        assert plan.event == event
        own = plan.perturbation.exact
        assert own.classes == classes
        for epsilon in (0.1, 1.0, 2.0):
            true = softmax_delta(epsilon, own.noise_multiplier, own.curvature, classes, adjacency)
            declared = event.events[0]
            assert true <= softmax_delta(epsilon, declared.noise_multiplier, declared.curvature, 8, adjacency)
    assert strengths == pytest.approx([strengths[0]] * 6)


def test_a_run_with_fewer_classes_than_declared():
    rng, goal = np.random.default_rng(5), goal_of("add_remove", 8.0)
    event = declare_event(goal, Softmax(6))
    space, X = FeatureSpace(2, norm=1.0), rng.normal(size=(900, 2))
    for labels in ((0, 1, 2), (0, 1)):
        y = (X[:, 0] > 0).astype(int) + (len(labels) > 2) * ((X[:, 0] > 0) & (X[:, 1] > 0))
        data = enforce(X, y, space, Classes(labels))
        loss = Softmax(3) if len(labels) > 2 else Logistic()
        plan = plan_from_event(ProblemSpec(loss, space.radius, space.size * loss.outputs), event, goal)
        with pytest.warns(NotPrivateWarning):
            theta = plan.run(lambda data=data: data, bits=NotPrivateBits(1)).value
        assert theta.shape == (plan.spec.dim,)
        assert np.isfinite(theta).all()


# Other events and goals.


def test_a_regression_runs_under_its_event():
    rng, goal = np.random.default_rng(6), goal_of("replace_one", 4.0)
    space = FeatureSpace(2, norm=1.0, intercept=False)
    X = rng.normal(size=(2000, 2))
    X /= np.linalg.norm(X, axis=1)[:, None]
    data = enforce(X, X @ np.array([0.5, -0.3]), space, Interval(-1.0, 1.0))
    event = declare_event(goal, Squared())
    assert not event.events[0].monotone
    plan = plan_from_event(ProblemSpec(Squared(), space.radius, 2), event, goal)
    assert plan.spec.clip == space.radius / 4
    with pytest.warns(NotPrivateWarning):
        theta = plan.run(lambda: data, bits=NotPrivateBits(2)).value
    assert theta == pytest.approx([0.5, -0.3], abs=0.1)


def test_losses_that_the_event_does_not_cover_are_refused():
    goal = goal_of("add_remove")
    event = declare_event(goal, Logistic())
    with pytest.raises(AssumptionError, match="slopes of one sign"):
        plan_from_event(ProblemSpec(Squared(), 1.0, 3), event, goal)
    with pytest.raises(AssumptionError, match="one score"):
        plan_from_event(ProblemSpec(Softmax(3), 1.0, 3), event, goal)
    with pytest.raises(AssumptionError, match="smooth"):
        declare_event(goal, Hinge())
    several = declare_event(goal, Softmax(3))
    with pytest.raises(AssumptionError, match="at most 3 classes"):
        plan_from_event(ProblemSpec(Squared(), 1.0, 3), several, goal)


def test_events_of_another_kind_or_a_smaller_goal_are_refused():
    goal = goal_of("add_remove")
    event, spec = declare_event(goal, Logistic()), ProblemSpec(Logistic(), 1.0, 3)
    with pytest.raises(ParameterError, match="objective perturbation"):
        plan_from_event(spec, Gaussian(3.0), goal)
    with pytest.raises(ParameterError, match="same adjacency"):
        plan_from_event(spec, event, goal_of("replace_one"))
    with pytest.raises(ParameterError, match="must meet"):
        plan_from_event(spec, event, goal_of("add_remove", 0.9))
    with pytest.raises(ConversionError):
        declare_event(PureDP(1.0, "add_remove"), Logistic())
    with pytest.raises(AssumptionError, match="Gaussian noise"):
        ObjectivePerturbation("gamma_norm").declare_event(goal, Logistic())
    with pytest.raises(ParameterError, match="rate"):
        SampledGradient(batch_size=100).declare_event(goal, Logistic())


def test_methods_without_a_fixed_event_name_those_that_have_one():
    for method in ("bolt_on", "posterior", BoltOn()):
        with pytest.raises(AssumptionError, match=r'"objective".*"output".*"gradient".*"sgd".*"sufficient"'):
            declare_event(goal_of("replace_one"), Logistic(), method=method)
    for method in ("auto", "unknown", OutputPerturbation):
        with pytest.raises(ParameterError, match="must be one of objective, output"):
            declare_event(goal_of("replace_one"), Logistic(), method=method)


@BOTH
@pytest.mark.parametrize("name", METHODS)
def test_every_capable_method_states_the_declared_event(name, adjacency):
    goal, loss = goal_of(adjacency), METHODS[name]
    event = declare_event(goal, loss, method=name)
    assert covers(goal, event)
    for dim, radius, n in zip(DIMS[:5], RADII, (300, 1000, 20_000, 10**5, 10**6), strict=False):
        spec = ProblemSpec(loss, radius, dim * loss.outputs, n=n)
        plan = plan_from_event(spec, event, goal, method=name)
        assert plan.event == event
        assert plan.method == name
        assert "T70" in plan.theorems


@pytest.mark.parametrize("name", ["output", "gradient", "sgd"])
def test_the_noise_of_other_methods_is_near_that_of_a_goal(name):
    goal, loss = goal_of("add_remove"), Logistic()
    spec = ProblemSpec(loss, 2.0, 40, n=50_000)
    plan = plan_from_event(spec, declare_event(goal, loss, method=name, n=50_000), goal, method=name)
    usual = choose(spec, goal, OutputPerturbation("gaussian") if name == "output" else name)
    if name == "gradient":
        assert plan.mechanism.scale / math.sqrt(plan.descent.steps) == pytest.approx(
            usual.mechanism.scale / math.sqrt(usual.descent.steps), rel=1e-3
        )
    else:
        noise = "mechanism" if name == "output" else "step_noise"
        assert getattr(plan, noise).scale == pytest.approx(getattr(usual, noise).scale, rel=1e-3)


def test_dominance_needs_every_part():
    assert_dominance_needs_every_part(dominates)


def assert_dominance_needs_every_part(dominates) -> None:
    event = PerturbedObjective(3.0, 0.2, monotone=False) + Gaussian(100.0)
    assert dominates(event, PerturbedObjective(3.1, 0.1) + Gaussian(101.0))
    for other in (
        PerturbedObjective(2.9, 0.2) + Gaussian(100.0),
        PerturbedObjective(3.0, 0.21) + Gaussian(100.0),
        PerturbedObjective(3.0, 0.2) + Gaussian(99.0),
        PerturbedObjective(3.0, 0.2) + Gaussian(100.0) + Gaussian(1e9),
        PerturbedSoftmax(3.0, 0.01, 3) + Gaussian(100.0),
    ):
        assert not dominates(event, other)
    assert not dominates(PerturbedObjective(3.0, 0.2), PerturbedObjective(3.0, 0.2, monotone=False))
    assert not dominates(PerturbedSoftmax(3.0, 0.2, 3), PerturbedSoftmax(3.0, 0.1, 4))
    assert not dominates(PerturbedSoftmax(3.0, 0.2, 4), PerturbedSoftmax(3.0, 0.3, 3))
    assert not dominates(Gaussian(2.0) * 3, Gaussian(2.0) * 4)


def test_a_plan_whose_noise_is_too_small_for_its_event_cannot_be_made():
    goal = goal_of("add_remove")
    plan = plan_from_event(ProblemSpec(Logistic(), 1.0, 3), declare_event(goal, Logistic()), goal)
    larger = PerturbedObjective(plan.event.events[0].noise_multiplier * 1.01, 0.2) + plan.event.events[1]
    with pytest.raises(RuntimeError, match="does not dominate"):
        replace(plan, declared=larger)


# Truth.


def pairs_of(radius: float, adjacency: str) -> list:
    """Neighbours in both directions, with others whose labels pull the minimiser to one side or the other."""
    one, other = ((radius,), 1, 1), ((-radius,), 1, 1)
    found = []
    for rest in (((0.0,), 1, 1), ((radius,), -1, 4), ((radius,), -1, 40), ((radius,), 1, 4)):
        with_one, without = (one, rest), ((rest,) if adjacency == "add_remove" else (other, rest))
        found += [(with_one, without), (without, with_one)]
    return found


def largest_share(plan, epsilons: list[float]) -> float:
    """The largest true delta of the noise in the objective over the event's, all of which are at most 1."""
    spec, stated = plan.spec, plan.event.events[0]
    exact = Exact(spec, plan.linear_term, (spec.weight, spec.weight))
    adjacency = plan.adjacency.value
    claims = [objective_delta(e, stated.noise_multiplier, stated.curvature, adjacency) for e in epsilons]
    true = [deltas(exact, *pair, epsilons) for pair in pairs_of(spec.radius, adjacency)]
    shares = np.max(true, axis=0) / np.array(claims)
    assert (shares <= 1 + 1e-5).all()
    return float(shares.max())


def assert_the_exact_loss_is_near_the_event(method=METHOD) -> None:
    """One dimension with a discovered radius and weight, and the plan's own Lambda = beta/kappa.

    The event has a small kappa: where the determinant costs much, noise and determinant are not at their worst
    together (T37, T40).
    """
    for adjacency in ADJACENCIES:
        noise = objective_noise_multiplier(0.99, 0.999e-3, 1e-3, adjacency)
        event = PerturbedObjective(noise, 1e-3) + METHOD.declare_event(goal_of(adjacency), Logistic()).events[1]
        for radius, weight in ((1.0, 1.0), (3.0, 2.5)):
            spec = ProblemSpec(HuberHinge(0.5), radius, 1, weight=weight)
            plan = method.plan_from_event(spec, event, goal_of(adjacency, delta=1e-3))
            assert plan.event == event
            assert 0.75 <= largest_share(plan, [0.99])


def test_the_exact_privacy_loss_is_near_the_event():
    assert_the_exact_loss_is_near_the_event()


@BOTH
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_exact_privacy_loss_is_below_the_declared_event(epsilon, adjacency):
    goal = goal_of(adjacency, epsilon, 1e-3)
    event = METHOD.declare_event(goal, HuberHinge(0.5))
    plan = METHOD.plan_from_event(ProblemSpec(HuberHinge(0.5), 3.0, 1, weight=2.5), event, goal)
    assert 0.4 <= largest_share(plan, [0.0, 0.3 * epsilon, epsilon, 2 * epsilon]) <= 1
    assert account(event, adjacency).delta(epsilon) <= goal.delta
