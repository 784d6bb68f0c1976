# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The loss U that bounds objective perturbation, above an edge: a Rayleigh law (T41)."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from dperm.accounting.laws.law import Array, ComplexArray
from dperm.accounting.laws.mills import FADDEEVA, LOG_SQRT_2PI, Term, complex_mills, first_mills, mills, real_mills
from dperm.privacy.rounding import ULP

_ORDER = 6
_NARROW = 0.5  # cells up to this width (relative to where e^{-v^2/2} turns) are integrated, wider ones subtracted
_BEND = 2 + 4 * math.exp(-1.5)  # |M_1(z)| <= _BEND/|z|^2, by parts twice: 1 + int |u^3 - 3u| e^{-u^2/2} du


@lru_cache(maxsize=1)
def _rule() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(_ORDER)


@dataclass(frozen=True)
class RayleighSide:
    """U = ``determinant`` + mu^2/2 + mu R where R > ``start``, R the length of a standard normal vector in the plane.

    P(R > r) = e^{-r^2/2} (chi with two degrees of freedom).
    """

    determinant: float
    mu: float
    start: float = 0.0

    scale = 1.0

    @property
    def _base(self) -> float:
        return self.determinant + self.mu * self.mu / 2

    @property
    def edge(self) -> float:
        """Where U starts."""
        return self._base + self.mu * self.start

    def raised(self, start: float) -> "RayleighSide":
        """The same above a larger start."""
        return RayleighSide(self.determinant, self.mu, start)

    def start_at(self, loss: float) -> float:
        """The start that puts the edge at ``loss``."""
        return ((loss - self.determinant) - self.mu * self.mu / 2) / self.mu

    def delta(self, epsilon: float) -> float:
        """By parts, E(1 - e^{-mu (R - r)})_+ = mu e^{-r^2/2} M(r + mu), r = (epsilon - determinant)/mu - mu/2."""
        r = max(self.start_at(epsilon), 0.0)
        return self.mu * math.exp(-r * r / 2) * real_mills(r + self.mu)

    def above(self) -> tuple[float, float]:
        """P-mass, and Q-mass E e^{-U} = e^{-determinant - v^2/2} (1 - mu M(v)), v = start + mu, to 1e-16 absolute."""
        v = self.start + self.mu
        q = math.exp(-self.determinant - v * v / 2) * max(1 - self.mu * real_mills(v), 0.0)
        return math.exp(-self.start * self.start / 2), q

    def density(self) -> float:
        """Minus the derivative of the P-mass by the start."""
        return self.start * math.exp(-self.start * self.start / 2)

    def reach(self, tail: float) -> float:
        """A loss above which no more than ``tail`` of P lies."""
        return self._base + self.mu * max(math.sqrt(-2 * math.log(tail)), self.start)

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """P: e^{-a^2/2} - e^{-b^2/2}; Q: e^{-determinant} int_a^b r e^{-(r + mu)^2/2} dr."""
        r = np.clip((borders - self.determinant - self.mu * self.mu / 2) / self.mu, self.start, self.start + 40.0)
        left, width = r[:-1], np.diff(r)
        p = np.exp(-left * left / 2) * -np.expm1(-width * (width + 2 * left) / 2)
        return p, math.exp(-self.determinant) * self._tilted(r)

    def _tilted(self, r: Array) -> Array:
        """Int r e^{-(r + mu)^2/2} dr of every cell: six Legendre nodes, or a difference of tails in wide cells."""
        left, width = r[:-1], np.diff(r)
        out = np.zeros(len(left))
        for x, w in zip(*_rule(), strict=True):
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

    def terms(self, s: ComplexArray) -> list[Term]:
        """E(e^{zR}; R > r) = e^{zr - r^2/2} (M_1(y) + r M(y)), z = s mu, y = r - z, by parts.

        Where Re z > r: the same with y = z - r and -r M(y), and sqrt(2 pi) z e^{z^2/2} on top.
        """
        z, r = s * self.mu, self.start
        beyond = float(z[0].real) > r
        y = z - r if beyond else r - z
        ratio = complex_mills(y)
        near = (1 - y * ratio) + (-r if beyond else r) * ratio
        # |y^2 M_1| <= 3 and |M'| <= 1: the rounding of y adds a few units
        wrong = (FADDEEVA + 16 * ULP) * (1 + (np.abs(y) + r) * np.abs(ratio)) + 8 * ULP * r * np.abs(s) * self.mu
        out: list[Term] = [(near, s * self.edge - r * r / 2, wrong)]
        if beyond:
            out.append((np.ones_like(s), s * self._base + z * z / 2 + LOG_SQRT_2PI + np.log(z), np.zeros(len(s))))
        return out

    def log_moment(self, c: Array) -> Array:
        """The same for real c, with the form that does not cancel on either side of z = r."""
        z, r = c * self.mu, self.start
        left, right = np.maximum(r - z, 0.0), np.maximum(z - r, 0.0)
        near = c * self.edge - r * r / 2 + np.log(first_mills(left) + r * mills(left))
        rest = np.maximum(z, 1e-300)
        # Phi(z - r): e^{zr - r^2/2} + sqrt(2 pi) z e^{z^2/2} Phi(z - r)
        far = np.logaddexp(
            c * self.edge - r * r / 2,
            c * self._base + LOG_SQRT_2PI + np.log(rest) + rest * rest / 2 + log_ndtr(right),
        )
        return np.asarray(np.where(z <= r, near, far))

    def log_modulus(self, c: float, t: float) -> float:
        """|z e^{z^2/2}| falls in t once |z| >= 1; |M_1(y)| <= min(1, _BEND/|y|^2), |M(y)| <= min(M(Re y), 2/|y|)."""
        x, h = abs(c * self.mu - self.start), t * self.mu
        size = math.hypot(x, h)
        near = min(1.0, _BEND / size**2) + self.start * min(real_mills(x), 2 / size)
        log_near = c * self.edge - self.start**2 / 2 + math.log(near)
        if c * self.mu <= self.start:
            return log_near
        whole = math.hypot(c * self.mu, h)
        fall = math.log(whole) - h * h / 2 if whole >= 1 else -(1 - (c * self.mu) ** 2) / 2
        peak = c * self._base + LOG_SQRT_2PI + (c * self.mu) ** 2 / 2 + fall
        return float(np.logaddexp(log_near, peak))
