# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rounding in the safe direction (convention C0.6), and checks of sequences.

A closed form of a few dozen floating-point operations without cancellation is off by a few units in the last place.
``up`` and ``down`` move by 2^-46 (1.4e-14 relative, 128 half-units): an allowance, not a proof. Where a formula
cancels, its own function widens the allowance and says why.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.rounding import ULP, round_up

Array = NDArray[np.float64]

ALLOWANCE = 128 * ULP
"""Relative allowance for the rounding errors of one closed form."""


def up(value: float) -> float:
    """``value`` >= 0 moved up by the allowance; zero becomes the smallest positive number."""
    return math.nextafter(value * (1 + ALLOWANCE), math.inf)


def down(value: float) -> float:
    """``value`` >= 0 moved down by the allowance, never below zero."""
    return max(math.nextafter(value * (1 - ALLOWANCE), -math.inf), 0.0)


def quotient(numerator: float, denominator: float) -> float:
    """Return the smallest double that is at least numerator / denominator.

    Parameters
    ----------
    numerator, denominator
        Doubles; the denominator is positive.

    Returns
    -------
    float
        The quotient, rounded up.
    """
    return round_up(Fraction(numerator) / Fraction(denominator))


def up_delta(value: float) -> float:
    """Return a probability rounded up by the numerical allowance, at most 1.

    Parameters
    ----------
    value
        Computed probability.

    Returns
    -------
    float
        Upper bound on the probability.
    """
    return min(up(value), 1.0)


def up_array(values: Array) -> Array:
    """Return numbers rounded up by the numerical allowance; infinity stays infinity.

    Parameters
    ----------
    values
        Computed numbers >= 0.

    Returns
    -------
    ndarray
        Upper bounds on the numbers.
    """
    return np.asarray(np.nextafter(values * (1 + ALLOWANCE), np.inf))


def checked(name: str, values: Iterable[float], check: Callable[[str, object], float]) -> list[float]:
    """Every entry of the sequence ``values``, checked under the name ``name[i]``."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ParameterError(f"{name} must be a sequence of numbers, got {shown(values)}.")
    return [check(f"{name}[{i}]", value) for i, value in enumerate(values)]


def checked_pairs(epsilons: Iterable[float], deltas: Iterable[float]) -> list[tuple[float, float]]:
    """The parameters (epsilon_i, delta_i) of a composition, as many of the one as of the other."""
    left = checked("epsilons", epsilons, checks.nonnegative)
    right = checked("deltas", deltas, checks.small_delta)
    if len(left) != len(right):
        raise ParameterError(
            f"deltas must have one entry per mechanism, got {len(right)} deltas for {len(left)} epsilons. "
            "Give 0.0 for a pure mechanism."
        )
    return list(zip(left, right, strict=True))
