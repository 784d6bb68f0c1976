# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Damped Newton's method, with a factored Hessian for few coefficients and conjugate gradients for many.

A Hessian is reused as long as its steps shrink the gradient by a good factor, and renewed otherwise. Close to the
minimum an old or a thinned Hessian is as good as a fresh one, at the cost of one pass over the data instead of a matrix
product.

Where f is linear, the Hessian does not show where f bends, and steps are far too long. If only a short share of a step
succeeds, the next Hessian is made cautious: part of each f'' is replaced by the curvature of a parabola above f
(`secant`), whose minimum is never too far. Caution decreases again as whole steps succeed.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dperm.data.arrays import Floats
from dperm.data.targets import LabelKind
from dperm.erm.objective import Objective
from dperm.erm.table_objective import TableObjective
from dperm.errors import AssumptionError

Direction = Callable[[Floats], Floats]
AnyObjective = Objective | TableObjective

FACTORED_DIM = 1024
"""Largest number of coefficients for a factored Hessian."""
MOST_PRODUCTS = 250
MOST_SHIFTS = 30
GRAM_ROWS = 8
"""Rows per column in the sum of squares for the preconditioner."""


def is_factored(objective: AnyObjective) -> bool:
    """Return whether the Hessian is formed and factored."""
    return objective.spec.outputs == 1 and objective.spec.dim <= FACTORED_DIM


def direction_at(objective: AnyObjective, theta: Floats, gram: Floats | None = None) -> Direction:
    """Return the map from a gradient to a Newton step with the Hessian at ``theta``.

    ``gram`` is the result of `preconditioning_gram`, if known.
    """
    if not is_factored(objective):
        return _by_conjugate_gradients(objective, theta, preconditioning_gram(objective) if gram is None else gram)
    return direction_of(objective.hessian(theta))


def direction_of(hessian: Floats) -> Direction:
    """Return the map from a gradient to a Newton step with this Hessian."""
    factor = _factor(hessian)
    return lambda gradient: np.asarray(-cho_solve(factor, gradient, check_finite=False))


def preconditioning_gram(objective: AnyObjective) -> Floats | None:
    """Return the sum of x x' over some rows as a preconditioner for conjugate gradients; None if it is too large.

    The Hessian of several scores is a sum of (diag(p) - pp') times x x': nearly a multiple of it, score by score.
    """
    if isinstance(objective, TableObjective) or is_factored(objective) or objective.spec.width > FACTORED_DIM:
        return None
    stride = objective.data.stride_for(GRAM_ROWS * objective.spec.width)
    return replace(objective, stride=stride).gram()


def _factor(hessian: Floats) -> Any:
    """Return the Cholesky factor of a Hessian, or of a slightly larger one if rounding made it indefinite."""
    least = 2.0**-52 * float(hessian.diagonal().max())
    for added in [0.0, *(least * 4.0**power for power in range(MOST_SHIFTS))]:
        with suppress(LinAlgError):
            return cho_factor(hessian + added * np.eye(len(hessian)), overwrite_a=True, check_finite=False)
    raise AssumptionError(
        "the Hessian overflows: features, weights or C are far too large.",
        remedy="Rescale the features to norms near 1.",
    )


def _by_conjugate_gradients(objective: AnyObjective, theta: Floats, gram: Floats | None) -> Direction:
    bends: Any = objective.bends(theta)
    easier = None if gram is None else _preconditioner(objective, gram)

    def solved(gradient: Floats) -> Floats:
        return -conjugate_gradients(lambda v: objective.hessian_product(bends, v), gradient, easier)

    return solved


def _preconditioner(objective: AnyObjective, gram: Floats) -> Direction:
    """Return the inverse of gram / K + Lambda, score by score: the Hessian at 0, up to a part common to all scores."""
    spec = objective.spec
    factor = _factor(gram * spec.loss.bend + spec.strength * np.eye(len(gram)))

    def solved(residual: Floats) -> Floats:
        table = residual.reshape(spec.outputs, spec.width)
        return np.asarray(cho_solve(factor, table.T, check_finite=False).T.ravel())

    return solved


def conjugate_gradients(
    product: Direction, target: Floats, easier: Direction | None = None, accuracy: float = 0.1
) -> Floats:
    """Return an approximate solution x of A x = target, ||A x - target|| <= accuracy ||target||, A positive definite.

    Parameters
    ----------
    product
        Map from v to A v.
    target
        Right-hand side.
    easier
        Preconditioner: the inverse of a positive definite matrix similar to A.
    accuracy
        Relative residual at which the iteration stops.
    """
    x, residual = np.zeros_like(target), target.copy()
    eased = residual if easier is None else easier(residual)
    search, square = eased.copy(), float(residual @ eased)
    enough = accuracy * float(np.linalg.norm(target))
    for _ in range(MOST_PRODUCTS):
        if float(np.linalg.norm(residual)) <= enough:
            break
        image = product(search)
        length = square / float(search @ image)
        x += length * search
        residual = residual - length * image
        eased = residual if easier is None else easier(residual)
        square, before = float(residual @ eased), square
        search = eased + (square / before) * search
    return x


MOST_STEPS = 1000
"""Largest number of steps; five to ten are typical, hundreds occur for narrow smoothed regions and a tiny Lambda."""
MOST_TRIALS = 40
MOST_BISECTIONS = 5
DECREASE = 1e-4
FLAT = 0.3
"""Share of the first slope at which a line search stops."""
SHORT = 0.5
LEAST_CAUTION = 1e-7
GOOD_SHRINKING = 0.2
THINNED_ROWS = (30, 10)
"""Rows per column in the thinned sum for the start: for one score, and for several, whose rows say more."""
HESSIAN_ROWS = (200, 20)
"""The same in a thinned Hessian."""
FEW_COLUMNS = 64


@dataclass(frozen=True)
class Iterate:
    """Point of a descent, with gradient, Hessian and value computed on demand, unless they are known."""

    objective: AnyObjective
    theta: Floats
    known_gradient: Floats | None = None
    known_hessian: Floats | None = None

    @cached_property
    def gradient(self) -> Floats:
        """Gradient of J at this point."""
        return self.objective.gradient(self.theta) if self.known_gradient is None else self.known_gradient

    @cached_property
    def hessian(self) -> Floats:
        """Second derivatives of J at this point, for a loss of one score."""
        return self.objective.hessian(self.theta) if self.known_hessian is None else self.known_hessian

    @cached_property
    def direction(self) -> Direction:
        """Map from a gradient to a Newton step with the Hessian at this point."""
        return direction_of(self.hessian)

    @cached_property
    def value(self) -> float:
        """Value of J at this point."""
        return self.objective.value(self.theta)

    @cached_property
    def size(self) -> float:
        """Euclidean norm of the gradient."""
        return float(np.linalg.norm(self.gradient))


Done = Callable[[Iterate], bool]


def thinned_minimizer(objective: Objective) -> Floats:
    """Return a minimiser of the thinned objective as a start; 0 if there are too few rows to thin.

    Its accuracy matches the thinned sum, whose gradient is off by about n/sqrt(m) records' gradients.
    """
    start, data = np.zeros(objective.spec.dim), objective.data
    stride = data.stride_for(max(THINNED_ROWS[objective.spec.outputs > 1] * objective.spec.width, data.rows // 32))
    if stride == 1 or objective.spec.width > FACTORED_DIM:
        return start
    thinned = replace(objective, stride=stride)
    goal = objective.spec.lipschitz * 0.02 * objective.scale * math.sqrt(data.rows * stride)
    return descend(thinned, start, lambda point: point.size <= goal)[0].theta


def descend(
    objective: AnyObjective,
    start: Floats,
    done: Done,
    *,
    gradient: Floats | None = None,
    direction: Direction | None = None,
) -> tuple[Iterate, bool]:
    """Return the first iterate accepted by ``done``, or the last one reached and False.

    ``gradient`` is the gradient at ``start``, and ``direction`` the map to Newton steps there, if they are known.
    """
    point = Iterate(objective, start, gradient)
    model = HessianModel(objective, _hessian_stride(objective) if start.any() else 1, direction=direction)
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
class HessianModel:
    """Hessian in use: its rows, its caution, and the number of steps it has served."""

    objective: AnyObjective
    stride: int
    caution: float = 0.0
    uses: int = 0
    is_first: bool = True
    direction: Direction | None = None

    def step_from(self, point: Iterate) -> Floats:
        """Return a Newton step, with a new Hessian at ``point`` if none can be reused."""
        if self.direction is None:
            thinned = replace(self.objective, stride=self.objective.stride * self.stride, caution=self.caution)
            self.direction, self.uses = direction_at(thinned, point.theta, self.gram), 0
        self.uses += 1
        return self.direction(point.gradient)

    @cached_property
    def gram(self) -> Floats | None:
        """Preconditioner for the Hessians of several scores, computed once."""
        return preconditioning_gram(self.objective)

    @property
    def is_fresh(self) -> bool:
        """Whether the Hessian was computed at the current point."""
        return self.uses == 1

    @property
    def is_exhausted(self) -> bool:
        """Whether no better Hessian is available."""
        return self.is_fresh and self.stride == 1 and self.caution == 1

    def judge(self, point: Iterate, after: Iterate | None, share: float) -> None:
        """Keep the Hessian if it shortened the gradient well; otherwise request a fresher, fuller or more cautious one.

        The first step is the longest, and a thinned Hessian is cheap to renew after it.
        """
        served = after is not None and after.size <= GOOD_SHRINKING * point.size
        if not served and self.is_fresh:
            self.caution = _next_caution(self.caution, share) if self.stride == 1 else 0.0
            self.stride = 1
        if not served or (self.is_first and self.stride > 1):
            self.direction = None
        self.is_first = False


def _next_caution(caution: float, share: float) -> float:
    """Return more caution after a short share of a step, less after a whole step."""
    if share < SHORT:
        return min(8 * caution, 1.0) if caution and share else 1.0
    return caution / 8 if caution > LEAST_CAUTION else 0.0


def _is_still(point: Iterate, after: Iterate) -> bool:
    """Return whether coefficients differ by rounding alone."""
    return float(np.linalg.norm(after.theta - point.theta)) <= 2.0**-50 * float(np.linalg.norm(after.theta))


def _hessian_stride(objective: AnyObjective) -> int:
    """Return the stride of rows for a Hessian.

    A Hessian of an eighth of the rows costs little more than a pass, and is accurate to a few per cent. Losses of
    residuals are parabolas where it matters: with few columns the Hessian of all rows finishes in a step or two.
    """
    if isinstance(objective, TableObjective) or objective.quadratic is not None:
        return 1
    if objective.spec.loss.labels is LabelKind.NUMBER and objective.spec.width <= FEW_COLUMNS:
        return 1
    enough = max(HESSIAN_ROWS[objective.spec.outputs > 1] * objective.spec.width, objective.data.rows // 8)
    return objective.data.stride_for(enough) if objective.stride == 1 else 1


def _along(point: Iterate, move: Floats, shortest: float, *, patient: bool) -> tuple[Iterate | None, float]:
    """Return a point along ``move`` with a smaller J and its share of ``move``; None if there is none.

    J is convex along a line: where it still falls, it has fallen all the way, and no value need be computed. The whole
    step is accepted, too, if the gradient is much shorter than ever before.
    """
    first = float(point.gradient @ move)
    low, high, best = 0.0, 1.0, None
    bisections, share = 0, 1.0
    for _ in range(MOST_TRIALS if patient else 1):
        after = Iterate(point.objective, point.theta + share * move)
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
