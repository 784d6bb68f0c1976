# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Borders of merged cells: Newton's method where a density is steep.

Cell k between borders b_k and b_{k+1} has log-ratio r_k = log(P_k/Q_k), and with p, q the densities at a border

    dr_k/db_{k+1} = p/P_k - q/Q_k,      dr_k/db_k = -(p/P_k - q/Q_k).

Nothing here needs a proof: whatever the borders, merging is post-processing.
"""

import math

import numpy as np

from dperm.accounting.lattice.rounding import UNDERFLOW
from dperm.accounting.lattice.steps import BoolArray, StepLaw
from dperm.accounting.laws.law import Array

CELLS = 40  # cells on either side of a steep place
ROUNDS = 6
STEEPEST = 1e100  # its square does not overflow


def fitted_block(law: StepLaw, borders: Array, values: Array, free: BoolArray, anchor: int | None = None) -> Array:
    """Borders moved, where ``free``, so that cells have their lattice values.

    With an ``anchor`` (an index), the values are relative to the log-ratio of that cell, which may be anything.
    """
    step = float(np.diff(values).min(initial=math.inf)) if len(values) > 1 else math.inf
    for _ in range(ROUNDS):
        ratio, jacobian = _ratios(law, borders)
        live = np.isfinite(ratio)
        if anchor is not None and not live[anchor]:
            break
        target = values if anchor is None else values - values[anchor] + ratio[anchor]
        if anchor is not None:
            jacobian = jacobian - jacobian[anchor]
            live[anchor] = False
        residual = np.where(live, target - ratio, 0.0)
        if np.abs(residual).max(initial=0.0) < 1e-9 * step or not live.any():
            break
        rows, goals = jacobian[live], residual[live]
        if anchor is not None:
            rows, goals = np.vstack([rows, _closing(len(borders))]), np.append(goals, -_closing(len(borders)) @ borders)
        move = _least_squares(rows[:, free], goals)
        if not np.isfinite(move).all():
            break
        borders = borders.copy()
        borders[free] += np.clip(move, -0.4 * step, 0.4 * step)
        borders = np.maximum.accumulate(borders)
    return borders


def _least_squares(rows: Array, goals: Array) -> Array:
    """Normal equations with a slight ridge: quick, and exact enough for a step of Newton's method; NaN if singular."""
    normal = rows.T @ rows
    try:
        return np.asarray(np.linalg.solve(normal + 1e-9 * np.eye(len(normal)), rows.T @ goals))
    except np.linalg.LinAlgError:  # slopes beside which the ridge is lost
        return np.full(len(normal), math.nan)


def _closing(borders: int) -> Array:
    """Second differences at both ends of the block: they rule out that cells are wide and narrow by turns."""
    out = np.zeros((2, borders))
    out[0, :3] = out[1, -3:] = 1.0, -2.0, 1.0
    return out


def _ratios(law: StepLaw, borders: Array) -> tuple[Array, Array]:
    """Log(P/Q) of every cell (atoms included; NaN if empty), and its derivatives by the borders."""
    p, q = law.masses(borders)
    for loss, mass in law.atoms():
        k = int(np.searchsorted(borders, loss, side="right")) - 1
        if 0 <= k < len(p):
            p[k] += mass
            q[k] += mass * math.exp(-loss)
    live = (p > UNDERFLOW) & (q > UNDERFLOW)
    ratio = np.where(live, np.log(np.where(live, p, 1.0)) - np.log(np.where(live, q, 1.0)), np.nan)
    reach = 1e-4 * float(np.diff(borders).max())
    edges = np.stack([borders - reach, borders + reach], axis=1).ravel()
    near = [part[::2] / (2 * reach) for part in law.masses(edges)]
    jacobian = np.zeros((len(p), len(borders)))
    rows = np.arange(len(p))
    for side, sign in ((0, -1.0), (1, 1.0)):
        slope = near[0][rows + side] / np.where(live, p, 1.0) - near[1][rows + side] / np.where(live, q, 1.0)
        jacobian[rows, rows + side] = sign * np.clip(slope, -STEEPEST, STEEPEST)
    return ratio, jacobian


def steep_window(law: StepLaw, centre: float, step: float) -> tuple[float, float]:
    """The cell around ``centre`` that lets all its neighbours have lattice distance from its own log-ratio."""
    low, high = law.support(1e-300)
    below = min(CELLS, math.ceil((centre - low) / step + 0.5))
    above = min(CELLS, math.ceil((high - centre) / step + 0.5))
    steps = np.arange(-below, above + 2, dtype=np.float64)
    fitted = fitted_block(law, centre + step * (steps - 0.5), step * steps[:-1], np.ones(len(steps), bool), below)
    return float(fitted[below]), float(fitted[below + 1])
