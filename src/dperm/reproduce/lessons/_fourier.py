# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The Fourier accountant in its plainest form, to see what its bins cost (T28). `account` is what to use.

The loss of one step is put on multiples of h, on a circle of k bins, and its discrete Fourier transform raised to the
power T. Bins are pessimistic: rounded up, or by connect-the-dots. Mass above the circle counts as infinite. Sums beyond
half the circle come around to its other side: those from below are then too large, which is safe, and those from above
are bounded and added to delta. Rounding of the transform (1e-16 of the whole mass) is left out.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.optimize import brentq

from dperm.accounting.lattice.grid import LossGrid
from dperm.accounting.lattice.upper import raised
from dperm.accounting.laws.law import LossLaw

Floats = NDArray[np.float64]
TAIL = 1e-18
"""Mass of a step that may be counted as infinite."""


@dataclass(frozen=True)
class Circle:
    """The composed loss: positive losses with their masses, and the mass that is counted as infinite."""

    losses: Floats
    masses: Floats
    infinite: float

    def delta(self, epsilon: float) -> float:
        """E (1 - e^(eps - L))_+ (T2)."""
        return float(self.masses @ np.maximum(-np.expm1(epsilon - self.losses), 0.0)) + self.infinite

    def epsilon(self, delta: float) -> float:
        """Where the profile comes down to ``delta``."""
        return float(brentq(lambda epsilon: self.delta(epsilon) - delta, 0.0, self.losses[-1], xtol=1e-13))

    def tail_epsilon(self, delta: float) -> float:
        """The smallest loss with P(L > it) <= ``delta``: the lecture's condition (T2a)."""
        beyond = self.infinite + np.cumsum(self.masses[::-1])[::-1] - self.masses
        return float(self.losses[np.argmax(beyond <= delta)])


@dataclass(frozen=True)
class Bins:
    """How the loss of one step is put into bins.

    Attributes
    ----------
    count
        k, even.
    width
        k h, the length of the circle.
    dots
        Connect-the-dots, second order in h; otherwise every loss goes up to the end of its bin.
    around
        Bound on the probability that the composed loss exceeds width/2.
    """

    count: int
    width: float
    dots: bool
    around: float

    @property
    def spacing(self) -> float:
        """The length h of a bin."""
        return self.width / self.count

    def composed(self, law: LossLaw, steps: int) -> Circle:
        """``steps`` independent losses."""
        first, masses, lost = self._step(law)
        circle = np.zeros(self.count)
        np.add.at(circle, np.arange(first, first + len(masses)) % self.count, masses)
        whole = fft.irfft(fft.rfft(circle) ** steps, self.count)
        places = np.arange(1, self.count // 2)
        infinite = -math.expm1(steps * math.log1p(-lost)) + self.around
        return Circle(np.asarray(places * self.spacing, dtype=np.float64), np.maximum(whole[places], 0.0), infinite)

    def _step(self, law: LossLaw) -> tuple[int, Floats, float]:
        """The place of the first bin, the masses from there, and the mass at infinity."""
        low, high = law.support(TAIL)
        half = self.count // 2 - 1
        first = max(math.floor(low / self.spacing), -half)
        last = min(max(math.ceil(high / self.spacing), first + 1), half)
        grid = LossGrid(first * self.spacing, self.spacing, last - first + 1, False)
        if self.dots:
            return first, *raised(law, grid, TAIL)
        return first, *_rounded_up(law, grid)


def _rounded_up(law: LossLaw, grid: LossGrid) -> tuple[Floats, float]:
    borders = np.concatenate([[-math.inf], grid.losses(), [math.inf]])
    masses = law.masses(borders)[0]
    return np.asarray(masses[:-1]), float(masses[-1])
