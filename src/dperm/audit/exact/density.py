# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact density of objective perturbation for losses of one score, in one and two dimensions (T35).

The minimizer of J(theta) + b'theta, with b of density nu, has the density nu(-grad J(theta)) |det of the Hessian|. The
second derivative of a loss may jump. The privacy loss is often largest next to a jump.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dperm.data.arrays import Floats
from dperm.erm.loss import Loss, MarginLoss, ScalarLoss
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.methods.linear_term import GaussianTerm, LinearTerm

FARTHEST = 1e8
ROUNDS = 100
Row = tuple[tuple[float, ...], float, int]
"""A bounded row, its target (a sign, or a number in [-1, 1]), and its multiplicity."""
Rows = tuple[Row, ...]


def require_one_score(loss: Loss) -> ScalarLoss:
    """Return the loss; raise ``ParameterError`` for losses of several scores, which have no known density here."""
    if not isinstance(loss, ScalarLoss):
        raise ParameterError(f"the exact audit requires a loss of one score, got the loss {loss.name!r}.")
    return loss


@lru_cache(maxsize=1024)
def curvature_jumps(loss: ScalarLoss, limit: float | None) -> tuple[float, ...]:
    """Return the arguments at which the derivative leaves its lowest value and reaches its highest value (T44).

    The derivative of a convex function is increasing, so bisection finds both arguments. The second derivative may jump
    there between 0 and a positive value.

    Parameters
    ----------
    loss
        Convex loss of one score.
    limit
        Largest absolute slope after clipping, or None without clipping.
    """
    limits = None if limit is None else np.full(1, limit)

    def slope(z: float) -> float:
        return float(loss.derivative(np.full(1, z), limits)[0])

    low, high = slope(-FARTHEST), slope(FARTHEST)
    found = (_first(lambda z: slope(z) > low), _first(lambda z: slope(z) >= high))
    return tuple(z for z in found if abs(z) < FARTHEST / 2)


def _first(holds: Callable[[float], bool]) -> float:
    """Return the smallest z at which a monotone condition holds."""
    low, high = -FARTHEST, FARTHEST
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Density:
    """Density of the exact minimizer of a perturbed objective, with one or two coefficients.

    Attributes
    ----------
    spec
        Problem with a known Lambda.
    term
        Distribution of b, with the dimension of theta.
    weights
        Weights of rows with a negative and with a positive target.
    """

    spec: ProblemSpec
    term: LinearTerm
    weights: tuple[float, float] = (1.0, 1.0)

    def log_density(self, theta: Floats, rows: Rows) -> Floats:
        """Return the log-density at each column of ``theta``."""
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
        """Return J'(theta) at each entry, in one dimension; a minimizer at theta has b = -J'(theta)."""
        total = self.spec.strength * theta
        for x, target, count in rows:
            total = total + count * x[0] * self.slopes(theta[np.newaxis], x, target)
        return np.asarray(total)

    def slopes(self, theta: Floats, x: tuple[float, ...], target: float) -> Floats:
        """Return the derivative of one row's weighted loss along x."""
        return self.weights[target > 0] * self.spec.loss.slopes(*self._scores(theta, x, target))

    def bends(self, theta: Floats, x: tuple[float, ...], target: float) -> Floats:
        """Return the second derivative of one row's weighted loss along x."""
        return np.asarray(self.weights[target > 0] * self.spec.loss.bends(*self._scores(theta, x, target)))

    def _scores(self, theta: Floats, x: tuple[float, ...], target: float) -> tuple[Floats, Floats, Floats | None]:
        scores, limit = np.tensordot(np.array(x), theta, axes=1), self._limit(math.hypot(*x))
        return scores, np.full(1, float(target)), None if limit is None else np.full(1, limit)

    def _limit(self, length: float) -> float | None:
        """Return the largest slope of a row of this norm, or None without clipping (T44)."""
        return None if self.spec.clip is None or not length else self.spec.clip / length

    def _log_noise(self, b: Floats) -> Floats:
        squares, scale, dim = (b * b).sum(axis=0), self.term.scale, len(b)
        if isinstance(self.term, GaussianTerm):
            return np.asarray(-squares / (2 * scale**2) - dim * math.log(scale * math.sqrt(2 * math.pi)))
        volume = math.log(2 * math.pi) if dim == 2 else math.log(2)  # of e^-||b||: the circle's length times (d - 1)!
        return np.asarray(-np.sqrt(squares) / scale - volume - dim * math.log(scale))

    def jumps(self, rows: Rows) -> list[float]:
        """Return the values of theta, in one dimension, at which the second derivative of a row's loss may jump."""
        return [score / x[0] for x, target, _ in rows if x[0] for score in self._jump_scores(abs(x[0]), target)]

    def _jump_scores(self, length: float, target: float) -> list[float]:
        """Return the scores at which the second derivative may jump."""
        loss = require_one_score(self.spec.loss)
        found = curvature_jumps(loss, self._limit(length))
        if isinstance(loss, MarginLoss):
            return [target * z for z in found]
        return [target + z for z in found]

    def _largest_gradient(self, length: float) -> float:
        """Return the largest gradient norm of a row of this norm, without its weight."""
        slopes = length * self.spec.loss.slope if length else 0.0
        return slopes if self.spec.clip is None else min(slopes, self.spec.clip)

    def pull(self, rows: Rows) -> float:
        """Return an upper bound on the sum of the rows' gradient norms."""
        return self.spec.weight * sum(count * self._largest_gradient(math.hypot(*x)) for x, _, count in rows)

    def reach(self, rows: Rows) -> float:
        """Return a bound on each coordinate; the probability beyond it is about 1e-18."""
        noise = 9 * self.term.scale if isinstance(self.term, GaussianTerm) else 45 * self.term.scale
        return (self.pull(rows) + noise) / self.spec.strength

    def minimiser(self, b: Floats, rows: Rows) -> Floats:
        """Return approximate minimizers of J + b theta in one dimension, by interpolation in a table with all jumps."""
        reach, near = self.reach(rows), 12 / self.spec.radius
        lines = (np.linspace(-reach, reach, 1001), np.linspace(-near, near, 3001), self.jumps(rows))
        theta = np.unique(np.concatenate(lines))
        return np.asarray(np.interp(-b, self.gradient(theta, rows), theta))
