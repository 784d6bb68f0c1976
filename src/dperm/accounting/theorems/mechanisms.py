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
    """Return the smallest scale of Laplace noise for which a query with this L1 sensitivity is epsilon-DP.

    Theorem T5 [Dwork, McSherry, Nissim & Smith 2006].
        A query with L1 sensitivity Delta is eps-DP if independent Lap(Delta/eps) noise is added to every coordinate.

    The mean of n values in [0, 1] has sensitivity 1/n under replace_one. Under add_remove, n is private, so the scale
    must not be 1/(n eps) (erratum E27, see docs/errata.md). Release a noisy sum and a noisy count instead.

    Parameters
    ----------
    epsilon
        Target epsilon, positive.
    sensitivity
        L1 sensitivity Delta of the query, positive.

    Returns
    -------
    float
        Scale, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon, sensitivity = checks.positive("epsilon", epsilon), checks.positive("sensitivity", sensitivity)
    return quotient(sensitivity, epsilon)


def laplace_profile(epsilon: float, scale: float, sensitivity: float = 1.0) -> float:
    """Return the exact delta of a one-dimensional Laplace mechanism at ``epsilon``.

    Theorem T5 (profile), with eps0 = Delta/b.
        delta(eps) = 1 - e^{(eps - eps0)/2} for 0 <= eps <= eps0, and 0 for eps > eps0.

    Parameters
    ----------
    epsilon
        Epsilon, at least 0.
    scale
        Scale b of the noise, positive.
    sensitivity
        Sensitivity Delta of the query, in the unit of the noise; positive.

    Returns
    -------
    float
        Delta, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    pure = quotient(checks.positive("sensitivity", sensitivity), checks.positive("scale", scale))
    return up_delta(-math.expm1((epsilon - pure) / 2)) if epsilon < pure else 0.0


def classical_gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the textbook standard deviation of Gaussian noise, sigma = Delta sqrt(2 ln(1.25/delta)) / epsilon.

    The formula is meant only for comparison.

    Theorem T6a [Dwork & Roth 2014, Thm A.1].
        For 0 < eps < 1, a query with L2 sensitivity Delta is (eps, delta)-DP if N(0, sigma^2 I) noise with this sigma
        is added.

    Erratum E2 (see docs/errata.md): two lectures state the theorem for every eps > 0. At delta = 1e-5, the formula
    fails for eps >= 8.4198; at eps = 10, the true delta is 2.27e-5. The smallest eps at which the formula fails depends
    on delta: it is 6.7718 at delta = 1e-2, 7.4635 at 1e-3, and 9.3743 at 1e-8. For smaller eps, the formula gives more
    noise than necessary. At delta = 1e-5, its sigma is 1.58 times the exact one at eps = 0.1, and 1.30 times at
    eps = 1. The function ``analytic_gaussian_sigma`` is exact for every eps.

    Parameters
    ----------
    epsilon
        Target epsilon, in (0, 1).
    delta
        Target delta, in (0, 1).
    sensitivity
        L2 sensitivity Delta of the query, in the unit of the noise; positive.

    Returns
    -------
    float
        Standard deviation, rounded up.

    Raises
    ------
    AssumptionError
        If epsilon >= 1, where the theorem does not apply.
    ParameterError
        If an argument is out of range.
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
    """Return the smallest standard deviation for which Gaussian noise is (epsilon, delta)-DP.

    Theorem T6 [Balle & Wang 2018]: sigma = Delta/mu, where mu is the ratio of sensitivity to standard deviation at
    which the exact delta at eps equals the target delta (see ``analytic_gaussian_delta``).

    Parameters
    ----------
    epsilon
        Target epsilon, at least 0.
    delta
        Target delta, in (0, 1).
    sensitivity
        L2 sensitivity Delta of the query, in the unit of the noise; positive.

    Returns
    -------
    float
        Standard deviation, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> round(analytic_gaussian_sigma(1.0, 1e-5), 6)
    3.730632
    """
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.positive_delta("delta", delta)
    return quotient(checks.positive("sensitivity", sensitivity), mu_for(epsilon, delta))


def analytic_gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the exact delta of Gaussian noise at ``epsilon``.

    Theorem T6 [Balle & Wang 2018], with mu = Delta/sigma.
        delta(eps) = F(mu/2 - eps/mu) - e^eps F(-mu/2 - eps/mu), where F is the standard normal distribution function.

    Parameters
    ----------
    epsilon
        Epsilon, at least 0.
    sigma
        Standard deviation of the noise, positive.
    sensitivity
        L2 sensitivity Delta of the query, in the unit of the noise; positive.

    Returns
    -------
    float
        Delta, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon, sigma = checks.nonnegative("epsilon", epsilon), checks.positive("sigma", sigma)
    return delta_bracket(epsilon, quotient(checks.positive("sensitivity", sensitivity), sigma))[1]


def analytic_gaussian_epsilon(delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the exact epsilon of Gaussian noise at ``delta`` (T6).

    Parameters
    ----------
    delta
        Delta, in (0, 1).
    sigma
        Standard deviation of the noise, positive.
    sensitivity
        L2 sensitivity Delta of the query, in the unit of the noise; positive.

    Returns
    -------
    float
        Epsilon, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    delta, sigma = checks.positive_delta("delta", delta), checks.positive("sigma", sigma)
    return epsilon_bracket(quotient(checks.positive("sensitivity", sensitivity), sigma), delta)[1]


def gaussian_zcdp(sigma: float, sensitivity: float = 1.0) -> float:
    """Return the parameter rho of zero-concentrated DP (zCDP) for Gaussian noise.

    Theorem T18 [Bun & Steinke 2016]: rho = Delta^2 / (2 sigma^2). The rho of a composition is the sum of the rhos.

    Parameters
    ----------
    sigma
        Standard deviation of the noise, positive.
    sensitivity
        L2 sensitivity Delta of the query, in the unit of the noise; positive.

    Returns
    -------
    float
        Parameter rho, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    sigma, sensitivity = checks.positive("sigma", sigma), checks.positive("sensitivity", sensitivity)
    return round_up((Fraction(sensitivity) / Fraction(sigma)) ** 2 / 2)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the textbook epsilon of rho-zCDP at ``delta``.

    Theorem T18 [Bun & Steinke 2016, Prop 1.3]: rho-zCDP implies (rho + 2 sqrt(rho ln(1/delta)), delta)-DP.

    `dperm.accounting.rdp.rdp_epsilon` gives a smaller epsilon for the Rényi curve rho * alpha (T17). At rho = 0.125 and
    delta = 1e-5, it gives 2.166 instead of 2.524. The exact epsilon of the Gaussian mechanism with this rho is 1.993.

    Parameters
    ----------
    rho
        Parameter rho of zCDP, at least 0.
    delta
        Target delta, in (0, 1).

    Returns
    -------
    float
        Epsilon, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    rho, delta = checks.nonnegative("rho", rho), checks.positive_delta("delta", delta)
    return up(rho + 2 * math.sqrt(rho * -math.log(delta))) if rho > 0 else 0.0
