# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on the expected excess risk of output and objective perturbation, with explicit constants (T57, T56a).

**Population** (T57): the records are drawn independently from one distribution with risk R(theta) = E l(theta; z). The
reference theta_0 is an arbitrary vector with ||theta_0|| = R0, chosen independently of the records, such as a minimizer
of R. The expectation is over records and noise.

**Empirical** (T56a): the risk is the mean loss of the n records without the regularizer. The reference may depend on
the records, but not on the noise; a minimizer of the mean loss is such a reference. The expectation is over the noise,
and the bounds hold for every data set.

Both methods solve the regularized problem exactly. Bounds are per record; Lambda = n lambda applies to the sum of the
losses. A bound above L R0 is vacuous, because theta = 0 already achieves L R0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dperm import checks
from dperm.errors import AssumptionError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised
from dperm.theory.noise_norm import (
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
class TermFactors:
    """Factors of a bound's terms (lambda = Lambda/n).

    Attributes
    ----------
    bias
        Factor of lambda R0^2.
    stability
        Factor of L^2/(lambda n).
    noise
        Factor of E ||b||^2/(lambda n^2) for objective perturbation. For output perturbation the noise term is (c/2) E
        ||eta||^2 in every bound.
    """

    bias: float
    stability: float
    noise: float


POPULATION = TermFactors(bias=0.5, stability=2.0, noise=0.5)
EMPIRICAL = TermFactors(bias=0.25, stability=0.0, noise=0.25)


@dataclass(frozen=True)
class RegularizedRisk:
    """Bound on the excess risk of a perturbed minimizer, as a function of Lambda (for the sum of losses)."""

    problem: LearningProblem
    n: int
    goal: Goal
    weights: TermFactors
    unclipped_logistic: bool = False

    def __post_init__(self) -> None:
        """Check the arguments of the calculator."""
        checked_problem(self.problem)
        object.__setattr__(self, "n", checks.count("n", self.n))
        check_unclipped_logistic(self.goal, self.unclipped_logistic)

    def output(self, regularization: float | None) -> ExcessRisk:
        """Return the bound for output perturbation; None uses the Lambda with the smallest bound."""
        if regularization is not None:
            return self._output(constant("regularization", regularization))
        # the minimizer of bias + stability, and that of bias + noise: the sum of all three has its own above both
        still = math.sqrt(self._fall / self._rise)
        loud = math.cbrt(2 * self._output(1.0).noise / self._rise)
        return self._output(self._best(self._output, max(still, loud), reference=max(still, loud)))

    def objective(self, regularization: float | None) -> ExcessRisk:
        """Return the bound for objective perturbation; None uses the Lambda with the smallest bound.

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
        """Bias term divided by Lambda; the bound rises with it."""
        return self.weights.bias * self.problem.reference_norm * self.problem.reference_norm / self.n

    @property
    def _fall(self) -> float:
        """Stability term times Lambda; the bound falls with 1/Lambda."""
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
        """Return the Lambda of the smallest bound, from ``low`` to bound(reference)/rise; above, the bias is larger."""
        return minimizer(lambda point: risk(point).bound, low, risk(reference).bound / self._rise)

    def _where_it_jumps(self) -> list[ExcessRisk]:
        """Return the bound at the jump of unclipped logistic loss, where the determinant is first free (T36b)."""
        jumps = self.unclipped_logistic
        return [self._objective(free_regularization(self.problem, self.goal))] if jumps else []

    def _admissible(self, risk: ExcessRisk) -> ExcessRisk:
        if math.isinf(risk.bound):
            raise AssumptionError(
                f"objective perturbation needs log(1 + smoothness/regularization) < epsilon (T36a), got "
                f"{arg('regularization', repr(risk.regularization))} with {arg('epsilon', repr(self.goal.epsilon))}.",
                remedy=f"Choose one above {least_regularization(self.problem, self.goal.epsilon):.6g}, or None for the "
                "best.",
            )
        return risk


def output_empirical_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    regularization: float | None = None,
) -> ExcessRisk:
    """Return a bound on the expected excess empirical risk of output perturbation on n records.

    Theorem T56a (lambda = Lambda/n).
        E R_n(theta_priv) - R_n(theta_0) <= (lambda/4) R0^2 + (c/2) E ||eta||^2,
        with E ||eta||^2 as in ``output_excess_risk``.

    Here R_n is the mean loss of the n records, theta_priv is the vector of released coefficients, theta_0 is any
    reference vector of norm R0, and eta is the noise on the coefficients. The constants are c = ``problem.smoothness``
    and R0 = ``problem.reference_norm``.

    Parameters
    ----------
    problem
        Constants of the learning problem.
    n
        Number of records.
    epsilon
        Epsilon of the guarantee, positive.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    delta
        Delta of the guarantee, in [0, 1); 0 for pure DP.
    regularization
        Regularization strength Lambda for the sum (not the mean) of the losses; None uses the value with the smallest
        bound.

    Returns
    -------
    ExcessRisk
        Bound on the expected excess risk, with its terms.

    Examples
    --------
    >>> risk = output_empirical_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, adjacency="replace_one")
    >>> round(risk.bound, 6), round(risk.regularization, 1)
    (0.006145, 163.9)
    """
    return RegularizedRisk(problem, n, Goal.of(epsilon, delta, adjacency), EMPIRICAL).output(regularization)


def objective_empirical_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    regularization: float | None = None,
    unclipped_logistic: bool = False,
) -> ExcessRisk:
    """Return a bound on the expected excess empirical risk of objective perturbation, for a linear model.

    Theorem T56a (lambda = Lambda/n).
        E R_n(theta_priv) - R_n(theta_0) <= (lambda/4) R0^2 + E ||b||^2/(4 lambda n^2),
        with E ||b||^2 as in ``objective_excess_risk``.

    Here R_n is the mean loss of the n records, theta_priv is the vector of released coefficients, theta_0 is any
    reference vector of norm R0 = ``problem.reference_norm``, and b is the noise vector of the random term b'theta in
    the objective.

    Parameters
    ----------
    problem
        Constants of the learning problem.
    n
        Number of records.
    epsilon
        Epsilon of the guarantee, positive.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    delta
        Delta of the guarantee, in [0, 1); 0 for pure DP.
    regularization
        Regularization strength Lambda for the sum (not the mean) of the losses; None uses the value with the smallest
        bound.
    unclipped_logistic
        Whether the loss is the logistic loss without clipping (T36b). True requires delta = 0.

    Returns
    -------
    ExcessRisk
        Bound on the expected excess risk, with its terms.

    Raises
    ------
    AssumptionError
        If the given ``regularization`` leaves no epsilon for the noise, or ``unclipped_logistic`` is True with delta >
        0.

    Examples
    --------
    >>> risk = objective_empirical_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, adjacency="replace_one")
    >>> round(risk.bound, 6), round(risk.regularization, 1)
    (0.001061, 21.5)
    """
    goal = Goal.of(epsilon, delta, adjacency)
    return RegularizedRisk(problem, n, goal, EMPIRICAL, unclipped_logistic).objective(regularization)


def output_excess_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    regularization: float | None = None,
) -> ExcessRisk:
    """Return a bound on the expected excess population risk of output perturbation on n records.

    Theorem T57 (lambda = Lambda/n).
        E R(theta_priv) - R(theta_0) <= (lambda/2) R0^2 + 2 L^2/(lambda n) + (c/2) E ||eta||^2,
        where E ||eta||^2 is d (d + 1) (Delta/eps)^2 for delta = 0 (T7), and d (Delta/mu(eps, delta))^2 for delta > 0
        (T6). The sensitivity Delta is 2 L/Lambda under replace_one, and L/Lambda under add_remove (T30).

    Here R is the population risk, theta_priv is the vector of released coefficients, and eta is the noise on the
    coefficients. The reference theta_0 is an arbitrary vector of norm R0, chosen independently of the data. The
    constants d, L, c and R0 are the attributes ``dim``, ``lipschitz``, ``smoothness`` and ``reference_norm`` of
    ``problem``. The number mu(eps, delta) is the largest mu for which mu-GDP implies (eps, delta)-DP.

    Parameters
    ----------
    problem
        Constants of the learning problem.
    n
        Number of records.
    epsilon, delta, adjacency
        Epsilon > 0 and delta in [0, 1) of the guarantee, and its neighbouring relation, "add_remove" or "replace_one".
        For pure DP, delta is 0.
    regularization
        Regularization strength Lambda for the sum (not the mean) of the losses; None uses the value with the smallest
        bound.

    Returns
    -------
    ExcessRisk
        Bound on the expected excess risk, with its terms.

    Examples
    --------
    >>> risk = output_excess_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, adjacency="replace_one")
    >>> round(risk.bound, 6), round(risk.regularization, 1)
    (0.021225, 223.3)
    """
    return RegularizedRisk(problem, n, Goal.of(epsilon, delta, adjacency), POPULATION).output(regularization)


def objective_excess_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    regularization: float | None = None,
    unclipped_logistic: bool = False,
) -> ExcessRisk:
    """Return a bound on the expected excess population risk of objective perturbation, for a linear model.

    Theorem T57 (lambda = Lambda/n).
        E R(theta_priv) - R(theta_0) <= (lambda/2) R0^2 + 2 L^2/(lambda n) + E ||b||^2/(2 lambda n^2).
        For delta = 0, E ||b||^2 is d (d + 1) (k L/eps')^2 with k = 2 under replace_one and k = 1 under add_remove
        (T36a). For delta > 0, E ||b||^2 is d sigma^2, with sigma from T40 (add_remove) or T41(b) (replace_one) for
        (eps', delta). Here eps' = eps - log(1 + c/Lambda) is the part of eps that remains for the noise.

    Here R is the population risk, theta_priv is the vector of released coefficients, and b is the noise vector of the
    random term b'theta in the objective. The reference theta_0 is an arbitrary vector of norm R0, chosen independently
    of the data. The constants d, L, c and R0 are the attributes ``dim``, ``lipschitz``, ``smoothness`` and
    ``reference_norm`` of ``problem``. For delta > 0, the loss must be monotone in the score, like the logistic and the
    hinge losses. The noise depends on Lambda through eps'. If ``regularization`` is None, the Lambda with the smallest
    bound is found with this dependence included.

    Parameters
    ----------
    problem, n, epsilon, delta, adjacency, regularization
        See ``output_excess_risk``.
    unclipped_logistic
        Whether the loss is the logistic loss without clipping. If True, eps' = eps for every Lambda >= k L^2/eps
        (T36b); this requires delta = 0.

    Returns
    -------
    ExcessRisk
        Bound on the expected excess risk, with its terms.

    Raises
    ------
    AssumptionError
        If the given ``regularization`` leaves no epsilon for the noise, or ``unclipped_logistic`` is True with delta >
        0.

    Examples
    --------
    >>> risk = objective_excess_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, adjacency="replace_one")
    >>> round(risk.bound, 5)
    0.02011
    """
    goal = Goal.of(epsilon, delta, adjacency)
    return RegularizedRisk(problem, n, goal, POPULATION, unclipped_logistic).objective(regularization)
