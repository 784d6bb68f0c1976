# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a model without privacy reaches on made-up tables, and the signal with which it reaches a declared accuracy."""

import warnings
from functools import lru_cache

import numpy as np

from dperm.errors import NotPrivateWarning, ParameterError
from dperm.planner.rows import Sample, draw, typical_variance
from dperm.planner.shape import EASIEST, Shape
from dperm.planner.signal import Signal, signal_for
from dperm.planner.sizes import simulated_rows
from dperm.planner.trials import Trials

_ROUNDS = 5
_TABLES = 4


def signal_of(shape: Shape) -> Signal:
    """The signal of this shape: by rule, or such that a model without privacy reaches ``shape.baseline``.

    Raises
    ------
    ParameterError
        If so few rows cannot reach it, however easy the classes are.
    """
    return signal_for(shape) if shape.baseline is None else _reaching(shape, shape.baseline)


def made_up(shape: Shape, seed: int) -> Sample:
    """A made-up table of this shape, and more rows to be tested on."""
    return draw(shape, signal_of(shape), seed)


def plain_accuracy(sample: Sample, signal: Signal) -> float:
    """Of logistic regression without noise, regularised as the law of the coefficients asks for."""
    from dperm.sklearn import PrivateLogisticRegression

    best = min(max(typical_variance(signal, sample.X.shape[1]), 1e-3), 1e6)
    model = PrivateLogisticRegression(epsilon=np.inf, feature_norm=1.0, classes=(0, 1), C=best)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model.fit(sample.X, sample.y)
    return sample.accuracy(model.predict(sample.X_test))


@lru_cache(maxsize=256)
def plain_accuracies(shape: Shape, signal: Signal, seed: int, repeats: int) -> tuple[float, ...]:
    """The same on several tables."""
    trials = Trials(repeats, seed)
    return tuple(plain_accuracy(draw(shape, signal, trials.number("table", k)), signal) for k in range(repeats))


@lru_cache(maxsize=256)
def _reaching(shape: Shape, baseline: float) -> Signal:
    """What rows of this number lose against the best is added to the best that is aimed at, a few times over."""
    size = simulated_rows(shape, "plain")
    aim, signal = baseline, signal_for(shape, baseline)
    for _ in range(_ROUNDS):
        reached = float(np.mean(plain_accuracies(size, signal, 0, _TABLES)))
        aim += baseline - reached
        if aim >= 1 - (1 - EASIEST) / 10:
            raise _out_of_reach(shape, reached)
        signal = signal_for(shape, aim)
    return signal


def _out_of_reach(shape: Shape, reached: float) -> ParameterError:
    return ParameterError(
        f"baseline must be within reach of n={shape.n} rows with {shape.dim} columns, got {shape.baseline:g}: on "
        f"made-up data of that size a model without privacy reaches about {reached:.3f}. Give a smaller baseline, more "
        f"rows or fewer columns."
    )
