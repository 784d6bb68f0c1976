# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds from true and false positives: golden numbers (A1, A2, A3), edges, and never the absolute value of mu."""

import math

import pytest

from dperm.audit.rates import from_rates, gaussian_from_rates, gaussian_mu_from_rates
from dperm.errors import ParameterError
from dperm.privacy import gaussian_profile


def test_the_golden_numbers_of_the_gaussian_profile():
    """A1 (T6), through the module that every Gaussian bound uses."""
    assert math.exp(gaussian_profile.log_delta(1.0, 1.0)) == pytest.approx(0.12693673750664392, rel=1e-14)
    assert gaussian_profile.mu_for(1.0, 1e-5) == pytest.approx(0.26805112321149105, rel=1e-12)
    assert gaussian_profile.mu_for(4.0, 1e-5) == pytest.approx(0.9249308976669359, rel=1e-12)
    assert gaussian_profile.epsilon_bracket(1.0, 1e-5)[0] == pytest.approx(4.377178095681235, rel=1e-12)


@pytest.mark.parametrize(
    ("counts", "delta", "golden"),
    [((900, 1000, 100, 1000), 0.0, 1.9897063137037165), ((500, 1000, 10, 1000), 1e-5, 3.2419952494409845)],
    ids=["delta 0", "delta 1e-5"],
)
def test_the_golden_bounds_from_rates(counts, delta, golden):
    bound = from_rates(*counts, delta=delta)
    assert golden * (1 - 1e-14) <= bound.epsilon <= golden
    assert (bound.delta, bound.confidence, bound.assumes) == (delta, 0.95, "")
    assert "A2" in bound.method


def test_the_golden_gaussian_bound():
    golden = 2.3470972323259196
    assert golden * (1 - 1e-14) <= gaussian_mu_from_rates(900, 1000, 100, 1000) <= golden
    bound = gaussian_from_rates(900, 1000, 100, 1000, delta=1e-5)
    assert 12.197562752672408 * (1 - 1e-13) <= bound.epsilon <= 12.197562752672408
    assert bound.assumes == "the trade-off is Gaussian"
    assert "A3" in bound.method


@pytest.mark.parametrize(
    "counts", [(0, 50, 50, 50), (100, 1000, 900, 1000), (0, 50, 0, 50), (50, 50, 50, 50), (500, 1000, 500, 1000)]
)
def test_an_attack_no_better_than_chance_shows_nothing(counts):
    """The absolute value of mu, as jax-privacy 2.0.0 took it, would be 3 to 6 here."""
    assert from_rates(*counts, delta=0.0).epsilon == 0
    assert gaussian_from_rates(*counts, delta=1e-5).epsilon == 0
    assert gaussian_mu_from_rates(*counts) == 0


def test_the_absolute_value_of_mu_would_be_found_out(assert_killed):
    def check(module):
        assert module.gaussian_mu_from_rates(100, 1000, 900, 1000) == 0

    assert_killed(check, "dperm.audit.rates", "max(0.0, mu)", "abs(mu)")


def test_a_perfect_attack_is_finite_and_grows_with_the_runs():
    bounds = [from_rates(n, n, 0, n, delta=0.0).epsilon for n in (10, 1000, 10**6, 10**9)]
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(math.log(10**9 / -math.log(0.025)), rel=1e-8)
    mu = gaussian_mu_from_rates(10**9, 10**9, 0, 10**9)
    assert math.isfinite(mu) and mu > 11


def test_the_bound_of_either_side_counts():
    assert from_rates(990, 1000, 500, 1000, delta=0.0).epsilon == from_rates(500, 1000, 10, 1000, delta=0.0).epsilon > 3


def test_a_large_delta_explains_everything():
    assert from_rates(900, 1000, 100, 1000, delta=0.95).epsilon == 0
    assert 0 < from_rates(900, 1000, 100, 1000, delta=0.5).epsilon < 1.99
    assert gaussian_from_rates(900, 1000, 100, 1000, delta=0.9).epsilon == 0


def test_more_confidence_is_a_smaller_bound():
    bounds = [from_rates(90, 100, 10, 100, delta=0.0, confidence=c).epsilon for c in (1 - 1e-9, 0.99, 0.9, 0.5, 0.01)]
    assert bounds == sorted(bounds)
    assert len(set(bounds)) == 5


@pytest.mark.parametrize(
    ("counts", "name"),
    [((11, 10, 0, 10), "true_positives"), ((1, 10, 11, 10), "false_positives"), ((0, 0, 1, 10), "members")],
)
@pytest.mark.parametrize("bound", [from_rates, gaussian_from_rates], ids=["A2", "A3"])
def test_impossible_counts_are_refused_by_name(counts, name, bound):
    with pytest.raises(ParameterError, match=name):
        bound(*counts, delta=1e-5)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95, float("nan")])
def test_a_confidence_outside_0_1_is_refused(confidence):
    with pytest.raises(ParameterError, match="confidence"):
        from_rates(9, 10, 1, 10, delta=0.0, confidence=confidence)


def test_the_gaussian_bound_refuses_delta_0():
    with pytest.raises(ParameterError, match="positive delta"):
        gaussian_from_rates(9, 10, 1, 10, delta=0.0)
