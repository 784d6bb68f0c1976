# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""J of rows on the grid written down plainly, in any precision: what the learners are compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath as mp
import numpy as np

from dperm.data.bounded import BoundedData
from dperm.erm.loss import MarginLoss
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.residual_losses import Pinball
from dperm.erm.smoothing import SmoothPinball
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec

DENSE_CELLS = 2**22
"""Larger sparse tables are not made dense."""


@dataclass(frozen=True)
class Plain:
    """J of the rows on the grid, without slices or blocks; ``number`` is float, np.longdouble or mp.mpf.

    Rows and lengths are integers times the unit and floats times the step of the grid, without rounding in mp.mpf.
    1 + h, the constant column and the targets are doubles, in every precision: they are given.
    """

    data: BoundedData
    spec: ProblemSpec
    linear: Any
    number: Callable[[Any], Any] = float

    def numbers(self, values: Any) -> Any:
        """An array of the numbers at work."""
        if self.number is mp.mpf:
            return np.array([mp.mpf(float(value)) for value in np.ravel(values)]).reshape(np.shape(values))
        return np.asarray(values).astype(self.number)

    def each(self, function: str, values: Any) -> Any:
        if self.number is mp.mpf:
            return np.array([getattr(mp, function)(value) for value in np.ravel(values)]).reshape(np.shape(values))
        return getattr(np, function)(values)

    @cached_property
    def targets(self) -> Any:
        return self.data.target.targets(self.data.in_memory().codes)[0]

    @cached_property
    def weights(self) -> Any:
        return self.data.target.targets(self.data.in_memory().codes)[1]

    @cached_property
    def lengths(self) -> Any:
        """The bounds on the norms of the rows with their constant, by which gradients are clipped."""
        return self.numbers(self.data.in_memory().lengths) * self.numbers(self.data.grid.step)

    @cached_property
    def rows(self) -> Any:
        cells, space = self.data.in_memory().cells, self.data.space
        table = cells if isinstance(cells, np.ndarray) else cells.toarray()
        constants = self.numbers(np.full((len(table), int(space.intercept)), space.constant))
        return np.hstack([self.numbers(table) * self.numbers(self.data.grid.unit), constants])

    @cached_property
    def entries(self) -> tuple[Any, Any, Any] | None:
        """Rows, columns and values of the stored entries of a large sparse table, the constants included."""
        cells = self.data.in_memory().cells
        if isinstance(cells, np.ndarray) or cells.shape[0] * cells.shape[1] <= DENSE_CELLS:
            return None
        count, dim, space = *cells.shape, self.data.space
        places = np.repeat(np.arange(count), np.diff(cells.indptr))
        values = self.numbers(cells.data) * self.numbers(self.data.grid.unit)
        constants = self.numbers(np.full(count * space.intercept, space.constant))
        rows = np.append(places, np.arange(count * space.intercept))
        return rows, np.append(cells.indices, np.full(len(constants), dim)), np.append(values, constants)

    @cached_property
    def limits(self) -> Any:
        """The longest derivative by the scores of each record; infinite where there is none."""
        endless = self.numbers(np.full(self.data.rows, np.inf))
        if self.spec.clip is None:
            return endless
        clip = self.numbers(self.spec.clip)
        return np.array(
            [far if length == 0 else clip / length for length, far in zip(self.lengths, endless, strict=True)]
        )

    def scores(self, theta: Any) -> Any:
        """A row for each record, a column for each score."""
        table = theta.reshape(self.spec.outputs, -1).T
        if self.entries is None:
            return self.rows @ table
        rows, columns, values = self.entries
        scores = self.numbers(np.zeros((self.data.rows, self.spec.outputs)))
        np.add.at(scores, rows, values[:, np.newaxis] * table[columns])
        return scores

    def pulled(self, slopes: Any) -> Any:
        """The sum of each score's derivatives times the rows, score by score."""
        if self.entries is None:
            return (slopes.T @ self.rows).ravel()
        rows, columns, values = self.entries
        sums = self.numbers(np.zeros((self.spec.width, self.spec.outputs)))
        np.add.at(sums, columns, values[:, np.newaxis] * slopes[rows])
        return sums.T.ravel()

    def by_score(self, scores: Any) -> Any:
        """The derivatives of the losses by the scores, within their limits."""
        targets, loss = self.targets, self.spec.loss
        if isinstance(loss, Softmax):
            return self.cut_off(self.probabilities(scores) - self.numbers(np.eye(loss.classes)[targets]))
        given = self.numbers(targets)[:, np.newaxis]
        if isinstance(loss, Hinge):
            return -given * np.minimum(self.limits, 1)[:, np.newaxis] * self.ramp(given * scores - 1, -loss.steepness)
        if isinstance(loss, MarginLoss):
            return self.cut_off(-given * self.slopes(given * scores))
        residuals = scores - given
        if isinstance(loss, Pinball | SmoothPinball):
            steepness = loss.steepness if isinstance(loss, Pinball) else 1 / (2 * self.numbers(loss.width))
            low, high = self.numbers(-loss.q), 1 - self.numbers(loss.q)
            shares = np.minimum(self.limits / max(-low, high), 1)[:, np.newaxis]
            return shares * (low + (high - low) * self.ramp(residuals, steepness))
        end = self.numbers(getattr(loss, "kappa", np.inf))
        return self.cut_off(np.minimum(np.maximum(residuals, -end), end))

    def ramp(self, distances: Any, steepness: Any) -> Any:
        """From 0 to 1 about 0."""
        one = self.numbers(1.0)
        return np.minimum(np.maximum(distances * steepness + one / 2, 0 * one), one)

    def probabilities(self, scores: Any) -> Any:
        powers = self.each("exp", scores - scores.max(axis=1)[:, np.newaxis])
        return powers / powers.sum(axis=1)[:, np.newaxis]

    def cut_off(self, slopes: Any) -> Any:
        """Each record's derivative, shortened to its limit."""
        lengths = self.each("sqrt", (slopes * slopes).sum(axis=1))
        one = self.numbers(1.0)
        sizes = zip(lengths, self.limits, strict=True)
        return slopes * np.array([one if size <= end else end / size for size, end in sizes])[:, np.newaxis]

    def slopes(self, margins: Any) -> Any:
        """-f' without limits."""
        one, loss = self.numbers(1.0), self.spec.loss
        if isinstance(loss, Logistic):
            return one / (one + self.each("exp", np.minimum(margins, 700 * one)))
        h = self.numbers(loss.width)
        v = np.minimum(np.maximum((self.numbers(1 + loss.width) - margins) / h, 0 * h), 2 * one)
        return v / 2 if isinstance(loss, HuberHinge) else v * v * (3 * one - v) / 4

    def values(self, margins: Any) -> Any:
        """F without limits."""
        loss = self.spec.loss
        if isinstance(loss, Logistic):
            return np.logaddexp(0.0, -margins)
        gap, h = 1 + loss.width - margins, loss.width
        v = np.clip(gap / h, 0.0, 2.0)
        inner = h * v**2 / 4 if isinstance(loss, HuberHinge) else h * (v**3 / 4 - v**4 / 16)
        return inner + np.maximum(gap - 2 * h, 0.0)

    def limited_values(self, margins: Any) -> Any:
        """F and its tangent where the slope is above the limit; the margin where it begins is found by bisection."""
        limits = np.minimum(self.limits, 1.0)
        low, high = np.full(len(margins), -2e3), np.full(len(margins), 2e3)
        for _ in range(200):
            middle = (low + high) / 2
            steep = self.slopes(middle) > limits
            low, high = np.where(steep, middle, low), np.where(steep, high, middle)
        inner = np.where(limits < 1, np.maximum(margins, high), margins)
        return self.values(inner) + limits * (inner - margins)

    def losses(self, scores: Any) -> Any:
        """The loss of each record, in doubles."""
        loss = self.spec.loss
        if isinstance(loss, Softmax):
            return np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(scores)), self.targets]
        if isinstance(loss, MarginLoss):
            return self.limited_values(self.targets * scores[:, 0])
        size = np.abs(scores[:, 0] - self.targets)
        ends = np.minimum(self.limits, getattr(loss, "kappa", np.inf))
        return size**2 / 2 - np.maximum(size - ends, 0.0) ** 2 / 2

    def value(self, theta: Any) -> float:
        fit = self.weights @ self.losses(self.scores(theta))
        return float(fit + self.spec.strength / 2 * theta @ theta + self.linear @ theta)

    def gradient(self, theta: Any) -> Any:
        pulls = self.pulled(self.numbers(self.weights)[:, np.newaxis] * self.by_score(self.scores(theta)))
        return pulls + self.numbers(self.spec.strength) * theta + self.numbers(self.linear)

    def size(self, theta: Any) -> Any:
        """The norm of the gradient at ``theta``, which is exact."""
        found = self.gradient(self.numbers(theta))
        return self.each("sqrt", (found * found).sum())

    def minimizer(self, start: Any) -> list[Any]:
        """The minimiser in mp.mpf, from nearby."""
        found = mp.findroot(
            lambda *theta: list(self.gradient(np.array(theta))), [mp.mpf(one) for one in start.tolist()]
        )
        return list(found)


def size_at(data: BoundedData, spec: ProblemSpec, theta: Any, linear: Any = None) -> float:
    """The norm of the gradient of J, in long doubles."""
    return float(Plain(data, spec, np.zeros(spec.dim) if linear is None else linear, np.longdouble).size(theta))
