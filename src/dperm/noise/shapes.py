# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The two continuous laws behind all noise, by their half-lines: density proportional to e^-z^2/2 or e^-z for z >= 0.

A shape knows its log-density in floating point (for tables and the quick comparison), with rational bounds (for the
comparisons that remain) and how to draw its far tail by rejection from an exponential.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dperm.noise.arrays import Floats


class Shape(ABC):
    """A decreasing density e^-cost(z) on z >= 0, up to a constant."""

    strips_per_scale_bits: ClassVar[int]
    """Strips are 2^-bits to 2^(1-bits) scales wide; 1,023 of them lie before the tail."""

    @abstractmethod
    def costs(self, z: Floats) -> Floats:
        """Minus the log-density, as doubles."""

    @abstractmethod
    def cost(self, z: Fraction) -> Fraction:
        """Minus the log-density, exactly."""

    @abstractmethod
    def slopes(self, left: Floats, width: float) -> Floats:
        """The b in cost(left + t width) - cost(left) = t (b + t curvature)."""

    @abstractmethod
    def curvature(self, width: float) -> float:
        """The coefficient of t^2 there."""

    @abstractmethod
    def tail_rate(self, start: Fraction) -> Fraction:
        """Rate r of the exponential that dominates the tail: cost(start + v) - cost(start) >= r v."""

    @abstractmethod
    def tail_cost(self, beyond: Fraction) -> Fraction:
        """What is left to pay by rejection: cost(start + v) - cost(start) - r v."""


@dataclass(frozen=True)
class NormalShape(Shape):
    """e^-z^2/2: beyond ``start``, (start + v)^2/2 = start^2/2 + start v + v^2/2."""

    strips_per_scale_bits: ClassVar[int] = 6

    def costs(self, z: Floats) -> Floats:
        """z^2 / 2."""
        return z * z / 2

    def cost(self, z: Fraction) -> Fraction:
        """z^2 / 2."""
        return z * z / 2

    def slopes(self, left: Floats, width: float) -> Floats:
        """(left + t width)^2/2 - left^2/2 = t (left width + t width^2/2)."""
        return left * width

    def curvature(self, width: float) -> float:
        """width^2 / 2."""
        return width * width / 2

    def tail_rate(self, start: Fraction) -> Fraction:
        """The slope of the cost at ``start``."""
        return start

    def tail_cost(self, beyond: Fraction) -> Fraction:
        """v^2 / 2."""
        return beyond * beyond / 2


@dataclass(frozen=True)
class ExponentialShape(Shape):
    """e^-z: the tail is the exponential law itself."""

    strips_per_scale_bits: ClassVar[int] = 5

    def costs(self, z: Floats) -> Floats:
        """The place itself."""
        return z

    def cost(self, z: Fraction) -> Fraction:
        """The place itself."""
        return z

    def slopes(self, left: Floats, width: float) -> Floats:
        """The cost rises by t width."""
        return np.full_like(left, width)

    def curvature(self, width: float) -> float:
        """None."""
        return 0.0

    def tail_rate(self, start: Fraction) -> Fraction:
        """The law has no memory."""
        return Fraction(1)

    def tail_cost(self, beyond: Fraction) -> Fraction:
        """None."""
        return Fraction(0)


NORMAL = NormalShape()
EXPONENTIAL = ExponentialShape()
