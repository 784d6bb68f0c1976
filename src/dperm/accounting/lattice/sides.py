# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From a plan to the two laws on the circle: one below the composition, one above it."""

from dataclasses import dataclass

from dperm.accounting.lattice.lower import merged
from dperm.accounting.lattice.measure import Measure, tilt
from dperm.accounting.lattice.own import composed
from dperm.accounting.lattice.plan import LawPlan, Plan
from dperm.accounting.lattice.readout import Beyond, Readout
from dperm.accounting.lattice.regrid import merge_down, split_up
from dperm.accounting.lattice.rounding import PLACE
from dperm.accounting.lattice.spectrum import convolve
from dperm.accounting.lattice.upper import raised

SLACK = 1e-9  # on the logarithm of a moment generating function that bounds aliases


@dataclass(frozen=True)
class Factor:
    """A measure on the common lattice, how often it occurs, and what is known of its errors."""

    measure: Measure
    count: int
    variation: float = 0.0
    lost: float = 0.0
    log_mgf_beyond: float = 0.0


def both_sides(plan: Plan) -> tuple[Readout, Readout]:
    """The lower and the upper law of a plan. The upper law's moments bound those of both (convex order)."""
    above = [_above(law, plan) for law in plan.laws]
    below = [_below(law, plan) for law in plan.laws]
    beyond = Beyond(plan.target.beyond, sum(factor.log_mgf_beyond for factor in above) + SLACK)
    return _readout(below, plan, beyond), _readout(above, plan, beyond)


def _above(law: LawPlan, plan: Plan) -> Factor:
    c, count = plan.target.tilt, law.coarse.count
    grid = law.shape.grid(law.spacing)
    masses, lost = raised(law.coarse.law, grid, law.coarse.tail)
    measure = tilt(grid.start, grid.spacing, masses, c)
    far = plan.target.beyond - c
    log_mgf = count * (measure.log_scale + far * measure.start + measure.log_mean_exp(far))
    if not law.own:
        return Factor(measure, count, 0.0, count * lost, log_mgf)
    whole, variation = composed(measure, count)
    # split_up moves mass up by at most one lattice step
    return Factor(split_up(whole, plan.spacing, c), 1, variation, count * lost, log_mgf + plan.target.beyond * plan.spacing)


def _below(law: LawPlan, plan: Plan) -> Factor:
    c, count = plan.target.tilt, law.coarse.count
    grid = law.shape.grid(law.spacing)
    start, masses = merged(law.coarse.law, grid, c)
    measure = tilt(start, grid.spacing, masses, c)
    if not law.own:
        return Factor(measure, count)
    whole, variation = composed(measure, count)
    return Factor(merge_down(whole, plan.spacing, c), 1, variation)


def _readout(factors: list[Factor], plan: Plan, beyond: Beyond) -> Readout:
    last = sum(factor.count * (len(factor.measure.weights) - 1) for factor in factors)
    sizes = [law.coarse.count * (1 + max(abs(law.shape.low), abs(law.shape.high))) for law in plan.laws]
    return Readout(
        circle=convolve([(factor.measure, factor.count) for factor in factors], plan.length),
        tilt=plan.target.tilt,
        beyond=beyond,
        variation=sum(factor.variation for factor in factors),
        lost=sum(factor.lost for factor in factors),
        shift=PLACE * sum(sizes),
        last=last if last < plan.length else None,
    )
