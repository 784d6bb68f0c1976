# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Damped Newton: with a factored Hessian for moderate numbers of coefficients, by conjugate gradients for many.

A Hessian is used as long as its steps shrink the gradient by a good factor, and renewed when they do not: close to the
minimum an old or a thinned Hessian is as good as a fresh one, at the price of one pass over the data instead of a
matrix product.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dperm.data.arrays import Floats
from dperm.erm.objective import Objective

Direction = Callable[[Floats], Floats]

MOST_STEPS = 100
MOST_HALVINGS = 30
DECREASE = 1e-4
ROUNDING = 1e-9
"""Values of J that are this close, relatively, are not told apart."""
GOOD_SHRINKING = 0.2
FACTORED_DIM = 1024
"""Up to this many coefficients the Hessian of dense data is formed and factored."""
MOST_PRODUCTS = 250
THINNED_ROWS = 30
"""Rows per coefficient in the sum that gives the start."""
HESSIAN_ROWS = 200
"""The same in a thinned Hessian."""


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
    stride = data.stride_for(max(THINNED_ROWS * objective.spec.dim, data.rows // 32))
    if stride == 1 or _many_coefficients(objective):
        return start
    thinned = replace(objective, stride=stride)
    goal = objective.spec.lipschitz * 0.02 * math.sqrt(data.rows * stride)
    return descend(thinned, start, lambda point: point.size <= goal)[0].theta


def descend(objective: Objective, start: Floats, done: Done) -> tuple[Point, bool]:
    """The first point at which it is ``done``, or the last one that was reached and False."""
    point = Point(objective, start)
    stride = _hessian_stride(objective) if start.any() else 1
    direction: Direction | None = None
    for count in range(MOST_STEPS):
        if done(point):
            return point, True
        fresh = direction is None
        if direction is None:
            direction = direction_at(replace(objective, stride=objective.stride * stride), point.theta)
        after = _step(point, direction(point.gradient), patient=fresh)
        if after is None and fresh and stride == 1:
            break
        if after is None or after.size > GOOD_SHRINKING * point.size:
            direction, stride = None, 1 if fresh else stride
        elif count == 0 and stride > 1:  # the first step is the longest: a thinned Hessian is cheap to renew after it
            direction = None
        point = after or point
    return point, done(point)


def _hessian_stride(objective: Objective) -> int:
    """A Hessian of an eighth of the rows costs little more than a pass, and is good to a few per cent."""
    enough = max(HESSIAN_ROWS * objective.spec.dim, objective.data.rows // 8)
    return objective.data.stride_for(enough) if objective.stride == 1 else 1


def _step(point: Point, move: Floats, *, patient: bool) -> Point | None:
    """The point after the longest step in 1, 1/2, 1/4, ... that makes progress; None if none does."""
    slope = float(point.gradient @ move)
    step = 1.0
    for _ in range(MOST_HALVINGS if patient else 1):
        after = Point(point.objective, point.theta + step * move)
        if _is_progress(point, after, step * slope):
            return after
        step /= 2
    return None


def _is_progress(point: Point, after: Point, slope: float) -> bool:
    """A much shorter gradient; or a decrease of J in proportion to the step (Armijo).

    Where J is the same up to rounding, a gradient that is shorter by a tenth will do.
    """
    if after.size <= GOOD_SHRINKING * point.size:
        return True
    if after.value <= point.value + DECREASE * slope:
        return True
    return after.size <= 0.9 * point.size and after.value <= point.value + ROUNDING * abs(point.value)


def direction_at(objective: Objective, theta: Floats) -> Direction:
    """The map from a gradient to a Newton step with the Hessian at ``theta``."""
    if _many_coefficients(objective):
        return _by_conjugate_gradients(objective, theta)
    factor = cho_factor(objective.hessian(theta), overwrite_a=True, check_finite=False)
    return lambda gradient: np.asarray(-cho_solve(factor, gradient, check_finite=False))


def _many_coefficients(objective: Objective) -> bool:
    """Whether the Hessian is better not formed."""
    return objective.data.is_sparse or objective.spec.dim > FACTORED_DIM


def _by_conjugate_gradients(objective: Objective, theta: Floats) -> Direction:
    bends = objective.bends(theta)

    def solved(gradient: Floats) -> Floats:
        return -conjugate_gradients(lambda v: objective.hessian_product(bends, v), gradient)

    return solved


def conjugate_gradients(product: Direction, target: Floats, accuracy: float = 0.1) -> Floats:
    """An approximate solution x of A x = target, ||A x - target|| <= accuracy ||target||, A positive definite."""
    x, residual = np.zeros_like(target), target.copy()
    search, square = residual.copy(), float(residual @ residual)
    enough = accuracy**2 * square
    for _ in range(MOST_PRODUCTS):
        if square <= enough:
            break
        image = product(search)
        length = square / float(search @ image)
        x += length * search
        residual -= length * image
        square, before = float(residual @ residual), square
        search = residual + (square / before) * search
    return x
