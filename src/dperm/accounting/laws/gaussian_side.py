# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Upper part of the loss U bounding objective perturbation.

Pieces of normal laws above an edge (T39, T40, T41, T53a).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri_exp

from dperm.accounting.laws.gaussian import gaussian_log_delta, interval_mass
from dperm.accounting.laws.law import Array, ComplexArray
from dperm.accounting.laws.mills import FADDEEVA, LOG_SQRT_2PI, Term, complex_mills
from dperm.privacy.gaussian_profile import mills_ratio
from dperm.privacy.rounding import ULP


@dataclass(frozen=True)
class GaussianSide:
    """U = ``determinant`` + W where W > ``start`` >= 0; pieces (weight, mu): weight times N(mu^2/2, mu^2)."""

    determinant: float
    start: float
    pieces: tuple[tuple[float, float], ...]

    @property
    def edge(self) -> float:
        """Smallest value of U, determinant plus start."""
        return self.determinant + self.start

    @property
    def scale(self) -> float:
        """Largest mu, the step size of searches for a start."""
        return max(mu for _, mu in self.pieces)

    def raised(self, start: float) -> "GaussianSide":
        """Return the side above a larger start."""
        return GaussianSide(self.determinant, start, self.pieces)

    def start_at(self, loss: float) -> float:
        """Return the start with its edge at ``loss``."""
        return loss - self.determinant

    def delta(self, epsilon: float) -> float:
        """E(1 - e^{epsilon - U})_+ from the edge on: the sum of weight delta_GDP(epsilon - determinant; mu) (T6)."""
        return math.exp(self.log_delta(epsilon))

    def log_delta(self, epsilon: float) -> float:
        """Logarithm of `delta`, also where that underflows."""
        x = max(epsilon - self.determinant, 0.0)
        logs = [math.log(weight) + gaussian_log_delta(x, mu) for weight, mu in self.pieces]
        return float(np.logaddexp.reduce(logs))

    def above(self) -> tuple[float, float]:
        """Return the P-mass, and the Q-mass E e^{-U}, above the edge."""
        p = math.fsum(weight * float(ndtr(mu / 2 - self.start / mu)) for weight, mu in self.pieces)
        q = math.fsum(weight * float(ndtr(-mu / 2 - self.start / mu)) for weight, mu in self.pieces)
        return p, q * math.exp(-self.determinant)

    def density(self) -> float:
        """Minus the derivative of the P-mass by the start."""
        heights = (w / mu * math.exp(-((self.start / mu - mu / 2) ** 2) / 2) for w, mu in self.pieces)
        return math.fsum(heights) / math.sqrt(2 * math.pi)

    def reach(self, tail: float) -> float:
        """Return a loss with P-mass of at most ``tail`` above it."""
        high = self.start
        for weight, mu in self.pieces:
            share = math.log(tail / (weight * len(self.pieces)))
            high = max(high, mu * mu / 2 - float(ndtri_exp(share)) * mu)
        return self.determinant + high

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Normal masses with means +-mu^2/2; under Q times e^{-determinant}."""
        w = np.maximum(borders - self.determinant, self.start)
        p, q = np.zeros(len(w) - 1), np.zeros(len(w) - 1)
        for weight, mu in self.pieces:
            p += weight * interval_mass(w / mu - mu / 2)
            q += weight * interval_mass(w / mu + mu / 2)
        return p, q * math.exp(-self.determinant)

    def terms(self, s: ComplexArray) -> list[Term]:
        """E e^{sU} piece by piece, with z = mu (s + 1/2) - start/mu and phi the normal density.

        E(e^{sY}; Y > start) = e^{s(s+1)mu^2/2} - e^{s start} phi(start/mu - mu/2) M(z), or e^{s start} phi(..) M(-z)
        where Re z < 0: the Mills ratio is only asked for where it is bounded.
        """
        out: list[Term] = []
        for weight, mu in self.pieces:
            z = mu * (s + 0.5) - self.start / mu
            beyond = float(z[0].real) >= 0
            ratio = complex_mills(z if beyond else -z)
            # |M'| <= 1, and z carries the rounding of its terms
            wrong = FADDEEVA * np.abs(ratio) + 8 * ULP * (mu * np.abs(s + 0.5) + self.start / mu)
            out.append((-ratio if beyond else ratio, s * self.edge + self._log_height(weight, mu), wrong))
            if beyond:
                whole = s * self.determinant + mu * mu / 2 * s * (s + 1) + math.log(weight)
                out.append((np.ones_like(s), whole, np.zeros(len(s))))
        return out

    def _log_height(self, weight: float, mu: float) -> float:
        """Log of weight phi(start/mu - mu/2)."""
        return math.log(weight) - (self.start / mu - mu / 2) ** 2 / 2 - LOG_SQRT_2PI

    def log_moment(self, c: Array) -> Array:
        """Log of E e^{cU} at real c, the sum of weight e^{c(c+1)mu^2/2} Phi(mu (c + 1/2) - start/mu)."""
        logs = [
            math.log(weight) + mu * mu / 2 * c * (c + 1) + log_ndtr(mu * (c + 0.5) - self.start / mu)
            for weight, mu in self.pieces
        ]
        return np.asarray(c * self.determinant + np.logaddexp.reduce(logs, axis=0))

    def log_modulus(self, c: float, t: float) -> float:
        """Log of a bound on |E e^{(c + it')U}|, t' >= t: a Gaussian fall, and |M| <= min(M(Re z), 2/|z|)."""
        logs = []
        for weight, mu in self.pieces:
            x = mu * (c + 0.5) - self.start / mu
            ratio = min(mills_ratio(abs(x)), 2 / math.hypot(x, mu * t))
            logs.append(c * self.edge + self._log_height(weight, mu) + math.log(ratio))
            if x >= 0:
                logs.append(c * self.determinant + math.log(weight) + mu * mu / 2 * (c * (c + 1) - t * t))
        return float(np.logaddexp.reduce(logs))
