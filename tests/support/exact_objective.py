# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact law of objective perturbation for losses of one score, in one and two dimensions.

The minimiser of J(theta) + b'theta, b of density nu, has the density nu(-grad J(theta)) |det of the Hessian| (T35).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from dperm.erm.losses import HuberHinge, Logistic, SmoothedHinge
from dperm.erm.residual_losses import Huber, Squared
from dperm.erm.spec import ProblemSpec
from dperm.methods.linear_term import GaussianTerm

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)

Row = tuple[tuple[float, ...], float, int]
"""A bounded row, its target (a sign, or a number in [-1, 1]), and how many of it there are."""
Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Exact:
    """Objective perturbation with the constants of a plan, minimised exactly; theta has one or two entries."""

    spec: ProblemSpec
    term: Any
    weights: tuple[float, float] = (1.0, 1.0)

    def log_density(self, theta: np.ndarray, rows: Rows) -> np.ndarray:
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
        return self._log_noise(gradient) + np.log(determinant)

    def slopes(self, theta: np.ndarray, x: tuple[float, ...], target: float) -> np.ndarray:
        """The derivative of one row's weighted loss along x."""
        return self.weights[target > 0] * self.spec.loss.slopes(*self._scores(theta, x, target))

    def bends(self, theta: np.ndarray, x: tuple[float, ...], target: float) -> np.ndarray:
        """Its second derivative."""
        return self.weights[target > 0] * self.spec.loss.bends(*self._scores(theta, x, target))

    def _scores(self, theta: np.ndarray, x: tuple[float, ...], target: float) -> tuple[np.ndarray, np.ndarray, Any]:
        scores, length = sum(entry * part for entry, part in zip(x, theta, strict=True)), math.hypot(*x)
        limits = None if self.spec.clip is None or not length else np.full(1, self.spec.clip / length)
        return scores, np.full(1, float(target)), limits

    def _log_noise(self, b: np.ndarray) -> np.ndarray:
        squares, scale, dim = (b * b).sum(axis=0), self.term.scale, len(b)
        if isinstance(self.term, GaussianTerm):
            return -squares / (2 * scale**2) - dim * math.log(scale * math.sqrt(2 * math.pi))
        volume = math.log(2 * math.pi) if dim == 2 else math.log(2)  # of e^-||b||: the circle's length times (d - 1)!
        return -np.sqrt(squares) / scale - volume - dim * math.log(scale)

    def turns(self, rows: Rows) -> list[float]:
        """The theta, in one dimension, at which the second derivative of a row's loss may jump."""
        return [score / x[0] for x, target, _ in rows if x[0] for score in self._turning(abs(x[0]), target)]

    def _turning(self, length: float, target: float) -> list[float]:
        """The scores at which it may."""
        end = self._longest(length) / length
        match self.spec.loss:
            case Logistic():
                return [target * (math.log1p(-end) - math.log(end))] if end < 1 else []
            case HuberHinge(width):
                return [target * (1 + width), target * (1 + width - 2 * width * end)]
            case SmoothedHinge(width):
                v = float(SmoothedHinge._turn(np.full(1, end))[0])
                return [target * (1 + width), target * (1 + width - width * v)]
            case Huber() | Squared():
                return [target - end, target + end]
        raise AssertionError

    def _longest(self, length: float) -> float:
        """The longest gradient of a row of this length, before its weight."""
        slopes = length * self.spec.loss.slope if length else 0.0
        return slopes if self.spec.clip is None else min(slopes, self.spec.clip)

    def minimiser(self, b: np.ndarray, rows: Rows) -> np.ndarray:
        """Of J + b theta, in one dimension, nearly: from a table with every turn in it."""
        reach, near = self.reach(rows), 12 / self.spec.radius
        theta = np.unique([*np.linspace(-reach, reach, 1001), *np.linspace(-near, near, 3001), *self.turns(rows)])
        total = self.spec.strength * theta
        for x, target, count in rows:
            total += count * x[0] * self.slopes(theta[np.newaxis], x, target)
        return np.interp(-b, total, theta)

    def reach(self, rows: Rows) -> float:
        """Beyond it, in each coordinate, lies a mass of 1e-18 or so."""
        slopes = self.spec.weight * sum(count * self._longest(math.hypot(*x)) for x, _, count in rows)
        noise = 9 * self.term.scale if isinstance(self.term, GaussianTerm) else 45 * self.term.scale
        return (slopes + noise) / self.spec.strength


def panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()


@lru_cache(maxsize=256)
def quantiles(exact: Exact, rows: Rows, count: int) -> tuple[float, ...]:
    """Where the minimiser lies for quantiles of the noise, in one dimension."""
    far = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)  # 0 among them: pure noise has a kink there
    levels = 9 * far if isinstance(exact.term, GaussianTerm) else np.sinh(4.5 * far)
    return tuple(exact.minimiser(levels * exact.term.scale, rows).tolist())


def line(exact: Exact, rows: Rows, others: Rows, count: int = 251) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights in one dimension: panels between quantiles, split where a density jumps."""
    edges = [*quantiles(exact, rows, count), *quantiles(exact, others, count)]
    turns = [turn for turn in exact.turns(rows + others) if min(edges) < turn < max(edges)]
    bent = np.linspace(-12, 12, 121) / exact.spec.radius  # where losses bend
    inside = bent[(bent > min(edges)) & (bent < max(edges))]
    nodes, weights = panels(np.unique([*edges, *inside, *turns]))
    return nodes[np.newaxis], weights


def plane(exact: Exact, rows: Rows, others: Rows, count: int = 48) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights in two dimensions."""
    reach = max(exact.reach(rows), exact.reach(others))
    nodes, weights = panels(np.linspace(-reach, reach, count))
    first, second = np.meshgrid(nodes, nodes)
    return np.stack([first.ravel(), second.ravel()]), np.outer(weights, weights).ravel()


def deltas(exact: Exact, rows: Rows, others: Rows, epsilons: list[float]) -> list[float]:
    """H_{e^epsilon}(p_D || p_D') at each epsilon (T1)."""
    is_line = len(rows[0][0]) == 1
    theta, weights = (line if is_line else plane)(exact, rows, others)
    p, q = (np.exp(exact.log_density(theta, data)) for data in (rows, others))
    for density in (p, q):
        assert float(weights @ density) == pytest.approx(1, abs=1e-6 if is_line else 2e-3)
    return [float(weights @ np.maximum(p - math.exp(epsilon) * q, 0.0)) for epsilon in epsilons]


def largest_loss(exact: Exact, rows: Rows, others: Rows) -> float:
    """sup log p_D/p_D', next to every jump and on a fine line between (or on a plane)."""
    reach = max(exact.reach(rows), exact.reach(others))
    if len(rows[0][0]) == 1:
        near = [turn + side for turn in exact.turns(rows + others) for side in (-1e-9, 1e-9)]
        near += [quantiles(exact, data, 1)[0] for data in (rows, others)]  # b = 0, a kink of pure noise
        theta = np.concatenate([np.linspace(-reach, reach, 1501), np.linspace(-6, 6, 1501), near])[np.newaxis]
    else:
        theta = plane(exact, rows, others)[0]
    return float((exact.log_density(theta, rows) - exact.log_density(theta, others)).max())
