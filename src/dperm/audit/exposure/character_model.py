# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A small model of text: what comes next after three characters, from counts that are private or are not."""

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
"""The longest run: three characters predict the next."""
LONGEST = 40
"""Characters of a line that count, its end included; what follows is cut off."""
CELLS = tuple(SYMBOLS**order for order in range(1, ORDER + 1))
"""Cells of the table of each order."""


def ngram_counts(lines: Sequence[str]) -> Floats:
    """For each run of 1, ..., 4 characters, in how many lines it occurs: all tables, one after the other.

    A record is a line. It adds 1 to each of the cells of its own runs, however often they occur in it, and it has at
    most 40 runs of each length.
    """
    symbols, lengths = symbol_table(lines, LONGEST, ORDER - 1)
    return np.concatenate([_counts(symbols, lengths, order) for order in range(1, ORDER + 1)])


def sensitivity(adjacency: Adjacency) -> float:
    """How far one line moves `ngram_counts`, in L2, rounded up.

    A line is a vector of at most 4 * 40 ones: sqrt(160) if it comes or goes. In the place of another it makes a
    difference of at most 320 entries of size 1: sqrt(320).
    """
    ones = ORDER * LONGEST * (1 if adjacency is Adjacency.ADD_REMOVE else 2)
    return raised(math.sqrt(ones))


def ngram_cells(symbols: Integers, order: int) -> Integers:
    """The cell of the run of ``order`` characters that ends at each character that counts: (lines, 40)."""
    cells = np.zeros((len(symbols), LONGEST), dtype=np.int64)
    for place in range(ORDER - order, ORDER):
        cells = cells * SYMBOLS + symbols[:, place : place + LONGEST]
    return cells


def in_line(lengths: Integers) -> Mask:
    """Which of the 40 places of a line hold one of its characters."""
    return np.asarray(np.arange(LONGEST) < lengths[:, np.newaxis])


def _counts(symbols: Integers, lengths: Integers, order: int) -> Floats:
    """Each run once for each line that has it: the first of equal ones, once the runs of a line are in order."""
    cells = np.sort(np.where(in_line(lengths), ngram_cells(symbols, order), -1), axis=1)
    first = np.diff(cells, axis=1, prepend=-1) > 0
    return np.bincount(cells[first], minlength=SYMBOLS**order).astype(np.float64)


TRUST = 2.0
"""Occurrences of a context from which on its own counts outweigh those of shorter ones."""


@dataclass(frozen=True, eq=False)
class CharacterModel:
    """P(c | h) of each character after each context of three: counts, smoothed by those of shorter contexts.

    P_k(c | h) = (N(hc) + a P_k-1(c | h')) / (N(h) + a) with h' the context without its first character, down to the
    uniform law (MacKay & Peto 1995). It memorises what was seen a few times: with some thousand codes in the text, a
    code of six digits that was planted four times comes first of 10^6.

    Attributes
    ----------
    logs
        Log probabilities, (contexts of three characters, characters).
    """

    logs: Floats

    def log_probabilities(self, contexts: Integers) -> Floats:
        """Of the next symbol; a short context has line ends in front."""
        contexts = np.asarray(contexts, dtype=np.int64)
        padding = np.full((len(contexts), ORDER - 1), END, dtype=np.int64)
        cells = np.zeros(len(contexts), dtype=np.int64)
        for column in np.concatenate([padding, contexts], axis=1)[:, 1 - ORDER :].T:
            cells = cells * SYMBOLS + column
        return self.logs[cells]

    def loss(self, lines: Sequence[str]) -> float:
        """Mean -log P of the characters of these lines, their ends included: nats per character."""
        if not lines:
            raise ParameterError("lines must hold one line at least.")
        symbols, lengths = symbol_table(lines, LONGEST, ORDER - 1)
        return -float(self.logs.ravel()[ngram_cells(symbols, ORDER)][in_line(lengths)].mean())


def train(lines: Sequence[str]) -> CharacterModel:
    """The model of the counts as they are: **not private**."""
    return smoothed_model(ngram_counts(lines))


def train_private(
    lines: Sequence[str], goal: AnyGuarantee, *, budget: Budget | None = None, bits: Bits | None = None
) -> Release[CharacterModel]:
    """The model of noisy counts, a line of text being a record: it meets ``goal`` (T6), delta > 0.

    All counts are released at once by the Gaussian mechanism, for the L2 sensitivity of what a whole line adds
    (`dperm.audit.exposure.character_model.sensitivity`). The rest is post-processing (T3): counts that noise alone would reach
    somewhere in their table, sigma sqrt(2 log cells), become 0, and contexts are trusted from a count of sigma on.
    """
    return private_model(ngram_counts(lines), goal, budget=budget, bits=bits)


def private_model(
    numbers: Floats, goal: AnyGuarantee, *, budget: Budget | None = None, bits: Bits | None = None
) -> Release[CharacterModel]:
    """The same from the `ngram_counts` of the lines, which must be just that: the noise hides one line, nothing larger."""
    mechanism = counting_mechanism(goal)
    release = mechanism.release(numbers, budget, bits=bits)
    model = smoothed_model(_above_noise(np.asarray(release.value), mechanism.scale), mechanism.scale)
    return Release(model, release.guarantee, release.profile, release.event, release.record)


def counting_mechanism(goal: AnyGuarantee) -> GaussianMechanism:
    """The noise of the counts."""
    return GaussianMechanism.calibrate(sensitivity(goal.adjacency), goal, dim=sum(CELLS))


def smoothed_model(numbers: Floats, trust: float = TRUST) -> CharacterModel:
    """The model of these counts, all tables one after the other."""
    law = np.full((1, SYMBOLS), 1 / SYMBOLS)
    for order, each in enumerate(_tables(numbers)):
        seen = each.reshape(-1, SYMBOLS)
        shorter = np.tile(law, (SYMBOLS if order else 1, 1))  # the first character of a context is the slowest index
        law = (seen + trust * shorter) / (seen.sum(axis=1, keepdims=True) + trust)
    return CharacterModel(np.log(law))


def _above_noise(numbers: Floats, deviation: float) -> Floats:
    """Counts that stand out of the noise of their table, 0 elsewhere."""
    kept = [np.where(each > deviation * math.sqrt(2 * math.log(len(each))), each, 0.0) for each in _tables(numbers)]
    return np.concatenate(kept)


def _tables(numbers: Floats) -> list[Floats]:
    return np.split(numbers, np.cumsum(CELLS)[:-1])
