# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Validation of the chosen statistics before any run."""

from collections.abc import Iterable

from dperm import checks
from dperm.audit.black_box.statistics import Statistic
from dperm.errors import ParameterError


def checked_statistics(statistics: object, *, delta: float = 1.0) -> tuple[Statistic, ...]:
    """Return the statistics; raise ``ParameterError`` for none, duplicate names, or a Gaussian statistic at delta 0."""
    if isinstance(statistics, str | Statistic) or not isinstance(statistics, Iterable):
        raise ParameterError(f"statistics must be a list, such as [projection()], got {checks.shown(statistics)}.")
    found = tuple(statistics)
    for one in found:
        if isinstance(one, type) or not isinstance(one, Statistic):
            raise ParameterError(f"statistics must be Fixed, Selected or such, got {checks.shown(one)} among them.")
    names = [one.name for one in found]
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"statistics must be at least one, each with a name of its own, got {names}.")
    if delta == 0 and any(getattr(one, "gaussian", False) for one in found):
        raise ParameterError("delta must be above 0 for statistics with gaussian=True: there epsilon is finite, got 0.")
    return found
