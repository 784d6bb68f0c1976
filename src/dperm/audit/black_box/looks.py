# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics for an unknown output distribution: a direction, differences between steps, the lowest bits.

Each statistic is learnt on the runs reserved for choosing thresholds (`Selected`). The sum of all steps misses noise
reused in every step; their differences detect it. Raw floating-point noise is visible in the lowest bits only (A12).
"""

import numpy as np

from dperm.audit.black_box.low_order_bits import lowest_bits
from dperm.audit.black_box.sample import Sample
from dperm.audit.black_box.statistics import SPLIT, Score, Selected
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats

RIDGE = 1e-9
"""Ridge relative to the mean variance; cancelling noise leaves a singular covariance."""


def projection(*, share: float = 1.0, split: float = SPLIT, gaussian: bool = False) -> Selected:
    """Return the projection onto the best separating direction, found by Fisher's discriminant.

    Parameters
    ----------
    share
        Weight in the division of alpha.
    split
        Share of the runs for learning the direction and the threshold.
    gaussian
        Assume a Gaussian trade-off; the report states this assumption.

    Returns
    -------
    Selected
        Statistic for `audit`.
    """
    return Selected("projection", _along_outputs, share, split, gaussian)


def step_differences(*, share: float = 1.0, split: float = SPLIT) -> Selected:
    """Return the differences between consecutive steps, for outputs (runs, steps, ...): repeated noise cancels.

    Parameters
    ----------
    share
        Weight in the division of alpha.
    split
        Share of the runs for learning the direction and the threshold.

    Returns
    -------
    Selected
        Statistic for `audit`.
    """
    return Selected("differences between steps", _along_differences, share, split)


def low_bits(*, share: float = 1.0, split: float = SPLIT) -> Selected:
    """Return the exponent of the lowest bit set in any coordinate of an output, a measure of resolution (A12).

    Parameters
    ----------
    share
        Weight in the division of alpha.
    split
        Share of the runs for learning the sign and the threshold.

    Returns
    -------
    Selected
        Statistic for `audit`.
    """
    return Selected("lowest bit", _lowest, share, split)


def fisher(sample: Sample) -> Floats:
    """Return S^-1 (mean with the record - mean without), S the within-group covariance plus a small ridge."""
    flat, included = sample.flat, sample.included
    if included.all() or not included.any():
        return np.ones(flat.shape[1])
    means = [flat[included == side].mean(axis=0) for side in (False, True)]
    centred = flat - np.where(included[:, None], means[1], means[0])
    spread = centred.T @ centred / len(sample)
    scale = float(np.trace(spread)) / len(spread)
    gap: Floats = means[1] - means[0]
    if scale == 0:
        return gap
    return np.asarray(np.linalg.solve(spread + RIDGE * scale * np.eye(len(spread)), gap))


def _along_outputs(first: Sample) -> Score:
    direction = fisher(first)
    return lambda outputs: outputs.reshape(len(outputs), -1) @ direction


def _along_differences(first: Sample) -> Score:
    direction = fisher(Sample(_differences(first.outputs), first.included))
    return lambda outputs: _differences(outputs) @ direction


def _differences(outputs: Floats) -> Floats:
    """Return differences between steps; the axes of ``outputs`` are runs, steps, and coordinates."""
    if outputs.ndim < 2 or outputs.shape[1] < 2:
        raise ParameterError(
            f"step_differences() is for outputs of two steps at least, an array (runs, steps, ...), got one of shape "
            f"{outputs.shape}. Leave it out of statistics."
        )
    steps = outputs.reshape(len(outputs), outputs.shape[1], -1)
    return np.diff(steps, axis=1).reshape(len(outputs), -1)


def _lowest(first: Sample) -> Score:
    """Learn from the selecting runs whether outputs with the record have lower or higher lowest bits."""
    found = lowest_bits(first.outputs)
    sides = [found[first.included == side] for side in (False, True)]
    sign = -1.0 if all(map(len, sides)) and sides[1].mean() < sides[0].mean() else 1.0
    return lambda outputs: sign * lowest_bits(outputs)
