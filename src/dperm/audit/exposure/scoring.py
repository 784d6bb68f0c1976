# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models that score sequences, and what they say of secrets."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from dperm.audit.arrays import numbers
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


def next_log_probabilities(model: SequenceModel, contexts: Integers, largest: int) -> Floats:
    """What a model says of these contexts, checked: a row each, logarithms of probabilities, up to a symbol."""
    found = log_probabilities("what model.log_probabilities returns", model.log_probabilities(contexts), dims=2)
    if len(found) != len(contexts):
        raise ParameterError(
            "model.log_probabilities must return a row with a number for each symbol, for each context."
        )
    if found.shape[1] <= largest:
        raise ParameterError(
            f"space must hold symbols that the model knows: it says something of 0 to {found.shape[1] - 1}, and the "
            f"space has {largest}."
        )
    return found


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
        found = log_probabilities("what model returns", model(sequences), dims=1)
        if found.shape != (len(sequences),):
            raise ParameterError("model must return one log probability for each sequence.")
        return found
    rows, total = np.arange(len(sequences)), np.zeros(len(sequences))
    for place in range(known, sequences.shape[1]):
        symbols = sequences[:, place]
        total += next_log_probabilities(model, sequences[:, :place], int(symbols.max()))[rows, symbols]
    return total


def log_probabilities(name: str, scores: object, *, dims: int) -> Floats:
    """``scores`` as doubles, if they are logarithms of probabilities: -inf is one, NaN and infinity are none."""
    found = numbers(name, scores, dims=dims, finite=False)
    if (found == np.inf).any():
        raise ParameterError(f"{name} must be logarithms of probabilities, got infinity. -inf is allowed.")
    return found
