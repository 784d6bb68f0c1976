# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Merging the steepest place of a law into an atom (for lower bounds).

A sampled law with a small rate is nearly an atom: most of its losses lie within a window too narrow for the lattice,
and the density falls steeply beside it. Rounding those losses down to lattice points would cost first order. Merging
the window C into one outcome is post-processing (T3): an atom of mass P(C) at log(P(C)/Q(C)), on which the lattice
is anchored.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.lattice.steps import StepLaw
from dperm.accounting.laws.law import Array


@dataclass(frozen=True)
class CollapseWindow:
    """Losses of ``law`` from low to high, atoms included, with their P- and Q-mass."""

    law: StepLaw
    low: float
    high: float
    p: float
    q: float

    @classmethod
    def of(cls, law: StepLaw, low: float, high: float) -> "CollapseWindow":
        """Masses of density and atoms in the window."""
        p, q = (float(part[0]) for part in law.masses(np.array([low, high])))
        inside = [(loss, mass) for loss, mass in law.atoms() if low <= loss <= high]
        p += math.fsum(mass for _, mass in inside)
        q += math.fsum(mass * math.exp(-loss) for loss, mass in inside)
        return cls(law, low, high, p, q)

    @property
    def loss(self) -> float:
        """Loss of the merged window."""
        return math.log(self.p / self.q)


@dataclass(frozen=True)
class Collapsed:
    """The law with the window merged into an atom."""

    window: CollapseWindow

    def support(self, tail: float) -> tuple[float, float]:
        """Return the support of the original law."""
        return self.window.law.support(tail)

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return the atoms outside the window, and the merged window."""
        low, high = self.window.low, self.window.high
        outside = ((loss, mass) for loss, mass in self.window.law.atoms() if not low <= loss <= high)
        return (*outside, (self.window.loss, self.window.p))

    def masses(self, borders: Array) -> tuple[Array, Array]:
        """Masses outside the window: those of the law, except in the few cells that meet the window."""
        low, high, law = self.window.low, self.window.high, self.window.law
        p, q = (np.array(part) for part in law.masses(borders))
        first = int(np.searchsorted(borders[1:], low, side="right"))
        last = int(np.searchsorted(borders[:-1], high, side="left"))
        if first < last:
            cells = borders[first : last + 1]
            below, above = law.masses(np.minimum(cells, low)), law.masses(np.maximum(cells, high))
            p[first:last], q[first:last] = below[0] + above[0], below[1] + above[1]
        return p, q
