# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What to look at when the law of the outputs is not known: a direction, differences between steps, the lowest bits.

Each is learnt on the runs that thresholds are chosen with (`Selected`). The sum of all steps misses noise that is
reused in every step, their differences do not; raw floating point is seen in the lowest bits alone (A12).
"""

import numpy as np

from dperm.audit.black_box.low_order_bits import lowest_bits
from dperm.audit.black_box.sample import Sample
from dperm.audit.black_box.statistics import SPLIT, Score, Selected
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats

RIDGE = 1e-9
"""Of the mean variance: noise that cancels leaves a covariance without an inverse."""


def projection(*, share: float = 1.0, split: float = SPLIT, gaussian: bool = False) -> Selected:
    """Outputs along the direction that tells the two kinds of runs apart best, by Fisher's discriminant.

    ``gaussian`` assumes that the trade-off is Gaussian, which the report says.
    """
    return Selected("projection", _along_outputs, share, split, gaussian)


def step_differences(*, share: float = 1.0, split: float = SPLIT) -> Selected:
    """Differences of what consecutive steps release, outputs being (runs, steps, ...): noise that repeats cancels."""
    return Selected("differences between steps", _along_differences, share, split)


def low_bits(*, share: float = 1.0, split: float = SPLIT) -> Selected:
    """How fine the finest output is: the exponent of the lowest bit that is set, over the coordinates (A12)."""
    return Selected("lowest bit", _lowest, share, split)


def fisher(sample: Sample) -> Floats:
    """The direction S^-1 (mean with the record - mean without), S the covariance within both kinds, slightly raised."""
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
    """The first axis is that of the runs, the second that of the steps."""
    if outputs.ndim < 2 or outputs.shape[1] < 2:
        raise ParameterError(
            f"step_differences() is for outputs of two steps at least, an array (runs, steps, ...), got one of shape "
            f"{outputs.shape}. Leave it out of statistics."
        )
    steps = outputs.reshape(len(outputs), outputs.shape[1], -1)
    return np.diff(steps, axis=1).reshape(len(outputs), -1)


def _lowest(first: Sample) -> Score:
    """Finer without the record, or finer with it: the selecting runs tell."""
    found = lowest_bits(first.outputs)
    sides = [found[first.included == side] for side in (False, True)]
    sign = -1.0 if all(map(len, sides)) and sides[1].mean() < sides[0].mean() else 1.0
    return lambda outputs: sign * lowest_bits(outputs)
