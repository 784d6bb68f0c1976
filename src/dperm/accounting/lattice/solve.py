# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Inverting a profile: Newton finds where, and the end that is returned is verified against the bound itself."""

import math
from dataclasses import dataclass

from dperm.accounting.lattice.readout import Readout

TRIES = 60


def smallest_epsilon(readout: Readout, delta: float, ceiling: float) -> float:
    """An eps in [0, ceiling] with upper(eps) <= delta, close to the smallest (``ceiling`` if none is found)."""
    if readout.upper(0.0) <= delta:
        return 0.0
    found = _Search(readout, delta, ceiling, upwards=True).verified()
    return ceiling if found is None else found


def largest_epsilon(readout: Readout, delta: float, ceiling: float) -> float:
    """An eps in [0, ceiling] with lower(eps) >= delta, close to the largest (0 if none is found)."""
    return _Search(readout, delta, ceiling, upwards=False).verified() or 0.0


@dataclass(frozen=True)
class _Search:
    """Where the upper bound is small enough (upwards) or the lower bound large enough."""

    readout: Readout
    delta: float
    ceiling: float
    upwards: bool

    def verified(self) -> float | None:
        """Step away from the root until the bound holds; halve the last step unless the first was as planned."""
        epsilon = self._root()
        value, tail = self.readout.value_and_tail(epsilon)
        excess = abs(self._bound(epsilon) - self.delta)
        planned = abs(value - self.delta) <= 1e-6 * self.delta and tail > value and excess < 0.1 * self.delta
        step = 1.05 * excess / (tail - value) + 1e-15 * epsilon if planned else 1e-14 * self.ceiling
        failed = epsilon
        for attempt in range(TRIES):
            trial = epsilon + step if self.upwards else epsilon - step
            if not 0 <= trial < self.ceiling:
                break
            if self._holds(trial):
                return trial if planned and attempt == 0 else self._halved(failed, trial)
            failed, step = trial, 2 * step
        return None

    def _bound(self, epsilon: float) -> float:
        return self.readout.upper(epsilon) if self.upwards else self.readout.lower(epsilon)

    def _holds(self, epsilon: float) -> bool:
        return self._bound(epsilon) <= self.delta if self.upwards else self._bound(epsilon) >= self.delta

    def _halved(self, failed: float, held: float) -> float:
        for _ in range(TRIES):
            middle = (failed + held) / 2
            if abs(failed - held) <= 1e-13 * held:
                break
            failed, held = (failed, middle) if self._holds(middle) else (middle, held)
        return held

    def _root(self) -> float:
        """Where the value itself meets delta: halving, and Newton on its logarithm once that is near."""
        low, high, epsilon = 0.0, self.ceiling, self.ceiling
        for _ in range(2 * TRIES):
            value, tail = self.readout.value_and_tail(epsilon)
            low, high = (epsilon, high) if value > self.delta else (low, epsilon)
            away = math.log(value / self.delta) if 0 < value < math.inf else math.inf
            if abs(away) <= 1e-14 or high - low <= 1e-15 * high:
                break
            trial = epsilon + away * value / (tail - value) if abs(away) < 2 and tail > value else math.nan
            epsilon = trial if low < trial < high else (low + high) / 2
        return epsilon
