# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T16-T20: every conversion holds, none improves on what it started from, and the forbidden ones say why."""

import math

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.errors import AdjacencyError, ConversionError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, PureDP, convert
from dperm.privacy import gaussian_profile as gaussian
from dperm.privacy.convert import (
    approx_to_approx,
    gdp_to_approx,
    gdp_to_rdp,
    gdp_to_zcdp,
    pure_to_approx,
    pure_to_gdp,
    pure_to_rdp,
    pure_to_zcdp,
    rdp_to_approx,
    rdp_to_approx_mironov,
    zcdp_to_approx,
    zcdp_to_approx_simple,
    zcdp_to_rdp,
)

epsilons = st.floats(-8, 2).map(lambda power: 10.0**power)
deltas = st.floats(-50, -0.1).map(lambda power: 10.0**power)
ASKED = [0.0, 0.1, 0.5, 1.0, 3.0]


def test_the_golden_conversions():
    """T17, T18, T6: golden cks_single, zcdp, gdp_delta and rdp_to_dp of theory.json."""
    order = RDP([(10.0, 0.5)], "add_remove")
    assert rdp_to_approx(order, 1e-6).epsilon == pytest.approx(1.6738534248944212, rel=1e-9)
    assert rdp_to_approx_mironov(order, 1e-6).epsilon == pytest.approx(2.0350567286626973, rel=1e-9)
    assert zcdp_to_approx(ZCDP(0.125, "add_remove"), 1e-5).epsilon == pytest.approx(2.1657155451754853, rel=1e-9)
    assert zcdp_to_approx_simple(ZCDP(0.125, "add_remove"), 1e-5).epsilon == pytest.approx(2.5242629560940406, rel=1e-9)
    assert gdp_to_approx(GDP(1.0, "add_remove"), 1e-5).epsilon == pytest.approx(4.377178095681232, rel=1e-9)
    assert gdp_to_approx(GDP(0.5, "add_remove"), 1e-5).epsilon == pytest.approx(1.9930914044151153, rel=1e-9)


def test_exact_numbers_stay_exact():
    """T18, T19: rho = eps^2/2 and mu^2/2 are rounded up only if they are no doubles."""
    assert pure_to_zcdp(PureDP(1.0, "add_remove")) == ZCDP(0.5, "add_remove")
    assert gdp_to_zcdp(GDP(0.5, "replace_one")) == ZCDP(0.125, "replace_one")
    assert gdp_to_rdp(GDP(0.5, "replace_one"), [4.0]) == RDP([(4.0, 0.5)], "replace_one")
    assert zcdp_to_rdp(ZCDP(0.5, "add_remove"), [2, 3]) == RDP([(2.0, 1.0), (3.0, 1.5)], "add_remove")


@given(epsilons)
def test_squares_are_rounded_up(epsilon):
    assert mp.mpf(pure_to_zcdp(PureDP(epsilon, "add_remove")).rho) >= mp.mpf(epsilon) ** 2 / 2
    assert mp.mpf(gdp_to_zcdp(GDP(epsilon, "add_remove")).rho) >= mp.mpf(epsilon) ** 2 / 2


@pytest.mark.parametrize(
    "epsilon", [0.0, 1e-12, 1e-8, 1e-4, 0.1, 1.0, 1.99, 2.01, 5.0, 30.0, 40.0, 700.0, 800.0, 1e4, 1e5]
)
def test_the_mu_of_pure_dp_is_rounded_up(epsilon):
    """T20: mu = 2 Phi^-1(e^eps/(1 + e^eps)); at the mu returned, Phi(-mu/2) <= 1/(1 + e^eps)."""
    mu = pure_to_gdp(PureDP(epsilon, "add_remove")).mu
    log_share = -mp.log1p(mp.exp(mp.mpf(epsilon)))
    assert mp.log(mp.erfc(mp.mpf(mu) / mp.sqrt(8)) / 2) <= log_share
    slightly_less = mp.mpf(mu) * (1 - mp.mpf("1e-13") * (1 + mp.mpf(epsilon) / 100))
    assert epsilon == 0 or mp.log(mp.erfc(slightly_less / mp.sqrt(8)) / 2) > log_share


@given(st.floats(1e-6, 12), st.floats(0, 1.1))
def test_the_gaussian_curve_lies_above_the_pure_one_and_touches_it(epsilon, fraction):
    """T20: delta of the mu-GDP curve is at least that of eps-DP everywhere, with equality at 0."""
    pure, normal = PureDP(epsilon, "add_remove"), pure_to_gdp(PureDP(epsilon, "add_remove"))
    asked = fraction * epsilon
    assert normal.profile().delta_bracket(asked)[1] >= pure.profile().delta_bracket(asked)[0]
    assert normal.profile().delta(0.0) == pytest.approx(pure.profile().delta(0.0), rel=1e-11)


@given(epsilons, st.floats(1.001, 200))
def test_the_orders_of_pure_dp_keep_both_bounds_of_t16(epsilon, alpha):
    ((_, tau),) = pure_to_rdp(PureDP(epsilon, "add_remove"), [alpha]).curve
    assert tau <= min(epsilon, alpha * epsilon**2 / 2) * (1 + 1e-13)
    assert tau <= alpha * pure_to_zcdp(PureDP(epsilon, "add_remove")).rho * (1 + 1e-13)


@given(epsilons, deltas)
def test_conversions_never_improve_on_the_exact_curve(epsilon, delta):
    """From pure DP by any road to (eps', delta): never below the exact worst case, randomised response (T13)."""
    pure = PureDP(epsilon, "add_remove")
    floor = pure.profile().epsilon_bracket(delta)[0]
    for middle in (pure_to_zcdp(pure), pure_to_gdp(pure), pure_to_rdp(pure), pure_to_zcdp(pure)):
        assert convert(middle, ApproxDP, delta=delta).epsilon >= floor
    assert pure_to_approx(pure, delta).epsilon <= epsilon


@given(st.floats(-6, 1.5).map(lambda power: 10.0**power), deltas)
def test_the_detour_over_moments_never_improves_on_the_gaussian(mu, delta):
    """GDP to zCDP (T19) or RDP (T16), then T17: at least the exact T6; the older bounds are larger still."""
    exact = gaussian.epsilon_bracket(mu, delta)[0]
    zcdp, rdp = gdp_to_zcdp(GDP(mu, "add_remove")), gdp_to_rdp(GDP(mu, "add_remove"))
    assert exact <= zcdp_to_approx(zcdp, delta).epsilon <= zcdp_to_approx_simple(zcdp, delta).epsilon
    assert zcdp_to_approx(zcdp, delta).epsilon <= rdp_to_approx(rdp, delta).epsilon * (1 + 1e-9) + 1e-12
    assert rdp_to_approx(rdp, delta).epsilon <= rdp_to_approx_mironov(rdp, delta).epsilon


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(
    ("known", "to"),
    [
        (PureDP(1.0, "add_remove"), ZCDP),
        (PureDP(1.0, "add_remove"), GDP),
        (PureDP(1.0, "add_remove"), RDP),
        (GDP(1.0, "add_remove"), ZCDP),
        (GDP(1.0, "add_remove"), RDP),
        (ZCDP(0.5, "add_remove"), RDP),
        (ApproxDP(1.0, 0.0, "add_remove"), GDP),
        (ApproxDP(1.0, 0.0, "add_remove"), PureDP),
    ],
)
def test_what_is_implied_promises_no_more(known, to, asked):
    implied = convert(known, to)
    assert type(implied) is to
    assert implied.adjacency is known.adjacency
    assert implied.profile().delta(asked) >= known.profile().delta_bracket(asked)[0]


@pytest.mark.parametrize(
    "known",
    [PureDP(1.0, "add_remove"), ZCDP(1.0, "add_remove"), GDP(1.0, "add_remove"), RDP([(2.0, 1.0)], "replace_one")],
)
def test_converting_to_the_same_kind_changes_nothing(known):
    assert convert(known, type(known)) is known
    assert convert(known, type(known), adjacency=known.adjacency) is known


def test_an_approximate_guarantee_can_be_read_at_a_larger_delta():
    """T14: more delta, less epsilon; never less delta than its own."""
    known = ApproxDP(1.0, 1e-6, "add_remove")
    assert convert(known, ApproxDP) is known
    assert convert(known, ApproxDP, delta=1e-6).epsilon == 1.0
    assert 0.98 < approx_to_approx(known, 0.01).epsilon < 1.0
    with pytest.raises(ConversionError, match="no finite epsilon"):
        convert(known, ApproxDP, delta=1e-9)


FORBIDDEN = [
    (ApproxDP(1.0, 1e-6, "add_remove"), RDP, "T20"),
    (ApproxDP(1.0, 1e-6, "add_remove"), ZCDP, "T20"),
    (ApproxDP(1.0, 1e-6, "add_remove"), GDP, "T20"),
    (ApproxDP(1.0, 1e-6, "add_remove"), PureDP, "unbounded privacy loss"),
    (ZCDP(0.5, "add_remove"), GDP, "T19"),
    (ZCDP(0.5, "add_remove"), PureDP, "unbounded privacy loss"),
    (RDP([(2.0, 0.5)], "add_remove"), GDP, "T19"),
    (RDP([(2.0, 0.5)], "add_remove"), ZCDP, "every order"),
    (RDP([(2.0, 0.5)], "add_remove"), PureDP, "unbounded privacy loss"),
    (GDP(1.0, "add_remove"), PureDP, "unbounded privacy loss"),
]


@pytest.mark.parametrize(("known", "to", "why"), FORBIDDEN, ids=lambda value: getattr(value, "__name__", str(value)))
def test_a_forbidden_conversion_says_why(known, to, why):
    with pytest.raises(ConversionError, match=why) as caught:
        convert(known, to)
    assert str(known) in str(caught.value)
    assert to.__name__ in str(caught.value)


def test_zcdp_does_not_imply_gdp():
    """T19: randomised response with eps = 2 is rho-zCDP for rho far below 2, yet no GDP with mu = sqrt(2 rho)."""
    pure = PureDP(2.0, "add_remove")
    rho = max(tau / alpha for alpha, tau in pure_to_rdp(pure).curve)
    assert gaussian.delta_bracket(0.0, math.sqrt(2 * rho))[1] < pure.profile().delta_bracket(0.0)[0]


def test_an_adjacency_is_changed_by_t4_only():
    """T4: add/remove becomes replace-one at a price, and nothing leads back."""
    assert convert(GDP(1.0, "add_remove"), GDP, adjacency="replace_one") == GDP(2.0, "replace_one")
    assert convert(PureDP(0.5, "add_remove"), ZCDP, adjacency="replace_one") == ZCDP(0.5, "replace_one")
    at_once = convert(GDP(1.0, "add_remove"), ApproxDP, delta=1e-5, adjacency=Adjacency.REPLACE_ONE)
    assert at_once == gdp_to_approx(GDP(2.0, "replace_one"), 1e-5)
    with pytest.raises(AdjacencyError, match="same n"):
        convert(GDP(1.0, "replace_one"), GDP, adjacency="add_remove")
    with pytest.raises(AdjacencyError, match="no default"):
        convert(GDP(1.0, "replace_one"), GDP, adjacency="swap")


@pytest.mark.parametrize(
    "known",
    [PureDP(1.0, "add_remove"), GDP(1.0, "add_remove"), ZCDP(1.0, "add_remove"), RDP([(2.0, 1.0)], "add_remove")],
)
def test_delta_is_asked_for_by_name(known):
    with pytest.raises(ParameterError, match=r"^delta must be given"):
        convert(known, ApproxDP)


@pytest.mark.parametrize("bad", [-1.0, 1.0, math.nan, "1e-5"])
@pytest.mark.parametrize("known", [PureDP(1.0, "add_remove"), GDP(1.0, "add_remove"), ZCDP(1.0, "add_remove")])
def test_a_nonsensical_delta_is_refused(known, bad):
    with pytest.raises(ParameterError, match=r"^delta must be"):
        convert(known, ApproxDP, delta=bad)


@pytest.mark.parametrize("known", [GDP(1.0, "add_remove"), ZCDP(1.0, "add_remove"), RDP([(2.0, 1.0)], "add_remove")])
def test_unbounded_losses_have_no_delta_zero(known):
    with pytest.raises(ParameterError, match=r"^delta must be"):
        convert(known, ApproxDP, delta=0.0)


def test_pure_dp_at_delta_zero_is_itself():
    assert convert(PureDP(1.0, "add_remove"), ApproxDP, delta=0.0) == ApproxDP(1.0, 0.0, "add_remove")


@pytest.mark.parametrize("bad", [1.0, math.inf, "2"])
def test_orders_are_above_one(bad):
    with pytest.raises(ParameterError, match=r"^orders must be"):
        convert(GDP(1.0, "add_remove"), RDP, orders=[2.0, bad])


@pytest.mark.parametrize("known", ["GDP", 1.0, None])
def test_only_guarantees_are_converted(known):
    with pytest.raises(ParameterError, match=r"^guarantee must be"):
        convert(known, GDP)


def test_only_to_kinds_of_guarantee():
    with pytest.raises(ConversionError, match=r"^to must be"):
        convert(GDP(1.0, "add_remove"), float)
