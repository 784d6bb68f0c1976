# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How sampling a record with probability q changes a loss: the algebra shared by every sampled law.

A base pair (P, Q) with loss u = log(dP/dQ) becomes A = (1-q) Q + q P against Q, with loss l(u) = log(1 - q + q e^u).
"""

import math
from collections.abc import Callable

import numpy as np

from dperm.accounting.laws.law import Array

Profile = Callable[[float], float]
FAR = 600.0  # beyond, e^u is near overflow and 1 - q no longer counts


def sampled_loss(u: Array, rate: float) -> Array:
    """l(u) = log(1 - q + q e^u), without overflow: far up it is u + log q."""
    return np.asarray(np.where(u < FAR, np.log1p(rate * np.expm1(np.minimum(u, FAR))), u + math.log(rate)))


def base_loss(loss: Array, rate: float) -> Array:
    """The u with l(u) = loss; -infinity at and below log(1 - q)."""
    grown = np.expm1(np.minimum(loss, FAR)) / rate
    with np.errstate(divide="ignore"):
        near = np.log1p(np.maximum(grown, -1.0))
    return np.asarray(np.where(loss < FAR, near, loss - math.log(rate)))


def remove_delta(base: Profile, rate: float, epsilon: float) -> float:
    """H_{e^eps}(A || Q) = q delta_base(log(1 + (e^eps - 1)/q)), exactly (T21, T22; T24 without replacement)."""
    if epsilon > FAR:
        return rate * base(epsilon - math.log(rate))
    return rate * base(math.log1p(math.expm1(epsilon) / rate))


def add_delta(base: Profile, rate: float, epsilon: float) -> float:
    """H_{e^eps}(Q || A) = q e^{eps - u} delta_base(u) with l(-u) = -eps, and 0 from eps = -log(1 - q) on (T22).

    On the optimal set {l < -eps}: Q - e^eps A = e^eps q (e^{-u} Q - P), and the base pair is symmetric.
    """
    ratio = math.expm1(-epsilon) / rate
    if ratio <= -1:
        return 0.0
    u = -math.log1p(ratio)
    return rate * math.exp(epsilon - u) * base(u)
