# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds from guesses of fair coins (A4): golden numbers, edges, and the ceilings of accuracy they rest on."""

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

from dperm.audit.guesses import (
    approximate_from_guesses,
    gaussian_from_guesses,
    gaussian_mu_from_guesses,
    pure_from_guesses,
)
from dperm.audit.one_run import one_run
from dperm.audit.one_run_tradeoff import gaussian_one_run
from dperm.audit.rates import from_rates, gaussian_from_rates
from dperm.errors import ParameterError
from dperm.privacy import gaussian_profile
from dperm.privacy.guarantee import ApproxDP

LEVELS = np.concatenate([np.geomspace(1e-9, 0.01, 200), np.linspace(0.01, 0.99, 4001)])


def test_the_golden_bound():
    bound = pure_from_guesses(900, 1000)
    assert 2.021233233548992 * (1 - 1e-14) <= bound.epsilon <= 2.021233233548992
    assert (bound.delta, bound.confidence, bound.assumes) == (0.0, 0.95, "")
    assert "A4" in bound.method


def test_raw_floats_are_found_out_as_the_design_has_it():
    assert pure_from_guesses(43_119, 43_119).epsilon == pytest.approx(9.57, abs=0.005)


def test_one_binomial_is_tighter_than_two_rates():
    assert pure_from_guesses(1800, 2000).epsilon > from_rates(900, 1000, 100, 1000, delta=0.0).epsilon
    two = gaussian_from_rates(900, 1000, 100, 1000, delta=1e-5)
    assert gaussian_from_guesses(1800, 2000, delta=1e-5).epsilon > two.epsilon
    approximate = approximate_from_guesses(1800, 2000, delta=1e-5)
    assert approximate.epsilon > from_rates(900, 1000, 100, 1000, delta=1e-5).epsilon


@pytest.mark.parametrize("mu", [0.01, 0.268, 1.0, 4.0])
def test_no_attack_on_a_gaussian_trade_off_is_right_more_often_than_the_ceiling(mu):
    """P(right) = (1 - x + 1 - G_mu(x)) / 2 over the levels x of all tests (T19): at most Phi(mu/2), and attained."""
    errors = [x + gaussian_profile.false_negative_rate(x, mu) for x in LEVELS]
    best = 1 - min(errors) / 2
    assert best <= ndtr(mu / 2) * (1 + 1e-12)
    assert best == pytest.approx(ndtr(mu / 2), abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-5, 0.1])
def test_no_attack_on_approximate_dp_is_right_more_often_than_the_ceiling(epsilon, delta):
    profile = ApproxDP(epsilon, delta, "replace_one").profile()
    kink = (1 - delta) / (1 + math.exp(epsilon))
    best = 1 - min(x + profile.tradeoff(float(x)) for x in [*LEVELS, kink]) / 2
    assert best == pytest.approx((math.exp(epsilon) + delta) / (1 + math.exp(epsilon)), abs=1e-9)


def test_a_threshold_in_the_middle_of_two_gaussians_is_right_as_often_as_the_ceiling():
    rng, mu = np.random.default_rng(5), 1.0
    coins = rng.integers(0, 2, 200_000)
    right = np.mean((coins * mu + rng.normal(size=len(coins)) >= mu / 2) == coins)
    assert right == pytest.approx(ndtr(mu / 2), abs=5 * 0.5 / math.sqrt(len(coins)))


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_the_bounds_approach_the_truth_with_many_runs(epsilon):
    n, delta = 10**9, 1e-3
    pure = pure_from_guesses(round(n * expit(epsilon)), n).epsilon
    assert 0.99 * epsilon < pure < epsilon
    accuracy = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    approximate = approximate_from_guesses(round(n * accuracy), n, delta=delta).epsilon
    assert 0.99 * epsilon < approximate < epsilon
    mu = gaussian_profile.mu_for(epsilon, delta)
    gaussian = gaussian_from_guesses(round(n * ndtr(mu / 2)), n, delta=delta)
    assert 0.99 * epsilon < gaussian.epsilon < epsilon
    assert gaussian.assumes == "the trade-off is Gaussian"


@pytest.mark.parametrize(("correct", "guesses"), [(0, 0), (0, 100), (1, 1), (50, 100), (4, 4), (10**9 // 2, 10**9)])
def test_guesses_that_show_nothing(correct, guesses):
    assert pure_from_guesses(correct, guesses).epsilon == 0
    assert approximate_from_guesses(correct, guesses, delta=1e-5).epsilon == 0
    assert gaussian_from_guesses(correct, guesses, delta=1e-5).epsilon == 0
    assert gaussian_mu_from_guesses(correct, guesses) == 0


@pytest.mark.parametrize("n", [5, 100, 10**9, 10**12])
def test_nothing_but_right_guesses_is_a_finite_bound(n):
    expected = math.log(0.05) / n - math.log(-math.expm1(math.log(0.05) / n))
    assert pure_from_guesses(n, n).epsilon == pytest.approx(expected, rel=1e-12 + 1e-16 * n)
    assert math.isfinite(gaussian_from_guesses(n, n, delta=1e-9).epsilon)


def test_delta_is_taken_off():
    assert approximate_from_guesses(900, 1000, delta=0.0).epsilon == pure_from_guesses(900, 1000).epsilon
    bounds = [approximate_from_guesses(900, 1000, delta=delta).epsilon for delta in (0.0, 0.1, 0.5, 0.9)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == 0 < bounds[-2]


@pytest.mark.parametrize(
    ("correct", "guesses", "name"), [(3, 2, "correct"), (-1, 2, "correct"), (0, -1, "guesses"), (0, 10**13, "guesses")]
)
def test_impossible_counts_are_refused_by_name(correct, guesses, name):
    for bound in (
        pure_from_guesses,
        lambda v, r: approximate_from_guesses(v, r, delta=0.1),
        lambda v, r: gaussian_from_guesses(v, r, delta=0.1),
    ):
        with pytest.raises(ParameterError, match=name):
            bound(correct, guesses)


def test_the_gaussian_bound_refuses_delta_0():
    with pytest.raises(ParameterError, match="positive delta"):
        gaussian_from_guesses(9, 10, delta=0.0)


LEVELLED = {
    "A2": lambda level: from_rates(9, 10, 1, 10, delta=0.0, confidence=level),
    "A3": lambda level: gaussian_from_rates(9, 10, 1, 10, delta=0.1, confidence=level),
    "A4": lambda level: pure_from_guesses(90, 100, confidence=level),
    "A6": lambda level: one_run(90, 100, 1000, delta=0.0, confidence=level),
    "A7": lambda level: gaussian_one_run(90, 100, 1000, delta=0.1, confidence=level),
}


@pytest.mark.parametrize("bound", LEVELLED)
@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, -1, math.nan, "a", None, True, 1e-300], ids=repr)
def test_one_rule_for_every_confidence(bound, level):
    with pytest.raises(ParameterError, match="confidence must be a number in"):
        LEVELLED[bound](level)
    assert LEVELLED[bound](1 - 1e-15).confidence == 1 - 1e-15


def test_one_tail_counted_as_both_would_be_found_out(assert_killed):
    def check(module):
        assert module.gaussian_mu_from_guesses(900, 1000) <= 2 * 1.2815515655446

    assert_killed(
        check, "dperm.audit.guesses", "gaussian_separation(wrong, wrong)", "2 * gaussian_separation(wrong, wrong)"
    )
