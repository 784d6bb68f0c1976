# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models that score sequences, and what they say of secrets."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from dperm.audit.exposure.space import SecretSpace
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats, Integers

ROWS = 2**14
"""Contexts or sequences of one call: a model may hold a large array for each."""


@runtime_checkable
class SequenceModel(Protocol):
    """A model that says what comes next."""

    def log_probabilities(self, contexts: Integers) -> Floats:
        """Natural logarithms of the probabilities of the next symbol, (rows, symbols), for (rows, length) symbols."""


Score = Callable[[Integers], Floats]
"""Log probabilities (rows,) of whole sequences (rows, length)."""
Scorer = SequenceModel | Score
Progress = Callable[[float], None] | None


def secret_scores(model: Scorer, space: SecretSpace, places: Integers, progress: Progress = None) -> Floats:
    """Log probabilities of the secrets at these places: of the symbols after the prefix, or of the whole sequence."""
    checked_model(model)
    parts = []
    for start in range(0, len(places), ROWS):
        sequences = space.sequences(places[start : start + ROWS])
        parts.append(_sequence_scores(model, sequences, len(space.prefix)))
        if progress is not None:
            progress(min(1.0, (start + ROWS) / len(places)))
    return np.concatenate(parts)


def next_log_probabilities(model: SequenceModel, contexts: Integers) -> Floats:
    """What a model says of these contexts, checked: a row each, logarithms of probabilities."""
    found = np.asarray(model.log_probabilities(contexts), dtype=np.float64)
    if found.ndim != 2 or len(found) != len(contexts):
        raise ParameterError(
            "model.log_probabilities must return a row with a number for each symbol, for each context."
        )
    return _checked_scores(found)


def checked_model(model: object) -> None:
    """Refuse what scores nothing."""
    if isinstance(model, type) or not (isinstance(model, SequenceModel) or callable(model)):
        raise ParameterError(
            "model must have log_probabilities(contexts), or be a function that scores whole sequences, "
            f"got an object of type {type(model).__name__}."
        )


def _sequence_scores(model: Scorer, sequences: Integers, known: int) -> Floats:
    """A function scores sequences at once, a model symbol by symbol after the ``known`` ones."""
    if not isinstance(model, SequenceModel):
        found = np.asarray(model(sequences), dtype=np.float64)
        if found.shape != (len(sequences),):
            raise ParameterError("model must return one log probability for each sequence.")
        return _checked_scores(found)
    rows, total = np.arange(len(sequences)), np.zeros(len(sequences))
    for place in range(known, sequences.shape[1]):
        total += next_log_probabilities(model, sequences[:, :place])[rows, sequences[:, place]]
    return total


def _checked_scores(scores: Floats) -> Floats:
    if np.isnan(scores).any() or (scores == np.inf).any():
        raise ParameterError("model must score with logarithms of probabilities, got NaN or infinity. -inf is allowed.")
    return scores
