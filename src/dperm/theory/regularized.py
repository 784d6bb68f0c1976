# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the bounds for output and objective perturbation share (T57, T56a): their terms, and the best Lambda."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dperm import checks
from dperm.errors import AssumptionError
from dperm.privacy.rounding import raised
from dperm.theory.noise_size import (
    Goal,
    check_unclipped_logistic,
    epsilon_left,
    free_regularization,
    least_regularization,
    objective_noise_square,
    output_noise_square,
)
from dperm.theory.results import ExcessRisk, LearningProblem, checked_problem, constant
from dperm.theory.search import minimizer


@dataclass(frozen=True)
class Weights:
    """The factors of a bound's terms (lambda = Lambda/n).

    Attributes
    ----------
    bias
        Of lambda R0^2.
    stability
        Of L^2/(lambda n).
    noise
        Of E ||b||^2/(lambda n^2), objective perturbation. Noise on the output costs (c/2) E ||eta||^2 in every bound.
    """

    bias: float
    stability: float
    noise: float


POPULATION = Weights(bias=0.5, stability=2.0, noise=0.5)
EMPIRICAL = Weights(bias=0.25, stability=0.0, noise=0.25)


@dataclass(frozen=True)
class Regularized:
    """A bound on the excess risk of a perturbed minimiser, as a function of Lambda (sum scale)."""

    problem: LearningProblem
    n: int
    goal: Goal
    weights: Weights
    unclipped_logistic: bool = False

    def __post_init__(self) -> None:
        """Check what the user gave."""
        checked_problem(self.problem)
        object.__setattr__(self, "n", checks.count("n", self.n))
        check_unclipped_logistic(self.goal, self.unclipped_logistic)

    def output(self, regularization: float | None) -> ExcessRisk:
        """The bound for output perturbation, at the best Lambda for None."""
        if regularization is not None:
            return self._output(constant("regularization", regularization))
        # the minimiser of bias + stability, and that of bias + noise: the sum of all three has its own above both
        still = math.sqrt(self._fall / self._rise)
        loud = math.cbrt(2 * self._output(1.0).noise / self._rise)
        return self._output(self._best(self._output, max(still, loud), reference=max(still, loud)))

    def objective(self, regularization: float | None) -> ExcessRisk:
        """The bound for objective perturbation, at the best Lambda for None.

        Raises
        ------
        AssumptionError
            If the given ``regularization`` leaves no epsilon for the noise (T36a).
        """
        if regularization is not None:
            return self._admissible(self._objective(constant("regularization", regularization)))
        least_noise = self.weights.noise * objective_noise_square(self.problem, self.goal, self.goal.epsilon) / self.n
        free = math.sqrt((self._fall + least_noise) / self._rise)
        low = max(free, least_regularization(self.problem, self.goal.epsilon))
        # at half of epsilon for the determinant the bound is finite
        reference = max(free, least_regularization(self.problem, self.goal.epsilon / 2))
        found = self._objective(self._best(self._objective, low, reference=reference))
        return min([found, *self._where_it_jumps()], key=lambda risk: risk.bound)

    @property
    def _rise(self) -> float:
        """The bias over Lambda."""
        return self.weights.bias * self.problem.reference_norm * self.problem.reference_norm / self.n

    @property
    def _fall(self) -> float:
        """The stability term times Lambda."""
        return self.weights.stability * self.problem.lipschitz * self.problem.lipschitz

    def _output(self, regularization: float) -> ExcessRisk:
        square = output_noise_square(self.problem, regularization, self.goal)
        return self._sum(regularization, raised(self.problem.smoothness / 2 * square, 4))

    def _objective(self, regularization: float) -> ExcessRisk:
        left = epsilon_left(self.problem, regularization, self.goal, unclipped_logistic=self.unclipped_logistic)
        square = objective_noise_square(self.problem, self.goal, left)
        return self._sum(regularization, raised(self.weights.noise * square / (self.n * regularization), 8))

    def _sum(self, regularization: float, noise: float) -> ExcessRisk:
        bias, stability = raised(regularization * self._rise, 8), raised(self._fall / regularization, 4)
        return ExcessRisk(raised(bias + stability + noise, 4), regularization, bias, stability, noise)

    def _best(self, risk: Callable[[float], ExcessRisk], low: float, *, reference: float) -> float:
        """The best Lambda, which lies between ``low`` and bound(reference)/rise: beyond, the bias alone is larger."""
        return minimizer(lambda point: risk(point).bound, low, risk(reference).bound / self._rise)

    def _where_it_jumps(self) -> list[ExcessRisk]:
        """The bound of unclipped logistic loss falls at once where the determinant costs nothing (T36b)."""
        jumps = self.unclipped_logistic
        return [self._objective(free_regularization(self.problem, self.goal))] if jumps else []

    def _admissible(self, risk: ExcessRisk) -> ExcessRisk:
        if math.isinf(risk.bound):
            raise AssumptionError(
                f"objective perturbation needs log(1 + smoothness/regularization) < epsilon (T36a), got "
                f"regularization={risk.regularization!r} with epsilon={self.goal.epsilon!r}. Give one above "
                f"{least_regularization(self.problem, self.goal.epsilon):.6g}, or None for the best."
            )
        return risk
