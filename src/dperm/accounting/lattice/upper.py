# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A lattice law that dominates a law: connect-the-dots (dots.py) on the lattice."""

import math

import numpy as np

from dperm.accounting.lattice.dots import high_share, mass_below, missing, split_far
from dperm.accounting.lattice.grid import Grid
from dperm.accounting.lattice.rounding import PLACE
from dperm.accounting.lattice.step import StepLaw
from dperm.accounting.laws.law import Array


def raised(law: StepLaw, grid: Grid, tail: float) -> tuple[Array, float]:
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
