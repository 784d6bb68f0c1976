# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated tables of a declared shape, and the accuracy of models without privacy on them.

A row is a common mean plus a normal deviation whose j-th direction has a variance proportional to 1/j: encoded tables
of people have a large mean, and most of their variance lies in few directions. Rows are scaled so that nine of ten have
norm at most 1, and longer ones are scaled down to 1. The log odds of the class are linear in the deviation. The
coefficients are drawn for each table, with the standard deviations of the rows.

The constants come from 29 tables of people (benchmarks/planner_tables.py): the median squared norm of the mean was 0.63
of the squared norm of a row, and variances of 1/j had the same effective number of directions. This law of the
coefficients was the best of four on the 16 tables with something to learn: its root mean square difference from the
accuracy of private models was .020 (.026 with coefficients of one size), and its mean was too high by .009.

The log odds M of a row's class are N(c, s^2). The share of the class is E sigma(M) = ``balance``, which determines c
for each s. The best possible accuracy is E max(sigma(M), 1 - sigma(M)), which grows with s from the share of the larger
class to 1, and determines s.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dperm.data.arrays import Floats
from dperm.errors import NotPrivateWarning, ParameterError
from dperm.noise.simulation import generator
from dperm.planner.shape import Shape
from dperm.planner.trials import Trials, simulated_rows

REMOVED = 1 / 3
"""Share of the errors of guessing the larger class that the best model avoids, without a declared baseline.

Among 29 tables of people the share exceeded a tenth in 16, with median 0.35 and quartiles 0.23 and 0.50
(benchmarks/planner_tables.py).
"""
MEAN_SHARE = 0.6
"""Share of the common mean in the squared norm of a row."""
DECAY = 1.0
_TEST_ROWS = 10_000
_TEST_ENTRIES = 2_000_000
_WITHIN = 0.9
_PILOT_ROWS = 2000
_GRID = np.linspace(-9.0, 9.0, 3001)
_WEIGHTS = np.exp(-_GRID * _GRID / 2) / np.exp(-_GRID * _GRID / 2).sum()
_ROUNDS = 45
_WIDEST = 1e3
_CALIBRATION_ROUNDS = 5
_TABLES = 4
_FEWEST_ERRORS = 1e-4
_NEAR = 0.001
_ENOUGH = 0.003


@dataclass(frozen=True)
class Signal:
    """Normal distribution of the log odds.

    Attributes
    ----------
    spread
        Standard deviation s: information of the columns about the class.
    offset
        Mean c: imbalance of the classes.
    """

    spread: float
    offset: float

    @property
    def best(self) -> float:
        """Accuracy of a classifier that knows the log odds."""
        return _best(self.spread, self.offset)

    @property
    def share(self) -> float:
        """Share of the positive class."""
        return _share(self.spread, self.offset)


@lru_cache(maxsize=256)
def signal_for(shape: Shape, best: float | None = None) -> Signal:
    """Return the signal with the balance of ``shape`` and the best accuracy ``best``.

    Without ``best``, the best model avoids a third of the errors of guessing the larger class (`REMOVED`).
    """
    aim = shape.majority + REMOVED * (1 - shape.majority) if best is None else best
    spread = _root(lambda log: _best(math.exp(log), _offset(shape.balance, math.exp(log))) - aim, -9, math.log(_WIDEST))
    return Signal(math.exp(spread), _offset(shape.balance, math.exp(spread)))


def _offset(balance: float, spread: float) -> float:
    reach = 10 * (spread + 1)
    return _root(lambda offset: _share(spread, offset) - balance, -reach, reach)


def _share(spread: float, offset: float) -> float:
    return float(_WEIGHTS @ expit(offset + spread * _GRID))


def _best(spread: float, offset: float) -> float:
    return float(_WEIGHTS @ expit(np.abs(offset + spread * _GRID)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function by bisection."""
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return (low + high) / 2


@dataclass(frozen=True)
class SimulatedTable:
    """Simulated training and test rows of norm at most 1 with classes 0 and 1.

    Attributes
    ----------
    X, y
        Training rows and their classes.
    X_test, y_test
        Test rows and their classes.
    chances
        True probability of class 1 for each test row, known from the simulation.
    """

    X: Floats
    y: NDArray[np.int64]
    X_test: Floats
    y_test: NDArray[np.int64]
    chances: Floats

    def accuracy(self, predicted: NDArray[np.int64]) -> float:
        """Return the expected accuracy on the test rows, averaged over their random labels.

        Parameters
        ----------
        predicted
            Predicted class of each test row.

        Returns
        -------
        float
            Expected accuracy.
        """
        return float(np.where(predicted == 1, self.chances, 1 - self.chances).mean())


def simulated_table(shape: Shape, seed: int) -> SimulatedTable:
    """Return a simulated table of a declared shape, with additional test rows.

    Parameters
    ----------
    shape
        Public description of the table.
    seed
        Seed of the random rows, classes and coefficients, at least 0.

    Returns
    -------
    SimulatedTable
        ``shape.n`` training rows, and between 1,000 and 10,000 test rows.

    Raises
    ------
    ParameterError
        If a model without privacy cannot reach ``shape.baseline`` on tables of this shape.
    """
    return draw(shape, signal_of(shape), seed)


def draw(shape: Shape, signal: Signal, seed: int) -> SimulatedTable:
    """Return a table of ``shape.n`` rows whose classes follow ``signal``, with test rows."""
    drawn = generator(seed, purpose="planner rows")
    deviations = _deviations(shape.dim)
    coefficients = drawn.standard_normal(shape.dim) * deviations
    coefficients *= signal.spread / np.linalg.norm(coefficients * deviations)
    X = drawn.standard_normal((shape.n + _test_rows(shape.dim), shape.dim))
    X *= deviations
    chances = np.asarray(expit(X @ coefficients + signal.offset))
    _move_and_scale(X, _length(shape.dim))
    y = (drawn.random(len(X)) < chances).astype(np.int64)
    return SimulatedTable(X[: shape.n], y[: shape.n], X[shape.n :], y[shape.n :], chances[shape.n :])


def typical_variance(signal: Signal, dim: int) -> float:
    """Return the mean square of a coefficient for the scaled rows, which is a suitable C."""
    fourth = float((_deviations(dim) ** 4).sum())
    return (signal.spread * _length(dim)) ** 2 / ((1 - MEAN_SHARE) * dim * fourth)


def _test_rows(dim: int) -> int:
    return min(_TEST_ROWS, max(_TEST_ENTRIES // dim, 1000))


def _move_and_scale(rows: Floats, length: float) -> None:
    """Turn deviations into rows around the common mean, divided by ``length`` and clipped to norm 1, in place."""
    rows *= math.sqrt(1 - MEAN_SHARE) / length
    rows += math.sqrt(MEAN_SHARE / rows.shape[1]) / length
    rows /= np.maximum(1.0, np.sqrt(np.einsum("ij,ij->i", rows, rows)))[:, None]


def _deviations(dim: int) -> Floats:
    variances = np.arange(1.0, dim + 1) ** -DECAY
    return np.asarray(np.sqrt(variances / variances.sum()))


@lru_cache
def _length(dim: int) -> float:
    """Return the 90 % quantile of the norms of unscaled rows."""
    rows = generator(0, purpose="planner pilot").standard_normal((_PILOT_ROWS, dim)) * _deviations(dim)
    rows = math.sqrt(1 - MEAN_SHARE) * rows + math.sqrt(MEAN_SHARE / dim)
    return float(np.quantile(np.linalg.norm(rows, axis=1), _WITHIN))


def signal_of(shape: Shape) -> Signal:
    """Return the signal of a shape: by rule, or such that a model without privacy reaches ``shape.baseline``.

    Raises
    ------
    ParameterError
        If the rows are too few to reach the baseline, however easy the classes are.
    """
    return signal_for(shape) if shape.baseline is None else _signal_reaching(shape, shape.baseline)


def plain_accuracy(table: SimulatedTable, signal: Signal) -> float:
    """Return the accuracy of logistic regression without noise, regularized for the coefficient distribution."""
    from dperm.sklearn import PrivateLogisticRegression

    best = min(max(typical_variance(signal, table.X.shape[1]), 1e-3), 1e5)
    model = PrivateLogisticRegression(epsilon=np.inf, feature_norm=1.0, classes=(0, 1), C=best)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model.fit(table.X, table.y)
    return table.accuracy(model.predict(table.X_test))


@lru_cache(maxsize=256)
def plain_accuracies(shape: Shape, signal: Signal, seed: int, repeats: int) -> tuple[float, ...]:
    """Return the accuracies of models without noise on several tables."""
    trials = Trials(repeats, seed)
    return tuple(plain_accuracy(draw(shape, signal, trials.number("table", k)), signal) for k in range(repeats))


@lru_cache(maxsize=256)
def _signal_reaching(shape: Shape, baseline: float) -> Signal:
    """Return the signal for a baseline: raise the best accuracy by the loss of finite tables, a few times."""
    size, signal, errors = simulated_rows(shape, "plain"), signal_for(shape, baseline), 1 - baseline
    for _ in range(_CALIBRATION_ROUNDS):
        reached = fmean(plain_accuracies(size, signal, 0, _TABLES))
        if abs(reached - baseline) < min(_NEAR, (1 - baseline) / 5):
            return signal
        errors = max(errors * (1 - baseline) / (1 - reached), _FEWEST_ERRORS)
        signal = signal_for(shape, 1 - errors)
    if reached < baseline - _ENOUGH:
        raise _out_of_reach(shape, reached)
    return signal


def _out_of_reach(shape: Shape, reached: float) -> ParameterError:
    return ParameterError(
        argument="baseline",
        rule=f"must be within reach of {shape.n:,} records with {shape.dim:,} columns",
        got=f"{shape.baseline:g}",
        remedy=f"On synthetic data of that size, a model without privacy reaches about {reached:.3f}. Give a smaller "
        "baseline, more records or fewer columns.",
    )
