# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T4, T9, T16, T17, T24a, T26 against golden numbers (shared/golden/theory.json), mpmath and dp-accounting 0.6."""

import math

import dp_accounting
import mpmath as mp
import numpy as np
import pytest
from dp_accounting import rdp as peer
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.accounting.rdp import (
    DEFAULT_ORDERS,
    gaussian_rdp,
    laplace_rdp,
    poisson_gaussian_rdp,
    pure_rdp,
    randomized_response_rdp,
    rdp_delta,
    rdp_epsilon,
    without_replacement_gaussian_rdp,
)
from dperm.accounting.theorems import analytic_gaussian_delta, analytic_gaussian_epsilon, zcdp_epsilon
from dperm.errors import AdjacencyError, ParameterError

SIGMAS = [0.2, 0.5, 1.0, 3.0, 100.0, 1e4]
RATES = [1e-5, 0.01, 0.3, 0.99]
WHOLE = np.array([2.0, 3.0, 8.0, 32.0, 200.0])
FRACTIONS = np.array([1.01, 1.5, 2.3, 5.7, 12.5])
ADD_OR_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE


def peer_curve(event, orders, relation=ADD_OR_REMOVE) -> np.ndarray:
    accountant = peer.RdpAccountant(list(orders), relation)
    accountant.compose(event)
    return np.asarray(accountant._rdp)


def sampled_by_mpmath(order: int, sigma: float, rate: float) -> mp.mpf:
    """T26 as printed."""
    with mp.workdps(60):
        q, s = mp.mpf(rate), mp.mpf(sigma)
        terms = (
            mp.binomial(order, k) * (1 - q) ** (order - k) * q**k * mp.exp((k * k - k) / (2 * s * s))
            for k in range(order + 1)
        )
        return mp.log(mp.fsum(terms)) / (order - 1)


def divergence(order: float, sigma: float, rate: float, other: float) -> float:
    """D_alpha of (1-q) N(0) + q N(1) against (1-q) N(0) + q N(other), by quadrature; other = 0 is N(0)."""
    with mp.workdps(20):
        a, s, q = mp.mpf(order), mp.mpf(sigma), mp.mpf(rate)

        def ratio(x, mean):
            return 1 - q + q * mp.exp((2 * mean * x - mean * mean) / (2 * s * s))

        def integrand(x):
            return ratio(x, 1) ** a * ratio(x, other) ** (1 - a) * mp.npdf(x, 0, s)

        points = sorted({-a - 20 * s, -2 * s, mp.mpf(0), mp.mpf(1), 2 * s + 1, a + 5 * s, 2 * a + 20 * s})
        return float(mp.log(mp.quad(integrand, points)) / (a - 1))


def test_gaussian_curve_and_replace_one():  # T16
    assert gaussian_rdp([2.0, 10.0], 2.0) == pytest.approx([0.25, 1.25], rel=1e-12)
    assert gaussian_rdp(DEFAULT_ORDERS, 1.0, 2.0) == pytest.approx(4 * gaussian_rdp(DEFAULT_ORDERS, 1.0), rel=1e-12)


def test_replace_one_has_twice_the_sensitivity_where_dp_accounting_forgets_it():  # golden r01: 46.2112
    exact = 46.2112101917
    ours = rdp_epsilon(10 * gaussian_rdp(DEFAULT_ORDERS, 1.0, sensitivity=2.0), 1e-5)
    theirs = peer.RdpAccountant(neighboring_relation=REPLACE)
    theirs.compose(dp_accounting.GaussianDpEvent(1.0), 10)
    assert theirs.get_epsilon(1e-5) < 20 < exact <= ours < 1.06 * exact


def test_laplace_and_randomized_response_are_golden():  # T16, T9: golden laplace_rdp, rr_rdp
    assert laplace_rdp(5.0, 2.0) == pytest.approx(0.35526531840491027, rel=1e-9)
    assert randomized_response_rdp(5.0, 0.5) == pytest.approx(0.3842426901671219, rel=1e-9)


@given(st.floats(1.001, 1e4), st.floats(0.05, 1e5))
@settings(max_examples=80)
def test_laplace_curve_is_the_formula_rounded_up(order, scale):  # T16
    value = float(laplace_rdp(order, scale))
    with mp.workdps(60):
        a, t = mp.mpf(order), 1 / mp.mpf(scale)
        inside = a / (2 * a - 1) * mp.exp((a - 1) * t) + (a - 1) / (2 * a - 1) * mp.exp(-a * t)
        truth = mp.log(inside) / (a - 1)
        assert truth <= value <= truth * (1 + mp.mpf(1e-7))
        assert value <= min(t, a * t * t / 2) * (1 + mp.mpf(1e-13))


@given(st.floats(1.001, 1e4), st.floats(1e-6, 50), st.integers(2, 50))
@settings(max_examples=80)
def test_randomized_response_curve_is_the_formula_rounded_up(order, epsilon, values):  # T9
    value = float(randomized_response_rdp(order, epsilon, values))
    with mp.workdps(60):
        a, odds = mp.mpf(order), mp.exp(mp.mpf(epsilon))
        keep, lie = odds / (odds + values - 1), 1 / (odds + values - 1)
        truth = mp.log(keep**a * lie ** (1 - a) + lie**a * keep ** (1 - a) + (values - 2) * lie) / (a - 1)
        assert truth <= value <= truth * (1 + mp.mpf(1e-9))


@given(st.floats(1.001, 1e4), st.floats(1e-6, 50))
@settings(max_examples=60)
def test_pure_curve_is_within_both_textbook_bounds(order, epsilon):  # T16
    value = float(pure_rdp(order, epsilon))
    assert value <= min(epsilon, order * epsilon**2 / 2) * (1 + 1e-9)
    assert value == float(randomized_response_rdp(order, epsilon, 2))
    assert float(pure_rdp(order, 0.0)) == 0.0


def test_sampled_gaussian_is_golden():  # T26: golden sgm_rdp
    value = poisson_gaussian_rdp([2, 8, 32], 1.0, rate=0.01, adjacency="add_remove")
    assert value == pytest.approx([0.00017181342207454875, 0.0008936439076060434, 11.246275937048072], rel=1e-9)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("rate", RATES)
def test_sampled_gaussian_is_the_printed_sum_rounded_up(sigma, rate):  # T26
    curve = poisson_gaussian_rdp(WHOLE, sigma, rate=rate, adjacency="add_remove")
    for order, value in zip(WHOLE, curve, strict=True):
        truth = sampled_by_mpmath(int(order), sigma, rate)
        assert truth <= value <= float(truth) * (1 + 1e-9)


@pytest.mark.parametrize(("sigma", "rate"), [(0.7, 0.01), (1.0, 0.1), (4.0, 0.02), (2.0, 0.7)])
def test_fractional_orders_are_bounds_and_not_silly(sigma, rate):  # T26: chord and cut series
    curve = poisson_gaussian_rdp(FRACTIONS, sigma, rate=rate, adjacency="add_remove")
    truths = [divergence(order, sigma, rate, 0) for order in FRACTIONS]
    for value, truth in zip(curve, truths, strict=True):
        assert truth * (1 - 1e-9) <= value <= 2.1 * truth


def test_fractional_orders_help():  # golden pld_poisson_0.01_1_1000, of which 2.10775 is dp-accounting's RDP
    exact, peers = 1.8282436461219649, 2.1077530754515768
    curve = 1000 * poisson_gaussian_rdp(DEFAULT_ORDERS, 1.0, rate=0.01, adjacency="add_remove")
    whole = 1000 * poisson_gaussian_rdp(np.arange(2, 64), 1.0, rate=0.01, adjacency="add_remove")
    ours = rdp_epsilon(curve, 1e-5)
    assert exact < ours <= peers
    assert ours < rdp_epsilon(whole, 1e-5, np.arange(2, 64))


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "exact", "peers"),
    [
        (0.01, 1.0, 1000, 1.8282436461219649, 2.1077530754515768),
        (0.1, 2.0, 100, 2.3374001924370993, 2.5866521781675296),
        (1.0, 10.0, 100, 4.377178518939869, 4.7283895756085155),
    ],
)
def test_composed_steps_against_golden_epsilons(rate, sigma, steps, exact, peers):  # T22, T26: golden pld_*
    curve = steps * poisson_gaussian_rdp(DEFAULT_ORDERS, sigma, rate=rate, adjacency="add_remove")
    epsilon = rdp_epsilon(curve, 1e-5)
    assert exact < epsilon < 1.0001 * peers
    assert rdp_delta(curve, epsilon) == pytest.approx(1e-5, rel=1e-9)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.001, 0.1, 0.6])
def test_dp_accounting_agrees_on_sampled_gaussians(sigma, rate):  # T26
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    ours = poisson_gaussian_rdp(WHOLE[:4], sigma, rate=rate, adjacency="add_remove")
    assert ours == pytest.approx(peer_curve(event, WHOLE[:4]), rel=1e-6)


def test_dp_accounting_agrees_on_laplace_randomized_response_and_conversion():  # T16, T9, T17
    assert laplace_rdp(WHOLE, 2.0) == pytest.approx(peer_curve(dp_accounting.LaplaceDpEvent(2.0), WHOLE), rel=1e-9)
    noise, values = 0.5, 4
    epsilon = math.log((1 - noise + noise / values) / (noise / values))
    event = dp_accounting.RandomizedResponseDpEvent(noise, values)
    assert randomized_response_rdp(WHOLE, epsilon, values) == pytest.approx(peer_curve(event, WHOLE, REPLACE), rel=1e-9)
    theirs = peer.RdpAccountant(list(WHOLE)).compose(dp_accounting.GaussianDpEvent(2.0))
    ours = gaussian_rdp(WHOLE, 2.0)
    assert rdp_epsilon(ours, 1e-5, WHOLE) == pytest.approx(theirs.get_epsilon(1e-5), rel=1e-9)
    assert rdp_delta(ours, 2.0, WHOLE) == pytest.approx(theirs.get_delta(2.0), rel=1e-9)


@pytest.mark.parametrize(
    ("sigma", "rate", "at_most"), [(4.0, 0.02, 2), (2.0, 0.7, 2), (1.0, 0.1, 5), (0.7, 0.01, 6), (1.0, 0.001, 50)]
)
def test_poisson_under_replace_one_is_a_bound_and_how_loose(sigma, rate, at_most):  # T4 against the pair of T25
    orders = np.array([1.5, 2.0, 3.0, 6.3, 10.0])
    curve = poisson_gaussian_rdp(orders, sigma, rate=rate, adjacency="replace_one")
    for order, value in zip(orders, curve, strict=True):
        truth = divergence(order, sigma, rate, -1)
        assert truth * (1 - 1e-9) <= value <= at_most * truth


def test_poisson_under_replace_one_is_above_the_exact_epsilon():  # golden r02: 2.84344026
    curve = 1000 * poisson_gaussian_rdp(DEFAULT_ORDERS, 1.0, rate=0.01, adjacency="replace_one")
    assert 2.84344026 < rdp_epsilon(curve, 1e-5) < 1.75 * 2.84344026


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("rate", RATES)
def test_replace_one_is_never_better_and_sampling_never_worse(sigma, rate):  # T4, T24a, T26
    add = poisson_gaussian_rdp(DEFAULT_ORDERS[::10], sigma, rate=rate, adjacency="add_remove")
    replace = poisson_gaussian_rdp(DEFAULT_ORDERS[::10], sigma, rate=rate, adjacency="replace_one")
    fixed = without_replacement_gaussian_rdp(DEFAULT_ORDERS[::10], sigma, rate=rate)
    plain = gaussian_rdp(DEFAULT_ORDERS[::10], sigma)
    assert np.all(add <= replace)
    assert np.all(add <= plain * (1 + 1e-12))
    assert np.all(np.maximum(replace, fixed) <= 4 * plain * (1 + 1e-12))


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_sampling_everything_is_the_gaussian(adjacency):  # T16, T26, T24a
    factor = 2.0 if adjacency == "replace_one" else 1.0
    plain = gaussian_rdp(DEFAULT_ORDERS, 3.0, factor)
    assert poisson_gaussian_rdp(DEFAULT_ORDERS, 3.0, rate=1.0, adjacency=adjacency) == pytest.approx(plain, rel=1e-12)
    if adjacency == "replace_one":
        assert without_replacement_gaussian_rdp(DEFAULT_ORDERS, 3.0, rate=1.0) == pytest.approx(plain, rel=1e-12)


def test_sampling_without_replacement_is_golden():  # T24a: golden wor_rdp (m = 1 is sigma = 2)
    assert without_replacement_gaussian_rdp(4, 2.0, rate=0.1) == pytest.approx(0.149840913779507, rel=1e-9)
    curve = 10 * without_replacement_gaussian_rdp(DEFAULT_ORDERS, 2.0, rate=0.1)
    assert rdp_epsilon(curve, 1e-5) == pytest.approx(4.586270766626734, rel=1e-3)
    assert rdp_epsilon(curve, 1e-5) > 2.925259  # T24's pair: golden wor_pld


def test_sampling_without_replacement_agrees_with_dp_accounting_at_half_the_noise():  # T24a
    # dp-accounting's noise multiplier is relative to the replace-one sensitivity here, ours to that of one record
    event = dp_accounting.SampledWithoutReplacementDpEvent(10, 1, dp_accounting.GaussianDpEvent(1.0))
    theirs = peer_curve(event, WHOLE[:3], REPLACE)
    ours = without_replacement_gaussian_rdp(WHOLE[:3], 2.0, rate=0.1)
    assert np.all(theirs <= ours * (1 + 1e-9))
    assert ours[:2] == pytest.approx(theirs[:2], rel=1e-9)


def test_conversion_is_golden():  # T17, T18: golden cks_single, rdp_to_dp, zcdp
    assert rdp_epsilon([0.5], 1e-6, [10.0]) == pytest.approx(1.6738534248944212, rel=1e-9)
    assert rdp_epsilon([0.5], 1e-6, [10.0]) < 2.0350567286626973  # Mironov's
    curve = 0.125 * DEFAULT_ORDERS
    epsilon = rdp_epsilon(curve, 1e-5)
    assert 2.1657155451754853 <= epsilon <= 2.1657155451754853 * (1 + 2e-4)
    assert 1.9930914044151153 < epsilon < zcdp_epsilon(0.125, 1e-5)


@given(st.floats(1.01, 1e4), st.floats(0, 50), st.floats(1e-15, 0.9))
@settings(max_examples=80)
def test_conversion_to_epsilon_and_to_delta_invert_each_other(order, tau, delta):  # T17
    epsilon = rdp_epsilon([tau], delta, [order])
    back = rdp_delta([tau], epsilon, [order])
    if epsilon > 0:
        assert back == pytest.approx(delta, rel=1e-6)
    else:
        assert back <= delta * (1 + 1e-9)


@given(st.floats(0.2, 1e4), st.floats(1e-12, 0.1))
@settings(max_examples=100)
def test_rdp_is_never_below_the_exact_gaussian_and_close_to_it(sigma, delta):  # T17, T6
    curve = gaussian_rdp(DEFAULT_ORDERS, sigma)
    exact, epsilon = analytic_gaussian_epsilon(delta, sigma), rdp_epsilon(curve, delta)
    assert exact * (1 - 1e-12) <= epsilon
    if delta < 1e-5 and sigma < 1e3:
        assert epsilon <= 1.25 * exact + 2 / sigma
    if epsilon > 0:
        assert rdp_delta(curve, epsilon) >= analytic_gaussian_delta(epsilon, sigma) * (1 - 1e-9)


@given(st.floats(0.2, 1e4), st.floats(1e-6, 1.0), st.integers(1, 10**6))
@settings(max_examples=40)
def test_curves_are_finite_positive_and_grow_with_the_order(sigma, rate, steps):  # T16: D_alpha grows with alpha
    orders = np.array([1.2, 1.5, 2, 2.5, 3, 8, 20.5, 64, 1000, 20_000])
    for curve in (
        poisson_gaussian_rdp(orders, sigma, rate=rate, adjacency="add_remove"),
        poisson_gaussian_rdp(orders, sigma, rate=rate, adjacency="replace_one"),
        without_replacement_gaussian_rdp(orders, sigma, rate=rate),
        laplace_rdp(orders, sigma),
    ):
        assert np.all(np.isfinite(curve))
        assert np.all(curve > 0)
        assert math.isfinite(rdp_epsilon(steps * curve, 1e-9, orders))
        assert 0 < rdp_delta(steps * curve, 1.0, orders) <= 1
    whole = orders[[2, 4, 5, 7, 8, 9]]
    assert np.all(np.diff(poisson_gaussian_rdp(whole, sigma, rate=rate, adjacency="add_remove")) >= 0)


def test_extreme_noise_neither_overflows_nor_warns():
    for sigma in (1e-200, 1e-120, 1e-3, 1e200):
        for rate in (1e-300, 0.5, 1 - 1e-12, 1.0):
            for adjacency in ("add_remove", "replace_one"):
                curve = poisson_gaussian_rdp(WHOLE, sigma, rate=rate, adjacency=adjacency)
                assert not np.any(np.isnan(curve))
        assert not np.any(np.isnan(laplace_rdp(WHOLE, sigma)))
    assert rdp_epsilon(gaussian_rdp(DEFAULT_ORDERS, 1e-200), 1e-5) == math.inf
    assert rdp_delta(gaussian_rdp(DEFAULT_ORDERS, 1e-200), 1.0) == 1.0


def test_scalars_and_shapes_are_kept():
    assert gaussian_rdp(2, 1.0).shape == ()
    assert poisson_gaussian_rdp(2.5, 1.0, rate=0.1, adjacency="add_remove").shape == ()
    assert poisson_gaussian_rdp([[2.5, 3.0]], 1.0, rate=0.1, adjacency="add_remove").shape == (1, 2)
    assert not DEFAULT_ORDERS.flags.writeable


@pytest.mark.parametrize("bad", [[1.0], [0.5, 2.0], [math.nan], [math.inf], "2", ["2"], [], None, [True]])
def test_orders_are_checked(bad):
    for curve in (
        lambda orders: gaussian_rdp(orders, 1.0),
        lambda orders: laplace_rdp(orders, 1.0),
        lambda orders: pure_rdp(orders, 1.0),
        lambda orders: poisson_gaussian_rdp(orders, 1.0, rate=0.1, adjacency="add_remove"),
        lambda orders: without_replacement_gaussian_rdp(orders, 1.0, rate=0.1),
        lambda orders: rdp_epsilon([0.1], 1e-5, orders),
    ):
        with pytest.raises(ParameterError, match=r"^orders must be finite numbers > 1"):
            curve(bad)


@pytest.mark.parametrize("bad", [math.nan, -1.0, 0.0, "1", math.inf])
def test_arguments_are_checked(bad):
    with pytest.raises(ParameterError, match=r"^noise_multiplier must be"):
        gaussian_rdp(2, bad)
    with pytest.raises(ParameterError, match=r"^sensitivity must be"):
        laplace_rdp(2, 1.0, bad)
    with pytest.raises(ParameterError, match=r"^rate must be"):
        poisson_gaussian_rdp(2, 1.0, rate=bad, adjacency="add_remove")
    with pytest.raises(ParameterError, match=r"^rate must be"):
        without_replacement_gaussian_rdp(2, 1.0, rate=1.5)
    with pytest.raises(ParameterError, match=r"^delta must be"):
        rdp_epsilon([0.1], bad, [2.0])
    with pytest.raises(ParameterError, match=r"^values must be"):
        randomized_response_rdp(2, 1.0, bad)


def test_epsilon_curve_adjacency_and_large_orders_are_checked():
    for bad in (math.nan, -1.0, "1"):
        with pytest.raises(ParameterError, match=r"^epsilon must be"):
            rdp_delta([0.1], bad, [2.0])
        with pytest.raises(ParameterError, match=r"^epsilon must be"):
            pure_rdp(2, bad)
    for curve in ([0.1, 0.2], [-0.1], [math.nan], "1", None):
        with pytest.raises(ParameterError, match=r"^curve must hold one number >= 0 for each of the 1 orders"):
            rdp_epsilon(curve, 1e-5, [2.0])
    with pytest.raises(AdjacencyError, match="no default"):
        poisson_gaussian_rdp(2, 1.0, rate=0.1, adjacency="both")
    with pytest.raises(ParameterError, match="orders must be at most 1,000,000"):
        poisson_gaussian_rdp(2e6, 1.0, rate=0.1, adjacency="add_remove")
