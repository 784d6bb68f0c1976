# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Intervals of ratios computed from noisy sums: sampling and privacy noise together (T86-T88).

All functions work on arrays of releases: the last axis of noisy cells is the cell, and other axes are kept. They read
released numbers only, so they are post-processing (T3).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dperm.data.arrays import Floats, Mask
from dperm.evaluation.reconstruction import Loss, Slack, loss_slack, loss_weights, pair_slack, pair_weights

AREAS = (0.02, 0.98)
"""Range of the estimated area under the ROC curve at which its sampling variance is evaluated."""
SMALL_SAMPLE, FEWEST = 5.0, 10.0
"""Relative increase of the estimated sampling variance of an area, in units of one over the records of the smaller
class, which count as at least 10. The estimate has few degrees of freedom; the constant is empirical."""


class MetricInterval(NamedTuple):
    """Values with the ends of their intervals, as arrays of one shape."""

    value: Floats
    low: Floats
    high: Floats


class Quadratic(NamedTuple):
    """Variance c0 + c1 a + c2 a^2 as a function of the true ratio a."""

    c0: Floats
    c1: Floats
    c2: Floats


@dataclass(frozen=True)
class CellNoise:
    """Noise of one histogram.

    Attributes
    ----------
    deviation
        Standard deviation sigma of the noise of a cell.
    cells
        Number M of cells of the histogram.
    n
        Public number of records in the histogram; None if it is private.
    """

    deviation: float
    cells: int
    n: int | None = None

    def fitted(self, counts: Floats) -> Floats:
        """Return counts whose sum is the public n, each moved by the same number; unchanged if n is private.

        The noise of fitted counts has covariance sigma^2 (I - 1/M), smaller than sigma^2 I.
        """
        if self.n is None:
            return counts
        return np.asarray(counts - (counts.sum(axis=-1, keepdims=True) - self.n) / self.cells)

    def variance(self, squares: Floats, total: Floats) -> Floats:
        """Return the noise variance of a weighted sum of fitted counts, from sums of squared weights and of weights."""
        known = 0.0 if self.n is None else 1 / self.cells
        return self.deviation**2 * (squares - known * total**2)


def ratio_interval(
    top: Floats, bottom: Floats, variance: Quadratic, z: float, *, limits: tuple[float, float]
) -> MetricInterval:
    """Return the interval {a : (top - a bottom)^2 <= z^2 V(a)} within ``limits`` (Fieller's theorem, T86).

    At the true ratio a, top - a bottom has mean 0 and variance V(a). No division by a noisy number is needed, so the
    interval is valid for a bottom near 0; it is then wide, up to ``limits``.

    Parameters
    ----------
    top, bottom
        Noisy numerator and denominator.
    variance
        Variance of top - a bottom as a function of a.
    z
        Normal quantile of the level.
    limits
        Range of the metric.

    Returns
    -------
    MetricInterval
        Values and ends. The value is the middle of the interval if the denominator is not positive. An interval
        outside the limits is replaced by that of the nearest ratio within them.
    """
    low, high = limits
    with np.errstate(all="ignore"):
        ends, bounded = _ends(top, bottom, variance, z)
        nearest = np.clip(top, low * bottom, high * bottom)
        outside = bounded & ((ends[1] <= low) | (ends[0] >= high))
        ends = np.where(outside, _ends(nearest, bottom, variance, z)[0], ends)
        left = np.where(bounded, np.clip(ends[0], low, high), low)
        right = np.where(bounded, np.clip(ends[1], low, high), high)
        value = np.where(bottom > 0, np.clip(top / bottom, low, high), (left + right) / 2)
    value = np.where(np.isfinite(value), value, (left + right) / 2)
    return MetricInterval(value, np.minimum(left, value), np.maximum(right, value))


def _ends(top: Floats, bottom: Floats, variance: Quadratic, z: float) -> tuple[Floats, Mask]:
    """Return the roots of (top - a bottom)^2 = z^2 V(a), and whether the set between them is an interval."""
    square = bottom**2 - z * z * variance.c2
    linear = -2 * top * bottom - z * z * variance.c1
    constant = top**2 - z * z * variance.c0
    root = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0.0))
    ends = np.sort(np.stack([(-linear - root) / (2 * square), (-linear + root) / (2 * square)]), axis=0)
    return ends, (square > 0) & np.asarray(np.isfinite(ends).all(axis=0))


def cell_mean(
    counts: Floats,
    values: Floats,
    noise: CellNoise,
    z: float,
    *,
    among: Floats | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
) -> MetricInterval:
    """Return the mean of ``values`` over the records in some cells (T86).

    Parameters
    ----------
    counts
        Fitted noisy counts of all cells.
    values
        Value of a record in each cell; 0 and 1 for a proportion.
    noise
        Noise of the histogram.
    z
        Normal quantile of the level.
    among
        1 for cells that are averaged and 0 for others; None averages all cells.
    limits
        Range of the metric.
    """
    used = np.ones(noise.cells) if among is None else among
    v, m = values * used, float(used.sum())
    top, bottom = counts @ v, counts @ used
    squares = Quadratic(*(np.asarray(x, dtype=np.float64) for x in (v @ v, -2 * v.sum(), m)))
    total = float(v.sum()), -m
    if noise.n is not None and among is None:
        n = np.full_like(bottom, float(noise.n))
    else:
        n = np.maximum(bottom + z * noise.deviation * np.sqrt(m), 0.0)
    noisy = _noise_polynomial(noise, squares, total)
    if np.isin(values, (0.0, 1.0)).all():
        sampled = Quadratic(np.zeros_like(n), n, -n)
    else:
        with np.errstate(all="ignore"):
            mean = top / bottom
            spread = (counts @ (v * v)) / bottom - mean**2
        most = (limits[1] - limits[0]) ** 2 / 4
        sampled = Quadratic(n * np.where(bottom > 0, np.clip(spread, 0.0, most), most), 0 * n, 0 * n)
    variance = Quadratic(*(np.asarray(one + other) for one, other in zip(sampled, noisy, strict=True)))
    return ratio_interval(top, bottom, variance, z, limits=limits)


def _noise_polynomial(noise: CellNoise, squares: Quadratic, total: tuple[float, float]) -> Quadratic:
    """Return the noise variance of sum((v - a) c) as a polynomial in a."""
    t0, t1 = total
    known = 0.0 if noise.n is None else 1 / noise.cells
    s = noise.deviation**2
    return Quadratic(
        s * (squares.c0 - known * t0 * t0), s * (squares.c1 - known * 2 * t0 * t1), s * (squares.c2 - known * t1 * t1)
    )


def loss_interval(
    counts: Floats, edges: tuple[float, ...], losses: tuple[Loss, Loss], noise: CellNoise, z: float, *, largest: float
) -> MetricInterval:
    """Return the mean loss of scores: the interval of T86, widened by the unresolved losses inside bins (T85).

    Parameters
    ----------
    counts
        Fitted noisy counts of shape (..., 2B + 1): negative class, positive class, invalid records.
    edges
        Edges of the B score bins.
    losses
        Loss of a negative and of a positive record, as monotone functions of the score.
    noise
        Noise of the histogram.
    z
        Normal quantile of the level.
    largest
        Largest loss of a record.
    """
    values = np.r_[loss_weights(edges, losses[0]), loss_weights(edges, losses[1]), 0.0]
    valid = np.r_[np.ones(len(values) - 1), 0.0]
    found = cell_mean(counts, values, noise, z, among=valid, limits=(0.0, largest))
    bins = len(edges) - 1
    slacks = [loss_slack(counts[..., :bins], edges, losses[0]), loss_slack(counts[..., bins:-1], edges, losses[1])]
    slack = Slack(slacks[0].below + slacks[1].below, slacks[0].above + slacks[1].above)
    return _widened(found, slack, counts @ valid, largest)


def _widened(found: MetricInterval, slack: Slack, bottom: Floats, largest: float) -> MetricInterval:
    """Return the interval with its ends moved by the possible errors of the numerator, within [0, ``largest``]."""
    low, high = (np.divide(one, bottom, out=np.full_like(one, largest), where=bottom > 0) for one in slack)
    return MetricInterval(found.value, np.maximum(found.low - low, 0.0), np.minimum(found.high + high, largest))


def auc_interval(counts: Floats, edges: tuple[float, ...], noise: CellNoise, z: float) -> MetricInterval:
    """Return the area under the ROC curve (T87).

    With kernel K and counts x of the negative and y of the positive class, U(a) = sum (K - a)[i, j] x_i y_j has mean 0
    at the true area a. The noise of different cells is independent, so products of two of them add no bias. The
    interval is widened by the pairs inside bins whose order the counts do not resolve.

    Parameters
    ----------
    counts
        Fitted noisy counts of shape (..., 2, B), negative class first.
    edges
        Edges of the B score bins; K is `dperm.evaluation.reconstruction.pair_weights` of them.
    noise
        Noise of the histogram.
    z
        Normal quantile of the level.
    """
    kernel = pair_weights(edges)
    neg, pos = counts[..., 0, :], counts[..., 1, :]
    negatives, positives = neg.sum(axis=-1), pos.sum(axis=-1)
    above, below = pos @ kernel.T, neg @ kernel  # of each negative, and of each positive record
    square = noise.deviation**2
    known = 0.0 if noise.n is None else 1 / noise.cells
    bins = kernel.shape[0]
    total = above.sum(axis=-1) + below.sum(axis=-1), -bins * (positives + negatives)
    of_noise = [
        square * (_dot(above, positives, power) + _dot(below, negatives, power) - known * _square(*total, power))
        - square**2 * _kernel_square(kernel, None, power).sum()
        for power in range(3)
    ]
    of_sample = [
        (neg * (_square(above, -positives[..., None], power) - square * _kernel_square(kernel, 1, power))).sum(axis=-1)
        + (pos * (_square(below, -negatives[..., None], power) - square * _kernel_square(kernel, 0, power))).sum(
            axis=-1
        )
        for power in range(3)
    ]
    top, bottom = (neg * above).sum(axis=-1), positives * negatives
    smaller = np.maximum(np.minimum(positives, negatives), FEWEST)
    of_sample = [(1 + SMALL_SAMPLE / smaller) * one for one in of_sample]
    scale = _sampling_scale(of_sample, top, bottom, np.maximum(positives, negatives))
    ends = [
        ratio_interval(top, bottom, Quadratic(*map(np.add, of_noise, sampled)), z, limits=(0.0, 1.0))
        for sampled in (of_sample, [0.0, scale, -scale])
    ]
    hull = MetricInterval(ends[0].value, np.minimum(ends[0].low, ends[1].low), np.maximum(ends[0].high, ends[1].high))
    return _widened(hull, pair_slack(counts, edges), np.where(positives > 0, bottom, 0.0), 1.0)


def _sampling_scale(of_sample: list[Floats], top: Floats, bottom: Floats, larger: Floats) -> Floats:
    """Return the s for which s a (1 - a) is the sampling variance at the estimated area.

    An estimate above the true area comes with a variance that is too small. The variance at a smaller area is therefore
    scaled up by a (1 - a), as in a score interval of a proportion. At most, it is that of a proportion among the
    records of the smaller class.
    """
    with np.errstate(all="ignore"):
        area = np.clip(np.where(bottom > 0, top / bottom, 0.5), *AREAS)
    at_area = of_sample[0] + of_sample[1] * area + of_sample[2] * area**2
    return np.asarray(np.clip(at_area / (area * (1 - area)), 0.0, np.maximum(bottom, 0.0) * np.maximum(larger, 0.0)))


def _square(constant: Floats, slope: Floats | float, power: int) -> Floats:
    """Return the coefficient of a^power in (constant + slope a)^2."""
    return (constant**2, 2 * constant * slope, slope**2 * np.ones_like(constant))[power]


def _dot(weights: Floats, records: Floats, power: int) -> Floats:
    """Return the coefficient of a^power in the squared length of weights - a records."""
    return np.asarray(_square(weights, -records[..., None], power).sum(axis=-1))


def _kernel_square(kernel: Floats, axis: int | None, power: int) -> Floats:
    """Return the coefficient of a^power in the sum of (K - a)^2 along an axis; all entries for None."""
    squares = _square(kernel, -1.0, power)
    return squares if axis is None else np.asarray(squares.sum(axis=axis))
