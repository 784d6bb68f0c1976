# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Search for the smallest noise at which objective perturbation's bounding loss meets its target (T43a)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dperm.accounting import closed
from dperm.accounting.closed import SingleStep
from dperm.accounting.composition import Composition
from dperm.accounting.laws.objective import BoundingLoss
from dperm.errors import AssumptionError
from dperm.privacy.gaussian_profile import mu_for
from dperm.privacy.rounding import raised

MARGIN = 1e-10
"""Relative margin below the target delta; the accountant's own allowance is 1e-11."""
PUSHES = (0.0, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


def certified_delta(bound: BoundingLoss, epsilon: float) -> float:
    """Return the accountant's delta(epsilon) for one such event; it is never 0, because the loss is unbounded."""
    return SingleStep(bound.mirrored()).bracket(epsilon)[1]


@dataclass(frozen=True)
class NoiseSearch:
    """Target (epsilon, delta), and the bounding loss as a function of the noise multiplier.

    Delta falls as the noise grows.
    """

    epsilon: float
    delta: float
    bound: Callable[[float], BoundingLoss]

    def least(self, left: float) -> float:
        """Return the noise multiplier of one Gaussian loss at epsilon ``left`` after the determinant (T6).

        A lower bound.
        """
        return raised(1 / mu_for(left, self.delta * (1 - MARGIN)), 4)

    def pushed(self, start: float) -> float:
        """Return the first noise multiplier certified by the accountant, from ``start`` upwards in small steps."""
        for push in PUSHES:
            if self.covered(start * (1 + push)):
                return start * (1 + push)
        raise AssumptionError("no noise near the exact one could be certified. Ask for a slightly larger epsilon.")

    def covered(self, noise_multiplier: float) -> bool:
        """Return whether the accountant's epsilon at delta is at most the target epsilon."""
        alone = Composition(((self.bound(noise_multiplier).mirrored(), 1),))
        found = closed.epsilon_bracket(alone, self.delta)
        return found is not None and found[1] <= self.epsilon

    def root(self, least: float) -> float:
        """Return the noise multiplier at which delta meets its target.

        Illinois method in log noise, from ``least`` upwards.
        """
        low = high = math.log(least)
        above = below = self._excess(low)
        while below > 0:
            low, above, high = high, below, high + 0.7
            below = self._excess(high)
        side = 0
        for _ in range(60 if low < high else 0):
            middle = (low * below - high * above) / (below - above) if math.isfinite(below) else (low + high) / 2
            value = self._excess(middle)
            if abs(value) <= 1e-13:
                return math.exp(middle)
            if not low < middle < high:
                break
            if value > 0:  # an end that stays twice loses half its weight
                low, above, below, side = middle, value, below / 2 if side > 0 else below, 1
            else:
                high, below, above, side = middle, value, above / 2 if side < 0 else above, -1
        return math.exp(high)

    def _excess(self, log_noise: float) -> float:
        value = self.bound(math.exp(log_noise)).delta(self.epsilon)
        return math.log(value / self.delta) + MARGIN if value > 0 else -math.inf
