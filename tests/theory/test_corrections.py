# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Numerical checks of errata: each printed statement fails on an example on which the corrected one holds."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import gammaincc, gammaln, ndtr
from scipy.stats import gamma

from dperm import Pure, account
from dperm.accounting.theorems import per_step_epsilon
from dperm.errors import AssumptionError
from dperm.theory import objective_noise_cost, output_noise_cost, packing_sample_size


def gaussian_delta(epsilon: float, mu: float) -> float:
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def test_a_draw_of_output_noise_costs_lambda_too():
    """E23, T56, T58: one dimension, n beta = lambda = theta* = 1, noise -1. The excess is 1.125."""
    best, noise = 0.5, -1.0  # (theta - 1)^2/2 + theta^2/2 is least at 1/2
    excess = (best + noise - 1) ** 2 / 2
    bias = 1 / 2
    assert excess == 1.125
    assert excess > bias + 1 / 2 * noise**2, "without lambda the bound is false"
    assert excess <= bias + output_noise_cost(abs(noise), n=1, regularization=1.0, smoothness=1.0)


def test_a_loss_of_full_rank_needs_a_determinant_for_every_dimension():
    """T41 (a): a record with the loss beta/2 |theta|^2 near 0, in two dimensions, against no record.

    At b = sigma t u the privacy loss is 2 log(1 + x) - t^2 (1 - 1/(1+x)^2)/2 with x = beta/Lambda, as long as theta
    lies where the loss is quadratic: t <= t1. Its gradient is then at most L = sigma x t1/(1+x).
    """
    x, reach, epsilon = 100.0, 0.1, 7.0

    def loss(t: float) -> float:
        return 2 * math.log1p(x) - t * t * (1 - (1 + x) ** -2) / 2

    def hit(t: float) -> float:
        return max(0.0, 1 - math.exp(epsilon - loss(t))) * t * math.exp(-t * t / 2)

    true = quad(hit, 0, reach)[0]
    m = x * reach / (1 + x)

    def stated(c: float) -> float:
        """delta of c + 2 m^2 + 2 m R with R of the chi law of two degrees."""
        return quad(
            lambda r: max(0.0, 1 - math.exp(epsilon - c - 2 * m * m - 2 * m * r)) * r * math.exp(-r * r / 2), 0, 40
        )[0]

    assert true > 4e-3
    assert stated(math.log1p(x)) < 1e-9 * true, "with one logarithm the claim is false"
    assert true <= stated(2 * math.log1p(x))


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_a_record_changes_a_mean_by_at_most_its_share(n):
    """E27: removing one of n bits changes the mean by at most 1/n, adding one by at most 1/(n + 1); often by less."""
    added = [abs(sum(bits) / n - (sum(bits) + bit) / (n + 1)) for bits in product((0, 1), repeat=n) for bit in (0, 1)]
    assert max(added) == pytest.approx(1 / (n + 1))
    assert min(added) == 0


def test_the_looser_classical_noise_has_a_condition_too():
    """E38: sigma = sqrt(2 ln(2.5/delta))/epsilon gives more than delta = 1e-5 from epsilon 9.8615 on."""
    for epsilon, safe in ((0.99, True), (9.86, True), (9.863, False), (12.0, False)):
        mu = epsilon / math.sqrt(2 * math.log(2.5 / 1e-5))
        assert (gaussian_delta(epsilon, mu) <= 1e-5) == safe


def test_the_simplified_composition_needs_a_small_slack():
    """E39, T12a: with a slack near 1 the allowed epsilon of a step grows beyond all bounds."""
    epsilon, slack = 0.5, 1 - 1e-4
    step = epsilon / math.sqrt(8 * math.log(1 / slack))
    assert account(Pure(step, "replace_one"), "replace_one").delta_bracket(epsilon)[0] > slack
    with pytest.raises(AssumptionError, match="slack <= 1/2"):
        per_step_epsilon(epsilon, count=1, slack=slack)
    allowed = per_step_epsilon(epsilon, count=10, slack=0.5)
    assert account(Pure(allowed, "replace_one") * 10, "replace_one").delta(epsilon) <= 0.5


def test_utility_needs_a_choice_of_lambda():
    """E49: with lambda = 1 the excess risk of the exact minimiser does not fall, whatever n is."""

    def risk(theta: float) -> float:
        return 0.9 * math.log1p(math.exp(-theta)) + 0.1 * math.log1p(math.exp(theta))

    def excess(strength: float) -> float:
        found = minimize_scalar(lambda theta: risk(theta) + strength / 2 * theta**2).x
        return risk(found) - risk(math.log(9))

    assert excess(1.0) > 0.15
    assert excess(1e-4) < 1e-4


def test_utility_and_sensitivity_need_convexity():
    """E49: for the loss 1 - cos(theta - y), with first and second derivative at most 1, one record moves far."""
    n, strength, grid = 100, 0.1, np.linspace(-6, 6, 120_001)

    def minimizer(last: float) -> float:
        losses = (n - 1) * (1 - np.cos(grid - math.pi)) + (1 - np.cos(grid - last))
        return float(grid[np.argmin(losses / n + strength / 2 * grid**2)])

    moved = abs(minimizer(math.pi - 0.5) - minimizer(0.5 - math.pi))
    assert moved > 20 * 2 / (n * strength)


def test_the_noise_density_is_that_of_a_vector():
    """E50: the density of a vector with a Gamma(d, 2/epsilon) length has the ratio of the proof; its length has not."""
    dim, epsilon, lengths = 5, 0.7, (3.0, 11.0)
    ratio = math.exp(-epsilon / 2 * (lengths[0] - lengths[1]))
    of_length = [gamma.logpdf(length, dim, scale=2 / epsilon) for length in lengths]
    sphere = math.log(2) + dim / 2 * math.log(math.pi) - gammaln(dim / 2)
    of_vector = [log - sphere - (dim - 1) * math.log(length) for log, length in zip(of_length, lengths, strict=True)]
    assert math.exp(of_vector[0] - of_vector[1]) == pytest.approx(ratio)
    assert math.exp(of_length[0] - of_length[1]) < 0.01 * ratio


def test_delta_of_the_lemmas_is_a_probability():
    """E50, E32, T56: a Gamma(d, 2/epsilon') length is above (2/epsilon') d log(d/p) with probability at most p."""
    for dim, failure in product((1, 5, 50), (0.5, 0.05, 1e-4)):
        reach = dim * math.log(dim / failure)
        assert gammaincc(dim, reach) <= failure * (1 + 1e-12)
        cost = objective_noise_cost(2 / 0.5 * reach, n=10, regularization=10.0)
        assert cost == pytest.approx(2 * reach**2 / (1.0 * 10**2 * 0.5**2))


def test_packing_is_about_pure_guarantees():
    """E51, T60: publishing each record with probability delta is (0, delta)-DP, and finds any of K distributions.

    Where the supports are disjoint one record tells the distribution, however many there are. With 2^53 of them, 2,303
    records and delta = 1e-3 it succeeds with probability 0.9; a pure guarantee with epsilon 0.01 needs more records.
    """
    n, delta = 2303, 1e-3
    assert -math.expm1(n * math.log1p(-delta)) >= 0.9
    assert packing_sample_size(2**53, 0.01, adjacency="replace_one") > n
