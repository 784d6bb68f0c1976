# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Half-line densities of the two continuous noise distributions: e^(-z^2/2) and e^-z for z >= 0, up to constants.

A shape gives its log-density in floating point for tables and fast comparisons, its exact log-density for the remaining
comparisons, and a dominating exponential for rejection sampling in the tail.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dperm.noise.arrays import Floats


class NoiseShape(ABC):
    """Decreasing density e^-cost(z) on z >= 0, up to a constant."""

    strips_per_scale_bits: ClassVar[int]
    """Strips are 2^-bits to 2^(1-bits) scales wide; 1,023 of them precede the tail."""

    @abstractmethod
    def costs(self, z: Floats) -> Floats:
        """Return minus the log-density, as doubles."""

    @abstractmethod
    def cost(self, z: Fraction) -> Fraction:
        """Return minus the log-density, exactly."""

    @abstractmethod
    def slopes(self, left: Floats, width: float) -> Floats:
        """Return the b in cost(left + t width) - cost(left) = t (b + t curvature)."""

    @abstractmethod
    def curvature(self, width: float) -> float:
        """Return the coefficient of t^2 in the same expansion."""

    @abstractmethod
    def tail_rate(self, start: Fraction) -> Fraction:
        """Return the rate r of the exponential dominating the tail: cost(start + v) - cost(start) >= r v."""

    @abstractmethod
    def tail_cost(self, beyond: Fraction) -> Fraction:
        """Return the cost left to rejection: cost(start + v) - cost(start) - r v."""


@dataclass(frozen=True)
class NormalShape(NoiseShape):
    """Half-normal density e^(-z^2/2): beyond ``start``, (start + v)^2/2 = start^2/2 + start v + v^2/2."""

    strips_per_scale_bits: ClassVar[int] = 6

    def costs(self, z: Floats) -> Floats:
        """Return z^2 / 2, in floating point."""
        return z * z / 2

    def cost(self, z: Fraction) -> Fraction:
        """Return z^2 / 2, as a fraction."""
        return z * z / 2

    def slopes(self, left: Floats, width: float) -> Floats:
        """Return left width, since (left + t width)^2/2 - left^2/2 = t (left width + t width^2/2)."""
        return left * width

    def curvature(self, width: float) -> float:
        """Return width^2 / 2, in floating point."""
        return width * width / 2

    def tail_rate(self, start: Fraction) -> Fraction:
        """Return the slope of the cost at ``start``."""
        return start

    def tail_cost(self, beyond: Fraction) -> Fraction:
        """Return v^2 / 2, as a fraction."""
        return beyond * beyond / 2


@dataclass(frozen=True)
class ExponentialShape(NoiseShape):
    """Exponential density e^-z; its tail is again exponential."""

    strips_per_scale_bits: ClassVar[int] = 5

    def costs(self, z: Floats) -> Floats:
        """Return z, in floating point."""
        return z

    def cost(self, z: Fraction) -> Fraction:
        """Return z, as a fraction."""
        return z

    def slopes(self, left: Floats, width: float) -> Floats:
        """Return the width for every strip, since the cost is linear."""
        return np.full_like(left, width)

    def curvature(self, width: float) -> float:
        """Return 0, since the cost is linear."""
        return 0.0

    def tail_rate(self, start: Fraction) -> Fraction:
        """Return 1, since the distribution has no memory."""
        return Fraction(1)

    def tail_cost(self, beyond: Fraction) -> Fraction:
        """Return 0, since the tail is exactly exponential."""
        return Fraction(0)


NORMAL = NormalShape()
EXPONENTIAL = ExponentialShape()
