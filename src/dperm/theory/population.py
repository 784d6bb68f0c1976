# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Expected excess population risk of output and objective perturbation, with explicit constants (T57).

The records are drawn independently from one distribution with risk R(theta) = E l(theta; z). Both methods solve the
regularised problem exactly; theta_0 is any fixed reference with ||theta_0|| = R0, such as a minimiser of R. The bounds
are per record (mean scale); Lambda = n lambda is in sum scale. A bound above L R0 says nothing: theta = 0 has it.
"""

from dperm.privacy import Adjacency
from dperm.theory.noise_size import Goal
from dperm.theory.regularized import POPULATION, Regularized
from dperm.theory.results import ExcessRisk, LearningProblem


def output_excess_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    regularization: float | None = None,
) -> ExcessRisk:
    """Expected excess population risk of output perturbation on n records.

    Theorem T57 (lambda = Lambda/n).
        E R(theta_priv) - R(theta_0) <= (lambda/2) R0^2 + 2 L^2/(lambda n) + (c/2) E ||eta||^2,
        E ||eta||^2 = d (d + 1) (Delta/eps)^2 for delta = 0 (T7), d (Delta/mu(eps, delta))^2 for delta > 0 (T6),
        Delta = 2 L/Lambda under replace_one, L/Lambda under add_remove (T30).

    ``regularization`` is Lambda; None takes the one that makes the bound smallest.

    Examples
    --------
    >>> risk = output_excess_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, adjacency="replace_one")
    >>> round(risk.bound, 6), round(risk.regularization, 1)
    (0.021225, 223.3)
    """
    return Regularized(problem, n, Goal.of(epsilon, delta, adjacency), POPULATION).output(regularization)


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
    """Expected excess population risk of objective perturbation on n records, for a linear model.

    Theorem T57 (lambda = Lambda/n).
        E R(theta_priv) - R(theta_0) <= (lambda/2) R0^2 + 2 L^2/(lambda n) + E ||b||^2/(2 lambda n^2),
        E ||b||^2 = d (d + 1) (k L/eps')^2 for delta = 0 (T36a), k = 2 under replace_one and 1 under add_remove;
        d sigma^2 for delta > 0 and a monotone loss, sigma from T40 (add_remove) or T41(b) (replace_one) at eps',
        eps' = eps - log(1 + c/Lambda).

    The noise depends on Lambda through eps', so the best Lambda is searched for with it. With
    ``unclipped_logistic=True`` and delta = 0, eps' = eps where T36b allows.

    Raises
    ------
    AssumptionError
        If the given ``regularization`` leaves no epsilon for the noise.

    Examples
    --------
    >>> risk = objective_excess_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, adjacency="replace_one")
    >>> round(risk.bound, 5)
    0.02011
    """
    goal = Goal.of(epsilon, delta, adjacency)
    return Regularized(problem, n, goal, POPULATION, unclipped_logistic).objective(regularization)
