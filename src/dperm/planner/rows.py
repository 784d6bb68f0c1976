# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Made-up tables of a declared shape: no row of anybody's is in them.

A row is a common mean plus a normal deviation whose j-th direction has a variance in proportion to 1/j: encoded tables
of people have a large mean, and few directions in which most of the rest happens. Rows are scaled so that nine of ten
are within norm 1, and the longest are scaled down to it. The log odds of the class are linear in the deviation. The
coefficients are drawn anew for each table, larger where rows vary more: with the deviation of the rows as their own.

The constants are those of 29 tables of people (benchmarks/planner_tables.py): the median squared norm of the mean was
0.63 of that of a row, and variances of 1/j spread over as many directions. Of four laws of the coefficients this one
was nearest to what private models had on the 16 tables with something to learn: a root mean square difference of .020
(.026 with coefficients of one size), too high by .009 in the mean.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dperm.data.arrays import Floats
from dperm.noise.simulation import generator
from dperm.planner.shape import Shape
from dperm.planner.signal import Signal

MEAN_SHARE = 0.6
"""Of the squared length of a row, what all rows have in common."""
DECAY = 1.0
_TEST_ROWS = 10_000
_TEST_ENTRIES = 2_000_000
_WITHIN = 0.9
_PILOT_ROWS = 2000


@dataclass(frozen=True)
class Sample:
    """Made-up rows of norm at most 1 with classes 0 and 1, to learn from and to be tested on.

    Attributes
    ----------
    X, y
        To learn from.
    X_test, y_test
        To be tested on.
    chances
        The probability of class 1 of each test row: known, since the rows are made up.
    """

    X: Floats
    y: NDArray[np.int64]
    X_test: Floats
    y_test: NDArray[np.int64]
    chances: Floats

    def accuracy(self, predicted: NDArray[np.int64]) -> float:
        """The probability of being right on the test rows, without the chance of their labels."""
        return float(np.where(predicted == 1, self.chances, 1 - self.chances).mean())


def draw(shape: Shape, signal: Signal, seed: int) -> Sample:
    """A table of ``shape.n`` rows whose classes follow ``signal``, and as many more rows as a test needs."""
    drawn = generator(seed, purpose="planner rows")
    deviations = _deviations(shape.dim)
    coefficients = drawn.standard_normal(shape.dim) * deviations
    coefficients *= signal.spread / np.linalg.norm(coefficients * deviations)
    X = drawn.standard_normal((shape.n + _test_rows(shape.dim), shape.dim))
    X *= deviations
    chances = np.asarray(expit(X @ coefficients + signal.offset))
    _place(X, _length(shape.dim))
    y = (drawn.random(len(X)) < chances).astype(np.int64)
    return Sample(X[: shape.n], y[: shape.n], X[shape.n :], y[shape.n :], chances[shape.n :])


def typical_variance(signal: Signal, dim: int) -> float:
    """The mean square of a coefficient, for the rows as they are learnt from: a C that suits them."""
    fourth = float((_deviations(dim) ** 4).sum())
    return (signal.spread * _length(dim)) ** 2 / ((1 - MEAN_SHARE) * dim * fourth)


def _test_rows(dim: int) -> int:
    return min(_TEST_ROWS, max(_TEST_ENTRIES // dim, 1000))


def _place(rows: Floats, length: float) -> None:
    """Deviations become rows around the common mean, divided by ``length``, none longer than 1; in place."""
    rows *= math.sqrt(1 - MEAN_SHARE) / length
    rows += math.sqrt(MEAN_SHARE / rows.shape[1]) / length
    rows /= np.maximum(1.0, np.sqrt(np.einsum("ij,ij->i", rows, rows)))[:, None]


def _deviations(dim: int) -> Floats:
    variances = np.arange(1.0, dim + 1) ** -DECAY
    return np.asarray(np.sqrt(variances / variances.sum()))


@lru_cache
def _length(dim: int) -> float:
    """What nine of ten rows are not longer than."""
    rows = generator(0, purpose="planner pilot").standard_normal((_PILOT_ROWS, dim)) * _deviations(dim)
    rows = math.sqrt(1 - MEAN_SHARE) * rows + math.sqrt(MEAN_SHARE / dim)
    return float(np.quantile(np.linalg.norm(rows, axis=1), _WITHIN))
