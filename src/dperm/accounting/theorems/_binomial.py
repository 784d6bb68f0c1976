# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities of the binomial law, accurate to about 1e-12 for a million trials.

log k! grows like k log k: at k = 1e6 a difference of three of them has lost eight digits. Loader's saddle-point form
[Loader 2000, "Fast and accurate computation of binomial probabilities"] cancels the large parts on paper.
"""

import math

import numpy as np
from scipy.special import gammaln

from dperm.accounting.theorems._rounding import Array
from dperm.privacy.rounding import ULP

_SERIES_FROM = 16
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


def log_response_mass(lies: Array, count: int, epsilon: float) -> Array:
    """Log of C(k, l) e^{(k-l) eps} / (1 + e^eps)^k at l = ``lies``, rounded up.

    The probability that k = ``count`` randomized responses tell l lies, each a lie with probability 1/(1+e^eps).
    """
    log_truth = -math.log1p(math.exp(-epsilon))
    log_lie = log_truth - epsilon
    inner = np.clip(lies, 1, max(count - 1, 1))
    value, error = _saddle_point(inner, count, epsilon)
    value = np.where(lies == 0, count * log_truth, np.where(lies == count, count * log_lie, value))
    return np.asarray(np.minimum(value + error + 8 * ULP * np.abs(value), 0.0))


def _saddle_point(lies: Array, count: int, epsilon: float) -> tuple[Array, Array]:
    """Loader's form for 0 < l < k (meaningless, but finite, when k = 1), and its absolute error."""
    truths = np.maximum(count - lies, 1.0)
    odds = math.exp(-epsilon)
    first, first_error = _deviance(lies, count * (odds / (1 + odds)), math.log(count) - math.log1p(odds) - epsilon)
    second, second_error = _deviance(truths, count / (1 + odds), math.log(count) - math.log1p(odds))
    scale = 0.5 * (np.log(count / lies) - np.log(truths) - math.log(2 * math.pi))
    corrections = _stirling_error(np.array([float(count)])) - _stirling_error(lies) - _stirling_error(truths)
    return corrections - first - second + scale, first_error + second_error + 128 * ULP


def _deviance(x: Array, mean: float, log_mean: float) -> tuple[Array, Array]:
    """The deviance x log(x/m) + m - x from the mean m (which may underflow, its log not), and its absolute error.

    Near m, 8 units of m (its own error and that of x - m) move the value by |x - m| times that; far from it the
    logarithms are multiplied by x <= 3 |x - m|.
    """
    near = np.abs(x - mean) < 0.5 * mean
    t = np.where(near, x - mean, 0.0) / max(mean, 1e-300)
    close = mean * ((1 + t) * np.log1p(t) - t)
    far = x * (np.log(x) - log_mean) + mean - x
    value = np.where(near, close, far)
    logs = np.where(near, 1.0, 2 + np.log(x) + abs(log_mean))
    return value, 8 * ULP * (logs * np.abs(x - mean) + np.abs(value))


def _stirling_error(n: Array) -> Array:
    """Log n! minus Stirling's (n + 1/2) log n - n + log(2 pi)/2, for n >= 1."""
    small = np.minimum(n, _SERIES_FROM)
    direct = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    series = np.zeros_like(n)
    for coefficient in reversed(_STIRLING):
        series = series / (n * n) + coefficient
    return np.asarray(np.where(n < _SERIES_FROM, direct, series / n))
