# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rényi curves of sampled mechanisms from binomial sums (T24a, T26), and upper bounds between whole orders."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dperm.accounting.theorems._rounding import Array, up_array
from dperm.errors import ParameterError
from dperm.privacy.rounding import ULP

Weights = Callable[[Array], Array]
"""k -> log w_k, the logarithm of the k-th weight of a binomial sum, k >= 2."""

LARGEST_ORDER = 1_000_000


def chords(alpha: Array, log_weights: Weights, log_rest: float) -> Array:
    """Return the Rényi curve of a sampled mechanism, rounded up.

    At an integer n, (n-1) tau(n) = ln(1 + sum_{k=2}^n C(n,k) w_k r^{n-k}). Between integers, (alpha-1) tau(alpha) is
    convex for every pair of distributions, and vanishes at 1. The chord through upper bounds at neighbouring integers
    is therefore an upper bound.

    Parameters
    ----------
    alpha
        Orders > 1.
    log_weights
        Function from k >= 2 to log w_k.
    log_rest
        log r, the logarithm of 1 minus the rate.

    Returns
    -------
    ndarray
        tau at ``alpha``.

    Raises
    ------
    ParameterError
        If an order exceeds 1,000,000, since the sum has alpha terms.
    """
    if float(alpha.max()) > LARGEST_ORDER:
        raise ParameterError(
            f"orders must be at most {LARGEST_ORDER:,} for a sampled mechanism (alpha terms are summed), "
            f"got {float(alpha.max())!r}."
        )
    below, above = np.floor(alpha), np.ceil(alpha)
    whole = np.unique(np.maximum(np.concatenate([below.ravel(), above.ravel()]), 2.0))
    moments = np.logaddexp(0.0, _log_sums(whole.astype(np.int64), log_weights, log_rest))
    left = np.where(below < 2, 0.0, moments[np.searchsorted(whole, np.maximum(below, 2.0))])
    right = moments[np.searchsorted(whole, above)]
    return up_array(((below + 1 - alpha) * left + (alpha - below) * right) / (alpha - 1))


def _log_sums(whole: NDArray[np.int64], log_weights: Weights, log_rest: float) -> Array:
    """Log of sum_{k=2}^n C(n,k) w_k r^{n-k} for each n >= 2 of ``whole``, rounded up; ``log_rest`` is log r.

    One table of log k! serves every n. Its rounding, and that of the exponents, is added in log space: 4 units of
    each number's size, about 1e-10 at n = 1e5 and 1e-13 at n = 100.
    """
    k = np.arange(int(whole.max()) + 1, dtype=np.float64)
    log_factorial = gammaln(k + 1)
    weights = log_weights(k[2:])
    head, tail = weights - log_factorial[2:], k * log_rest - log_factorial
    sums = np.empty(whole.shape)
    for i, n in enumerate(whole):
        terms = head[: n - 1] + tail[n - 2 :: -1]
        size = 3 * log_factorial[n] + abs(weights[int(np.argmax(terms))]) - n * log_rest
        sums[i] = log_factorial[n] + _log_total(terms, size)
    return sums


def taylor(alpha: Array, log_weights: Weights, log_rate: float, log_rest: float) -> Array:
    """Return the curve of T26, rounded up, from the binomial series truncated after k = ceil(alpha).

    (r + q y)^alpha <= sum_{k<=K} C(alpha,k) r^{alpha-k} q^k y^k for y >= 0 and K = ceil(alpha), because Lagrange's
    remainder has the sign of C(alpha,K+1) < 0. At y = 1 the truncated sum exceeds 1 by at most |C(alpha,K+1)|
    r^{alpha-K-1} q^{K+1}.

    Parameters
    ----------
    alpha
        Orders > 1.
    log_weights
        Function from k >= 2 to log w_k.
    log_rate
        log q, the logarithm of the rate.
    log_rest
        log r, the logarithm of 1 minus the rate.

    Returns
    -------
    ndarray
        tau at ``alpha``; infinite at integer orders.
    """
    curve = np.full(alpha.shape, np.inf)
    for place in zip(*np.nonzero(alpha != np.floor(alpha)), strict=True) if alpha.ndim else [()]:
        order = float(alpha[place])
        if order != math.floor(order):
            excess = _log_series(order, log_weights, log_rate, log_rest)
            curve[place] = np.logaddexp(0.0, excess) / (order - 1)
    return up_array(curve)


def _log_series(order: float, log_weights: Weights, log_rate: float, log_rest: float) -> float:
    last = math.ceil(order) + 1
    k = np.arange(2, last + 1, dtype=np.float64)
    weights = np.append(log_weights(k[:-1]), last * log_rate)
    log_binomials = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    terms = weights + log_binomials + (order - k) * log_rest
    size = 3 * float(gammaln(order + 1)) + abs(weights[int(np.argmax(terms))]) - order * log_rest
    return _log_total(terms, size)


def _log_total(terms: Array, size: float) -> float:
    """Log of the sum of the exponentials of terms made of numbers of this size, rounded up."""
    top = float(terms.max())
    return top + math.log(float(np.sum(np.exp(terms - top)))) + 4 * ULP * (size + abs(top) + 16)
