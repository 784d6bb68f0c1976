# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T4: group privacy and the replace-one reading, each bound also from below on an adversarial pair."""

import math
from itertools import pairwise

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.errors import AdjacencyError, ConversionError, ParameterError
from dperm.privacy import (
    GDP,
    RDP,
    ZCDP,
    Adjacency,
    ApproxDP,
    GroupProfile,
    PureDP,
    group,
    group_profile,
    replace_one_from_add_remove,
    replace_one_profile,
)
from dperm.privacy import gaussian_profile as gaussian

GUARANTEES = [
    PureDP(0.5, "add_remove"),
    ApproxDP(0.5, 1e-6, "add_remove"),
    ZCDP(0.125, "add_remove"),
    GDP(0.3, "add_remove"),
    RDP([(2.0, 0.1), (8.0, 0.5), (64.0, 6.0)], "add_remove"),
]
kinds = pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda guarantee: type(guarantee).__name__)


def test_the_golden_group():
    """T4, golden group_approx of theory.json."""
    found = group(ApproxDP(0.5, 1e-6, "add_remove"), 3)
    assert found.epsilon == 1.5
    assert found.delta == pytest.approx(5.367003099159173e-06, rel=1e-9)
    delta = group(GDP(1.0, "add_remove"), 3).profile().delta(5.0)
    assert delta == pytest.approx(0.319391879905888, rel=1e-9)


@kinds
def test_a_group_of_one_is_the_identity(guarantee):
    assert group(guarantee, 1) is guarantee
    profile = guarantee.profile()
    assert group_profile(profile, 1) is profile


def test_each_kind_grows_as_t4_says():
    assert group(PureDP(0.5, "replace_one"), 3) == PureDP(1.5, "replace_one")
    assert group(GDP(0.5, "replace_one"), 3) == GDP(1.5, "replace_one")
    assert group(ZCDP(0.5, "replace_one"), 3) == ZCDP(4.5, "replace_one")
    assert group(ApproxDP(0.0, 0.125, "replace_one"), 4).delta == pytest.approx(0.5, rel=1e-14)
    assert group(ApproxDP(3.0, 0.0, "replace_one"), 4) == ApproxDP(12.0, 0.0, "replace_one")


def test_the_replace_one_reading_of_each_kind():
    """T4 with k = 2: 2 eps, delta (1 + e^eps), 2 mu, 4 rho, and (alpha/2, 3 tau) for alpha >= 4."""
    assert replace_one_from_add_remove(PureDP(0.5, "add_remove")) == PureDP(1.0, "replace_one")
    assert replace_one_from_add_remove(GDP(0.5, "add_remove")) == GDP(1.0, "replace_one")
    assert replace_one_from_add_remove(ZCDP(0.5, "add_remove")) == ZCDP(2.0, "replace_one")
    curve = replace_one_from_add_remove(RDP([(2.0, 0.1), (4.0, 0.25), (8.0, 0.5)], "add_remove")).curve
    assert curve == ((2.0, 0.75), (4.0, 1.5))
    found = replace_one_from_add_remove(ApproxDP(0.5, 1e-6, "add_remove"))
    assert (found.epsilon, found.adjacency) == (1.0, Adjacency.REPLACE_ONE)
    assert found.delta == pytest.approx(1e-6 * (1 + math.exp(0.5)), rel=1e-13)
    assert found.delta >= 1e-6 * (1 + math.exp(0.5))


@kinds
def test_there_is_no_way_back_to_add_remove(guarantee):
    """T4: replace-one neighbours have the same n; asking twice is refused too."""
    replaced = replace_one_from_add_remove(guarantee)
    with pytest.raises(AdjacencyError, match="same n"):
        replace_one_from_add_remove(replaced)
    with pytest.raises(AdjacencyError, match="same n"):
        replace_one_profile(replaced.profile())


@kinds
def test_a_group_keeps_its_adjacency(guarantee):
    assert group(guarantee, 2).adjacency is Adjacency.ADD_REMOVE
    assert group_profile(guarantee.profile(), 2).adjacency is Adjacency.ADD_REMOVE
    assert replace_one_profile(guarantee.profile()).adjacency is Adjacency.REPLACE_ONE


@given(st.floats(0, 3), st.floats(1e-30, 1e-4), st.integers(2, 6))
def test_the_group_delta_is_the_chain_rounded_up(epsilon, delta, k):
    """T4's proof: delta_{j+1} = e^eps delta_j + delta, iterated with 50 digits."""
    chained = mp.mpf(0)
    for _ in range(k):
        chained = mp.exp(mp.mpf(epsilon)) * chained + mp.mpf(delta)
    if chained < 1:
        found = group(ApproxDP(epsilon, delta, "add_remove"), k).delta
        assert chained <= found <= chained * (1 + mp.mpf("1e-13"))


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("mu", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 3.0])
def test_the_group_bound_of_a_profile_is_above_the_true_group(mu, k, epsilon):
    """T4, adversarial pair: k records that all push the Gaussian the same way are k mu apart, exactly."""
    bound = group_profile(GDP(mu, "add_remove").profile(), k)
    assert bound.delta(epsilon) >= gaussian.delta_bracket(epsilon, k * mu)[0]
    assert bound.epsilon(1e-6) >= gaussian.epsilon_bracket(k * mu, 1e-6)[0]


@pytest.mark.parametrize("k", [2, 3, 8])
def test_pure_groups_are_attained(k):
    """T4, adversarial pair: k records, each answered by randomised response, lose k eps with positive probability."""
    true_loss = k * math.log((1 / (1 + math.exp(-0.5))) / (1 / (1 + math.exp(0.5))))
    assert 0.999999 * group(PureDP(0.5, "replace_one"), k).epsilon <= true_loss


def test_zcdp_and_gdp_groups_are_attained():
    """T4: k mu apart, the Gaussian pair has divergence alpha (k mu)^2/2 = alpha k^2 rho."""
    assert group(ZCDP(0.5, "add_remove"), 3).rho == 3**2 * 0.5
    assert group(GDP(1.0, "add_remove"), 3).mu == 3.0


@pytest.mark.parametrize("k", [3, 6, 12])
def test_rdp_groups_are_powers_of_two(k):
    with pytest.raises(ConversionError, match="power of two"):
        group(GUARANTEES[-1], k)


def test_rdp_groups_need_large_orders():
    """T4 [Mironov 2017, Prop 2]: alpha >= 2^(c+1)."""
    assert group(GUARANTEES[-1], 4).curve == ((2.0, 4.5), (16.0, 54.0))
    with pytest.raises(ConversionError, match="alpha >= 128"):
        group(GUARANTEES[-1], 64)


@pytest.mark.parametrize("k", [2, 4, 16])
def test_rdp_groups_cover_the_gaussian(k):
    """T4: 3^c tau at alpha/2^c is at least the true (alpha/2^c) (2^c mu)^2/2 of the Gaussian."""
    mu = 0.5
    found = group(RDP([(64.0, 64 * mu**2 / 2)], "add_remove"), k)
    ((alpha, tau),) = found.curve
    assert tau >= alpha * (k * mu) ** 2 / 2


def test_a_group_whose_delta_reaches_one_is_refused():
    with pytest.raises(ConversionError, match="promises nothing"):
        group(ApproxDP(1.0, 1e-3, "add_remove"), 10)
    with pytest.raises(ConversionError, match="promises nothing"):
        group(ApproxDP(1e5, 1e-300, "add_remove"), 2)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True, None, math.nan])
@kinds
def test_a_nonsensical_group_size_is_refused(guarantee, bad):
    with pytest.raises(ParameterError, match=r"^k must be a whole number"):
        group(guarantee, bad)
    with pytest.raises(ParameterError, match=r"^k must be a whole number"):
        group_profile(guarantee.profile(), bad)


PROFILES = [
    PureDP(0.5, "add_remove").profile(),
    PureDP(1e5, "add_remove").profile(),
    ApproxDP(1.0, 1e-6, "add_remove").profile(),
    GDP(1e-4, "add_remove").profile(),
    GDP(1.0, "add_remove").profile(),
    GDP(5.0, "add_remove").profile(),
    GDP(450.0, "add_remove").profile(),
    ZCDP(0.125, "add_remove").profile(),
]
bases = pytest.mark.parametrize("base", PROFILES, ids=str)


@bases
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 1.0, 8.0, 1e5, 3e5])
def test_the_delta_of_a_group_profile_is_t4(base, k, epsilon):
    """T4: delta_k(k eps) = delta(eps) (e^(k eps) - 1)/(e^eps - 1), or less at a smaller eps; no overflow."""
    single = mp.mpf(epsilon) / k
    chain = mp.expm1(k * single) / mp.expm1(single) if epsilon else mp.mpf(k)
    exact = min(mp.mpf(1), mp.mpf(base.delta(epsilon / k)) * chain)
    low, high = group_profile(base, k).delta_bracket(epsilon)
    assert 0 <= low <= high <= 1
    assert high <= exact * (1 + mp.mpf("1e-9")) + mp.mpf(10) ** -320
    smaller = [epsilon * 0.98**i / k for i in range(900)]
    logs = [(k - 1) * e + math.log(base.delta_bracket(e)[0]) for e in smaller if base.delta_bracket(e)[0] > 0]
    assert len(logs) < len(smaller) or high >= 0.5 * math.exp(min(0.0, *logs))


@bases
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-5, 1e-2, 0.5])
def test_the_epsilon_of_a_group_profile_is_verified(base, k, delta):
    profile = group_profile(base, k)
    low, high = profile.epsilon_bracket(delta)
    assert 0 <= low <= high
    if math.isfinite(high):
        assert profile.delta(high) <= delta
        assert high >= base.epsilon_bracket(delta)[0]
        assert high == 0 or profile.delta(high * (1 - 1e-6)) > delta * (1 - 1e-9)


def test_the_epsilon_of_a_group_profile_is_the_first_at_which_t4_holds():
    """T4 from (1, 1e-6): (2, 1e-6 (1 + e)); more delta needs less than 2, less delta cannot be had."""
    profile = replace_one_profile(ApproxDP(1.0, 1e-6, "add_remove").profile())
    attained = 1e-6 * (1 + math.e)
    assert profile.epsilon(attained * (1 + 1e-12)) == pytest.approx(2.0, rel=1e-6)
    assert profile.epsilon(0.01) < 2.0
    assert profile.epsilon(attained * 0.999) == math.inf
    assert profile.delta(2.0) == pytest.approx(attained, rel=1e-12)
    assert profile.delta(7.0) == pytest.approx(attained, rel=1e-6)


def test_the_replace_one_profile_of_a_gaussian_is_close_to_its_exact_one():
    """T4 costs something: 11.05 against the exact 2 mu-GDP, 9.997 (golden g02 of accounting.csv: mu = 2)."""
    bound = replace_one_profile(GDP(1.0, "add_remove").profile())
    low, high = bound.epsilon_bracket(1e-5)
    assert 9.99725614633 < low <= high < 11.1
    assert high - low <= 1e-9 * high


@bases
def test_a_group_is_never_better_than_one_record(base):
    profile = replace_one_profile(base)
    for epsilon in (0.0, 0.5, 2.0):
        assert profile.delta(epsilon) >= base.delta_bracket(epsilon)[0]
    for rate in (1e-3, 0.1):
        assert profile.tradeoff(rate) <= base.tradeoff(rate) + 1e-6


@bases
def test_the_delta_of_a_group_falls_with_epsilon(base):
    profile = replace_one_profile(base)
    found = [profile.delta(epsilon) for epsilon in (0.0, 0.1, 0.9, 1.9, 2.1, 5.0, 30.0, 1e4)]
    assert all(later <= earlier * (1 + 1e-9) + 1e-320 for earlier, later in pairwise(found))


@pytest.mark.parametrize("bad", [-1.0, math.nan, "1"])
def test_group_profiles_refuse_nonsense(bad):
    profile = GroupProfile(PROFILES[0], 2, Adjacency.ADD_REMOVE)
    for name, call in (
        ("epsilon", profile.delta),
        ("delta", profile.epsilon),
        ("false_positive_rate", profile.tradeoff),
    ):
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            call(bad)
