# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gauss-Legendre panels for int g(u) (1 - q + q e^u)^p du with an error that is proved.

On a panel [m - r, m + r] the n-point rule errs by at most (64/15) r M rho^{-2n} / (1 - rho^{-2}), M a bound of the
integrand on the Bernstein ellipse of radius rho (half axes a = r (rho + 1/rho)/2 and b = r (rho - 1/rho)/2;
Trefethen, Approximation Theory and Practice, Theorem 19.3). With w = 1 - q + q e^{x+iy}, |y| <= b <= pi/2:
|w| <= 1 - q + q e^{m+a}, |w| >= 1 - q + q e^{m-a} cos b, |arg w| <= atan2(q e^{m+a} sin b, 1 - q + q e^{m+a} cos b).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from dperm.accounting.laws.law import Array
from dperm.accounting.laws.sampling import sampled_loss

TARGET = 1e-17  # error aimed at, relative to the largest integrand on the panels
ORDERS = (12, 16, 24, 32, 48, 64)
MOST_PANELS = 4096


class AnalyticDensity(Protocol):
    """A density that extends analytically to the strip |Im u| <= pi/2."""

    def log_density(self, u: Array) -> Array:
        """Log of the density on the real line."""

    def growth(self, y: float) -> float:
        """Bound on log |density(u + iy) / density(u)|."""

    def log_peak(self, low: Array, high: Array) -> Array:
        """Log of the largest density between low and high."""


@dataclass(frozen=True)
class Panels:
    """An integral over [low, high] of density(u) times (1-q+q e^u)^{s+1} (``up``) or ^{-s}."""

    low: float
    high: float
    rate: float
    up: bool
    base: AnalyticDensity


@dataclass(frozen=True)
class QuadratureRule:
    """Nodes and weights in u, and the log of the proved absolute error of the integral for all |Im s| <= t."""

    nodes: Array
    weights: Array
    log_error: float


@lru_cache(maxsize=16)
def _legendre(order: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(order)


def integrate_panels(panels: Panels, c: float, t: float) -> QuadratureRule:
    """Double the number of panels until the proved error is below TARGET times the largest integrand."""
    count = 1
    while True:
        edges = np.linspace(panels.low, panels.high, count + 1)
        order, log_error, reached = _best_order(panels, edges, c, t)
        if reached or count >= MOST_PANELS:
            break
        count *= 2
    x, w = _legendre(order)
    half = (edges[1] - edges[0]) / 2
    nodes = ((edges[:-1] + half)[:, None] + half * x).ravel()
    return QuadratureRule(nodes, np.tile(w * half, count), log_error)


def _best_order(panels: Panels, edges: Array, c: float, t: float) -> tuple[int, float, bool]:
    """Smallest order that reaches the target (else the largest), the log of its error, and whether it reaches it."""
    middle, half = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0]) / 2
    power = c + 1 if panels.up else -c
    heights = panels.base.log_density(edges) + power * sampled_loss(edges, panels.rate)
    goal = float(heights.max()) + math.log(TARGET * float(edges[-1] - edges[0]))
    axes = [min(1.5, half * factor) for factor in (0.5, 1.0, 2.0, 4.0, 8.0)]
    bound = math.inf
    for order in ORDERS:
        bound = min(_log_error(panels, middle, half=half, c=c, t=t, b=b, order=order) for b in axes)
        if bound <= goal:
            return order, bound, True
    return ORDERS[-1], bound, False


def _log_error(panels: Panels, middle: Array, half: float, c: float, t: float, b: float, order: int) -> float:
    """Log of the sum over panels of the Bernstein bound with half axis b."""
    rho = b / half + math.hypot(b / half, 1.0)
    a = half * (rho + 1 / rho) / 2
    top = np.maximum(middle + a, 0.0)
    rest, part = (1 - panels.rate) * np.exp(-top), panels.rate * np.exp(middle + a - top)
    argument = np.arctan2(part * math.sin(b), rest + part * math.cos(b))
    if panels.up:
        size = (c + 1) * sampled_loss(middle + a, panels.rate)
    else:
        low = np.exp(np.minimum(middle - a, 700.0))
        size = -c * np.log(1 - panels.rate + panels.rate * low * math.cos(b))
    log_m = size + t * argument + panels.base.growth(b) + panels.base.log_peak(middle - a, middle + a)
    decay = math.log(64 / 15 * half / (1 - rho**-2)) - 2 * order * math.log(rho)
    return float(np.logaddexp.reduce(log_m)) + decay
