# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public bins of the profile of a raw column: missing, text, zero, and the binades of both signs (T72).

The bins do not depend on data. A cell falls into exactly one bin, by itself. A *binade* is a set of doubles with one
exponent and one sign, [2^k, 2^(k+1)) or (-2^(k+1), -2^k], for -1074 <= k <= 1023.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.canonical import CanonicalColumn

MISSING, TEXT, ZERO = 0, 1, 2
LOWEST_EXPONENT, HIGHEST_EXPONENT = -1074, 1023
BINADES = HIGHEST_EXPONENT - LOWEST_EXPONENT + 1
"""Number of binades of one sign."""
FIRST_POSITIVE = 3
FIRST_NEGATIVE = FIRST_POSITIVE + BINADES
BINS = 3 + 2 * BINADES
"""Number of bins of a column."""
ABOVE_ZERO = math.ulp(0.0)
"""Smallest positive double, the upper end of the cell of zero."""


def bins_of(column: CanonicalColumn) -> NDArray[np.int64]:
    """Return the bin of each cell."""
    numbers = column.numbers
    bins = np.full(len(numbers), MISSING, dtype=np.int64)
    bins[column.is_text] = TEXT
    bins[numbers == 0] = ZERO
    signed = np.flatnonzero(~np.isnan(numbers) & (numbers != 0))
    values = numbers[signed]
    exponents = np.frexp(values)[1].astype(np.int64) - 1  # |x| in [2^e, 2^(e+1))
    first = np.where(values > 0, FIRST_POSITIVE, FIRST_NEGATIVE)
    bins[signed] = first + exponents - LOWEST_EXPONENT
    return bins


def edges_of(place: int) -> tuple[float, float]:
    """Return the ends (low, high) of the binade with this bin number, or of the cell of zero."""
    if place == ZERO:
        return 0.0, ABOVE_ZERO
    exponent = LOWEST_EXPONENT + (place - (FIRST_POSITIVE if place < FIRST_NEGATIVE else FIRST_NEGATIVE))
    low, high = math.ldexp(1.0, exponent), _power_above(exponent)
    return (low, high) if place < FIRST_NEGATIVE else (-high, -low)


def _power_above(exponent: int) -> float:
    """Return 2^(exponent + 1); the largest double for the last binade."""
    return math.ldexp(1.0, exponent + 1) if exponent < HIGHEST_EXPONENT else math.nextafter(math.inf, 0.0)


def cell_edges(place: int, cells: int) -> Floats:
    """Return the edges of ``cells`` equal cells of a bin, in increasing order: ``cells`` + 1 doubles."""
    low, high = edges_of(place)
    if place == ZERO:
        return np.array([low, high])
    steps = np.arange(cells + 1) / cells  # cells is a power of two, so that steps are exact
    return np.asarray(low * (1 - steps) + high * steps)
