# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics for an unknown output distribution: a direction, differences between steps, and low-order bits.

Most scores are learned on the first runs, which are also used to choose thresholds (`SelectedThreshold`). If an
algorithm reuses its noise in every step, the sum of all steps does not show this, but the differences between steps do.
Noise added in floating-point arithmetic is visible only in the low-order bits: they reveal the summands of a
floating-point sum (Mironov 2012, A12).
"""

import numpy as np
from numpy.typing import ArrayLike

from dperm.audit.arrays import numbers
from dperm.audit.black_box.sample import RunSample
from dperm.audit.black_box.statistics import SPLIT, FixedThreshold, Score, SelectedThreshold
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats
from dperm.presentation.spelling import arg

NO_BIT = 1100.0
"""Exponent representing the lowest bit of 0, above those of all doubles."""
RIDGE = 1e-9
"""Ridge relative to the mean variance; cancelling noise leaves a singular covariance."""


def low_order_bits(without: ArrayLike, included: ArrayLike, *, share: float = 1.0) -> FixedThreshold:
    """Return a statistic that tests whether an output w can be a floating-point sum s + noise (A12).

    Here s is the noiseless output, either with or without the record. A floating-point sum w = s + noise often
    satisfies the equation fl(fl(w - s) + s) = w, where fl rounds to a double-precision number. If the sum was computed
    from a different s, the equation often fails. The guess is "out" (a run without the record) if the equation fails
    only for the s with the record. The guess is "in" (a run with the record) if the equation fails only for the s
    without the record. Otherwise no guess is made.

    For example, let s be 0 without the record and 1 with the record, and let Laplace noise of scale 1 be drawn and
    added in floating-point arithmetic. Then the equation for s = 1 fails in two fifths of the runs without the record,
    and in no run with the record. If the noise is drawn on a grid, as in dperm, this statistic reveals nothing beyond
    the claim.

    Whether the equation holds also depends on the magnitude of w, because the spacing of double-precision numbers grows
    with their magnitude. The lower bound for a correct mechanism may therefore be above 0, but not above the claimed
    epsilon. Only a bound above the claimed epsilon is a leak.

    Parameters
    ----------
    without, included
        Noiseless outputs without and with the record, each a number or an array.
    share
        Positive weight of this statistic. `audit` divides its error probability, 1 - ``confidence``, among the
        statistics in proportion to their weights.

    Returns
    -------
    FixedThreshold
        Statistic for `audit`.
    """
    values = [numbers(*given, dims=None).ravel() for given in (("without", without), ("included", included))]

    def score(outputs: Floats) -> Floats:
        flat = outputs.reshape(len(outputs), -1)
        odd_out, odd_in = (is_no_sum(flat, value) for value in values)
        return np.select([odd_in & ~odd_out, odd_out & ~odd_in], [-1.0, 1.0], np.nan)

    return FixedThreshold("low-order bits", score, 1.0, share)


def is_no_sum(outputs: Floats, value: Floats) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    """Return a mask of rows with an entry changed by subtracting and adding back ``value``."""
    return np.asarray(((outputs - value) + value != outputs).any(axis=1))


def lowest_bits(outputs: Floats) -> Floats:
    """Return the exponent of the lowest set bit over the entries of each row."""
    flat = outputs.reshape(len(outputs), -1)
    fractions, exponents = np.frexp(flat)
    whole = np.ldexp(np.abs(fractions), 53).astype(np.int64)
    lowest = np.log2(np.where(whole == 0, 1, whole & -whole)) + exponents - 53
    return np.asarray(np.where(whole == 0, NO_BIT, lowest).min(axis=1))


def projection(*, share: float = 1.0, split: float = SPLIT, gaussian: bool = False) -> SelectedThreshold:
    """Return a statistic that projects the outputs onto the direction of Fisher's linear discriminant.

    Parameters
    ----------
    share
        Positive weight of this statistic. `audit` divides its error probability, 1 - ``confidence``, among the
        statistics in proportion to their weights.
    split
        Fraction of the runs used to learn the direction and the thresholds, from 0.01 to 0.9.
    gaussian
        Whether to assume that the trade-off curve is Gaussian, as for mu-GDP. The report states this assumption.

    Returns
    -------
    SelectedThreshold
        Statistic for `audit`.
    """
    return SelectedThreshold("projection", _along_outputs, share, split, gaussian)


def step_differences(*, share: float = 1.0, split: float = SPLIT) -> SelectedThreshold:
    """Return a statistic based on the differences between consecutive steps, where noise reused in every step cancels.

    The outputs must have the shape (runs, steps, ...), with at least two steps. The differences are projected onto the
    direction of Fisher's linear discriminant.

    Parameters
    ----------
    share
        Positive weight of this statistic. `audit` divides its error probability, 1 - ``confidence``, among the
        statistics in proportion to their weights.
    split
        Fraction of the runs used to learn the direction and the thresholds, from 0.01 to 0.9.

    Returns
    -------
    SelectedThreshold
        Statistic for `audit`.
    """
    return SelectedThreshold("differences between steps", _along_differences, share, split)


def low_bits(*, share: float = 1.0, split: float = SPLIT) -> SelectedThreshold:
    """Return a statistic based on the lowest bit that is set in any coordinate of the output (A12).

    The score of an output is plus or minus the exponent of this bit: the smallest e for which the bit of value 2^e is 1
    in the binary representation of a coordinate.

    Parameters
    ----------
    share
        Positive weight of this statistic. `audit` divides its error probability, 1 - ``confidence``, among the
        statistics in proportion to their weights.
    split
        Fraction of the runs used to learn the sign and the thresholds, from 0.01 to 0.9. The sign is minus if the
        exponent was smaller on average in the runs with the record.

    Returns
    -------
    SelectedThreshold
        Statistic for `audit`.
    """
    return SelectedThreshold("lowest bit", _lowest, share, split)


def fisher(sample: RunSample) -> Floats:
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


def _along_outputs(first: RunSample) -> Score:
    direction = fisher(first)
    return lambda outputs: outputs.reshape(len(outputs), -1) @ direction


def _along_differences(first: RunSample) -> Score:
    direction = fisher(RunSample(_differences(first.outputs), first.included))
    return lambda outputs: _differences(outputs) @ direction


def _differences(outputs: Floats) -> Floats:
    """Return differences between steps; the axes of ``outputs`` are runs, steps, and coordinates."""
    if outputs.ndim < 2 or outputs.shape[1] < 2:
        raise ParameterError(
            (
                "step_differences() requires outputs of at least two steps, an array (runs, steps, ...), got shape "
                f"{outputs.shape}."
            ),
            remedy=f"Remove it from {arg('statistics')}.",
        )
    steps = outputs.reshape(len(outputs), outputs.shape[1], -1)
    return np.diff(steps, axis=1).reshape(len(outputs), -1)


def _lowest(first: RunSample) -> Score:
    """Learn from the selecting runs whether outputs with the record have lower or higher lowest bits."""
    found = lowest_bits(first.outputs)
    sides = [found[first.included == side] for side in (False, True)]
    sign = -1.0 if all(map(len, sides)) and sides[1].mean() < sides[0].mean() else 1.0
    return lambda outputs: sign * lowest_bits(outputs)
