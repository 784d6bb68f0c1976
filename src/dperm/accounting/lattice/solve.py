# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Inverting a profile: Newton finds where, and the end that is returned is verified against the bound itself."""

import math
from collections.abc import Callable

from dperm.accounting.lattice.readout import Readout

TRIES = 60


def smallest_epsilon(readout: Readout, delta: float, ceiling: float) -> float:
    """An eps in [0, ceiling] with upper(eps) <= delta, close to the smallest (``ceiling`` if none is found)."""
    if readout.upper(0.0) <= delta:
        return 0.0
    return _verified(readout, delta, ceiling, lambda e: readout.upper(e) <= delta, readout.upper, 1.0, ceiling)


def largest_epsilon(readout: Readout, delta: float, ceiling: float) -> float:
    """An eps in [0, ceiling] with lower(eps) >= delta, close to the largest (0 if none is found)."""
    return _verified(readout, delta, ceiling, lambda e: readout.lower(e) >= delta, readout.lower, -1.0, 0.0)


def _verified(
    readout: Readout,
    delta: float,
    ceiling: float,
    holds: Callable[[float], bool],
    bound: Callable[[float], float],
    sign: float,
    otherwise: float,
) -> float:
    """Step away from the root until the bound holds; halve the last step unless the first was as planned."""
    epsilon = _root(readout, delta, ceiling)
    value, tail = readout.value_and_tail(epsilon)
    excess = abs(bound(epsilon) - delta)
    planned = abs(value - delta) <= 1e-6 * delta and tail > value and excess < 0.1 * delta
    step = 1.05 * excess / (tail - value) + 1e-15 * epsilon if planned else 1e-14 * ceiling
    failed = epsilon
    for attempt in range(TRIES):
        trial = epsilon + sign * step
        if not 0 <= trial < ceiling:
            break
        if holds(trial):
            return trial if planned and attempt == 0 else _halved(holds, failed, trial)
        failed, step = trial, 2 * step
    return otherwise


def _halved(holds: Callable[[float], bool], failed: float, held: float) -> float:
    for _ in range(TRIES):
        middle = (failed + held) / 2
        if abs(failed - held) <= 1e-13 * held:
            break
        failed, held = (failed, middle) if holds(middle) else (middle, held)
    return held


def _root(readout: Readout, delta: float, ceiling: float) -> float:
    """Where the value itself meets delta: halving, and Newton on its logarithm once that is near."""
    low, high, epsilon = 0.0, ceiling, ceiling
    for _ in range(2 * TRIES):
        value, tail = readout.value_and_tail(epsilon)
        low, high = (epsilon, high) if value > delta else (low, epsilon)
        away = math.log(value / delta) if 0 < value < math.inf else math.inf
        if abs(away) <= 1e-14 or high - low <= 1e-15 * high:
            break
        trial = epsilon + away * value / (tail - value) if abs(away) < 2 and tail > value else math.nan
        epsilon = trial if low < trial < high else (low + high) / 2
    return epsilon
