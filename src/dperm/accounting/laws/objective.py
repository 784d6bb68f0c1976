# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounding losses of objective perturbation with Gaussian noise: pieces of normal laws above a start.

The privacy loss of the mechanism is at most a variable U whose law depends on public numbers only: almost surely (T39,
T40, T41 a), or in its tails (T41 b). The law of U is that of a pair: Q = e^{-U} P has total mass E e^{-U} <= 1, and the
rest of Q sits at loss -infinity, where it adds nothing to any profile. So U's profile bounds that of the mechanism for
every alpha >= 0, which is what composition needs (T23).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri_exp

from dperm.accounting.laws.gaussian import gaussian_delta, interval_mass
from dperm.accounting.laws.law import Array, ComplexArray, Parts
from dperm.accounting.laws.mills import FADDEEVA, LOG_SQRT_2PI, SQRT_HALF_PI, complex_mills, log_with_error
from dperm.privacy.rounding import ULP


@dataclass(frozen=True)
class GaussianPiecesLoss:
    """U = ``determinant`` + W: an ``atom`` at W = ``start`` >= 0, and above it the density of the ``pieces``.

    Each piece (weight, mu) stands for weight times the density of N(mu^2/2, mu^2), the loss of a Gaussian pair. The
    masses of all pieces above the start and of the atom add up to 1.
    """

    determinant: float
    start: float
    pieces: tuple[tuple[float, float], ...]
    atom: float = 0.0

    infinity = 0.0
    resolution = 4e-15
    ceiling = math.inf

    def delta(self, epsilon: float) -> float:
        """Sum of weight delta_GDP(x; mu) at x = epsilon - determinant >= start (T6); below, all mass counts.

        There E(1 - e^{x-W}) = (1 - e^{x-start}) + e^{x-start} delta(start): no cancellation. x is rounded once.
        """
        x = epsilon - self.determinant
        inside = math.fsum(weight * gaussian_delta(max(x, self.start), mu) for weight, mu in self.pieces)
        if x >= self.start:
            return inside
        return -math.expm1(x - self.start) + math.exp(x - self.start) * inside

    def support(self, tail: float) -> tuple[float, float]:
        """From the start, or one rounding below it, to where every piece has its share of the tail left."""
        low, high = self.determinant + self.start, self.start
        if low - self.determinant > self.start:
            low = math.nextafter(low, -math.inf)
        for weight, mu in self.pieces:
            share = math.log(tail / (weight * len(self.pieces)))
            high = max(high, mu * mu / 2 - float(ndtri_exp(share)) * mu)
        return low, self.determinant + high

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """The one at the start, if there is one."""
        return ((self.determinant + self.start, self.atom),) if self.atom else ()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Normal masses with means +-mu^2/2; under Q times e^{-determinant}."""
        w = np.maximum(borders - self.determinant, self.start)
        p, q = np.zeros(len(w) - 1), np.zeros(len(w) - 1)
        for weight, mu in self.pieces:
            p += weight * interval_mass(w / mu - mu / 2)
            q += weight * interval_mass(w / mu + mu / 2)
        return p, q * math.exp(-self.determinant)

    def place(self, count: int, parts: Parts) -> None:
        """A closed moment generating function."""
        parts.closed(self, count)

    def log_mgf(self, s: ComplexArray) -> tuple[ComplexArray, Array]:
        """E e^{sW} piece by piece, with z = mu (s + 1/2) - start/mu and phi the normal density.

        E(e^{sY}; Y > start) = e^{s(s+1)mu^2/2} - e^{s start} phi(start/mu - mu/2) M(z), or e^{s start} phi(..) M(-z)
        where Re z < 0: the Mills ratio is only asked for where it is bounded.
        """
        terms = [term for piece in self.pieces for term in self._terms(*piece, s)]
        if self.atom:
            terms.append((np.ones_like(s), s * self.start + math.log(self.atom), np.zeros(len(s))))
        top = np.max([exponent.real for _, exponent, _ in terms], axis=0)
        total, error = np.zeros(len(s), complex), np.zeros(len(s))
        for factor, exponent, wrong in terms:
            size = np.exp(exponent.real - top)
            total = total + factor * np.exp(exponent - top)
            error = error + size * (wrong + ULP * np.abs(factor) * (16 + 8 * np.abs(exponent)))
        return log_with_error(s * self.determinant + top, total, error)

    def _terms(self, weight: float, mu: float, s: ComplexArray) -> list[tuple[ComplexArray, ComplexArray, Array]]:
        """(factor, exponent, error of the factor) of one piece."""
        z = mu * (s + 0.5) - self.start / mu
        edge = s * self.start + self._log_edge(weight, mu)
        beyond = float(z[0].real) >= 0
        ratio = complex_mills(z if beyond else -z)
        # |M'| <= 1, and z carries the rounding of its terms
        wrong = FADDEEVA * np.abs(ratio) + 8 * ULP * (mu * np.abs(s + 0.5) + self.start / mu)
        if not beyond:
            return [(ratio, edge, wrong)]
        whole = mu * mu / 2 * s * (s + 1) + math.log(weight)
        return [(np.ones_like(s), whole, np.zeros(len(s))), (-ratio, edge, wrong)]

    def _log_edge(self, weight: float, mu: float) -> float:
        """Log of weight phi(start/mu - mu/2)."""
        return math.log(weight) - (self.start / mu - mu / 2) ** 2 / 2 - LOG_SQRT_2PI

    def size(self, c: float, t: float) -> int:
        """A few terms a piece, one of which is worth ten exponentials."""
        return 1 + 12 * len(self.pieces)

    def log_mgf_real(self, c: Array) -> Array:
        """The same for real c: log of the sum of weight e^{c(c+1)mu^2/2} Phi(mu (c + 1/2) - start/mu) and the atom."""
        logs = [
            math.log(weight) + mu * mu / 2 * c * (c + 1) + log_ndtr(mu * (c + 0.5) - self.start / mu)
            for weight, mu in self.pieces
        ]
        if self.atom:
            logs.append(c * self.start + math.log(self.atom))
        return np.asarray(c * self.determinant + np.logaddexp.reduce(logs, axis=0))

    def modulus(self, c: float, t: float) -> float:
        """The atom at full size; of each piece a Gaussian fall and |M| <= min(M(Re z), 2/|z|), both falling in t."""
        whole = float(self.log_mgf_real(np.array([c]))[0]) - c * self.determinant
        total = self.atom * math.exp(min(c * self.start - whole, 300.0))
        for weight, mu in self.pieces:
            x = mu * (c + 0.5) - self.start / mu
            ratio = min(_mills(abs(x)), 2 / math.hypot(x, mu * t))
            total += ratio * math.exp(min(c * self.start + self._log_edge(weight, mu) - whole, 300.0))
            if x >= 0:
                total += weight * math.exp(min(mu * mu / 2 * (c * (c + 1) - t * t) - whole, 300.0))
        return min(1.0, total * (1 + 1e-8))


def two_sided_loss(determinant: float, mu: float) -> GaussianPiecesLoss:
    """T39: U = c + mu^2/2 + |X|, X ~ N(0, mu^2): twice the upper half of N(mu^2/2, mu^2)."""
    return GaussianPiecesLoss(determinant, mu * mu / 2, ((2.0, mu),))


def one_sided_loss(determinant: float, mu: float) -> GaussianPiecesLoss:
    """T40: U = c + max(0, Y), Y ~ N(mu^2/2, mu^2): an atom of mass Phi(-mu/2) where Y <= 0."""
    return GaussianPiecesLoss(determinant, 0.0, ((1.0, mu),), float(ndtr(-mu / 2)))


def replaced_loss(determinant: float, mu: float) -> GaussianPiecesLoss:
    """T41 (b): U = c + W with P(W > t) = min(1, P(N(2 mu^2, 4 mu^2) > t) + 2 P(N(mu^2/2, mu^2) > t)), t >= 0.

    Where the sum is below 1 its profile is delta_GDP(x; 2 mu) + 2 delta_GDP(x; mu), the union bound of T41 itself;
    where it is not, the law's profile is the smaller one.
    """
    return GaussianPiecesLoss(determinant, mu * _union_start(mu), ((1.0, 2 * mu), (2.0, mu)))


def _union_start(mu: float) -> float:
    """The x with Phi(mu - x/2) + 2 Phi(mu/2 - x) = 1: Newton on log 2 Phi(mu/2 - x) - log Phi(x/2 - mu), a fall."""
    low, high, x = 0.0, 2 * mu + 1, 0.45 + mu
    for _ in range(100):
        value = math.log(2) + float(log_ndtr(mu / 2 - x)) - float(log_ndtr(x / 2 - mu))
        low, high = (x, high) if value > 0 else (low, x)
        slope = 1 / _mills(x - mu / 2) + 0.5 / _mills(mu - x / 2)
        step, last = x + value / slope, x
        x = step if low < step < high else (low + high) / 2
        if abs(x - last) <= 4 * ULP * x:
            break
    return x


def _mills(x: float) -> float:
    return SQRT_HALF_PI * float(erfcx(x * math.sqrt(0.5)))
