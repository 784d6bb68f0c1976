# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Samples of a privacy profile for plots and tables. Every number is an upper bound."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.privacy.profile import PrivacyProfile, curve_of

POINTS = 16
_DELTAS = (0.0, *(10.0**-power for power in range(10, 0, -1)))
_ROUNDING = 1e-15
_LARGEST = 700.0
"""Largest epsilon whose exponential is a double; smaller epsilons give valid bounds too."""
_SAME = 1e-6
"""Relative distance below which two epsilons are one point."""
_PARTS = 4
"""Parts of each interval between points, divided once for readings and once more for drawing."""


@dataclass(frozen=True)
class ProfileSamples:
    """Pairs (epsilon, delta(epsilon)) from epsilon = 0 to a negligible or constant delta.

    Epsilons increase and deltas never do.
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    @classmethod
    def of(cls, profile: "PrivacyProfile | ProfileSamples") -> "ProfileSamples":
        """Sample a profile at powers of ten of delta, at 16 epsilons, and in between."""
        if isinstance(profile, ProfileSamples):
            return profile
        profile = curve_of(profile)
        found = [(profile.epsilon(delta), delta) for delta in _DELTAS]
        reached = [(epsilon, delta) for epsilon, delta in found if 0 < epsilon < math.inf]
        end = 1.1 * max((epsilon for epsilon, _ in reached), default=1.0)
        grid = (end * (place / (POINTS - 1)) ** 1.5 for place in range(POINTS))
        pairs = [*reached, *((epsilon, profile.delta(epsilon)) for epsilon in grid)]
        known = np.array([epsilon for epsilon, _ in _in_order(pairs)])
        pairs += [(epsilon, profile.delta(epsilon)) for epsilon in map(float, _divided(known))]
        return cls(*zip(*_in_order(pairs), strict=True))

    def refined(self) -> "ProfileSamples":
        """Return the samples with more points in between, each an upper bound: delta is convex in e^epsilon (T2)."""
        known, last = np.array(self.epsilons), len(self.epsilons) - 2
        epsilons = _divided(known)
        place = np.minimum(np.searchsorted(known, epsilons, side="right") - 1, last)
        width, left = np.diff(known)[place], known[place]
        share = (np.exp(epsilons - left - width) - np.exp(-width)) / -np.expm1(-width)  # of the chord, in e^epsilon
        deltas = np.array(self.deltas)[place] + np.diff(self.deltas)[place] * np.clip(share, 0.0, 1.0)
        return ProfileSamples(tuple(map(float, epsilons)), tuple(map(float, deltas)))

    def true_positive_rates(self, false_positive_rates: Iterable[float]) -> Floats:
        """Return upper bounds on the true-positive rates of attacks with these false-positive rates.

        Every point gives two lines below the trade-off curve (Dong, Roth & Su 2019, Prop 2.12), so their maximum is a
        bound for any choice of points. `dperm.privacy.profile.tradeoff_from_delta` searches for the best ones.
        """
        x = np.array(list(false_positive_rates), dtype=float)[:, np.newaxis]
        kept = [pair for pair in zip(self.epsilons, self.deltas, strict=True) if pair[0] < _LARGEST]
        slopes, rest = np.exp([epsilon for epsilon, _ in kept]), 1 - np.array([delta for _, delta in kept])
        lines = np.maximum(rest - slopes * x, (rest - x) / slopes)
        missed = np.maximum(lines.max(axis=1), 0.0)
        bounds: Floats = np.minimum(1.0, 1 - missed + _ROUNDING)
        return bounds


def _divided(epsilons: Floats) -> Floats:
    """Return the epsilons with points between neighbours."""
    steps = np.arange(_PARTS) / _PARTS
    found: Floats = np.append(epsilons[:-1, np.newaxis] + np.diff(epsilons)[:, np.newaxis] * steps, epsilons[-1])
    return found


def _in_order(pairs: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield the pairs with increasing epsilons and deltas that never increase.

    A delta at one epsilon is valid at every larger one, so each epsilon takes the smallest delta up to it. Among
    epsilons that differ by rounding alone, the largest stays.
    """
    least, found = 1.0, list[tuple[float, float]]()
    for epsilon, delta in sorted(pairs):
        least = min(least, delta)
        if found and epsilon - found[-1][0] <= _SAME * epsilon:
            found.pop()
        found.append((epsilon, least))
    yield from found
