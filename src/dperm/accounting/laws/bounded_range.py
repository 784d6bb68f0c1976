# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy loss that dominates every mechanism of bounded range."""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.laws.law import Array, ComplexArray, Parts
from dperm.privacy.rounding import ULP


@dataclass(frozen=True)
class BoundedRangeLoss:
    """T74a: the losses of a pair differ by at most ``width`` > 0.

    The pairs with losses t and t - width, 0 <= t <= width, are the worst ones. Their profiles have the supremum
    (1 - e^{(epsilon - width)/2})^2/(1 - e^{-width}). This is the profile of the law with density proportional to
    e^{L/2} on [-width, width] under P, and to e^{-L/2} under Q. The pair is symmetric.
    """

    width: float

    infinity = 0.0
    resolution = 4e-15

    @property
    def ceiling(self) -> float:
        """Pure epsilon of the mechanism, which is the width."""
        return self.width

    def delta(self, epsilon: float) -> float:
        """T74a: (1 - e^{(epsilon - width)/2})^2/(1 - e^{-width}) up to epsilon = width, then 0."""
        return math.exp(self.log_delta(epsilon)) if epsilon < self.width else 0.0

    def log_delta(self, epsilon: float) -> float:
        """Logarithm of T74a's profile: -infinity at and above the width."""
        if epsilon >= self.width:
            return -math.inf
        return 2 * math.log(-math.expm1((epsilon - self.width) / 2)) - math.log(-math.expm1(-self.width))

    def support(self, tail: float) -> tuple[float, float]:
        """Return [-width, width]: the loss is bounded."""
        return -self.width, self.width

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return no atoms: the law is continuous."""
        return ()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Integrals of e^{(L - width)/2}/(2 - 2 e^{-width}) (P) and e^{-(L + width)/2}/(2 - 2 e^{-width}) (Q)."""
        u = np.clip(borders, -self.width, self.width)
        left, cells = u[:-1], np.diff(u)
        total = -math.expm1(-self.width)
        p = np.exp((left - self.width) / 2) * np.expm1(cells / 2) / total
        q = np.exp(-(self.width + left) / 2) * -np.expm1(-cells / 2) / total
        return p, q

    def place(self, count: int, parts: Parts) -> None:
        """Register as a law with a closed moment generating function."""
        parts.closed(self, count)

    def log_mgf(self, s: ComplexArray) -> tuple[ComplexArray, Array]:
        """E e^{sL} = e^{s width}(1 - e^{-w})/((2s + 1)(1 - e^{-width})), w = (2s + 1) width."""
        w = (2 * s + 1) * self.width
        fall = -np.expm1(-w)
        value = s * self.width + np.log(fall / (2 * s + 1)) - math.log(-math.expm1(-self.width))
        size = np.maximum(np.abs(fall), 1e-300)
        return value, ULP * (16 + 8 * np.abs(s) * self.width + (8 + 4 * np.abs(w)) * (1 + np.exp(-w.real)) / size)

    def size(self, c: float, t: float) -> int:
        """Return 1: the closed form is one term."""
        return 1

    def log_mgf_real(self, c: Array) -> Array:
        """Return log E e^{cL} for real c, mirrored at -1/2: the pair is symmetric."""
        z = np.maximum(np.abs(c + 0.5), 1e-9)
        fall = -np.expm1(-2 * z * self.width) / (2 * z)
        return np.asarray((z - 0.5) * self.width + np.log(fall) - math.log(-math.expm1(-self.width)))

    def modulus(self, c: float, t: float) -> float:
        """|1 - e^{-w}| is at most 1 + e^{-Re w}, and |2s + 1| at least 2t."""
        size = (1 + math.exp(-(2 * c + 1) * self.width)) / (2 * t) / -math.expm1(-self.width)
        whole = float(self.log_mgf_real(np.array([c]))[0]) - c * self.width
        return min(1.0, size * math.exp(1e-8 - whole))
