# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The moment generating function of one step on the contour: a trapezoid rule on the x-line with a proved error.

Poisson summation and a shift of the path by +-i eta give, for every 0 < eta < pi v and |Im s| <= t,

    |phi_h(s) - phi(s)| <= 2 M(eta) / (e^{2 pi eta/h} - 1),
    M(eta) = int_R |f(x + i eta; c)| e^{t |Im L(x + i eta)|} dx.

M is an integral over the WHOLE line, also far right of a cut. It is summed with a trapezoid rule and raised by e^4 (an
allowance, not a proof).
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.contour.closing import ROUNDING, NotClosedError, Tolerance
from dperm.accounting.contour.step import ContourStep, posterior
from dperm.accounting.laws.frequency import frequency_sums
from dperm.accounting.laws.law import Array, ComplexArray
from dperm.privacy.adjacency import Direction
from dperm.privacy.rounding import ULP

MAX_NODES = 60_000
DEEP = 55.0  # a node e^-55 below the peak is not summed: its share is below 1e-20


@dataclass(frozen=True)
class Nodes:
    """Losses and weights of one step under the tilt c, normalized to sum to 1.

    ``error`` bounds |phi_h(s) - phi(s)| / phi(c) on the whole line, rounding included.
    """

    loss: Array
    weight: Array
    log_mass: float
    error: float

    def line(self, spacing: float, terms: int) -> ComplexArray:
        """The normalized moment generating function at c + ikd, k < terms."""
        return frequency_sums(self.loss, self.weight, spacing, terms)


def make_nodes(step: ContourStep, c: float, t: float, rough_mass: float, tolerance: Tolerance) -> Nodes:
    """Trapezoid nodes for |Im s| <= t; ``rough_mass`` is log phi(c) to search accuracy."""
    h = min(_spacing(step, c, t, rough_mass, tolerance), step.finest * 2)
    if (step.high - step.low) / h > MAX_NODES:
        raise NotClosedError("x nodes")
    x = np.arange(step.low, step.high + h, h)
    loss = step.loss(x)
    log_weight = c * loss + step.log_weight(x, loss)
    top = float(log_weight.max())
    live = np.flatnonzero(log_weight > top - DEEP)
    keep = slice(int(live[0]), int(live[-1]) + 1)
    x, loss, log_weight = x[keep], loss[keep], log_weight[keep]
    weight = np.exp(log_weight - top)
    total = float(weight.sum())
    weight /= total
    error = 2 * tolerance.quadrature + _range_error(step, c, x, weight, h)
    error += ROUNDING * ULP * rounding_units(step, c, t=t, x=x, loss=loss, weight=weight, log_weight=log_weight)
    return Nodes(loss, weight, top + math.log(total * h), error)


def rounding_units(
    step: ContourStep, c: float, t: float, x: Array, loss: Array, weight: Array, log_weight: Array
) -> float:
    """Roundings of one sum, in units: arguments of exp carry the rounding of every term they are made of."""
    arguments = np.minimum(np.abs(log_weight) + 3 * x * x / step.v, 1e6)
    phases = (2 * c + 1 + t) * np.abs(loss)
    return 8 + math.log2(len(x)) + 2 * float(weight @ arguments) + 4 * float(weight @ phases)


def _spacing(step: ContourStep, c: float, t: float, log_mass: float, tolerance: Tolerance) -> float:
    """Largest h with a quadrature error of at most tolerance.quadrature phi(c)."""
    smallest = min([window.width for window in step.windows], default=math.inf)
    top = min(0.97 * math.pi * step.v, 9 * step.law.sigma, 14 * smallest)
    eta = (top * 0.7 ** np.arange(0.0, 11.0))[:, None]
    x = _whole_line(step, t, top)
    log_abs, angle = step.off_axis(x, eta, c)
    log_f = log_abs + t * np.abs(angle)
    peak = log_f.max(axis=1)
    log_m = peak + np.log(np.exp(log_f - peak[:, None]) @ np.gradient(x)) + 4.0 - log_mass
    h = 2 * math.pi * eta[:, 0] / np.maximum(log_m + math.log(2.1 / tolerance.quadrature), 1.0)
    h[(log_f[:, -1] > peak - 30) | (log_f[:, 0] > peak - 30)] = 0.0  # M is not closed on this range: not used
    if not h.max() > 0:
        raise NotClosedError("strip")
    return float(h.max())


def _whole_line(step: ContourStep, t: float, top: float) -> Array:
    """Nodes for M: fine inside the range, coarser beyond it until windows and the normal density have won."""
    h = step.finest * 1.5
    inside = np.arange(step.low, step.high + h, h)
    reach = 2 * top + step.law.sigma
    for window in step.windows:
        reach = max(reach, 2 * top + window.width * math.sqrt(2 * (t * math.pi + 60)))
    outside = np.linspace(h, reach, 60)
    return np.concatenate([inside[0] - outside[::-1], inside, inside[-1] + outside])


def outside_mass(step: ContourStep, c: float, ends: tuple[float, float], log_mass: float) -> float:
    """Integral of f(x; c) outside [low, high], relative to phi(c): f(end) / gain on either side."""
    x = np.array(ends)
    loss = step.loss(x)
    heights = np.exp(np.minimum(c * loss + step.log_weight(x, loss) - log_mass, 300.0))
    if step.stopped:
        return float(heights[0]) / _positive(_left_gain(step, c, ends[0]))
    left, right = _gains(step, c, ends)
    return float(heights[0]) / left + float(heights[1]) / right


def _range_error(step: ContourStep, c: float, x: Array, weight: Array, h: float) -> float:
    """Sum and integral outside [x_0, x_n] relative to phi(c)."""
    left, right = _gains(step, c, (float(x[0]), float(x[-1])))
    return float(weight[0]) * (1 + 1 / (left * h)) + float(weight[-1]) * (1 + 1 / (right * h))


def _gains(step: ContourStep, c: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Rates at which log f falls outside [x_0, x_n], at least: on both sides f falls geometrically.

    To the left of x_0 the log-weight has slope >= gain > 0 because -x and the pull of every right-open window only grow
    there; to the right of x_n its slope is <= (-x + a p(x))/v minus the pull of the left-open windows, p the posterior,
    increasing and <= 1: checked cell by cell up to the point beyond which p <= 1 suffices.
    """
    return _positive(_left_gain(step, c, ends[0])), _positive(_right_gain(step, c, ends[1]))


def _positive(gain: float) -> float:
    if gain <= 0:
        raise NotClosedError("x range")
    return gain


def _left_gain(step: ContourStep, c: float, x: float) -> float:
    gain = -x / step.v
    for window in step.windows:
        if window.sign > 0:
            gain += max(0.0, window.place - x) / window.width**2
        else:  # d/dx log Phi(-u) = -hazard(u)/width, and the hazard falls to the left
            gain -= _hazard((x - window.place) / window.width) / window.width
    if step.law.direction is Direction.ADD:
        gain -= c * float(step.slope(np.array([x]))[0][0]) / step.v
    return gain


def _right_gain(step: ContourStep, c: float, x: float) -> float:
    if step.law.direction is Direction.ADD:
        return x / step.v
    push = c + 1 if step.law.direction is Direction.REMOVE else 2 * c + 1
    closers = [w for w in step.windows if w.sign < 0]
    stiff = 1 / step.v + sum(1 / w.width**2 for w in closers)
    safe = max(x, (push / step.v + sum(w.place / w.width**2 for w in closers)) / stiff) + step.law.sigma
    cells = x + (safe - x) * np.expm1(np.linspace(0.0, 14.0, 257)) / math.expm1(14.0)
    pull = (cells[:-1] - _push(step, c, cells[:-1], cells[1:])) / step.v
    for window in step.windows:
        if window.sign < 0:
            pull = pull + np.maximum(cells[:-1] - window.place, 0.0) / window.width**2
        else:
            pull = pull - _hazard((window.place - x) / window.width) / window.width
    return float(pull.min())


def _push(step: ContourStep, c: float, left: Array, right: Array) -> Array:
    """Bound on v d/dx of the tilted loss between left and right: the posterior rises, its mirror image falls."""
    rate, v = step.law.rate, step.v
    rising = (c + 1) * posterior(right, rate, v)
    return rising + c * posterior(-left, rate, v) if step.law.direction is Direction.REPLACE else rising


def _hazard(u: float) -> float:
    """Upper bound on n(u)/Phi(-u): at most u + 1/u for u >= 1, at most 1.53 for u <= 1, and e^{-u^2/2} below -1."""
    if u >= 1:
        return u + 1 / u
    return 1.53 if u > -1 else 0.6 * math.exp(-u * u / 2)
