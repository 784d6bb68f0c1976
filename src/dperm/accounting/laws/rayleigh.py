# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The bounding loss of objective perturbation under replace-one when slopes may have either sign."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from dperm.accounting.laws.law import Array, ComplexArray, Parts
from dperm.accounting.laws.mills import FADDEEVA, LOG_SQRT_2PI, complex_mills, first_mills, log_with_error, mills
from dperm.privacy.rounding import ULP

_ORDER = 6
_NARROW = 0.5  # cells up to this width (relative to where e^{-v^2/2} turns) are integrated, wider ones subtracted


@lru_cache(maxsize=1)
def _rule() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(_ORDER)


@dataclass(frozen=True)
class RayleighLoss:
    """T41 (a): U = ``determinant`` + mu^2/2 + mu R, R the length of a standard normal vector in the plane (chi_2).

    P(R > r) = e^{-r^2/2}. Of Q the mass E e^{-U} < 1 is at finite losses (laws/objective.py).
    """

    determinant: float
    mu: float

    infinity = 0.0
    resolution = 4e-15
    ceiling = math.inf

    @property
    def _start(self) -> float:
        return self.determinant + self.mu * self.mu / 2

    def delta(self, epsilon: float) -> float:
        """By parts, E(1 - e^{-mu (R - r)})_+ = mu e^{-r^2/2} M(r + mu) with mu r = epsilon - start >= 0.

        Below the start all mass counts: (1 - e^{mu r}) + e^{mu r} mu M(mu).
        """
        x = (epsilon - self.determinant) - self.mu * self.mu / 2
        r = max(x / self.mu, 0.0)
        inside = self.mu * math.exp(-r * r / 2) * float(mills(np.array(r + self.mu)))
        return inside if x >= 0 else -math.expm1(x) + math.exp(x) * inside

    def support(self, tail: float) -> tuple[float, float]:
        """From R = 0 to R = sqrt(2 log(1/tail))."""
        return self._start, self._start + self.mu * math.sqrt(-2 * math.log(tail))

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """None."""
        return ()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """P: e^{-a^2/2} - e^{-b^2/2}; Q: e^{-determinant} int_a^b r e^{-(r + mu)^2/2} dr."""
        r = np.clip((borders - self.determinant - self.mu * self.mu / 2) / self.mu, 0.0, 40.0)
        left, width = r[:-1], np.diff(r)
        p = np.exp(-left * left / 2) * -np.expm1(-width * (width + 2 * left) / 2)
        return p, math.exp(-self.determinant) * self._tilted(r)

    def _tilted(self, r: Array) -> Array:
        """Int r e^{-(r + mu)^2/2} dr of every cell: six Legendre nodes, or a difference of tails in wide cells."""
        left, width = r[:-1], np.diff(r)
        node, share = _rule()
        out = np.zeros(len(left))
        for x, w in zip(node, share, strict=True):
            inner = left + width * ((1 + x) / 2)
            out += (w / 2) * inner * np.exp(-((inner + self.mu) ** 2) / 2)
        out *= width
        wide = np.flatnonzero(width * np.maximum(r[1:] + self.mu, 1.0) > _NARROW)
        if len(wide):
            out[wide] = self._tail(r[wide]) - self._tail(r[wide + 1])
        return out

    def _tail(self, r: Array) -> Array:
        """Int_r^inf x e^{-(x + mu)^2/2} dx = e^{-v^2/2} (M_1(v) + r M(v)), v = r + mu."""
        v = r + self.mu
        return np.asarray(np.exp(-v * v / 2) * (first_mills(v) + r * mills(v)))

    def place(self, count: int, parts: Parts) -> None:
        """A closed moment generating function."""
        parts.closed(self, count)

    def log_mgf(self, s: ComplexArray) -> tuple[ComplexArray, Array]:
        """E e^{zR} = 1 - z M(z) + sqrt(2 pi) z e^{z^2/2}, z = s mu, Re z >= 0 (by parts)."""
        z = s * self.mu
        peak = z * z / 2 + LOG_SQRT_2PI + np.log(z)
        top = np.maximum(peak.real, 0.0)
        small = z * complex_mills(z)
        total = np.exp(peak - top) + np.exp(-top) * (1 - small)
        error = np.exp(peak.real - top) * ULP * (16 + 8 * np.abs(peak))
        # z (z M)' = z M - z^2 M_1 is at most 5 in modulus, so the rounding of z adds a few units
        error += np.exp(-top) * (FADDEEVA * np.abs(small) + 32 * ULP)
        return log_with_error(s * self._start + top, total, error)

    def size(self, c: float, t: float) -> int:
        """A few terms, one of which is worth ten exponentials."""
        return 12

    def log_mgf_real(self, c: Array) -> Array:
        """1 + sqrt(2 pi) z e^{z^2/2} Phi(z) for z = c mu >= 0, M_1(-z) below 0."""
        z = c * self.mu
        up = np.maximum(z, 1e-300)
        rising = np.logaddexp(0.0, LOG_SQRT_2PI + np.log(up) + up * up / 2 + log_ndtr(up))
        return np.asarray(c * self._start + np.where(z >= 0, rising, np.log(first_mills(np.maximum(-z, 0.0)))))

    def modulus(self, c: float, t: float) -> float:
        """With z = mu (c + it): |z e^{z^2/2}| falls in t once |z| >= 1, and |M_1(z)| <= min(1, (2 + 4 e^{-3/2})/|z|^2).

        The latter by parts twice: 1 + int |u^3 - 3u| e^{-u^2/2} du.
        """
        x, y = c * self.mu, t * self.mu
        whole = float(self.log_mgf_real(np.array([c]))[0]) - c * self._start
        size = math.hypot(x, y)
        fall = math.log(size) - y * y / 2 if size >= 1 else -(1 - x * x) / 2
        peak = math.exp(min(LOG_SQRT_2PI + x * x / 2 + fall - whole, 300.0))
        rest = min(1.0, (2 + 4 * math.exp(-1.5)) / size**2) * math.exp(-whole)
        return min(1.0, (peak + rest) * (1 + 1e-8))
