# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Expected excess empirical risk of output and objective perturbation, with explicit constants (T56a).

The risk is the mean loss of the n records without the regulariser, which the methods minimise with it, exactly. The
reference theta_0 has norm R0 and may depend on the records, but not on the noise: a minimiser of the mean loss is one.
The expectation is over the noise, and the bounds hold for every data set. A bound above L R0 says nothing.
"""

from dperm.privacy import Adjacency
from dperm.theory.noise_size import Goal
from dperm.theory.regularized import EMPIRICAL, Regularized
from dperm.theory.results import ExcessRisk, LearningProblem


def output_empirical_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    regularization: float | None = None,
) -> ExcessRisk:
    """Expected excess empirical risk of output perturbation on n records.

    Theorem T56a (lambda = Lambda/n).
        E R_n(theta_priv) - R_n(theta_0) <= (lambda/4) R0^2 + (c/2) E ||eta||^2,
        E ||eta||^2 as in ``output_excess_risk``.

    ``regularization`` is Lambda; None takes the one that makes the bound smallest.

    Examples
    --------
    >>> risk = output_empirical_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, adjacency="replace_one")
    >>> round(risk.bound, 6), round(risk.regularization, 1)
    (0.006145, 163.9)
    """
    return Regularized(problem, n, Goal.of(epsilon, delta, adjacency), EMPIRICAL).output(regularization)


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
    """Expected excess empirical risk of objective perturbation on n records, for a linear model.

    Theorem T56a (lambda = Lambda/n).
        E R_n(theta_priv) - R_n(theta_0) <= (lambda/4) R0^2 + E ||b||^2/(4 lambda n^2),
        E ||b||^2 as in ``objective_excess_risk``, whose arguments these are.

    Raises
    ------
    AssumptionError
        If the given ``regularization`` leaves no epsilon for the noise.

    Examples
    --------
    >>> risk = objective_empirical_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, adjacency="replace_one")
    >>> round(risk.bound, 6), round(risk.regularization, 1)
    (0.001061, 21.5)
    """
    goal = Goal.of(epsilon, delta, adjacency)
    return Regularized(problem, n, goal, EMPIRICAL, unclipped_logistic).objective(regularization)
