# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Size of the noise: standard deviations, and error bounds of one coordinate.

These numbers describe utility. They follow from public constants, and no privacy guarantee depends on them.
"""

import math

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtr, ndtri

from dperm import checks

_PROBABILITY = "Give the probability of an error beyond the bound, such as 0.05."
_NODES = 4000
_FAR = 1e-18  # omitted mass on either side


def checked_probability(probability: object) -> float:
    """Return ``probability`` as a float if it lies in (0, 1)."""
    return checks.positive_delta("probability", probability, _PROBABILITY)


def gaussian_bound(scale: float, probability: float) -> float:
    """Return the t with P(|N| > t) = probability for Gaussian noise: -sigma Phi^-1(p/2)."""
    return -scale * float(ndtri(checked_probability(probability) / 2))


def laplace_bound(scale: float, probability: float) -> float:
    """Return the t with P(|L| > t) = probability for Laplace noise: b log(1/p) (T5)."""
    return -scale * math.log(checked_probability(probability))


def discrete_laplace_bound(scale: float, probability: float) -> float:
    """Return the smallest integer t with P(|Z| > t) = 2 e^(-(t + 1)/s) / (1 + e^(-1/s)) <= probability (T5a)."""
    probability = checked_probability(probability)
    exact = scale * (math.log(2 / probability) - math.log1p(math.exp(-1 / scale))) - 1
    return float(max(0, math.ceil(exact - 1e-9)))


def discrete_laplace_deviation(scale: float) -> float:
    """Return the standard deviation sqrt(2 q) / (1 - q), q = e^(-1/s)."""
    return math.sqrt(2) * math.exp(-1 / (2 * scale)) / -math.expm1(-1 / scale)


def gamma_norm_deviation(scale: float, dim: int) -> float:
    """Return the standard deviation sqrt(d + 1) b of one coordinate: E ||x||^2 = d (d + 1) b^2 (T7)."""
    return math.sqrt(dim + 1) * scale


def gamma_norm_bound(scale: float, dim: int, probability: float) -> float:
    """Return the t with P(|x_1| > t) = probability for one coordinate of gamma-norm noise.

    Given V, chi-square with d + 1 degrees of freedom, x_1 is Gaussian of variance V b^2 (T7a). The function averages 2
    Phi(-t / sqrt(V)) by the trapezoidal rule in log V and solves for t by bisection.
    """
    probability = checked_probability(probability)
    shape = (dim + 1) / 2
    ends = math.log(gammaincinv(shape, _FAR)), math.log(gammainccinv(shape, _FAR))
    halves = np.exp(np.linspace(ends[0], ends[1], _NODES))
    logs = shape * np.log(halves) - halves  # density of log(V/2), up to a constant
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    deviations = np.sqrt(2 * halves)
    low, high = 0.0, float(deviations[-1]) * 40
    for _ in range(80):
        middle = (low + high) / 2
        exceeded = 2 * float(weights @ ndtr(-middle / deviations))
        low, high = (middle, high) if exceeded > probability else (low, middle)
    return scale * high
