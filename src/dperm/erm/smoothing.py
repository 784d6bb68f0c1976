# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Smooth losses just above kinked ones: f <= f_h <= f + h/4, with slopes of f at its kink, and f_h'' <= 1/(2h).

With a slope from low to high, high - low <= 1, f is (high - low)|t|/2 plus a line in the distance t from the kink. f_h
has (high - low)(t^2/(4h) + h/4) in place of the first part where |t| <= h: 0 at t = h, h/4 at most, at t = 0.

The Huber hinge with a limit s < 1 on its slope (T44) is another one above the limited hinge. Beyond the parabola it
lies s (1 - s) h <= h/4 above it; the difference rises on the way to z = 1, where it is at most h/4, and falls from
there.
"""

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from dperm import checks
from dperm.data.arrays import Floats
from dperm.erm.loss import Limits, Loss, ResidualLoss
from dperm.erm.losses import WIDTH, Hinge, HuberHinge
from dperm.erm.residual_losses import QUANTILE, Pinball, pinball_slopes
from dperm.errors import AssumptionError

WIDTHS = (1e-6, 1e6)
RISE = 0.25
"""Largest distance between f_h and f, in units of h."""


def smooth_loss(loss: Loss, width: float) -> Loss:
    """Return the smooth loss f_h of a kinked one, h = ``width``.

    Raises
    ------
    AssumptionError
        For a loss other than the hinge and the pinball loss.
    """
    match loss:
        case Hinge():
            return HuberHinge(width)
        case Pinball():
            return SmoothPinball(loss.q, width)
    raise AssumptionError(
        f"no smooth loss above {loss.name!r} is known here.", remedy="Use a smooth loss, a hinge or a quantile loss."
    )


@dataclass(frozen=True)
class SmoothPinball(ResidualLoss):
    """Pinball loss with its kink replaced by a parabola on |z| <= h."""

    q: float = 0.5
    width: float = 0.5

    name: ClassVar[str] = "smooth_pinball"

    def __post_init__(self) -> None:
        """Check the ranges of q and h."""
        object.__setattr__(self, "q", checks.between("quantile", self.q, 1e-6, 1 - 1e-6, QUANTILE))
        object.__setattr__(self, "width", checks.between("width", self.width, *WIDTHS, WIDTH))

    @property
    def slope(self) -> float:
        """Steeper of the two slopes."""
        return max(self.q, 1 - self.q)

    @property
    def curvature(self) -> float:
        """Largest second derivative of the parabola, at most 1/(2h)."""
        return 1 / (2 * self.width)

    @property
    def steepness(self) -> float:
        """Curvature of the smoothed region."""
        return self.curvature

    def relative_steepness(self, radius: float, clip: float) -> float:
        """Return the radius times the curvature at the largest score of the smoothed region, 1 + h, plus 1."""
        return radius * self.curvature * (2 + self.width)

    @property
    def softer(self) -> tuple[Loss, ...]:
        """Losses with widths from 1/4 down to h, each half the one before, as for the hinges."""
        return tuple(SmoothPinball(self.q, cast(HuberHinge, hinge).width) for hinge in HuberHinge(self.width).softer)

    @property
    def at_zero(self) -> float:
        """Upper bound on the loss at score 0 and |y| = 1."""
        return self.slope + RISE * self.width

    def value(self, z: Floats, limits: Limits = None) -> Floats:
        """Return both lines with the parabola between: low z + (high - low) (h + k)^2/(4h), k = z within [-h, h]."""
        low, high = pinball_slopes(self.q, limits)
        inner = np.clip(z, -self.width, self.width)
        curved = (self.width + inner) / (2 * self.width) * (self.width + inner) / 2
        return np.asarray(low * z + (high - low) * (curved + np.maximum(z - self.width, 0.0)))

    def derivative(self, z: Floats, limits: Limits = None) -> Floats:
        """Return the slope, which rises from low to high on |z| <= h."""
        low, high = pinball_slopes(self.q, limits)
        return np.asarray(low + (high - low) * (np.clip(self.width + z, 0.0, 2 * self.width) / (2 * self.width)))

    def second(self, z: Floats, limits: Limits = None) -> Floats:
        """Return (high - low)/(2h) for |z| < h, otherwise 0."""
        low, high = pinball_slopes(self.q, limits)
        return np.asarray(np.where(np.abs(z) < self.width, (high - low) * self.curvature, 0.0))
