# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
r"""Privacy profile of the Gaussian mechanism (T6), in log space and without cancellation.

Theorem T6 [Balle & Wang 2018, Thm 8].
    mu-GDP has  delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

The printed form loses every digit when mu is small or eps/mu large. With u = eps/mu - mu/2, v = eps/mu + mu/2,
phi the normal density and M(x) = Phi(-x)/phi(x) the Mills ratio, e^eps phi(v) = phi(u) and so ::

    delta = phi(u) (M(u) - M(v))                      for u >= -1
    1 - delta = phi(u) (M(-u) + M(v))                 for u < -1, where delta is close to 1
    M(c - h) - M(c + h) = 2 sum_{n odd} h^n M_n(c),   M_n(c) = int_0^inf t^n/n! e^{-ct - t^2/2} dt > 0

with c = eps/mu, h = mu/2. The last line replaces the difference when h is small beside c; its terms are positive and
follow (n+1) M_{n+1} = M_{n-1} - c M_n, run forward for c < 5 and backward (a continued fraction) above.

The formulas are exact. The rounding error of log delta has an *allowance* of (512 + 5 u^2) 2^-53 (times 2 |log delta|
for u < -1; 4096 for mu < 1e-8, where log mu itself is large). This is a count of the rounded operations with a margin,
checked against 50-digit arithmetic, not a proof. Brackets widen by that allowance, and both ends are verified by
evaluation.
"""

import math

from scipy.special import erfcx, ndtr, ndtri

from dperm import checks
from dperm.privacy.rounding import ULP, exp_bracket, lowered

_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_SPLITTER = 2.0**27 + 1
_LAST_TERM = 11
_NEWTON_ROUNDS = 60


def log_delta(epsilon: float, mu: float) -> float:
    """Return the logarithm of delta(epsilon) of mu-GDP (T6), rounded to nearest; -inf for mu = 0.

    The result is not a bound (see ``delta_bracket``), and the arguments epsilon >= 0 and mu >= 0 are not checked.
    """
    return _log_delta(epsilon, mu)[0]


def delta_bracket(epsilon: float, mu: float) -> tuple[float, float]:
    """Return (lower, upper) bounds on delta(epsilon) of mu-GDP (T6); the upper end is 0 only for mu = 0."""
    epsilon, mu = checks.nonnegative("epsilon", epsilon), checks.nonnegative("mu", mu)
    if mu == 0:
        return 0.0, 0.0
    value, allowance, _ = _log_delta(epsilon, mu)
    return exp_bracket(value - allowance, value + allowance) if value > -math.inf else exp_bracket(value, value)


def epsilon_bracket(mu: float, delta: float) -> tuple[float, float]:
    """Return (lower, upper) bounds on the smallest epsilon >= 0 at which mu-GDP is (epsilon, delta)-DP (T6).

    Both ends are verified: delta(lower) > delta >= delta(upper). Infinite for delta = 0 and mu > 0.
    """
    mu, delta = checks.nonnegative("mu", mu), checks.small_delta("delta", delta)
    if mu == 0:
        return 0.0, 0.0
    if delta == 0:
        return math.inf, math.inf
    target = math.log(delta)
    if _surely_below(0.0, mu, target):
        return 0.0, 0.0
    epsilon, width = _solve_epsilon(mu, delta, target)
    return _epsilon_below(epsilon, width, mu, target), _epsilon_above(epsilon, width, mu, target)


def mu_bracket(epsilon: float, delta: float) -> tuple[float, float]:
    """Return (lower, upper) bounds on the largest mu for which mu-GDP is (epsilon, delta)-DP (T6), both verified."""
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.positive_delta("delta", delta)
    target = math.log(delta)
    mu, width = _solve_mu(epsilon, delta, target)
    low, high = width, width
    while not _surely_below(epsilon, mu * (1 - low), target):
        low = min(1.0, 2 * low)
    while not _surely_above(epsilon, mu * (1 + high), target):
        high *= 2
    return mu * (1 - low), mu * (1 + high)


def mu_for(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP is (epsilon, delta)-DP (T6), rounded down for safe calibration.

    Gaussian noise of standard deviation sensitivity / mu then suffices. epsilon = 1, delta = 1e-5 gives 0.268051123.
    """
    return mu_bracket(epsilon, delta)[0]


def false_negative_rate(false_positive_rate: float, mu: float) -> float:
    """Return the trade-off curve of mu-GDP, G_mu(x) = Phi(Phi^-1(1 - x) - mu) (T19), rounded down."""
    x, mu = checks.probability("false_positive_rate", false_positive_rate), checks.nonnegative("mu", mu)
    if x in (0.0, 1.0) or mu == 0:
        return 1.0 - x if x in (0.0, 1.0) else lowered(1.0 - x)
    quantile = -float(ndtri(x))
    z = quantile - mu
    # d log Phi(z) <= (1 + |z|) dz, and dz is a few units of |quantile| + mu
    return lowered(float(ndtr(z)), 8 + 16 * (1 + abs(z)) * (1 + abs(quantile) + mu))


def _log_delta(epsilon: float, mu: float) -> tuple[float, float, float]:
    """Return log delta, the allowance for its rounding error, and u."""
    if mu <= 0:
        return -math.inf, 0.0, math.inf
    u, center, half = _lower_end(epsilon, mu), epsilon / mu, mu / 2
    if u < -1:
        value = math.log1p(-math.exp(_log_density(u)) * (mills_ratio(-u) + mills_ratio(center + half)))
        return value, ULP * (512 + 5 * u * u) * min(1.0, -2 * value) if value < 0 else 0.0, u
    allowance = ULP * ((512 if mu >= 1e-8 else 4096) + 5 * u * u)
    if u > 1e8:  # M(u) - M(v) < 1: the density alone is an upper bound, and right to 14 digits
        return _log_density(u), allowance, u
    return _log_gap(u, center, half) + _log_density(u), allowance, u


def _lower_end(epsilon: float, mu: float) -> float:
    """Return u = epsilon/mu - mu/2 to full relative accuracy; mu^2 is subtracted exactly (Dekker's product)."""
    if mu > 1e75:
        return epsilon / mu - mu / 2
    square, shifted = mu * mu, _SPLITTER * mu
    high = shifted - (shifted - mu)
    low = mu - high
    rest = ((high * high - square) + 2 * high * low) + low * low
    return ((2 * epsilon - square) - rest) / (2 * mu)


def _log_density(x: float) -> float:
    return -0.5 * x * x - _LOG_SQRT_2PI


def mills_ratio(x: float) -> float:
    """Return the Mills ratio M(x) = Phi(-x)/phi(x) at a real x, right to a few units in the last place."""
    return _SQRT_HALF_PI * float(erfcx(x * _SQRT_HALF))


def _log_gap(u: float, center: float, half: float) -> float:
    """Return log(M(center - half) - M(center + half)), by the series where the difference would lose digits."""
    if half > max(0.05, center / 20):
        return math.log(mills_ratio(u) - mills_ratio(center + half))
    series = _series_forward if center < 5 else _series_backward
    return math.log(2 * half) + math.log(series(center, half))


def _series_forward(center: float, half: float) -> float:
    """Return sum_{n odd <= 11} half^(n-1) M_n(center) by the upward recurrence, accurate for center < 5."""
    before = mills_ratio(center)
    term = 1 - center * before
    total, power = 0.0, 1.0
    for n in range(1, _LAST_TERM + 1):
        if n % 2:
            total += power * term
        power *= half
        before, term = term, (before - center * term) / (n + 1)
    return total


def _series_backward(center: float, half: float) -> float:
    """Return the same sum from the ratios r_n = M_n/M_{n-1} = 1/(center + (n+1) r_{n+1}), for center >= 5."""
    ratio = 1 / center
    for n in range(48, _LAST_TERM + 1, -1):
        ratio = 1 / (center + n * ratio)
    total, square = 1.0, half * half
    for n in range(_LAST_TERM, 1, -2):
        odd = 1 / (center + (n + 1) * ratio)
        ratio = 1 / (center + n * odd)
        total = 1 + square * odd * ratio * total
    return total * mills_ratio(center) / (center + 2 * ratio)


def _solve_epsilon(mu: float, delta: float, target: float) -> tuple[float, float]:
    """Return epsilon and its uncertainty, by Newton's method from the tail bound Phi(-u) = delta.

    log delta is concave, so the iterates descend to the root.
    """
    epsilon = mu * (mu / 2 - float(ndtri(delta)))
    for _ in range(_NEWTON_ROUNDS):
        value, allowance, u = _log_delta(epsilon, mu)
        slope = math.exp(min(700.0, _log_density(u) + math.log(mills_ratio(u + mu)) - value))
        epsilon = max(0.0, epsilon + (value - target) / slope)
        if abs(value - target) <= allowance + 2 * ULP * epsilon * slope:
            break
    return epsilon, 1.5 * (allowance + 4 * ULP * abs(target)) / slope + 4 * ULP * epsilon


def _epsilon_below(epsilon: float, width: float, mu: float, target: float) -> float:
    while epsilon - width > 0 and not _surely_above(epsilon - width, mu, target):
        width *= 2
    return max(0.0, epsilon - width)


def _epsilon_above(epsilon: float, width: float, mu: float, target: float) -> float:
    while not _surely_below(epsilon + width, mu, target):
        width *= 2
    return epsilon + width


def _solve_mu(epsilon: float, delta: float, target: float) -> tuple[float, float]:
    """Return mu and its relative uncertainty, by Newton's method in log mu.

    It starts below the root, where Phi(mu/2 - epsilon/mu) = delta, or at delta = mu / sqrt(2 pi).
    """
    z = float(ndtri(delta))
    root = math.sqrt(z * z + 2 * epsilon)
    mu = max(2 * epsilon / (root - z) if z < 0 else root + z, math.sqrt(2 * math.pi) * delta)
    for _ in range(_NEWTON_ROUNDS):
        value, allowance, u = _log_delta(epsilon, mu)
        slope = math.exp(math.log(mu) + _log_density(u) - value)
        mu *= math.exp(min(30.0, max(-30.0, (target - value) / slope)))
        if abs(value - target) <= allowance + 2 * ULP * slope:
            break
    return mu, 1.5 * (allowance + 4 * ULP * abs(target)) / slope + 4 * ULP


def _surely_below(epsilon: float, mu: float, log_target: float) -> bool:
    """Whether delta(epsilon; mu) <= exp(log_target), also after rounding errors."""
    value, allowance, _ = _log_delta(epsilon, mu)
    return value == -math.inf or value + allowance <= log_target * (1 + 2 * ULP)


def _surely_above(epsilon: float, mu: float, log_target: float) -> bool:
    """Whether delta(epsilon; mu) >= exp(log_target), also after rounding errors."""
    value, allowance, _ = _log_delta(epsilon, mu)
    return value > -math.inf and value - allowance >= log_target * (1 - 2 * ULP)
