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

import math
from dataclasses import dataclass, replace

import numpy as np

from dperm.accounting.lattice.borders import CELLS, fitted_block
from dperm.accounting.lattice.collapse import CollapseWindow
from dperm.accounting.lattice.grid import LossGrid
from dperm.accounting.lattice.rounding import PLACE, UNDERFLOW
from dperm.accounting.lattice.steps import BoolArray, StepLaw
from dperm.accounting.laws.law import Array

FEW_CELLS = 2**15  # beyond, cells are so narrow that one round of fitting does what two do for few
FAR_CELLS = 64
NOTHING = 1e-300  # mass at the lowest point, so that no law is empty
NOWHERE = (0.0, -math.inf)  # P-mass and log Q-mass of no outcome


@dataclass(frozen=True)
class LossCells:
    """Borders, the lattice value of each cell, and which borders may move."""

    borders: Array
    values: Array
    free: BoolArray


@dataclass(frozen=True)
class Merged:
    """A lattice law below a law: start and P-masses; density above the lattice (P-mass, log Q-mass) is kept apart.

    ``cost`` is a first-order estimate of the misfit, in eps per step.
    """

    start: float
    masses: Array
    far: tuple[float, float]
    cost: float


def merged(law: StepLaw, grid: LossGrid, c: float, window: CollapseWindow | None) -> Merged:
    """Merge the density's cells and move the atoms down. Mass below the grid is dropped."""
    if grid.points == 1:
        return Merged(grid.start, _with_atoms(np.full(1, NOTHING), law, grid.start, grid.spacing), NOWHERE, 0.0)
    cells, p, misfit = _fitted(law, _cells(law, grid, window), grid)
    misfit = misfit / grid.spacing
    first, stride = (1, 2) if grid.double else (0, 1)
    bad, sag, cost = _settle(p, misfit, c * cells.values) if p.any() else (misfit > 0, 0.0, 0.0)
    start = float(cells.values[0]) - (first + sag) * grid.spacing
    index = first + stride * np.arange(len(p))
    index = np.where(bad, index - np.ceil(np.clip(misfit, 1, grid.points)).astype(np.int64), index)
    masses = np.zeros(grid.points)
    masses[0] = NOTHING
    np.add.at(masses, index[index >= 0], p[index >= 0])
    masses = _with_atoms(masses, law, start, grid.spacing)
    return Merged(start, masses, _far(law, float(cells.borders[-1])), cost * grid.spacing)


def _with_atoms(masses: Array, law: StepLaw, start: float, spacing: float) -> Array:
    """Every atom added at the lattice point at or below it."""
    for loss, mass in law.atoms():
        index = math.floor((loss - start + PLACE / 4 * (1 + abs(loss))) / spacing)
        if index >= 0:
            masses[min(index, len(masses) - 1)] += mass
    return masses


def _far(law: StepLaw, last: float) -> tuple[float, float]:
    """P-mass, and log Q-mass, of the density above the last border.

    Where Q underflows it is at most the sum of e^-low P over cells above low.
    """
    high = law.support(1e-300)[1]
    if not high > last:
        return NOWHERE
    borders = np.linspace(last, high, FAR_CELLS + 1)
    p, q = law.masses(borders)
    if not p.sum() > UNDERFLOW:
        return NOWHERE
    if q.sum() > UNDERFLOW:
        return float(p.sum()), math.log(q.sum())
    return float(p.sum()), float(np.logaddexp.reduce(np.log(np.maximum(p, NOTHING)) - borders[:-1]))


def _cells(law: StepLaw, grid: LossGrid, window: CollapseWindow | None) -> LossCells:
    losses = grid.losses()
    if grid.double:
        borders, values = losses[::2].copy(), losses[1::2]
    else:
        borders, values = np.append(losses, losses[-1] + grid.spacing) - grid.spacing / 2, losses
    free = np.ones(len(borders), dtype=bool)
    free[[0, -1]] = False
    if window is not None:
        at = round((window.loss - grid.start) / grid.spacing)
        if 0 <= at < grid.points:
            borders[at : at + 2] = window.low, window.high
            free[at : at + 2] = False
    elif grid.double:
        for loss, _ in law.atoms():
            free[np.abs(borders - loss) < grid.spacing / 2] = False
    return LossCells(borders, values, free)


def _fitted(law: StepLaw, cells: LossCells, grid: LossGrid) -> tuple[LossCells, Array, Array]:
    """Move free borders: by slowly varying misfits, by Newton around a collapsed window, and up where still needed.

    Returns the cells with their P-masses and misfits.
    """
    reach = 0.25 * grid.spacing * (2 if grid.double else 1)
    rounds = 2 if len(cells.values) < FEW_CELLS else 1
    for _ in range(rounds):
        misfit = _misfits(law, cells)[1]
        cells = _moved(cells, (misfit[:-1] + misfit[1:]) / 2, reach)
    if not grid.double:
        cells = _steep(law, cells)
    for _ in range(rounds):
        p, misfit = _misfits(law, cells)
        short = np.maximum(misfit, 0.0)
        if not short.any():
            return cells, p, misfit
        need = short * np.where(cells.free[:-1] != cells.free[1:], 2.0, 1.0)  # only one border can move: twice as far
        cells = _moved(cells, 1.001 * np.maximum(need[:-1], need[1:]), reach)
    return cells, *_misfits(law, cells)


def _steep(law: StepLaw, cells: LossCells) -> LossCells:
    """Newton on the cells around a collapsed window."""
    at = np.flatnonzero(~cells.free[1:-1])
    if not len(at):
        return cells
    first, last = max(int(at[0]) + 1 - CELLS, 0), min(int(at[-1]) + 1 + CELLS, len(cells.values) - 1)
    part = slice(first, last + 2)
    free = cells.free[part].copy()
    free[[0, -1]] = False
    borders = cells.borders.copy()
    borders[part] = fitted_block(law, borders[part], cells.values[first : last + 1], free)
    return replace(cells, borders=borders)


def _moved(cells: LossCells, move: Array, reach: float) -> LossCells:
    """Inner borders moved, if free, by no more than ``reach``, and never past each other."""
    borders = cells.borders.copy()
    borders[1:-1] += np.where(cells.free[1:-1], np.clip(move, -reach, reach), 0.0)
    return replace(cells, borders=np.maximum.accumulate(borders))


def _misfits(law: StepLaw, cells: LossCells) -> tuple[Array, Array]:
    """P-mass of each cell, and its lattice value minus log(P/Q) (0 for an empty cell).

    Where Q has underflowed, log(P/Q) is only known to be no less than the lower border.
    """
    p, q = law.masses(cells.borders)
    live = (p > 0) & (q > UNDERFLOW)
    ratio = np.log(np.where(live, p, 1.0)) - np.log(np.where(live, q, 1.0))
    return p, np.where(p > 0, cells.values - np.where(live, ratio, cells.borders[:-1]), 0.0)


def _settle(p: Array, misfit: Array, exponent: Array) -> tuple[BoolArray, float, float]:
    """Which cells go to a lower point, and the shift charged for all others: the cheaper of a few splits.

    Misfits and shift in lattice steps. Costs are first-order losses of log E e^{cL} over c: the shift, against one step
    for the tilted mass of the cells that fall.
    """
    with np.errstate(divide="ignore"):
        e = np.log(p) + exponent
    weight = np.exp(e - e.max())
    weight /= weight.sum()
    slack = float(weight @ np.maximum(-misfit, 0.0))
    best, chosen = np.inf, (misfit > 0, 0.0)
    for limit in (0.0, *np.geomspace(1e-10, 1.0, 11)):
        bad = misfit > limit
        sag = float(np.max(misfit, where=~bad, initial=0.0))
        cost = sag + slack + float(weight[bad].sum())
        if cost < best:
            best, chosen = cost, (bad, sag)
    return (*chosen, float(best))
