# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Damped Newton.

A Hessian is used as long as its steps shrink the gradient by a good factor, and renewed when they do not: close to the
minimum an old or a thinned Hessian is as good as a fresh one, at the price of one pass over the data instead of a
matrix product.

Where f is a line, the Hessian says nothing about where it bends, and steps are far too long. If only a short share of
one could be taken, the next Hessian is made cautious: part of each f'' is replaced by the curvature of a parabola above
f (`secant`), whose minimum is never too far; and bold again, by and by, as whole steps succeed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.targets import LabelKind
from dperm.erm.direction import FACTORED_DIM, Direction, direction_at, useful_gram
from dperm.erm.objective import Objective

MOST_STEPS = 1000
"""Five to ten are typical; hundreds happen if the smoothed region is narrow and Lambda tiny."""
MOST_TRIALS = 40
MOST_BISECTIONS = 5
DECREASE = 1e-4
FLAT = 0.3
"""A line has been searched well enough where its slope is this share of the first one."""
SHORT = 0.5
LEAST_CAUTION = 1e-7
GOOD_SHRINKING = 0.2
THINNED_ROWS = (30, 10)
"""Rows per column in the sum that gives the start: of one score, and of several, whose rows say more."""
HESSIAN_ROWS = (200, 20)
"""The same in a thinned Hessian."""
FEW_COLUMNS = 64


@dataclass(frozen=True)
class Point:
    """Where a descent is."""

    objective: Objective
    theta: Floats

    @cached_property
    def gradient(self) -> Floats:
        """The gradient of J."""
        return self.objective.gradient(self.theta)

    @cached_property
    def value(self) -> float:
        """J, if it is asked for."""
        return self.objective.value(self.theta)

    @cached_property
    def size(self) -> float:
        """The norm of the gradient."""
        return float(np.linalg.norm(self.gradient))


Done = Callable[[Point], bool]


def approximate(objective: Objective) -> Floats:
    """A minimiser of the thinned objective, to start from; 0 if there are too few rows to thin.

    As exact as the thinned sum stands for the whole one: its gradient is off by about n/sqrt(m) records' gradients.
    """
    start, data = np.zeros(objective.spec.dim), objective.data
    stride = data.stride_for(max(THINNED_ROWS[objective.spec.outputs > 1] * objective.spec.width, data.rows // 32))
    if stride == 1 or objective.spec.width > FACTORED_DIM:
        return start
    thinned = replace(objective, stride=stride)
    goal = objective.spec.lipschitz * 0.02 * math.sqrt(data.rows * stride)
    return descend(thinned, start, lambda point: point.size <= goal)[0].theta


def descend(objective: Objective, start: Floats, done: Done) -> tuple[Point, bool]:
    """The first point at which it is ``done``, or the last one that was reached and False."""
    point = Point(objective, start)
    model = Model(objective, _hessian_stride(objective) if start.any() else 1)
    shortest = point.size
    for _ in range(MOST_STEPS):
        if done(point):
            return point, True
        move = model.step_from(point)
        after, share = _along(point, move, shortest, patient=model.is_fresh)
        if model.is_exhausted if after is None else _is_still(point, after):
            break
        model.judge(point, after, share)
        point = after or point
        shortest = min(shortest, point.size)
    return point, done(point)


@dataclass
class Model:
    """The Hessian in use: of which rows, how cautious, and for how many steps it has served."""

    objective: Objective
    stride: int
    caution: float = 0.0
    uses: int = 0
    is_first: bool = True
    direction: Direction | None = None

    def step_from(self, point: Point) -> Floats:
        """A Newton step, with a Hessian at ``point`` if there is none to be used again."""
        if self.direction is None:
            thinned = replace(self.objective, stride=self.objective.stride * self.stride, caution=self.caution)
            self.direction, self.uses = direction_at(thinned, point.theta, self.gram), 0
        self.uses += 1
        return self.direction(point.gradient)

    @cached_property
    def gram(self) -> Floats | None:
        """What eases the Hessians of several scores, for all of them."""
        return useful_gram(self.objective)

    @property
    def is_fresh(self) -> bool:
        """Whether the Hessian is that of the point."""
        return self.uses == 1

    @property
    def is_exhausted(self) -> bool:
        """Whether there is no better one."""
        return self.is_fresh and self.stride == 1 and self.caution == 1

    def judge(self, point: Point, after: Point | None, share: float) -> None:
        """Keep the Hessian if it has shortened the gradient well; if not, ask for a fresher, fuller or cautious one.

        The first step is the longest: a thinned Hessian is cheap to renew after it.
        """
        served = after is not None and after.size <= GOOD_SHRINKING * point.size
        if not served and self.is_fresh:
            self.caution = _next_caution(self.caution, share) if self.stride == 1 else 0.0
            self.stride = 1
        if not served or (self.is_first and self.stride > 1):
            self.direction = None
        self.is_first = False


def _next_caution(caution: float, share: float) -> float:
    """More if only a short share of a step could be taken, less if it was taken whole."""
    if share < SHORT:
        return min(8 * caution, 1.0) if caution and share else 1.0
    return caution / 8 if caution > LEAST_CAUTION else 0.0


def _is_still(point: Point, after: Point) -> bool:
    """Whether coefficients differ by rounding alone."""
    return float(np.linalg.norm(after.theta - point.theta)) <= 2.0**-50 * float(np.linalg.norm(after.theta))


def _hessian_stride(objective: Objective) -> int:
    """A Hessian of an eighth of the rows costs little more than a pass, and is good to a few per cent.

    Losses of residuals are parabolas where it matters: with few columns the Hessian of all rows ends in a step or two.
    """
    if objective.spec.loss.labels is LabelKind.NUMBER and objective.spec.width <= FEW_COLUMNS:
        return 1
    enough = max(HESSIAN_ROWS[objective.spec.outputs > 1] * objective.spec.width, objective.data.rows // 8)
    return objective.data.stride_for(enough) if objective.stride == 1 else 1


def _along(point: Point, move: Floats, shortest: float, *, patient: bool) -> tuple[Point | None, float]:
    """A point along ``move`` at which J is smaller, and the share of ``move`` that it takes; None if none is found.

    J is convex along a line: where it still falls, it has fallen all the way, and no value has to be computed. The
    whole step will do, too, if the gradient is much shorter than it ever was.
    """
    first = float(point.gradient @ move)
    low, high, best = 0.0, 1.0, None
    bisections, share = 0, 1.0
    for _ in range(MOST_TRIALS if patient else 1):
        after = Point(point.objective, point.theta + share * move)
        slope = float(after.gradient @ move)
        if share == 1 and (slope <= 0 or after.size <= GOOD_SHRINKING * shortest):
            return after, share
        if abs(slope) <= FLAT * -first and (slope <= 0 or after.value <= point.value + DECREASE * share * first):
            return after, share
        if slope > 0:
            high = share
        else:
            low, best = share, after
        bisections += low > 0
        if bisections > MOST_BISECTIONS:
            break
        share = (low + high) / 2 if low > 0 else high / 8
    return best, low
