# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How often runs of one to four characters occur, with a bound on what one line adds."""

import math
from collections.abc import Sequence

import numpy as np

from dperm.audit.exposure.text import ALPHABET, table
from dperm.data.arrays import Mask
from dperm.noise.arrays import Floats, Integers
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised

SYMBOLS = len(ALPHABET)
ORDER = 4
"""The longest run: three characters predict the next."""
LONGEST = 40
"""Characters of a line that count, its end included; what follows is cut off."""
CELLS = tuple(SYMBOLS**order for order in range(1, ORDER + 1))
"""Cells of the table of each order."""


def counts(lines: Sequence[str]) -> Floats:
    """For each run of 1, ..., 4 characters, in how many lines it occurs: all tables, one after the other.

    A record is a line. It adds 1 to each of the cells of its own runs, however often they occur in it, and it has at
    most 40 runs of each length.
    """
    symbols, lengths = table(lines, LONGEST, ORDER - 1)
    return np.concatenate([_counts(symbols, lengths, order) for order in range(1, ORDER + 1)])


def sensitivity(adjacency: Adjacency) -> float:
    """How far one line moves `counts`, in L2, rounded up.

    A line is a vector of at most 4 * 40 ones: sqrt(160) if it comes or goes. In the place of another it makes a
    difference of at most 320 entries of size 1: sqrt(320).
    """
    ones = ORDER * LONGEST * (1 if adjacency is Adjacency.ADD_REMOVE else 2)
    return raised(math.sqrt(ones))


def runs(symbols: Integers, order: int) -> Integers:
    """The cell of the run of ``order`` characters that ends at each character that counts: (lines, 40)."""
    cells = np.zeros((len(symbols), LONGEST), dtype=np.int64)
    for place in range(ORDER - order, ORDER):
        cells = cells * SYMBOLS + symbols[:, place : place + LONGEST]
    return cells


def inside(lengths: Integers) -> Mask:
    """Which of the 40 places of a line hold one of its characters."""
    return np.asarray(np.arange(LONGEST) < lengths[:, np.newaxis])


def _counts(symbols: Integers, lengths: Integers, order: int) -> Floats:
    """Each run once for each line that has it: the first of equal ones, once the runs of a line are in order."""
    cells = np.sort(np.where(inside(lengths), runs(symbols, order), -1), axis=1)
    first = np.diff(cells, axis=1, prepend=-1) > 0
    return np.bincount(cells[first], minlength=SYMBOLS**order).astype(np.float64)
