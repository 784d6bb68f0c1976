# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact audits of output perturbation (T6, T7, T29-T32) and of the perturbed median (T42)."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dperm import GDP, ZCDP, ApproxDP, PureDP
from dperm.audit import exact
from dperm.erm.losses import HuberHinge, Logistic
from dperm.erm.residual_losses import Huber
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.methods import ObjectivePerturbation, OutputPerturbation
from dperm.privacy import Adjacency

BOTH = pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
LOSSES = {"Huber hinge": HuberHinge(0.5), "Huber": Huber(0.5), "logistic": Logistic()}
GOALS = {"gamma_norm": PureDP, "laplace": PureDP, "gaussian": lambda e, a: ApproxDP(e, 1e-3, a)}


def plan_of(loss: str, noise: str, adjacency: Adjacency, *, dim: int = 1, n: int | None = None) -> Any:
    spec = ProblemSpec(LOSSES[loss], 2.0, dim, n=n, regularization=400.0)
    return OutputPerturbation(noise).plan(spec, GOALS[noise](1.0, adjacency))


@BOTH
@pytest.mark.parametrize("noise", GOALS)
@pytest.mark.parametrize("loss", LOSSES)
def test_our_plans_are_not_refuted_and_are_tight(loss, noise, adjacency):
    for dim in (1, 2):
        finding = exact.output(plan_of(loss, noise, adjacency, dim=dim))
        assert not finding.violation
        own = min(finding.bounds.values(), key=lambda bound: bound.delta)
        assert (0.4 if loss == "logistic" else 0.9999) <= own.epsilon / finding.claimed_epsilon(own.delta) <= 1


@pytest.mark.parametrize("noise", ["gamma_norm", "gaussian"])
def test_the_logistic_loss_reaches_three_quarters_in_the_plane(noise):
    """T30 with the crowd that holds the record's margin."""
    spec = ProblemSpec(Logistic(), 1.0, 2, regularization=2.0)
    finding = exact.output(OutputPerturbation(noise).plan(spec, GOALS[noise](1.0, Adjacency.REPLACE_ONE)))
    assert 0.74 <= finding.tightness <= 1
    assert "across a crowd" in str(finding.facts["neighbours"])


@BOTH
@pytest.mark.parametrize("noise", GOALS)
def test_noise_for_one_percent_less_is_refuted(noise, adjacency):
    """A plan whose mechanism was calibrated to a sensitivity that is too small, with the claim of the true one."""
    plan = plan_of("Huber hinge", noise, adjacency)
    mechanism = type(plan.mechanism).calibrate(0.99 * plan.mechanism.sensitivity, plan.goal, dim=1)
    assert exact.output(replace(plan, output_noise=mechanism)).violation


def test_where_n_is_public_the_data_have_n_rows():
    """And the plan accepts them."""
    finding = exact.output(plan_of("Huber hinge", "gamma_norm", Adjacency.REPLACE_ONE, n=3))
    assert 0.9999 <= finding.tightness <= 1


def test_the_loss_is_attained_at_the_minimiser():
    """e^{-||x - theta||/s} to e^{-||x - theta'||/s} at x = theta: the finding's number."""
    plan = plan_of("Huber hinge", "gamma_norm", Adjacency.ADD_REMOVE)
    moved = plan.spec.lipschitz / plan.spec.strength
    assert exact.output(plan).bound.epsilon == pytest.approx(moved / plan.mechanism.scale, rel=1e-9)


def test_progress_is_told_and_other_plans_are_refused():
    told: list[float] = []
    exact.output(plan_of("Huber hinge", "laplace", Adjacency.ADD_REMOVE), progress=told.append)
    assert told[-1] == 1.0
    objective = ObjectivePerturbation().plan(ProblemSpec(Logistic(), 1.0, 1), PureDP(1.0, "add_remove"))
    with pytest.raises(ParameterError, match="plan must be a plan of OutputPerturbation"):
        exact.output(objective)


@pytest.mark.parametrize("goal", [ZCDP(0.125, "add_remove"), GDP(0.5, "add_remove")], ids=["zCDP", "GDP"])
def test_a_goal_that_is_a_curve_is_looked_at_at_several_deltas(goal):
    spec = ProblemSpec(HuberHinge(0.5), 2.0, 1, regularization=400.0)
    plan = OutputPerturbation("gaussian").plan(spec, goal)
    finding = exact.output(plan)
    assert len({bound.delta for bound in finding.bounds.values()}) == 5
    assert not finding.violation
    mechanism = type(plan.mechanism).calibrate(0.99 * plan.mechanism.sensitivity, goal, dim=1)
    assert exact.output(replace(plan, output_noise=mechanism)).violation


# The median.


@pytest.mark.parametrize(("sigma", "golden"), [(0.5, 0.49997), (1.0, 0.4772), (2.0, 0.3413)])
def test_the_perturbed_median_is_a_record_with_the_golden_probability(sigma, golden):
    """T42."""
    assert exact.median_atom([0.0, 100.0], 100.0, sigma=sigma) == pytest.approx(golden, abs=6e-5)


def test_strong_convexity_does_not_help():
    """E8: the kink keeps its atom."""
    assert exact.median_atom([0.0, 1.0], 1.0, sigma=1.0, strength=0.1) == pytest.approx(0.4423, abs=5e-5)


def test_the_atom_is_that_of_the_minimiser():
    """Of ten thousand draws of b as many release the record as the formula says."""
    values, record, strength = np.array([-0.5, 0.2, 0.2, 3.0]), 0.2, 0.7
    b = np.random.default_rng(76).normal(0.0, 1.5, 10_000)
    w = np.union1d(values, np.linspace(-8, 8, 1600))
    cost = np.abs(w[:, None] - values).sum(axis=1) + strength / 2 * w**2
    released = w[(cost[:, None] + w[:, None] * b).argmin(axis=0)]
    atom = exact.median_atom(values, record, sigma=1.5, strength=strength)
    assert atom > 0.5
    # on the grid, steps of .01 beside the record belong to b within Lambda/100 of the ends
    assert abs((released == record).mean() - atom) <= 4 * math.sqrt(atom * (1 - atom) / len(b)) + 0.01


@pytest.mark.parametrize(
    "claimed", [ApproxDP(1.0, 1e-5, "replace_one"), PureDP(50.0, "replace_one"), GDP(3.0, "replace_one")], ids=repr
)
def test_no_claim_survives_the_atom(claimed):
    finding = exact.median([0.0, 100.0], 100.0, sigma=1.0, claimed=claimed)
    assert finding.violation
    assert math.isinf(finding.bound.epsilon)


COPIES = {
    "three alike": ([5.0] * 3, 5.0, 1.0, 0.0),
    "two below": ([0.0, 5.0, 5.0, 9.0, 11.0], 5.0, 1.5, 0.0),
    "pulled": ([5.0, 5.0, 100.0], 5.0, 1.0, 0.1),
}


@BOTH
@pytest.mark.parametrize("case", COPIES)
def test_a_record_that_others_equal_is_released_without_it_too(case, adjacency):
    """The atom of the neighbour counts: p - e^epsilon p' is no more than the claimed delta where the claim is true."""
    values, record, sigma, strength = COPIES[case]
    atom = exact.median_atom(values, record, sigma=sigma, strength=strength)
    rest = list(values)
    rest.remove(record)
    nearby = [[*rest, record - 1], [*rest, record + 1]] if adjacency is Adjacency.REPLACE_ONE else [rest]
    least = min(exact.median_atom(near, record, sigma=sigma, strength=strength) for near in nearby)
    finding = exact.median(values, record, sigma=sigma, strength=strength, claimed=PureDP(0.01, adjacency))
    assert finding.violation
    assert finding.bound.epsilon == pytest.approx(math.log(atom / least), rel=1e-9)
    assert finding.bound.epsilon <= math.log(atom / least)
    true = ApproxDP(1.0, max(0.0, atom - math.e * least) + 1e-9, adjacency)
    assert not exact.median(values, record, sigma=sigma, strength=strength, claimed=true).violation


def test_three_equal_records_do_not_refute_what_two_of_them_allow():
    finding = exact.median([5.0] * 3, 5.0, sigma=1.0, claimed=ApproxDP(1.0, 0.9, "replace_one"))
    assert not finding.violation
    assert finding.facts["atom"] == pytest.approx(0.9973, abs=1e-4)


def test_a_rare_atom_refutes_a_curve_below_its_probability():
    """An atom of 1e-10 is below every delta that is looked at by itself."""
    values = [0.0] * 7 + [100.0]
    assert 0 < exact.median_atom(values, 100.0, sigma=1.0) < 1e-8
    assert exact.median(values, 100.0, sigma=1.0, claimed=GDP(1.0, "replace_one")).violation


def test_nothing_is_found_where_there_is_no_atom():
    assert exact.median_atom([0.0, 100.0], 50.0, sigma=1.0) == 0.0
    assert not exact.median([0.0, 100.0], 50.0, sigma=1.0).violation


@pytest.mark.parametrize(
    ("values", "options", "name"),
    [
        ([0.0, math.nan], {}, "values"),
        ([[1.0]], {}, "values"),
        ("a", {}, "values"),
        (["a"], {}, "values"),
        ([0.0], {"sigma": 0.0}, "sigma"),
        ([0.0], {"strength": -1.0}, "strength"),
        ([0.0], {"record": "a"}, "record"),
        ([0.0], {"claimed": None}, "claimed"),
        ([0.0], {"claimed": 1.0}, "claimed"),
    ],
    ids=["nan", "matrix", "text", "texts", "sigma", "strength", "record", "no claim", "number"],
)
def test_bad_arguments_are_refused(values, options, name):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        exact.median(values, **{"record": 0.0, "sigma": 1.0, **options})
