# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of public constants shared by several releases."""

from collections.abc import Iterable
from typing import cast

import numpy as np

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency

MAGNITUDES = (2.0**-400, 2.0**400)
"""Range of bounds and norms. Within it, their squares, and 2^-60 times their squares, are normal doubles."""
REMEDY = "Give public bounds; every record is clipped to them."
NARROWEST = 2.0**-20
"""Smallest width of an interval, relative to its larger end."""


def interval(name: str, bounds: object) -> tuple[float, float]:
    """Return ``bounds`` as (low, high) with low < high, wide enough and near enough to 0 for exact arithmetic."""
    low, high = (checks.real(name, end, rule="two finite numbers", remedy=REMEDY) for end in _pair(name, bounds))
    if max(abs(low), abs(high)) > MAGNITUDES[1]:
        raise ParameterError(
            argument=name, rule="must be at most 2^400 in magnitude", got=shown(bounds), remedy="Rescale the records."
        )
    if not low < high:
        raise ParameterError(argument=name, rule="must be (low, high) with low < high", got=shown(bounds))
    if high - low < max(MAGNITUDES[0], NARROWEST * max(abs(low), abs(high))):
        raise ParameterError(
            argument=name,
            rule="must be at least 2^-20 of their magnitude (and 2^-400) apart",
            got=shown(bounds),
            remedy="Subtract a public offset from the records first.",
        )
    return low, high


def norm_bound(name: str, norm: object) -> float:
    """Return ``norm`` as a float if it lies in the supported range of norms."""
    return checks.between(name, norm, *MAGNITUDES, "Give the L2 norm for clipping the rows.")


def numbers(name: str, values: object) -> tuple[float, ...]:
    """Return ``values`` as a tuple of finite floats."""
    if isinstance(values, str) or np.ndim(values) != 1:  # type: ignore[arg-type]  # anything has a number of dimensions
        raise ParameterError(argument=name, rule="must be a sequence of numbers", got=shown(values))
    return tuple(checks.real(name, value) for value in cast(Iterable[object], values))


def public_n(n: object, adjacency: Adjacency) -> int | None:
    """Return the number of records: required under replace-one, private and refused under add/remove (C0.1)."""
    if adjacency is Adjacency.ADD_REMOVE:
        if n is not None:
            raise ParameterError(
                argument="n",
                rule="must be None under add_remove, where the number of records is private and released with noise",
                got=shown(n),
                remedy=f'Leave {arg("n")} out, or give a "replace_one" goal.',
            )
        return None
    return checks.count("n", n, "Give the number of records, which is public under replace_one.")


def _pair(name: str, bounds: object) -> tuple[object, object]:
    try:
        low, high = cast(Iterable[object], bounds)
    except (TypeError, ValueError):
        raise ParameterError(
            argument=name, rule="must be a pair (low, high) of public numbers", got=shown(bounds)
        ) from None
    return low, high
