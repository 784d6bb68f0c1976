# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact one-sided confidence bounds on a probability (Clopper and Pearson 1934), rounded outwards.

k successes in n independent trials of probability p, at level a: the lower bound is the p with P(Bin(n, p) >= k) = a,
the upper bound the p with P(Bin(n, p) <= k) = a. Each bound alone is wrong with probability at most a.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln, xlog1py, xlogy

from dperm.audit.arrays import numbers
from dperm.data.arrays import Floats
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy.rounding import ULP

MOST_TRIALS = 10**12
"""Largest supported number of trials; above it, the incomplete beta function loses accuracy."""

_NEWTON_ROUNDS = 3
_MARGIN = 8 * ULP  # the rounding of the incomplete beta function moves its root by less


def clopper_pearson_lower(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> Floats:
    """Return the lower bound BetaInv(alpha; k, n-k+1) on a probability, rounded down. Arrays broadcast.

    **Guarantees.** The bound is wrong with probability at most ``alpha`` for any success probability. Rounding is
    included: the incomplete beta function is evaluated at a slightly smaller level, and the result is moved outwards.

    **Edge cases.**

    ===========  ===============
    successes    bound
    ===========  ===============
    0            0
    n of n       alpha^(1/n)
    0 of 0       0
    ===========  ===============

    Parameters
    ----------
    successes, trials
        Integers with 0 <= successes <= trials <= 10^12.
    alpha
        Error probability, in (0, 1).

    Returns
    -------
    Floats
        One bound for each entry of the broadcast arguments.
    """
    k, n, level = _checked(successes, trials, alpha)
    inner = np.where((k == 0) | (k == n), 1.0, k)  # any shape will do where a closed form follows
    a, b = inner, np.maximum(n - inner + 1, 1.0)
    bound = _polished(betaincinv(a, b, level), level, lambda p: betainc(a, b, p), (a, b))
    bound = _outwards(bound, level, lambda p: betainc(a, b, p), -_MARGIN)
    every = np.exp(np.log(level) / np.maximum(n, 1)) * (1 - _MARGIN)
    return np.asarray(np.where(k == 0, 0.0, np.where(k == n, every, bound)))


def clopper_pearson_upper(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> Floats:
    """Return the upper bound BetaInv(1 - alpha; k+1, n-k) on a probability, rounded up. Arrays broadcast.

    The bound equals 1 minus the lower bound for n-k successes, and is computed with full relative accuracy for small
    values.

    **Guarantees.** The bound is wrong with probability at most ``alpha`` for any success probability. Rounding is
    included: the incomplete beta function is evaluated at a slightly smaller level, and the result is moved outwards.

    **Edge cases.**

    ===========  ===============
    successes    bound
    ===========  ===============
    0 of n       1 - alpha^(1/n)
    n of n       1
    0 of 0       1
    ===========  ===============

    Parameters
    ----------
    successes, trials
        Integers with 0 <= successes <= trials <= 10^12.
    alpha
        Error probability, in (0, 1).

    Returns
    -------
    Floats
        One bound for each entry of the broadcast arguments.
    """
    k, n, level = _checked(successes, trials, alpha)
    inner = np.where((k == 0) | (k == n), 1.0, k)
    a, b = inner + 1, np.maximum(n - inner, 1.0)
    bound = _polished(betainccinv(a, b, level), level, lambda p: betaincc(a, b, p), (a, b))
    bound = _outwards(bound, level, lambda p: betaincc(a, b, p), _MARGIN)
    none = -np.expm1(np.log(level) / np.maximum(n, 1)) * (1 + _MARGIN)
    return np.asarray(np.where(k == n, 1.0, np.minimum(1.0, np.where(k == 0, none, bound))))


def _checked(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> tuple[Floats, Floats, Floats]:
    named = {"successes": successes, "trials": trials, "alpha": alpha}
    k, n, level = (numbers(name, values, dims=None) for name, values in named.items())
    if not np.all((k >= 0) & (k <= n) & (k == np.floor(k)) & (n == np.floor(n)) & (n <= MOST_TRIALS)):
        raise ParameterError(
            f"{arg('successes')} and {arg('trials')} must be integers with 0 <= successes <= trials <= 10^12."
        )
    if not np.all((level > 0) & (level < 1)):
        raise ParameterError(argument="alpha", rule="must be in (0, 1)")
    return k, n, level * (1 - n * ULP)  # the incomplete beta function is right to n units: 2e-8 at n = 1e9, measured


def _polished(p: Floats, level: Floats, tail: Callable[[Floats], Floats], shape: tuple[Floats, Floats]) -> Floats:
    """Refine by Newton's method on log tail(p) = log level: scipy's inverse has error 1e-8 for k = 1, n = 1e9."""
    a, b = shape
    p = np.where(np.isnan(p), 0.5, p)
    sign = np.where(tail(np.asarray(0.0)) > 0.5, -1.0, 1.0)  # the upper bound's tail falls from 1
    for _ in range(_NEWTON_ROUNDS):
        value = np.maximum(tail(p), 1e-300)
        density = np.exp(xlogy(a - 1, p) + xlog1py(b - 1, -p) - betaln(a, b))
        step = sign * (np.log(level) - np.log(value)) * value / np.maximum(density, 1e-300)
        p = np.clip(p + step, p / 2, (1 + p) / 2)
    return p


def _outwards(p: Floats, level: Floats, tail: Callable[[Floats], Floats], margin: float) -> Floats:
    """Move ``p`` by the relative ``margin``, doubling the margin until the tail is at most ``level``."""
    p = np.clip(p * (1 + margin), 0.0, 1.0)
    while np.any(missed := tail(p) > level):
        margin *= 2
        p = np.clip(np.where(missed, p * (1 + margin), p), 0.0, 1.0)
    return p
