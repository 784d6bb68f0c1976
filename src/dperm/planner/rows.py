# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Made-up tables of a declared shape: no row of anybody's is in them.

A row is a common mean plus a normal deviation whose j-th direction has a variance in proportion to 1/j: encoded tables
of people have a mean that is as large as what varies around it, and few directions in which most of that happens. Rows
are scaled so that nine of ten are within norm 1, and the longest are scaled down to it. The log odds of the class are
linear in the deviation, with coefficients that are drawn anew, all from one law.
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
TEST_ROWS = 10_000
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
    """A table of ``shape.n`` rows whose classes follow ``signal``, and ``TEST_ROWS`` more rows."""
    drawn = generator(seed, purpose="planner rows")
    deviations = _deviations(shape.dim)
    coefficients = drawn.standard_normal(shape.dim) * deviations
    coefficients *= signal.spread / np.linalg.norm(coefficients * deviations)
    X = drawn.standard_normal((shape.n + TEST_ROWS, shape.dim))
    X *= deviations
    chances = np.asarray(expit(X @ coefficients + signal.offset))
    _place(X, _length(shape.dim))
    y = (drawn.random(len(X)) < chances).astype(np.int64)
    return Sample(X[: shape.n], y[: shape.n], X[shape.n :], y[shape.n :], chances[shape.n :])


def typical_variance(signal: Signal, dim: int) -> float:
    """Of a coefficient for the rows as they are learnt from: the C of whoever knows the law of the coefficients."""
    return (signal.spread * _length(dim)) ** 2 / (1 - MEAN_SHARE)


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
