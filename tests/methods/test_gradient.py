# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gradient perturbation: T44 for clipping, T45 for the composition of the steps; the rest is post-processing (T3)."""

import math

import numpy as np
import pytest

from dperm import GDP, ApproxDP, PureDP
from dperm.accounting import account
from dperm.accounting.event import Repeated
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.rounding import gradient_error
from dperm.erm.spec import ProblemSpec
from dperm.errors import ConversionError, ParameterError
from dperm.methods import GradientPerturbation
from dperm.methods.descent import DescentSettings, default_descent, descend, project
from dperm.methods.gradient import default_projection
from dperm.methods.literature import dpgd_sigma
from dperm.privacy.gaussian_profile import mu_for


@pytest.mark.parametrize(("adjacency", "records"), [("replace_one", 2), ("add_remove", 1)])
def test_the_noise_of_all_steps_composes_to_the_goal(adjacency, records):
    """T45: n = 1e4, T = 100, epsilon = .5, delta = 1e-5, L = 1: .0140637 on the mean gradient for replace-one."""
    given = ProblemSpec(Logistic(), 1.0, 10, n=10_000)
    plan = GradientPerturbation(steps=100, projection=10.0).plan(given, ApproxDP(0.5, 1e-5, adjacency))
    wanted = 0.014063653351165014 * records / 2
    assert wanted <= plan.mechanism.scale / 10_000 <= wanted * (1 + 1e-4)
    assert plan.event == Repeated(plan.mechanism.event, 100)
    found = account(plan.event, adjacency).epsilon(1e-5)
    assert 0.5 * (1 - 1e-9) <= found <= 0.5


def test_steps_cost_the_square_root_of_their_number(spec):
    goal = GDP(1.0, "add_remove")
    one, many = (GradientPerturbation(steps=steps, projection=1.0).plan(spec(), goal) for steps in (1, 400))
    assert many.mechanism.scale / one.mechanism.scale == pytest.approx(20.0, rel=1e-9)
    assert one.mechanism.scale == pytest.approx(spec().lipschitz, rel=1e-5)


def test_clipping_lowers_the_noise(spec):
    """T44."""
    goal = GDP(1.0, "add_remove")
    plain, clipped = (GradientPerturbation(steps=10, projection=1.0).plan(s, goal) for s in (spec(), spec(clip=0.25)))
    assert clipped.mechanism.scale / plain.mechanism.scale == pytest.approx(0.25 / spec().radius, rel=1e-4)


def test_rounding_within_the_projection_is_part_of_the_sensitivity(spec):
    goal = GDP(1.0, "add_remove")
    near, far = (GradientPerturbation(steps=10, projection=p).plan(spec(), goal) for p in (1.0, 1e9))
    small, large = near.mechanism.numerical_error, far.mechanism.numerical_error
    assert small >= gradient_error(spec(), near.most_rows, 1.0)
    assert large >= gradient_error(spec(), far.most_rows, 1e9) > 1e3 * small


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.1), Hinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("n", [100, 10_000, 10**6])
def test_the_default_projection_is_wide_and_bounds_rounding_where_it_can(loss, n):
    given = ProblemSpec(loss, 2.0, 100, n=n)
    radius = default_projection(given)
    assert 30 / 2.0 <= radius <= 1000 / 2.0
    plan = GradientPerturbation().plan(given, GDP(1.0, "add_remove"))
    assert plan.descent.projection == radius
    if radius > 30 / 2.0:
        assert 2 * plan.mechanism.numerical_error <= 0.0101 * given.lipschitz


def test_what_is_given_is_used(spec):
    method = GradientPerturbation(steps=7, step_size=0.3, momentum=0.5, average=0.25, projection=2.0)
    plan = method.plan(spec(), GDP(1.0, "replace_one"))
    assert plan.descent == DescentSettings(7, 0.3, 0.5, 0.25, 2.0)
    assert plan.descent.averaged == 2
    told = plan.describe()
    assert told["steps"] == 7
    assert told["projection"] == 2.0
    assert told["step_noise"]["noise_scale"] == plan.mechanism.scale


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("steps", 1.5),
        ("steps", 10**6 + 1),
        ("step_size", 0.0),
        ("step_size", math.inf),
        ("momentum", 1.0),
        ("momentum", -0.1),
        ("average", 1.1),
        ("projection", 0.0),
    ],
)
def test_nonsense_is_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        GradientPerturbation(**{name: value})


@pytest.mark.parametrize("goal", [PureDP(1.0, "add_remove"), ApproxDP(1.0, 0.0, "replace_one")])
def test_pure_goals_are_refused_with_a_remedy(goal, spec):
    with pytest.raises(ConversionError, match=r'method="gradient".*delta > 0.*method="objective"'):
        GradientPerturbation().plan(spec(), goal)


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_the_normaliser_has_to_be_public(adjacency, spec):
    """T45."""
    with pytest.raises(ParameterError, match=r"n must be declared.*T45.*rough public number"):
        GradientPerturbation().plan(spec(n=None), GDP(1.0, adjacency))


def test_the_default_descent_follows_the_horizon():
    """Plain descent up to H = n/Lambda = 2000/R^2, momentum beyond, at most 300 steps; a kink has momentum always."""
    goal = ApproxDP(1.0, 1e-5, "add_remove")
    given = ProblemSpec(Logistic(), 2.0, 100, n=10**6, clip=1.0)
    strength = 2.0 * (1.0 / mu_for(1.0, 1e-5)) / 2
    near = default_descent(given, goal, 1000)
    assert near == DescentSettings(100, pytest.approx(1000 / strength / 100), 0.0, 0.5)
    far = default_descent(given, goal, 10_000)
    assert far == DescentSettings(round(0.1 * 10_000 / strength / 2.0), 2.0, 0.9, 0.5)
    assert default_descent(given, goal, 10**6).steps == 300
    assert default_descent(given.with_regularization(10 * strength), goal, 1000).step_size < near.step_size / 9
    kinked = default_descent(ProblemSpec(Hinge(), 2.0, 100, n=1000), goal, 1000)
    assert kinked.momentum == 0.9
    assert kinked.step_size == pytest.approx(2 / 4.0)
    weighted = default_descent(ProblemSpec(Logistic(), 2.0, 100, n=10**6, clip=1.0, weight=5.0), goal, 10_000)
    assert weighted.steps == far.steps
    assert weighted.step_size == pytest.approx(far.step_size / 5)
    wide = default_descent(ProblemSpec(Logistic(), 2.0, 100, n=100, clip=1.0), goal, 1000)
    assert wide.step_size < near.step_size / 1.5


def test_descent_without_noise_finds_the_minimum_and_averages_the_end():
    target = np.array([1.0, -2.0, 0.5])
    scales = np.array([1.0, 0.3, 0.1])
    found = descend(lambda theta: scales * (theta - target), DescentSettings(400, 0.5, 0.9, 0.5, 100.0), 3)
    assert found == pytest.approx(target, abs=1e-3)
    steps = []
    descend(lambda theta: steps.append(theta) or np.ones(1), DescentSettings(3, 1.0, 0.0, 0.0, 1.5), 1)
    assert [float(theta[0]) for theta in steps] == [0.0, -1.0, -1.5]
    last = descend(lambda theta: np.ones(1), DescentSettings(4, 1.0, 0.0, 0.0, 100.0), 1)
    half = descend(lambda theta: np.ones(1), DescentSettings(4, 1.0, 0.0, 0.5, 100.0), 1)
    heavy = descend(lambda theta: np.ones(1), DescentSettings(3, 1.0, 0.5, 0.0, 100.0), 1)
    assert (last[0], half[0], heavy[0]) == (-4.0, -3.5, -4.25)


def test_iterates_stay_in_the_ball():
    inside, outside = np.array([0.3, 0.4]), np.array([30.0, 40.0])
    assert (project(inside, 1.0) == inside).all()
    assert np.linalg.norm(project(outside, 1.0)) <= DescentSettings(1, 1.0, 0.0, 0.0, 1.0).longest
    assert project(outside, 1.0) == pytest.approx([0.6, 0.8])


def test_the_exact_noise_as_a_function():
    """T45."""
    assert dpgd_sigma(0.5, 1e-5, steps=100, n=10_000, lipschitz=1.0) == pytest.approx(0.014063653351165014, rel=1e-9)
