# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact law of objective perturbation for losses of one score, in one and in two dimensions (T35).

The minimiser of J(theta) + b'theta, b of density nu, has the density nu(-grad J(theta)) |det of the Hessian|.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dperm.data.arrays import Floats
from dperm.erm.loss import Loss, OfMargin, OfOneScore
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.methods.linear_term import GaussianTerm, LinearTerm

FARTHEST = 1e8
ROUNDS = 100


def require_one_score(loss: Loss) -> OfOneScore:
    """The loss, if it is a function of one number; densities of others are not known here."""
    if not isinstance(loss, OfOneScore):
        raise ParameterError(f"the exact audit is for losses of one score, got the loss {loss.name!r}.")
    return loss


@lru_cache(maxsize=1024)
def curvature_jumps(loss: OfOneScore, limit: float | None) -> tuple[float, ...]:
    """The z at which the derivative leaves its lowest value and reaches its highest, with slopes limited (T44).

    A convex function's derivative rises, so both are found by bisection. There f'' may jump between 0 and more.
    """
    limits = None if limit is None else np.full(1, limit)

    def slope(z: float) -> float:
        return float(loss.derivative(np.full(1, z), limits)[0])

    low, high = slope(-FARTHEST), slope(FARTHEST)
    found = (_first(lambda z: slope(z) > low), _first(lambda z: slope(z) >= high))
    return tuple(z for z in found if abs(z) < FARTHEST / 2)


def _first(holds: Callable[[float], bool]) -> float:
    """The smallest z at which a rising condition holds."""
    low, high = -FARTHEST, FARTHEST
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


Row = tuple[tuple[float, ...], float, int]
"""A bounded row, its target (a sign, or a number in [-1, 1]), and how many of it there are."""
Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Density:
    """Objective perturbation with the constants of a plan, minimised exactly; theta has one or two entries.

    Attributes
    ----------
    spec
        The problem; its Lambda is known.
    term
        The law of b, in as many dimensions as theta.
    weights
        Of rows with a negative and with a positive target.
    """

    spec: ProblemSpec
    term: LinearTerm
    weights: tuple[float, float] = (1.0, 1.0)

    def log_density(self, theta: Floats, rows: Rows) -> Floats:
        """At each column of ``theta``."""
        strength, dim = self.spec.strength, len(theta)
        gradient = strength * theta
        hessian = np.zeros((dim, dim, theta.shape[1]))
        for x, target, count in rows:
            slopes, bends = self.slopes(theta, x, target), self.bends(theta, x, target)
            for i in range(dim):
                gradient[i] += count * slopes * x[i]
                for j in range(dim):
                    hessian[i, j] += count * bends * (x[i] * x[j])
        determinant = hessian[0, 0] + strength
        if dim == 2:
            determinant = determinant * (hessian[1, 1] + strength) - hessian[0, 1] ** 2
        return np.asarray(self._log_noise(gradient) + np.log(determinant))

    def gradient(self, theta: Floats, rows: Rows) -> Floats:
        """J'(theta) in one dimension, at each entry; -b of whoever is minimised there."""
        total = self.spec.strength * theta
        for x, target, count in rows:
            total = total + count * x[0] * self.slopes(theta[np.newaxis], x, target)
        return np.asarray(total)

    def slopes(self, theta: Floats, x: tuple[float, ...], target: float) -> Floats:
        """The derivative of one row's weighted loss along x."""
        return self.weights[target > 0] * self.spec.loss.slopes(*self._scores(theta, x, target))

    def bends(self, theta: Floats, x: tuple[float, ...], target: float) -> Floats:
        """Its second derivative."""
        return np.asarray(self.weights[target > 0] * self.spec.loss.bends(*self._scores(theta, x, target)))

    def _scores(self, theta: Floats, x: tuple[float, ...], target: float) -> tuple[Floats, Floats, Floats | None]:
        scores, limit = np.tensordot(np.array(x), theta, axes=1), self._limit(math.hypot(*x))
        return scores, np.full(1, float(target)), None if limit is None else np.full(1, limit)

    def _limit(self, length: float) -> float | None:
        """The largest slope of a row of this length (T44)."""
        return None if self.spec.clip is None or not length else self.spec.clip / length

    def _log_noise(self, b: Floats) -> Floats:
        squares, scale, dim = (b * b).sum(axis=0), self.term.scale, len(b)
        if isinstance(self.term, GaussianTerm):
            return np.asarray(-squares / (2 * scale**2) - dim * math.log(scale * math.sqrt(2 * math.pi)))
        volume = math.log(2 * math.pi) if dim == 2 else math.log(2)  # of e^-||b||: the circle's length times (d - 1)!
        return np.asarray(-np.sqrt(squares) / scale - volume - dim * math.log(scale))

    def jumps(self, rows: Rows) -> list[float]:
        """The theta, in one dimension, at which the second derivative of a row's loss may jump."""
        return [score / x[0] for x, target, _ in rows if x[0] for score in self._turning(abs(x[0]), target)]

    def _turning(self, length: float, target: float) -> list[float]:
        """The scores at which it may."""
        loss = require_one_score(self.spec.loss)
        found = curvature_jumps(loss, self._limit(length))
        if isinstance(loss, OfMargin):
            return [target * z for z in found]
        return [target + z for z in found]

    def _longest(self, length: float) -> float:
        """The longest gradient of a row of this length, before its weight."""
        slopes = length * self.spec.loss.slope if length else 0.0
        return slopes if self.spec.clip is None else min(slopes, self.spec.clip)

    def pull(self, rows: Rows) -> float:
        """Bound on the sum of all their gradients."""
        return self.spec.weight * sum(count * self._longest(math.hypot(*x)) for x, _, count in rows)

    def reach(self, rows: Rows) -> float:
        """Beyond it, in each coordinate, lies a mass of 1e-18 or so."""
        noise = 9 * self.term.scale if isinstance(self.term, GaussianTerm) else 45 * self.term.scale
        return (self.pull(rows) + noise) / self.spec.strength

    def minimiser(self, b: Floats, rows: Rows) -> Floats:
        """Of J + b theta, in one dimension, nearly: from a table with every turn in it."""
        reach, near = self.reach(rows), 12 / self.spec.radius
        lines = (np.linspace(-reach, reach, 1001), np.linspace(-near, near, 3001), self.jumps(rows))
        theta = np.unique(np.concatenate(lines))
        return np.asarray(np.interp(-b, self.gradient(theta, rows), theta))
