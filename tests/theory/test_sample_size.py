# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T57: the number of records by bisection and in closed form. T48, T58: orders are labelled as orders."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import AssumptionError, ParameterError
from dperm.theory import (
    LearningProblem,
    OrderOnly,
    gaussian_output_sample_order,
    gradient_risk_order,
    objective_empirical_risk,
    objective_excess_risk,
    objective_risk_order,
    objective_sample_order,
    objective_sample_size,
    objective_sample_size_closed_form,
    output_empirical_risk,
    output_excess_risk,
    output_risk_order,
    output_sample_order,
    output_sample_size,
)

TEN = LearningProblem(dim=10)
GOALS = [(delta, adjacency) for delta in (0.0, 1e-5) for adjacency in ("replace_one", "add_remove")]
PAIRS = [
    (output_sample_size, (output_excess_risk, output_empirical_risk)),
    (objective_sample_size, (objective_excess_risk, objective_empirical_risk)),
]


@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
@pytest.mark.parametrize(("size", "calculators"), PAIRS)
@pytest.mark.parametrize("excess", [0.3, 0.03])
def test_the_number_of_records_is_the_smallest(size, calculators, excess, delta, adjacency):  # T57, T56a
    goal = {"epsilon": 0.5, "delta": delta, "adjacency": adjacency}
    assert size(TEN, excess, **goal) == size(TEN, excess, risk="population", **goal)
    for risk, calculator in zip(("population", "empirical"), calculators, strict=True):
        n = size(TEN, excess, risk=risk, **goal)
        assert calculator(TEN, n, **goal).bound <= excess < calculator(TEN, n - 1, **goal).bound


def test_the_golden_bound_needs_the_golden_number_of_records():  # T57: golden utility_10000
    assert output_sample_size(TEN, 0.0212245853, epsilon=1.0, adjacency="replace_one") == 10_000
    assert objective_sample_size(TEN, 0.0201099715, epsilon=1.0, adjacency="replace_one") == 10_000


@given(
    st.integers(1, 300),
    st.floats(1e-3, 1.0),
    st.floats(0.02, 10),
    st.sampled_from(["replace_one", "add_remove"]),
    st.tuples(st.floats(0.2, 5), st.floats(0.05, 5), st.floats(0.2, 5)),
    st.none() | st.floats(0.05, 0.95),
)
@settings(max_examples=40)
def test_the_closed_form_suffices(dim, excess, epsilon, adjacency, constants, share):  # T57
    problem = LearningProblem(dim, *constants)
    goal = {"epsilon": epsilon, "adjacency": adjacency}
    n = objective_sample_size_closed_form(
        problem, excess, noise_epsilon=None if share is None else share * epsilon, **goal
    )
    assert objective_excess_risk(problem, n, **goal).bound <= excess * (1 + 1e-9)
    assert n >= objective_sample_size(problem, excess * (1 + 1e-9), **goal)


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_the_closed_form_is_its_formula(adjacency):  # T57: max(8 L^2 R0^2/g^2, R0 sqrt(2 d (d+1)) k L/(eps' g))
    k = 2 if adjacency == "replace_one" else 1
    goal = {"epsilon": 1.0, "adjacency": adjacency}
    for problem, excess in ((TEN, 0.1), (TEN, 1.5), (LearningProblem(200, reference_norm=2.0), 0.5)):
        first = 8 * problem.reference_norm**2 / excess**2
        length = problem.reference_norm * math.sqrt(2 * problem.dim * (problem.dim + 1)) * k
        for eps, arguments in ((0.85, {}), (0.5, {"noise_epsilon": 0.5}), (1.0, {"unclipped_logistic": True})):
            least = k if eps == 1.0 else 0.25 / math.expm1(1 - eps)
            expected = max(first, length / (eps * excess), (problem.reference_norm * least / 2) ** 2)
            n = objective_sample_size_closed_form(problem, excess, **goal, **arguments)
            assert expected <= n <= expected + 1 + 1e-9 * expected
    assert objective_sample_size_closed_form(TEN, 0.1, **goal) == 800


@pytest.mark.parametrize(("arguments", "least"), [({}, 0.25 / math.expm1(0.015)), ({"unclipped_logistic": True}, 20.0)])
def test_the_closed_form_leaves_epsilon_to_the_noise_where_the_reference_is_far_away(arguments, least):  # T57
    """The third condition, (R0 Lambda'/(2L))^2, is far above 8 R0^2/g^2 and R0 sqrt(2 d (d + 1)) 2/(eps' g) here."""
    expected = (1000 * least / 2) ** 2
    assert expected > 8 * max(1000**2, 1000 * math.sqrt(220) * 2 / 0.085)
    problem, goal = LearningProblem(dim=10, reference_norm=1000.0), {"epsilon": 0.1, "adjacency": "replace_one"}
    n = objective_sample_size_closed_form(problem, 1.0, **goal, **arguments)
    assert expected <= n <= expected + 1 + 1e-9 * expected
    steeper = LearningProblem(dim=10, lipschitz=2.0, smoothness=1.0, reference_norm=1000.0)  # 4c = L^2 again
    assert objective_sample_size_closed_form(steeper, 1.0, **goal, **arguments) == pytest.approx(4 * expected, rel=1e-6)


def test_the_closed_form_is_within_a_factor_two_of_the_bisection():  # T57: two halves against one sum
    for excess in (0.1, 0.01):
        goal = {"epsilon": 1.0, "adjacency": "replace_one"}
        assert objective_sample_size_closed_form(TEN, excess, **goal) <= 2.01 * objective_sample_size(
            TEN, excess, **goal
        )


@pytest.mark.parametrize("size", [output_sample_size, objective_sample_size, objective_sample_size_closed_form])
def test_what_cannot_be_asked_for_is_refused(size):
    goal = {"epsilon": 1.0, "adjacency": "replace_one"}
    with pytest.raises(ParameterError, match=r"excess must be reachable with at most 2\^53 records"):
        size(TEN, 1e-9, **goal)
    for bad in (0.0, -1.0, math.nan, "1"):
        with pytest.raises(ParameterError, match=rf"^excess must be a number in .*got {bad!r}"):
            size(TEN, bad, **goal)
    with pytest.raises(ParameterError, match=r"^epsilon must be"):
        size(TEN, 0.1, epsilon=0.0, adjacency="replace_one")


def test_privacy_that_needs_too_many_records_is_refused():
    for size in (output_sample_size, objective_sample_size):
        with pytest.raises(ParameterError, match=r"excess must be reachable with at most 2\^53 records"):
            size(LearningProblem(dim=1000), 0.001, epsilon=1e-10, adjacency="replace_one")


def test_the_share_of_the_noise_is_less_than_epsilon():
    with pytest.raises(ParameterError, match=r"noise_epsilon must be less than epsilon = 1\.0: .*got 1\.0"):
        objective_sample_size_closed_form(TEN, 0.1, epsilon=1.0, adjacency="replace_one", noise_epsilon=1.0)


def test_orders_are_labelled():  # T58
    for order in (
        gradient_risk_order(1000, 5, epsilon=1.0),
        output_risk_order(1000, 5, epsilon=1.0),
        objective_risk_order(1000, 5, epsilon=1.0, smoothness=0.25),
        objective_sample_order(0.1, 5, epsilon=1.0),
        output_sample_order(0.1, 5, epsilon=1.0),
        gaussian_output_sample_order(0.1, 5, epsilon=1.0, delta=1e-5, failure=0.05),
    ):
        assert isinstance(order, OrderOnly)
        assert str(order).startswith("order only (C = 1): ")
        assert order.statement in str(order)


def test_risk_orders_by_hand():  # T48
    ratio = math.sqrt(10) / (0.5 * 10_000)
    arguments = {"epsilon": 0.5, "lipschitz": 3.0, "diameter": 2.0}
    assert gradient_risk_order(10_000, 10, **arguments).value == pytest.approx(6 * ratio, rel=1e-12)
    assert output_risk_order(10_000, 10, **arguments).value == pytest.approx(6 * math.sqrt(ratio), rel=1e-12)
    smooth = output_risk_order(10_000, 10, smoothness=1.5, **arguments)  # beta = L/D
    assert smooth.value == pytest.approx(6 * ratio ** (2 / 3), rel=1e-12)
    assert objective_risk_order(10_000, 10, smoothness=1.5, **arguments).value == pytest.approx(6 * ratio, rel=1e-12)


def test_the_order_of_the_methods():  # T48: objective and gradient before smooth output before output
    arguments = {"n": 10**6, "dim": 20, "epsilon": 1.0}
    rough, smooth = output_risk_order(**arguments), output_risk_order(**arguments, smoothness=1.0)
    objective = objective_risk_order(**arguments, smoothness=1.0)
    assert gradient_risk_order(**arguments).value <= objective.value < smooth.value < rough.value
    assert output_risk_order(**arguments, smoothness=1e20) == rough  # so curved that Lipschitz says more


def test_risk_orders_are_capped():  # T48: always at L D
    for order in (gradient_risk_order, output_risk_order):
        assert order(1, 10**6, epsilon=0.1, lipschitz=2.0, diameter=5.0).value == 10.0
    assert objective_risk_order(1, 10**6, epsilon=0.1, smoothness=1.0, lipschitz=2.0, diameter=5.0).value == 10.0


def test_objective_perturbation_needs_smoothness():  # E30, T42
    with pytest.raises(AssumptionError, match="needs a finite smoothness, got inf"):
        objective_risk_order(1000, 5, epsilon=1.0, smoothness=math.inf)
    plain = objective_risk_order(10**6, 5, epsilon=1.0, smoothness=0.25)
    assert objective_risk_order(10**6, 5, epsilon=1.0, smoothness=100.0).value > 10 * plain.value


def test_sample_orders_by_hand():  # T58: Theorems 4 and 5 of Monteleoni, g = .01, d = 10, eps = .1, R0 = 2
    first, second, third = 4e4, 2 * 10 / (0.1 * 0.01), 4 * 10 / (0.1 * 0.001)
    arguments = {"epsilon": 0.1, "reference_norm": 2.0}
    assert objective_sample_order(0.01, 10, **arguments).value == pytest.approx(max(first, second), rel=1e-12)
    assert output_sample_order(0.01, 10, **arguments).value == pytest.approx(max(first, second, third), rel=1e-12)
    assert objective_sample_order(0.01, 1, epsilon=10.0).value == pytest.approx(1e4, rel=1e-12)
    # objective perturbation is never behind
    assert objective_sample_order(0.01, 10, **arguments).value < output_sample_order(0.01, 10, **arguments).value


def test_gaussian_noise_has_the_root_of_the_dimension():  # T58, E18: printed as p log(p/beta)
    arguments = {"epsilon": 0.1, "delta": 1e-5, "failure": 0.05}
    large, small = (gaussian_output_sample_order(0.5, d, **arguments).value for d in (10**6, 10**4))
    assert large / small == pytest.approx(10, rel=0.05)
    log = math.log(1e5)
    by_hand = max(
        math.log(20) / 0.25,
        (math.sqrt(100) + math.sqrt(2 * math.log(20))) * math.sqrt(log) / (0.1 * 0.5),
        (math.sqrt(100) + math.sqrt(2 * math.log(20))) * math.sqrt(log) / (0.1 * 0.5**1.5),
    )
    value = gaussian_output_sample_order(0.5, 100, **arguments).value
    assert value == pytest.approx(by_hand, rel=1e-12)
    assert value < 0.05 * 100 * math.log(100 / 0.05) * math.sqrt(log) / (0.1 * 0.5**1.5)  # the printed factor


def test_orders_agree_with_the_bounds_up_to_a_constant():  # T57 against T58: within 1/2 and 10 over decades
    for excess in (0.1, 0.01, 0.001):
        for epsilon in (0.01, 1.0):
            goal = {"epsilon": epsilon, "adjacency": "replace_one"}
            exact = objective_sample_size(TEN, excess, **goal)
            assert 1 <= exact / objective_sample_order(excess, 10, epsilon=epsilon).value <= 10
            exact = output_sample_size(TEN, excess, **goal)
            assert 0.5 <= exact / output_sample_order(excess, 10, epsilon=epsilon).value <= 10


@pytest.mark.parametrize("size", [output_sample_size, objective_sample_size, objective_sample_size_closed_form])
def test_what_is_no_problem_is_refused(size):
    with pytest.raises(ParameterError, match=r"problem must be a LearningProblem.*got 20"):
        size(20, 0.1, epsilon=1.0, adjacency="replace_one")
