# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of Renyi divergence to (epsilon, delta): T17, its optimum over all orders for zCDP (T18), older bounds.

Inside, orders are x = alpha - 1 > 0, so that orders close to 1 keep their digits. Every returned epsilon and delta is
an upper bound: sums are rounded up by 8 units of the sum of their terms' magnitudes.
"""

import math
from fractions import Fraction

from dperm.privacy.rounding import ULP, exp_bracket, round_up

_BISECTIONS = 70


def rdp_epsilon(alpha: float, tau: float, delta: float) -> float:
    """Return the epsilon of one order, rounded up, for 0 < delta < 1.

    Theorem T17 [Canonne, Kamath & Steinke 2020, Prop 12 in v4].
        (alpha, tau)-RDP is (eps, delta)-DP with
        eps = tau + log(1 - 1/alpha) + (log(1/delta) - log alpha) / (alpha - 1).
    The result is at least 0, since a negative epsilon implies epsilon = 0.
    """
    return _epsilon(alpha - 1, tau, delta)


def rdp_delta(alpha: float, tau: float, epsilon: float) -> float:
    """Return e^((alpha-1)(tau-eps)) (1-1/alpha)^alpha / (alpha-1), the delta of one order (T17), rounded up."""
    return _delta(alpha - 1, tau, epsilon)


def mironov_epsilon(alpha: float, tau: float, delta: float) -> float:
    """Return the older tau + log(1/delta)/(alpha - 1) [Mironov 2017, Prop 3], rounded up, never better than T17."""
    return _up(tau, -math.log(delta) / (alpha - 1))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return T17's epsilon with tau = rho alpha (T18), minimised over every alpha > 1; for 0 < delta < 1.

    The derivative in alpha vanishes where rho (alpha-1)^2 = log(1/delta) - log(alpha). Every alpha is valid, so an
    inexact root costs tightness of second order and is safe.
    """
    if rho == 0:
        return 0.0
    x = _best_order_at_delta(rho, -math.log(delta))
    return _epsilon(x, rho * (1 + x) * (1 + 4 * ULP), delta)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return T17's delta with tau = rho alpha (T18), minimised over every alpha > 1, rounded up."""
    if rho == 0:
        return 0.0
    x = _best_order_at_epsilon(rho, epsilon)
    return _delta(x, rho * (1 + x) * (1 + 4 * ULP), epsilon)


def zcdp_epsilon_simple(rho: float, delta: float) -> float:
    """Return the older rho + 2 sqrt(rho log(1/delta)) [T18; Bun & Steinke 2016, Prop 1.3], rounded up."""
    return _up(rho, 2 * math.sqrt(rho * -math.log(delta)))


def response_divergence(alpha: float, epsilon: float) -> float:
    """Return the Renyi divergence of binary randomised response (T9), the worst case of pure DP (T16), rounded up.

    T9's formula divided by sqrt(pq) is (alpha-1)^-1 log(cosh((alpha - 1/2) eps) / cosh(eps/2)). With
    s = (alpha-1) eps/2 the ratio is 1 + 2 sinh(s) (tanh(eps/2) cosh(s) + sinh(s)). Its terms are positive, so neither
    a small eps nor an order close to 1 loses digits.
    """
    x, half = alpha - 1, epsilon / 2
    s = x * half
    if s < 300:
        gap = 2 * math.sinh(s) * (math.tanh(half) * math.cosh(s) + math.sinh(s))
        return min(epsilon, math.log1p(gap) / x * (1 + 32 * ULP))
    extra = math.log1p(math.exp(-(2 * x + 1) * epsilon)) - math.log1p(math.exp(-epsilon))
    return min(epsilon, _up(epsilon, extra / x))


def _epsilon(x: float, tau: float, delta: float) -> float:
    minus_log_delta, log_alpha = -math.log(delta), math.log1p(x)
    return max(0.0, _up(tau, -math.log1p(1 / x), minus_log_delta / x, -log_alpha / x))


def _delta(x: float, tau: float, epsilon: float) -> float:
    # (1 - 1/alpha)^alpha / (alpha - 1) = (1 + 1/x)^-x / (1 + x): no difference of large logarithms
    log_bound = _up(x * (tau - epsilon), -x * math.log1p(1 / x), -math.log1p(x))
    return exp_bracket(-math.inf, log_bound)[1]


def _best_order_at_delta(rho: float, minus_log_delta: float) -> float:
    """Return the root x of rho x^2 + log(1 + x) = log(1/delta), by Newton's method."""
    x = min(math.sqrt(minus_log_delta / rho), math.expm1(min(minus_log_delta, 700.0)))
    for _ in range(8):
        excess = rho * x * x + math.log1p(x) - minus_log_delta
        x = max(x / 4, x - excess / (2 * rho * x + 1 / (1 + x)))
    return x


def _best_order_at_epsilon(rho: float, epsilon: float) -> float:
    """Return the root x of rho (1 + 2x) - log(1 + 1/x) = eps, by bisection in log x (the left side increases)."""
    low, high = -690.0, min(230.0, math.log1p((epsilon + 50) / rho))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        x = math.exp(middle)
        if rho * (1 + 2 * x) - math.log1p(1 / x) < epsilon:
            low = middle
        else:
            high = middle
    return math.exp(high)


def _up(*terms: float) -> float:
    """Return a sum moved up by 8 units of its terms' magnitudes; each term has an error of a few units."""
    total = math.fsum(terms)
    return total if math.isinf(total) else total + 8 * ULP * math.fsum(abs(term) for term in terms)


def gaussian_divergence(alpha: float, mu: float) -> float:
    """Return alpha mu^2 / 2, the Renyi divergence of mu-GDP's Gaussian pair (T16), rounded up."""
    return round_up(Fraction(alpha) * Fraction(mu) ** 2 / 2)
