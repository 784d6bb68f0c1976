# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LiRA's statistic: the likelihood ratio of two Gaussians, fitted for each record to models with and without it.

Carlini, Chien, Nasr, Song, Terzis & Tramer 2022, algorithm 1 (online): phi is a record's logit score under a model,
LLR = log N(phi; mean_in, var_in) - log N(phi; mean_out, var_out).
"""

from typing import NamedTuple

import numpy as np

from dperm.audit.arrays import numbers, truths
from dperm.audit.membership.pairs import check_pairs
from dperm.audit.membership.shadow_glm import Reals
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg

_LEAST_VARIANCE = 1e-12
"""Smallest variance relative to the mean square; constant scores would give infinite ratios."""
_LEAST = 1e-200
FEW_MODELS = 64
"""Below this number of models, per-record variances are too noisy, and all records share one (Carlini et al.)."""
LARGEST = 1e50
"""Largest allowed score: squares of larger scores, divided by the smallest variance, overflow."""


class ScoreMoments(NamedTuple):
    """Mean and variance of the scores of each record."""

    mean: Floats
    variance: Floats

    def log_density(self, scores: Reals) -> Floats:
        """Return the logarithm of N(scores; mean, variance), up to a constant; it cancels in likelihood ratios."""
        density: Floats = -0.5 * (np.log(self.variance) + (scores - self.mean) ** 2 / self.variance)
        return density


def moments_of(scores: Floats, chosen: Mask, *, pooled: bool) -> ScoreMoments:
    """Return the moments of the chosen entries of each row."""
    count = chosen.sum(axis=1)
    mean = np.where(chosen, scores, 0.0).sum(axis=1) / count
    squares = np.where(chosen, scores - mean[:, np.newaxis], 0.0) ** 2
    variance = squares.sum(axis=1) / (count - 1)
    return ScoreMoments(mean, _stabilised(variance, float((scores**2).mean()), pooled=pooled))


def moments_without_each(values: Floats, *, pooled: bool) -> ScoreMoments:
    """Return in row k the moments of each column without its k-th entry, computed without subtraction from a total.

    A difference of sums keeps the rounding error of the removed entry. With a tiny variance, an attacker could read the
    target's coin flip from this error. Instead, the function merges the moments of the entries before and after the
    removed entry (Chan, Golub & LeVeque 1983). All summed squares are nonnegative, without cancellation.
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
    return ScoreMoments(mean, _stabilised(variance.T, scale.T, pooled=pooled).T)


def _running(values: Floats) -> list[ScoreMoments]:
    """Return per column the mean and the sum of squared deviations of the first 0, 1, 2, ... entries (Welford 1962)."""
    found = [ScoreMoments(np.zeros(values.shape[1]), np.zeros(values.shape[1]))]
    for place, row in enumerate(values[:-1]):
        mean, squares = found[-1]
        apart = row - mean
        found.append(ScoreMoments(mean + apart / (place + 1), squares + apart**2 * (place / (place + 1))))
    return found


def _stabilised(variance: Floats, scale: Floats | float, *, pooled: bool) -> Floats:
    """Return variances bounded below and, if ``pooled``, averaged over all records (rows) of a model."""
    shown = np.broadcast_to(variance.mean(axis=0), variance.shape) if pooled else variance
    stabilised: Floats = np.maximum(shown, _LEAST_VARIANCE * scale + _LEAST)
    return stabilised


def ratios_of_each(scores: Reals, mask: Mask, *, pooled: bool | None = None) -> Floats:
    """Return the LLR of each record (rows) for each model (columns) as the target, from the other models.

    The target's complement is left out too: it was trained on exactly the records missing from the target (A9). Every
    record is in one model of each pair, so both models of a pair share the same moments. These moments come from all
    other pairs and do not depend, to the last bit, on the scores or coin flips of this pair.

    Parameters
    ----------
    scores
        Scores, of shape (n, K), larger for better fits.
    mask
        Membership of each record in each model; columns 2j and 2j + 1 are complements.
    pooled
        Whether all records share one variance; None means True for fewer than 64 models.
    """
    values, bits = checked_scores(scores, mask)
    check_pairs(bits)
    inside, outside = moments_of_other_pairs(values, bits, pooled=pooled)
    found = np.empty(values.shape)
    for side in (0, 1):
        phi = np.ascontiguousarray(values[:, side::2].T)
        found[:, side::2] = (inside.log_density(phi) - outside.log_density(phi)).T
    return found


def moments_of_other_pairs(
    scores: Floats, mask: Mask, *, pooled: bool | None = None
) -> tuple[ScoreMoments, ScoreMoments]:
    """Return the moments in the other pairs, with and without the record, per pair (rows) and record (columns)."""
    few = scores.shape[1] < FEW_MODELS if pooled is None else pooled
    first, even, odd = (np.ascontiguousarray(part.T) for part in (mask[:, ::2], scores[:, ::2], scores[:, 1::2]))
    inside = moments_without_each(np.where(first, even, odd), pooled=few)
    return inside, moments_without_each(np.where(first, odd, even), pooled=few)


def ratios_against(target: Floats, scores: Reals, mask: Mask, *, pooled: bool | None = None) -> Floats:
    """Return each record's LLR for a target outside the models, from its scores (n,) and the models' (n, K)."""
    values, bits = checked_scores(scores, mask)
    own = _within("target", numbers("target", target))
    if own.shape != values.shape[:1]:
        raise ParameterError(
            argument="target", rule=f"must be one finite score for each of {len(values)} records", got=str(len(own))
        )
    if min(bits.sum(axis=1).min(), (~bits).sum(axis=1).min()) < 2:
        raise ParameterError(
            "each record must be in at least two models, and out of at least two.", remedy="Train more shadow models."
        )
    few = values.shape[1] < FEW_MODELS if pooled is None else pooled
    inside, outside = moments_of(values, bits, pooled=few), moments_of(values, ~bits, pooled=few)
    return inside.log_density(own) - outside.log_density(own)


def checked_scores(scores: object, mask: object) -> tuple[Floats, Mask]:
    """Return scores (n, K) as doubles and the mask as booleans; raise ``ParameterError`` if their shapes differ."""
    values, bits = numbers("scores", scores, dims=2), truths("mask", mask, dims=2)
    if values.shape != bits.shape or not values.size:
        raise ParameterError(
            argument="scores", rule=f"must have the shape of {arg('mask')}", got=f"{values.shape} and {bits.shape}"
        )
    return _within("scores", values), bits


def _within(name: str, values: Floats) -> Floats:
    if values.size and np.abs(values).max() > LARGEST:
        raise ParameterError(
            argument=name,
            rule=f"must be at most {LARGEST:g} in absolute value",
            remedy="Check whether a shadow model diverged.",
        )
    return values
