# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Anderson's acceleration of a fixed-point iteration, of many models at once."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.floating]

MEMORY = 5
RIDGE = 1e-12
"""Beside the trace, added to normal equations whose columns may be parallel."""


@dataclass
class Anderson:
    """Points W and their steps R(W), one column per model, where W - R(W) is the plain iteration.

    The combination of the last steps that is shortest is found for each model, and its point taken: for linear problems
    this is GMRES (Walker & Ni 2011), which halves the number of passes where the plain iteration converges, and
    converges where that one creeps.
    """

    points: list[Reals] = field(default_factory=list)
    steps: list[Reals] = field(default_factory=list)

    def after(self, point: Reals, step: Reals) -> Reals:
        """Where to go from ``point``, at which the step is ``step``."""
        self.points, self.steps = [*self.points[-MEMORY:], point], [*self.steps[-MEMORY:], step]
        if len(self.points) == 1:
            return point - step
        moves, turns = np.diff(self.points, axis=0), np.diff(self.steps, axis=0)
        shares = _least_squares(turns, step).astype(point.dtype)
        corrected: Reals = point - step - np.einsum("qdk,kq->dk", moves - turns, shares)
        return corrected


def _least_squares(turns: Reals, step: Reals) -> Reals:
    """For each model the shares of ``turns`` (q, columns, models) whose sum is nearest to ``step``."""
    columns = turns.transpose(2, 0, 1).astype(np.float64)
    normal = columns @ columns.transpose(0, 2, 1)
    trace = np.trace(normal, axis1=1, axis2=2)[:, np.newaxis, np.newaxis]
    normal += np.eye(len(turns)) * (RIDGE * trace + np.finfo(np.float64).tiny)
    right = columns @ step.T.astype(np.float64)[:, :, np.newaxis]
    shares: Reals = np.linalg.solve(normal, right)[:, :, 0]
    return shares
