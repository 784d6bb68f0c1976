# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gradient descent along given gradients; with noisy gradients it is post-processing (T3)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from dperm.data.arrays import Floats
from dperm.erm.spec import ProblemSpec
from dperm.methods.defaults import descent_strength
from dperm.privacy.guarantee import AnyGuarantee

PLAIN_STEPS = 100
MOST_STEPS = 300
FEWEST_STEPS = 10
MOMENTUM = 0.9
NEAR = 2000.0
"""Largest horizon for plain gradient descent, in units of 1/(w R^2)."""
HEAVY_STEP = 8.0
KINKED_STEP = 2.0
SQUARED = 2.0**500
"""Squares of smaller entries are finite doubles."""


class AveragedIterates:
    """Settings of a run whose last iterates are averaged: mixin for dataclasses."""

    steps: int
    average: float
    projection: float

    @property
    def averaged(self) -> int:
        """Number of averaged iterates at the end."""
        return max(1, round(self.average * self.steps))

    @property
    def longest(self) -> float:
        """Bound on the norm of an iterate, rounding included."""
        return self.projection * (1 + 2.0**-30)

    @property
    def numbers(self) -> dict[str, object]:
        """Settings as stored in a record."""
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]  # a dataclass


@dataclass(frozen=True)
class DescentSettings(AveragedIterates):
    """Public settings of a descent.

    Attributes
    ----------
    steps
        Number of steps T.
    step_size
        Step size for the gradient of the mean loss.
    momentum
        Heavy-ball momentum in [0, 1).
    average
        Share of the steps, at the end, whose iterates are averaged.
    projection
        Largest norm of an iterate.
    """

    steps: int
    step_size: float
    momentum: float
    average: float
    projection: float = math.inf


def descend(gradient: Callable[[Floats], Floats], descent: DescentSettings, dim: int) -> Floats:
    """Return the mean of the last iterates of projected heavy-ball descent from 0."""
    theta, before, total = np.zeros(dim), np.zeros(dim), np.zeros(dim)
    for step in range(descent.steps):
        moved = theta - descent.step_size * gradient(theta) + descent.momentum * (theta - before)
        theta, before = project(moved, descent.projection), theta
        if step >= descent.steps - descent.averaged:
            total += theta
    return total / descent.averaged


def project(theta: Floats, radius: float) -> Floats:
    """Return the nearest point of the ball of this radius around 0; entries of any size are accepted."""
    largest = float(np.abs(theta).max(initial=0.0))
    if largest < SQUARED:
        length = float(np.linalg.norm(theta))
        return theta if length <= radius else theta * (radius / length)
    scaled = theta / largest  # the square of an entry would overflow
    length = float(np.linalg.norm(scaled))
    return theta if length <= radius / largest else np.asarray(scaled * (radius / length))


def step_unit(spec: ProblemSpec) -> float:
    """Return the unit of step sizes: 1/(w R^2) for losses of the margin, 1/(4 beta) for the others.

    Both are the same for the logistic loss. Hinges have more curvature, but only on a strip. Margins are of size 1 and
    residuals about a tenth, so the unit of a kinked loss of residuals is a tenth too.
    """
    whole = 1 / (spec.weight * spec.radius**2)
    if spec.loss.monotone:
        return whole
    return 1 / (4 * spec.smoothness) if math.isfinite(spec.smoothness) else whole / 10


def default_descent(spec: ProblemSpec, goal: AnyGuarantee, n: int) -> DescentSettings:
    """Return default settings: descent for a horizon H (step size times steps) regularises like Lambda = n/H.

    Lambda is given by `dperm.methods.defaults.descent_strength`: the value for the noise in a quadratic model, or the
    user's if it is larger. Up to H = 2000 units of `step_unit`, plain descent takes 100 steps of H/100. Beyond,
    momentum .9 makes one step count for ten; there are at most 300 steps of 8 units.

    A kink has no curvature for steps to adapt to. Steps there have 2 units, so a gradient changes no margin by more
    than 2. The last half of the iterates is averaged.
    """
    unit = step_unit(spec)
    strength = descent_strength(spec, goal)
    horizon = n / strength
    smooth = math.isfinite(spec.smoothness)
    if smooth and horizon <= NEAR * unit:
        return DescentSettings(PLAIN_STEPS, horizon / PLAIN_STEPS, 0.0, 0.5)
    size = (HEAVY_STEP if smooth else KINKED_STEP) * unit
    steps = (1 - MOMENTUM) * horizon / size
    return DescentSettings(min(max(round(steps), FEWEST_STEPS), MOST_STEPS), size, MOMENTUM, 0.5)
