# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LiRA's statistic: the likelihood ratio of two Gaussians, fitted for each record to models with and without it.

Carlini, Chien, Nasr, Song, Terzis & Tramer 2022, algorithm 1 (online): phi is a record's logit score under a model,
LLR = log N(phi; mean_in, var_in) - log N(phi; mean_out, var_out).
"""

from typing import NamedTuple

import numpy as np

from dperm.audit.membership.anderson import Reals
from dperm.audit.membership.pairs import check_pairs
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError

FEW_MODELS = 64
"""With fewer models a variance for each record is too noisy, and one for all records serves better (Carlini et al.)."""
_LEAST_VARIANCE = 1e-12
"""Beside the mean square: scores that never vary would give infinite ratios."""


class Moments(NamedTuple):
    """Mean and variance of scores of records."""

    mean: Floats
    variance: Floats

    def log_density(self, scores: Reals) -> Floats:
        """The logarithm of N(scores; mean, variance), up to the constant that cancels."""
        density: Floats = -0.5 * (np.log(self.variance) + (scores - self.mean) ** 2 / self.variance)
        return density


def ratios_of_each(scores: Reals, mask: Mask, *, pooled: bool | None = None) -> Floats:
    """LLR of each record (rows) for each model (columns) as the target, by the other models.

    The target's complement is left out, too: it has seen exactly the records that the target has not (A9). Every record
    is in one model of each pair, so both models of a pair share their moments: those of all pairs with this one taken
    out of the sums. Costs a few passes over ``scores``, instead of K.

    Parameters
    ----------
    scores
        (n, K), larger for better fits.
    mask
        Who is in which model; columns 2j and 2j + 1 are complements.
    pooled
        One variance for all records; None: for fewer than 64 models.
    """
    check_pairs(mask)
    check_scores(scores, mask)
    few = scores.shape[1] < FEW_MODELS if pooled is None else pooled
    first, (even, odd) = mask[:, ::2], (scores[:, ::2].astype(np.float64), scores[:, 1::2].astype(np.float64))
    inside = _without_one(np.where(first, even, odd), pooled=few)
    outside = _without_one(np.where(first, odd, even), pooled=few)
    found = [inside.log_density(phi) - outside.log_density(phi) for phi in (even, odd)]
    return np.stack(found, axis=2).reshape(scores.shape)


def ratios_against(target: Floats, scores: Reals, mask: Mask, *, pooled: bool | None = None) -> Floats:
    """LLR of each record for a target that is none of the models: its scores (n,), those of the models (n, K)."""
    check_scores(scores, mask)
    if target.shape != scores.shape[:1] or not np.isfinite(target).all():
        raise ParameterError("target must be one finite score for each record.")
    if min(mask.sum(axis=1).min(), (~mask).sum(axis=1).min()) < 2:
        raise ParameterError("each record must be in two models at least, and out of two. Train more shadow models.")
    few = scores.shape[1] < FEW_MODELS if pooled is None else pooled
    inside, outside = _moments(scores, mask, pooled=few), _moments(scores, ~mask, pooled=few)
    return inside.log_density(target) - outside.log_density(target)


def check_scores(scores: Reals, mask: Mask) -> None:
    """Refuse scores that do not fit the mask, or are no numbers."""
    if scores.shape != mask.shape:
        raise ParameterError(f"scores and mask must have one shape, got {scores.shape} and {mask.shape}.")
    if not np.isfinite(scores).all():
        raise ParameterError("scores must be finite, got NaN or infinite ones. Did a shadow model fail to train?")


def _without_one(values: Floats, *, pooled: bool) -> Moments:
    """Moments of each row without each of its entries in turn, from sums of centred values."""
    left = values.shape[1] - 1
    mean = values.mean(axis=1, keepdims=True)
    centered = values - mean
    shift = -centered / left
    squares = (centered**2).sum(axis=1, keepdims=True) - centered**2
    variance = (squares - left * shift**2) / (left - 1)
    return Moments(mean + shift, _steadied(variance, (values**2).mean(), pooled=pooled))


def _moments(scores: Reals, chosen: Mask, *, pooled: bool) -> Moments:
    """Moments of the chosen entries of each row."""
    count = chosen.sum(axis=1)
    mean = np.where(chosen, scores, 0.0).sum(axis=1) / count
    squares = np.where(chosen, scores - mean[:, np.newaxis], 0.0) ** 2
    variance = squares.sum(axis=1) / (count - 1)
    return Moments(mean, _steadied(variance, float((scores.astype(np.float64) ** 2).mean()), pooled=pooled))


def _steadied(variance: Floats, scale: float, *, pooled: bool) -> Floats:
    """Variances that are not too small, and, if ``pooled``, the same for all records of a model."""
    shown = np.broadcast_to(variance.mean(axis=0), variance.shape) if pooled else variance
    steadied: Floats = np.maximum(shown, _LEAST_VARIANCE * scale + np.finfo(np.float64).tiny)
    return steadied
