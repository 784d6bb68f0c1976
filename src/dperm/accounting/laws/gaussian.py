# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy loss of the Gaussian mechanism."""

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


def gaussian_log_delta(epsilon: float, mu: float) -> float:
    """Logarithm of `gaussian_delta`, also where that underflows (T6)."""
    return math.log(gaussian_delta(epsilon, mu)) if epsilon < 0 else log_delta(epsilon, mu)


def interval_mass(points: Array) -> Array:
    """Standard normal mass between consecutive increasing points, to about 1e-14 relative.

    Differences of tail probabilities lose digits in narrow cells: there the density's Taylor series at the middle m,
    h phi(m) [1 + (m^2 - 1) h^2/24 + (m^4 - 6 m^2 + 3) h^4/1920], right to (h max(1, |m|))^6/322560, relative.
    Beyond 39 deviations nothing is left in double precision.
    """
    z = np.clip(points, -39.0, 39.0)
    width, square = np.diff(z), ((z[:-1] + z[1:]) / 2) ** 2
    narrow = width * width / 24
    series = 1 + narrow * (square - 1) + narrow * narrow * (0.3 * (square * (square - 6) + 3))
    mass = width * series * (np.exp(-square / 2) / math.sqrt(2 * math.pi))
    wide = np.flatnonzero(width * width * np.maximum(square, 1.0) > 4e-4)
    if len(wide):
        a, b = z[wide], z[wide + 1]
        low, high = ndtr(-np.abs(a)), ndtr(-np.abs(b))
        mass[wide] = np.where(a > 0, low - high, np.where(b < 0, high - low, 1 - low - high))
    return np.asarray(mass)


@dataclass(frozen=True)
class GaussianLoss:
    """T6, T19: L ~ N(mu^2/2, mu^2) under P, N(-mu^2/2, mu^2) under Q; the pair is symmetric."""

    mu: float

    infinity = 0.0
    resolution = 4e-15
    ceiling = math.inf

    def delta(self, epsilon: float) -> float:
        """Return the analytic Gaussian profile (T6)."""
        return gaussian_delta(epsilon, self.mu)

    def log_delta(self, epsilon: float) -> float:
        """Return the logarithm of the analytic Gaussian profile (T6)."""
        return gaussian_log_delta(epsilon, self.mu)

    def support(self, tail: float) -> tuple[float, float]:
        """mu^2/2 -+ z mu with Phi(-z) = tail."""
        reach = -float(ndtri_exp(math.log(tail))) * self.mu
        return self.mu**2 / 2 - reach, self.mu**2 / 2 + reach

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return no atoms: the law is continuous."""
        return ()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Return normal masses with means mu^2/2 (P) and -mu^2/2 (Q)."""
        z = borders / self.mu
        return interval_mass(z - self.mu / 2), interval_mass(z + self.mu / 2)

    def log_density(self, u: Array) -> Array:
        """Log density of the loss under Q."""
        return np.asarray(-((u / self.mu + self.mu / 2) ** 2) / 2 - math.log(self.mu * math.sqrt(2 * math.pi)))

    def growth(self, y: float) -> float:
        """|density(u + iy)| = density(u) e^{y^2/(2 mu^2)}."""
        return y * y / (2 * self.mu**2)

    def log_peak(self, low: Array, high: Array) -> Array:
        """Largest log density on an interval: the mode is at -mu^2/2."""
        return self.log_density(np.clip(-(self.mu**2) / 2, low, high))

    def place(self, count: int, parts: Parts) -> None:
        """Register the variance: Gaussian losses add their variances (T19)."""
        parts.gaussian(count * self.mu**2)
