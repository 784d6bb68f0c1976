# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T48, T48a, T56a, T57 against formulas written anew, in fractions and 60 digits: never below, and no further above.

A number is also compared with what it is computed from, so that every single step is rounded up, not only their chain.
"""

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dperm.privacy import Adjacency
from dperm.privacy.gaussian_profile import mu_for
from dperm.theory import (
    LearningProblem,
    compare_methods,
    gradient_empirical_risk,
    gradient_excess_risk,
    objective_empirical_risk,
    objective_excess_risk,
    output_empirical_risk,
    output_excess_risk,
)
from dperm.theory.noise_norm import Goal, epsilon_left, objective_noise_square, output_noise_square, replaced_mu

POPULATION = (Fraction(1, 2), 2, Fraction(1, 2))  # of lambda R0^2, of L^2/(lambda n), of E ||b||^2/(lambda n^2)
EMPIRICAL = (Fraction(1, 4), 0, Fraction(1, 4))
OUTPUT = [(output_excess_risk, POPULATION), (output_empirical_risk, EMPIRICAL)]
OBJECTIVE = [(objective_excess_risk, POPULATION), (objective_empirical_risk, EMPIRICAL)]
GOALS = [(delta, adjacency) for delta in (0.0, 1e-5) for adjacency in ("replace_one", "add_remove")]
PROBLEMS = st.builds(LearningProblem, st.integers(1, 500), st.floats(0.1, 10), st.floats(0.01, 10), st.floats(0.1, 10))
SETTINGS = (PROBLEMS, st.integers(2, 10**8), st.floats(0.05, 10), st.floats(1e-3, 3))
CLOSE = Fraction(1, 10**12)


def assert_just_above(found, exact):
    """Both in exact arithmetic."""
    assert exact <= Fraction(found) <= exact * (1 + CLOSE)


def gradients(adjacency):
    return 2 if Adjacency.of(adjacency) is Adjacency.REPLACE_ONE else 1


def assert_terms(risk, problem, n, weights):
    """Bias and stability, and the sum of all three."""
    strength, (bias, stability, _) = Fraction(risk.regularization), weights
    assert_just_above(risk.bias, bias * strength / n * Fraction(problem.reference_norm) ** 2)
    assert_just_above(risk.stability, stability * Fraction(problem.lipschitz) ** 2 / strength)
    assert_just_above(risk.bound, Fraction(risk.bias) + Fraction(risk.stability) + Fraction(risk.noise))


@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
@given(*SETTINGS)
@settings(max_examples=40)
def test_output_perturbation(delta, adjacency, problem, n, epsilon, strength):  # T57, T56a, T7, T6
    d, moved = problem.dim, gradients(adjacency) * Fraction(problem.lipschitz) / Fraction(strength)
    if delta == 0:
        square = d * (d + 1) * (moved / Fraction(epsilon)) ** 2
    else:
        square = d * (moved / Fraction(mu_for(epsilon, delta))) ** 2
    drawn = output_noise_square(problem, strength, Goal.of(epsilon, delta, adjacency))
    assert_just_above(drawn, square)
    for calculator, weights in OUTPUT:
        risk = calculator(problem, n, epsilon=epsilon, delta=delta, adjacency=adjacency, regularization=strength)
        assert_just_above(risk.noise, Fraction(problem.smoothness) / 2 * Fraction(drawn))
        assert_terms(risk, problem, n, weights)


@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
@given(*SETTINGS)
@settings(max_examples=40)
def test_objective_perturbation(delta, adjacency, problem, n, epsilon, share):  # T57, T56a, T36a, T40, T41
    strength = (1 + share) * problem.smoothness / math.expm1(epsilon)
    left = epsilon_left(problem, strength, goal := Goal.of(epsilon, delta, adjacency), unclipped_logistic=False)
    with mp.workdps(60):
        exact = mp.mpf(epsilon) - mp.log1p(mp.mpf(problem.smoothness) / mp.mpf(strength))
        assert exact * (1 - mp.mpf(1e-9)) <= left <= exact
    drawn = objective_noise_square(problem, goal, left)
    assert_just_above(drawn, linear_square(problem, goal, left))
    for calculator, weights in OBJECTIVE:
        risk = calculator(problem, n, epsilon=epsilon, delta=delta, adjacency=adjacency, regularization=strength)
        assert_just_above(risk.noise, weights[2] * Fraction(drawn) / (n * Fraction(strength)))
        assert_terms(risk, problem, n, weights)


def linear_square(problem, goal, left):
    """E ||b||^2 at what is left of epsilon."""
    d, slope = problem.dim, Fraction(problem.lipschitz)
    if goal.delta == 0:
        return d * (d + 1) * (gradients(goal.adjacency) * slope / Fraction(left)) ** 2
    mu = (replaced_mu if goal.adjacency is Adjacency.REPLACE_ONE else mu_for)(left, goal.delta)
    return d * (slope / Fraction(mu)) ** 2


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@given(PROBLEMS, st.integers(1, 10**8), st.floats(0.05, 10), st.integers(1, 10**9))
@settings(max_examples=80)
def test_gradient_perturbation(adjacency, problem, n, epsilon, steps):  # T48 with D = 2 R0, T48a
    goal = {"epsilon": epsilon, "delta": 1e-5, "adjacency": adjacency, "steps": steps}
    slope, norm = Fraction(problem.lipschitz), Fraction(problem.reference_norm)
    fitted, expected = (f(problem, n, **goal) for f in (gradient_empirical_risk, gradient_excess_risk))
    with mp.workdps(60):
        size, width = mp.mpf(problem.lipschitz), 2 * mp.mpf(problem.reference_norm)
        noise = problem.dim * (gradients(adjacency) * size / (n * mp.mpf(mu_for(epsilon, 1e-5)))) ** 2
        exact = min(2 * width * (2 + mp.log(steps)) * mp.sqrt(size**2 / steps + noise), size * width)
        assert exact <= fitted.bound <= exact * (1 + mp.mpf(1e-12))
    assert_just_above(Fraction(expected.sampling) ** 2, 4 * slope**2 * norm**2 / n)
    assert_just_above(expected.bound, min(Fraction(fitted.bound) + Fraction(expected.sampling), 2 * slope * norm))


@pytest.mark.parametrize(
    ("method", "n", "goal"),
    [
        ("output", 20, {"epsilon": 0.3, "risk": "population"}),
        ("output", 15, {"epsilon": 0.3, "risk": "empirical"}),
        ("objective", 50, {"epsilon": 0.3, "risk": "population"}),
        ("objective", 20, {"epsilon": 0.3, "risk": "empirical"}),
        ("gradient", 1000, {"epsilon": 1.0, "risk": "population"}),
        ("gradient", 1000, {"epsilon": 1.0, "risk": "empirical"}),
    ],
)
def test_a_bound_between_once_and_twice_what_zero_has_says_nothing(method, n, goal):
    problem = LearningProblem(10, lipschitz=3.0, smoothness=2.25, reference_norm=1.0 / 3)  # L R0 = 1
    found = {each.method: each for each in compare_methods(problem, n, delta=1e-5, adjacency="replace_one", **goal)}
    assert 1.02 < found[method].bound < 1.98
    assert found[method].says_nothing


@given(st.integers(20, 3000), st.floats(0.1, 3), st.sampled_from(["population", "empirical"]))
@settings(max_examples=20)
def test_only_bounds_of_what_zero_has_say_nothing(n, epsilon, risk):
    problem = LearningProblem(4, lipschitz=2.0, smoothness=1.0, reference_norm=3.0)
    for each in compare_methods(problem, n, epsilon=epsilon, delta=1e-5, adjacency="add_remove", risk=risk):
        assume(abs(each.bound - 6) > 1e-9)
        assert each.says_nothing is (each.bound > 6)
