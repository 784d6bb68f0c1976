# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which noise a release gets: the least that meets the goal, decided by public constants (T5, T6, T7)."""

import math
from fractions import Fraction

import pytest

from dperm.errors import ParameterError
from dperm.mechanisms.goal import gaussian_mu
from dperm.mechanisms.releases import Count, Covariance, Histogram, Mean, Sum, mechanism_choice
from dperm.mechanisms.releases.mechanism_choice import mechanism_for
from dperm.noise.grid import Norm
from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP

ADJACENCIES = ["add_remove", "replace_one"]


def chosen(goal, **facts):
    return mechanism_for(goal, **facts).name


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_pure_goals_get_laplace_or_gamma_norm_noise(adjacency):
    """T5 against T7: sqrt(2) l1 against sqrt(d + 1) l2."""
    goal = PureDP(0.5, adjacency)
    assert chosen(goal, l1=1.0, l2=1.0) == "laplace"
    assert chosen(goal, l1=2.0, l2=math.sqrt(2), dim=100) == "laplace"
    assert chosen(goal, l1=10.0, l2=1.0, dim=100) == "gamma norm"
    assert chosen(ApproxDP(0.5, 0.0, adjacency), l1=10.0, l2=1.0, dim=100) == "gamma norm"
    assert chosen(goal, l1=2.0**11, l2=1.0, dim=2**21) == "laplace"


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_approximate_goals_get_any_of_the_three(adjacency):
    """T5, T6, T7: whichever deviates least."""
    assert chosen(ApproxDP(1.0, 1e-6, adjacency), l1=1.0, l2=1.0) == "laplace"
    assert chosen(ApproxDP(1.0, 1e-6, adjacency), l1=3.0, l2=1.0, dim=9) == "gamma norm"
    assert chosen(ApproxDP(1.0, 1e-6, adjacency), l1=10.0, l2=1.0, dim=100) == "gaussian"
    assert chosen(ApproxDP(1.0, 0.2, adjacency), l1=1.0, l2=1.0) == "gaussian"


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("goal", [lambda a: GDP(1.0, a), lambda a: ZCDP(0.5, a), lambda a: RDP([(4.0, 2.0)], a)])
def test_other_goals_get_gaussian_noise(goal, adjacency):
    """T6."""
    mechanism = mechanism_for(goal(adjacency), l1=5.0, l2=2.0, dim=7)
    assert (mechanism.name, mechanism.norm, mechanism.sensitivity, mechanism.dim) == ("gaussian", Norm.L2, 2.0, 7)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.1])
@pytest.mark.parametrize(("l1", "dim"), [(1.0, 1), (1.2, 3), (3.0, 9)])
def test_the_choice_has_the_smaller_deviation(epsilon, delta, l1, dim):
    """Against all candidates, calibrated by hand; a goal with a delta never gets more noise than a pure one."""
    goal = ApproxDP(epsilon, delta, "add_remove")
    laplace = math.sqrt(2) * l1 / (epsilon - 2 * math.log1p(-delta))
    gaussian = mechanism_for(GDP(1.0, "add_remove"), l1=l1, l2=1.0, dim=dim).scale / gaussian_mu(goal)
    found = mechanism_for(goal, l1=l1, l2=1.0, dim=dim)
    gamma_norm = math.sqrt(dim + 1) / epsilon
    assert found.standard_deviation == pytest.approx(min(laplace, gaussian, gamma_norm), rel=1e-6)
    pure = mechanism_for(PureDP(epsilon, "add_remove"), l1=l1, l2=1.0, dim=dim)
    assert found.standard_deviation <= pure.standard_deviation * (1 + 1e-9)


def pays_for_rounding(module):
    """T10: twice the error, in the norm of the mechanism, is added to the sensitivity."""
    for goal, l1, root in ((PureDP(1.0, "add_remove"), 1.0, 9), (GDP(1.0, "add_remove"), 3.0, 3)):
        mechanism = module.mechanism_for(goal, l1=l1, l2=1.0, dim=9, rounding=0.125)
        assert mechanism.numerical_error == root * 0.125
        assert mechanism.calibration.sensitivity >= 1.0 + 2 * root * 0.125


def test_rounding_is_paid_for_in_the_norm_of_the_mechanism():
    pays_for_rounding(mechanism_choice)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Fraction(self.rounding))", "Fraction(0))"), ("root_up(self.dim, norm)", "root_up(1, norm)")],
    ids=["rounding is free", "rounding counts once"],
)
def test_unsafe_mutants_die(old, new, assert_killed):
    assert_killed(pays_for_rounding, "dperm.mechanisms.releases.mechanism_choice", old, new)


def test_a_goal_that_is_none_is_refused():
    with pytest.raises(ParameterError, match=r"^goal must be a guarantee"):
        mechanism_for("PureDP", l1=1.0, l2=1.0)


PLANS = {
    # release, mechanism, its sensitivity: the statement, written out
    "count": (lambda a: Count(PureDP(1.0, a)), "laplace", {"add_remove": 1, "replace_one": 1}),
    "sum": (lambda a: Sum(PureDP(1.0, a), (-3.0, 7.0)), "laplace", {"add_remove": 7, "replace_one": 10}),
    "rows": (lambda a: Sum(PureDP(1.0, a), norm=2.5, dim=5), "gamma norm", {"add_remove": 2.5, "replace_one": 5}),
    "histogram": (lambda a: Histogram(PureDP(1.0, a), range(9)), "laplace", {"add_remove": 1, "replace_one": 2}),
    "gaussian histogram": (
        lambda a: Histogram(GDP(1.0, a), [0, 1, 2]),
        "gaussian",
        {"add_remove": 1, "replace_one": math.sqrt(2)},
    ),
    "mean": (
        lambda a: Mean(PureDP(1.0, a), (-3.0, 7.0), n=5) if a == "replace_one" else Mean(PureDP(1.0, a), (-3.0, 7.0)),
        {"add_remove": "gamma norm", "replace_one": "laplace"},
        {"add_remove": 5 * math.sqrt(2), "replace_one": 10},
    ),
    "gaussian mean": (
        lambda a: Mean(GDP(1.0, a), (-3.0, 7.0), n=5 if a == "replace_one" else None),
        "gaussian",
        {"add_remove": 5 * math.sqrt(2), "replace_one": 10},
    ),
    "covariance": (
        lambda a: Covariance(GDP(1.0, a), 3.0, dim=4, n=5 if a == "replace_one" else None),
        "gaussian",
        {"add_remove": 9 * math.sqrt(2), "replace_one": 9 * math.sqrt(2)},
    ),
}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", PLANS)
def test_each_release_has_the_sensitivity_of_its_statement(name, adjacency):
    make, kind, sensitivity = PLANS[name]
    mechanism = make(adjacency).mechanism
    assert mechanism.name == (kind if isinstance(kind, str) else kind[adjacency])
    assert mechanism.sensitivity == pytest.approx(sensitivity[adjacency], rel=1e-9)
    assert mechanism.numerical_error <= 2.0**-20 * mechanism.sensitivity * math.sqrt(mechanism.dim)
    assert Fraction(mechanism.numerical_error) == 0 or name not in ("count", "histogram")
