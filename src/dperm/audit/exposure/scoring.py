# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sequence models, and their log probabilities of secrets."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from dperm.audit.arrays import numbers
from dperm.audit.exposure.space import SecretSpace
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats, Integers

ROWS = 2**14
"""Number of contexts or sequences per call, because a model may allocate a large array for each."""
Score = Callable[[Integers], Floats]
"""Function from whole sequences (rows, length) to log probabilities (rows,)."""
Progress = Callable[[float], None] | None


@runtime_checkable
class SequenceModel(Protocol):
    """Protocol for a model that predicts the distribution of the next symbol of a sequence."""

    def log_probabilities(self, contexts: Integers) -> Floats:
        """Return the natural log probabilities of the next symbol after each context.

        Parameters
        ----------
        contexts
            Symbols of the contexts as nonnegative integers, of shape (rows, length).

        Returns
        -------
        ndarray
            Log probabilities, of shape (rows, symbols).
        """


Scorer = SequenceModel | Score


def secret_scores(model: Scorer, space: SecretSpace, places: Integers, progress: Progress = None) -> Floats:
    """Return log probabilities of the secrets with these indices.

    A `SequenceModel` scores the symbols after the prefix; a function scores whole sequences.
    """
    checked_model(model)
    parts = []
    for start in range(0, len(places), ROWS):
        sequences = space.sequences(places[start : start + ROWS])
        parts.append(_sequence_scores(model, sequences, len(space.prefix)))
        if progress is not None:
            progress(min(1.0, (start + ROWS) / len(places)))
    return np.concatenate(parts)


def next_log_probabilities(model: SequenceModel, contexts: Integers, largest: int) -> Floats:
    """Return the model's log probabilities after these contexts, one row each.

    Raise ``ParameterError`` for a wrong shape, or for fewer symbols than ``largest`` + 1.
    """
    found = log_probabilities("what model.log_probabilities returns", model.log_probabilities(contexts), dims=2)
    if len(found) != len(contexts):
        raise ParameterError(
            "model.log_probabilities must return a row for each context, with a number for each symbol."
        )
    if found.shape[1] <= largest:
        raise ParameterError(
            argument="space",
            rule=f"must contain symbols known to the model, 0 to {found.shape[1] - 1}",
            got=str(largest),
        )
    return found


def checked_model(model: object) -> None:
    """Raise ``ParameterError`` unless ``model`` is a `SequenceModel` or a function."""
    if isinstance(model, type) or not (isinstance(model, SequenceModel) or callable(model)):
        raise ParameterError(
            argument="model",
            rule="must have log_probabilities(contexts), or be a function that scores whole sequences",
            got=f"an object of type {type(model).__name__}",
        )


def _sequence_scores(model: Scorer, sequences: Integers, known: int) -> Floats:
    """Return the log probability of each sequence, given its first ``known`` symbols for a `SequenceModel`."""
    if not isinstance(model, SequenceModel):
        found = log_probabilities("what model returns", model(sequences), dims=1)
        if found.shape != (len(sequences),):
            raise ParameterError(argument="model", rule="must return one log probability for each sequence")
        return found
    rows, total = np.arange(len(sequences)), np.zeros(len(sequences))
    for place in range(known, sequences.shape[1]):
        symbols = sequences[:, place]
        total += next_log_probabilities(model, sequences[:, :place], int(symbols.max()))[rows, symbols]
    return total


def log_probabilities(name: str, scores: object, *, dims: int) -> Floats:
    """Return ``scores`` as doubles; raise ``ParameterError`` for NaN and infinity. -inf is a valid log probability."""
    found = numbers(name, scores, dims=dims, finite=False)
    if (found == np.inf).any():
        raise ParameterError(
            argument=name, rule="must be logarithms of probabilities", got="infinity", remedy="-inf is allowed."
        )
    return found
