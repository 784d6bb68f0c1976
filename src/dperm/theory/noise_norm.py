# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Size of the noise for a guarantee, and its cost in empirical risk (T6, T7, T36a, T40, T41, T56, T58); rounded up."""

import math
from dataclasses import dataclass

from dperm import checks
from dperm.errors import AssumptionError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.gaussian_profile import delta_bracket, mu_for
from dperm.privacy.rounding import lowered, raised
from dperm.theory.results import LearningProblem, constant, gradients_exchanged, positive_epsilon

_NEAR = 1e-12


@dataclass(frozen=True)
class Goal:
    """Guarantee of the noise: pure with gamma-norm noise for delta = 0, Gaussian otherwise."""

    epsilon: float
    delta: float
    adjacency: Adjacency

    @classmethod
    def of(cls, epsilon: float, delta: float, adjacency: Adjacency | str) -> "Goal":
        """Return a goal with checked numbers."""
        return cls(positive_epsilon("epsilon", epsilon), checks.small_delta("delta", delta), Adjacency.of(adjacency))

    @property
    def gradients(self) -> int:
        """Number of gradients of norm L in which neighbours differ: 2 under replace_one, 1 under add_remove (T30)."""
        return gradients_exchanged(self.adjacency)


def pure_noise_square(dim: int, sensitivity: float, epsilon: float) -> float:
    """Return E ||eta||^2 of gamma-norm noise (T7): d (d + 1) (Delta/eps)^2."""
    scale = sensitivity / epsilon
    return raised(dim * (dim + 1) * scale * scale, 16)


def gaussian_noise_square(dim: int, sensitivity: float, mu: float) -> float:
    """Return E ||eta||^2 of Gaussian noise (T6): d (Delta/mu)^2."""
    scale = sensitivity / mu
    return raised(dim * scale * scale, 16)


def output_noise_square(problem: LearningProblem, regularization: float, goal: Goal) -> float:
    """Return E ||eta||^2 of output perturbation (T7, T6), with the sensitivity 2L/Lambda or L/Lambda (T30)."""
    sensitivity = raised(goal.gradients * problem.lipschitz / regularization, 2)
    if goal.delta == 0:
        return pure_noise_square(problem.dim, sensitivity, goal.epsilon)
    return gaussian_noise_square(problem.dim, sensitivity, mu_for(goal.epsilon, goal.delta))


def objective_noise_square(problem: LearningProblem, goal: Goal, epsilon: float) -> float:
    """Return E ||b||^2 of objective perturbation with ``epsilon`` left after the determinant.

    Pure: the gamma-norm noise of T36a. Gaussian: T40 under add_remove, T41(b) under replace_one; both are for monotone
    losses (logistic, hinge types).
    """
    if epsilon <= 0:
        return math.inf
    if goal.delta == 0:
        return pure_noise_square(problem.dim, goal.gradients * problem.lipschitz, epsilon)
    if goal.adjacency is Adjacency.ADD_REMOVE:
        return gaussian_noise_square(problem.dim, problem.lipschitz, mu_for(epsilon, goal.delta))
    return gaussian_noise_square(problem.dim, problem.lipschitz, replaced_mu(epsilon, goal.delta))


def epsilon_left(problem: LearningProblem, regularization: float, goal: Goal, *, unclipped_logistic: bool) -> float:
    """Return the epsilon left by the determinant, eps - log(1 + c/Lambda) (T36a), rounded down; 0 if none is left.

    Unclipped logistic loss with pure noise pays nothing once Lambda >= k R^2/eps, k = 1 or 2 (T36b).
    """
    if unclipped_logistic and regularization >= free_regularization(problem, goal):
        return goal.epsilon
    charge = raised(math.log1p(raised(problem.smoothness / regularization, 2)), 8)
    return lowered(goal.epsilon - charge, 2) if charge < goal.epsilon else 0.0


def least_regularization(problem: LearningProblem, epsilon: float) -> float:
    """Return the Lambda at which the determinant takes ``epsilon`` (T36a), rounded up: c/(e^eps - 1)."""
    return raised(problem.smoothness * math.exp(-epsilon) / -math.expm1(-epsilon), 16)


def free_regularization(problem: LearningProblem, goal: Goal) -> float:
    """Return the least Lambda at which unclipped logistic loss pays nothing for the determinant (T36b): k R^2/eps.

    R = L for logistic loss; the larger of L^2 and 4c is taken.
    """
    square = max(problem.lipschitz * problem.lipschitz, 4 * problem.smoothness)
    return raised(goal.gradients * square / goal.epsilon, 16)


def check_unclipped_logistic(goal: Goal, unclipped_logistic: bool) -> None:
    """Refuse ``unclipped_logistic`` with delta > 0: T36b is about gamma-norm noise."""
    if unclipped_logistic and goal.delta > 0:
        raise AssumptionError(
            f"{arg('unclipped_logistic', True)} is proved for pure guarantees (T36b), got "
            f"{arg('delta', repr(goal.delta))}.",
            remedy=f"Leave it out, or set {arg('delta', 0.0)}.",
        )


def replaced_mu(epsilon: float, delta: float) -> float:
    """Return the largest m = L/sigma with delta_GDP(eps; 2m) + 2 delta_GDP(eps; m) <= delta (T41(b)), rounded down."""
    high = mu_for(epsilon, delta) / 2
    # the second term is mostly small: its largest value is subtracted from the first
    spare = delta - 2 * delta_bracket(epsilon, high)[1]
    low = mu_for(epsilon, spare) / 2 if spare > 0 else high
    while not _fits(low, epsilon, delta):
        low, high = low / 2, low
    while high - low > _NEAR * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(middle, epsilon, delta) else (low, middle)
    return low


def _fits(m: float, epsilon: float, delta: float) -> bool:
    return raised(delta_bracket(epsilon, 2 * m)[1] + 2 * delta_bracket(epsilon, m)[1], 4) <= delta


def output_noise_cost(noise_norm: float, *, n: int, regularization: float, smoothness: float) -> float:
    """Return a bound on the cost F(theta + eta) - F(theta) of noise eta on the minimizer theta of F, rounded up.

    Theorem T56, for the mean of the losses and lambda = Lambda/n.
        Let theta minimize F(w) = (1/n) sum l_i(w) + (lambda/2) ||w||^2, where the losses l_i are c-smooth. Then for
        every vector eta,
            F(theta + eta) - F(theta) <= ((c + lambda)/2) ||eta||^2.

    Parameters
    ----------
    noise_norm
        Norm ||eta|| of the noise, at least 0.
    n
        Number of records.
    regularization
        Regularization strength Lambda for the sum (not the mean) of the losses.
    smoothness
        Smoothness constant c of one record's loss.

    Returns
    -------
    float
        The bound, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    length, n = checks.between("noise_norm", noise_norm, 0.0, 1e60), checks.count("n", n)
    strength = constant("regularization", regularization) / n
    return raised((constant("smoothness", smoothness) + strength) / 2 * length * length, 64)


def objective_noise_cost(noise_norm: float, *, n: int, regularization: float) -> float:
    """Return a bound on the cost F(theta_b) - F(theta) of noise b in the objective F, rounded up.

    Theorem T56, for the mean of the losses and lambda = Lambda/n.
        Let theta minimize a lambda-strongly convex function F(w), and let theta_b minimize F(w) + b'w/n. Then
            F(theta_b) - F(theta) <= ||b||^2/(2 lambda n^2) = ||b||^2/(2 Lambda n).

    Linear losses attain the bound.

    Erratum E32: the gamma-norm noise of Monteleoni's lecture (see docs/errata.md) in d dimensions has
    ||b|| <= (2/eps') d log(d/p) with probability at least 1 - p. Here eps' is the part of eps that remains after the
    cost of the Jacobian determinant (T36a). The bound is then 2 d^2 log^2(d/p)/(lambda n^2 eps'^2). The lemma in the
    lecture has 8 instead of 2, and eps instead of the smaller eps'.

    Parameters
    ----------
    noise_norm
        Norm ||b|| of the noise, at least 0. The noise enters as the term b'w, added to the sum of the losses.
    n
        Number of records.
    regularization
        Regularization strength Lambda for the sum (not the mean) of the losses.

    Returns
    -------
    float
        The bound, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    length, n = checks.between("noise_norm", noise_norm, 0.0, 1e60), checks.count("n", n)
    return raised(length * length / (2 * n * constant("regularization", regularization)), 64)


def gaussian_norm_bound(dim: int, sigma: float, *, failure: float) -> float:
    """Return a bound on the norm of Gaussian noise N(0, sigma^2 I_d), rounded up.

    By T58, the norm exceeds sigma (sqrt(d) + sqrt(2 ln(1/p))) with probability at most p, because the norm is a
    1-Lipschitz function of the noise and has mean at most sigma sqrt(d).

    Errata E18 and E23 (sources in docs/errata.md): instead of sqrt(d) + sqrt(2 ln(1/p)), Bellet states d log(d/p), the
    factor for gamma-norm noise. Wang prints sigma sqrt(d) sqrt(2 log(1/p)) in a formula that needs the square of the
    bound of T58.

    Parameters
    ----------
    dim
        Number d of coefficients.
    sigma
        Standard deviation of the noise in each coordinate, positive.
    failure
        Largest probability p that the bound fails, in (0, 1).

    Returns
    -------
    float
        The bound, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    dim, sigma = checks.count("dim", dim), constant("sigma", sigma)
    share = checks.positive_delta("failure", failure)
    return raised(sigma * (math.sqrt(dim) + math.sqrt(-2 * math.log(share))), 64)
