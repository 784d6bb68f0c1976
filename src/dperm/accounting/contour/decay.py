# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How fast a step's moment generating function decays along the contour: one number certifies the whole tail.

Moving x off the axis, x -> x + i y(x) with 0 <= y < pi v / 2 (x - iy in the add direction), leaves phi unchanged, and

    |phi(c + it')| <= int |f(x + iy; c)| e^{-t' Im L(x + iy)} sqrt(1 + y'^2) dx.

Im L >= 0 on the path, so the right-hand side falls with t': its value at t bounds every t' >= t.
"""

import math

import numpy as np

from dperm.accounting.contour.step import LOG_SQRT_2PI, ContourStep
from dperm.accounting.laws.law import Array
from dperm.accounting.laws.sampling import sampled_loss
from dperm.privacy.adjacency import Direction

LEVELS = 0.4 ** np.arange(0.0, 9.0)


def decay_bound(step: ContourStep, c: float, t: float, log_mass: float) -> float:
    """B >= sup over t' >= t of |phi(c + it')| / e^log_mass, the best of nine paths.

    Path: y = Y u/(1+u), u = k t |v L'| / Y, which follows the steepest descent k = 1 while t is small and saturates at
    Y. The integral is a trapezoid sum plus its difference to the sum over every second node (an allowance).
    """
    v, sigma = step.v, step.law.sigma
    h = min(step.finest, sigma / 6, v / 2)
    margin = 6 * max([window.width for window in step.windows], default=sigma)
    high = step.high if step.stopped else step.high + margin
    x = np.arange(high, step.low - margin, -h)[::-1]
    slope, bend = step.slope(x)
    level = (min(0.49 * math.pi * v, 6 * sigma) * LEVELS)[:, None]
    gain = v / (v + min(t, 1.0)) * t
    u = gain * slope / level
    y = level * u / (1 + u)
    tilt = gain * bend / v / (1 + u) ** 2
    log_abs, angle = step.off_axis(x, y, c)
    values = np.exp(np.minimum(log_abs - t * angle - log_mass, 300.0)) * np.sqrt(1 + tilt * tilt)
    fine = values.sum(axis=1) * h
    coarse = values[:, ::2].sum(axis=1) * 2 * h
    ends = values[:, 0] * 20 * sigma + (
        _closing(step, c, t, y[:, -1], log_mass) if step.stopped else values[:, -1] * 20 * sigma
    )
    return float(np.min(fine + np.abs(fine - coarse) + ends))


def _closing(step: ContourStep, c: float, t: float, y: Array, log_mass: float) -> Array:
    """The segment from high + iy back to the stop at high: |f| at its largest, times the shorter of y and 1/(t rate).

    On the segment Im L >= rate y' / 2 with rate = Im L(high + iy)/y: with r = q e^a/(1-q), arg(1 + r e^{i theta}) is
    concave in theta below pi/2 for r <= 1, and lies between theta r/(1+r) >= theta/2 and theta for r > 1.
    """
    x = np.array([step.high])
    depth = y[:, None]
    log_abs = (depth * depth - x * x) / (2 * step.v) - math.log(step.law.sigma) - LOG_SQRT_2PI
    for window in step.windows:
        log_abs = log_abs + window.log_bound(x, depth)
    v, q = step.v, step.law.rate
    ratio = sampled_loss((2 * x - 1) / (2 * v), q)
    log_abs = log_abs + (c + 1) * ratio
    if step.law.direction is Direction.REPLACE:
        log_abs = log_abs - c * np.log(1 - q + q * np.exp((-2 * x - 1) / (2 * v)) * np.cos(depth / v))
    _, angle = step.off_axis(x, depth, c)
    length = np.minimum(depth, 2 * depth / np.maximum(t * angle, 1e-300))
    return np.asarray((np.exp(np.minimum(log_abs - log_mass, 300.0)) * length)[:, 0])
