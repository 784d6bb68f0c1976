# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Construction of the two laws on the circle from a plan: one below the composition, one above it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dperm.accounting.lattice.law_lattice import composed, longer, merge_down, split_up
from dperm.accounting.lattice.lower import Merged, merged
from dperm.accounting.lattice.measure import Measure, tilt
from dperm.accounting.lattice.plan import LatticePlan, LawPlan
from dperm.accounting.lattice.readout import Beyond, Readout
from dperm.accounting.lattice.rounding import PLACE
from dperm.accounting.lattice.spectrum import convolve
from dperm.accounting.lattice.upper import raised

SLACK = 1e-9  # on the logarithm of a moment generating function that bounds aliases, absolute and (times 1e-4) relative
COARSER = 4  # times that a law's own lattice is made coarser, so that its composition is short
NEGLIGIBLE = -40.0  # log of a mass of which no two are seen together


@dataclass(frozen=True)
class LatticeFactor:
    """A measure on the common lattice, its repetition count, and its known errors.

    For all steps together: ``log_mgf_beyond``, log E e^{c2 L}; ``kept``, log of the P-mass not at +infinity (upper
    laws); ``far``, logs of the P-mass not far and of the Q-mass far, added up (lower laws).
    """

    measure: Measure
    count: int
    variation: float
    log_mgf_beyond: float
    kept: float = 0.0
    far: tuple[float, float] = (0.0, -math.inf)


def lower_factors(plan: LatticePlan) -> tuple[list[LatticeFactor], list[float]]:
    """Return a law below the composition, and the misfit of each step's law on its lattice (in eps)."""
    parts = [_below(law, plan) for law in plan.laws]
    return [factor for factor, _ in parts], [cost for _, cost in parts]


def upper_factors(plan: LatticePlan) -> list[LatticeFactor]:
    """Return a law above the composition."""
    return [_above(law, plan) for law in plan.laws]


def _above(law: LawPlan, plan: LatticePlan) -> LatticeFactor:
    c, count = plan.target.tilt, law.coarse.count
    law, measure, lost = _raised(law, c)
    for _ in range(COARSER if law.own else 0):
        if (excess := longer(measure, count)) <= 1:
            break
        law, measure, lost = _raised(law.coarser(excess), c)
    log_mgf, kept = count * measure.log_mgf(c, plan.target.beyond), count * _log_rest(lost)
    if not law.own:
        return LatticeFactor(measure, count, 0.0, log_mgf, kept)
    whole, variation = composed(measure, count)
    # split_up moves mass up by at most one lattice step
    log_mgf += plan.target.beyond * plan.spacing
    return LatticeFactor(split_up(whole, plan.spacing, c, plan.length), 1, variation, log_mgf, kept)


def _raised(law: LawPlan, c: float) -> tuple[LawPlan, Measure, float]:
    """Return the tilted upper law, and its P-mass sent to +infinity."""
    grid = law.shape.grid(law.spacing)
    masses, lost = raised(law.coarse.law, grid, law.coarse.tail)
    return law, tilt(grid.start, grid.spacing, masses, c), lost


def _merged(law: LawPlan, c: float) -> tuple[LawPlan, Measure, Merged]:
    """Return the tilted lower law, and its parts."""
    grid = law.shape.grid(law.spacing)
    below = merged(law.coarse.law, grid, c, law.coarse.window)
    return law, tilt(below.start, grid.spacing, below.masses, c), below


def _below(law: LawPlan, plan: LatticePlan) -> tuple[LatticeFactor, float]:
    c, count = plan.target.tilt, law.coarse.count
    law, measure, below = _merged(law, c)
    for _ in range(COARSER if law.own else 0):
        if (excess := longer(measure, count)) <= 1:
            break
        law, measure, below = _merged(law.coarser(excess), c)
    log_mgf = count * measure.log_mgf(c, plan.target.beyond)
    far = (count * _log_rest(below.far[0]), _log_some(below.far[1], count))
    cost = count * below.cost + law.misfit
    if not law.own:
        return LatticeFactor(measure, count, 0.0, log_mgf, far=far), cost
    whole, variation = composed(measure, count)
    # merge_down only lowers E e^{c2 L}: merged losses by convexity, then moved down
    return LatticeFactor(merge_down(whole, plan.spacing, c, plan.length), 1, variation, log_mgf, far=far), cost


def _log_rest(mass: float) -> float:
    """Return log(1 - mass); -infinity for mass 1."""
    return math.log1p(-mass) if mass < 1 else -math.inf


def _together(log_rests: Iterable[float]) -> float:
    """Return 1 - prod e^{log_rest}, the mass of the union."""
    return -math.expm1(sum(log_rests))


def _log_some(log_mass: float, count: int) -> float:
    """Log of 1 - (1 - mass)^count, or of the bound count * mass where that is as good."""
    if log_mass < NEGLIGIBLE:
        return math.log(count) + log_mass
    return math.log(-math.expm1(count * _log_rest(math.exp(log_mass))))


def _log_sum(logs: Iterable[float]) -> float:
    """Return the log of sum e^log over all terms."""
    return float(np.logaddexp.reduce(list(logs)))


def readout_of(factors: list[LatticeFactor], plan: LatticePlan) -> Readout:
    """Convolve the factors on the circle and return the profile's readout."""
    log_mgf = math.fsum(factor.log_mgf_beyond for factor in factors)
    last = sum(factor.count * (len(factor.measure.weights) - 1) for factor in factors)
    sizes = [law.coarse.count * (1 + max(abs(law.shape.low), abs(law.shape.high))) for law in plan.laws]
    return Readout(
        circle=convolve([(factor.measure, factor.count) for factor in factors], plan.length),
        tilt=plan.target.tilt,
        beyond=Beyond(plan.target.beyond, log_mgf + SLACK * (1 + 1e-4 * abs(log_mgf))),
        variation=sum(factor.variation for factor in factors),
        lost=_together(factor.kept for factor in factors),
        far=(_together(factor.far[0] for factor in factors), _log_sum(factor.far[1] for factor in factors)),
        shift=PLACE * sum(sizes),
        last=last if last < plan.length else None,
    )
