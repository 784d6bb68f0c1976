# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Searches over the free parameters of a bound: regularization and number of records."""

import math
from collections.abc import Callable

import numpy as np

from dperm import checks
from dperm.errors import ParameterError

_POINTS = 33
_ROUNDS = 30
_GOLDEN = (math.sqrt(5) - 1) / 2


class OutOfReach(ParameterError):
    """Error for a target that 2^53 records do not reach, the largest count that a double holds exactly."""

    def __init__(self) -> None:
        super().__init__(
            argument="excess",
            rule="must be reachable with at most 2^53 records, and is not",
            remedy="Choose a larger excess.",
        )


def minimizer(function: Callable[[float], float], low: float, high: float) -> float:
    """Return a point of [low, high] where ``function`` is near its minimum: a log grid, then golden sections.

    Every point gives a valid bound, so an approximate minimum suffices.
    """
    grid = [float(point) for point in np.geomspace(low, high, _POINTS)]
    values = [function(point) for point in grid]
    best = min(range(_POINTS), key=values.__getitem__)
    left, right = math.log(grid[max(best - 1, 0)]), math.log(grid[min(best + 1, _POINTS - 1)])
    point = math.exp(_golden_section(lambda x: function(math.exp(x)), left, right))
    return point if function(point) < values[best] else grid[best]


def _golden_section(function: Callable[[float], float], left: float, right: float) -> float:
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_inner, at_outer = function(inner), function(outer)
    for _ in range(_ROUNDS):
        if at_inner <= at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - _GOLDEN * (right - left)
            at_inner = function(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + _GOLDEN * (right - left)
            at_outer = function(outer)
    return inner if at_inner <= at_outer else outer


def smallest_count(reached: Callable[[int], bool], start: int) -> int:
    """Return the smallest count >= ``start`` for which ``reached`` holds, if it holds for every larger count.

    Raises
    ------
    OutOfReach
        If the count is above 2^53.
    """
    low, high = start - 1, start
    while not reached(high):
        if high >= checks.LARGEST_COUNT:
            raise OutOfReach
        low, high = high, min(2 * high, checks.LARGEST_COUNT)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
