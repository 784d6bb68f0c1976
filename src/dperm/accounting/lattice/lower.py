# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Merged cells: a lattice law that a law dominates (T3, T28).

Merging all outcomes of a cell into one is post-processing, so H_alpha falls for every alpha, and the composition's
does (T23). The merged outcome has loss log(P/Q); moving it down to a lattice value lowers H_alpha again. Borders are
chosen so that log(P/Q) is the lattice value itself, up to third order, and the moment E e^{cL} of the cell's mass
falls by c(c+1) w^2/24, relative, for cells of width w.

Cells are one lattice step wide and centred on lattice points, or two steps wide between even points when the law has
atoms: those, and the density's jumps beside them, then lie on borders, and no cell mixes atom and density.

Fitting the borders is local: a misfit m = value - log(P/Q) that varies slowly is removed by moving both borders by m,
so each border moves by the mean of its two cells' misfits. What is left is made harmless by moving borders further up
(which only raises log(P/Q)), by one common shift of the whole lattice down, or by putting a cell one point lower.
"""

from dataclasses import dataclass, replace

import numpy as np

from dperm.accounting.lattice.grid import Grid
from dperm.accounting.lattice.rounding import PLACE
from dperm.accounting.laws.law import Array, LossLaw

SMOOTH_ROUNDS = 2
RAISE_ROUNDS = 2
HEAVY = 0.25  # a cell with this share of the mass is nearly an atom: the lattice is anchored at its log(P/Q)


@dataclass(frozen=True)
class Cells:
    """Borders, the lattice value of each cell, and which borders may move."""

    borders: Array
    values: Array
    free: Array


def merged(law: LossLaw, grid: Grid, c: float) -> tuple[float, Array]:
    """Start of the lattice and P-masses on it. Mass below the grid is dropped, mass above it moved down to its end."""
    out = np.zeros(grid.points)
    start = grid.start
    if grid.points > 1:
        start = _add_density(out, law, grid, c)
    for loss, mass in law.atoms():
        index = int(np.floor((loss - start + PLACE / 4 * (1 + abs(loss))) / grid.spacing))
        if index >= 0:
            out[min(index, grid.points - 1)] += mass
    return start, out


def _add_density(out: Array, law: LossLaw, grid: Grid, c: float) -> float:
    """Put the continuous part on ``out``; returns the start of the (possibly shifted) lattice."""
    cells = _fitted(law, _cells(law, grid), grid)
    p, misfit = _misfits(law, cells)
    if not p.any():
        return grid.start
    misfit = misfit / grid.spacing
    first, stride = (1, 2) if grid.double else (0, 1)
    start = float(cells.values[0]) - first * grid.spacing
    bad, sag = _settle(p, misfit, c * cells.values)
    index = first + stride * np.arange(len(p))
    fallen = index - np.ceil(np.clip(misfit, 1, grid.points)).astype(int)
    index = np.where(bad, fallen, index)
    keep = index >= 0
    np.add.at(out, index[keep], p[keep])
    return start - sag * grid.spacing


def _cells(law: LossLaw, grid: Grid) -> Cells:
    losses, high = grid.losses(), law.support(1e-300)[1]
    if grid.double:
        borders, values = losses[::2].copy(), losses[1::2]
    else:
        borders, values = np.append(losses, losses[-1] + grid.spacing) - grid.spacing / 2, losses
    borders[-1] = max(borders[-1], high)
    free = np.ones(len(borders), dtype=bool)
    free[[0, -1]] = False
    for loss, _ in law.atoms():
        free[np.abs(borders - loss) < grid.spacing / 2] = False
    return Cells(borders, values, free)


def _fitted(law: LossLaw, cells: Cells, grid: Grid) -> Cells:
    reach = 0.25 * grid.spacing * (2 if grid.double else 1)
    for _ in range(SMOOTH_ROUNDS):
        p, misfit = _misfits(law, cells)
        heavy = int(p.argmax())
        if not grid.double and p[heavy] > HEAVY * p.sum():
            cells = replace(cells, borders=cells.borders - misfit[heavy], values=cells.values - misfit[heavy])
            misfit = misfit - misfit[heavy]
        move = np.zeros(len(cells.borders))
        move[1:-1] = (misfit[:-1] + misfit[1:]) / 2
        cells = _moved(cells, move, reach)
    for _ in range(RAISE_ROUNDS):
        misfit = np.maximum(_misfits(law, cells)[1], 0.0)
        if not misfit.any():
            break
        single = cells.free[:-1] != cells.free[1:]
        need = misfit * np.where(single, 2.0, 1.0)
        move = np.zeros(len(cells.borders))
        move[1:-1] = 1.001 * np.maximum(need[:-1], need[1:])
        cells = _moved(cells, move, reach)
    return cells


def _moved(cells: Cells, move: Array, reach: float) -> Cells:
    borders = cells.borders + np.where(cells.free, np.clip(move, -reach, reach), 0.0)
    return replace(cells, borders=np.maximum.accumulate(borders))


def _misfits(law: LossLaw, cells: Cells) -> tuple[Array, Array]:
    """P-mass of each cell, and its lattice value minus log(P/Q) (0 for an empty cell)."""
    p, q = law.masses(cells.borders)
    live = (p > 0) & (q > 0)
    ratio = np.log(np.where(live, p, 1.0)) - np.log(np.where(live, q, 1.0))
    return p, np.where(live, cells.values - ratio, 0.0)


def _settle(p: Array, misfit: Array, exponent: Array) -> tuple[Array, float]:
    """Which cells go to a lower point, and the shift charged for all others: the cheaper of a few splits.

    Misfits and shift in lattice steps. Costs are first-order losses of log E e^{cL} over c: the shift, against one step
    for the tilted mass of the cells that fall.
    """
    with np.errstate(divide="ignore"):
        e = np.log(p) + exponent
    weight = np.exp(e - e.max())
    weight /= weight.sum()
    best = (np.inf, misfit > 0, 0.0)
    for limit in (0.0, *np.geomspace(1e-10, 1.0, 11)):
        bad = misfit > limit
        sag = float(np.max(misfit, where=~bad, initial=0.0))
        cost = sag + float(weight[bad].sum())
        if cost < best[0]:
            best = (cost, bad, sag)
    return best[1], best[2]
