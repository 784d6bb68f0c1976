# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T6 in log space, against mpmath and the golden numbers."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dperm.errors import ParameterError
from dperm.privacy import gaussian_profile as gaussian

mus = st.floats(-8, 4).map(lambda power: 10.0**power)
deltas = st.floats(-300, -0.001).map(lambda power: 10.0**power)


def grid():
    """(epsilon, mu): tails out to delta = 1e-300, tiny and huge mu, epsilon far below mu, and epsilon = 0."""
    for mu in (1e-8, 1e-6, 3e-4, 0.02, 0.0999, 0.11, 0.4, 1.0, 2.5, 10.0, 300.0, 1e4):
        for u in (-20.0, -5.0, -1.01, -0.99, -0.2, 0.0, 0.3, 1.0, 4.9, 5.1, 12.0, 25.0, 36.9):
            if mu * (u + mu / 2) >= 0:
                yield mu * (u + mu / 2), mu
        for ratio in (0.0, 1e-9, 1e-3, 0.05, 0.9, 2.0):
            if ratio * mu * 30 > mu * (mu / 2 - 30):
                yield ratio * mu, mu
    yield 1e-9, 1e-6
    yield 5e7, 1e4


@pytest.mark.parametrize(("epsilon", "mu"), sorted(set(grid())))
def test_delta_bracket_holds_the_exact_value_and_is_narrow(exact_log_delta, epsilon, mu):
    """T6 with 50 digits: never an underestimate, and relative 1e-12."""
    exact = exact_log_delta(epsilon, mu)
    low, high = gaussian.delta_bracket(epsilon, mu)
    assert mp.mpf(low) <= mp.exp(exact) <= mp.mpf(high)
    assert high - low <= 2e-12 * high
    assert abs(gaussian.log_delta(epsilon, mu) - exact) <= 1e-12 * max(1, abs(exact))


@pytest.mark.parametrize("mu", [1e-8, 1e-6, 1e-3, 0.3, 1.0, 7.0, 100.0, 1e4])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-18, 1e-9, 1e-5, 0.01, 0.4, 0.999, 1 - 1e-12])
def test_epsilon_bracket_holds_the_exact_value_and_is_narrow(exact_log_delta, mu, delta):
    """Delta falls with epsilon, so the exact delta at the two ends decides (T6)."""
    low, high = gaussian.epsilon_bracket(mu, delta)
    log_delta = mp.log(mp.mpf(delta))
    assert low == 0 or exact_log_delta(low, mu) >= log_delta
    assert exact_log_delta(high, mu) <= log_delta
    assert high - low <= 1e-12 * high


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-4, 0.1, 1.0, 10.0, 1e3, 1e7])
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-9, 1e-5, 0.1, 0.9, 1 - 1e-12])
def test_mu_for_is_the_largest_mu_rounded_down(exact_log_delta, epsilon, delta):
    low, high = gaussian.mu_bracket(epsilon, delta)
    log_delta = mp.log(mp.mpf(delta))
    assert exact_log_delta(epsilon, low) <= log_delta <= exact_log_delta(epsilon, high)
    assert gaussian.mu_for(epsilon, delta) == low
    assert high - low <= (1e-12 if low > 1e-8 else 1e-11) * high


@pytest.mark.slow
def test_a_large_random_scan_never_underestimates(exact_log_delta):
    random = np.random.default_rng(6)
    for _ in range(3_000):
        mu = 10 ** random.uniform(-8, 4)
        epsilon = max(0.0, mu * (random.uniform(-8, 37) + mu / 2))
        exact = exact_log_delta(epsilon, mu)
        value, allowance, _ = gaussian._log_delta(epsilon, mu)
        assert abs(value - exact) <= 0.6 * allowance  # a margin of 1.6 at least over the errors met
        delta = float(mp.exp(exact))
        if 1e-300 < delta < 0.9:  # closer to 1 and below 1e-308 the rounding of delta itself moves epsilon
            low, high = gaussian.epsilon_bracket(mu, delta)
            assert low <= epsilon * (1 + 1e-11) + 1e-12 * mu
            assert high >= epsilon * (1 - 1e-11) - 1e-12 * mu


def test_the_golden_numbers_of_the_analytic_gaussian():
    """T6, golden gdp_delta and plrv_tail_vs_exact of theory.json."""
    assert gaussian.delta_bracket(1.0, 1.0)[1] == pytest.approx(0.1269367375066439, rel=1e-11)
    assert gaussian.epsilon_bracket(1.0, 1e-5)[1] == pytest.approx(4.377178095681232, rel=1e-11)
    assert gaussian.mu_for(1.0, 1e-5) == pytest.approx(0.26805112321129554, rel=1e-11)
    assert gaussian.delta_bracket(3.0, 1.0)[1] == pytest.approx(0.0015371853694009568, rel=1e-11)
    assert gaussian.delta_bracket(5.0, 3.0)[1] == pytest.approx(0.319391879905888, rel=1e-11)


@pytest.mark.parametrize(
    ("epsilon", "sigma"),
    [
        (0.1, 30.74956613197582),
        (0.5, 7.031826675582507),
        (0.99, 3.7649345111570423),
        (2.0, 1.9938124456435367),
        (5.0, 0.8918682649515185),
        (10.0, 0.49988861970900855),
    ],
)
def test_the_golden_noise_of_the_analytic_gaussian(epsilon, sigma):
    """T6, golden classical_gauss_eps* (sigma_analytic) of theory.json, delta = 1e-5; rounded up."""
    assert 1 / gaussian.mu_for(epsilon, 1e-5) == pytest.approx(sigma, rel=1e-9)
    assert gaussian.delta_bracket(epsilon, gaussian.mu_for(epsilon, 1e-5))[1] <= 1e-5


def test_the_tail_of_the_loss_is_not_delta():
    """T2a, golden plrv_tail_vs_exact: P(L > eps) <= delta would give 4.7649 for mu = 1, delta = 1e-5."""
    tail_epsilon = 4.764890793922825
    assert mp.erfc((tail_epsilon - 0.5) / mp.sqrt(2)) / 2 == pytest.approx(1e-5, rel=1e-9)
    assert gaussian.epsilon_bracket(1.0, 1e-5)[1] < tail_epsilon - 0.38


@given(mus, deltas)
@example(1e-6, 1e-9)
@example(1e4, 1e-300)
def test_there_and_back_is_on_the_safe_side(mu, delta):
    """T6 inverted twice: at the epsilon reported, delta suffices; just below it, it would not."""
    low, high = gaussian.epsilon_bracket(mu, delta)
    assert low <= high
    assert gaussian.delta_bracket(high, mu)[0] <= delta
    assert low == 0 or gaussian.delta_bracket(low, mu)[1] >= delta
    assert gaussian.mu_bracket(high, delta)[1] >= mu


@given(mus, st.floats(0, 40), st.floats(0, 40))
def test_delta_falls_with_epsilon_and_grows_with_mu(mu, first, second):
    near, far = sorted((first * mu, second * mu))
    assert gaussian.delta_bracket(far, mu)[0] <= gaussian.delta_bracket(near, mu)[1]
    assert gaussian.delta_bracket(near, mu)[0] <= gaussian.delta_bracket(near, 1.1 * mu)[1]


@given(st.floats(1e-300, 1, exclude_max=True), st.floats(0, 30))
def test_false_negative_rate_is_the_normal_trade_off_from_below(rate, mu):
    """T19 with 50 digits: Phi(Phi^-1(1 - x) - mu)."""
    with mp.workdps(50):
        start = mp.mpf(gaussian.ndtri(rate))
        quantile = mp.findroot(lambda z: mp.log(mp.ncdf(z)) - mp.log(mp.mpf(rate)), start)
        exact = mp.ncdf(-quantile - mu)
        value = gaussian.false_negative_rate(rate, mu)
        assert value <= exact
        assert exact - value <= 1e-11 * exact + 1e-300


@pytest.mark.parametrize(
    ("rate", "mu", "expected"), [(0.0, 2.0, 1.0), (1.0, 2.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)]
)
def test_false_negative_rate_at_the_corners(rate, mu, expected):
    assert gaussian.false_negative_rate(rate, mu) == expected


def test_nothing_to_hide_at_mu_zero():
    assert gaussian.log_delta(0.0, 0.0) == -math.inf
    assert gaussian.delta_bracket(0.0, 0.0) == (0.0, 0.0)
    assert gaussian.epsilon_bracket(0.0, 0.0) == (0.0, 0.0)


def test_extreme_arguments_neither_raise_nor_underestimate():
    assert gaussian.epsilon_bracket(1.0, 0.0) == (math.inf, math.inf)
    assert gaussian.delta_bracket(1e300, 1e-300) == (0.0, 5e-324)
    assert gaussian.delta_bracket(1e5, 1e-8) == (0.0, 5e-324)
    assert gaussian.delta_bracket(0.0, 1e200)[1] == 1.0
    assert 0 < gaussian.mu_for(0.0, 5e-324) <= 2e-323
    low, high = gaussian.epsilon_bracket(1e4, 5e-324)
    assert 5e7 < low <= high < 5.1e7


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", True, None])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("epsilon", lambda bad: gaussian.delta_bracket(bad, 1.0)),
        ("mu", lambda bad: gaussian.delta_bracket(1.0, bad)),
        ("mu", lambda bad: gaussian.epsilon_bracket(bad, 1e-5)),
        ("delta", lambda bad: gaussian.epsilon_bracket(1.0, bad)),
        ("epsilon", lambda bad: gaussian.mu_for(bad, 1e-5)),
        ("delta", lambda bad: gaussian.mu_for(1.0, bad)),
        ("false_positive_rate", lambda bad: gaussian.false_negative_rate(bad, 1.0)),
        ("mu", lambda bad: gaussian.false_negative_rate(0.5, bad)),
    ],
)
def test_nonsense_is_refused_by_name(name, call, bad):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        call(bad)


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_mu_for_needs_a_delta_strictly_inside(delta):
    with pytest.raises(ParameterError, match=r"^delta must be"):
        gaussian.mu_for(1.0, delta)
