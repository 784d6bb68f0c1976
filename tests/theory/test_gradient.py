# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T48, T48a: DP gradient descent in a ball, on the records and for the population; how many records it needs."""

import math

import numpy as np
import pytest

from dperm.errors import AdjacencyError, ParameterError
from dperm.noise.simulation import generator
from dperm.theory import (
    LearningProblem,
    dpgd_excess_risk,
    gradient_empirical_risk,
    gradient_excess_risk,
    gradient_sample_size,
)

TEN = LearningProblem(dim=10)
GOAL = {"epsilon": 1.0, "delta": 1e-5, "adjacency": "replace_one"}


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("steps", [None, 1, 70_000])
def test_the_empirical_bound_is_that_of_the_diameter(adjacency, steps):  # T48 with D = 2 R0
    problem = LearningProblem(7, lipschitz=3.0, reference_norm=0.7)
    goal = {**GOAL, "adjacency": adjacency, "steps": steps}
    wide = dpgd_excess_risk(5000, 7, lipschitz=3.0, diameter=1.4, **goal)
    ball = gradient_empirical_risk(problem, 5000, **goal)
    assert ball.bound == pytest.approx(wide.bound, rel=1e-13)
    assert (ball.steps, ball.sigma, ball.sampling) == (wide.steps, wide.sigma, 0.0)


def test_the_population_costs_a_root_more():  # T48a: 2 L R0/sqrt(n)
    problem = LearningProblem(10, lipschitz=3.0, reference_norm=0.7)
    one, other = (f(problem, 10**6, **GOAL) for f in (gradient_empirical_risk, gradient_excess_risk))
    assert other.sampling == pytest.approx(2 * 3 * 0.7 / 1000, rel=1e-12) and other.sampling >= 2 * 3 * 0.7 / 1000
    assert other.bound >= one.bound + other.sampling
    assert other.bound == pytest.approx(one.bound + other.sampling, rel=1e-12)
    assert (one.steps, one.sigma) == (other.steps, other.sigma)


def test_the_bound_is_never_more_than_that_of_any_point():  # T48a: 2 L R0 bounds R(w) - R(w_0) in the ball
    problem = LearningProblem(1000, lipschitz=3.0, reference_norm=2.0)
    for risk in (gradient_empirical_risk, gradient_excess_risk):
        bound = risk(problem, 10, **GOAL).bound
        assert 12.0 <= bound <= 12.0 * (1 + 1e-12)


@pytest.mark.parametrize(("n", "dim"), [(1, 1), (30, 1), (30, 20), (1000, 20)])
def test_how_far_the_risks_in_the_ball_are_from_the_empirical_ones(n, dim):  # T48a: E sup (R - F) <= 2 L R0/sqrt(n)
    """Linear losses s x'w with signs s: the supremum is R0 times the length of a mean, at least half of the bound."""
    coins, runs = generator(48, purpose="ball"), 1000
    lengths = [np.linalg.norm(_rows(coins, n, dim).mean(axis=0)) for _ in range(runs)]
    sampling = gradient_excess_risk(LearningProblem(dim, reference_norm=1.0), n, **GOAL).sampling
    assert np.mean(lengths) <= sampling
    if (n, dim) != (30, 1):
        assert np.mean(lengths) >= 0.47 * sampling


def _rows(coins, n, dim):
    rows = coins.normal(size=(n, dim))
    return rows / np.linalg.norm(rows, axis=1)[:, np.newaxis]


def test_the_supremum_is_no_more_for_other_lipschitz_losses():  # T48a: contraction, |x'w| and its ramp, exact sign law
    coins, n = generator(49, purpose="ball"), 40
    grid = np.linspace(-1, 1, 401)[:, np.newaxis]  # one coefficient, all of the ball
    for loss in (np.abs, lambda z: np.maximum(z, 0), lambda z: np.logaddexp(0, -z)):
        mean = (loss(grid).mean(axis=1) + loss(-grid).mean(axis=1)) / 2  # x = 1 or -1, each with 1/2
        gaps = []
        for _ in range(2000):
            share = coins.binomial(n, 0.5) / n
            gaps.append((mean - share * loss(grid)[:, 0] - (1 - share) * loss(-grid)[:, 0]).max())
        assert np.mean(gaps) <= gradient_excess_risk(LearningProblem(1), n, **GOAL).sampling


@pytest.mark.parametrize("risk", ["population", "empirical"])
@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("excess", [0.3, 0.03])
def test_the_number_of_records_is_the_smallest(risk, adjacency, excess):  # T48a, T48
    goal = {"epsilon": 0.5, "delta": 1e-5, "adjacency": adjacency}
    calculator = gradient_excess_risk if risk == "population" else gradient_empirical_risk
    n = gradient_sample_size(TEN, excess, risk=risk, **goal)
    assert calculator(TEN, n, **goal).bound <= excess < calculator(TEN, n - 1, **goal).bound


def test_one_record_is_enough_for_what_every_point_has():  # T48: L D
    assert gradient_sample_size(TEN, 2.0 * (1 + 1e-9), risk="empirical", **GOAL) == 1


def test_what_cannot_be_reached_is_refused():
    with pytest.raises(ParameterError, match=r"excess must be reachable with at most 2\^53 records"):
        gradient_sample_size(TEN, 1e-20, risk="empirical", **GOAL)
    with pytest.raises(ParameterError, match=r'^risk must be "population" or "empirical", got \'training\''):
        gradient_sample_size(TEN, 0.1, risk="training", **GOAL)


@pytest.mark.parametrize("calculator", [gradient_empirical_risk, gradient_excess_risk])
def test_extremes_give_numbers(calculator):
    for problem in (LearningProblem(1, 1e-30, 1e-30, 1e-30), LearningProblem(2**53, 1e30, 1e30, 1e30)):
        for n in (1, 2**53):
            assert 0 < calculator(problem, n, **GOAL).bound < math.inf


@pytest.mark.parametrize("calculator", [gradient_empirical_risk, gradient_excess_risk])
@pytest.mark.parametrize(("name", "bad"), [("problem", 3), ("n", 0), ("delta", 0.0), ("epsilon", 0.0), ("steps", 0)])
def test_nonsense_is_refused_by_name(calculator, name, bad):
    with pytest.raises(ParameterError, match=rf"^{name} must be .*got {bad}"):
        calculator(**{"problem": TEN, "n": 100, **GOAL, name: bad})
    with pytest.raises(AdjacencyError, match="there is no default"):
        calculator(TEN, 100, epsilon=1.0, delta=1e-5, adjacency="both")
