# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy loss of the Laplace mechanism."""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.laws.law import Array, ComplexArray, Parts
from dperm.privacy.rounding import ULP


@dataclass(frozen=True)
class LaplaceLoss:
    """T5: noise of scale b against a shift of the sensitivity; ``top`` = sensitivity / b is the pure epsilon.

    Under P: an atom of mass 1/2 at L = top, one of mass e^{-top}/2 at -top, and the density e^{-(top - L)/2}/4 between
    them; under Q the mirror image. The pair is symmetric.
    """

    top: float

    infinity = 0.0
    resolution = 4e-15

    @property
    def ceiling(self) -> float:
        """Pure epsilon of the mechanism, rounded up."""
        return math.nextafter(self.top, math.inf)

    def delta(self, epsilon: float) -> float:
        """T5: 1 - e^{(epsilon - top)/2} up to epsilon = top, then 0."""
        return -math.expm1(min(epsilon - self.top, 0.0) / 2)

    def log_delta(self, epsilon: float) -> float:
        """Logarithm of T5's profile: -infinity at and above the pure epsilon."""
        return math.log(self.delta(epsilon)) if epsilon < self.top else -math.inf

    def support(self, tail: float) -> tuple[float, float]:
        """Return [-top, top]: the loss is bounded."""
        return -self.top, self.top

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return the atoms at both ends, -top and top."""
        return ((-self.top, 0.5 * math.exp(-self.top)), (self.top, 0.5))

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Integrals of e^{-(top - L)/2}/4 (P) and e^{-(top + L)/2}/4 (Q)."""
        u = np.clip(borders, -self.top, self.top)
        left, width = u[:-1], np.diff(u)
        p = 0.5 * np.exp((left - self.top) / 2) * np.expm1(width / 2)
        q = 0.5 * np.exp(-(self.top + left) / 2) * -np.expm1(-width / 2)
        return p, q

    def log_density(self, u: Array) -> Array:
        """Log density of the loss under Q between its atoms; entire, so it may be read beyond them too."""
        return np.asarray(math.log(0.25) - (self.top + u) / 2)

    def growth(self, y: float) -> float:
        """Return 0, as |e^{-iy/2}| = 1."""
        return 0.0

    def log_peak(self, low: Array, high: Array) -> Array:
        """Return the log density at the lower end: the density falls."""
        return self.log_density(low)

    def place(self, count: int, parts: Parts) -> None:
        """Register as a law with a closed moment generating function."""
        parts.closed(self, count)

    def log_mgf(self, s: ComplexArray) -> tuple[ComplexArray, Array]:
        """E e^{sL} = e^{s top}[1/2 + r + (1/2 - r) e^{-(2s+1) top}], r = 1/(4s + 2); every step is one rounding."""
        r = 1 / (4 * s + 2)
        value = s * self.top + np.log(0.5 + r + (0.5 - r) * np.exp(-(2 * s + 1) * self.top))
        return value, ULP * (16 + 8 * np.abs(s) * self.top)

    def size(self, c: float, t: float) -> int:
        """Return 1: the closed form is one term."""
        return 1

    def log_mgf_real(self, c: Array) -> Array:
        """Return log E e^{cL} for real c, mirrored at -1/2 where e^{-(2c+1) top} would overflow."""
        c = np.abs(c + 0.5) - 0.5 + 1e-9  # E e^{cL} = E e^{(-1-c)L}: the pair is symmetric; 1e-9 keeps off r's pole
        r = 1 / (4 * c + 2)
        return c * self.top + np.log(0.5 + r + (0.5 - r) * np.exp(-(2 * c + 1) * self.top))

    def modulus(self, c: float, t: float) -> float:
        """Atoms at full size; the continuous part e^{sL + L/2} integrates to at most its ends over |s + 1/2|."""
        fall = math.exp(-(2 * c + 1) * self.top)
        size = 0.5 * (1 + fall) + 0.25 / t * (1 + fall)
        whole = float(self.log_mgf_real(np.array([c]))[0]) - c * self.top
        return min(1.0, size * math.exp(1e-8 + 1e-9 * self.top - whole))  # log_mgf_real is at c + 1e-9
