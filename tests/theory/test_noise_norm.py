# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T56: what noise costs is never more than the inequality says, and almost as much; E18, E23, E32."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtri

from dperm.errors import ParameterError
from dperm.theory import gaussian_norm_bound, objective_noise_cost, output_noise_cost

LOGISTIC = 0.25


class Problem:
    """Regularised logistic regression in mean scale, solved by Newton's method to the last digits."""

    def __init__(self, rows, lam):
        self.rows, self.lam = rows, lam  # rows carry their labels: y x

    @property
    def n(self):
        return len(self.rows)

    def value(self, theta):
        return np.logaddexp(0, -self.rows @ theta).mean() + self.lam / 2 * theta @ theta

    def minimizer(self, linear=0.0):
        theta = np.zeros(self.rows.shape[1])
        for _ in range(100):
            p = 1 / (1 + np.exp(self.rows @ theta))
            gradient = -(self.rows.T @ p) / self.n + self.lam * theta + linear
            hessian = (self.rows.T * (p * (1 - p))) @ self.rows / self.n + self.lam * np.eye(len(theta))
            theta = theta - np.linalg.solve(hessian, gradient)
        return theta


def random_problem(generator, n=60, dim=4):
    rows = generator.normal(size=(n, dim)) * generator.exponential(size=dim)
    return Problem(rows / np.maximum(np.linalg.norm(rows, axis=1), 1)[:, np.newaxis], 10 ** generator.uniform(-3, 0.5))


@pytest.mark.parametrize("seed", range(8))
def test_no_draw_costs_more_than_the_inequality(seed):  # T56 on random logistic problems
    generator = np.random.default_rng(seed)
    problem = random_problem(generator)
    best = problem.minimizer()
    strength = {"n": problem.n, "regularization": problem.n * problem.lam}
    for _ in range(25):
        eta = generator.normal(size=4) * 10 ** generator.uniform(-2, 1)
        bound = output_noise_cost(np.linalg.norm(eta), smoothness=LOGISTIC, **strength)
        assert problem.value(best + eta) - problem.value(best) <= bound + 1e-13
        b = generator.normal(size=4) * 10 ** generator.uniform(-1, 2)
        bound = objective_noise_cost(np.linalg.norm(b), **strength)
        perturbed = problem.minimizer(b / problem.n)
        assert problem.value(perturbed) - problem.value(best) <= bound + 1e-13


def test_output_noise_costs_as_much_where_the_loss_is_most_curved():  # T56 from below: balanced labels, theta = 0
    problem = Problem(np.array([[1.0], [-1.0]]), 0.05)
    for eta in (1e-3, 1e-2):
        cost = problem.value(np.array([eta])) - problem.value(np.zeros(1))
        bound = output_noise_cost(eta, n=2, regularization=0.1, smoothness=LOGISTIC)
        assert 0.999 * bound <= cost <= bound


def test_objective_noise_costs_as_much_where_the_loss_is_flat():  # T56 from below: rows of length 0 bend nothing
    problem = Problem(np.zeros((5, 2)), 0.3)
    b = np.array([2.0, -1.0])
    cost = problem.value(problem.minimizer(b / 5)) - problem.value(problem.minimizer())
    bound = objective_noise_cost(math.sqrt(5), n=5, regularization=1.5)
    assert cost == pytest.approx(bound, rel=1e-12)
    assert bound == pytest.approx(5 / (2 * 0.3 * 25), rel=1e-12)


def test_lemmas_of_the_source():  # T56, E32: d = 5, n = 400, lambda = .05, eps = 1, p = .01, c = 1
    d, n, lam, p = 5, 400, 0.05, 0.01
    log = math.log(d / p)
    output = output_noise_cost(2 / (lam * n) * d * log, n=n, regularization=n * lam, smoothness=1.0)
    assert output == pytest.approx(2 * d**2 * (1 + lam) * log**2 / (lam**2 * n**2), rel=1e-12)
    objective = objective_noise_cost(2 * d * log, n=n, regularization=n * lam)
    assert objective == pytest.approx(8 * d**2 * log**2 / (lam * n**2) / 4, rel=1e-12)  # printed with 8


@given(st.floats(1e-6, 1e6), st.integers(1, 10**9), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_costs_are_rounded_up(length, n, strength, smoothness):  # T56
    x, lam, c = Fraction(length), Fraction(strength) / n, Fraction(smoothness)
    output = Fraction(output_noise_cost(length, n=n, regularization=strength, smoothness=smoothness))
    objective = Fraction(objective_noise_cost(length, n=n, regularization=strength))
    slack = 1 + Fraction(1, 10**13)
    assert (c + lam) / 2 * x**2 <= output <= (c + lam) / 2 * x**2 * slack
    assert x**2 / (2 * lam * n**2) <= objective <= x**2 / (2 * lam * n**2) * slack


def test_no_noise_costs_nothing():  # T56
    assert output_noise_cost(0.0, n=10, regularization=1.0, smoothness=1.0) == 0.0
    assert objective_noise_cost(0.0, n=10, regularization=1.0) == 0.0


@pytest.mark.parametrize("dim", [1, 10, 1000])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-6])
def test_length_of_gaussian_noise(dim, failure):  # T58, E18, E23, against the exact quantile of chi
    exact = math.sqrt(chdtri(dim, failure))
    bound = gaussian_norm_bound(dim, 2.0, failure=failure)
    assert 2 * exact <= bound <= 2 * (exact + 2.5)
    if dim > 1:
        assert bound < 2 * dim * math.log(dim / failure)  # the factor of gamma-norm noise


def test_the_printed_noise_term_is_too_small():  # E23: n beta sigma sqrt(d) sqrt(2 log(1/p))/2, linear in sigma
    n, beta, sigma, d, p = 100, 1.0, 3.0, 4, 0.05
    correct = n * output_noise_cost(
        gaussian_norm_bound(d, sigma, failure=p), n=n, regularization=1e-30, smoothness=beta
    )
    printed = n * beta * sigma * math.sqrt(d) * math.sqrt(2 * math.log(1 / p)) / 2
    draws = np.random.default_rng(6).normal(size=(20_000, d)) * sigma
    costs = n * beta / 2 * (draws**2).sum(axis=1)  # the loss (beta/2) ||theta||^2, whose minimiser is 0
    assert (costs > printed).mean() > 0.4
    assert (costs > correct).mean() <= p


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", None, True])
def test_nonsense_is_refused_by_name(bad):
    good = {"noise_norm": 1.0, "n": 10, "regularization": 1.0, "smoothness": 1.0}
    for name in good:
        with pytest.raises(ParameterError, match=rf"^{name} must be .*got {bad!r}"):
            output_noise_cost(**{**good, name: bad})
    good = {"dim": 3, "sigma": 1.0, "failure": 0.1}
    for name in good:
        with pytest.raises(ParameterError, match=rf"^{name} must be .*got {bad!r}"):
            gaussian_norm_bound(**{**good, name: bad})
