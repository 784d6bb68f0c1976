# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Logistic regression by the algorithms of Monteleoni's lecture and their corrections, with simulated noise (T30-T36b).

All algorithms draw noise with a density ~ e^{-||h||/s} and share the same draws h of scale 1, so that comparisons
between them do not depend on chance. NOT PRIVATE.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.erm.losses import Logistic
from dperm.erm.minimize import minimize
from dperm.erm.spec import ProblemSpec
from dperm.methods import ObjectivePerturbation, OutputPerturbation
from dperm.methods.literature import jmlr11
from dperm.noise.simulation import generator
from dperm.privacy import PureDP
from dperm.reproduce.spheres import SphereSample

CURVATURE = 0.25
"""Curvature of the logistic loss."""
TOLERANCE = 1e-3
"""Tolerance of the gradient of the summed loss, where one record's gradient is about 1; far below all noise here."""
STANDARD = "standard LR"
OUTPUT = "Algorithm 1"
PRINTED = "Algorithm 2 as printed"
JMLR = "JMLR 2011"
SHARP = "T36a"
OURS = "dperm"
PRIVATE = (OUTPUT, PRINTED, JMLR, SHARP, OURS)
"""Algorithms with noise."""


@dataclass(frozen=True)
class Task:
    """Learning task: n records, dimension, lambda for the mean loss, and the claimed epsilon under replace-one."""

    n: int
    dim: int
    regularization: float
    epsilon: float

    @property
    def strength(self) -> float:
        """Lambda = n lambda, for the sum of the losses."""
        return self.n * self.regularization

    def spec(self, strength: float | None = None) -> ProblemSpec:
        """Return the problem specification, with the task's Lambda or another value."""
        return ProblemSpec(Logistic(), 1.0, self.dim, n=self.n, regularization=strength or self.strength)


@dataclass(frozen=True)
class Noise:
    """Noise of an algorithm: its scale, its Lambda, and whether it is added to the objective or the output."""

    scale: float
    strength: float
    in_objective: bool = True


def least_strength(epsilon: float) -> float:
    """Return the Lambda at which the determinant costs half of epsilon; T36a raises smaller values to it."""
    return CURVATURE / math.expm1(epsilon / 2)


def _output(task: Task) -> Noise:
    plan = OutputPerturbation("gamma_norm").plan(task.spec(), PureDP(task.epsilon, "replace_one"))
    return Noise(plan.mechanism.scale, task.strength, in_objective=False)


def _printed(task: Task) -> Noise:
    return Noise(2 / task.epsilon, task.strength)


def _jmlr(task: Task) -> Noise:
    left, extra = jmlr11(task.n, task.regularization, task.epsilon, CURVATURE)
    return Noise(2 / left, task.strength + task.n * extra)


def _sharp(task: Task) -> Noise:
    strength = max(task.strength, least_strength(task.epsilon))
    return Noise(2 / (task.epsilon - math.log1p(CURVATURE / strength)), strength)


def _ours(task: Task) -> Noise:
    """Return the noise of dperm's plan: T36b where it holds, otherwise T36a."""
    spec = task.spec(max(task.strength, least_strength(task.epsilon)))
    plan = ObjectivePerturbation("gamma_norm").plan(spec, PureDP(task.epsilon, "replace_one"))
    return Noise(plan.linear_term.scale, spec.strength)


NOISES: dict[str, Callable[[Task], Noise]] = {
    OUTPUT: _output,
    PRINTED: _printed,
    JMLR: _jmlr,
    SHARP: _sharp,
    OURS: _ours,
}


def draws(count: int, dim: int, seed: int) -> Floats:
    """Return rows with density ~ e^{-||h||}: a uniform direction, and a length from Gamma(d, 1) (T7)."""
    random = generator(seed, purpose="gamma-norm noise of logistic regression")
    directions = random.standard_normal((count, dim))
    lengths = random.gamma(dim, size=(count, 1))
    return np.asarray(lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True))


def errors_of(
    task: Task, train: SphereSample, test: SphereSample, *, noise: Floats, algorithms: Sequence[str] = PRIVATE
) -> dict[str, Floats]:
    """Return the test errors of each algorithm for every row of ``noise``; one error without noise."""
    data = train.bounded()
    standard = minimize(data, task.spec(), TOLERANCE)

    def learnt(found: Noise, h: Floats) -> Floats:
        if not found.in_objective:
            return standard - found.scale * h  # b moves the minimizer against its own direction
        return minimize(data, task.spec(found.strength), TOLERANCE, linear=found.scale * h)

    errors = {STANDARD: np.array([test.error(standard)])}
    for name in algorithms:
        found = NOISES[name](task)
        errors[name] = np.array([test.error(learnt(found, h)) for h in noise])
    return errors
