# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact exposure: the whole space, ranked."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.audit.exposure.exposure import Exposure
from dperm.audit.exposure.scoring import (
    ROWS,
    Progress,
    Scorer,
    SequenceModel,
    checked_model,
    log_probabilities,
    next_log_probabilities,
    secret_scores,
)
from dperm.audit.exposure.space import SecretSpace
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats, Integers

MOST_SECRETS = 10**8
EQUAL = 1e-9
"""Log probabilities this close are equal: the same factors, added in another order."""


def exact_exposure(
    model: Scorer, space: SecretSpace, secret: tuple[int, ...], *, progress: Progress = None
) -> Exposure:
    """``log2 |R| - log2 rank(secret)``, by enumeration (A10)."""
    place = space.place(secret)
    return exposure_among(all_log_probabilities(model, space, progress=progress), place)


def exposure_among(scores: ArrayLike, place: int) -> Exposure:
    """The exposure of the secret at ``place`` among all: of equally likely ones, the middle rank."""
    scores = log_probabilities("scores", scores, dims=1)
    if not len(scores):
        raise ParameterError("scores must hold the log probability of one secret at least, got none.")
    place = checks.count("place", place, least=0, most=len(scores) - 1)
    rank = 1 + ahead(scores, float(scores[place]), less=1)
    most = float(np.log2(len(scores)))
    return Exposure(float(most - np.log2(rank)), most, "exact", len(scores), float(scores[place]))


def ahead(scores: Floats, score: float, *, less: int = 0) -> float:
    """How many of ``scores`` are likelier than ``score``; equal ones, ``less`` the secret itself, count half."""
    likelier, equal = compared(scores, score)
    return likelier + (equal - less) / 2


def compared(scores: Floats, score: float) -> tuple[int, int]:
    """How many of ``scores`` are likelier than ``score``, and how many equal."""
    likelier = int(np.count_nonzero(scores > score + EQUAL))
    return likelier, int(np.count_nonzero(scores >= score - EQUAL)) - likelier


def all_log_probabilities(model: Scorer, space: SecretSpace, *, progress: Progress = None) -> Floats:
    """The log probability of every secret, in the order of `SecretSpace.place`.

    A model that says what comes next is asked along a tree: contexts are shared, so 10^6 codes of six digits take
    1 + 10 + ... + 10^5 = 111,111 of them. A function that scores whole sequences is asked for each.
    """
    checked_model(model)
    if space.size > MOST_SECRETS:
        raise ParameterError(
            f"space must hold at most {MOST_SECRETS:,} secrets to be enumerated, got {space.size:.3g}. Use "
            f"sampled_exposure or extrapolated_exposure."
        )
    if not isinstance(model, SequenceModel):
        return secret_scores(model, space, np.arange(space.size), progress)
    return _tree(model, space, progress)


def _tree(model: SequenceModel, space: SecretSpace, progress: Progress) -> Floats:
    """Level by level: the scores of all beginnings, and the beginnings."""
    contexts, scores, asked = np.array([space.prefix], dtype=np.int64), np.zeros(1), 0
    for level, choices in enumerate(space.choices, start=1):
        symbols = np.array(choices, dtype=np.int64)
        told = None if progress is None else _told(progress, asked, space.contexts)
        scores = (scores[:, np.newaxis] + _chosen(model, contexts, symbols, told)).ravel()
        asked += len(contexts)
        if level < len(space.choices):
            contexts = _longer(contexts, symbols)
    return scores


def _told(progress: Callable[[float], None], asked: int, total: int) -> Callable[[int], None]:
    """Progress by the contexts of a level, after those of the levels before."""
    return lambda rows: progress((asked + rows) / total)


def _chosen(model: SequenceModel, contexts: Integers, symbols: Integers, told: Callable[[int], None] | None) -> Floats:
    """Log probabilities of the symbols after each context, some contexts at a time."""
    parts = []
    for start in range(0, len(contexts), ROWS):
        some = contexts[start : start + ROWS]
        parts.append(next_log_probabilities(model, some, int(symbols.max()))[:, symbols])
        if told is not None:
            told(start + len(some))
    return np.concatenate(parts)


def _longer(contexts: Integers, symbols: Integers) -> Integers:
    """Every context followed by every symbol."""
    repeated = np.repeat(contexts, len(symbols), axis=0)
    return np.column_stack([repeated, np.tile(symbols, len(contexts))])
