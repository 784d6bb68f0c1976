# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T46, E9: a mean over the sample's own size is not what the noise was planned for."""

import math

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.noise.simulation import generator
from dperm.reproduce.lessons.batch_size import LESSON, MULTIPLIER, OTHERS, RATE, ClippedStep, claimed, sizes


@pytest.fixture(scope="module")
def outcome():
    return quick_run(LESSON.name).outcome


def test_everything_that_was_to_be_shown_is_shown(outcome):
    assert [check.statement for check in outcome.checks if not check.holds] == []


def test_sizes_are_binomial():
    k = np.arange(len(sizes()))
    assert sizes().sum() == pytest.approx(1.0, rel=1e-9)
    assert sizes() @ k == pytest.approx(OTHERS * RATE, rel=1e-9)
    assert sizes()[1] == pytest.approx(OTHERS * RATE * (1 - RATE) ** (OTHERS - 1), rel=1e-9)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("record", [False, True])
def test_the_density_is_that_of_simulated_steps(own, record):
    """Samples of the others, the record of gradient -1 added, divided, with noise: mean and deviation."""
    step, draws = ClippedStep(own), 200_000
    random = generator(0, f"steps {own} {record}")
    k = random.binomial(OTHERS, RATE, draws)
    divisor = np.maximum(k + record, 1) if own else OTHERS * RATE
    outputs = (k - record) / divisor + MULTIPLIER / (OTHERS * RATE) * random.standard_normal(draws)
    weights = step.law(record) * (step.grid[1] - step.grid[0])
    mean = weights @ step.grid
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert mean == pytest.approx(outputs.mean(), abs=0.005)
    assert math.sqrt(weights @ (step.grid - mean) ** 2) == pytest.approx(outputs.std(), rel=0.01)


def test_the_claim_is_t22(outcome):  # psg_closed has q = .1; here q delta_GDP(ln(1 + (e^eps - 1)/q)) with q = .01
    assert claimed(1.0) == pytest.approx(2.732009261546483e-09, rel=1e-6)
    at = next(row for row in outcome.table.rows if row[0] == 1.0)
    assert at[3] == pytest.approx(6.3437e-4, rel=1e-3) and at[2] < at[1] < at[3]


def test_delta_falls_with_epsilon(outcome):
    for column in (1, 2, 3):
        deltas = [row[column] for row in outcome.table.rows]
        assert deltas == sorted(deltas, reverse=True)
