# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Problems on bounded rows, with the same written down plainly (`plain_objective`)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from plain_objective import Plain

from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind, Target
from dperm.erm import nesterov, newton
from dperm.erm.loss import Loss
from dperm.erm.losses import Logistic
from dperm.erm.newton import Iterate
from dperm.erm.spec import ProblemSpec


@pytest.fixture(scope="session")
def problem() -> Callable[..., tuple[Any, ProblemSpec, Callable[..., Plain]]]:
    """Bounded data, the specification of a problem on them, and the same written down plainly."""

    def problem(X, y, *, loss=None, norm=1.0, intercept=True, strength=1.0, clip=None, weights=(1.0, 1.0), linear=None):
        loss, space = loss or Logistic(), FeatureSpace(X.shape[1], norm=norm, intercept=intercept)
        target = target_of(loss, weights)
        data = enforce(X, y, space, target)
        dim = loss.outputs * space.size
        spec = ProblemSpec(loss, space.radius, dim, regularization=strength, clip=clip, weight=target.weights_range[1])
        term = np.zeros(dim) if linear is None else linear

        def plain(number: Callable[[Any], Any] = float) -> Plain:
            return Plain(data, spec, term, number)

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
    monkeypatch.setattr(newton, "descend", lambda objective, start, done, **known: (Iterate(objective, start), False))
