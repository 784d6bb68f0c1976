# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The profile that each guarantee implies: laws over all of them, then each against its own theorem."""

import math
from itertools import pairwise

import mpmath as mp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dperm.errors import ParameterError
from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.privacy import gaussian_profile as gaussian

GUARANTEES = [
    PureDP(0.0, "replace_one"),
    PureDP(1e-7, "replace_one"),
    PureDP(1.0, "replace_one"),
    PureDP(1e5, "add_remove"),
    ApproxDP(0.0, 0.0, "add_remove"),
    ApproxDP(1.0, 1e-6, "add_remove"),
    ApproxDP(0.0, 0.3, "add_remove"),
    ApproxDP(800.0, 1e-300, "add_remove"),
    ZCDP(0.0, "add_remove"),
    ZCDP(1e-9, "add_remove"),
    ZCDP(0.125, "replace_one"),
    ZCDP(100.0, "add_remove"),
    GDP(0.0, "add_remove"),
    GDP(1e-6, "add_remove"),
    GDP(1.0, "replace_one"),
    GDP(1e4, "add_remove"),
    RDP([(2.0, 0.1), (8.0, 0.5), (64.0, 6.0)], "add_remove"),
    RDP([(1.5, 0.0)], "add_remove"),
    RDP([(1e6, 20.0)], "replace_one"),
]
kinds = pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
epsilons = [0.0, 1e-9, 1e-3, 0.3, 1.0, 4.0, 50.0, 1e3, 1e6, 1e8]
deltas = [0.0, 1e-300, 1e-18, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 1 - 1e-9]


@kinds
def test_delta_is_a_bracket_of_probabilities_that_falls(guarantee):
    profile = guarantee.profile()
    brackets = [profile.delta_bracket(epsilon) for epsilon in epsilons]
    assert all(0 <= low <= high <= 1 for low, high in brackets)
    assert [high for _, high in brackets] == sorted((high for _, high in brackets), reverse=True)
    assert [profile.delta(epsilon) for epsilon in epsilons] == [high for _, high in brackets]


@kinds
def test_epsilon_is_a_bracket_that_falls_with_delta(guarantee):
    profile = guarantee.profile()
    brackets = [profile.epsilon_bracket(delta) for delta in deltas]
    assert all(0 <= low <= high for low, high in brackets)
    assert [high for _, high in brackets] == sorted((high for _, high in brackets), reverse=True)
    assert [profile.epsilon(delta) for delta in deltas] == [high for _, high in brackets]


@kinds
@pytest.mark.parametrize("delta", deltas)
def test_epsilon_suffices_for_its_delta(guarantee, delta):
    """The epsilon reported at delta has a delta (lower end) of at most delta: T1 holds with the pair."""
    profile = guarantee.profile()
    epsilon = profile.epsilon(delta)
    if math.isfinite(epsilon):
        assert profile.delta_bracket(epsilon)[0] <= delta


@kinds
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.3, 1.0, 4.0])
def test_there_and_back_is_on_the_safe_side(guarantee, epsilon):
    """At the lower end of delta(eps) the upper end of epsilon is at least eps, wherever delta still falls."""
    profile = guarantee.profile()
    low = profile.delta_bracket(epsilon)[0]
    if low < 1 and profile.delta_bracket(epsilon * (1 - 1e-6))[0] > low:
        assert profile.epsilon(low) >= epsilon * (1 - 1e-15)


@kinds
def test_the_trade_off_is_a_falling_curve_below_the_diagonal(guarantee):
    profile = guarantee.profile()
    rates = [0.0, 1e-12, 1e-3, 0.01, 0.2, 0.5, 0.9, 1.0]
    found = [profile.tradeoff(rate) for rate in rates]
    assert all(0 <= value <= 1 - rate for value, rate in zip(found, rates, strict=True))
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(found))


@kinds
def test_the_profile_carries_the_adjacency(guarantee):
    assert guarantee.profile().adjacency is guarantee.adjacency


@kinds
@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", None])
def test_nonsense_is_refused_by_name(guarantee, bad):
    profile = guarantee.profile()
    for name, call in (
        ("epsilon", profile.delta),
        ("delta", profile.epsilon),
        ("false_positive_rate", profile.tradeoff),
    ):
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            call(bad)


@given(st.floats(0, 700), st.floats(0, 0.9), st.floats(0, 1.2))
@example(5e-324, 0.0, 0.0)
def test_the_curve_of_approximate_dp_is_t14_with_one_mechanism(epsilon, delta, fraction):
    """T14 as printed, for one (epsilon, delta): also T13 with k = 1 when delta = 0."""
    asked = epsilon * fraction
    with mp.workdps(400):
        e, d, g = mp.mpf(epsilon), mp.mpf(delta), mp.mpf(asked)
        hidden = max(mp.exp(e) - mp.exp(g), 0) + max(1 - mp.exp(g + e), 0)
        exact = 1 - (1 - d) * (1 - hidden / (1 + mp.exp(e)))
    low, high = ApproxDP(epsilon, delta, "add_remove").profile().delta_bracket(asked)
    assert low <= exact * (1 + mp.mpf("1e-40"))
    assert high >= exact * (1 - mp.mpf("1e-40"))
    assert high - low <= 1e-14


@given(st.floats(1e-9, 700), st.floats(0, 1, exclude_max=True))
def test_the_inverse_of_the_pure_curve_is_exact(epsilon, delta):
    """T13 with k = 1: eps(delta) = eps + log(1 - delta (1 + e^-eps))."""
    inside = 1 - mp.mpf(delta) * (1 + mp.exp(-mp.mpf(epsilon)))
    exact = max(mp.mpf(0), epsilon + mp.log(inside)) if inside > 0 else mp.mpf(0)
    low, high = PureDP(epsilon, "add_remove").profile().epsilon_bracket(delta)
    assert low <= exact <= high
    assert high <= epsilon


def test_pure_dp_needs_no_delta_and_approximate_dp_none_below_its_own():
    assert PureDP(1.0, "add_remove").profile().epsilon(0.0) == 1.0
    assert ApproxDP(1.0, 1e-6, "add_remove").profile().epsilon(1e-6) == 1.0
    assert ApproxDP(1.0, 1e-6, "add_remove").profile().epsilon(9e-7) == math.inf


@given(st.floats(0, 50), st.floats(0, 1))
def test_the_pure_trade_off_is_two_lines(epsilon, rate):
    """Wasserman & Zhou 2010; T14's law: max(0, 1 - e^eps x, e^-eps (1 - x)), from below."""
    exact = max(mp.mpf(0), 1 - mp.exp(epsilon) * mp.mpf(rate), mp.exp(-epsilon) * (1 - mp.mpf(rate)))
    found = PureDP(epsilon, "add_remove").profile().tradeoff(rate)
    assert found <= exact
    assert found == pytest.approx(float(exact), abs=1e-13)


def test_the_gaussian_curve_is_t6():
    profile = GDP(1.0, "add_remove").profile()
    assert profile.epsilon_bracket(1e-5) == gaussian.epsilon_bracket(1.0, 1e-5)
    assert profile.delta_bracket(1.0) == gaussian.delta_bracket(1.0, 1.0)
    assert profile.tradeoff(0.01) == gaussian.false_negative_rate(0.01, 1.0)


def test_the_curves_of_zcdp_and_rdp_lie_between_the_gaussian_and_t17():
    """T17, T18, golden zcdp: exact Gaussian 1.9930914044151153 below, CKS 2.1657155451754853 above."""
    low, high = ZCDP(0.125, "add_remove").profile().epsilon_bracket(1e-5)
    assert low == pytest.approx(1.9930914044151153, rel=1e-9)
    assert high == pytest.approx(2.1657155451754853, rel=1e-9)
    curve = [(alpha, 0.125 * alpha) for alpha in (2.0, 5.0, 9.0, 10.0, 12.0, 40.0)]
    by_orders = RDP(curve, "add_remove").profile().epsilon_bracket(1e-5)
    assert by_orders[0] == pytest.approx(low, rel=1e-9)
    assert high <= by_orders[1] <= 1.01 * high


def test_equal_laws_leak_nothing():
    profile = RDP([(2.0, 0.0), (3.0, 0.1)], "add_remove").profile()
    assert profile.delta_bracket(0.0) == (0.0, 0.0)
    assert profile.epsilon_bracket(0.0) == (0.0, 0.0)
