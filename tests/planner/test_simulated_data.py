# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Made-up tables have the shape that was declared, and the classes are as easy as was declared."""

import math
from statistics import fmean

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from dperm.errors import ParameterError
from dperm.planner import Shape, simulated_table
from dperm.planner.simulated_data import (
    MEAN_SHARE,
    REMOVED,
    Signal,
    draw,
    plain_accuracy,
    signal_for,
    signal_of,
)

SHAPES = [Shape(20_000, 5, balance=0.25), Shape(20_000, 1), Shape(20_000, 40, balance=0.9)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_has_the_declared_size_and_rows_within_the_norm(shape: Shape) -> None:
    sample = simulated_table(shape, 1)
    assert sample.X.shape == (shape.n, shape.dim)
    assert sample.X_test.shape[1] == shape.dim
    lengths = np.linalg.norm(sample.X, axis=1)
    assert lengths.max() <= 1 + 1e-12
    assert 0.87 < np.mean(lengths < 1 - 1e-12) < 0.93


@pytest.mark.parametrize("shape", SHAPES)
def test_the_share_of_a_class_is_the_declared_balance(shape: Shape) -> None:
    classes = simulated_table(shape, 2).y
    error = math.sqrt(shape.balance * (1 - shape.balance) / shape.n)
    assert abs(classes.mean() - shape.balance) < 4 * error


@pytest.mark.parametrize(("spread", "offset"), [(0.3, 0.0), (2.0, -1.5), (8.0, 5.0)])
def test_share_and_best_accuracy_are_the_integrals_that_they_stand_for(spread: float, offset: float) -> None:
    def mean(function: object) -> float:
        return quad(
            lambda x: function(offset + spread * x) * norm.pdf(x), -12, 12, limit=400, points=[-offset / spread]
        )[0]  # type: ignore[operator]

    signal = Signal(spread, offset)
    assert signal.share == pytest.approx(mean(expit), abs=1e-5)
    assert signal.best == pytest.approx(mean(lambda m: expit(abs(m))), abs=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_by_rule_the_best_model_avoids_a_share_of_the_errors(shape: Shape) -> None:
    signal = signal_for(shape)
    assert signal.share == pytest.approx(shape.balance, abs=1e-6)
    assert (1 - signal.best) == pytest.approx((1 - REMOVED) * (1 - shape.majority), abs=1e-6)


def test_nobody_predicts_better_than_the_best() -> None:
    shape = Shape(4000, 5, balance=0.3)
    signal = signal_for(shape)
    scores = [plain_accuracy(draw(shape, signal, seed), signal) for seed in range(6)]
    assert signal.best - 0.02 < fmean(scores) < signal.best + 0.004


@pytest.mark.parametrize(
    "shape", [Shape(500, 5, baseline=0.7), Shape(1500, 20, balance=0.2, baseline=0.88), Shape(200, 20, baseline=0.85)]
)
def test_a_model_without_privacy_reaches_the_declared_baseline(shape: Shape) -> None:
    signal = signal_of(shape)
    scores = [plain_accuracy(draw(shape, signal, seed), signal) for seed in range(100, 116)]
    error = np.std(scores, ddof=1) / math.sqrt(len(scores))
    assert abs(fmean(scores) - shape.baseline) < 0.004 + 4 * error


def test_a_baseline_that_so_few_rows_cannot_reach_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^baseline must be within reach of 12 records"):
        simulated_table(Shape(12, 50, baseline=0.99), 0)


def test_the_mean_row_is_as_long_as_stated() -> None:
    rows = draw(Shape(20_000, 30), Signal(1.0, 0.0), 3).X
    inner = float(rows.mean(axis=0) @ rows.mean(axis=0))
    assert inner / np.mean(np.sum(rows**2, axis=1)) == pytest.approx(MEAN_SHARE, abs=0.03)


def test_a_seed_determines_a_table_and_another_seed_another() -> None:
    first, again, other = (simulated_table(SHAPES[0], seed) for seed in (5, 5, 6))
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


def test_accuracy_is_that_of_the_known_chances() -> None:
    sample = simulated_table(SHAPES[0], 7)
    assert sample.accuracy(np.zeros(len(sample.chances), dtype=np.int64)) == pytest.approx(1 - sample.chances.mean())
    labels = sample.accuracy((sample.chances > 0.5).astype(np.int64))
    drawn = np.mean((sample.chances > 0.5) == (sample.y_test == 1))
    assert abs(labels - drawn) < 4 * 0.5 / math.sqrt(len(sample.y_test))
