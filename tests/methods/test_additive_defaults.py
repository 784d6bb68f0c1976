# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The default Lambda of additive models."""

import math

import pytest

from dperm import ApproxDP, PureDP
from dperm.erm.losses import Logistic
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.mechanisms.goal import gaussian_mu
from dperm.methods.choose import choose
from dperm.methods.defaults import additive_factor, additive_regularization, objective_regularization

CLASSES = ProblemSpec(Logistic(), 1.0, 320, clip=0.5)
NUMBERS = ProblemSpec(Squared(), 1.0, 320, clip=0.25)


def goal(epsilon: float, adjacency: str = "add_remove") -> ApproxDP:
    return ApproxDP(epsilon, 1e-5, adjacency)


@pytest.mark.parametrize(
    ("epsilon", "factor"), [(0.01, 1.0), (0.1, 1.0), (math.sqrt(0.05), 1.25), (0.5, 1.5), (1.0, 1.5), (8.0, 1.5)]
)
def test_the_factor_of_classes_is_log_linear_between_a_tenth_and_a_half(epsilon, factor):
    assert additive_factor(epsilon) == pytest.approx(factor, rel=1e-12)
    usual = objective_regularization(CLASSES, goal(epsilon)).value
    assert additive_regularization(CLASSES, goal(epsilon)).value == pytest.approx(factor * usual, rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "share"), [(0.1, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 3), (2.0, 7 / 24), (4.0, 1 / 4), (30.0, 1 / 4)]
)
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_lambda_of_numbers_is_the_largest_of_three(epsilon, share, adjacency):
    asked = goal(epsilon, adjacency)
    moved = 1 if adjacency == "add_remove" else 2
    sigma = 0.25 * moved / gaussian_mu(asked)
    smoothness = 1.0  # R^2 for the squared loss
    expected = max(moved * smoothness / math.expm1(share * epsilon), sigma * min(1, epsilon**-0.3 / 2), 1 / 50)
    found = additive_regularization(NUMBERS, asked)
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert "{" not in str(found.why)


@pytest.mark.parametrize(
    ("n", "asked"), [(20_000, PureDP(1.0, "replace_one")), (1_000, goal(1.0, "replace_one")), (100, goal(4.0))]
)
def test_lambda_of_numbers_is_that_of_linear_models_where_noise_is_loud(n, asked):
    """Gamma-norm noise grows with the number of features, and so does the load of few records."""
    spec = ProblemSpec(Squared(), 1.0, 330, n=n, clip=0.25)
    assert additive_regularization(spec, asked).value == objective_regularization(spec, asked).value


def test_the_determinant_takes_a_third_of_a_small_epsilon():
    plan = choose(NUMBERS, goal(0.1), rule=additive_regularization)
    assert plan.facts.public["determinant_loss"] == pytest.approx(0.1 / 3, rel=1e-6)
    assert "33 % of epsilon" in " ".join(map(str, plan.why))


def test_the_reason_states_the_share_that_the_plan_spends():
    plan = choose(NUMBERS, goal(0.1, "replace_one"), rule=additive_regularization)
    spent = plan.facts.public["determinant_loss"]
    assert spent == pytest.approx(math.log1p(math.expm1(0.1 / 3) / 2), rel=1e-6)
    assert f"{100 * spent / 0.1:.0f} % of epsilon" in " ".join(map(str, plan.why))


def test_the_rule_is_for_objective_perturbation_and_an_unset_lambda_alone():
    given = ProblemSpec(Squared(), 1.0, 320, clip=0.25, regularization=3.0)
    assert choose(given, goal(1.0), rule=additive_regularization).spec.strength == 3.0
    usual, other = (choose(NUMBERS, goal(1.0), "output", rule=rule) for rule in _RULES)
    assert usual.spec == other.spec
    usual, other = (choose(NUMBERS, goal(1.0), rule=rule) for rule in _RULES)
    assert usual.spec.strength != other.spec.strength


def test_a_pure_goal_has_a_default_too():
    plan = choose(CLASSES, PureDP(1.0, "add_remove"), rule=additive_regularization)
    assert plan.spec.strength == additive_regularization(CLASSES, PureDP(1.0, "add_remove")).value


_RULES = (objective_regularization, additive_regularization)
