# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LiRA's statistic: the likelihood ratio of two Gaussians, fitted for each record to models with and without it.

Carlini, Chien, Nasr, Song, Terzis & Tramer 2022, algorithm 1 (online): phi is a record's logit score under a model,
LLR = log N(phi; mean_in, var_in) - log N(phi; mean_out, var_out).
"""

import numpy as np

from dperm.audit.arrays import numbers, truths
from dperm.audit.membership.anderson import Reals
from dperm.audit.membership.moments import Moments, moments_of, moments_without_each
from dperm.audit.membership.pairs import check_pairs
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError

FEW_MODELS = 64
"""Below this number of models, per-record variances are too noisy, and all records share one (Carlini et al.)."""
LARGEST = 1e50
"""Largest allowed score: squares of larger scores, divided by the smallest variance, overflow."""


def ratios_of_each(scores: Reals, mask: Mask, *, pooled: bool | None = None) -> Floats:
    """Return the LLR of each record (rows) for each model (columns) as the target, from the other models.

    The target's complement is left out too: it was trained on exactly the records missing from the target (A9). Every
    record is in one model of each pair, so both models of a pair share the same moments. These come from all other
    pairs and do not depend, to the last bit, on the scores or coins of this pair.

    Parameters
    ----------
    scores
        (n, K), larger for better fits.
    mask
        Membership of each record in each model; columns 2j and 2j + 1 are complements.
    pooled
        Whether all records share one variance; None means True for fewer than 64 models.
    """
    values, bits = checked_scores(scores, mask)
    check_pairs(bits)
    inside, outside = of_other_pairs(values, bits, pooled=pooled)
    found = np.empty(values.shape)
    for side in (0, 1):
        phi = np.ascontiguousarray(values[:, side::2].T)
        found[:, side::2] = (inside.log_density(phi) - outside.log_density(phi)).T
    return found


def of_other_pairs(scores: Floats, mask: Mask, *, pooled: bool | None = None) -> tuple[Moments, Moments]:
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
        raise ParameterError(f"target must be one finite score for each of {len(values)} records, got {len(own)}.")
    if min(bits.sum(axis=1).min(), (~bits).sum(axis=1).min()) < 2:
        raise ParameterError("each record must be in two models at least, and out of two. Train more shadow models.")
    few = values.shape[1] < FEW_MODELS if pooled is None else pooled
    inside, outside = moments_of(values, bits, pooled=few), moments_of(values, ~bits, pooled=few)
    return inside.log_density(own) - outside.log_density(own)


def checked_scores(scores: object, mask: object) -> tuple[Floats, Mask]:
    """Return scores (n, K) as doubles and the mask as booleans; raise ``ParameterError`` if their shapes differ."""
    values, bits = numbers("scores", scores, dims=2), truths("mask", mask, dims=2)
    if values.shape != bits.shape or not values.size:
        raise ParameterError(f"scores and mask must have one shape, got {values.shape} and {bits.shape}.")
    return _within("scores", values), bits


def _within(name: str, values: Floats) -> Floats:
    if values.size and np.abs(values).max() > LARGEST:
        raise ParameterError(f"{name} must be at most {LARGEST:g} in size. Did a shadow model diverge?")
    return values
