# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Optimizers against their formulas, written out for one coefficient at a time."""

import math

import numpy as np
import pytest

from dperm.errors import ParameterError
from dperm.methods.descent import DescentSettings, descend
from dperm.methods.optimizers import Adam, AdamW, Momentum, Optimizer, Schedule

STEPS = 12
TARGET = np.array([1.0, -2.0, 0.5])
CURVES = np.array([1.0, 0.3, 4.0])


def gradients(theta: np.ndarray) -> np.ndarray:
    return CURVES * (theta - TARGET)


def run_optimizer(optimizer: Optimizer, steps: int = STEPS) -> np.ndarray:
    """All iterates from 0 along the gradients of a quadratic."""
    walk, theta, seen = optimizer.start(3, steps), np.zeros(3), []
    for _ in range(steps):
        theta = walk.step(theta, gradients(theta))
        seen.append(theta.copy())
    return np.array(seen)


def shares(schedule: str) -> list[float]:
    if schedule == "constant":
        return [1.0] * STEPS
    if schedule == "linear":
        return [(STEPS - t) / STEPS for t in range(STEPS)]
    return [math.cos(math.pi * t / (2 * STEPS)) ** 2 for t in range(STEPS)]


def heavy_ball(eta: float, m: float, schedule: str) -> np.ndarray:
    """Column by column: theta_{t+1} = theta_t - eta_t sum_s m^(t-s) g_s."""
    columns = []
    for curve, target in zip(CURVES, TARGET, strict=True):
        theta, past, seen = 0.0, [], []
        for t, share in enumerate(shares(schedule)):
            past.append(curve * (theta - target))
            theta -= eta * share * sum(m ** (t - s) * g for s, g in enumerate(past))
            seen.append(theta)
        columns.append(seen)
    return np.array(columns).T


def adam(eta: float, b1: float, b2: float, stable: float, decay: float, schedule: str) -> np.ndarray:
    """Column by column, with the running means as weighted sums over all of the past (Kingma and Ba, equation 1)."""
    columns = []
    for curve, target in zip(CURVES, TARGET, strict=True):
        theta, past, seen = 0.0, [], []
        for t, share in enumerate(shares(schedule)):
            past.append(curve * (theta - target))
            weights1, weights2 = ([b ** (t - s) for s in range(t + 1)] for b in (b1, b2))
            mean = sum(w * g for w, g in zip(weights1, past, strict=True)) / sum(weights1)
            square = sum(w * g * g for w, g in zip(weights2, past, strict=True)) / sum(weights2)
            theta -= eta * share * (mean / (math.sqrt(square) + stable) + decay * theta)
            seen.append(theta)
        columns.append(seen)
    return np.array(columns).T


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("m", [0.0, 0.9])
def test_momentum(m, schedule):
    assert run_optimizer(Momentum(0.1, m, schedule)) == pytest.approx(heavy_ball(0.1, m, schedule), rel=1e-12)


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_adam_and_adamw(schedule):
    plain = adam(0.2, 0.8, 0.95, 0.01, 0.0, schedule)
    assert run_optimizer(Adam(0.2, 0.8, 0.95, 0.01, schedule)) == pytest.approx(plain, rel=1e-10)
    decayed = adam(0.2, 0.8, 0.95, 0.01, 0.5, schedule)
    assert run_optimizer(AdamW(0.2, 0.8, 0.95, 0.01, 0.5, schedule)) == pytest.approx(decayed, rel=1e-10)
    assert np.abs(plain - decayed).max() > 0.05


def test_the_first_step_of_adam_has_the_step_size_in_every_coordinate():
    """Whatever the gradients' scale: without its bias, m / sqrt(v) is 1 at first."""
    first = run_optimizer(Adam(0.3), 1)[0]
    assert first == pytest.approx(0.3 * np.sign(TARGET), rel=1e-6)


def test_momentum_walks_as_the_descent_of_gradient_perturbation_does():
    """Without a projection the velocity is the last difference over -eta: two formulas of the same heavy ball."""
    found = run_optimizer(Momentum(0.05, 0.9), 40)
    assert found[-1] == pytest.approx(descend(gradients, DescentSettings(40, 0.05, 0.9, 0.0), 3), rel=1e-10)


@pytest.mark.parametrize("optimizer", [Momentum(0.2, 0.5), Adam(0.05), AdamW(0.05, decay=0.0)], ids=repr)
def test_they_find_a_minimum(optimizer):
    assert run_optimizer(optimizer, 600)[-1] == pytest.approx(TARGET, abs=1e-2)


@pytest.mark.parametrize("optimizer", [Momentum(0.2, 0.5), Adam(0.05), AdamW(0.05)], ids=repr)
def test_every_start_is_anew(optimizer):
    """A rule is frozen; what a walk remembers is its own."""
    assert (run_optimizer(optimizer) == run_optimizer(optimizer)).all()
    assert isinstance(optimizer, Optimizer)


def test_schedules_begin_whole_and_end_near_0():
    for schedule in Schedule:
        assert schedule.share(0, 100) == 1.0
    assert Schedule.LINEAR.share(99, 100) == pytest.approx(0.01)
    assert 0 < Schedule.COSINE.share(99, 100) < 0.001


def test_numbers_are_those_of_the_rule():
    assert Momentum(0.1, 0.9).numbers == {
        "name": "Momentum",
        "step_size": 0.1,
        "momentum": 0.9,
        "schedule": "constant",
    }
    assert AdamW(0.1, schedule="cosine").numbers["schedule"] == "cosine"
    assert set(AdamW(0.1).numbers) == {"name", "step_size", "beta1", "beta2", "stable", "decay", "schedule"}


@pytest.mark.parametrize(
    ("rule", "name", "value"),
    [
        (Momentum, "step_size", 0.0),
        (Momentum, "momentum", 1.0),
        (Momentum, "schedule", "warm"),
        (Adam, "step_size", math.inf),
        (Adam, "beta1", 1.0),
        (Adam, "beta2", -0.1),
        (Adam, "stable", 0.0),
        (AdamW, "decay", -1.0),
        (AdamW, "schedule", None),
    ],
)
def test_nonsense_is_refused_by_name(rule, name, value):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        rule(**{"step_size": 0.1, name: value})
