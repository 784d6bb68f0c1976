# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Means and variances of records' scores, over some models, or over all models except one pair."""

from typing import NamedTuple

import numpy as np

from dperm.audit.membership.anderson import Reals
from dperm.data.arrays import Floats, Mask

_LEAST_VARIANCE = 1e-12
"""Smallest variance relative to the mean square; constant scores would give infinite ratios."""
_LEAST = 1e-200


class Moments(NamedTuple):
    """Mean and variance of the scores of each record."""

    mean: Floats
    variance: Floats

    def log_density(self, scores: Reals) -> Floats:
        """Return the logarithm of N(scores; mean, variance), up to a constant; it cancels in likelihood ratios."""
        density: Floats = -0.5 * (np.log(self.variance) + (scores - self.mean) ** 2 / self.variance)
        return density


def moments_of(scores: Floats, chosen: Mask, *, pooled: bool) -> Moments:
    """Return the moments of the chosen entries of each row."""
    count = chosen.sum(axis=1)
    mean = np.where(chosen, scores, 0.0).sum(axis=1) / count
    squares = np.where(chosen, scores - mean[:, np.newaxis], 0.0) ** 2
    variance = squares.sum(axis=1) / (count - 1)
    return Moments(mean, _steadied(variance, float((scores**2).mean()), pooled=pooled))


def moments_without_each(values: Floats, *, pooled: bool) -> Moments:
    """Return in row k the moments of each column without its k-th entry, computed without subtraction from a total.

    A difference of sums keeps the rounding error of the removed entry. With a tiny variance, an attacker could read the
    target's coin from this error. Instead, the function merges the moments of the entries before and after (Chan, Golub
    & LeVeque 1983). All summed squares are nonnegative, without cancellation.
    """
    before, after = _running(values), _running(values[::-1])
    left, squares = len(values) - 1, (values**2).mean(axis=1)
    mean, variance, scale = np.empty_like(values), np.empty_like(values), np.empty((len(values), 1))
    for place in range(len(values)):
        one, other = before[place], after[left - place]
        share = (left - place) / left
        apart = other.mean - one.mean
        mean[place] = one.mean + share * apart
        variance[place] = (one.variance + other.variance + place * share * apart**2) / (left - 1)
        scale[place] = (squares[:place].sum() + squares[place + 1 :].sum()) / left
    return Moments(mean, _steadied(variance.T, scale.T, pooled=pooled).T)


def _running(values: Floats) -> list[Moments]:
    """Return per column the mean and the sum of squared deviations of the first 0, 1, 2, ... entries (Welford 1962)."""
    found = [Moments(np.zeros(values.shape[1]), np.zeros(values.shape[1]))]
    for place, row in enumerate(values[:-1]):
        mean, squares = found[-1]
        apart = row - mean
        found.append(Moments(mean + apart / (place + 1), squares + apart**2 * (place / (place + 1))))
    return found


def _steadied(variance: Floats, scale: Floats | float, *, pooled: bool) -> Floats:
    """Return variances bounded below and, if ``pooled``, averaged over all records (rows) of a model."""
    shown = np.broadcast_to(variance.mean(axis=0), variance.shape) if pooled else variance
    steadied: Floats = np.maximum(shown, _LEAST_VARIANCE * scale + _LEAST)
    return steadied
