# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Effect of sampling a record with probability q on a loss: the algebra shared by every sampled law.

A base pair (P, Q) with loss u = log(dP/dQ) becomes A = (1-q) Q + q P against Q, with loss l(u) = log(1 - q + q e^u).
"""

import math
from collections.abc import Callable

import numpy as np

from dperm.accounting.laws.law import Array
from dperm.privacy.rounding import ULP

Profile = Callable[[float], float]
FAR = 600.0  # beyond, e^u is near overflow and 1 - q no longer counts
LOG_2 = math.log(2)
LEAST = 1e-300  # losses nearer to 0 are as good as 0


def sampled_loss(u: Array, rate: float) -> Array:
    """l(u) = log(1 - q + q e^u), without overflow: far up it is u + log q."""
    near = np.log1p(rate * np.expm1(np.minimum(u, FAR))) if rate < 0.5 else _mostly_sampled(np.minimum(u, FAR), rate)
    return np.asarray(np.where(u < FAR, near, u + math.log(rate)))


def _mostly_sampled(u: Array, rate: float) -> Array:
    """Return l(u) for q >= 1/2, where 1 - q is exact: below log 1/2, 1 + q (e^u - 1) would lose the digits of 1 - q."""
    deep = np.log((1 - rate) + rate * np.exp(np.minimum(u, 0.0)))
    return np.where(deep < -LOG_2, deep, np.log1p(np.maximum(rate * np.expm1(u), -0.6)))


def base_loss(loss: Array, rate: float) -> Array:
    """The u with l(u) = loss up to a few roundings of the loss; -infinity at and below log(1 - q)."""
    grown = np.expm1(np.minimum(loss, FAR)) / rate
    with np.errstate(divide="ignore"):
        near = np.log1p(np.maximum(grown, -1.0))
        deep = np.log(np.maximum(np.exp(np.minimum(loss, 0.0)) - (1 - rate), 0.0) / rate)  # keeps the digits of 1 - q
    return np.asarray(np.where(loss < -LOG_2, deep, np.where(loss < FAR, near, loss - math.log(rate))))


def outwards(low: float, high: float) -> tuple[float, float]:
    """Return the interval, lengthened by more than its possible rounding error."""
    return low - 8 * ULP * abs(low) - LEAST, high + 8 * ULP * abs(high) + LEAST


def remove_log_delta(base: Profile, rate: float, epsilon: float) -> float:
    """Log of H_{e^eps}(A || Q) = q delta_base(log(1 + (e^eps - 1)/q)), exactly (T21, T22; T24 without replacement).

    ``base`` is the logarithm of the base pair's profile, so that no small delta underflows.
    """
    grown = math.log1p(math.expm1(epsilon) / rate) if epsilon <= FAR else epsilon - math.log(rate)
    return math.log(rate) + base(grown)


def add_log_delta(base: Profile, rate: float, epsilon: float) -> float:
    """Log of H_{e^eps}(Q || A) = q e^{eps - u} delta_base(u) with l(-u) = -eps; 0 for eps >= -log(1 - q) (T22).

    On the optimal set {l < -eps}: Q - e^eps A = e^eps q (e^{-u} Q - P), and the base pair is symmetric.
    """
    u = -float(base_loss(np.array([-epsilon]), rate)[0])
    return math.log(rate) + (epsilon - u) + base(u) if u < math.inf else -math.inf
