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

TARGET = 1e-17  # error aimed at, relative to the largest integrand on the panels
ORDERS = (12, 16, 24, 32, 48, 64)


class AnalyticDensity(Protocol):
    """A density that extends analytically to the strip |Im u| <= pi/2."""

    def density(self, u: Array) -> Array:
        """The density on the real line."""

    def growth(self, y: float) -> float:
        """Bound on log |density(u + iy) / density(u)|."""

    def peak(self, low: Array, high: Array) -> Array:
        """Largest density between low and high."""


@dataclass(frozen=True)
class Panels:
    """An integral over [low, high] of density(u) times (1-q+q e^u)^{s+1} (``up``) or ^{-s}."""

    low: float
    high: float
    rate: float
    up: bool
    base: "AnalyticDensity"


@dataclass(frozen=True)
class Rule:
    """Nodes and weights in u, and the proved absolute error of the integral for all |Im s| <= t."""

    nodes: Array
    weights: Array
    error: float


@lru_cache(maxsize=16)
def _legendre(order: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(order)


def integrate_panels(panels: Panels, c: float, t: float) -> Rule:
    """Double the number of panels until the proved error is below TARGET times the largest integrand."""
    count = 1
    while True:
        edges = np.linspace(panels.low, panels.high, count + 1)
        order, error, peak = _best_order(panels, edges, c, t)
        if error <= TARGET * peak or count >= 4096:
            break
        count *= 2
    x, w = _legendre(order)
    half = (edges[1] - edges[0]) / 2
    nodes = ((edges[:-1] + half)[:, None] + half * x).ravel()
    return Rule(nodes, np.tile(w * half, count), error)


def _best_order(panels: Panels, edges: Array, c: float, t: float) -> tuple[int, float, float]:
    """Smallest order that reaches the target (else the largest), its error, and the largest integrand."""
    middle, half = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0]) / 2
    power = c + 1 if panels.up else -c
    sampled = np.log1p(panels.rate * np.expm1(np.minimum(edges, 700.0)))
    peak = float((panels.base.density(edges) * np.exp(np.clip(power * sampled, -700, 700))).max()) * (
        edges[-1] - edges[0]
    )
    axes = [min(1.5, half * factor) for factor in (0.5, 1.0, 2.0, 4.0, 8.0)]
    order, error = ORDERS[-1], math.inf
    for candidate in ORDERS:
        bound = min(_error(panels, middle, half, c, t, b, candidate) for b in axes)
        order, error = candidate, bound
        if bound <= TARGET * peak:
            break
    return order, error, peak


def _error(panels: Panels, middle: Array, half: float, c: float, t: float, b: float, order: int) -> float:
    """Sum over panels of the Bernstein bound with half axis b."""
    rho = b / half + math.hypot(b / half, 1.0)
    a = half * (rho + 1 / rho) / 2
    high, low = np.exp(np.minimum(middle + a, 700.0)), np.exp(np.minimum(middle - a, 700.0))
    q = panels.rate
    argument = np.arctan2(q * high * math.sin(b), 1 - q + q * high * math.cos(b))
    if panels.up:
        size = (c + 1) * np.log1p(q * (high - 1))
    else:
        size = -c * np.log(1 - q + q * low * math.cos(b))
    reach = panels.base.peak(middle - a, middle + a)
    log_m = size + t * argument + panels.base.growth(b) + np.log(np.maximum(reach, 1e-300))
    decay = math.log(64 / 15 * half / (1 - rho**-2)) - 2 * order * math.log(rho)
    return float(np.exp(np.minimum(log_m + decay, 700.0)).sum())
