# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a loss of a linear model is: a convex function of a record's scores, with its public constants (T53).

A record has one score u = x'theta, or one for each class. A limit s on the slope replaces the loss by its linear
extension where |f'| > s (T44): still convex, second derivative no larger, monotone if it was, and its gradient is the
gradient of the loss clipped to s ||x||. Limits are one for each record, or None for none.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.targets import LabelKind, Targets

Limits = Floats | None
Bends = Any
"""The second derivatives of some records, as the loss keeps them: for `Loss.spread` alone."""


class Loss(Protocol):
    """A convex function of the scores of a record, which depends on its target."""

    name: ClassVar[str]
    monotone: ClassVar[bool]
    """Whether the slope of a record has one sign at every theta (T40)."""
    labels: ClassVar[LabelKind]
    """What targets are."""

    @property
    def outputs(self) -> int:
        """Scores of a record."""

    @property
    def slope(self) -> float:
        """The longest gradient in the scores: L = R times it (C0.3); infinite where a limit has to be set (T44)."""

    @property
    def curvature(self) -> float:
        """The largest second derivative in a direction: beta = R^2 times it; infinite for a kink."""

    @property
    def rank(self) -> int:
        """Of the matrix of second derivatives in the scores (T37)."""

    @property
    def bend(self) -> float:
        """Bound on the mean of the eigenvalues of that matrix over its rank."""

    @property
    def steepness(self) -> float:
        """How fast the computed derivative can change: the curvature, but finite for a kink too."""

    @property
    def at_zero(self) -> float:
        """The loss at scores 0, at most: it bounds the norm of a minimiser."""

    @property
    def softer(self) -> "tuple[Loss, ...]":
        """Losses of the same kind with less curvature, the least first: their minimisers lead to that of this one."""

    def losses(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """The loss of each record."""

    def slopes(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """Its derivatives by the scores, in their shape (a subgradient where there is a kink)."""

    def bends(self, scores: Floats, targets: Targets, limits: Limits = None, caution: float = 0.0) -> Bends:
        """Its second derivatives; ``caution`` is the share of those of a function above it, to be mixed in."""

    def spread(self, bends: Bends, products: Floats) -> Floats:
        """The second derivatives times ``products``, which have the shape of the scores."""


class OfOneScore(ABC):
    """A convex function f of one number z, which follows from the score and the target."""

    name: ClassVar[str]
    outputs: ClassVar[int] = 1
    rank: ClassVar[int] = 1

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Sup f''."""

    @abstractmethod
    def argument(self, scores: Floats, targets: Targets) -> Floats:
        """The number z."""

    @abstractmethod
    def by_score(self, slopes: Floats, targets: Targets) -> Floats:
        """The derivative by the score, from that by z."""

    @abstractmethod
    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """F."""

    @abstractmethod
    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """F' (a subgradient where there is a kink)."""

    @abstractmethod
    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """F'' almost everywhere."""

    @abstractmethod
    def middle(self, limits: Limits = None) -> Floats | float:
        """The z about which f is even, up to a line."""

    @abstractmethod
    def middle_slope(self, limits: Limits = None) -> Floats | float:
        """F' there."""

    @property
    def bend(self) -> float:
        """The one eigenvalue there is."""
        return self.curvature

    def losses(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """F at z."""
        return self.value(self.argument(scores, targets), limits)

    def slopes(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """F' at z, by the score."""
        return self.by_score(self.derivative(self.argument(scores, targets), limits), targets)

    def bends(self, scores: Floats, targets: Targets, limits: Limits = None, caution: float = 0.0) -> Floats:
        """F'' at z, and a share of the secant's; z changes as fast as the score."""
        z = self.argument(scores, targets)
        bends = self.second(z, limits)
        return bends if not caution else (1 - caution) * bends + caution * self.secant(z, limits)

    def spread(self, bends: Floats, products: Floats) -> Floats:
        """Record by record."""
        return bends * products

    def secant(self, z: Floats, limits: Limits = None) -> Floats:
        """The curvature of the parabola that touches f at z and has the slope of f at the middle.

        With a line added, f without limits is even about the middle m, and the parabola lies above it everywhere
        (de Leeuw and Lange 2009): unlike f'' it foresees what a long step meets. w = (f'(z) - f'(m)) / (z - m).
        """
        gap = z - self.middle(limits)
        rise = self.derivative(z, limits) - self.middle_slope(limits)
        slopes = np.divide(rise, gap, out=np.full_like(z, self.curvature), where=np.abs(gap) > 1e-8)
        return np.clip(slopes, 0.0, self.curvature)


class OfMargin(OfOneScore):
    """A decreasing f of the margin z = y u, y = -1 or 1: monotone in the sense of T40, with slopes in [-1, 0]."""

    monotone: ClassVar[bool] = True
    labels: ClassVar[LabelKind] = LabelKind.SIGN
    slope: ClassVar[float] = 1.0

    def argument(self, scores: Floats, targets: Targets) -> Floats:
        """The margin."""
        return np.asarray(targets * scores)

    def by_score(self, slopes: Floats, targets: Targets) -> Floats:
        """By the chain rule."""
        return np.asarray(targets * slopes)

    def middle_slope(self, limits: Limits = None) -> Floats | float:
        """Half the steepest."""
        return -within_one(limits) / 2


class OfResidual(OfOneScore):
    """A function f of the residual z = u - y, y in [-1, 1]: slopes of both signs, so T40 does not hold (T39, T41)."""

    monotone: ClassVar[bool] = False
    labels: ClassVar[LabelKind] = LabelKind.NUMBER

    def argument(self, scores: Floats, targets: Targets) -> Floats:
        """The residual."""
        return np.asarray(scores - targets)

    def by_score(self, slopes: Floats, targets: Targets) -> Floats:
        """The same."""
        return slopes

    def middle(self, limits: Limits = None) -> Floats | float:
        """No residual."""
        return 0.0

    def middle_slope(self, limits: Limits = None) -> Floats | float:
        """None."""
        return 0.0


def within_one(limits: Limits) -> Floats | float:
    """The largest slope that is let through, of a loss that has none above 1."""
    return 1.0 if limits is None else np.minimum(limits, 1.0)
