# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A small upper law of each step on unequal cells: Chernoff bounds, and the moments that plan the fine grids.

Connect-the-dots (upper.py) holds on any grid, so the moment generating function of the coarse law is an upper bound
of the true one for every c > 0, and e^{K(c) - c eps} kappa(c) bounds delta(eps).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dperm.accounting.lattice.collapse import CollapseWindow
from dperm.accounting.lattice.rounding import MASS, PLACE
from dperm.accounting.lattice.steps import StepLaw
from dperm.accounting.lattice.upper import high_share, mass_below, missing, split_far
from dperm.accounting.laws.law import Array
from dperm.accounting.special import log_kappa

TILT_STEP = 0.25  # of log c, in the search grid
TIGHT, LOOSE = 1.0, 3.0  # what the choice of c may cost in log delta, usually and near the end of a bounded law
EDGE = 0.02  # (largest loss - eps) / largest loss below which eps is near that end
SLIVER = 1e-13
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class CoarseLaw:
    """Losses (up to ``high``) and log P-masses of one step, and its repetition count.

    ``lost``: P-mass at +infinity, of which ``tail`` was cut off; ``window``: the collapsed window, if any.
    """

    law: StepLaw
    count: int
    high: float
    losses: Array
    log_masses: Array
    tail: float
    lost: float
    window: CollapseWindow | None = None

    @classmethod
    def of(cls, law: StepLaw, count: int, tail: float, cap: float, window: CollapseWindow | None = None) -> "CoarseLaw":
        """Connect-the-dots on a few hundred points up to ``cap``, dense around 0, atoms among them."""
        low, high = law.support(tail)
        atoms = [loss for loss, _ in law.atoms()]
        low, top = min([low, *atoms]), max([min(high, max(cap, low)), *atoms])
        points = _points(low, top, atoms)
        masses = np.zeros(len(points))
        if len(points) > 1:
            p, q = law.masses(points)
            up = high_share(p, q, points[:-1], np.diff(points))
            masses[:-1] += p - up
            masses[1:] += up
        kept, lost = split_far(law, top, tail)
        masses[-1] += kept
        masses[0] += tail + mass_below(law, low)
        for loss, mass in law.atoms():
            masses[np.searchsorted(points, loss)] += mass
        lost += missing(masses, lost)
        live = masses > 0
        return cls(
            law,
            count,
            high=top,
            losses=points[live],
            log_masses=np.log(masses[live]),
            tail=tail,
            lost=lost,
            window=window,
        )

    @property
    def size(self) -> float:
        """Largest modulus of a loss, also of one whose mass has underflowed."""
        return max(float(np.abs(self.losses).max()), self.high, 1e-300)

    def log_mgf(self, c: Array) -> Array:
        """Log E e^{cL} of one step, for each c."""
        e = np.multiply.outer(c, self.losses) + self.log_masses
        top = e.max(axis=1)
        return np.asarray(top + np.log(np.exp(e - top[:, None]).sum(axis=1)))

    def moments(self, c: float) -> tuple[float, float]:
        """Second and third central moment of a step under the law tilted by c."""
        e = c * self.losses + self.log_masses
        w = np.exp(e - e.max())
        w /= w.sum()
        away = self.losses - float(w @ self.losses)
        return float(w @ away**2), float(w @ away**3)

    def mass_above(self, loss: float) -> float:
        """P-mass of losses above ``loss``."""
        return float(np.exp(self.log_masses[self.losses > loss]).sum())

    def mass_below(self, loss: float) -> float:
        """P-mass of losses below ``loss``."""
        return float(np.exp(self.log_masses[self.losses < loss]).sum())

    def second_moment_below(self, loss: float) -> float:
        """E L^2 where L does not exceed ``loss``."""
        return float(np.exp(self.log_masses) @ np.where(self.losses <= loss, self.losses, 0.0) ** 2)

    def spread_share(self, c: float) -> float:
        """Share of the continuous part in the law tilted by c."""
        whole = float(self.log_mgf(np.array([c]))[0])
        return max(1 - sum(mass * math.exp(c * loss - whole) for loss, mass in self.law.atoms()), 1e-12)

    def floor(self, c: float) -> float:
        """A loss below which the mass, raised to that loss, is next to nothing in the law tilted by c."""
        whole = float(self.log_mgf(np.array([c]))[0])
        below = np.log(np.cumsum(np.exp(self.log_masses))) + c * self.losses
        first = int(np.argmax(below > whole + math.log(SLIVER / self.count)))
        return float(self.losses[max(first - 1, 0)])

    def centre(self) -> float:
        """Where the law is heaviest: its largest atom, if that has a fifth of the mass, or a median."""
        loss, mass = max(self.law.atoms(), key=lambda atom: atom[1], default=(0.0, 0.0))
        if mass > 0.2:
            return loss
        cumulated = np.cumsum(np.exp(self.log_masses))
        return float(self.losses[np.searchsorted(cumulated, cumulated[-1] / 2)])


def _points(low: float, high: float, atoms: Sequence[float]) -> Array:
    """Even points, and points in geometric distance from 0, from both ends and from every atom."""
    away = max(high - low, abs(low), abs(high), 1e-300) * np.geomspace(1e-8, 1.0, 70)
    centres = np.unique(np.array([0.0, low, high, *atoms]))
    points = np.concatenate([np.linspace(low, high, 97), *(c + away for c in centres), *(c - away for c in centres)])
    inside = points[(points >= low) & (points <= high)]
    return np.unique(np.concatenate([inside, centres[(centres >= low) & (centres <= high)]]))


@dataclass(frozen=True)
class Coarse:
    """Coarse upper laws of all steps of the composition."""

    laws: tuple[CoarseLaw, ...]

    def log_mgf(self, c: Array) -> Array:
        """K(c), an upper bound, the rounding of masses and losses included."""
        sizes = math.fsum(law.count * law.size for law in self.laws)
        rounding = MASS * sum(law.count for law in self.laws) + PLACE * sizes * c
        return np.asarray(sum(law.count * law.log_mgf(c) for law in self.laws) + rounding)

    def lost(self) -> float:
        """Return the P-mass at +infinity of the whole composition."""
        return -math.expm1(math.fsum(law.count * math.log1p(-min(law.lost, 1 - 1e-16)) for law in self.laws))

    def capped(self, epsilon: float, log_delta: float) -> "Coarse":
        """The same, losses far above eps put at one point and at infinity (upper.py), for reading delta near eps.

        That changes delta(eps) only if one step is above the cap and the others sum to less than eps minus the cap,
        by their usual fluctuation (8 deviations are allowed for it) or by a step far below 0.
        """
        usual = 8 * math.sqrt(sum(law.count * law.second_moment_below(epsilon) for law in self.laws))
        reach = max(law.high for law in self.laws) - epsilon
        for x in np.linspace(usual, max(reach, usual), 40):
            above = sum(law.count * law.mass_above(epsilon + x) for law in self.laws)
            below = sum(law.count * law.mass_below(-x) for law in self.laws)
            if above * below <= NEGLIGIBLE * math.exp(log_delta):
                break
        cap = epsilon + float(x)
        return Coarse(tuple(CoarseLaw.of(law.law, law.count, law.tail, cap, law.window) for law in self.laws))

    def variance(self, c: float) -> float:
        """Variance of the sum under the tilted law."""
        return max(sum(law.count * law.moments(c)[0] for law in self.laws), 1e-300)

    def skewness(self, c: float) -> float:
        """Skewness of the sum under the tilted law."""
        third = math.fsum(law.count * law.moments(c)[1] for law in self.laws)
        return float(third / max(self.variance(c) ** 1.5, 1e-300))

    def most(self) -> float:
        """The largest loss that was not cut off."""
        return math.fsum(law.count * law.high for law in self.laws)

    def _tilts(self) -> Array:
        """Candidates for c, from far below to far above every scale of the losses."""
        least = 0.03 / math.fsum(law.count * law.size for law in self.laws)
        most = 1e4 / max(max(law.high for law in self.laws), 1e-300)
        return np.asarray(np.exp(np.arange(math.log(least), math.log(most), TILT_STEP)))

    def chernoff_epsilon(self, log_delta: float) -> tuple[float, float]:
        """The best eps with e^{K(c) - c eps} kappa(c) <= delta, and its c."""
        c, width = self._tilts(), TILT_STEP
        for _ in range(3):
            values = (self.log_mgf(c) + log_kappa(c) - log_delta) / c
            best = int(values.argmin())
            value, chosen = float(values[best]), float(c[best])
            c, width = chosen * np.exp(width * np.linspace(-1, 1, 9)), width / 4
        return value, chosen

    def chernoff_log_delta(self, epsilon: float) -> float:
        """The best of the bounds K(c) - c eps + log kappa(c) on log delta(eps)."""
        c = self._tilts()
        return float((self.log_mgf(c) + log_kappa(c) - c * epsilon).min())

    def tilts(self, epsilon: float) -> Array:
        """Values of c that give nearly the best Chernoff bound on delta(eps).

        Near the end of a bounded law the bound improves without end as c grows, and a smaller c will do.
        """
        c = self._tilts()
        values = self.log_mgf(c) + log_kappa(c) - c * epsilon
        best = int(values.argmin())
        if self.most() - epsilon < EDGE * self.most():
            return c[np.flatnonzero((values <= values[best] + LOOSE) & (c >= c[best] / 100))[:1]]
        good = np.flatnonzero(values <= values[best] + TIGHT)
        return c[good[good >= best]]
