# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Limits rounded down: the largest rho of an (epsilon, delta), the root of a square."""

import math
import sys
from fractions import Fraction
from functools import lru_cache

from dperm.privacy.renyi import zcdp_epsilon
from dperm.privacy.rounding import round_down


@lru_cache(maxsize=64)
def largest_rho(epsilon: float, delta: float) -> float:
    """Return the largest double rho for which T17, at the best order and rounded up, proves (epsilon, delta)-DP (T18).

    The function uses bisection, since T18's closed form, sqrt(rho) = epsilon / (sqrt(log(1/delta) + epsilon) +
    sqrt(log(1/delta))), is smaller. A passing rho is proved, and so is every smaller rho, even if rounding makes the
    computed bound non-monotone. Rounding can only reduce the budget.
    """
    low, high = 0.0, max(_simple_rho(epsilon, delta), sys.float_info.min)
    while _is_proved(high, epsilon, delta):
        low, high = high, 2 * high
    middle = low / 2 + high / 2
    while low < middle < high:
        low, high = (middle, high) if _is_proved(middle, epsilon, delta) else (low, middle)
        middle = low / 2 + high / 2
    return low


def root(square: Fraction) -> float:
    """Return the largest double with a square of at most ``square``."""
    near = math.sqrt(round_down(square))
    nearby = (math.nextafter(near, math.inf), near, math.nextafter(near, 0.0))
    return next(value for value in nearby if Fraction(value) ** 2 <= square)


def _simple_rho(epsilon: float, delta: float) -> float:
    """Return the rho with rho + 2 sqrt(rho log(1/delta)) = epsilon: a starting point, not a bound."""
    log = -math.log(delta)
    return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2


def _is_proved(rho: float, epsilon: float, delta: float) -> bool:
    return math.isfinite(rho) and zcdp_epsilon(rho, delta) <= epsilon
