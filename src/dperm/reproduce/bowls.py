# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bowl-shaped losses on which output perturbation is as bad as its bounds permit.

The loss of a linear model has curvature in one direction per record, so the total curvature of the mean loss is at most
c, and noise of standard deviation sigma on each coefficient costs (c/2) sigma^2, not (c/2) d sigma^2. Here the loss of
a record has curvature, or a kink, in d/2 directions at once. In the other directions the loss becomes flatter from one
to the next, and the regularizer shrinks the minimizer.

All n records are equal. This is permitted, because the bounds hold for every data set and the noise is calibrated to
the worst neighbour.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy import ApproxDP
from dperm.privacy.gaussian_profile import mu_for
from dperm.theory import LearningProblem, output_empirical_risk

SCALES = 8


@dataclass(frozen=True)
class Bowl:
    """Loss with L = 1, c = 1 and R0 = 1: half of the directions are steep, the others have the curvatures `flat`.

    In the steep directions the minimum is at 0 and the loss has curvature 1, or a kink with ``kink``. In the flat
    directions the minimum is at distance 1 from 0. The loss is linear beyond distance 1 (Huber loss).
    """

    dim: int
    kink: bool = False

    @property
    def half(self) -> int:
        """Number of steep directions, equal to the number of flat ones."""
        return self.dim // 2

    @property
    def flat(self) -> Floats:
        """Curvatures of the flat directions: eight scales, each a third of the previous one."""
        return np.repeat(0.5 * 3.0 ** -np.arange(SCALES), self.half // SCALES)

    def minimizer(self, strength: float) -> Floats:
        """Return the minimizer of the loss + (lambda/2) ||theta||^2, with lambda = ``strength`` (for the mean loss)."""
        curvatures = self._weight * self.flat
        held_back = curvatures / (curvatures + strength) / math.sqrt(self.half)
        return np.concatenate([np.zeros(self.half), held_back])

    def excess(self, theta: Floats) -> Floats:
        """Return the excess loss; the minimum of the loss is 0."""
        steep, flat = theta[..., : self.half], theta[..., self.half :] - 1 / math.sqrt(self.half)
        squares = self.flat * flat * flat
        if self.kink:
            kinked = np.linalg.norm(steep, axis=-1) + _huber(np.sqrt(squares.sum(axis=-1)))
            return np.asarray(self._weight * kinked)
        return _huber(np.sqrt((steep * steep).sum(axis=-1) + squares.sum(axis=-1)))

    @property
    def _weight(self) -> float:
        """Weight that keeps the Lipschitz constant at 1: two parts of slope 1 have slope sqrt(2) together."""
        return math.sqrt(0.5) if self.kink else 1.0


def _huber(distance: Floats) -> Floats:
    return np.asarray(np.where(distance <= 1, distance * distance / 2, distance - 0.5))


@dataclass(frozen=True)
class PerturbedBowl:
    """Output perturbation on a `Bowl` with n records, at the lambda with the smallest bound.

    Attributes
    ----------
    bowl
        Loss function.
    strength
        Regularization strength lambda, for the mean of the losses.
    bound
        (lambda/4) R0^2 + (c/2) E ||eta||^2 (T56a), or with a kink (lambda/4) R0^2 + L sqrt(E ||eta||^2): the
        same bias, and a loss that rises by at most L for each unit of noise.
    deviation
        Standard deviation of the noise on each coefficient, 2L/(n lambda mu) (T30, T32; T30 also holds for kinks).
    """

    bowl: Bowl
    strength: float
    bound: float
    deviation: float

    def excess(self, repeats: int, seed: int) -> float:
        """Return the mean excess loss over ``repeats`` draws of the noise."""
        coins = generator(seed, purpose=f"noise on a bowl {self!r}")
        noise = self.deviation * coins.standard_normal((repeats, self.bowl.dim))
        return float(self.bowl.excess(self.bowl.minimizer(self.strength) + noise).mean())


def perturbed(bowl: Bowl, n: int, goal: ApproxDP) -> PerturbedBowl:
    """Return output perturbation on a bowl, at the lambda with the smallest bound."""
    step = 2 / (n * mu_for(goal.epsilon, goal.delta))  # deviation = step/lambda
    if bowl.kink:
        strength = 2 * math.sqrt(step * math.sqrt(bowl.dim))
        return PerturbedBowl(bowl, strength, strength / 2, step / strength)
    constants = LearningProblem(bowl.dim, 1.0, 1.0, 1.0)
    risk = output_empirical_risk(constants, n, epsilon=goal.epsilon, delta=goal.delta, adjacency=goal.adjacency)
    strength = risk.regularization / n
    return PerturbedBowl(bowl, strength, risk.bound, step / strength)
