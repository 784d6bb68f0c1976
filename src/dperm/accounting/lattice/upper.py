# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Connect-the-dots: a lattice law that dominates a law (T28).

A cell [a, a + h] of losses with masses (P, Q) sends x = (P - e^a Q)/(1 - e^{-h}) of its P-mass to a + h and P - x to
a: both P and Q are preserved. At the lattice points H_alpha is unchanged, between them the new profile is the chord
of the convex old one: H_alpha rises for every alpha, so the composition does (T23). The moment E e^{cL} of mass in
the cell rises by at most c(c+1) h^2/8, relative. The last cell may be infinite: [a, infinity) sends e^a Q to a and the
rest of P to +infinity.
"""

import math

import numpy as np

from dperm.accounting.lattice.grid import LossGrid
from dperm.accounting.lattice.rounding import PLACE, UNDERFLOW
from dperm.accounting.lattice.steps import StepLaw
from dperm.accounting.laws.law import Array

COMPLETE = 1e-11  # far above the rounding of a sum of masses


def high_share(p: Array, q: Array, low: Array, width: Array | float) -> Array:
    """P-mass that each cell sends to its upper end; all of it where Q has underflowed, or nearly."""
    scaled = np.where(q > UNDERFLOW, q * np.exp(np.minimum(low, 690.0)), 0.0)
    return np.clip((p - scaled) / -np.expm1(-width), 0.0, p)


def mass_below(law: StepLaw, first: float) -> float:
    """Return the P-mass of the density below ``first``, including mass outside the law's support.

    Leaving it out would lose it in every step.
    """
    return float(law.masses(np.array([-math.inf, first]))[0][0])


def missing(masses: Array, lost: float) -> float:
    """P-mass that is neither in ``masses`` nor ``lost``, beyond rounding: whatever it is, +infinity dominates it.

    There is none as long as a law's masses are complete.
    """
    gap = 1 - float(masses.sum()) - lost
    return gap if gap > COMPLETE else 0.0


def split_far(law: StepLaw, last: float, tail: float) -> tuple[float, float]:
    """P-mass that the density above ``last`` sends to ``last`` and to +infinity.

    Above the law's support there is no more than ``tail``, which goes to +infinity; any more that is found there is a
    rounding away from the end of the support.
    """
    p, q = (float(part[0]) for part in law.masses(np.array([last, math.inf])))
    if not law.support(tail)[1] > last:
        return max(p - tail, 0.0), tail
    kept = min(p, q * math.exp(last)) if last < 690 and q > UNDERFLOW else 0.0
    return kept, tail + p - kept


def raised(law: StepLaw, grid: LossGrid, tail: float) -> tuple[Array, float]:
    """P-masses on the lattice, and the P-mass sent to +infinity. Mass below the lattice goes up to its first point."""
    losses = grid.losses()
    out = np.zeros(grid.points)
    if grid.points > 1:
        p, q = law.masses(losses)
        up = high_share(p, q, losses[:-1], grid.spacing)
        out[:-1] += p - up
        out[1:] += up
    out[0] += tail + mass_below(law, float(losses[0]))
    for loss, mass in law.atoms():
        _place(out, grid, loss, mass)
    kept, lost = split_far(law, float(losses[-1]), tail)
    out[-1] += kept
    return out, lost + missing(out, lost)


def _place(out: Array, grid: LossGrid, loss: float, mass: float) -> None:
    """An atom on its lattice point, or split between its neighbours with P and Q preserved."""
    position = max((loss - grid.start) / grid.spacing, 0.0)
    near = min(round(position), grid.points - 1)
    if (position - near) * grid.spacing <= PLACE / 4 * (1 + abs(loss)) and near - position < 1e-9:
        out[near] += mass
        return
    below = min(math.floor(position), grid.points - 2)
    up = mass * math.expm1(-(position - below) * grid.spacing) / math.expm1(-grid.spacing)
    out[below] += mass - up
    out[below + 1] += up
