# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a model without privacy reaches on made-up tables, and the signal with which it reaches a declared accuracy."""

import warnings
from functools import lru_cache
from statistics import fmean

import numpy as np

from dperm.errors import NotPrivateWarning, ParameterError
from dperm.planner.rows import Sample, draw, typical_variance
from dperm.planner.shape import Shape
from dperm.planner.signal import Signal, signal_for
from dperm.planner.sizes import simulated_rows
from dperm.planner.trials import Trials

_ROUNDS = 5
_TABLES = 4
_FEWEST_ERRORS = 1e-4
_NEAR = 0.001
_ENOUGH = 0.003


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

    best = min(max(typical_variance(signal, sample.X.shape[1]), 1e-3), 1e5)
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
    """The best accuracy is raised by what so many rows lose against it, a few times over."""
    size, signal, errors = simulated_rows(shape, "plain"), signal_for(shape, baseline), 1 - baseline
    for _ in range(_ROUNDS):
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
        rule=f"must be within reach of {shape.n:,} rows with {shape.dim:,} columns",
        got=f"{shape.baseline:g}",
        remedy=f"On made-up data of that size, a model without privacy reaches about {reached:.3f}. Give a smaller "
        "baseline, more rows or fewer columns.",
    )
