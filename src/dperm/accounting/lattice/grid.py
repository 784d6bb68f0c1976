# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Placement of a law's lattice: its atoms on lattice points, or just above them, where possible."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dperm.accounting.laws.law import Array

if TYPE_CHECKING:
    from dperm.accounting.lattice.coarse import CoarseLaw

FINEST = 4096  # atoms whose gaps have no common measure above gap / FINEST are treated as having none


@dataclass(frozen=True)
class LossGrid:
    """Losses start + spacing * (0 .. points - 1); ``double``: atoms and ends of the law sit on even points."""

    start: float
    spacing: float
    points: int
    double: bool

    def losses(self) -> Array:
        """Losses of all lattice points, in increasing order."""
        return np.asarray(self.start + self.spacing * np.arange(self.points))


@dataclass(frozen=True)
class LawShape:
    """Properties of a law determining its lattice.

    The range of mass kept, a loss on a lattice point, the atoms with their tilted weights, their common measure,
    whether the law is purely atomic, and the lattice steps per cell (two to put atoms on borders).
    """

    low: float
    high: float
    anchor: float
    atoms: tuple[tuple[float, float], ...]
    unit: float
    atomic: bool
    pair: int

    def spacings(self, wish: float, most: int) -> Array:
        """Spacings from ``wish`` down to half of it, on which all atoms lie if they have a common measure."""
        if not math.isfinite(self.unit):
            return np.asarray(wish * np.linspace(1.0, 0.5, most))
        cells = max(1, math.ceil(self.unit / (self.pair * wish) * (1 - 1e-9)))
        return np.asarray(self.unit / (self.pair * (cells + np.arange(min(cells, most)))))

    def misfit(self, spacings: Array) -> Array:
        """For each spacing, the mean distance (over the tilted law) of the atoms above the lattice point below."""
        step = self.pair * spacings
        out = np.zeros(len(spacings))
        for loss, weight in self.atoms:
            cells = (loss - self.anchor) / step
            beyond = cells - np.floor(cells + 1e-9)
            out += weight * np.where(beyond < 1e-9, 0.0, beyond) * step
        return out

    def grid(self, spacing: float) -> LossGrid:
        """The lattice that covers low .. high."""
        step = self.pair * spacing
        below = self.pair * math.ceil((self.anchor - self.low) / step - 1e-9)
        above = self.pair * math.ceil((self.high - self.anchor) / step - 1e-9)
        return LossGrid(self.anchor - below * spacing, spacing, below + above + 1, self.pair == 2)


def shape_of(law: "CoarseLaw", tilt: float) -> LawShape:
    """The shape of a law that is to be tilted."""
    atomic = float(law.law.masses(np.array(law.law.support(1e-300)))[0][0]) == 0.0
    atoms = sorted((loss, mass) for loss, mass in law.law.atoms() if mass > 0)
    top = atoms[-1][0] if atoms else law.centre()
    weights = [(loss, mass * math.exp(tilt * (loss - top))) for loss, mass in atoms]
    total = sum(weight for _, weight in weights) or 1.0
    unit = common_measure([loss for loss, _ in atoms])
    anchor = max(weights, key=lambda pair: pair[1])[0] if atoms and not math.isfinite(unit) else top
    low = law.floor(tilt)
    return LawShape(
        low=low,
        high=max(law.high, low, top),
        anchor=anchor,
        atoms=tuple((loss, weight / total) for loss, weight in weights),
        unit=unit,
        atomic=atomic,
        pair=2 if atoms and not atomic and law.window is None else 1,
    )


def common_measure(points: list[float]) -> float:
    """The largest d of which all gaps are multiples (infinite for fewer than two points, and where there is none)."""
    gaps = [b - a for a, b in pairwise(points) if b > a]
    if not gaps:
        return math.inf
    measure = gaps[0]
    for gap in gaps[1:]:
        measure = _euclid(measure, gap, max(gaps) / FINEST)
    return measure


def _euclid(a: float, b: float, least: float) -> float:
    while math.isfinite(a) and b > least:
        rest = math.remainder(a, b)
        a, b = b, abs(rest) if abs(rest) > 1e-12 * a else 0.0
    return a if b == 0.0 else math.inf
