# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Runs: the order of the steps, what is charged, what leaves, and nothing else (T31, T43, T45)."""

import json
import math

import numpy as np
import pytest

from dperm import ApproxDP, PureDP, Release
from dperm.accounting import MemoryBudget
from dperm.accounting.budget import State
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.gradient import loss_gradient
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.minimize import minimize
from dperm.errors import AssumptionError, BudgetError, DataError, NotPrivateWarning, ParameterError
from dperm.methods import GradientPerturbation, ObjectivePerturbation, OutputPerturbation, output
from dperm.noise import NotPrivateBits
from dperm.privacy.digest import digest

APPROX = ApproxDP(1.0, 1e-5, "replace_one")
PURE = PureDP(1.0, "add_remove")
RUNS = {
    "objective-gaussian": (ObjectivePerturbation("gaussian"), APPROX),
    "objective-pure": (ObjectivePerturbation(), PURE),
    "output-gaussian": (OutputPerturbation("gaussian"), APPROX),
    "output-pure": (OutputPerturbation(), PURE),
    "output-laplace": (OutputPerturbation("laplace"), PURE),
    "gradient": (GradientPerturbation(steps=10), APPROX),
}


class NoBits:
    """A source that must not be asked: whoever draws from it has drawn too early."""

    is_private = True

    def stream(self):
        raise AssertionError("noise was drawn")


@pytest.fixture(params=RUNS.values(), ids=RUNS)
def plan(request, spec):
    method, goal = request.param
    return method.plan(spec(HuberHinge(0.5)), goal)


def exactly(goal) -> MemoryBudget:
    return MemoryBudget(goal, blocks=1 if isinstance(goal, ApproxDP) else None)


def seeded(plan, data, seed=1):
    with pytest.warns(NotPrivateWarning):
        return plan.run(lambda: data, bits=NotPrivateBits(seed))


def test_a_run_returns_a_release_and_is_charged_once(plan, data):
    budget = exactly(plan.goal)
    release = plan.run(data, budget)
    assert isinstance(release, Release)
    assert release.value.shape == (plan.spec.dim,)
    assert np.isfinite(release.value).all()
    assert release.guarantee == plan.goal
    assert release.event == plan.event
    assert release.record.is_private
    assert release.record.grade == "exact"
    assert set(plan.theorems) <= set(release.record.theorems)
    (entry,) = budget.entries
    assert entry.state is State.COMMITTED
    assert entry.digest == digest(release.value)
    with pytest.raises(BudgetError):
        plan.run(data, budget)
    assert len(budget.entries) == 1


def test_the_budget_is_asked_before_the_data_are_read(plan):
    budget = exactly(plan.goal)
    budget.reserve(plan.event)

    def read():
        raise AssertionError("data were read")

    with pytest.raises(BudgetError):
        plan.run(read, budget, bits=NoBits())


def test_bad_data_cost_nothing(plan, data):
    budget = exactly(plan.goal)

    def read():
        raise DataError("X must be finite.")

    with pytest.raises(DataError):
        plan.run(read, budget, bits=NoBits())
    assert budget.entries == ()


def test_a_failure_after_the_charge_is_burned(plan, data):
    budget = exactly(plan.goal)

    class Broken:
        is_private = True

        def stream(self):
            return self

        def words(self, count):
            raise OSError("no randomness")

    with pytest.raises(OSError, match="no randomness"):
        plan.run(data, budget, bits=Broken())
    (entry,) = budget.entries
    assert entry.state is State.BURNED


def test_a_solver_that_fails_burns_the_charge(monkeypatch, spec, data):
    def failing(*_, **__):
        raise AssumptionError("tolerance is too small")

    monkeypatch.setattr(output, "minimize", failing)
    budget = exactly(PURE)
    with pytest.raises(AssumptionError) as failure:
        OutputPerturbation().plan(spec(), PURE).run(data, budget)
    assert budget.entries[0].state is State.BURNED
    assert "stays charged" in failure.value.__notes__[0]


def test_a_seed_makes_a_run_reproducible_and_not_private(plan, data):
    first, again, other = (seeded(plan, data(), seed) for seed in (1, 1, 2))
    assert (first.value == again.value).all()
    assert (first.value != other.value).all()
    assert not first.record.is_private


def test_the_record_says_nothing_that_depends_on_the_data(plan, data):
    """Two data sets that share nothing but their public constants have the same record."""

    def told(seed):
        record = json.loads(plan.run(lambda: data(seed)).record.to_json())
        assert record.pop("timestamp")
        return record

    assert told(0) == told(7)


def test_more_rows_than_planned_are_refused_before_anything_is_charged(spec, data, monkeypatch):
    monkeypatch.setattr("dperm.methods.plan.FEWEST_MOST_ROWS", 2**16)
    plan = OutputPerturbation().plan(spec(n=10), PURE)
    budget = exactly(PURE)
    assert plan.most_rows == 2**16
    with pytest.raises(DataError, match="65,536") as refusal:
        plan.run(lambda: data(rows=2**16 + 1), budget, bits=NoBits())
    assert "65,537" not in str(refusal.value)
    assert budget.entries == ()
    plan.run(lambda: data(rows=2**16), budget)


def test_under_replace_one_there_are_n_rows_and_under_add_remove_n_is_not_compared(spec, data):
    replaced = OutputPerturbation().plan(spec(n=300), PureDP(1.0, "replace_one"))
    with pytest.raises(DataError, match="n=300"):
        replaced.run(data, bits=NoBits())
    added = OutputPerturbation().plan(spec(n=300), PURE)
    assert added.run(data).value.shape == (4,)


def test_data_bounded_otherwise_than_planned_are_refused(spec, data):
    """T54: a plan is for a radius, weights and a number of coefficients."""
    plan = OutputPerturbation().plan(spec(), PURE)
    X, y = np.ones((5, 3)), np.array([0, 1, 0, 1, 0])
    wide = enforce(X, y, FeatureSpace(3, norm=1.01), Classes((0, 1)))
    heavy = enforce(X, y, FeatureSpace(3, norm=1.0), Classes((0, 1), (1.0, 1.5)))
    bare = enforce(X, y, FeatureSpace(3, norm=1.0, intercept=False), Classes((0, 1)))
    for wrong in (wide, heavy):
        with pytest.raises(ParameterError, match="at most those of the plan"):
            plan.run(lambda wrong=wrong: wrong, bits=NoBits())
    with pytest.raises(DataError, match="columns of the plan for 4 coefficients"):
        plan.run(lambda: bare, bits=NoBits())
    light = enforce(X, y, FeatureSpace(3, norm=0.5), Classes((0, 1), (1.0, 0.5)))
    assert plan.run(lambda: light).value.shape == (4,)


def test_output_perturbation_adds_its_noise_to_the_minimiser(spec, data):
    """T32: the noise is that of the mechanism, the minimiser that of J."""
    plan = OutputPerturbation("gaussian").plan(spec(regularization=10.0), APPROX)
    exact = minimize(data(), plan.spec, 1e-9)
    drawn = np.array([seeded(plan, data(), seed).value - exact for seed in range(200)])
    assert np.mean(drawn**2) == pytest.approx(plan.output_noise.scale**2, rel=0.2)
    assert np.abs(drawn.mean(axis=0)).max() < 5 * plan.output_noise.scale / math.sqrt(200)


@pytest.mark.parametrize("noise", ["gaussian", "gamma_norm"])
def test_objective_perturbation_solves_for_the_b_it_drew(noise, spec, data):
    """T43: within (tau' + blur)/Lambda of the minimiser of J + b'theta, with the first draw of the stream."""
    plan = ObjectivePerturbation(noise).plan(spec(regularization=10.0), APPROX)
    apart = []
    for seed in range(60):
        b = plan.linear_term.draw(NotPrivateBits(seed).stream())
        exact = minimize(data(), plan.spec, 1e-10, linear=b)
        apart.append(seeded(plan, data(), seed).value - exact)
    assert np.abs(apart).max() <= plan.tolerance / 10.0 + 8 * plan.output_noise.standard_deviation
    assert np.std(apart) == pytest.approx(plan.output_noise.standard_deviation, rel=0.35)
    assert np.linalg.norm(exact - minimize(data(), plan.spec, 1e-9)) > 1e-3


def test_gradient_perturbation_descends_along_the_gradients_of_the_regularised_mean(spec, data):
    """T45: with noise that is small beside n, the result is close to the minimiser; a small Lambda counts."""
    goal = ApproxDP(400.0, 1e-2, "replace_one")
    for strength in (40.0, 400.0):
        given = spec(HuberHinge(0.5), regularization=strength)
        plan = GradientPerturbation(steps=200, step_size=0.5, momentum=0.5).plan(given, goal)
        exact = minimize(data(), given, 1e-8)
        found = seeded(plan, data()).value
        assert np.linalg.norm(found - exact) < 0.02 * max(1.0, np.linalg.norm(exact))
    assert np.linalg.norm(exact) > 0.01


def test_a_kinked_loss_is_learnt_by_gradient_perturbation(spec, data):
    plan = GradientPerturbation(steps=60, step_size=0.5).plan(spec(Hinge()), ApproxDP(300.0, 1e-2, "replace_one"))
    theta = seeded(plan, data()).value
    slopes = loss_gradient(data(), plan.spec, theta)
    assert np.linalg.norm(slopes) < 0.5 * np.linalg.norm(loss_gradient(data(), plan.spec, np.zeros(4)))


@pytest.mark.parametrize("name", RUNS)
def test_with_little_noise_every_method_learns_the_line(name, spec, data):
    method, goal = RUNS[name]
    generous = ApproxDP(100.0, 1e-3, "replace_one") if goal is APPROX else PureDP(100.0, "add_remove")
    changed = GradientPerturbation() if name == "gradient" else method
    plan = changed.plan(spec(Logistic()), generous)
    theta = seeded(plan, data()).value
    direction = theta[:3] / np.linalg.norm(theta[:3])
    wanted = np.array([2.0, -1.0, 0.5]) / np.linalg.norm([2.0, -1.0, 0.5])
    assert direction @ wanted > 0.95
