# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Anderson acceleration of a fixed-point iteration, for many models at once."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.floating]

MEMORY = 5
RIDGE = 1e-12
"""Relative ridge, times the trace, added to normal equations with possibly parallel columns."""


@dataclass
class Anderson:
    """Recent points W and their steps R(W), one column per model; W - R(W) is the plain iteration.

    For each model, the accelerated point combines the last steps into the shortest step. For linear problems this is
    GMRES (Walker & Ni 2011). It halves the number of passes where the plain iteration converges, and converges where
    the plain iteration is very slow.
    """

    points: list[Reals] = field(default_factory=list)
    steps: list[Reals] = field(default_factory=list)

    def after(self, point: Reals, step: Reals) -> Reals:
        """Return the accelerated next point after ``point`` with plain step ``step``, and store both."""
        self.points, self.steps = [*self.points[-MEMORY:], point], [*self.steps[-MEMORY:], step]
        if len(self.points) == 1:
            return point - step
        moves, turns = np.diff(self.points, axis=0), np.diff(self.steps, axis=0)
        shares = _least_squares(turns, step).astype(point.dtype)
        corrected: Reals = point - step - np.einsum("qdk,kq->dk", moves - turns, shares)
        return corrected


def _least_squares(turns: Reals, step: Reals) -> Reals:
    """Return, for each model, the coefficients of ``turns`` (q, columns, models) with the sum nearest to ``step``."""
    columns = turns.transpose(2, 0, 1).astype(np.float64)
    normal = columns @ columns.transpose(0, 2, 1)
    trace = np.trace(normal, axis1=1, axis2=2)[:, np.newaxis, np.newaxis]
    normal += np.eye(len(turns)) * (RIDGE * trace + np.finfo(np.float64).tiny)
    right = columns @ step.T.astype(np.float64)[:, :, np.newaxis]
    shares: Reals = np.linalg.solve(normal, right)[:, :, 0]
    return shares
