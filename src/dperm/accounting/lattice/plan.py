# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choosing the tilt, the period and the lattices. Nothing here needs a proof: every choice gives a valid bracket."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import fft

from dperm.accounting.lattice.coarse import Coarse, CoarseLaw
from dperm.accounting.lattice.grid import LawShape, shape_of
from dperm.accounting.laws.law import Array

MOST_POINTS = 7 * 2**16  # divided by the number of laws
MOST_OWN = 2**19
LEAST_POINTS = 2**9
NEAR = np.array([1.02, 1.1, 1.3])  # tilts that serve a law with a faint mass far up, beyond its usual deviation
ALIAS = 1e-9  # aliases aimed at, relative to delta
SEARCH = 1000  # spacings tried for a lattice that fits the atoms of several laws
MERGED = 40.0  # moving a composed law without atoms to a lattice of spacing h costs about h/MERGED


@dataclass(frozen=True)
class LatticeTarget:
    """Where the profile will be read: tilt, tilt of the Chernoff bound beyond the period, delta, eps, the period."""

    tilt: float
    beyond: float
    log_delta: float
    epsilon: float
    period: float


def target_of(coarse: Coarse, log_delta: float, epsilon: float) -> LatticeTarget:
    """The tilt that allows the shortest period whose aliases at eps (and a little below) are small."""
    tilts = coarse.tilts(epsilon)
    several = tilts[:: max(1, len(tilts) // 4)]
    return min((_target(coarse, log_delta, epsilon, float(c)) for c in several), key=lambda target: target.period)


def _target(coarse: Coarse, log_delta: float, epsilon: float, tilt: float) -> LatticeTarget:
    others = tilt + np.array([0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 40]) / math.sqrt(coarse.variance(tilt))
    others = np.append(others, tilt * NEAR)
    wanted = -log_delta - math.log(ALIAS)
    least = max(0.0, epsilon - 2 / tilt)
    needs = (coarse.log_mgf(others) - others * least + wanted) / (others - tilt)
    best = int(needs.argmin())
    return LatticeTarget(tilt, float(others[best]), log_delta, epsilon, max(wanted / tilt, float(needs[best])))


@dataclass(frozen=True)
class Candidate:
    """A law with its shape, and the cost of lattice spacings (in eps, to leading order)."""

    law: CoarseLaw
    shape: LawShape
    curvature: float
    atoms: float
    deviation: float

    @classmethod
    def of(cls, law: CoarseLaw, target: LatticeTarget, upper: bool) -> "Candidate":
        """A lattice of spacing h costs curvature * h^2, and atoms beside the lattice their misfit in each step."""
        shape = shape_of(law, target.tilt)
        spread = law.spread_share(target.tilt)
        second_order = 1 / 12 if upper else shape.pair**2 / 24
        rate = 0.0 if shape.atomic else law.count * (target.tilt + 1) * spread * second_order
        deviation = math.sqrt(law.count * law.moments(target.tilt)[0])
        return cls(law, shape, rate, 1 - spread, deviation)

    def wish(self, cost: float, target: LatticeTarget) -> float:
        """The spacing that costs this much."""
        coarsest = self.shape.unit if self.shape.atomic and math.isfinite(self.shape.unit) else 1 / target.tilt
        return min(math.sqrt(cost / self.curvature), coarsest) if self.curvature else coarsest

    def misfit(self, spacings: Array) -> Array:
        """Cost of atoms beside a lattice of each spacing."""
        return self.law.count * self.atoms * self.shape.misfit(spacings)

    def shared(self, spacings: Array) -> Array:
        """Cost of composing on a common lattice of each spacing."""
        return self.curvature * spacings**2 + self.misfit(spacings)

    def moved(self, spacings: Array) -> Array:
        """Return the cost of composing on an own lattice and moving the result: first order for the remaining atoms."""
        return spacings * (0.5 * self.atoms**self.law.count + 1 / MERGED)


@dataclass(frozen=True)
class LawPlan:
    """A law, its lattice, whether it is composed on the common lattice or on its own, its atoms' misfit (in eps)."""

    coarse: CoarseLaw
    shape: LawShape
    spacing: float
    own: bool
    misfit: float

    def coarser(self, factor: float) -> "LawPlan":
        """The same on a lattice about ``factor`` times as coarse, which still fits the atoms."""
        spacing = float(self.shape.spacings(1.1 * factor * self.spacing, 1)[0])
        return replace(self, spacing=spacing) if spacing > self.spacing else self


@dataclass(frozen=True)
class LatticePlan:
    """Tilt, period and lattices for one side of the bracket."""

    target: LatticeTarget
    laws: tuple[LawPlan, ...]
    spacing: float
    length: int
    exhausted: bool


def plan_of(coarse: Coarse, target: LatticeTarget, width: float, *, upper: bool) -> LatticePlan:
    """Lattices for the upper or the lower side, which should be off by ``width`` in eps."""
    candidates = [Candidate.of(law, target, upper) for law in coarse.laws]
    wishes = [one.wish(width / len(candidates), target) for one in candidates]
    lead = _lead(candidates)
    total = sum(one.law.count * (one.shape.high - one.shape.low) for one in candidates)
    widest = max(one.shape.high - one.shape.low for one in candidates)
    period = min(target.period, total)
    least = max(period, widest) / (0.9 * MOST_POINTS / len(candidates))
    spacing, exhausted = _spacing(candidates, lead, min(wishes), least, width)
    laws = tuple(
        _law_plan(one, spacing, wish, one is candidates[lead]) for one, wish in zip(candidates, wishes, strict=True)
    )
    length = fft.next_fast_len(max(LEAST_POINTS, math.ceil(period / spacing) + 2 * len(laws)), real=True)
    return LatticePlan(target, laws, spacing, length, exhausted)


def _lead(candidates: list[Candidate]) -> int:
    """The law whose atoms weigh most after composition: they must lie on the lattice."""
    return max(
        range(len(candidates)), key=lambda i: (candidates[i].atoms ** candidates[i].law.count, candidates[i].deviation)
    )


def _spacing(candidates: list[Candidate], lead: int, wish: float, least: float, width: float) -> tuple[float, bool]:
    """The cheapest spacing near the wish, a smaller wish while that costs too much, and whether the limit was met."""
    for _ in range(6):
        spacings = candidates[lead].shape.spacings(max(wish, least), 1 if len(candidates) == 1 else SEARCH)
        cost = candidates[lead].shared(spacings)
        for one in candidates[:lead] + candidates[lead + 1 :]:
            cost = cost + np.minimum(one.shared(spacings), one.moved(spacings))
        cost = np.where(spacings < 0.8 * least, np.inf, cost)
        cost[0] = min(cost[0], 1e300)
        best = int(cost.argmin())
        if wish <= least or cost[best] <= 1.2 * width:
            break
        wish = min(wish, float(spacings[best])) * max(0.8 * width / float(cost[best]), 0.1)
    return float(spacings[best]), wish <= least


def _law_plan(one: Candidate, spacing: float, wish: float, lead: bool) -> LawPlan:
    at = np.array([spacing])
    if lead or one.shared(at)[0] <= one.moved(at)[0]:
        return LawPlan(one.law, one.shape, spacing, False, float(one.misfit(at)[0]))
    least = max(20 * one.deviation, one.shape.high - one.shape.low) / MOST_OWN
    own = one.shape.spacings(max(min(wish, spacing / 4), least), 1)
    return LawPlan(one.law, one.shape, float(own[0]), True, float(one.misfit(own)[0]))
