# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The trade-off curve from delta(epsilon): always a lower bound, and close for smooth curves."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.errors import ParameterError
from dperm.privacy import GDP, ApproxDP, PureDP, tradeoff_from_delta
from dperm.privacy import gaussian_profile as gaussian
from dperm.privacy.profile import supporting_line

rates = st.floats(1e-6, 1 - 1e-6)


@given(st.floats(-3, 1).map(lambda power: 10.0**power), rates)
def test_of_the_gaussian_curve_it_is_the_normal_trade_off_from_below(mu, rate):
    """T19: Phi(Phi^-1(1 - x) - mu), within 1e-6."""
    exact = gaussian.false_negative_rate(rate, mu)
    found = tradeoff_from_delta(GDP(mu, "add_remove").profile().delta, rate)
    assert found <= exact + 1e-12
    assert found == pytest.approx(exact, abs=1e-6)


@given(st.floats(0, 20), st.floats(0, 0.5), rates)
def test_of_curves_with_a_kink_it_is_close_from_below_too(epsilon, delta, rate):
    """T14's law has the trade-off max(0, 1 - delta - e^eps x, e^-eps (1 - delta - x))."""
    exact = max(0.0, 1 - delta - math.exp(epsilon) * rate, math.exp(-epsilon) * (1 - delta - rate))
    found = tradeoff_from_delta(ApproxDP(epsilon, delta, "add_remove").profile().delta, rate)
    assert found <= exact + 1e-15
    assert found == pytest.approx(exact, abs=1e-6)


@given(st.floats(0.01, 20), rates, st.floats(1, 3))
def test_a_looser_delta_gives_a_lower_curve(mu, rate, slack):
    profile = GDP(mu, "add_remove").profile()
    assert tradeoff_from_delta(lambda eps: min(1.0, slack * profile.delta(eps)), rate) <= profile.tradeoff(rate) + 1e-9


def test_about_forty_values_of_delta_are_asked_for():
    calls = []
    tradeoff_from_delta(lambda eps: calls.append(eps) or gaussian.delta_bracket(eps, 1.0)[1], 0.001)
    assert len(calls) <= 45
    assert min(calls) >= 0


@pytest.mark.parametrize("mu", [1e-4, 1.0, 30.0, 1e3])
def test_the_ends_of_the_curve(mu):
    delta = GDP(mu, "add_remove").profile().delta
    assert tradeoff_from_delta(delta, 1.0) == 0.0
    assert 0 <= tradeoff_from_delta(delta, 0.0) <= 1


def test_the_false_negative_rate_at_zero_is_one_minus_the_failure_probability():
    assert tradeoff_from_delta(ApproxDP(1.0, 0.01, "add_remove").profile().delta, 0.0) == pytest.approx(0.99, abs=1e-12)


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-30])
def test_the_smallest_rates_neither_raise_nor_exceed_one(rate):
    assert 0 <= tradeoff_from_delta(PureDP(1e5, "add_remove").profile().delta, rate) <= 1
    assert tradeoff_from_delta(PureDP(1.0, "add_remove").profile().delta, rate) == pytest.approx(1, abs=1e-12)


def test_the_supporting_line_is_the_tangent():
    """At x the curve G_mu has the slope -e^eps with eps = mu (Phi^-1(1 - x) - mu/2)."""
    delta = GDP(1.0, "add_remove").profile().delta
    epsilon, _ = supporting_line(delta, 0.01)
    assert epsilon == pytest.approx(2.3263478740408408 - 0.5, abs=1e-3)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, "0.5", None])
def test_a_rate_outside_zero_and_one_is_refused(bad):
    with pytest.raises(ParameterError, match=r"^false_positive_rate must be"):
        tradeoff_from_delta(lambda eps: 0.0, bad)
