# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Small character model for text, from n-gram counts, with or without a guarantee.

The model counts the lines that contain each sequence of one to four characters. A line changes a bounded number of
counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dperm.accounting.budget import Budget
from dperm.audit.exposure.text import ALPHABET, END, symbol_table
from dperm.data.arrays import Mask
from dperm.errors import ParameterError
from dperm.mechanisms import GaussianMechanism
from dperm.noise.arrays import Floats, Integers
from dperm.noise.bits import Bits
from dperm.privacy import Adjacency, Release
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import raised

SYMBOLS = len(ALPHABET)
ORDER = 4
"""Largest length of a run: three characters predict the next."""
LONGEST = 40
"""Number of counted characters of a line, including its end; the rest is cut off."""
CELLS = tuple(SYMBOLS**order for order in range(1, ORDER + 1))
"""Number of cells in the table of each order."""
TRUST = 2.0
"""Number of occurrences at which a context's own counts outweigh those of shorter contexts."""


def ngram_counts(lines: Sequence[str]) -> Floats:
    """Return the number of lines with each run of 1, ..., 4 characters, as one vector of all tables.

    A record is a line. A line adds 1 to each cell of its own runs, however often a run occurs, and has at most 40 runs
    of each length.
    """
    symbols, lengths = symbol_table(lines, LONGEST, ORDER - 1)
    return np.concatenate([_counts(symbols, lengths, order) for order in range(1, ORDER + 1)])


def sensitivity(adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of `ngram_counts` to one line, rounded up.

    A line is a vector of at most 4 * 40 ones: sqrt(160) if it is added or removed. A replacement changes at most 320
    entries by 1: sqrt(320).
    """
    ones = ORDER * LONGEST * (1 if adjacency is Adjacency.ADD_REMOVE else 2)
    return raised(math.sqrt(ones))


def ngram_cells(symbols: Integers, order: int) -> Integers:
    """Return the cell of the run of ``order`` characters ending at each counted character, of shape (lines, 40)."""
    cells = np.zeros((len(symbols), LONGEST), dtype=np.int64)
    for place in range(ORDER - order, ORDER):
        cells = cells * SYMBOLS + symbols[:, place : place + LONGEST]
    return cells


def in_line(lengths: Integers) -> Mask:
    """Return a mask of the 40 positions of each line that hold one of its characters."""
    return np.asarray(np.arange(LONGEST) < lengths[:, np.newaxis])


def _counts(symbols: Integers, lengths: Integers, order: int) -> Floats:
    """Return the number of lines with each run: in the sorted runs of a line, the first of equal runs counts."""
    cells = np.sort(np.where(in_line(lengths), ngram_cells(symbols, order), -1), axis=1)
    first = np.diff(cells, axis=1, prepend=-1) > 0
    return np.bincount(cells[first], minlength=SYMBOLS**order).astype(np.float64)


@dataclass(frozen=True, eq=False)
class CharacterModel:
    """Model of the next character of a text, given the three characters before it, from smoothed counts.

    The probability of a character c after a context h is P(c | h) = (N(hc) + a P(c | h')) / (N(h) + a). Here N(hc) is
    the number of training lines that contain the sequence hc, with noise if the model is private. N(h) is the sum of
    N(hc) over all c, a > 0 is a constant, and h' is h without its first character. If h is empty, P(c | h') is replaced
    by the uniform distribution (MacKay & Peto 1995).

    Without noise, the model memorizes rare lines. Suppose that a six-digit code occurs in four lines of a text with
    several thousand other codes. The model then usually ranks the code among the 100 most probable of all 10^6
    six-digit codes.

    Attributes
    ----------
    logs
        Natural log probabilities: one row for each context of three characters, one column for each next character.
    """

    logs: Floats

    def log_probabilities(self, contexts: Integers) -> Floats:
        """Return the log probabilities of the next symbol after the last three symbols of each context.

        Contexts of fewer than three symbols are padded with line ends at the beginning.

        Parameters
        ----------
        contexts
            Symbols of the contexts, of shape (rows, length). A symbol is the index of a character in the alphabet.

        Returns
        -------
        ndarray
            Natural log probabilities, of shape (rows, symbols).
        """
        contexts = np.asarray(contexts, dtype=np.int64)
        padding = np.full((len(contexts), ORDER - 1), END, dtype=np.int64)
        cells = np.zeros(len(contexts), dtype=np.int64)
        for column in np.concatenate([padding, contexts], axis=1)[:, 1 - ORDER :].T:
            cells = cells * SYMBOLS + column
        return self.logs[cells]

    def loss(self, lines: Sequence[str]) -> float:
        """Return the mean negative log probability per character, including line ends, in nats.

        Parameters
        ----------
        lines
            Lines of text. Of each line, only the first 39 characters and the line end symbol are used.

        Returns
        -------
        float
            Mean loss in nats.

        Raises
        ------
        ParameterError
            If there are no lines.
        """
        if not lines:
            raise ParameterError(argument="lines", rule="must contain at least one line")
        symbols, lengths = symbol_table(lines, LONGEST, ORDER - 1)
        return -float(self.logs.ravel()[ngram_cells(symbols, ORDER)][in_line(lengths)].mean())


def train(lines: Sequence[str]) -> CharacterModel:
    """Train a character model on exact counts. The model is **not private**.

    Parameters
    ----------
    lines
        Lines of text. Of each line, only the first 39 characters and the line end symbol are used.

    Returns
    -------
    CharacterModel
        The trained model.
    """
    return smoothed_model(ngram_counts(lines))


def train_private(
    lines: Sequence[str], goal: AnyGuarantee, *, budget: Budget | None = None, bits: Bits | None = None
) -> Release[CharacterModel]:
    """Train a character model on noisy counts, to satisfy ``goal`` with one line of text as a record (T6).

    The Gaussian mechanism releases the counts of all sequences of one to four characters at once. The standard
    deviation sigma of its noise is calibrated to the effect of one line on all counts. The rest is post-processing
    (T3). The expected maximum of the noise on m counts is at most sigma sqrt(2 log m), where m is the number of
    sequences of a given length. Noisy counts up to this value are set to 0. The constant a of `CharacterModel` is
    sigma.

    Parameters
    ----------
    lines
        Lines of text, one record each. Of each line, only the first 39 characters and the line end symbol are used.
    goal
        Required guarantee. It must permit Gaussian noise, as ApproxDP with delta > 0, GDP and ZCDP do.
    budget
        Budget to charge; None charges nothing.
    bits
        Source of random bits for the noise; None uses the operating system.

    Returns
    -------
    Release
        The trained model with its guarantee.
    """
    return private_model(ngram_counts(lines), goal, budget=budget, bits=bits)


def private_model(
    numbers: Floats, goal: AnyGuarantee, *, budget: Budget | None = None, bits: Bits | None = None
) -> Release[CharacterModel]:
    """Return the private model from `ngram_counts`; the noise is calibrated to one line of these counts."""
    mechanism = counting_mechanism(goal)
    release = mechanism.release(numbers, budget, bits=bits)
    model = smoothed_model(_above_noise(np.asarray(release.value), mechanism.scale), mechanism.scale)
    return release.with_value(model)


def counting_mechanism(goal: AnyGuarantee) -> GaussianMechanism:
    """Return the Gaussian mechanism for the counts."""
    return GaussianMechanism.calibrate(sensitivity(goal.adjacency), goal, dim=sum(CELLS))


def smoothed_model(numbers: Floats, trust: float = TRUST) -> CharacterModel:
    """Return the model of these counts, a vector of all tables."""
    law = np.full((1, SYMBOLS), 1 / SYMBOLS)
    for order, each in enumerate(_tables(numbers)):
        seen = each.reshape(-1, SYMBOLS)
        shorter = np.tile(law, (SYMBOLS if order else 1, 1))  # the first character of a context is the slowest index
        law = (seen + trust * shorter) / (seen.sum(axis=1, keepdims=True) + trust)
    return CharacterModel(np.log(law))


def _above_noise(numbers: Floats, deviation: float) -> Floats:
    """Return the counts above the noise level of their table, and 0 elsewhere."""
    kept = [np.where(each > deviation * math.sqrt(2 * math.log(len(each))), each, 0.0) for each in _tables(numbers)]
    return np.concatenate(kept)


def _tables(numbers: Floats) -> list[Floats]:
    return np.split(numbers, np.cumsum(CELLS)[:-1])
