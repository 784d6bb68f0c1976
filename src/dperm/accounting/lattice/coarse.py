# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A small upper law of each step on unequal cells: Chernoff bounds, and the moments that plan the fine grids.

Connect-the-dots (upper.py) holds on any grid, so the moment generating function of the coarse law is an upper bound
of the true one for every c > 0, and e^{K(c) - c eps} kappa(c) bounds delta(eps).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dperm.accounting.lattice.rounding import log_kappa
from dperm.accounting.lattice.upper import high_share
from dperm.accounting.laws.law import Array, LossLaw


Objective = Callable[[Array, Array], Array]

FLAT = 2e-3  # a smaller c may cost this much of epsilon, relative
SLIVER = 1e-13
LOOSE = 3.0  # or this much of log delta


@dataclass(frozen=True)
class CoarseLaw:
    """Losses and log P-masses of one step, and how often it occurs."""

    law: LossLaw
    count: int
    losses: Array
    log_masses: Array
    tail: float

    @classmethod
    def of(cls, law: LossLaw, count: int, tail: float) -> "CoarseLaw":
        """Connect-the-dots on a few hundred points, dense around 0, atoms among them."""
        low, high = law.support(tail)
        atoms = dict(law.atoms())
        points = _points(low, high, list(atoms))
        masses = np.zeros(len(points))
        if len(points) > 1:
            p, q = law.masses(points)
            up = high_share(p, q, points[:-1], np.diff(points))
            masses[:-1] += p - up
            masses[1:] += up
        masses[0] += tail
        for loss, mass in atoms.items():
            masses[np.searchsorted(points, loss)] += mass
        live = masses > 0
        return cls(law, count, points[live], np.log(masses[live]), tail)

    def log_mgf(self, c: Array) -> Array:
        """Log E e^{cL} of one step, for each c."""
        e = np.multiply.outer(c, self.losses) + self.log_masses
        top = e.max(axis=1)
        return np.asarray(top + np.log(np.exp(e - top[:, None]).sum(axis=1)))

    def moments(self, c: float) -> tuple[float, float]:
        """Mean and variance of a step under the law tilted by c."""
        e = c * self.losses + self.log_masses
        w = np.exp(e - e.max())
        w /= w.sum()
        mean = float(w @ self.losses)
        return mean, float(w @ (self.losses - mean) ** 2)

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

    def median(self) -> float:
        """A median of the loss."""
        mass = np.cumsum(np.exp(self.log_masses))
        return float(self.losses[np.searchsorted(mass, mass[-1] / 2)])


def _points(low: float, high: float, atoms: Sequence[float]) -> Array:
    size = max(abs(low), abs(high), 1e-300)
    around = size * np.geomspace(1e-7, 1.0, 80)
    points = np.concatenate([np.linspace(low, high, 129), around, -around, [0.0]])
    inside = points[(points >= low) & (points <= high)]
    return np.unique(np.concatenate([inside, atoms, [low, high]]))


@dataclass(frozen=True)
class Coarse:
    """The composition, coarsely."""

    laws: tuple[CoarseLaw, ...]

    def log_mgf(self, c: Array) -> Array:
        """K(c), an upper bound."""
        return np.asarray(sum(law.count * law.log_mgf(c) for law in self.laws))

    def tails(self) -> float:
        """P-mass that was cut off at the top."""
        return sum(law.count * law.tail for law in self.laws)

    def variance(self, c: float) -> float:
        """Variance of the sum under the tilted law."""
        return sum(law.count * law.moments(c)[1] for law in self.laws)

    def most(self) -> float:
        """The largest loss that was not cut off."""
        return sum(law.count * float(law.losses[-1]) for law in self.laws)

    def tilts(self) -> Array:
        """Candidates for c, from far below to far above every scale of the losses."""
        sizes = [float(np.abs(law.losses).max()) for law in self.laws]
        least = 0.03 / max(sum(law.count * s for law, s in zip(self.laws, sizes, strict=True)), 1e-300)
        most = 1e4 / max(max(sizes), 1e-300)
        return np.exp(np.arange(math.log(least), math.log(most), 0.5))

    def chernoff_epsilon(self, log_delta: float) -> tuple[float, float]:
        """The best eps with e^{K(c) - c eps} kappa(c) <= delta, and a c that is nearly as good and not too large."""
        best, c = self._least(lambda c, k: (k + log_kappas(c) - log_delta) / c)
        return best, self._modest(lambda c, k: (k + log_kappas(c) - log_delta) / c, c, best + FLAT * abs(best))

    def chernoff_log_delta(self, epsilon: float) -> tuple[float, float]:
        """The best bound on log delta(eps), and a c that is nearly as good and not too large."""
        best, c = self._least(lambda c, k: k + log_kappas(c) - c * epsilon)
        return best, self._modest(lambda c, k: k + log_kappas(c) - c * epsilon, c, best + LOOSE)

    def _least(self, objective: Objective) -> tuple[float, float]:
        """Minimise over c: a grid, then two finer ones around its best point."""
        c, width = self.tilts(), 0.5
        for _ in range(3):
            values = objective(c, self.log_mgf(c))
            best = int(values.argmin())
            value, chosen = float(values[best]), float(c[best])
            c, width = chosen * np.exp(width * np.linspace(-1, 1, 9)), width / 4
        return value, chosen

    def _modest(self, objective: Objective, c: float, limit: float) -> float:
        """A smaller c if it is much smaller: near the end of a bounded law the best one grows without end."""
        smaller = c * np.exp(-np.arange(12.0, 0.0, -0.25))
        good = smaller[objective(smaller, self.log_mgf(smaller)) <= limit]
        return float(good[0]) if len(good) and good[0] < c / 4 else c


def log_kappas(c: Array) -> Array:
    """log_kappa of every entry."""
    return np.asarray(-c * np.log1p(1 / c) - np.log1p(c))
