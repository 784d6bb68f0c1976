# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Metrics of a regression from noisy sums of clipped errors (T88).

Sums are in units of half the label range. The last axis of an array of sums is the sum; other axes are kept.
"""

import numpy as np

from dperm.data.arrays import Floats
from dperm.evaluation.intervals import MetricInterval, Quadratic, ratio_interval
from dperm.sensitivity.evaluation import FOURTH

WORST_R2 = -1.0
"""Smallest value of R^2; smaller ones are reported as -1."""


def error_intervals(
    sums: Floats, deviation: float, z: float, *, n: int | None, fourth: float = FOURTH
) -> tuple[MetricInterval, MetricInterval]:
    """Return the mean absolute error and the root mean squared error of clipped errors.

    Parameters
    ----------
    sums
        Noisy sums of 1, |e|, e^2 and a multiple of e^2 (1 - e^2) in the last axis.
    deviation
        Standard deviation of the noise of each sum.
    z
        Normal quantile of the level.
    n
        Public number of records; None if it is private.
    fourth
        Factor of e^2 (1 - e^2) in the last sum: 3, or 2 for a group.
    """
    count = sums[..., 0] if n is None else np.full_like(sums[..., 0], float(n))
    mean, square, power = _per_record(count, sums[..., 1], sums[..., 2], sums[..., 2] - sums[..., 3] / fourth)
    absolute = _mean(sums[..., 1], count, square - mean**2, deviation, z, n)
    squared = _mean(sums[..., 2], count, power - square**2, deviation, z, n)
    return absolute, MetricInterval(*(np.sqrt(part) for part in squared))


def r2_interval(sums: Floats, deviation: float, z: float, n: int | None) -> MetricInterval:
    """Return R^2 = 1 - a of clipped errors, where a is the mean squared error over the variance of the labels.

    At the true a, E2 - a (T2 - T1^2/n) has mean 0 up to the noise of T1^2, which is subtracted. Its variance is that of
    the noise, and of e^2 - a (t - mean)^2 over the records. The covariance of the two squares is taken as 0: errors are
    as large or larger where labels are far from their mean. Then the interval is too wide rather than too narrow.

    Parameters
    ----------
    sums
        Noisy sums of `dperm.evaluation.records.contributions`.
    deviation, z, n
        See `error_intervals`.
    """
    count = sums[..., 0] if n is None else np.full_like(sums[..., 0], float(n))
    e2, t1, t2 = sums[..., 2], sums[..., 3], sums[..., 4]
    q, p4, p3 = sums[..., 5], sums[..., 6], sums[..., 7]
    m2, m4, mean, s2, s4, s3 = _per_record(count, e2, e2 - q / FOURTH, t1, t2, t2 - p4 / FOURTH, t1 - p3)
    mean = np.clip(mean, -1.0, 1.0)
    noise = deviation**2
    with np.errstate(all="ignore"):
        spread = t2 - np.where(count > 0, (t1**2 - noise) / count, 0.0)
    fourth = s4 - 4 * mean * s3 + 6 * mean**2 * s2 - 3 * mean**4
    of_errors = np.clip(m4 - m2**2, 0.0, 0.25)
    of_labels = np.clip(fourth - (s2 - mean**2) ** 2, 0.0, 4.0)
    records = np.maximum(count + (z * deviation if n is None else 0.0), 0.0)
    slope = noise * (1 + 4 * mean**2 + (mean**4 if n is None else 0.0)) + records * of_labels
    variance = Quadratic(noise + records * of_errors, np.zeros_like(slope), slope)
    found = ratio_interval(e2, spread, variance, z, limits=(0.0, 1.0 - WORST_R2))
    return MetricInterval(1 - found.value, 1 - found.high, 1 - found.low)


def _mean(top: Floats, count: Floats, spread: Floats, deviation: float, z: float, n: int | None) -> MetricInterval:
    """Return the mean of numbers in [0, 1] with a noisy sum, as in T86."""
    noise = deviation**2
    records = np.maximum(count + (z * deviation if n is None else 0.0), 0.0)
    constant = noise + records * np.clip(spread, 0.0, 0.25)
    zero = np.zeros_like(constant)
    variance = Quadratic(constant, zero, zero if n is not None else np.full_like(constant, noise))
    return ratio_interval(top, count, variance, z, limits=(0.0, 1.0))


def _per_record(count: Floats, *sums: Floats) -> tuple[Floats, ...]:
    """Return sums per record; 0 where the noisy number of records is not positive."""
    with np.errstate(all="ignore"):
        return tuple(np.where(count > 0, one / count, 0.0) for one in sums)
