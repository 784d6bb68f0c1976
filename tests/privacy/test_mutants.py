# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of dperm.privacy: each is built from the source, and the check that kills it is run on both.

A mutant claims more privacy than is true. The checks compare with facts that do not come from the code under test:
adversarial pairs, 50-digit arithmetic, closed forms.
"""

import math

import mpmath as mp
import pytest

from dperm.privacy import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.privacy import gaussian_profile as gaussian

GAUSSIAN_POINTS = [
    (3.7e-7, 1e-8),
    (0.0, 1e-6),
    (1e-3, 0.09),
    (0.137481, 0.1388),  # a difference of Mills ratios that loses a digit
    (4.5, 0.11),
    (157.3, 4.0),
    (13803631.989, 5235.069),  # where mu^2 is no double
]


def replace_one_covers_two_opposite_steps(module):
    """T4: removing a record and adding its opposite moves the Gaussian by 2 mu, and randomised responses by 2 eps."""
    assert module.replace_one_from_add_remove(GDP(0.5, "add_remove")).mu >= 1.0
    assert module.replace_one_from_add_remove(PureDP(0.5, "add_remove")).epsilon >= 1.0


def groups_cover_the_gaussian(module):
    """T4: k records pushing the same way have divergence alpha (k mu)^2/2."""
    mu, k = 0.5, 4
    assert module.group(ZCDP(mu**2 / 2, "add_remove"), k).rho >= (k * mu) ** 2 / 2
    ((alpha, tau),) = module.group(RDP([(64.0, 64 * mu**2 / 2)], "add_remove"), k).curve
    assert tau >= alpha * (k * mu) ** 2 / 2


def groups_cover_the_chain(module):
    """T4: delta_{j+1} = e^eps delta_j + delta; and the profile of the Gaussian, exactly k mu apart."""
    assert module.group(ApproxDP(0.5, 1e-6, "add_remove"), 2).delta >= 1e-6 * (1 + math.exp(0.5))
    bound = module.group_profile(GDP(0.5, "add_remove").profile(), 4)
    assert bound.delta(3.0) >= gaussian.delta_bracket(3.0, 2.0)[0]


def pure_covers_randomised_response_as_a_gaussian(module):
    """T20: at eps = 0 the curve of mu-GDP must reach randomised response's total variation, tanh(eps/2)."""
    for epsilon in (0.5, 4.0):
        mu = module.pure_to_gdp(PureDP(epsilon, "add_remove")).mu
        assert 2 * mp.ncdf(mp.mpf(mu) / 2) - 1 >= mp.tanh(mp.mpf(epsilon) / 2)


def pure_covers_randomised_response_in_moments(module):
    """T9 as printed: the divergence of randomised response at alpha = 2, for zCDP (T18) and for RDP (T16)."""
    epsilon, alpha = 0.1, 2.0
    p, q = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    truth = math.log(p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha)) / (alpha - 1)
    assert module.pure_to_zcdp(PureDP(epsilon, "add_remove")).rho * alpha >= truth * (1 - 1e-12)
    assert module.pure_to_rdp(PureDP(epsilon, "add_remove"), [alpha]).curve[0][1] >= truth * (1 - 1e-12)


def gdp_covers_its_own_moments(module):
    """T16, T19: the Gaussian pair has divergence alpha mu^2/2."""
    assert module.gdp_to_zcdp(GDP(2.0, "add_remove")).rho >= 2.0


def t17_covers_what_it_says(module):
    """T17, golden cks_single; and T6: never below the exact Gaussian, for which T18 holds with equality."""
    assert module.rdp_epsilon(10.0, 0.5, 1e-6) >= 1.6738534248944212 * (1 - 1e-12)
    assert module.zcdp_epsilon(0.125, 1e-5) >= 2.1657155451754853 * (1 - 1e-9)
    assert module.rdp_delta(10.0, 0.5, 1.6738534248944212) >= 1e-6 * (1 - 1e-9)


def the_moments_of_randomised_response_are_t9(module):
    """T9, golden rr_rdp."""
    assert module.response_divergence(5.0, 0.5) >= 0.3842426901671219 * (1 - 1e-12)


def the_gaussian_is_never_underestimated(module):
    """T6 with 50 digits, where the printed formula cancels."""
    for epsilon, mu in GAUSSIAN_POINTS:
        with mp.workdps(800):
            u = mp.mpf(epsilon) / mp.mpf(mu) - mp.mpf(mu) / 2
            tail = mp.erfc((u + mp.mpf(mu)) / mp.sqrt(2)) / 2
            exact = mp.erfc(u / mp.sqrt(2)) / 2 - mp.exp(mp.mpf(epsilon)) * tail
        low, high = module.delta_bracket(epsilon, mu)
        assert low <= exact <= high


def the_response_curve_is_t13(module):
    """T13 with k = 1, as printed, and T14's failure probability on top."""
    truth = 0.01 + 0.99 * (math.e - math.exp(0.3)) / (1 + math.e)
    profile = module.ResponseProfile(1.0, 0.01, GDP(1.0, "add_remove").adjacency)
    assert profile.delta(0.3) >= truth * (1 - 1e-15)
    assert profile.delta(2.0) >= 0.01
    assert profile.tradeoff(0.1) <= 1 - 0.01 - math.e * 0.1


def no_attacker_beats_the_trade_off(module):
    """T14's law: the attacker who flags the likelier answers has rates x = 1/(1 + e^eps), both, up to delta."""
    profile = ApproxDP(1.0, 0.2, "add_remove").profile()
    for rate in (0.01, 0.8 / (1 + math.e), 0.5):
        truth = max(0.0, 0.8 - math.e * rate, math.exp(-1) * (0.8 - rate))
        assert module.tradeoff_from_delta(profile.delta, rate) <= truth + 1e-12


def the_posterior_is_exceeded_rarely(module):
    """T2b: for the Gaussian P(L > s) = Phi(mu/2 - s/mu), exactly."""
    belief = mp.mpf(module.explain(GDP(1.0, "add_remove"), surprise=1e-5).posterior)
    assert mp.ncdf(mp.mpf("0.5") - mp.log(belief / (1 - belief))) <= 1e-5


MUTANTS = {
    replace_one_covers_two_opposite_steps: [
        ("group", "replace(group(guarantee, 2)", "replace(group(guarantee, 1)"),
        ("group", "round_up(k * Fraction(guarantee.mu))", "guarantee.mu"),
    ],
    groups_cover_the_gaussian: [
        ("group", "round_up(k * k * Fraction", "round_up(k * Fraction"),
        ("group", "triples = 3 **", "triples = 1 **"),
    ],
    groups_cover_the_chain: [
        ("group", "return (k - 1) * epsilon +", "return (k - 2) * epsilon +"),
        ("group", "factor = _log_chain(single, self.k)", "factor = 0.0"),
    ],
    pure_covers_randomised_response_as_a_gaussian: [
        ("convert", "mu = 2 * math.sqrt(2)", "mu = math.sqrt(2)"),
        ("convert", "mu = -2 * float", "mu = -1 * float"),
    ],
    pure_covers_randomised_response_in_moments: [
        ("convert", "Fraction(guarantee.epsilon) ** 2 / 2", "Fraction(guarantee.epsilon) ** 2 / 8"),
        ("convert", "response_divergence(a, guarantee.epsilon)", "response_divergence(a, guarantee.epsilon / 2)"),
    ],
    gdp_covers_its_own_moments: [("convert", "Fraction(guarantee.mu) ** 2 / 2", "Fraction(guarantee.mu) ** 2 / 4")],
    t17_covers_what_it_says: [
        ("renyi", "-math.log1p(1 / x), minus", "-2 * math.log1p(1 / x), minus"),
        ("renyi", "-log_alpha / x", "-2 * log_alpha / x"),
        ("renyi", "x * (tau - epsilon)", "(x + 1) * (tau - epsilon)"),
    ],
    the_moments_of_randomised_response_are_t9: [("renyi", "gap = 2 *", "gap = 1 *")],
    the_gaussian_is_never_underestimated: [
        ("gaussian_profile", "512 if mu >= 1e-8 else 4096", "0 if mu >= 1e-8 else 4096"),
        ("gaussian_profile", "- square) - rest)", "- square))"),
        ("gaussian_profile", "max(0.05, center / 20)", "1e-9"),
    ],
    the_response_curve_is_t13: [
        ("worst_case", "-math.expm1(epsilon - self.epsilon_0) / (1", "-math.expm1(epsilon - self.epsilon_0) / (2"),
        ("worst_case", "return self.delta_0, self.delta_0", "return 0.0, 0.0"),
        ("worst_case", "rest = 1 - self.delta_0", "rest = 1.0"),
    ],
    no_attacker_beats_the_trade_off: [
        ("profile", "return 1 - delta - weighted", "return 1 - weighted"),
        ("profile", "return math.exp(-epsilon) * (1 - delta - x", "return (1 - delta - x"),
    ],
    the_posterior_is_exceeded_rarely: [("explain", "* -math.expm1(-margin)) + margin for", ") for")],
}


@pytest.mark.parametrize(
    ("check", "name", "old", "new"), [(check, *mutant) for check, mutants in MUTANTS.items() for mutant in mutants]
)
def test_an_unsafe_mutant_is_killed(check, name, old, new, assert_killed):
    assert_killed(check, f"dperm.privacy.{name}", old, new)
