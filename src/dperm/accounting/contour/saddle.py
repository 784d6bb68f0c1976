# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Where to put the line: the saddle point of F(s) e^{-s eps} / (s(s+1)). A choice, never part of a proof."""

import math

import numpy as np

from dperm.accounting.contour.closing import NotClosedError
from dperm.accounting.contour.product import PlainProduct, Product
from dperm.accounting.laws.law import Array

GRID = np.exp(np.arange(-12.0, 27.0))


def saddle_for_delta(product: PlainProduct, log_delta: float) -> tuple[float, float]:
    """(c, eps) such that the saddle-point approximation of delta(eps) is the target."""
    grid = GRID
    for _ in range(2):
        log_d, eps = _saddle_curve(product, grid)
        below = np.flatnonzero(log_d < log_delta)
        i = max(int(below[0]) if len(below) else len(grid) - 1, 1)
        low, high = float(grid[i - 1]), float(grid[i])
        bounds = log_d[i - 1], log_d[i], eps[i - 1], eps[i]
        grid = np.exp(np.linspace(math.log(low), math.log(high), 9))
    share = 0.0
    if bounds[0] > log_delta > bounds[1] and np.isfinite(bounds[1]):
        share = float((bounds[0] - log_delta) / (bounds[0] - bounds[1]))
    guess = float(bounds[2] + share * (bounds[3] - bounds[2])) if np.isfinite(bounds[3]) else float(bounds[2])
    if not math.isfinite(guess):
        raise NotClosedError("saddle")
    return low * (high / low) ** share, guess


def _saddle_curve(product: PlainProduct, c: Array) -> tuple[Array, Array]:
    """(log delta, eps) along c: eps = K' - 1/c - 1/(c+1), and the Gaussian integral around the saddle."""
    k0, k1, k2 = product.cumulants(c)
    eps = k1 - 1 / c - 1 / (c + 1)
    curvature = k2 + 1 / c**2 + 1 / (c + 1) ** 2
    log_d = k0 - c * eps - np.log(c * (c + 1)) - 0.5 * np.log(2 * math.pi * curvature)
    good = np.isfinite(k0) & np.isfinite(log_d)
    return np.where(good, log_d, -np.inf), np.where(good, eps, np.inf)


def saddle_for_epsilon(product: Product, epsilon: float) -> tuple[float, float]:
    """(c, log delta) at a given epsilon: the minimum over c of a convex function, then the Gaussian integral."""
    grid = GRID
    for _ in range(2):
        height = product.log_real(grid) - grid * epsilon - np.log(grid * (grid + 1))
        height = np.where(np.isfinite(height), height, np.inf)
        i = int(np.argmin(height))
        if not np.isfinite(height[i]):
            raise NotClosedError("saddle")
        low, high = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, len(grid) - 1)])
        best = float(grid[i])
        grid = np.exp(np.linspace(math.log(low), math.log(high), 11))
    d = 0.02 * best
    below, here, above = (float(v) for v in product.log_real(np.array([best - d, best, best + d])))
    curvature = max((above - 2 * here + below) / d**2, 0.0) if np.isfinite(above) else 0.0
    curvature += 1 / best**2 + 1 / (best + 1) ** 2
    return best, here - best * epsilon - math.log(best * (best + 1)) - 0.5 * math.log(2 * math.pi * curvature)
