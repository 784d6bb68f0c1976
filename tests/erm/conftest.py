# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""J written down plainly, from dense rows and in any precision: what the learners are compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind, Target
from dperm.erm import nesterov, newton
from dperm.erm.loss import Loss, MarginLoss
from dperm.erm.losses import HuberHinge, Logistic
from dperm.erm.newton import Iterate
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec


@dataclass(frozen=True)
class Plain:
    """J of rows in which everything is dense; ``number`` is float, np.longdouble or mp.mpf.

    1 + h, the square of the constant column and the targets are doubles, in every precision: they are given.
    """

    X: Any
    targets: Any
    weights: Any
    space: FeatureSpace
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
    def lengths(self) -> Any:
        X = self.numbers(self.X)
        norms = np.minimum(self.each("sqrt", (X * X).sum(axis=1)), self.numbers(self.space.norm))
        return self.each("sqrt", norms * norms + self.numbers(self.space.constant**2))

    @cached_property
    def rows(self) -> Any:
        X, norm = self.numbers(self.X), self.numbers(self.space.norm)
        factors = norm / np.maximum(self.each("sqrt", (X * X).sum(axis=1)), norm)
        constants = self.numbers(np.full((len(X), int(self.space.intercept)), self.space.constant))
        return np.hstack([X * factors[:, np.newaxis], constants])

    @cached_property
    def limits(self) -> Any:
        """The longest derivative by the scores of each record; infinite where there is none."""
        endless = self.numbers(np.full(len(self.X), np.inf))
        if self.spec.clip is None:
            return endless
        clip = self.numbers(self.spec.clip)
        return np.array(
            [far if length == 0 else clip / length for length, far in zip(self.lengths, endless, strict=True)]
        )

    def scores(self, theta: Any) -> Any:
        """A row for each record, a column for each score."""
        return self.rows @ theta.reshape(self.spec.outputs, -1).T

    def by_score(self, scores: Any) -> Any:
        """The derivatives of the losses by the scores, without limits."""
        targets, loss = self.targets, self.spec.loss
        if isinstance(loss, Softmax):
            return self.probabilities(scores) - self.numbers(np.eye(loss.classes)[targets])
        if isinstance(loss, MarginLoss):
            signs = self.numbers(targets)
            return (-signs * self.slopes(signs * scores[:, 0]))[:, np.newaxis]
        residuals = scores - self.numbers(targets)[:, np.newaxis]
        end = self.numbers(getattr(loss, "kappa", np.inf))
        return np.minimum(np.maximum(residuals, -end), end)

    def probabilities(self, scores: Any) -> Any:
        powers = self.each("exp", scores - scores.max(axis=1)[:, np.newaxis])
        return powers / powers.sum(axis=1)[:, np.newaxis]

    def shares(self, slopes: Any) -> Any:
        """What the limits leave of each record's derivative."""
        lengths = self.each("sqrt", (slopes * slopes).sum(axis=1))
        one = self.numbers(1.0)
        return np.array([one if size <= end else end / size for size, end in zip(lengths, self.limits, strict=True)])

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

    def loss_gradients(self, theta: Any) -> Any:
        """One record's gradient in each row: every score's derivative times the row, score by score."""
        slopes = self.by_score(self.scores(theta))
        slopes = slopes * (self.numbers(self.weights) * self.shares(slopes))[:, np.newaxis]
        return (slopes[:, :, np.newaxis] * self.rows[:, np.newaxis, :]).reshape(len(self.rows), -1)

    def gradient(self, theta: Any) -> Any:
        pulls = self.loss_gradients(theta).sum(axis=0)
        return pulls + self.numbers(self.spec.strength) * theta + self.numbers(self.linear)

    def size(self, theta: Any) -> Any:
        """The norm of the gradient at ``theta``, which is exact."""
        found = self.gradient(self.numbers(theta))
        return self.each("sqrt", (found * found).sum())


@pytest.fixture(scope="session")
def problem() -> Callable[..., tuple[Any, ProblemSpec, Callable[..., Plain]]]:
    """Bounded data, the specification of a problem on them, and the same written down plainly."""

    def problem(X, y, *, loss=None, norm=1.0, intercept=True, strength=1.0, clip=None, weights=(1.0, 1.0), linear=None):
        loss, array = loss or Logistic(), X if isinstance(X, np.ndarray) else X.toarray()
        space = FeatureSpace(array.shape[1], norm=norm, intercept=intercept)
        target = target_of(loss, weights)
        data = enforce(X, y, space, target)
        dim = loss.outputs * space.size
        spec = ProblemSpec(loss, space.radius, dim, regularization=strength, clip=clip, weight=target.weights_range[1])
        term = np.zeros(dim) if linear is None else linear
        targets, chosen = target.targets(data.codes)

        def plain(number: Callable[[Any], Any] = float) -> Plain:
            return Plain(array, targets, chosen, space, spec, term, number)

        return data, spec, plain

    return problem


def target_of(loss: Loss, weights: tuple[float, ...]) -> Target:
    """Classes 0, 1, ... with these weights, over and over; or labels in [-2, 4]."""
    if loss.labels is LabelKind.NUMBER:
        return Interval(-2.0, 4.0)
    classes = max(loss.outputs, 2)
    return Classes(tuple(range(classes)), (weights * classes)[:classes])


@pytest.fixture
def quick_only(monkeypatch):
    """Newton's method has to do; the slow one must not be needed."""

    def refuse(*arguments):
        raise AssertionError("Nesterov's method was needed")

    monkeypatch.setattr(nesterov, "descend", refuse)


@pytest.fixture
def slow_only(monkeypatch):
    """Newton's method gives up at once."""
    monkeypatch.setattr(newton, "descend", lambda objective, start, done: (Iterate(objective, start), False))
