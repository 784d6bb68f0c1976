# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T2a, T2b, T5, T6, T6a, T18 against golden numbers (shared/golden/theory.json) and mpmath."""

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.accounting.theorems import (
    analytic_gaussian_delta,
    analytic_gaussian_epsilon,
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
    gaussian_loss_tail,
    gaussian_tail_epsilon,
    gaussian_zcdp,
    laplace_profile,
    laplace_scale,
    loss_tail_bound,
    zcdp_epsilon,
)
from dperm.errors import AssumptionError


def classical_by_hand(epsilon: float, delta: float) -> float:
    """The formula of S0 and S1, at every epsilon (E2)."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def true_gaussian_delta(epsilon: float, mu: float) -> mp.mpf:
    """T6 as printed, in 50 digits."""
    with mp.workdps(50):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


def test_tail_condition_is_golden_and_loose():  # T2a, E11: golden plrv_tail_vs_exact
    tail = gaussian_loss_tail(3.0, 1.0)
    assert tail == pytest.approx(0.006209665325776132, rel=1e-9)
    assert analytic_gaussian_delta(3.0, 1.0) == pytest.approx(0.0015371853694009568, rel=1e-9)
    from_tail, exact = gaussian_tail_epsilon(1.0, 1e-5), analytic_gaussian_epsilon(1e-5, 1.0)
    assert from_tail == pytest.approx(4.764890793922825, rel=1e-9)
    assert exact == pytest.approx(4.377178095681232, rel=1e-9)
    assert exact < from_tail < 1.1 * exact


@given(st.floats(1e-3, 30), st.floats(1e-12, 0.9))
@settings(max_examples=80)
def test_tail_epsilon_is_sufficient(mu, delta):  # T2a
    epsilon = gaussian_tail_epsilon(mu, delta)
    assert epsilon >= analytic_gaussian_epsilon(delta, 1 / mu) * (1 - 1e-12) - 1e-12 or epsilon == 0
    assert gaussian_loss_tail(epsilon, mu) <= delta * (1 + 1e-9)


@given(st.floats(0.05, 10), st.floats(0, 5), st.floats(1e-3, 5))
@settings(max_examples=80)
def test_converse_of_the_tail_condition_holds_for_the_gaussian(mu, epsilon, gap):  # T2b
    delta = analytic_gaussian_delta(epsilon, 1 / mu)
    if delta < 1:
        bound = loss_tail_bound(epsilon, delta, threshold=epsilon + gap)
        assert gaussian_loss_tail(epsilon + gap, mu) <= bound * (1 + 1e-12)


def test_converse_says_nothing_at_epsilon_itself():  # T2b
    assert loss_tail_bound(1.0, 1e-5, threshold=1.0) == 1.0
    assert loss_tail_bound(1.0, 0.0, threshold=1.5) == 0.0
    assert loss_tail_bound(1.0, 1e-5, threshold=2.0) == pytest.approx(1e-5 / (1 - math.exp(-1)), rel=1e-12)


def test_laplace_scale_and_profile_are_golden():  # T5: golden laplace_mean, laplace_profile
    assert laplace_scale(0.1, sensitivity=1e-4) == pytest.approx(1e-3, rel=1e-9)
    assert laplace_profile(0.3, scale=1.0) == pytest.approx(0.29531191028128656, rel=1e-9)
    assert laplace_profile(1.0, scale=1.0) == 0.0
    assert laplace_profile(0.1, scale=laplace_scale(0.1)) == 0.0


@given(st.floats(1e-3, 20), st.floats(0, 1))
@settings(max_examples=40)
def test_laplace_profile_is_the_hockey_stick_of_two_laplaces(pure, share):  # T5 against T2 in closed form
    epsilon = share * pure
    with mp.workdps(40):
        e, e0 = mp.mpf(epsilon), mp.mpf(pure)
        # the loss is e0 for x < 0, e0 - 2x up to e0, so P(L > eps) = 1 - e^{-(e0-eps)/2}/2 and the same against Q
        x = (e0 - e) / 2
        on_p, on_q = 1 - mp.exp(-x) / 2, mp.exp(x - e0) / 2
        truth = on_p - mp.exp(e) * on_q
        value = laplace_profile(epsilon, scale=1.0, sensitivity=pure)
        assert truth - mp.mpf(1e-35) <= value <= truth * (1 + mp.mpf(1e-13)) + mp.mpf(1e-35)


@pytest.mark.parametrize(
    ("epsilon", "classical", "analytic", "ratio"),
    [
        (0.1, 48.44805262605389, 30.74956613197582, 1.5755686573955847),
        (0.5, 9.689610525210778, 7.031826675582507, 1.3779649260777753),
        (0.99, 4.893742689500393, 3.7649345111570423, 1.2998214643570107),
    ],
)
def test_classical_noise_is_golden_and_wasteful(epsilon, classical, analytic, ratio):  # T6, T6a
    wide, narrow = classical_gaussian_sigma(epsilon, 1e-5), analytic_gaussian_sigma(epsilon, 1e-5)
    assert wide == pytest.approx(classical, rel=1e-9)
    assert narrow == pytest.approx(analytic, rel=1e-9)
    assert wide / narrow == pytest.approx(ratio, rel=1e-9)
    assert analytic_gaussian_delta(epsilon, wide) < 1e-5


def test_classical_noise_is_refused_from_epsilon_one_on():  # T6a, E2
    with pytest.raises(AssumptionError, match=r"epsilon < 1, got 1\.0.*analytic_gaussian_sigma"):
        classical_gaussian_sigma(1.0, 1e-5)


@pytest.mark.parametrize(("delta", "first"), [(1e-2, 6.7718), (1e-3, 7.4635), (1e-5, 8.4198), (1e-8, 9.3743)])
def test_where_the_classical_formula_fails(delta, first):  # T6a, E2: golden classical_fail_*
    safe, unsafe = first - 1e-3, first + 1e-3
    assert analytic_gaussian_delta(safe, classical_by_hand(safe, delta)) < delta
    assert analytic_gaussian_delta(unsafe, classical_by_hand(unsafe, delta)) > delta


def test_the_classical_formula_at_epsilon_ten():  # E2: golden classical_gauss_eps10
    true_delta = analytic_gaussian_delta(10.0, classical_by_hand(10.0, 1e-5))
    assert true_delta == pytest.approx(2.2653743647934252e-05, rel=1e-9)


def test_analytic_gaussian_is_golden():  # T6: golden gdp_delta
    assert analytic_gaussian_delta(1.0, 1.0) == pytest.approx(0.1269367375066439, rel=1e-9)
    assert analytic_gaussian_sigma(1.0, 1e-5) == pytest.approx(3.7306316348159236, rel=1e-9)
    assert analytic_gaussian_sigma(1.0, 1e-5, sensitivity=2.0) == pytest.approx(2 * 3.7306316348159236, rel=1e-9)


@given(st.floats(0, 20), st.floats(1e-12, 0.9), st.floats(1e-3, 1e3))
@settings(max_examples=80)
def test_analytic_sigma_suffices_and_is_no_larger_than_needed(epsilon, delta, sensitivity):  # T6
    sigma = analytic_gaussian_sigma(epsilon, delta, sensitivity)
    truth = true_gaussian_delta(epsilon, sensitivity / sigma)
    assert delta * (1 - 1e-9) <= truth <= delta * (1 + 1e-15 * 200)
    assert analytic_gaussian_epsilon(delta, sigma, sensitivity) <= epsilon * (1 + 1e-9) + 1e-9


@given(st.floats(0, 30), st.floats(0.05, 50))
@settings(max_examples=60)
def test_analytic_delta_is_rounded_up(epsilon, sigma):  # T6
    value, truth = analytic_gaussian_delta(epsilon, sigma), true_gaussian_delta(epsilon, mp.mpf(1) / mp.mpf(sigma))
    assert value >= truth * (1 - mp.mpf(1e-30))
    assert value <= float(truth) * (1 + 1e-9) + 1e-300


def test_zcdp_is_golden():  # T18: golden zcdp
    assert gaussian_zcdp(2.0) == 0.125
    assert zcdp_epsilon(0.125, 1e-5) == pytest.approx(2.5242629560940406, rel=1e-9)
    assert zcdp_epsilon(0.0, 1e-5) == 0.0


@given(st.floats(0.1, 100), st.floats(1e-12, 0.1))
@settings(max_examples=60)
def test_zcdp_is_never_below_the_gaussian_it_came_from(sigma, delta):  # T18, T6
    assert zcdp_epsilon(gaussian_zcdp(sigma), delta) >= analytic_gaussian_epsilon(delta, sigma) * (1 - 1e-12)
