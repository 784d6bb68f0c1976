# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many records a method needs for an expected excess population risk (T57): by bisection, and in closed form."""

import math
from fractions import Fraction

from dperm import checks
from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised
from dperm.theory.noise_size import (
    Goal,
    check_unclipped_logistic,
    free_regularization,
    least_regularization,
    objective_noise_square,
)
from dperm.theory.population import objective_excess_risk, output_excess_risk
from dperm.theory.results import LearningProblem, constant
from dperm.theory.search import TOO_SMALL, smallest_count

_NOISE_SHARE = 0.85


def output_sample_size(
    problem: LearningProblem, excess: float, *, epsilon: float, adjacency: Adjacency | str, delta: float = 0.0
) -> int:
    """The smallest n at which the bound of T57 for output perturbation, at its best Lambda, is at most ``excess``.

    For each fixed lambda every term falls with n, so the smallest bound does, and bisection finds n.
    """

    def reached(n: int) -> bool:
        return output_excess_risk(problem, n, epsilon=epsilon, delta=delta, adjacency=adjacency).bound <= target

    target = constant("excess", excess)
    return smallest_count(reached, _counted(_nonprivate(problem, target)))


def objective_sample_size(
    problem: LearningProblem,
    excess: float,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    unclipped_logistic: bool = False,
) -> int:
    """The smallest n at which the bound of T57 for objective perturbation, at its best Lambda, is at most ``excess``.

    The arguments are those of ``objective_excess_risk``.
    """

    def reached(n: int) -> bool:
        risk = objective_excess_risk(
            problem, n, epsilon=epsilon, delta=delta, adjacency=adjacency, unclipped_logistic=unclipped_logistic
        )
        return risk.bound <= target

    target = constant("excess", excess)
    return smallest_count(reached, _counted(_nonprivate(problem, target)))


def objective_sample_size_closed_form(
    problem: LearningProblem,
    excess: float,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    noise_epsilon: float | None = None,
    unclipped_logistic: bool = False,
) -> int:
    """A number of records that suffices for objective perturbation with pure noise, as a formula, rounded up.

    Theorem T57. At the best lambda the bound is R0 sqrt(4 L^2/n + E||b||^2/n^2), at most ``excess`` = g if
        n >= max(8 L^2 R0^2/g^2, R0 sqrt(2 d (d + 1)) k L/(eps' g)),  k = 2 under replace_one, 1 under add_remove.
    It is Monteleoni's Theorem 4 (T58) with a constant, in expectation. The Lambda = n lambda >= 2 L sqrt(n)/R0 of that
    bound has to leave eps' to the noise: n >= (R0 Lambda'/(2 L))^2 as well, Lambda' = c/(e^(eps - eps') - 1).

    Parameters
    ----------
    problem, excess, epsilon, adjacency
        As in ``objective_sample_size``.
    noise_epsilon
        eps'; None takes 0.85 eps.
    unclipped_logistic
        Lambda' = k R^2/eps and eps' = eps (T36b).
    """
    target, goal, problem = constant("excess", excess), Goal.of(epsilon, 0.0, adjacency), _checked(problem)
    check_unclipped_logistic(goal, unclipped_logistic)
    if unclipped_logistic:
        left, least = goal.epsilon, free_regularization(problem, goal)
    else:
        left = _checked_share(noise_epsilon, goal)
        least = least_regularization(problem, goal.epsilon - left)
    noise = math.sqrt(2 * objective_noise_square(problem, goal, left)) * problem.reference_norm / target
    floor = problem.reference_norm * least / (2 * problem.lipschitz)
    return max(_counted(2 * _nonprivate(problem, target)), _counted(raised(max(noise, floor * floor), 64)))


def _checked_share(noise_epsilon: float | None, goal: Goal) -> float:
    if noise_epsilon is None:
        return _NOISE_SHARE * goal.epsilon
    left = constant("noise_epsilon", noise_epsilon)
    if left >= goal.epsilon:
        raise ParameterError(
            f"noise_epsilon must be less than epsilon = {goal.epsilon!r}: the determinant takes the rest, got {left!r}."
        )
    return left


def _checked(problem: LearningProblem) -> LearningProblem:
    if not isinstance(problem, LearningProblem):
        raise ParameterError(
            f"problem must be a LearningProblem, such as LearningProblem(dim=10), got {checks.shown(problem)}."
        )
    return problem


def _nonprivate(problem: LearningProblem, excess: float) -> Fraction:
    """4 L^2 R0^2/g^2: what the first two terms of T57 ask for at least."""
    problem = _checked(problem)
    return (2 * Fraction(problem.lipschitz) * Fraction(problem.reference_norm) / Fraction(excess)) ** 2


def _counted(n: float | Fraction) -> int:
    """``n`` rounded up to a count."""
    if n > checks.LARGEST_COUNT:
        raise ParameterError(TOO_SMALL)
    return max(1, math.ceil(n))
