# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Nesterov's method for smooth, strongly convex functions: slow, with a proved number of steps.

J is Lambda-strongly convex with M-Lipschitz gradients, M = n beta + Lambda. With kappa = M/Lambda, the method with
momentum (sqrt(kappa) - 1)/(sqrt(kappa) + 1) has J(theta_k) - J* <= 2 (1 - 1/sqrt(kappa))^k (J(theta_0) - J*), and
||grad J||^2 <= 2M (J - J*), J - J* <= ||grad J||^2/(2 Lambda) (Nesterov 2018, Thm 2.2.3). So a gradient of norm at most
t is reached within

    k = sqrt(kappa) log(2 kappa ||grad J(theta_0)||^2 / t^2)

steps, for every data set.
"""

import math

from dperm.data.arrays import Floats
from dperm.erm.newton import AnyObjective, Done, Iterate

LOOK = 10
"""Number of steps between two checks of the gradient at the main sequence."""


def steps_needed(condition: float, start: float, goal: float) -> int:
    """Return the number of steps for the gradient's norm to fall from ``start`` to ``goal``."""
    return math.ceil(math.sqrt(condition) * math.log(max(2 * condition * (start / goal) ** 2, 2.0))) + 1


def descend(objective: AnyObjective, start: Floats, done: Done, goal: float) -> tuple[Iterate, bool]:
    """Return the first iterate accepted by ``done``, or the last one within the proved number of steps and False."""
    spec, point = objective.spec, Iterate(objective, start)
    smoothness = objective.data.rows * spec.smoothness + spec.strength
    root = math.sqrt(smoothness / spec.strength)
    momentum = (root - 1) / (root + 1)
    most = steps_needed(smoothness / spec.strength, point.size, goal / 2)
    theta, ahead = start, start
    for step in range(most + LOOK):
        if step % LOOK == 0 and done(point := Iterate(objective, theta)):
            return point, True
        after = ahead - objective.gradient(ahead) / smoothness
        ahead = after + momentum * (after - theta)
        theta = after
    return point, done(point)
