# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Repeated runs of output, objective and gradient perturbation on `Categories`, with the noise scale of dperm's plans.

The noise is simulated in floating point: NOT PRIVATE. Its scale includes the plans' allowance for rounding and for the
tolerance of the solver. The small second noise of objective perturbation (T43) is left out, because these minimizers
are exact.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.methods import GradientPerturbation, ObjectivePerturbation, OutputPerturbation
from dperm.noise.simulation import generator
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.gaussian_profile import mu_for
from dperm.reproduce.categories import SMOOTHNESS, Categories


@dataclass(frozen=True)
class RepeatedRuns:
    """Repetitions of a method on one data set, or on one data set per repetition.

    Attributes
    ----------
    data
        Records.
    goal
        Guarantee: Gaussian noise for ApproxDP, gamma-norm noise for PureDP.
    repeats
        Number of repetitions.
    seed
        Seed of the noise; methods and numbers of records have separate streams.
    """

    data: Categories
    goal: ApproxDP | PureDP
    repeats: int
    seed: int

    def output(self, regularization: float) -> Floats:
        """Return coefficients of output perturbation (T30, T32), one row per repetition."""
        plan = OutputPerturbation(self._law).plan(self.data.spec(regularization), self.goal)
        return self.data.minimizer(regularization) + self._noise(plan.mechanism.scale, "output")

    def objective(self, regularization: float) -> Floats:
        """Return coefficients of objective perturbation (T36a, T41), one row per repetition."""
        plan = ObjectivePerturbation(self._law).plan(self.data.spec(regularization), self.goal)
        return self.data.minimizer(regularization, self._noise(plan.linear_term.scale, "objective"))

    def descent(self, steps: int) -> Floats:
        """Return the last iterates of DP gradient descent, with steps of size 1/c in the ball of the optimum (T45)."""
        plan = GradientPerturbation(steps=steps).plan(self.data.spec(), self.goal)
        scale, radius = plan.mechanism.scale, self.data.problem.reference_norm
        theta = np.zeros((self.repeats, self.data.dim))
        coins = generator(self.seed, purpose=f"descent, {self.data.n:g} records, {self.data.dim}")
        for _ in range(steps):
            slopes = self.data.gradient(theta) + scale * coins.standard_normal(theta.shape)
            theta = theta - slopes / (SMOOTHNESS * self.data.n)
            theta *= np.minimum(1, radius / np.linalg.norm(theta, axis=1, keepdims=True))
        return theta

    @property
    def _law(self) -> str:
        return "gaussian" if isinstance(self.goal, ApproxDP) else "gamma_norm"

    def _noise(self, scale: float, method: str) -> Floats:
        """Return Gaussian noise, or noise with a gamma-distributed length and a uniform direction (T7)."""
        coins = generator(self.seed, purpose=f"{method} perturbation, {self.data.n:g} records, {self.data.dim}")
        normal = coins.standard_normal((self.repeats, self.data.dim))
        if self._law == "gaussian":
            return scale * normal
        lengths = coins.gamma(self.data.dim, scale, self.repeats)
        return np.asarray(normal * (lengths / np.linalg.norm(normal, axis=1))[:, np.newaxis])


def descent_steps(data: Categories, goal: ApproxDP) -> int:
    """Return the number of steps of size 1/c at which optimization error and cost of the noise are about equal.

    T steps leave an error of at most c R0^2/(2 T). Their noise, sqrt(T) 2L/(n mu) in each of d directions, costs at
    most (d/c) (2L/(n mu))^2 T/2. Both are equal at T = c R0 n mu/(2 L sqrt(d)).
    """
    problem = data.problem
    reach = SMOOTHNESS * problem.reference_norm * data.n * mu_for(goal.epsilon, goal.delta)
    return max(1, math.ceil(reach / (2 * math.sqrt(problem.dim))))
