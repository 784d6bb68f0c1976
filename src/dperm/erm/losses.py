# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Losses of linear classifiers of two classes, as functions of the margin z = y x'theta, and their constants (T53).

Each is convex and decreasing with slopes in [-1, 0]. Losses of regression are in `dperm.erm.residual_losses`, and the
loss of three or more classes is in `dperm.erm.softmax`.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from dperm import checks
from dperm.data.arrays import Floats
from dperm.erm.loss import Limits, Loss, MarginLoss, within_one

WIDTH = "It is h, half the width of the region in which the kink of the hinge is smoothed."


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """Logistic loss log(1 + e^-z) (T53)."""

    name: ClassVar[str] = "logistic"
    curvature: ClassVar[float] = 0.25
    steepness: ClassVar[float] = 0.25
    softer: ClassVar[tuple[Loss, ...]] = ()
    at_zero: ClassVar[float] = 0.6931471805599454

    def relative_steepness(self, radius: float, clip: float) -> float:
        """Return the radius times the largest |z| p (1 - p), .22386 at |z| = 1.5434."""
        return 0.224 * radius

    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """Return log(1 + e^-z); below z_s = log((1 - s)/s), where the slope is -s, the tangent."""
        inner = z if limits is None else np.maximum(z, self._turn(limits))
        values = np.log1p(np.exp(-np.abs(inner))) + np.maximum(-inner, 0.0)
        return np.asarray(values if limits is None else values + np.minimum(limits, 1.0) * (inner - z))

    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """Return -1/(1 + e^z), at least -s."""
        slopes = self._slopes(z)
        return np.asarray(-slopes if limits is None else -np.minimum(slopes, limits))

    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """Return p (1 - p); 0 where the slope is limited."""
        slopes = self._slopes(z)
        bends = slopes * (1 - slopes)
        return np.asarray(bends if limits is None else np.where(slopes < limits, bends, 0.0))

    def middle(self, limits: Limits = None) -> Floats | float:
        """Return log((2 - s)/s), the margin of slope -s/2."""
        return 0.0 if limits is None else self._turn(np.minimum(limits, 1.0) / 2)

    @staticmethod
    def _slopes(z: Floats) -> Floats:
        """Return 1/(1 + e^z); above z = 700, where e^z would overflow, about 1e-304."""
        return np.asarray(1 / (1 + np.exp(np.minimum(z, 700.0))))

    @staticmethod
    def _turn(limits: Floats) -> Floats:
        """Return the margin z_s = log((1 - s)/s) below which the slope is limited; -infinity for s >= 1."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(limits < 1, np.log(np.maximum(1 - limits, 0.0)) - np.log(limits), -np.inf))


@dataclass(frozen=True)
class _SmoothHinge(MarginLoss):
    """Base class of hinges with a kink smoothed within ``width`` = h of z = 1."""

    width: float = 0.5

    def __post_init__(self) -> None:
        """Check that h lies in [1e-6, 1e6]."""
        object.__setattr__(self, "width", checks.between("width", self.width, 1e-6, 1e6, WIDTH))

    @property
    def steepness(self) -> float:
        """Curvature of the smoothed region."""
        return self.curvature

    def relative_steepness(self, radius: float, clip: float) -> float:
        """Return the radius times the curvature at the largest margin of the smoothed region, 1 + h."""
        return radius * self.curvature * (1 + self.width)

    @property
    def softer(self) -> tuple[Loss, ...]:
        """Hinges with widths from 1/4 down to h, each half the one before."""
        count = max(0, math.ceil(math.log2(0.25 / self.width) - 0.5))
        return tuple(cast(Loss, replace(self, width=0.25 / 2**place)) for place in range(count))

    @property
    def at_zero(self) -> float:
        """Loss f(0) at margin 0."""
        return float(self.value(np.zeros(1))[0])


@dataclass(frozen=True)
class HuberHinge(_SmoothHinge):
    """Hinge with its kink replaced by a parabola on |1 - z| <= h (T53): C^{1,1}, beta = R^2/(2h)."""

    name: ClassVar[str] = "huber_hinge"

    @property
    def curvature(self) -> float:
        """Largest second derivative of the parabola, 1/(2h)."""
        return 1 / (2 * self.width)

    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """Return u^2/(4h) with u = 1 + h - z up to u = 2hs, then the line of slope s."""
        gap = np.maximum(1 + self.width - z, 0.0)
        inner = np.minimum(gap, 2 * self.width * within_one(limits))
        return np.asarray(inner / (2 * self.width) * (gap - inner / 2))

    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """Return -u/(2h), cut to [-s, 0]."""
        return np.asarray(-np.minimum(self._slopes(z), within_one(limits)))

    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """Return 1/(2h) where the slope is between -s and 0."""
        slopes = self._slopes(z)
        return np.where((slopes > 0) & (slopes < within_one(limits)), self.curvature, 0.0)

    def middle(self, limits: Limits = None) -> Floats | float:
        """Return the margin 1 + h - hs."""
        return 1 + self.width * (1 - within_one(limits))

    def _slopes(self, z: Floats) -> Floats:
        """Return u/(2h), cut to [0, 1] before the division, which may overflow."""
        return np.asarray(np.clip(1 + self.width - z, 0.0, 2 * self.width) / (2 * self.width))


@dataclass(frozen=True)
class SmoothedHinge(_SmoothHinge):
    """Twice differentiable smoothed hinge of Chaudhuri, Monteleoni & Sarwate (T53): beta = 3R^2/(4h).

    With v = (1 + h - z)/h in [0, 2], f = h v^3 (4 - v)/16, -f' = v^2 (3 - v)/4 and f'' = (3/(4h)) v (2 - v): the
    quartic of T53 without its cancellation near v = 0.
    """

    name: ClassVar[str] = "smoothed_hinge"

    @property
    def curvature(self) -> float:
        """Largest second derivative of the quartic, 3/(4h)."""
        return 3 / (4 * self.width)

    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """Return the quartic h v^3 (4 - v)/16; beyond the slope's limit s, the tangent."""
        gap = 1 + self.width - z
        turn = self.width * self._turn(limits)
        v = np.clip(gap, 0.0, turn) / self.width
        return np.asarray(self.width * v * v * v * (4 - v) / 16 + within_one(limits) * np.maximum(gap - turn, 0.0))

    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """Return -v^2 (3 - v)/4, at least -s."""
        return np.asarray(-np.minimum(self._slopes(self._inside(z)), within_one(limits)))

    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """Return (3/(4h)) v (2 - v); 0 where the slope is limited."""
        v = self._inside(z)
        bends = self.curvature * (v * (2 - v))
        return np.asarray(bends if limits is None else np.where(self._slopes(v) < limits, bends, 0.0))

    def middle(self, limits: Limits = None) -> Floats | float:
        """Return the margin of slope -s/2."""
        return 1.0 if limits is None else 1 + self.width * (1 - self._turn(np.minimum(limits, 1.0) / 2))

    def _inside(self, z: Floats) -> Floats:
        """Return v, cut before the division, which may overflow."""
        return np.asarray(np.clip(1 + self.width - z, 0.0, 2 * self.width) / self.width)

    @staticmethod
    def _slopes(v: Floats) -> Floats:
        return np.asarray(v * v * (3 - v) / 4)

    @staticmethod
    def _turn(limits: Limits) -> Floats | float:
        """Return the v in [0, 2] of slope s, by the trigonometric solution of v^3 - 3v^2 + 4s = 0.

        v = 1 - 2 cos(x + pi/3) with sin^2(3x/2) = s, written without cancellation.
        """
        if limits is None:
            return 2.0
        third = 2 / 3 * np.arcsin(np.sqrt(np.minimum(limits, 1.0)))
        return np.asarray(2 * np.sin(third / 2) ** 2 + math.sqrt(3) * np.sin(third))


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """Hinge loss (1 - z)_+ (T53), for gradient perturbation: its kink rules out objective perturbation (T42).

    The computed subgradient goes from -1 to 0 on a ramp of width 2^-9 around z = 1 (the value is off by 2^-12 at most).
    So rounding of a margin does not decide between 0 and a whole gradient.
    """

    name: ClassVar[str] = "hinge"
    curvature: ClassVar[float] = float("inf")
    steepness: ClassVar[float] = 2.0**9
    softer: ClassVar[tuple[Loss, ...]] = ()
    at_zero: ClassVar[float] = 1.0

    def relative_steepness(self, radius: float, clip: float) -> float:
        """Return the radius times the steepness of the ramp at margins of at most 1 and a ramp's width."""
        return radius * self.steepness * (1 + 1 / self.steepness)

    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """Return s (1 - z)_+."""
        return np.asarray(within_one(limits) * np.maximum(1 - z, 0.0))

    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """Return -s for z < 1 and 0 for z > 1, with the ramp between them."""
        ramp = np.clip(1 - z, -0.5 / self.steepness, 0.5 / self.steepness) * self.steepness + 0.5
        return np.asarray(-within_one(limits) * ramp)

    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """Return 0, the second derivative almost everywhere."""
        return np.zeros_like(z)

    def middle(self, limits: Limits = None) -> Floats | float:
        """Return the margin 1 of the kink."""
        return 1.0
