# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of many independent releases, drawn by the samplers of the mechanisms and of linear terms."""

from dataclasses import replace

import numpy as np

from dperm.mechanisms.additive import AdditiveMechanism, on_grid
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.laplace import DiscreteLaplaceMechanism, LaplaceMechanism
from dperm.methods.linear_term import GaussianTerm, LinearTerm
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream
from dperm.noise.gamma_norm import gamma_norm_rows


def noisy_rows(mechanism: AdditiveMechanism, values: Floats, stream: Stream) -> Floats:
    """Return each row of ``values`` plus independent noise.

    For mechanisms with independent coordinates, all rows are drawn as one long vector.
    """
    if isinstance(mechanism, GaussianMechanism | LaplaceMechanism | DiscreteLaplaceMechanism):
        return mechanism.noisy(values.ravel(), stream).reshape(values.shape)
    if isinstance(mechanism, GammaNormMechanism):
        steps = gamma_norm_rows(mechanism.calibration.steps, values.shape[1], len(values), stream)
        return on_grid(mechanism.calibration.grid, values.ravel(), steps.ravel()).reshape(values.shape)
    return np.array([mechanism.noisy(row, stream) for row in values]).reshape(values.shape)


def linear_rows(term: LinearTerm, runs: int, stream: Stream) -> Floats:
    """Return the linear term b of each run, rounded to its grid."""
    if isinstance(term, GaussianTerm):
        return replace(term, dim=runs * term.dim).draw(stream).reshape(runs, term.dim)
    steps = gamma_norm_rows(term.scale / term.grid.step, term.dim, runs, stream)
    return term.grid.plus(np.zeros(steps.size), steps.ravel()).reshape(steps.shape)
