# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rényi differential privacy, as an alternative to exact accounting.

The Rényi curve of a mechanism M is tau(alpha) = sup D_alpha(M(D) || M(D')), where D_alpha is the Rényi divergence of
order alpha > 1 (T16). The supremum is over both directions of every neighbouring pair (D, D'). The functions return the
values of a curve at an array of orders, rounded up. The curve of a composition is the sum of the curves of its events.
``rdp_epsilon`` and ``rdp_delta`` convert a curve to epsilon and delta by T17.

>>> step = poisson_gaussian_rdp(DEFAULT_ORDERS, 1.0, rate=0.01, adjacency="add_remove")
>>> round(rdp_epsilon(1000 * step, delta=1e-5), 2)  # account() gives 1.83
2.1
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.accounting.laws.objective import BoundingLoss
from dperm.accounting.special import log_expm1
from dperm.accounting.theorems._moments import chords, taylor
from dperm.accounting.theorems._rounding import Array, quotient, up_array, up_delta
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.rounding import ULP


def _default_orders() -> Array:
    """Return orders in steps of 4 % in alpha - 1, integers from 17: epsilon is within 2e-4 of the best order."""
    low = 1 + np.geomspace(0.005, 15, 205)
    return np.asarray(np.concatenate([low, np.unique(np.rint(np.geomspace(17, 100_000, 222)))]))


DEFAULT_ORDERS = _default_orders()
"""Default orders, from 1.005 (huge epsilons) to 100,000 (epsilons of 1e-4); read-only."""
DEFAULT_ORDERS.flags.writeable = False

_LARGEST_SHIFT = 1e100
"""Ratio of sensitivity to sigma above which a curve is reported as infinite, because its square would overflow."""


def gaussian_rdp(orders: ArrayLike, noise_multiplier: float, sensitivity: float = 1.0) -> Array:
    """Return the Rényi curve of Gaussian noise, alpha Delta^2 / (2 sigma^2).

    Theorem T16 [Mironov 2017, Prop 7]. The default sensitivity is that of a clipped sum under add_remove, in units of
    the clipping norm. Under replace_one, replacing one record changes a clipped sum by up to twice the clipping norm,
    so pass ``sensitivity=2.0``. The RDP accountant of dp-accounting 0.6 omits this factor.

    Parameters
    ----------
    orders
        Rényi orders alpha > 1.
    noise_multiplier
        Standard deviation sigma of the noise, in units of the clipping norm.
    sensitivity
        L2 sensitivity Delta, in the same unit as sigma.

    Returns
    -------
    ndarray
        Values of the curve at ``orders``, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    alpha, shift = _orders(orders), _shift(noise_multiplier, sensitivity)
    return up_array(alpha * (shift * shift / 2)) if shift < _LARGEST_SHIFT else np.full(alpha.shape, np.inf)


def laplace_rdp(orders: ArrayLike, noise_multiplier: float, sensitivity: float = 1.0) -> Array:
    """Return the Rényi curve of Laplace noise with scale b.

    Theorem T16 [Mironov 2017, Prop 6], with t = Delta/b.
        ln[alpha/(2 alpha-1) e^{(alpha-1) t} + (alpha-1)/(2 alpha-1) e^{-alpha t}] / (alpha - 1).

    For small t, the expression in brackets is 1 + alpha (alpha-1) t^2/2 + ..., and the formula loses digits to
    cancellation. Every t-DP mechanism satisfies the bounds alpha t^2/2 and t (T16). The function returns the smallest
    of the formula and these two bounds.

    Parameters
    ----------
    orders
        Rényi orders alpha > 1.
    noise_multiplier
        Scale b of the noise. With the default ``sensitivity``, it is a multiple of the L1 sensitivity.
    sensitivity
        L1 sensitivity Delta, in the same unit as b.

    Returns
    -------
    ndarray
        Values of the curve at ``orders``, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    alpha, t = _orders(orders), _shift(noise_multiplier, sensitivity)
    if t > _LARGEST_SHIFT:
        return np.full(alpha.shape, t)
    a, b = (alpha - 1) * t, alpha * t
    small = np.minimum(a, 1.0)
    cancelling = (alpha * np.expm1(small) + (alpha - 1) * np.expm1(-b)) / (2 * alpha - 1)
    error = 8 * ULP * (alpha * np.expm1(small) - (alpha - 1) * np.expm1(-b)) / (2 * alpha - 1)
    near = np.log1p(np.maximum(cancelling + error, 0.0))
    far = a + np.log(alpha / (2 * alpha - 1)) + np.log1p((alpha - 1) / alpha * np.exp(-a - b))
    curve = np.where(a < 1, near, far) / (alpha - 1)
    return up_array(np.minimum(curve, np.minimum(t, alpha * t * t / 2)))


def randomized_response_rdp(orders: ArrayLike, epsilon: float, values: int = 2) -> Array:
    """Return the Rényi curve of randomized response on k = ``values`` values, under replace_one.

    Theorem T9, with p = e^eps/(e^eps + k - 1) and q = 1/(e^eps + k - 1).
        ln[p^alpha q^{1-alpha} + q^alpha p^{1-alpha} + (k-2) q] / (alpha - 1).

    The expression in brackets is 1 + q (1 - e^{-(alpha-1) eps})(e^{alpha eps} - 1), evaluated without cancellation.

    Parameters
    ----------
    orders
        Rényi orders alpha > 1.
    epsilon
        Epsilon of each answer, at least 0.
    values
        Number k of possible values, at least 2.

    Returns
    -------
    ndarray
        Values of the curve at ``orders``, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    alpha, epsilon = _orders(orders), checks.nonnegative("epsilon", epsilon)
    values = checks.count("values", values, least=2)
    if epsilon == 0 or epsilon > _LARGEST_SHIFT:
        return np.full(alpha.shape, epsilon)
    log_lie = -epsilon - math.log1p((values - 1) * math.exp(-epsilon))
    log_excess = log_lie + log_expm1(alpha * epsilon) + np.log(-np.expm1(-(alpha - 1) * epsilon))
    # alpha eps and eps cancel in the sum; the error is a few units of their sizes
    log_excess = log_excess + 8 * ULP * (alpha + 1) * epsilon
    return up_array(np.minimum(np.logaddexp(0.0, log_excess) / (alpha - 1), epsilon))


def pure_rdp(orders: ArrayLike, epsilon: float) -> Array:
    """Return the smallest Rényi curve that is valid for every epsilon-DP mechanism.

    Binary randomized response has the largest Rényi curve of all epsilon-DP mechanisms. The function returns its exact
    curve (T9), which is at most min(eps, alpha eps^2/2) by T16.

    Parameters
    ----------
    orders
        Rényi orders alpha > 1.
    epsilon
        Epsilon of the guarantee, at least 0.

    Returns
    -------
    ndarray
        Values of the curve at ``orders``, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    return randomized_response_rdp(orders, epsilon)


def poisson_gaussian_rdp(
    orders: ArrayLike, noise_multiplier: float, *, rate: float, adjacency: Adjacency | str
) -> Array:
    """Return the Rényi curve of one Gaussian step on a Poisson sample.

    **Under add_remove**, the curve at an integer alpha is given by theorem T26 [Mironov, Talwar & Zhang 2019].
        tau(alpha) = ln[sum_k C(alpha,k) (1-q)^{alpha-k} q^k e^{(k^2-k)/(2 sigma^2)}] / (alpha - 1).

    Between integers, the function returns the smaller of two proved upper bounds. The first is the chord of
    (alpha-1) tau(alpha) between the neighbouring integers, since this function of alpha is convex and vanishes at 1.
    The second is the binomial series, truncated before its first negative term. The truncated series is an upper bound
    because the Lagrange remainder has the sign of that term. The curve never exceeds alpha/(2 sigma^2), the value
    without sampling.

    **Under replace_one**, theorem T4 bounds the curve tau' by the add_remove curve tau [Mironov 2017, Prop 11].
        tau'(alpha) <= (alpha - 1/2)/(alpha - 1) tau(2 alpha) + tau(2 alpha - 1).

    For alpha >= 2, the right side is at most 2.5 tau(2 alpha), whereas T4 states the factor 3. For alpha < 2, the right
    side at alpha = 2 is used, because the curve increases with alpha. A second bound is
    tau'(alpha) <= tau(alpha) + ln(1/(1-q)), because each output distribution is at least (1-q) times the distribution
    without the record. For the same reason, the term tau(2 alpha - 1) is capped at ln(1/(1-q)). The curve never exceeds
    2 alpha/sigma^2, the value without sampling. The function returns the smallest of these bounds. The result is valid,
    but it can be 50 times the value for the exact pair of T25. This happens at orders where the curve rises steeply
    between alpha and 2 alpha. `account` composes the exact pair.

    Parameters
    ----------
    orders
        Rényi orders alpha > 1.
    noise_multiplier
        Noise multiplier sigma, relative to the sensitivity for one record added or removed.
    rate
        Sampling rate q, in (0, 1].
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".

    Returns
    -------
    ndarray
        Values of the curve at ``orders``, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range. For a rate below 1, every order must be at most 1,000,000 under add_remove, and
        at most 500,000 under replace_one.
    """
    alpha, shift = _orders(orders), _shift(noise_multiplier, 1.0)
    rate, relation = checks.rate("rate", rate), Adjacency.of(adjacency)
    if relation is Adjacency.ADD_REMOVE:
        return _poisson_add_remove(alpha, shift, rate)
    plain = gaussian_rdp(alpha, noise_multiplier, 2.0)
    return plain if rate == 1 else up_array(np.minimum(plain, _poisson_replace_one(alpha, shift, rate)))


def without_replacement_gaussian_rdp(orders: ArrayLike, noise_multiplier: float, *, rate: float) -> Array:
    """Return the Rényi curve of one Gaussian step on a sample without replacement, under replace_one.

    Theorem T24a [Wang, Balle & Kasiviswanathan 2019, Thm 9], for integer alpha, with tau(j) = j m^2/2 and m = 2/sigma.
        ln[1 + q^2 C(alpha,2) min(4 (e^{tau(2)} - 1), 2 e^{tau(2)}) + sum_{j>=3} 2 q^j C(alpha,j) e^{(j-1) tau(j)}]
        / (alpha - 1).

    Between integers, the chord of (alpha-1) times the curve is used, as in ``poisson_gaussian_rdp``. The curve is
    capped at alpha m^2/2, the value without sampling, because the Rényi divergence is quasi-convex. The bound is not
    proved under add_remove (T21).

    Parameters
    ----------
    orders
        Rényi orders alpha > 1.
    noise_multiplier
        Noise multiplier sigma, relative to the sensitivity for one record added or removed.
    rate
        Sampling rate q, in (0, 1].

    Returns
    -------
    ndarray
        Values of the curve at ``orders``, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range. For a rate below 1, every order must be at most 1,000,000.
    """
    alpha, shift = _orders(orders), _shift(noise_multiplier, 2.0)
    rate = checks.rate("rate", rate)
    plain = gaussian_rdp(alpha, noise_multiplier, 2.0)
    if rate == 1 or shift > _LARGEST_SHIFT:
        return plain
    half = shift * shift / 2

    def log_weights(j: Array) -> Array:
        logs = math.log(2) + (j * j - j) * half
        pair = min(math.log(4) + float(log_expm1(np.array(2 * half))), math.log(2) + 2 * half)
        return np.asarray(j * math.log(rate) + np.where(j == 2, pair, logs))

    return np.asarray(np.minimum(chords(alpha, log_weights, 0.0), plain))


def moment_rdp(orders: ArrayLike, bound: BoundingLoss) -> Array:
    """Return a Rényi curve for a mechanism whose privacy loss L is at most a random variable U (T16, T39-T41, T53a).

    The curve is ln E e^{(alpha-1) U} / (alpha - 1). It is an upper bound because L <= U, and because the Rényi
    divergence of order alpha between the outputs on two neighbouring data sets is ln E e^{(alpha-1) L} / (alpha - 1).
    The allowance for rounding errors is proportional to 1 + abs(ln E e^{(alpha-1) U}).

    Parameters
    ----------
    orders
        Rényi orders alpha > 1.
    bound
        Distribution of U, such as the result of `PerturbedObjective.bound`.

    Returns
    -------
    ndarray
        Values of the curve at ``orders``, rounded up.

    Raises
    ------
    ParameterError
        If an order is not a finite number above 1.
    """
    alpha = _orders(orders)
    logs = bound.log_mgf_real(alpha - 1)
    return up_array(np.maximum(logs + 64 * ULP * (1 + np.abs(logs)), 0.0) / (alpha - 1))


def rdp_epsilon(curve: ArrayLike, delta: float, orders: ArrayLike = DEFAULT_ORDERS) -> float:
    """Return the epsilon at ``delta`` that follows from a Rényi curve, minimized over the orders.

    Theorem T17 [Canonne, Kamath & Steinke 2020, Prop 12].
        For every alpha > 1, a mechanism with the Rényi curve tau is (eps, delta)-DP with
        eps = tau(alpha) + [ln(1/delta) + (alpha-1) ln(1 - 1/alpha) - ln alpha] / (alpha - 1).

    The older bound of Mironov, tau(alpha) + ln(1/delta)/(alpha-1), is larger. The minimization over the orders is valid
    for a composition that was fixed in advance. It is not valid after adaptive stopping (T14).

    Parameters
    ----------
    curve
        Values tau(alpha) of the curve at ``orders``. For a composition, pass the sum of the curves of its events.
    delta
        Target delta, in (0, 1).
    orders
        Rényi orders alpha > 1 of the curve, one for each value in ``curve``.

    Returns
    -------
    float
        Upper bound on epsilon, rounded up; at least 0.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    alpha, tau = _curve(curve, orders)
    log_delta = math.log(checks.positive_delta("delta", delta))
    shift = np.log1p(-1 / alpha) - (log_delta + np.log(alpha)) / (alpha - 1)
    size = tau + (np.abs(log_delta) + np.log(alpha) + 1) / (alpha - 1)  # the terms cancel: allow for their sizes
    return max(float(np.min(tau + shift + 64 * ULP * size)), 0.0)


def rdp_delta(curve: ArrayLike, epsilon: float, orders: ArrayLike = DEFAULT_ORDERS) -> float:
    """Return the delta at ``epsilon`` that follows from a Rényi curve, minimized over the orders.

    Theorem T17 [Canonne, Kamath & Steinke 2020, Prop 12].
        For every alpha > 1, a mechanism with the Rényi curve tau is (eps, delta)-DP with
        delta = e^{(alpha-1)(tau(alpha) - eps)} (1 - 1/alpha)^alpha / (alpha - 1).

    Parameters
    ----------
    curve
        Values tau(alpha) of the curve at ``orders``. For a composition, pass the sum of the curves of its events.
    epsilon
        Target epsilon, at least 0.
    orders
        Rényi orders alpha > 1 of the curve, one for each value in ``curve``.

    Returns
    -------
    float
        Upper bound on delta, rounded up; at most 1.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    alpha, tau = _curve(curve, orders)
    epsilon = checks.nonnegative("epsilon", epsilon)
    logs = (alpha - 1) * (tau - epsilon) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)
    size = (alpha - 1) * (tau + epsilon) + np.abs(np.log(alpha - 1)) + alpha
    return up_delta(math.exp(min(float(np.min(logs + 8 * ULP * size)), 0.0)))


def _poisson_add_remove(alpha: Array, shift: float, rate: float) -> Array:
    """Return the curve of T26 with 1/sigma = ``shift``."""
    if rate == 1 or shift > _LARGEST_SHIFT:
        return gaussian_rdp(alpha, 1.0, shift)

    def log_weights(k: Array) -> Array:
        # the terms k = 0, 1 of the sum, and e^0 of the others, make up the 1 of 1 + excess
        return np.asarray(k * math.log(rate) + log_expm1((k * k - k) * (shift * shift / 2)))

    log_rest = math.log1p(-rate)
    curve = np.minimum(chords(alpha, log_weights, log_rest), gaussian_rdp(alpha, 1.0, shift))
    return np.asarray(np.minimum(curve, taylor(alpha, log_weights, math.log(rate), log_rest)))


def _poisson_replace_one(alpha: Array, shift: float, rate: float) -> Array:
    """Return the smaller of T4's two bounds through the data set without the record."""
    unsampled = -math.log1p(-rate)  # D_infinity of the law without the record against either neighbour's
    beta = np.maximum(alpha, 2.0)  # the curve grows with alpha; below 2 the factor would explode
    first = (beta - 0.5) / (beta - 1) * _poisson_add_remove(2 * beta, shift, rate)
    second = np.minimum(_poisson_add_remove(2 * beta - 1, shift, rate), unsampled)
    return np.asarray(np.minimum(first + second, _poisson_add_remove(alpha, shift, rate) + unsampled))


def _shift(noise_multiplier: float, sensitivity: float) -> float:
    """Return the sensitivity divided by the noise scale, rounded up."""
    return quotient(checks.positive("sensitivity", sensitivity), checks.positive("noise_multiplier", noise_multiplier))


def _orders(orders: ArrayLike) -> Array:
    """Return the orders as floats; raise ParameterError unless each is finite and > 1."""
    alpha = np.asarray(orders)
    if alpha.dtype.kind not in "iuf" or alpha.size == 0 or not bool(np.all((alpha > 1) & (alpha < np.inf))):
        raise ParameterError(f"orders must be finite numbers > 1, got {shown(orders)}.")
    return alpha.astype(np.float64)


def _curve(curve: ArrayLike, orders: ArrayLike) -> tuple[Array, Array]:
    """Return orders and curve, of equal shape; an infinite entry gives no bound at its order."""
    alpha, tau = _orders(orders), np.asarray(curve)
    if tau.dtype.kind not in "iuf" or tau.shape != alpha.shape or not bool(np.all(tau >= 0)):
        raise ParameterError(
            f"curve must hold one number >= 0 for each of the {alpha.size} orders, got {shown(curve)}. "
            "Give the orders at which the curve was computed."
        )
    return alpha, tau.astype(np.float64)
