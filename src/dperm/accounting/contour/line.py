# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""delta(epsilon) as a trapezoid sum on the line Re s = c, with every error bounded.

For c > 0 the unmarked, not-all-left part of the profile is (1/2 pi i) int e^{log F(s) - s eps} / (s(s+1)) ds, and

    D(eps) = (d/pi) Re sum'_{k<n} F(s_k) e^{-s_k eps} / (s_k(s_k+1)),   s_k = c + ikd, d = 2 pi/A   (k = 0 halved)

satisfies  D - alias - truncation - quadrature <= delta <= D + truncation + quadrature:

- alias (one-sided): Poisson summation adds delta(eps + mA) e^{cmA} over m != 0; delta <= 1 on the left and Chernoff
  delta(x) <= kappa(c2) e^{log F(c2) - c2 x}, kappa(c) = c^c/(1+c)^{c+1}, at some c2 > c on the right;
- truncation: F(c) e^{-c eps} S(t_n) / (pi t_{n-1}) with S from decay.py, since sum_{k>=n} d/t_k^2 <= 1/t_{n-1};
- quadrature: the majorant of product.py, and the rounding of the sum itself.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.contour.closing import NotClosedError, Tolerance
from dperm.accounting.contour.product import Product, on_line
from dperm.accounting.laws.law import ComplexArray
from dperm.accounting.special import log_kappa
from dperm.privacy.rounding import ULP

STEEPER = np.array([1.02, 1.05, 1.1, 1.2, 1.35, 1.6, 2.0, 3.0, 5.0])  # candidates for c2 / c


@dataclass
class Contour:
    """One line, usable for every epsilon near the one it was built for."""

    c: float
    start: float
    period: float
    steeper: float
    log_steeper: float
    log_scale: float
    log_tail: float
    s: ComplexArray
    kernel: ComplexArray
    wrong: float
    size: float

    @property
    def spacing(self) -> float:
        """Distance d of the nodes."""
        return 2 * math.pi / self.period

    def delta_and_slope(self, epsilon: float) -> tuple[float, float]:
        """Return D(epsilon) and its derivative in epsilon."""
        terms = np.exp(self.kernel - 1j * (self.s.imag * epsilon))
        terms[0] *= 0.5
        scale = self.spacing / math.pi * self._scale(epsilon)
        return scale * float(terms.real.sum()), -scale * float((terms * self.s).real.sum())

    def _scale(self, epsilon: float) -> float:
        return math.exp(min(self.log_scale - self.c * epsilon, 700.0))

    def errors(self, epsilon: float) -> tuple[float, float]:
        """(alias, truncation + quadrature) at epsilon."""
        a, c = self.period, self.c
        left = math.exp(-c * a) / -math.expm1(-c * a)
        gap = (self.steeper - c) * a
        right = math.exp(min(self.log_steeper - self.steeper * epsilon - gap, 700.0)) / -math.expm1(-gap)
        last = self.spacing * (len(self.s) - 1)
        truncation = self._scale(epsilon) * math.exp(self.log_tail) / (math.pi * last)
        phase = ULP * (8 + self.spacing * len(self.s) * abs(epsilon) + 2 * (abs(self.log_scale) + c * abs(epsilon)))
        line = self._scale(epsilon) * self.spacing / math.pi * (self.wrong + phase * self.size)
        return left + right, truncation + line


def make_contour(product: Product, c: float, epsilon: float, log_delta: float, tolerance: Tolerance) -> Contour:
    """The line at c for an epsilon near the given one, its errors small against e^log_delta."""
    product.prepare(c)
    period, steeper, log_steeper = _period(product, c, epsilon, log_delta, tolerance)
    spacing = 2 * math.pi / period
    log_f = float(product.log_real(np.array([c]))[0])
    goal = math.log(tolerance.truncation * math.pi) + log_delta - (log_f - c * epsilon) - 1.0
    terms, log_tail = _terms(product, c, spacing, goal, tolerance)
    line = product.line(spacing, terms, tolerance)
    s = on_line(c, spacing, terms)
    kernel = line.values - np.log(s * (s + 1))
    weight = 1 / np.abs(s * (s + 1))
    size = float(np.exp(kernel.real).sum())
    return Contour(
        c,
        epsilon,
        period=period,
        steeper=steeper,
        log_steeper=log_steeper,
        log_scale=line.log_scale,
        log_tail=log_tail,
        s=s,
        kernel=kernel,
        wrong=float((line.wrong * weight).sum()),
        size=size,
    )


def _period(
    product: Product, c: float, epsilon: float, log_delta: float, tolerance: Tolerance
) -> tuple[float, float, float]:
    """A from both aliases; the right one at the best c2 (1e-4: allowance for log F(c2), a sum to search accuracy)."""
    log_tol = math.log(tolerance.alias)
    floor = max(epsilon - 1 / c, 0.0)
    steeper = c * STEEPER
    log_f = product.log_real(steeper) + 1e-4 + log_kappa(steeper)
    need = (log_f - steeper * floor - log_delta - log_tol) / (steeper - c)
    need = np.where(np.isfinite(need), need, np.inf)
    best = int(np.argmin(need))
    period = max((-log_tol - log_delta) / c, float(need[best]))
    if not math.isfinite(period):
        raise NotClosedError("period")
    return period, float(steeper[best]), float(log_f[best])


def _terms(product: Product, c: float, spacing: float, goal: float, tolerance: Tolerance) -> tuple[int, float]:
    """Number of nodes, and log S there, with log S(t) - log t <= goal: a ladder that jumps by the shortfall."""
    d = 1e-3 * c
    below, here, above = product.log_real(np.array([c - d, c, c + d]))
    curvature = max(float(above - 2 * here + below) / (d * d), 1e-200)
    t = max(math.sqrt(2 * max(-goal, 1.0) / curvature), 2 * spacing)
    while t <= tolerance.max_terms * spacing:
        value = product.log_decay(t)
        if value - math.log(t) <= goal:
            return int(t / spacing) + 2, value
        short = goal + math.log(t)
        jump = math.sqrt(short / value) if value < -1 and short < 0 else 4.0  # the exponent grows at most like t^2
        t *= min(max(jump, 1.12), 4.0)
    raise NotClosedError("truncation")
