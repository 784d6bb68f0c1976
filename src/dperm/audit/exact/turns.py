# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Where the second derivative of a loss may jump: next to a jump the privacy loss is often largest."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dperm.erm.loss import Loss, ScalarLoss
from dperm.errors import ParameterError

FARTHEST = 1e8
ROUNDS = 100


def of_one_score(loss: Loss) -> ScalarLoss:
    """The loss, if it is a function of one number; densities of others are not known here."""
    if not isinstance(loss, ScalarLoss):
        raise ParameterError(f"the exact audit is for losses of one score, got the loss {loss.name!r}.")
    return loss


@lru_cache(maxsize=1024)
def turning_arguments(loss: ScalarLoss, limit: float | None) -> tuple[float, ...]:
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
