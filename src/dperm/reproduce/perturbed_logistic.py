# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Logistic regression by the algorithms of Monteleoni's lecture and their corrections, with simulated noise (T30-T36b).

All of them draw noise of a density ~ e^{-||h||/s}, so one draw h of scale 1 serves for all: what is compared are the
algorithms, not their luck. NOT PRIVATE.
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
from dperm.reproduce.spheres import Sample

CURVATURE = 0.25
"""Of the logistic loss."""
TOLERANCE = 1e-3
"""Of the gradient, in sum scale, where one record's is about 1: far below any noise here."""
STANDARD = "standard LR"
OUTPUT = "Algorithm 1"
PRINTED = "Algorithm 2 as printed"
JMLR = "JMLR 2011"
SHARP = "T36a"
OURS = "dperm"
PRIVATE = (OUTPUT, PRINTED, JMLR, SHARP, OURS)
"""Those with noise, as columns of a table."""


@dataclass(frozen=True)
class Task:
    """n records in so many dimensions, learnt with lambda in mean scale and a claim of epsilon, one being replaced."""

    n: int
    dim: int
    regularization: float
    epsilon: float

    @property
    def strength(self) -> float:
        """Lambda = n lambda."""
        return self.n * self.regularization

    def spec(self, strength: float | None = None) -> ProblemSpec:
        """The problem, with its own Lambda or another."""
        return ProblemSpec(Logistic(), 1.0, self.dim, n=self.n, regularization=strength or self.strength)


@dataclass(frozen=True)
class Noise:
    """How large the noise of an algorithm is, where it goes, and with which Lambda."""

    scale: float
    strength: float
    in_objective: bool = True


def least_strength(epsilon: float) -> float:
    """The Lambda of which the determinant costs half of epsilon: T36a raises any below it."""
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
    """The plan of dperm: T36b where that holds, else T36a."""
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
    """Rows of density ~ e^{-||h||}: a uniform direction, and a length from Gamma(d, 1) (T7)."""
    random = generator(seed, purpose="gamma-norm noise of logistic regression")
    directions = random.standard_normal((count, dim))
    lengths = random.gamma(dim, size=(count, 1))
    return np.asarray(lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True))


def errors_of(
    task: Task, train: Sample, test: Sample, *, noise: Floats, algorithms: Sequence[str] = PRIVATE
) -> dict[str, Floats]:
    """Of each algorithm, the test error with every row of ``noise``; of the one without noise, once."""
    data = train.bounded()
    standard = minimize(data, task.spec(), TOLERANCE)

    def learnt(found: Noise, h: Floats) -> Floats:
        if not found.in_objective:
            return standard - found.scale * h  # as b moves the minimiser against its own direction
        return minimize(data, task.spec(found.strength), TOLERANCE, linear=found.scale * h)

    errors = {STANDARD: np.array([test.error(standard)])}
    for name in algorithms:
        found = NOISES[name](task)
        errors[name] = np.array([test.error(learnt(found, h)) for h in noise])
    return errors
