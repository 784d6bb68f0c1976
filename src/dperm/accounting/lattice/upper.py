# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Connect-the-dots: a lattice law that dominates a law (T28).

A cell [a, a + h] of losses with masses (P, Q) sends x = (P - e^a Q)/(1 - e^{-h}) of its P-mass to a + h and P - x to
a: both P and Q are preserved. At the lattice points H_alpha is unchanged, between them the new profile is the chord
of the convex old one: H_alpha rises for every alpha, so the composition does (T23). The moment E e^{cL} of mass in
the cell rises by at most c(c+1) h^2/8, relative.
"""

import math

import numpy as np

from dperm.accounting.lattice.grid import Grid
from dperm.accounting.lattice.rounding import PLACE
from dperm.accounting.laws.law import Array, LossLaw


def high_share(p: Array, q: Array, low: Array, width: Array | float) -> Array:
    """P-mass that each cell sends to its upper end; all of it where Q has underflowed."""
    scaled = np.where(q > 0, q * np.exp(np.minimum(low, 690.0)), 0.0)
    return np.clip((p - scaled) / -np.expm1(-width), 0.0, p)


def raised(law: LossLaw, grid: Grid, tail: float) -> tuple[Array, float]:
    """P-masses on the lattice, and the P-mass above it (sent to +infinity). Mass below it goes up to its first point."""
    losses = grid.losses()
    low, high = law.support(tail)
    out = np.zeros(grid.points)
    if grid.points > 1:
        p, q = law.masses(losses)
        up = high_share(p, q, losses[:-1], grid.spacing)
        out[:-1] += p - up
        out[1:] += up
    out[0] += tail + _mass(law, low, float(losses[0]))
    for loss, mass in law.atoms():
        _place(out, grid, loss, mass)
    return out, tail + _mass(law, float(losses[-1]), high)


def _mass(law: LossLaw, low: float, high: float) -> float:
    return float(law.masses(np.array([low, high]))[0][0]) if high > low else 0.0


def _place(out: Array, grid: Grid, loss: float, mass: float) -> None:
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
