# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Expected excess population risk of output and objective perturbation, with explicit constants (T57).

The records are drawn independently from one distribution with risk R(theta) = E l(theta; z). Both methods solve the
regularised problem exactly; theta_0 is any fixed reference with ||theta_0|| = R0, such as a minimiser of R. The bounds
are per record (mean scale); Lambda = n lambda is in sum scale. A bound above L R0 says nothing: theta = 0 has it.
"""

import math
from functools import partial

from dperm import checks
from dperm.errors import AssumptionError
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised
from dperm.theory.noise_size import (
    Goal,
    check_unclipped_logistic,
    epsilon_left,
    least_regularization,
    objective_noise_square,
    output_noise_square,
)
from dperm.theory.results import ExcessRisk, LearningProblem, constant
from dperm.theory.search import minimizer


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
    n, goal = checks.count("n", n), Goal.of(epsilon, delta, adjacency)
    risk = partial(_output_risk, problem, n, goal)
    if regularization is not None:
        return risk(constant("regularization", regularization))
    # without noise Lambda = 2 L sqrt(n)/R0 is best; noise only asks for more
    return risk(_best(risk, _rise(problem, n), 2 * problem.lipschitz * math.sqrt(n) / problem.reference_norm))


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
    n, goal = checks.count("n", n), Goal.of(epsilon, delta, adjacency)
    check_unclipped_logistic(goal, unclipped_logistic)
    risk = partial(_objective_risk, problem, n, goal, unclipped_logistic)
    if regularization is not None:
        return _admissible(risk(constant("regularization", regularization)), problem, goal)
    rise = _rise(problem, n)
    least_noise = objective_noise_square(problem, goal, goal.epsilon)
    free = math.sqrt((2 * problem.lipschitz * problem.lipschitz + least_noise / (2 * n)) / rise)
    # at half of epsilon for the determinant the bound is finite
    return risk(_best(risk, rise, max(free, least_regularization(problem, goal.epsilon / 2)), free))


def _output_risk(problem: LearningProblem, n: int, goal: Goal, regularization: float) -> ExcessRisk:
    noise = raised(problem.smoothness / 2 * output_noise_square(problem, regularization, goal), 4)
    return _excess(problem, n, regularization, noise)


def _objective_risk(
    problem: LearningProblem, n: int, goal: Goal, unclipped_logistic: bool, regularization: float
) -> ExcessRisk:
    left = epsilon_left(problem, regularization, goal, unclipped_logistic=unclipped_logistic)
    noise = raised(objective_noise_square(problem, goal, left) / (2 * n * regularization), 8)
    return _excess(problem, n, regularization, noise)


def _excess(problem: LearningProblem, n: int, regularization: float, noise: float) -> ExcessRisk:
    bias = raised(regularization * _rise(problem, n), 8)
    stability = raised(2 * problem.lipschitz * problem.lipschitz / regularization, 4)
    return ExcessRisk(raised(bias + stability + noise, 4), regularization, bias, stability, noise)


def _rise(problem: LearningProblem, n: int) -> float:
    """Of the bias with Lambda: R0^2/(2n)."""
    return problem.reference_norm * problem.reference_norm / (2 * n)


def _best(risk: "partial[ExcessRisk]", rise: float, reference: float, low: float | None = None) -> float:
    """The best Lambda, which lies between ``low`` and bound(reference)/rise: beyond, the bias alone is larger."""
    high = risk(reference).bound / rise
    return minimizer(lambda point: risk(point).bound, reference if low is None else low, high)


def _admissible(risk: ExcessRisk, problem: LearningProblem, goal: Goal) -> ExcessRisk:
    if math.isinf(risk.bound):
        raise AssumptionError(
            f"objective perturbation needs log(1 + smoothness/regularization) < epsilon (T36a), got "
            f"regularization={risk.regularization!r} with epsilon={goal.epsilon!r}. Give one above "
            f"{least_regularization(problem, goal.epsilon):.6g}, or None for the best."
        )
    return risk
