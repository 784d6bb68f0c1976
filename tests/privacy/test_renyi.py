# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T16-T18: Renyi divergence to (epsilon, delta), never below the 50-digit value."""

import mpmath as mp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dperm.privacy import gaussian_profile as gaussian
from dperm.privacy import renyi

orders = st.floats(-6, 4).map(lambda power: 1 + 10.0**power)
taus = st.floats(-9, 3).map(lambda power: 10.0**power)
rhos = st.floats(-9, 4).map(lambda power: 10.0**power)
deltas = st.floats(-300, -0.01).map(lambda power: 10.0**power)


def exact_epsilon(alpha, tau, delta):
    """T17 as printed."""
    a, t = mp.mpf(alpha), mp.mpf(tau)
    return max(mp.mpf(0), t + (-mp.log(mp.mpf(delta)) + (a - 1) * mp.log(1 - 1 / a) - mp.log(a)) / (a - 1))


def test_the_golden_order():
    """T17, golden cks_single of theory.json."""
    assert renyi.rdp_epsilon(10.0, 0.5, 1e-6) == pytest.approx(1.6738534248944212, rel=1e-12)
    assert renyi.mironov_epsilon(10.0, 0.5, 1e-6) == pytest.approx(2.0350567286626973, rel=1e-12)


def test_the_golden_zcdp():
    """T18, golden zcdp of theory.json."""
    assert renyi.zcdp_epsilon(0.125, 1e-5) == pytest.approx(2.1657155451754853, rel=1e-9)
    assert renyi.zcdp_epsilon_simple(0.125, 1e-5) == pytest.approx(2.5242629560940406, rel=1e-12)


def test_the_golden_randomised_response():
    """T9, golden rr_rdp of theory.json."""
    assert renyi.response_divergence(5.0, 0.5) == pytest.approx(0.3842426901671219, rel=1e-12)


@given(orders, taus, deltas)
def test_epsilon_is_t17_rounded_up(alpha, tau, delta):
    exact = exact_epsilon(alpha, tau, delta)
    found = renyi.rdp_epsilon(alpha, tau, delta)
    assert found >= exact
    size = tau + (-mp.log(delta) + mp.log(alpha)) / (alpha - 1) + mp.log1p(1 / (alpha - 1))
    assert found - exact <= 1e-14 * size


@given(orders, taus, st.floats(0, 1e3))
def test_delta_is_t17_rounded_up(alpha, tau, epsilon):
    a = mp.mpf(alpha)
    log = (a - 1) * (mp.mpf(tau) - mp.mpf(epsilon)) + a * mp.log(1 - 1 / a) - mp.log(a - 1)
    found = renyi.rdp_delta(alpha, tau, epsilon)
    assert found >= min(mp.mpf(1), mp.exp(log))
    assert found <= mp.exp(log + 1e-13 * (1 + (a - 1) * (tau + epsilon + 1))) + 1e-320


@given(rhos, deltas, orders)
def test_the_best_order_of_zcdp_beats_every_other(rho, delta, alpha):
    """T17 with tau = rho alpha is minimised over alpha > 1 (T18)."""
    best = renyi.zcdp_epsilon(rho, delta)
    assert best <= exact_epsilon(alpha, rho * alpha, delta) * (1 + mp.mpf("1e-10")) + mp.mpf("1e-13")
    assert best <= renyi.zcdp_epsilon_simple(rho, delta)


@given(rhos, deltas)
def test_zcdp_is_never_below_the_gaussian_that_attains_it(rho, delta):
    """T18: the Gaussian with mu = sqrt(2 rho) is rho-zCDP, so its exact epsilon (T6) is a floor."""
    mu = (2 * rho) ** 0.5 * (1 - 1e-15)
    assert renyi.zcdp_epsilon(rho, delta) >= gaussian.epsilon_bracket(mu, delta)[0]


@given(rhos, deltas)
def test_epsilon_and_delta_of_zcdp_are_inverse(rho, delta):
    epsilon = renyi.zcdp_epsilon(rho, delta)
    if epsilon > 0:
        # the exponent is stationary in alpha; what is left is the rounding of its terms, at most about rho
        assert mp.log(renyi.zcdp_delta(rho, epsilon)) == pytest.approx(mp.log(delta), abs=1e-9 * (1 + rho))


@given(orders, st.floats(-9, 3).map(lambda power: 10.0**power))
@example(1.001, 10.0**2.75)
def test_the_divergence_of_randomised_response_is_t9_rounded_up(alpha, epsilon):
    """T9 as printed, and T16: at most min(eps, alpha eps^2/2)."""
    with mp.workdps(60):
        p, q, a = 1 / (1 + mp.exp(-mp.mpf(epsilon))), 1 / (1 + mp.exp(mp.mpf(epsilon))), mp.mpf(alpha)
        exact = mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1) if epsilon * alpha < 1e4 else None
    found = renyi.response_divergence(alpha, epsilon)
    assert found <= epsilon
    assert found <= alpha * epsilon**2 / 2 * (1 + 1e-14)
    if exact is not None:
        assert found >= exact * (1 - mp.mpf("1e-30"))
        assert found <= exact * (1 + mp.mpf("1e-13"))


def test_no_divergence_means_no_epsilon():
    assert renyi.zcdp_epsilon(0.0, 1e-5) == 0.0
    assert renyi.zcdp_delta(0.0, 0.0) == 0.0
    assert renyi.response_divergence(2.0, 0.0) == 0.0


@pytest.mark.parametrize("rho", [1e-300, 1e-12, 1e8])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 1.0, 1e5, 1e9])
def test_extreme_values_neither_raise_nor_leave_the_unit_interval(rho, epsilon):
    assert 0 < renyi.zcdp_delta(rho, epsilon) <= 1
    assert 0 <= renyi.zcdp_epsilon(rho, 5e-324)
