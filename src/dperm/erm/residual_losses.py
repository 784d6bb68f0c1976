# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Losses of linear regression, as functions of the residual z = x'theta - y, and their constants (T53).

Labels are in [-1, 1] (`dperm.data.targets.Interval`), so kappa is in units of half the range of the labels.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dperm import checks
from dperm.data.arrays import Floats
from dperm.erm.loss import Limits, Loss, ResidualLoss

KAPPA = "It is the end of the parabola of the Huber loss, in units of half the label range."
QUANTILE = "It is the predicted quantile; 0.5 is the median."


class _Parabola(ResidualLoss):
    """Loss z^2/2 up to |z| = the largest slope, then linear."""

    curvature: ClassVar[float] = 1.0
    steepness: ClassVar[float] = 1.0
    softer: ClassVar[tuple[Loss, ...]] = ()

    @property
    @abstractmethod
    def slope(self) -> float:
        """Residual at the end of the parabola."""

    @property
    def at_zero(self) -> float:
        """Loss at score 0 and |y| = 1."""
        return float(self.value(np.ones(1))[0])

    def relative_steepness(self, radius: float, clip: float) -> float:
        """Return a bound on ||x|| (|u| + 1) where the residual |u - y| is not limited: the residual and 2 ||x||."""
        return min(radius * self.slope, clip) + 2 * radius

    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """Return the parabola up to |z| = s, then its tangent: with k = min(|z|, s) it is k (|z| - k/2)."""
        size = np.abs(z)
        inner = np.minimum(size, self._ends(limits))
        return np.asarray(inner * (size - inner / 2))

    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """Return the residual, cut to [-s, s]."""
        ends = self._ends(limits)
        return np.asarray(np.clip(z, -ends, ends))

    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """Return 1 where the slope is not limited, otherwise 0."""
        return (np.abs(z) < self._ends(limits)).astype(np.float64)

    def _ends(self, limits: Limits) -> Floats | float:
        return self.slope if limits is None else np.minimum(limits, self.slope)


@dataclass(frozen=True)
class Squared(_Parabola):
    """Squared loss z^2/2 (T53), without a Lipschitz constant: its gradients must be clipped (T44)."""

    name: ClassVar[str] = "squared"
    slope: ClassVar[float] = float("inf")


@dataclass(frozen=True)
class Huber(_Parabola):
    """Huber loss: z^2/2 up to |z| = kappa, then kappa (|z| - kappa/2) (T53): L = R kappa, beta = R^2."""

    kappa: float = 0.5

    name: ClassVar[str] = "huber"

    def __post_init__(self) -> None:
        """Check that kappa lies in [1e-6, 1e6]."""
        object.__setattr__(self, "kappa", checks.between("kappa", self.kappa, 1e-6, 1e6, KAPPA))

    @property
    def slope(self) -> float:
        """Largest slope, equal to kappa."""
        return self.kappa


@dataclass(frozen=True)
class Pinball(ResidualLoss):
    """Pinball loss: (1 - q) z for z > 0, otherwise -q z (T53). Its minimiser predicts the q-quantile; q = 1/2 is |z|/2.

    The kink rules out objective perturbation (T42). As for the hinge, the computed subgradient goes from -q to 1 - q on
    a ramp of width 2^-9 around z = 0, so rounding of a score does not decide between two gradients. A limit shrinks
    both slopes by the same factor; cutting off the steeper one, as in T44, would give another quantile's loss.
    """

    q: float = 0.5

    name: ClassVar[str] = "pinball"
    curvature: ClassVar[float] = float("inf")
    steepness: ClassVar[float] = 2.0**9
    softer: ClassVar[tuple[Loss, ...]] = ()

    def __post_init__(self) -> None:
        """Check that q lies in [1e-6, 1 - 1e-6]."""
        object.__setattr__(self, "q", checks.between("quantile", self.q, 1e-6, 1 - 1e-6, QUANTILE))

    @property
    def slope(self) -> float:
        """Steeper of the two slopes."""
        return max(self.q, 1 - self.q)

    @property
    def at_zero(self) -> float:
        """Loss at score 0 for the worse of y = -1 and y = 1."""
        return self.slope

    def relative_steepness(self, radius: float, clip: float) -> float:
        """Return the radius times the steepness of the ramp at scores of at most 1 and a ramp's width, plus 1."""
        return radius * self.steepness * (2 + 1 / self.steepness)

    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """Return the loss with both slopes limited."""
        low, high = pinball_slopes(self.q, limits)
        return np.asarray(np.where(z > 0, high * z, low * z))

    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """Return the lower slope, the ramp or the upper slope."""
        low, high = pinball_slopes(self.q, limits)
        share = np.clip(z * self.steepness + 0.5, 0.0, 1.0)
        return np.asarray(np.clip(low + (high - low) * share, low, high))

    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """Return 0, the second derivative almost everywhere."""
        return np.zeros_like(z)


def pinball_slopes(q: float, limits: Limits) -> tuple[Floats | float, Floats | float]:
    """Return -q and 1 - q, times the largest factor in (0, 1] that keeps both within the limits."""
    if limits is None:
        return -q, 1 - q
    factor = np.minimum(limits / max(q, 1 - q), 1.0)
    return -np.minimum(q * factor, limits), np.minimum((1 - q) * factor, limits)
