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
    epsilon = _root(readout, delta, ceiling)
    value, tail = readout.value_and_tail(epsilon)
    slope = max(tail - value, readout.tilt * value, 1e-300)
    excess = abs(bound(epsilon) - delta)
    step = max(1.05 * excess / slope, 4e-16 * epsilon) if math.isfinite(excess) else 0.01 * ceiling
    for _ in range(TRIES):
        trial = epsilon + sign * step
        if not 0 <= trial < ceiling:
            break
        if holds(trial):
            return trial
        step *= 2
    return otherwise


def _root(readout: Readout, delta: float, ceiling: float) -> float:
    """Where the value itself meets delta: Newton on its logarithm, kept inside a bracket."""
    low, high, epsilon = 0.0, ceiling, ceiling
    for _ in range(TRIES):
        value, tail = readout.value_and_tail(epsilon)
        low, high = (epsilon, high) if value > delta else (low, epsilon)
        trial = epsilon + math.log(value / delta) * value / (tail - value) if math.inf > tail > value > 0 else math.nan
        if not low < trial < high:
            trial = (low + high) / 2
        if abs(trial - epsilon) <= 1e-15 * high or high - low <= 1e-15 * high:
            break
        epsilon = trial
    return epsilon
