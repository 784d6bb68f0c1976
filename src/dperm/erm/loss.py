# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Interface of losses of linear models: convex functions of a record's scores, with public constants (T53).

A record has one score u = x'theta, or one for each class. A limit s on the slope replaces the loss by its linear
extension where |f'| > s (T44). The result is still convex, its second derivative is no larger, it is monotone if the
loss was, and its gradient is the gradient of the loss clipped to s ||x||. There is one limit per record, or None for no
limits.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.targets import LabelKind, Targets

Limits = Floats | None
Bends = Any
"""Second derivatives of some records in the loss's own format, for `Loss.spread` alone."""


class Loss(Protocol):
    """Convex function of the scores of a record, which depends on its target."""

    name: ClassVar[str]
    monotone: ClassVar[bool]
    """Whether the slope of a record has one sign at every theta (T40)."""
    labels: ClassVar[LabelKind]
    """Kind of the targets."""

    @property
    def outputs(self) -> int:
        """Number of scores of a record."""

    @property
    def slope(self) -> float:
        """Largest norm of the gradient in the scores: L = R times it (C0.3); infinite where a limit is needed (T44)."""

    @property
    def curvature(self) -> float:
        """Largest second derivative in a direction: beta = R^2 times it; infinite for a kink."""

    @property
    def rank(self) -> int:
        """Rank of the matrix of second derivatives in the scores (T37)."""

    @property
    def bend(self) -> float:
        """Bound on the mean of the nonzero eigenvalues of the matrix of second derivatives."""

    @property
    def steepness(self) -> float:
        """Largest rate of change of the computed derivative: the curvature, but finite for a kink too."""

    def relative_steepness(self, radius: float, clip: float) -> float:
        """Return a bound on ||x|| |u f''(u)| over the scores u whose slope is not limited, for ||x|| <= ``radius``.

        It bounds the change of the slope times ||x|| by a relative error of the score (T202). ``clip`` is the largest
        |f'| ||x||, or infinity.
        """

    @property
    def at_zero(self) -> float:
        """Upper bound on the loss at scores 0; it bounds the norm of a minimiser."""

    @property
    def softer(self) -> "tuple[Loss, ...]":
        """Losses of the same kind with less curvature, least first; their minimisers are starting points."""

    def losses(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """Return the loss of each record."""

    def slopes(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """Return the derivatives by the scores, in their shape (a subgradient at a kink)."""

    def bends(self, scores: Floats, targets: Targets, limits: Limits = None, caution: float = 0.0) -> Bends:
        """Return the second derivatives, mixed with a share ``caution`` of those of a larger function."""

    def spread(self, bends: Bends, products: Floats) -> Floats:
        """Return the second derivatives times ``products``, an array in the shape of the scores."""


class ScalarLoss(ABC):
    """Convex function f of one number z, computed from score and target."""

    name: ClassVar[str]
    outputs: ClassVar[int] = 1
    rank: ClassVar[int] = 1

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Supremum of f'' over all z."""

    @abstractmethod
    def argument(self, scores: Floats, targets: Targets) -> Floats:
        """Return z for each record."""

    @abstractmethod
    def by_score(self, slopes: Floats, targets: Targets) -> Floats:
        """Return derivatives by the score from derivatives by z."""

    @abstractmethod
    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """Return f(z) for each record."""

    @abstractmethod
    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """Return f'(z) for each record, a subgradient at a kink."""

    @abstractmethod
    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """Return f''(z), which exists almost everywhere."""

    @abstractmethod
    def middle(self, limits: Limits = None) -> Floats | float:
        """Return the z about which f is even, up to a linear function."""

    @abstractmethod
    def middle_slope(self, limits: Limits = None) -> Floats | float:
        """Return f' at the middle."""

    @property
    def bend(self) -> float:
        """Curvature: a scalar function has one eigenvalue."""
        return self.curvature

    def losses(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """Return f at z for each record."""
        return self.value(self.argument(scores, targets), limits)

    def slopes(self, scores: Floats, targets: Targets, limits: Limits = None) -> Floats:
        """Return the derivatives of f by the score."""
        return self.by_score(self.derivative(self.argument(scores, targets), limits), targets)

    def bends(self, scores: Floats, targets: Targets, limits: Limits = None, caution: float = 0.0) -> Floats:
        """Return f'' at z, mixed with a share of the secant curvature; z changes as fast as the score."""
        z = self.argument(scores, targets)
        bends = self.second(z, limits)
        return bends if not caution else (1 - caution) * bends + caution * self.secant(z, limits)

    def spread(self, bends: Floats, products: Floats) -> Floats:
        """Return the product of second derivatives and ``products``, record by record."""
        return bends * products

    def secant(self, z: Floats, limits: Limits = None) -> Floats:
        """Return the curvature of the parabola that touches f at z and has the slope of f at the middle.

        With a linear function added, f without limits is even about the middle m, and the parabola lies above it
        everywhere (de Leeuw and Lange 2009). Unlike f'' it accounts for the function ahead of a long step. w = (f'(z) -
        f'(m)) / (z - m).
        """
        gap = z - self.middle(limits)
        rise = self.derivative(z, limits) - self.middle_slope(limits)
        slopes = np.divide(rise, gap, out=np.full_like(z, self.curvature), where=np.abs(gap) > 1e-8)
        return np.clip(slopes, 0.0, self.curvature)


class MarginLoss(ScalarLoss):
    """Decreasing f of the margin z = y u, y = -1 or 1: monotone in the sense of T40, with slopes in [-1, 0]."""

    monotone: ClassVar[bool] = True
    labels: ClassVar[LabelKind] = LabelKind.SIGN
    slope: ClassVar[float] = 1.0

    def argument(self, scores: Floats, targets: Targets) -> Floats:
        """Return the margin y u."""
        return np.asarray(targets * scores)

    def by_score(self, slopes: Floats, targets: Targets) -> Floats:
        """Return y f', by the chain rule."""
        return np.asarray(targets * slopes)

    def middle_slope(self, limits: Limits = None) -> Floats | float:
        """Return half the steepest slope."""
        return -within_one(limits) / 2


class ResidualLoss(ScalarLoss):
    """Function f of the residual z = u - y, y in [-1, 1]: slopes have both signs, so T40 does not hold (T39, T41)."""

    monotone: ClassVar[bool] = False
    labels: ClassVar[LabelKind] = LabelKind.NUMBER

    def argument(self, scores: Floats, targets: Targets) -> Floats:
        """Return the residual u - y."""
        return np.asarray(scores - targets)

    def by_score(self, slopes: Floats, targets: Targets) -> Floats:
        """Return the slopes unchanged: the residual moves with the score."""
        return slopes

    def middle(self, limits: Limits = None) -> Floats | float:
        """Return 0, the residual about which f is even."""
        return 0.0

    def middle_slope(self, limits: Limits = None) -> Floats | float:
        """Return the slope 0 at residual 0."""
        return 0.0


def within_one(limits: Limits) -> Floats | float:
    """Return the largest admissible slope of a loss with slopes up to 1."""
    return 1.0 if limits is None else np.minimum(limits, 1.0)
