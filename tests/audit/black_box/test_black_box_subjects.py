# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Subjects of our own methods: they are the plans, bounds come close to the claims, bugs are caught, and no alarms."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dperm import ApproxDP, PureDP
from dperm.audit import exact
from dperm.audit.black_box import BatchSubject, FixedThreshold, audit, of_mechanism, of_plan
from dperm.audit.black_box.neighbours import candidate_neighbours, farthest_minimiser_neighbours
from dperm.audit.black_box.statistics import SimulatedThreshold
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.residual_losses import Huber, Squared
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.mechanisms import GammaNormMechanism, GaussianMechanism, LaplaceMechanism
from dperm.methods import (
    FiniteClass,
    GradientPerturbation,
    ObjectivePerturbation,
    OutputPerturbation,
    SampledGradient,
    SufficientStatistics,
)
from dperm.noise import NotPrivateBits
from dperm.privacy import Adjacency

BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
LEVEL = 1e-4
SURE = 0.9999
"""The confidence at which a test of this suite calls a correct method broken: one in 10,000."""
HUBER = HuberHinge(0.5)


def spec_of(loss=HUBER, **more):
    return ProblemSpec(loss, 1.0, more.pop("dim", 1), n=more.pop("n", 1000), **more)


def pure(adjacency, epsilon=2.0):
    return PureDP(epsilon, adjacency)


def approximate(adjacency, epsilon=2.0):
    return ApproxDP(epsilon, 1e-5, adjacency)


def tight_objective(adjacency, noise="gamma_norm", goal=pure):
    return ObjectivePerturbation(noise).plan(spec_of(regularization=100.0), goal(adjacency))


PLANS = {
    "Laplace output": lambda adjacency: OutputPerturbation("laplace").plan(spec_of(), pure(adjacency)),
    "gamma-norm output": lambda adjacency: OutputPerturbation("gamma_norm").plan(spec_of(), pure(adjacency)),
    "Gaussian output": lambda adjacency: OutputPerturbation("gaussian").plan(spec_of(), approximate(adjacency)),
    "pure objective": tight_objective,
    "Gaussian objective": lambda adjacency: tight_objective(adjacency, "gaussian", approximate),
    "gradient": lambda adjacency: GradientPerturbation(steps=10).plan(spec_of(Hinge()), approximate(adjacency)),
}


@cache
def found_for(name, adjacency):
    """The plan and its subject: neighbours are looked for once."""
    plan = PLANS[name](adjacency)
    return plan, of_plan(plan)


def subject_of(name, adjacency, seed):
    return replace(found_for(name, adjacency)[1], bits=NotPrivateBits(seed))


def learned(plan, subject, outputs):
    """What the plan would release, where a subject shows more than that."""
    return subject.coefficients(outputs)[:, None] if plan.method == "gradient" else outputs


@cache
def pair_of(name, adjacency):
    plan, subject = found_for(name, adjacency)
    return farthest_minimiser_neighbours(plan.spec, plan.adjacency) if plan.method == "output" else subject.pair


# They are the plans.


@BOTH
@pytest.mark.parametrize("name", PLANS)
def test_one_run_is_what_the_plan_learns_from_the_same_bits(name, adjacency):
    """Up to the tolerance of the solver, or to the rounding of a gradient."""
    plan = found_for(name, adjacency)[0]
    for seed, included in ((1, True), (2, False), (3, True)):
        subject = subject_of(name, adjacency, seed)
        found = learned(plan, subject, subject.outputs(np.array([included])))[0]
        exact = plan.learn(pair_of(name, adjacency).data(included), NotPrivateBits(seed).stream())
        room = 2.1 * plan.tolerance / plan.spec.strength if plan.method == "objective" else 1e-10
        assert found == pytest.approx(exact, abs=room) and (plan.method != "output" or found == exact)


@pytest.mark.parametrize("name", PLANS)
def test_many_runs_have_the_law_of_the_plan(name):
    """Kolmogorov and Smirnov, with the record and without it."""
    plan, subject = found_for(name, "replace_one")[0], subject_of(name, "replace_one", 4)
    for included in (True, False):
        data = pair_of(name, "replace_one").data(included)
        own = np.array([plan.learn(data, subject.bits.stream())[0] for _ in range(200)])
        many = learned(plan, subject, subject.outputs(np.full(5000, included)))[:, 0]
        assert stats.ks_2samp(own, many).pvalue > LEVEL
        assert stats.ks_2samp(own, many + 0.5 * many.std()).pvalue < LEVEL  # it could have failed


def test_runs_are_independent_and_neighbours_are_neighbours():
    for name in PLANS:
        outputs = subject_of(name, "add_remove", 5).outputs(np.arange(2000) % 2 == 0)[:, 0].ravel()
        assert len(np.unique(outputs)) == 2000, name
        assert abs(np.corrcoef(outputs[0:-2:2], outputs[2::2])[0, 1]) < 0.15
        without, included = (pair_of(name, "add_remove").data(side) for side in (False, True))
        assert included.rows == without.rows + 1
        assert {pair_of(name, "replace_one").data(side).rows for side in (False, True)} == {1000}


# Bounds come close.

TIGHT = {
    "Laplace output": 0.98,
    "Gaussian output": 0.93,
    "pure objective": 0.85,
    "gradient": 0.93,
}


@pytest.mark.parametrize(
    ("name", "adjacency"),
    [
        *product([name for name in TIGHT if name != "pure objective"], ["add_remove", "replace_one"]),
        ("pure objective", "add_remove"),
        pytest.param("pure objective", "replace_one", marks=pytest.mark.slow),
    ],
)
def test_what_is_measured_comes_close_to_the_claim(name, adjacency):
    """At 95 % with 100,000 runs; the middle of five audits, whose noise follows from seeds."""
    subject = subject_of(name, adjacency, 6)
    audits = 5 if name != "pure objective" else 1
    found = [audit(subject, runs=100_000, seed=seed).tightness for seed in range(audits)]
    assert TIGHT[name] <= np.median(found) <= 1.01


@pytest.mark.parametrize(
    ("mechanism", "least"),
    [
        (LaplaceMechanism.calibrate(1.0, PureDP(2.0, "add_remove")), 0.95),
        (GaussianMechanism.calibrate(1.0, ApproxDP(2.0, 1e-5, "add_remove")), 0.9),
        (GaussianMechanism.calibrate(1.0, ApproxDP(2.0, 1e-5, "add_remove"), dim=20), 0.9),
        (GammaNormMechanism.calibrate(1.0, PureDP(2.0, "add_remove"), dim=3), 0.5),
    ],
    ids=["Laplace", "Gaussian", "Gaussian in 20 dimensions", "gamma norm in 3 dimensions"],
)
def test_mechanisms_by_themselves(mechanism, least):
    found = audit(of_mechanism(mechanism, bits=NotPrivateBits(7)), runs=20_000, seed=1, confidence=0.9)
    assert least <= found.tightness <= 1.03


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.5), Squared()], ids=["logistic", "Huber", "squared"])
def test_other_losses_have_neighbours_too(loss):
    spec = spec_of(loss, clip=1.0 if isinstance(loss, Squared) else None, n=50)
    for method, goal in (
        (OutputPerturbation(), pure("replace_one")),
        (ObjectivePerturbation(), pure("add_remove")),
        (GradientPerturbation(steps=5), approximate("replace_one")),
    ):
        found = audit(of_plan(method.plan(spec, goal), bits=NotPrivateBits(8)), runs=5000, confidence=SURE, seed=1)
        assert not found.violation and found.bound.epsilon > 0.1


@pytest.mark.parametrize("regularization", [5.0, 100.0])
def test_a_crowd_of_short_rows_brings_the_record_to_where_it_counts(regularization):
    """Without it the slope of the logistic loss at the record is a half, and so is what is measured (T30)."""
    plan = OutputPerturbation().plan(
        spec_of(Logistic(), n=50, regularization=regularization), PureDP(1.0, "add_remove")
    )
    subject = of_plan(plan, bits=NotPrivateBits(9))
    found = audit(subject, runs=50_000, seed=1)
    assert "10000 others" in subject.facts["neighbours"] and not found.violation
    assert found.bound.epsilon > 0.93 * exact.output(plan).bound.epsilon > 0.55
    assert found.tightness > (0.88 if regularization == 5.0 else 0.7)


def test_no_crowd_is_larger_than_the_public_number_of_records():
    for adjacency, most in (("replace_one", 9), ("add_remove", 10_000)):
        sizes = {
            sum(count for *_, count in pair.rest)
            for pair in candidate_neighbours(spec_of(n=10), Adjacency.of(adjacency))
        }
        assert max(sizes) == most
    assert {pair.rest for pair in candidate_neighbours(spec_of(n=1), Adjacency.REPLACE_ONE)} == {()}


# Bugs.


def with_less_noise(subject, share):
    """Noise of ``share`` of its size around the two values, the claim unchanged."""

    def draw(included):
        values = np.where(included[:, None], subject.included, subject.without)
        return values + share * (subject.outputs(included) - values)

    return BatchSubject(subject.name, subject.claimed, draw, subject.statistics, subject.profile)


@pytest.mark.parametrize("name", ["Laplace output", "Gaussian output"])
def test_a_fifth_less_noise_is_caught(name):
    subject = subject_of(name, "replace_one", 9)
    for seed in range(3):
        assert audit(with_less_noise(subject, 0.8), runs=100_000, seed=seed).violation


def test_a_fifth_less_noise_in_the_objective_or_in_gradients_is_caught():
    plan = tight_objective("add_remove")
    term = replace(plan.linear_term, scale=0.8 * plan.linear_term.scale)
    weak = replace(plan, perturbation=replace(plan.perturbation, term=term))
    assert audit(of_plan(weak, bits=NotPrivateBits(10)), runs=40_000, seed=1).violation
    own, less = (PLANS["gradient"]("add_remove"), GradientPerturbation(steps=10))
    weak = less.plan(spec_of(Hinge()), approximate("add_remove", 2.58))
    assert weak.mechanism.scale == pytest.approx(0.8 * own.mechanism.scale, rel=0.01)
    subject = of_plan(weak, bits=NotPrivateBits(11))
    claimed = BatchSubject("less noise", own.goal, subject.outputs, subject.statistics, own.facts.profile)
    assert audit(claimed, runs=100_000, seed=1).violation


# No alarms.


def alarms(repeats, runs):
    found = []
    for name in PLANS:
        subject = subject_of(name, "replace_one", 12)
        audits = [audit(subject, runs=runs, confidence=SURE, seed=seed) for seed in range(repeats)]
        found += [name for one in audits if one.violation]
    return found


def test_correct_methods_raise_no_alarm():
    assert not alarms(20, 1000)


@pytest.mark.slow
def test_correct_methods_raise_no_alarm_in_many_runs():
    assert not alarms(20, 100_000)


# Any plan.


@pytest.mark.parametrize(
    ("method", "loss", "goal"),
    [
        (SampledGradient(rate=0.2, steps=4), Logistic(), approximate("add_remove", 4.0)),
        (SufficientStatistics(), Squared(), approximate("replace_one", 4.0)),
        (FiniteClass(np.array([[1.0], [-1.0]])), Logistic(), pure("replace_one")),
    ],
    ids=["sgd", "sufficient statistics", "finite class"],
)
def test_other_plans_are_run_as_they_are(method, loss, goal):
    plan = method.plan(spec_of(loss, n=20), goal)
    seen = []
    found = audit(of_plan(plan), runs=300, confidence=SURE, seed=1, progress=seen.append)
    assert not found.violation and found.subject == f"method {plan.method!r}"
    assert seen == sorted(seen) and seen[-1] == 1.0


def test_what_is_no_plan_of_one_score_is_refused():
    with pytest.raises(AssumptionError, match="plan must be a plan of dperm"):
        of_plan("output")
    plan = OutputPerturbation().plan(spec_of(Softmax(3), dim=3), pure("replace_one"))
    with pytest.raises(AssumptionError, match="losses of one score, got the loss 'softmax'"):
        of_plan(plan)


def test_the_thresholds_of_pure_noise_are_fixed_in_advance():
    for name in ("Laplace output", "gamma-norm output", "pure objective"):
        ratio, bits = found_for(name, "replace_one")[1].statistics
        assert isinstance(ratio, FixedThreshold | SimulatedThreshold) and ratio.share > bits.share
        assert ratio.tested(1000) == 1000
