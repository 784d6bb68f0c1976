# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the public constants that several releases share."""

from collections.abc import Iterable
from typing import cast

import numpy as np

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy import Adjacency

MAGNITUDES = (2.0**-400, 2.0**400)
"""Bounds and norms lie within; their squares, and 2^-60 of them, are then ordinary doubles."""
REMEDY = "Bounds are public, finite numbers between which every record is clipped."
NARROWEST = 2.0**-20
"""An interval is at least this wide, relative to its larger end."""


def interval(name: str, bounds: object) -> tuple[float, float]:
    """``bounds`` as (low, high), low < high: wide enough, and near enough to 0, for exact arithmetic."""
    low, high = (checks.real(name, end, rule="two finite numbers", remedy=REMEDY) for end in _pair(name, bounds))
    if max(abs(low), abs(high)) > MAGNITUDES[1]:
        raise ParameterError(f"{name} must be at most 2^400 in magnitude, got {shown(bounds)}. Rescale the records.")
    if not low < high:
        raise ParameterError(f"{name} must be (low, high) with low < high, got {shown(bounds)}.")
    if high - low < max(MAGNITUDES[0], NARROWEST * max(abs(low), abs(high))):
        raise ParameterError(
            f"{name} must be at least 2^-20 of their magnitude (and 2^-400) apart, got {shown(bounds)}. Subtract a "
            f"public offset from the records first."
        )
    return low, high


def norm_bound(name: str, norm: object) -> float:
    """``norm`` as a float, if it bounds a norm."""
    return checks.between(name, norm, *MAGNITUDES, "It is the L2 norm that rows are clipped to.")


def numbers(name: str, values: object) -> tuple[float, ...]:
    """``values`` as a tuple of finite floats."""
    if isinstance(values, str) or np.ndim(values) != 1:  # type: ignore[arg-type]  # anything has a number of dimensions
        raise ParameterError(f"{name} must be a sequence of numbers, got {shown(values)}.")
    return tuple(checks.real(name, value) for value in cast(Iterable[object], values))


def public_n(n: object, adjacency: Adjacency) -> int | None:
    """The number of records: public and required under replace-one, private and refused under add/remove (C0.1)."""
    if adjacency is Adjacency.ADD_REMOVE:
        if n is not None:
            raise ParameterError(
                f"n must be None under add_remove, got {shown(n)}: the number of records is private there, and is "
                f'released with noise beside the sum. Leave it out, or give a "replace_one" goal.'
            )
        return None
    return checks.count("n", n, "It is the number of records, which is public under replace_one.")


def _pair(name: str, bounds: object) -> tuple[object, object]:
    try:
        low, high = cast(Iterable[object], bounds)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a pair (low, high) of public numbers, got {shown(bounds)}.") from None
    return low, high
