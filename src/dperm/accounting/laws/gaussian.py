# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The privacy loss of the Gaussian mechanism."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri_exp

from dperm.accounting.laws.law import Array, Parts
from dperm.privacy.gaussian_profile import log_delta


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Profile of N(mu, 1) against N(0, 1) at every real epsilon (T6).

    For epsilon < 0 the symmetry of the pair, delta(-e) = 1 - e^{-e}(1 - delta(e)), avoids nothing but is exact.
    """
    if epsilon < 0:
        return -math.expm1(epsilon) + math.exp(epsilon) * gaussian_delta(-epsilon, mu)
    return math.exp(log_delta(epsilon, mu))


def interval_mass(upper_tail_of: Array) -> Array:
    """Standard normal mass between consecutive increasing points, without cancellation in either tail."""
    a, b = upper_tail_of[:-1], upper_tail_of[1:]
    return np.where(a > 0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))


@dataclass(frozen=True)
class GaussianLoss:
    """T6, T19: L ~ N(mu^2/2, mu^2) under P, N(-mu^2/2, mu^2) under Q; the pair is symmetric."""

    mu: float

    infinity = 0.0
    ceiling = math.inf

    def delta(self, epsilon: float) -> float:
        """Analytic Gaussian profile (T6)."""
        return gaussian_delta(epsilon, self.mu)

    def support(self, tail: float) -> tuple[float, float]:
        """mu^2/2 -+ z mu with Phi(-z) = tail."""
        reach = -float(ndtri_exp(math.log(tail))) * self.mu
        return self.mu**2 / 2 - reach, self.mu**2 / 2 + reach

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """None."""
        return ()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Normal masses with means +-mu^2/2."""
        z = borders / self.mu
        return interval_mass(z - self.mu / 2), interval_mass(z + self.mu / 2)

    def density(self, u: Array) -> Array:
        """Density of the loss under Q."""
        return np.asarray(np.exp(-((u / self.mu + self.mu / 2) ** 2) / 2) / (self.mu * math.sqrt(2 * math.pi)))

    def growth(self, y: float) -> float:
        """|density(u + iy)| = density(u) e^{y^2/(2 mu^2)}."""
        return y * y / (2 * self.mu**2)

    def peak(self, low: Array, high: Array) -> Array:
        """Largest density on an interval: the mode is at -mu^2/2."""
        return self.density(np.clip(-(self.mu**2) / 2, low, high))

    def place(self, count: int, parts: Parts) -> None:
        """Gaussian losses add their variances (T19)."""
        parts.gaussian(count * self.mu**2)
