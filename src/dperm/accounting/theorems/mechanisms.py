# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One Laplace or Gaussian mechanism: scales, exact profiles, and the classical formula for comparison."""

import math
from fractions import Fraction

from dperm import checks
from dperm.accounting.theorems._rounding import quotient, up, up_delta
from dperm.checks import shown
from dperm.errors import AssumptionError
from dperm.privacy.gaussian_profile import delta_bracket, epsilon_bracket, mu_for
from dperm.privacy.rounding import round_up


def laplace_scale(epsilon: float, sensitivity: float = 1.0) -> float:
    """The scale of Laplace noise that makes a query with this l1-sensitivity epsilon-DP, rounded up.

    Theorem T5 [Dwork, McSherry, Nissim & Smith 2006].
        Independent Lap(Delta_1/eps) noise on every coordinate of a query of l1-sensitivity Delta_1 is eps-DP.

    The mean of n values in [0, 1] has sensitivity 1/n under replace_one. Under add_remove n itself is private, so a
    scale 1/(n eps) is not allowed (erratum E27): release the sum and the count.
    """
    epsilon, sensitivity = checks.positive("epsilon", epsilon), checks.positive("sensitivity", sensitivity)
    return quotient(sensitivity, epsilon)


def laplace_profile(epsilon: float, scale: float, sensitivity: float = 1.0) -> float:
    """The exact delta of a one-dimensional Laplace mechanism, rounded up.

    Theorem T5 (profile), eps0 = Delta/b.
        delta(eps) = 1 - e^{(eps - eps0)/2} for 0 <= eps <= eps0, and 0 beyond.
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    pure = quotient(checks.positive("sensitivity", sensitivity), checks.positive("scale", scale))
    return up_delta(-math.expm1((epsilon - pure) / 2)) if epsilon < pure else 0.0


def classical_gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The textbook's Gaussian noise, for comparison only: Delta sqrt(2 ln(1.25/delta)) / epsilon, rounded up.

    Theorem T6a [Dwork & Roth 2014, Thm A.1].
        For 0 < eps < 1, N(0, sigma^2 I) on a query of l2-sensitivity Delta is (eps, delta)-DP.

    Erratum E2: two lectures state it for every eps > 0. It fails from eps = 8.4198 on at delta = 1e-5 (6.7718 at 1e-2,
    7.4635 at 1e-3, 9.3743 at 1e-8): at eps = 10 the true delta is 2.27e-5. Below, it is wasteful: 1.58 times the noise
    needed at eps = .1 and 1.30 times at eps = 1. ``analytic_gaussian_sigma`` is exact at every eps.

    Raises
    ------
    AssumptionError
        If epsilon >= 1, where the theorem says nothing.
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.positive_delta("delta", delta)
    sensitivity = checks.positive("sensitivity", sensitivity)
    if epsilon >= 1:
        raise AssumptionError(
            f"the classical Gaussian formula (T6a) is proved for epsilon < 1, got {shown(epsilon)}. "
            "Use analytic_gaussian_sigma, which is exact for every epsilon and needs less noise."
        )
    return up(sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon)


def analytic_gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The smallest standard deviation for which Gaussian noise is (epsilon, delta)-DP, rounded up.

    Theorem T6 [Balle & Wang 2018]: Delta/mu, where mu solves delta_GDP(eps; mu) = delta.

    Examples
    --------
    >>> round(analytic_gaussian_sigma(1.0, 1e-5), 6)
    3.730632
    """
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.positive_delta("delta", delta)
    return quotient(checks.positive("sensitivity", sensitivity), mu_for(epsilon, delta))


def analytic_gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """The exact delta of Gaussian noise, rounded up.

    Theorem T6 [Balle & Wang 2018], mu = Delta/sigma.
        delta(eps) = F(mu/2 - eps/mu) - e^eps F(-mu/2 - eps/mu), F the normal distribution function.
    """
    epsilon, sigma = checks.nonnegative("epsilon", epsilon), checks.positive("sigma", sigma)
    return delta_bracket(epsilon, quotient(checks.positive("sensitivity", sensitivity), sigma))[1]


def analytic_gaussian_epsilon(delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """The exact epsilon of Gaussian noise at ``delta`` (T6), rounded up."""
    delta, sigma = checks.positive_delta("delta", delta), checks.positive("sigma", sigma)
    return epsilon_bracket(quotient(checks.positive("sensitivity", sensitivity), sigma), delta)[1]


def gaussian_zcdp(sigma: float, sensitivity: float = 1.0) -> float:
    """The rho of zero-concentrated DP of Gaussian noise, rounded up.

    Theorem T18 [Bun & Steinke 2016]: rho = Delta^2 / (2 sigma^2); rhos add under composition.
    """
    sigma, sensitivity = checks.positive("sigma", sigma), checks.positive("sensitivity", sensitivity)
    return round_up((Fraction(sensitivity) / Fraction(sigma)) ** 2 / 2)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The textbook's epsilon of rho-zCDP at ``delta``, rounded up.

    Theorem T18 [Bun & Steinke 2016, Prop 1.3]: rho-zCDP implies (rho + 2 sqrt(rho ln(1/delta)), delta)-DP.

    ``rdp_epsilon(rho * orders, delta)`` (T17) is smaller: 2.166 against 2.524 at rho = .125, delta = 1e-5, where the
    Gaussian mechanism itself has 1.993.
    """
    rho, delta = checks.nonnegative("rho", rho), checks.positive_delta("delta", delta)
    return up(rho + 2 * math.sqrt(rho * -math.log(delta))) if rho > 0 else 0.0
