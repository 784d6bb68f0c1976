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
from dperm.erm.losses import HuberHinge, Logistic
from dperm.erm.spec import ProblemSpec


@dataclass(frozen=True)
class Plain:
    """J of rows in which everything is dense; ``number`` is float, np.longdouble or mp.mpf.

    1 + h and the square of the constant column are doubles, in every precision: they are public constants.
    """

    X: Any
    signs: Any
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
        """The largest slope of each record."""
        if self.spec.clip is None:
            return self.numbers(np.ones(len(self.X)))
        found = [1 if length == 0 else min(1, self.numbers(self.spec.clip) / length) for length in self.lengths]
        return np.array([self.numbers(1.0) * one for one in found])

    def margins(self, theta: Any) -> Any:
        return self.numbers(self.signs) * (self.rows @ theta)

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
        limits = self.limits
        low, high = np.full(len(margins), -2e3), np.full(len(margins), 2e3)
        for _ in range(200):
            middle = (low + high) / 2
            steep = self.slopes(middle) > limits
            low, high = np.where(steep, middle, low), np.where(steep, high, middle)
        inner = np.where(limits < 1, np.maximum(margins, high), margins)
        return self.values(inner) + limits * (inner - margins)

    def value(self, theta: Any) -> float:
        fit = self.weights @ self.limited_values(self.margins(theta))
        return float(fit + self.spec.strength / 2 * theta @ theta + self.linear @ theta)

    def loss_gradients(self, theta: Any) -> Any:
        """One record's gradient in each row."""
        slopes = np.minimum(self.slopes(self.margins(theta)), self.limits)
        return -(self.numbers(self.weights) * self.numbers(self.signs) * slopes)[:, np.newaxis] * self.rows

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
        array = X if isinstance(X, np.ndarray) else X.toarray()
        space = FeatureSpace(array.shape[1], norm=norm, intercept=intercept)
        data = enforce(X, y, space, classes=(0, 1), weights=weights)
        spec = ProblemSpec(
            loss or Logistic(), space.radius, space.size, regularization=strength, clip=clip, weight=max(weights)
        )
        term = np.zeros(space.size) if linear is None else linear
        signs, chosen = np.where(y == 1, 1.0, -1.0), np.where(y == 1, weights[1], weights[0])

        def plain(number: Callable[[Any], Any] = float) -> Plain:
            return Plain(array, signs, chosen, space, spec, term, number)

        return data, spec, plain

    return problem
