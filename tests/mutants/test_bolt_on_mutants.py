# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of bolt-on descent, each against an assertion of tests/attacks that fails on it (T33, T34, E34)."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dperm.erm.losses import Logistic
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.methods import bolt_on
from dperm.methods.bolt_on import BoltOn


def attack(name: str) -> ModuleType:
    """The file of this name in tests/attacks, for its assertions."""
    path = Path(__file__).parents[1] / "attacks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


attacks = attack("test_bolt_on_privacy")


def bolted(module: ModuleType) -> Any:
    """`BoltOn` with the parts of a mutant, as a context."""
    context = pytest.MonkeyPatch()
    for name in ("StoppedDescent", "last_iterate", "rounding_error", "sensitivity"):
        context.setattr(bolt_on, name, getattr(module, name))
    return context


def runs_stay_within(module: ModuleType) -> None:
    context = bolted(module)
    try:
        for plan in (
            BoltOn(3, 10).plan(attacks.straight(20), attacks.GOAL),
            BoltOn(2, 3, step_size=1e-4).plan(attacks.straight(7, strength=None), attacks.GOAL),
            BoltOn(3, 5, step_size=1e-5).plan(attacks.straight(20), attacks.GOAL),
            BoltOn(3, "full", step_size=1e-5).plan(attacks.straight(20), attacks.GOAL),
            BoltOn(50, "full").plan(attacks.straight(20), attacks.GOAL),
        ):
            assert attacks.shares(plan).max() <= 1
    finally:
        context.undo()


def curved_runs_stay_within(module: ModuleType) -> None:
    """Squares, far from straight; gamma a hundredth of beta: steps 1/(gamma t) alone would expand at first."""
    context = bolted(module)
    try:
        spec = ProblemSpec(Squared(), 1.0, 2, n=20, regularization=0.2, clip=10.0)
        plan, rng = BoltOn(1, 2).plan(spec, attacks.GOAL), np.random.default_rng(93)
        found = [
            attacks.distance(plan, attacks.neighbours(spec, attacks.SPACES["norm"], rng), seed) for seed in range(30)
        ]
        assert max(found) <= attacks.allowed(plan)
    finally:
        context.undo()


def rounding_is_bounded(module: ModuleType) -> None:
    context = bolted(module)
    try:
        spec = ProblemSpec(Logistic(), 1.0, 3, n=200, regularization=1.0)
        plan = BoltOn(10, 37).plan(spec, attacks.GOAL)
        assert attacks.rounded_away(plan) <= plan.mechanism.statistic.numerical_error
    finally:
        context.undo()


def plans_stay_within(module: ModuleType) -> None:
    plan = module.BoltOn(3, 10).plan(attacks.straight(20), attacks.GOAL)
    assert attacks.shares(plan).max() <= 1
    attacks.assert_noise_is_added(plan, 3)
    spec = ProblemSpec(Logistic(), 1.0, 3, n=200, regularization=1.0)
    plan = module.BoltOn(10, 37).plan(spec, attacks.GOAL)
    assert attacks.rounded_away(plan) <= plan.mechanism.statistic.numerical_error


DESCENT = {
    "the batch divides once more (E34)": (
        runs_stay_within,
        "decreasing_step_sensitivity(\n            descent.run,",
        "decreasing_step_sensitivity(\n            replace(descent.run, records=20 * descent.run.batch),",
    ),
    "a smaller batch has a smaller divisor": (
        runs_stay_within,
        "gradient(theta, places) / descent.run.batch",
        "gradient(theta, places) / (descent.run.batch if places is None else len(places))",
    ),
    "gradients are not divided": (
        runs_stay_within,
        "gradient(theta, places) / descent.run.batch",
        "gradient(theta, places)",
    ),
    "updates do not shrink": (runs_stay_within, " + descent.strong_convexity * theta\n", "\n"),
    "steps have no largest": (
        curved_runs_stay_within,
        "min(1 / self.smoothness, 1 / (self.strong_convexity * update))",
        "1 / (self.strong_convexity * update)",
    ),
    "arithmetic is exact": (rounding_is_bounded, "    return total\n", "    return 0.0\n"),
}
METHOD = {
    "the iterate is released as it is": (
        plans_stay_within,
        "return self.mechanism.noisy(self.stopped(data, stream), stream)",
        "return self.stopped(data, stream)",
    ),
    "rounding is forgotten": (plans_stay_within, ", rounding_error(descent, spec)", ", 0.0"),
    "L of the mean": (
        plans_stay_within,
        "found = StoppedDescent(run, spec.lipschitz,",
        "found = StoppedDescent(run, spec.lipschitz / records,",
    ),
}


@pytest.mark.parametrize("name", DESCENT)
def test_unsafe_mutants_of_the_descent_are_killed(name, assert_killed):
    check, old, new = DESCENT[name]
    assert_killed(check, bolt_on.__name__, old, new)


@pytest.mark.parametrize("name", METHOD)
def test_unsafe_mutants_of_the_method_are_killed(name, assert_killed):
    check, old, new = METHOD[name]
    assert_killed(check, bolt_on.__name__, old, new)
