# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T56a: expected excess empirical risk of output and objective perturbation: rounded up, best Lambda, and sharp."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.noise.simulation import generator
from dperm.theory import (
    ExcessRisk,
    LearningProblem,
    objective_empirical_risk,
    objective_excess_risk,
    objective_noise_cost,
    output_empirical_risk,
    output_excess_risk,
    output_noise_cost,
)

TEN = LearningProblem(dim=10)
REPLACE = {"epsilon": 1.0, "adjacency": "replace_one"}
PAIRS = [(output_empirical_risk, output_excess_risk), (objective_empirical_risk, objective_excess_risk)]
BOTH = [empirical for empirical, _ in PAIRS]
GOALS = [(delta, adjacency) for delta in (0.0, 1e-5) for adjacency in ("replace_one", "add_remove")]


@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
@given(
    st.integers(1, 300),
    st.integers(2, 10**8),
    st.floats(0.05, 10),
    st.tuples(st.floats(0.1, 10), st.floats(0.01, 10), st.floats(0.1, 10)),
)
@settings(max_examples=20)
def test_bounds_are_rounded_up(delta, adjacency, dim, n, epsilon, constants):  # T56a: its terms beside those of T57
    problem, goal = LearningProblem(dim, *constants), {"epsilon": epsilon, "delta": delta, "adjacency": adjacency}
    strength = 3 * problem.smoothness / math.expm1(epsilon)
    for (fitted, expected), factor in zip(PAIRS, (1, 2), strict=True):
        one, other = (f(problem, n, regularization=strength, **goal) for f in (fitted, expected))
        with mp.workdps(40):
            bias = mp.mpf(strength) / n / 4 * mp.mpf(problem.reference_norm) ** 2
            exact = bias + mp.mpf(other.noise) / factor
        assert one.stability == 0.0 and one.noise == pytest.approx(other.noise / factor, rel=1e-12)
        assert exact * (1 - mp.mpf(1e-15)) <= one.bound <= exact * (1 + mp.mpf(1e-13))


def test_the_bounds_by_hand():  # T56a: d = 5, n = 400, lambda = .05, R0 = 3
    problem = LearningProblem(dim=5, reference_norm=3.0)
    output = output_empirical_risk(problem, 400, regularization=20.0, **REPLACE)
    assert (output.bias, output.stability, output.noise) == pytest.approx((0.1125, 0.0, 0.0375), rel=1e-12)
    objective = objective_empirical_risk(problem, 400, regularization=20.0, **REPLACE)
    square = 30 * (2 / (1 - math.log1p(0.0125))) ** 2
    assert objective.noise == pytest.approx(square / (4 * 0.05 * 400**2), rel=1e-12)


def test_the_best_lambda_of_output_perturbation_is_a_cube_root():  # T56a: a Lambda + A/Lambda^2
    rise, scale = 1 / (4 * 10_000), 0.125 * 110 * 4
    risk = output_empirical_risk(TEN, 10_000, **REPLACE)
    assert risk.regularization == pytest.approx(math.cbrt(2 * scale / rise), rel=1e-6)
    assert risk.bound == pytest.approx(1.5 * rise * math.cbrt(2 * scale / rise), rel=1e-9)


def test_the_best_bound_of_objective_perturbation_has_a_closed_form():  # T56a, T36b: R0 sqrt(E ||b||^2)/(2 n)
    risk = objective_empirical_risk(TEN, 10_000, unclipped_logistic=True, **REPLACE)
    assert risk.bound == pytest.approx(math.sqrt(110 * 4) / 20_000, rel=1e-9)
    assert risk.bound < objective_empirical_risk(TEN, 10_000, **REPLACE).bound < 1.02 * risk.bound


def test_where_the_determinant_costs_nothing_all_at_once():  # T36b: the best Lambda is the threshold, 2 R^2/eps = 2
    problem = LearningProblem(dim=1, reference_norm=100.0)
    risk = objective_empirical_risk(problem, 10**6, unclipped_logistic=True, **REPLACE)
    assert risk.regularization <= 2.0 * (1 + 1e-9)
    for factor in (0.5, 0.9, 0.999, 1.0 + 1e-9, 1.5):
        other = objective_empirical_risk(
            problem, 10**6, unclipped_logistic=True, regularization=2.0 * factor, **REPLACE
        )
        assert risk.bound <= other.bound * (1 + 1e-12)


@pytest.mark.parametrize("method", BOTH)
@given(st.integers(1, 300), st.integers(2, 10**7), st.floats(0.02, 10), st.sampled_from(GOALS), st.floats(-3, 3))
@settings(max_examples=25)
def test_no_other_regularization_is_better(method, dim, n, epsilon, goal, shift):  # T56a
    problem = LearningProblem(dim, reference_norm=2.0)
    arguments = {"epsilon": epsilon, "delta": goal[0], "adjacency": goal[1]}
    best = method(problem, n, **arguments)
    for factor in (0.9, 0.99, 1.01, 1.1, 10**shift):
        try:
            other = method(problem, n, regularization=factor * best.regularization, **arguments)
        except AssumptionError:  # the determinant would take all of epsilon
            continue
        assert best.bound <= other.bound * (1 + 1e-9)


def test_the_bounds_are_below_what_t56_says_of_every_draw():  # T56a against T56 with E ||.||^2 put in
    n, strength, problem = 400, 20.0, LearningProblem(dim=5, reference_norm=3.0)
    plain = strength / n / 2 * 9
    length = math.sqrt(30) * 2 / strength
    naive = plain + output_noise_cost(length, n=n, regularization=strength, smoothness=0.25)
    assert output_empirical_risk(problem, n, regularization=strength, **REPLACE).bound < naive
    length = math.sqrt(30) * 2 / (1 - math.log1p(0.25 / strength))
    naive = plain + objective_noise_cost(length, n=n, regularization=strength)
    ours = objective_empirical_risk(problem, n, regularization=strength, **REPLACE).bound
    assert ours == pytest.approx(naive / 2, rel=1e-9)


def test_the_bias_is_attained():  # T56a from below: mean loss g |theta - R0|, g = lambda R0/2, minimiser R0/2
    lam, norm = 0.3, 2.0
    slope = lam * norm / 2
    least = minimize_scalar(lambda t: slope * abs(t - norm) + lam / 2 * t * t, bounds=(0, norm), method="bounded").x
    assert slope * abs(least - norm) == pytest.approx(lam / 4 * norm**2, rel=1e-4)


def test_the_noise_of_objective_perturbation_is_attained():  # T56a from below: g |theta|, theta_b shrunk to the kink
    lam, n, b = 0.3, 50, 7.0
    slope = b / (2 * n)  # theta_b = -+ (b/n - g)/lambda for b and -b
    assert slope * (b / n - slope) / lam == pytest.approx(b * b / (4 * lam * n * n), rel=1e-12)
    draws = np.abs(generator(3, purpose="laplace").laplace(0, b, size=200_000)) / n
    excess = (b / n) * np.maximum(draws - b / n, 0) / lam  # g = b/n is best for Laplace noise: 2/e of the bound
    assert excess.mean() / (2 * b * b / (4 * lam * n * n)) == pytest.approx(2 / math.e, rel=0.02)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_more_privacy_or_fewer_records_cost_more(method, delta):  # T56a
    def bound(n=5000, epsilon=1.0, adjacency="replace_one"):
        return method(TEN, n, epsilon=epsilon, delta=delta, adjacency=adjacency).bound

    assert bound() < bound(epsilon=0.5) < bound(epsilon=0.1)
    assert bound() < bound(n=2500)
    assert bound(adjacency="add_remove") < bound()


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("epsilon", [1e-10, 1e10])
@pytest.mark.parametrize(("delta", "adjacency"), GOALS)
def test_extremes_give_numbers(method, epsilon, delta, adjacency):
    for problem in (
        LearningProblem(1, 1e-30, 1e-30, 1e-30),
        LearningProblem(2**53, 1e30, 1e30, 1e30),
        LearningProblem(3, 1e-30, 1e30, 1e30),
        LearningProblem(3, 1e30, 1e-30, 1e-30),
    ):
        for n in (1, 2**53):
            risk = method(problem, n, epsilon=epsilon, delta=delta, adjacency=adjacency)
            assert isinstance(risk, ExcessRisk) and 0 < risk.bound < math.inf


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize(
    ("name", "bad"), [("n", 0), ("epsilon", 0.0), ("delta", 1.0), ("regularization", -1.0), ("problem", 10)]
)
def test_nonsense_is_refused_by_name(method, name, bad):
    with pytest.raises(ParameterError, match=rf"^{name} must be .*got {bad}"):
        method(**{"problem": TEN, "n": 100, **REPLACE, name: bad})
    with pytest.raises(AdjacencyError, match="there is no default"):
        method(TEN, 100, epsilon=1.0, adjacency=None)


def test_a_lambda_that_leaves_nothing_is_refused():  # T36a
    with pytest.raises(AssumptionError, match=r"got regularization=0\.1 with epsilon=1\.0. Choose one above 0\.145494"):
        objective_empirical_risk(TEN, 100, regularization=0.1, **REPLACE)
