# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rounding in the safe direction (C0.6): every reported epsilon, delta, rho and mu is rounded up."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

ULP = 2.0**-53
"""Relative error of one rounded operation: half the distance from 1 to the next double."""

LEAST_DOUBLE = math.ulp(0.0)
"""Smallest positive double, 5e-324, the upper end of a positive probability below it."""


def round_up(exact: Fraction) -> float:
    """Return the smallest double that is at least ``exact``; infinity if there is none.

    Parameters
    ----------
    exact
        Exact number, as a fraction.

    Returns
    -------
    float
        The rounded number.
    """
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def round_down(exact: Fraction) -> float:
    """Return the largest double that is at most ``exact``.

    Parameters
    ----------
    exact
        Exact nonnegative number, as a fraction.

    Returns
    -------
    float
        The rounded number.
    """
    above = round_up(exact)
    return above if math.isfinite(above) and Fraction(above) == exact else math.nextafter(above, 0.0)


def few_digits_up(value: float) -> float:
    """Return a double >= ``value`` of at most four significant digits, for messages."""
    return float(Context(prec=4, rounding=ROUND_CEILING).create_decimal(repr(value)))


def few_digits_down(value: float) -> float:
    """Return a double <= ``value`` of at most four significant digits, for messages."""
    return float(Context(prec=4, rounding=ROUND_FLOOR).create_decimal(repr(value)))


def raised(value: float, ulps: float = 8.0) -> float:
    """Return ``value`` >= 0 moved up by ``ulps`` units of relative error; 0 stays 0."""
    return value if value == 0 else math.nextafter(value * (1 + ulps * ULP), math.inf)


def lowered(value: float, ulps: float = 8.0) -> float:
    """Return ``value`` >= 0 moved down by ``ulps`` units of relative error, never below 0; infinity stays."""
    return value if math.isinf(value) else max(0.0, math.nextafter(value * (1 - ulps * ULP), 0.0))


def exp_bracket(low: float, high: float) -> tuple[float, float]:
    """Return (lower, upper) bounds on a probability whose logarithm lies in [low, high].

    The upper end never underflows to 0, so a positive delta is never reported as pure.
    """
    return lowered(math.exp(min(low, 0.0)), 2), min(1.0, _exp_up(high))


def _exp_up(exponent: float) -> float:
    if exponent >= 0:
        return 1.0
    return math.nextafter(math.exp(exponent) * (1 + 2 * ULP), math.inf)
