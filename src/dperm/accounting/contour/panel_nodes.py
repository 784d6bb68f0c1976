# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gauss-Legendre panels on the x-line, for steps whose phase turns too fast for one trapezoid rule.

On a panel of half length r the n-point rule errs by at most (64/15) r M rho^{-2n} / (1 - rho^{-2}), M a bound on |f|
over the Bernstein ellipse with half axes a = r (rho + 1/rho)/2, b = r (rho - 1/rho)/2 (Trefethen, Approximation Theory
and Practice, Theorem 19.3). M is the product of the factors' own maxima over [m-a, m+a] x [-b, b]: the normal density
at the point nearest 0, windows and |1 - q + q e^z| at the end where they are largest (they are monotone in Re z), and
|Im L| at the upper right corner (monotone in both).
"""

import math
from functools import lru_cache

import numpy as np

from dperm.accounting.contour.closing import ROUNDING, NotClosedError, Tolerance
from dperm.accounting.contour.quadrature import Nodes, outside_mass, rounding_units
from dperm.accounting.contour.step import LOG_SQRT_2PI, ContourStep, off_axis_ratio
from dperm.accounting.laws.law import Array
from dperm.accounting.laws.sampling import sampled_loss
from dperm.privacy.adjacency import Direction
from dperm.privacy.rounding import ULP

ORDER = 24
MAX_PANELS = 4000
SHALLOW = 40.0  # nodes e^-40 below the peak are not summed; their share is bounded and added
AXES = (0.6, 1.2, 2.5, 5.0)  # half axis b tried, in half lengths


@lru_cache(maxsize=1)
def _rule() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(ORDER)


def make_panel_nodes(step: ContourStep, c: float, t: float, rough_mass: float, tolerance: Tolerance) -> Nodes:
    """Panels for |Im s| <= t, halved until each errs by at most its share of tolerance.quadrature phi(c)."""
    low, high = _live_range(step, c)
    edges = np.linspace(low, high, 1 + max(4, math.ceil((high - low) / (8 * step.finest))))
    middle, half = (edges[:-1] + edges[1:]) / 2, np.diff(edges) / 2
    done: list[tuple[Array, Array]] = []
    error, panels = 0.0, 0
    while len(middle):
        log_error = _log_error(step, c, t, middle, half) - rough_mass
        good = log_error <= math.log(tolerance.quadrature) - 3
        done.append((middle[good], half[good]))
        error += float(np.exp(log_error[good]).sum())
        panels += int(good.sum())
        middle, half = middle[~good], half[~good] / 2
        middle, half = np.concatenate([middle - half, middle + half]), np.concatenate([half, half])
        if panels + len(middle) > MAX_PANELS:
            raise NotClosedError("panels")
    centre, radius = (np.concatenate(part) for part in zip(*done, strict=True))
    return _nodes(step, c, t=t, middle=centre, half=radius, error=error, ends=(low, high))


def _nodes(
    step: ContourStep, c: float, t: float, middle: Array, half: Array, error: float, ends: tuple[float, float]
) -> Nodes:
    node, share = _rule()
    x = (middle[:, None] + half[:, None] * node).ravel()
    log_length = np.log((half[:, None] * share).ravel())
    loss = step.loss(x)
    log_weight = c * loss + step.log_weight(x, loss) + log_length
    top = float(log_weight.max())
    weight = np.exp(log_weight - top)
    total = float(weight.sum())
    weight /= total
    log_mass = top + math.log(total)
    error += outside_mass(step, c, ends, log_mass)
    error += (
        ROUNDING * ULP * rounding_units(step, c, t=t, x=x, loss=loss, weight=weight, log_weight=log_weight - log_length)
    )
    return Nodes(loss, weight, log_mass, error)


def _live_range(step: ContourStep, c: float) -> tuple[float, float]:
    """Where the tilted weight is within e^-SHALLOW of its peak; up to the stop, if there is one."""
    x = np.linspace(step.low, step.high, 400)
    loss = step.loss(x)
    log_weight = c * loss + step.log_weight(x, loss)
    live = np.flatnonzero(log_weight > log_weight.max() - SHALLOW)
    low, high = float(x[max(live[0] - 1, 0)]), float(x[min(live[-1] + 1, len(x) - 1)])
    return low, step.high if step.stopped else high


def _log_error(step: ContourStep, c: float, t: float, middle: Array, half: Array) -> Array:
    """Log of the best Bernstein bound of every panel."""
    out = np.full(len(middle), np.inf)
    for axis in AXES:
        b = np.minimum(axis * half, 0.45 * math.pi * step.v)
        rho = b / half + np.hypot(b / half, 1.0)
        a = half * (rho + 1 / rho) / 2
        rate = np.log(64 / 15 * half / (1 - rho**-2)) - 2 * ORDER * np.log(rho)
        out = np.minimum(out, _log_peak(step, c, t=t, left=middle - a, right=middle + a, b=b) + rate)
    return out


def _log_peak(step: ContourStep, c: float, t: float, left: Array, right: Array, b: Array) -> Array:
    """Log of a bound on |f| e^{t |Im L|} over [left, right] x [-b, b], b < pi v / 2."""
    v, q = step.v, step.law.rate
    nearest = np.clip(0.0, left, right)
    out = (b * b - nearest * nearest) / (2 * v) - math.log(step.law.sigma) - LOG_SQRT_2PI
    for window in step.windows:
        out = out + window.log_bound(right if window.sign > 0 else left, b)
    _, angle = off_axis_ratio(right, b, q, v)
    if step.law.direction is Direction.ADD:
        return np.asarray(out - c * _log_floor(left, b, q, v) + t * angle)
    out = out + (c + 1) * sampled_loss((2 * right - 1) / (2 * v), q) + t * angle
    if step.law.direction is Direction.REPLACE:
        _, mirror = off_axis_ratio(-left, b, q, v)
        out = out - c * _log_floor(-right, b, q, v) + t * mirror
    return np.asarray(out)


def _log_floor(x: Array, b: Array, rate: float, v: float) -> Array:
    """Log of the lower bound 1 - q + q e^{(2x-1)/(2v)} cos(b/v) on |1 - q + q e^z|."""
    a = (2 * x - 1) / (2 * v)
    m = np.maximum(a, 0.0)
    return np.asarray(m + np.log((1 - rate) * np.exp(-m) + rate * np.exp(a - m) * np.cos(b / v)))
