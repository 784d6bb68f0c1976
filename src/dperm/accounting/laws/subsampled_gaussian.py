# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy loss of one Poisson-sampled Gaussian step."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri_exp

from dperm.accounting.laws.gaussian import gaussian_log_delta, interval_mass
from dperm.accounting.laws.law import Array, Parts
from dperm.accounting.laws.sampling import add_log_delta, base_loss, outwards, remove_log_delta, sampled_loss
from dperm.privacy.adjacency import Direction


@dataclass(frozen=True)
class SubsampledGaussianLoss:
    """T22 (add/remove) and T25 (replace-one): noise N(0, sigma^2), the record in the sample with probability ``rate``.

    remove:  (1-q) N(0) + q N(1)  against  N(0);      add: the same pair, reversed;
    replace: (1-q) N(0) + q N(1)  against  (1-q) N(0) + q N(-1), symmetric, the worst pair in every dimension (T25).
    In every direction the loss is monotone in the output x.
    """

    rate: float
    sigma: float
    direction: Direction

    infinity = 0.0
    resolution = 4e-15

    @property
    def ceiling(self) -> float:
        """Unbounded, except that adding a record moves the loss by at most -log(1 - q)."""
        return -math.log1p(-self.rate) * (1 + self.resolution) if self.direction is Direction.ADD else math.inf

    def delta(self, epsilon: float) -> float:
        """Closed forms: q delta_G(..) (remove), q e^{eps-u} delta_G(u) (add), their two-sided sum (replace)."""
        return math.exp(self.log_delta(epsilon))

    def log_delta(self, epsilon: float) -> float:
        """Logarithms of the closed forms."""
        if self.direction is Direction.REMOVE:
            return remove_log_delta(self._base, self.rate, epsilon)
        if self.direction is Direction.ADD:
            return add_log_delta(self._base, self.rate, epsilon)
        return self._replace_log_delta(epsilon)

    def _base(self, epsilon: float) -> float:
        return gaussian_log_delta(epsilon, 1 / self.sigma)

    def _replace_log_delta(self, epsilon: float) -> float:
        """Log of P(x > x0) - e^eps Q(x > x0) with L(x0) = eps, regrouped so that nothing cancels.

        With a = (2x0-1)/(2v), u = (2x0+1)/(2v): delta = q delta_G(a) + q e^{eps-u} delta_G(u), mu = 1/sigma.
        """
        v = self.sigma**2
        x = self.output_at(epsilon)
        a, u = (2 * x - 1) / (2 * v), (2 * x + 1) / (2 * v)
        return math.log(self.rate) + float(np.logaddexp(self._base(a), (epsilon - u) + self._base(u)))

    def output_at(self, epsilon: float) -> float:
        """x0 with L(x0) = eps >= 0, in the replace direction."""
        return float(self._outputs_at(np.array([epsilon]))[0])

    def _outputs_at(self, epsilon: Array) -> Array:
        """In logarithms: z = e^{x0/v} is the positive root of k z^2 - (e^eps - 1)(1-q) z - e^eps k; k = q e^{-1/2v}."""
        v = self.sigma**2
        log_k = math.log(self.rate) - 1 / (2 * v)
        gap = np.log(np.maximum(-np.expm1(-epsilon), 1e-300))
        log_half = math.log1p(-self.rate) + epsilon + gap - math.log(2) - log_k  # (e^eps - 1)(1 - q) / (2k)
        log_root = np.logaddexp(2 * log_half, epsilon) / 2
        return np.asarray(v * np.logaddexp(log_half, log_root))

    def loss(self, x: Array) -> Array:
        """L(x) at real outputs x."""
        v = self.sigma**2
        ell = sampled_loss((2 * x - 1) / (2 * v), self.rate)
        if self.direction is Direction.REMOVE:
            return ell
        if self.direction is Direction.ADD:
            return -ell
        return self._replace_loss(x)

    def _replace_loss(self, x: Array) -> Array:
        """l(x) - l(-x) = log(1 + q (e^a - e^b)/(1 - q + q e^b)) at x > 0, a - b = 2x/v; odd, with its digits near 0."""
        v, away = self.sigma**2, np.abs(x)
        with np.errstate(divide="ignore"):
            log_gap = (2 * away - 1) / (2 * v) + np.log(-np.expm1(-2 * away / v))
        log_ratio = math.log(self.rate) + log_gap - sampled_loss((-2 * away - 1) / (2 * v), self.rate)
        return np.asarray(np.sign(x) * np.logaddexp(0.0, log_ratio))

    def support(self, tail: float) -> tuple[float, float]:
        """The losses at the outputs that bound all but ``tail`` of P on each side, rounded outwards.

        Little noise puts nearly all of P within a rounding of one loss (0 or +-log(1 - q)): an end that is rounded
        inwards, or underflows to 0, would leave it outside.
        """
        reach = -float(ndtri_exp(math.log(tail))) * self.sigma
        ends = self.loss(np.array([-reach, 1 + reach]))
        return outwards(float(ends.min()), float(ends.max()))

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return no atoms: the law is continuous."""
        return ()

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Masses of the outputs between the borders' preimages."""
        if self.direction is Direction.REPLACE:
            return self._replace_masses(borders)
        forward = self.direction is Direction.REMOVE
        ell = borders if forward else -borders[::-1]
        x = 0.5 + self.sigma**2 * base_loss(ell, self.rate)
        plain = interval_mass(x / self.sigma)
        mixed = (1 - self.rate) * plain + self.rate * interval_mass((x - 1) / self.sigma)
        return (mixed, plain) if forward else (plain[::-1], mixed[::-1])

    def _replace_masses(self, borders: Array) -> tuple[Array, Array]:
        x = np.sign(borders) * self._outputs_at(np.abs(borders))
        centre, plus, minus = (interval_mass((x - m) / self.sigma) for m in (0.0, 1.0, -1.0))
        return (1 - self.rate) * centre + self.rate * plus, (1 - self.rate) * centre + self.rate * minus

    def place(self, count: int, parts: Parts) -> None:
        """Register as an analytic function of Gaussian noise."""
        parts.smooth(self, count)
