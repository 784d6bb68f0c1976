# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Number of records needed for an expected excess risk: by bisection, and in closed form.

Population risk by T57 and T48a, empirical risk by T56a and T48. For each fixed lambda or T, every term of these bounds
falls with n. So does the smallest bound, and bisection finds n.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from dperm import checks
from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised
from dperm.theory.gradient_descent import gradient_empirical_risk, gradient_excess_risk
from dperm.theory.noise_norm import (
    Goal,
    check_unclipped_logistic,
    free_regularization,
    least_regularization,
    objective_noise_square,
)
from dperm.theory.perturbation import (
    objective_empirical_risk,
    objective_excess_risk,
    output_empirical_risk,
    output_excess_risk,
)
from dperm.theory.results import (
    DescentRisk,
    ExcessRisk,
    LearningProblem,
    Risk,
    checked_problem,
    checked_risk,
    constant,
)
from dperm.theory.search import OutOfReach, smallest_count

_NOISE_SHARE = 0.85


def output_sample_size(
    problem: LearningProblem,
    excess: float,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    risk: Risk = "population",
) -> int:
    """Return the smallest number of records at which the bound for output perturbation is at most ``excess``.

    The bound is that of `output_excess_risk` (T57), or of `output_empirical_risk` (T56a) for ``risk="empirical"``, at
    the regularization strength with the smallest bound.

    Parameters
    ----------
    problem
        Constants of the learning problem.
    excess
        Target for the expected excess risk (of the mean loss, not of the sum), positive.
    epsilon
        Epsilon of the guarantee, positive.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    delta
        Delta of the guarantee, in [0, 1); 0 for pure DP.
    risk
        Kind of risk: "population" (expected loss on new records) or "empirical" (mean loss on the given records).

    Returns
    -------
    int
        Number of records.

    Raises
    ------
    ParameterError
        If an argument is out of range, or more than 2^53 records are needed.
    """
    calculator = output_excess_risk if checked_risk(risk) == "population" else output_empirical_risk
    bound = partial(calculator, problem, epsilon=epsilon, delta=delta, adjacency=adjacency)
    return _smallest(bound, problem, excess, risk)


def objective_sample_size(
    problem: LearningProblem,
    excess: float,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    unclipped_logistic: bool = False,
    risk: Risk = "population",
) -> int:
    """Return the smallest number of records at which the bound for objective perturbation is at most ``excess``.

    The bound is that of `objective_excess_risk` (T57), or of `objective_empirical_risk` (T56a) for
    ``risk="empirical"``, at the regularization strength with the smallest bound.

    Parameters
    ----------
    problem
        Constants of the learning problem.
    excess
        Target for the expected excess risk (of the mean loss, not of the sum), positive.
    epsilon
        Epsilon of the guarantee, positive.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    delta
        Delta of the guarantee, in [0, 1); 0 for pure DP.
    unclipped_logistic
        Whether the loss is the logistic loss without clipping (T36b). True requires delta = 0.
    risk
        Kind of risk: "population" (expected loss on new records) or "empirical" (mean loss on the given records).

    Returns
    -------
    int
        Number of records.

    Raises
    ------
    ParameterError
        If an argument is out of range, or more than 2^53 records are needed.
    AssumptionError
        If ``unclipped_logistic`` is True with delta > 0.
    """
    calculator = objective_excess_risk if checked_risk(risk) == "population" else objective_empirical_risk
    bound = partial(
        calculator,
        problem,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        unclipped_logistic=unclipped_logistic,
    )
    return _smallest(bound, problem, excess, risk)


def gradient_sample_size(
    problem: LearningProblem,
    excess: float,
    *,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    risk: Risk = "population",
) -> int:
    """Return the smallest number of records at which the bound for DP gradient descent is at most ``excess``.

    The bound is that of `gradient_excess_risk` (T48a), or of `gradient_empirical_risk` (T48) for ``risk="empirical"``,
    for the number of steps with the smallest bound.

    Parameters
    ----------
    problem
        Constants of the learning problem.
    excess
        Target for the expected excess risk (of the mean loss, not of the sum), positive.
    epsilon
        Epsilon of the guarantee, positive.
    delta
        Delta of the guarantee, in (0, 1).
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    risk
        Kind of risk: "population" (expected loss on new records) or "empirical" (mean loss on the given records).

    Returns
    -------
    int
        Number of records.

    Raises
    ------
    ParameterError
        If an argument is out of range, or more than 2^53 records are needed.
    """
    calculator = gradient_excess_risk if checked_risk(risk) == "population" else gradient_empirical_risk
    bound = partial(calculator, problem, epsilon=epsilon, delta=delta, adjacency=adjacency)
    return _smallest(bound, problem, excess, risk)


def objective_sample_size_closed_form(
    problem: LearningProblem,
    excess: float,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    noise_epsilon: float | None = None,
    unclipped_logistic: bool = False,
) -> int:
    """Return a sufficient number of records for objective perturbation with pure DP, in closed form, rounded up.

    Theorem T57.
        At the best regularization strength, the bound on the expected excess population risk is
        R0 sqrt(4 L^2/n + E ||b||^2/n^2), where b is the noise vector of the random term b'theta in the objective. With
        k = 2 under replace_one and k = 1 under add_remove, this bound is at most g = ``excess`` if
            n >= max(8 L^2 R0^2/g^2, R0 sqrt(2 d (d + 1)) k L/(eps' g)).

    Here eps' is the part of epsilon that is spent on the noise. The constants d, L, c and R0 are the attributes
    ``dim``, ``lipschitz``, ``smoothness`` and ``reference_norm`` of ``problem``. This result is Monteleoni's Theorem 4
    (T58, source in docs/errata.md) with explicit constants, for the expected excess risk.

    The best regularization strength is Lambda >= 2 L sqrt(n)/R0. To leave eps' for the noise, Lambda must also be at
    least Lambda' = c/(e^(eps - eps') - 1). Therefore n >= (R0 Lambda'/(2 L))^2 is also required.

    Parameters
    ----------
    problem, excess, epsilon, adjacency
        See ``objective_sample_size``.
    noise_epsilon
        Part eps' of epsilon that is spent on the noise, positive and less than epsilon; None uses 0.85 epsilon.
    unclipped_logistic
        Whether the loss is the logistic loss without clipping, on rows of norm at most L. In that case, eps' = eps and
        Lambda' = k L^2/eps (T36b), and ``noise_epsilon`` is not used.

    Returns
    -------
    int
        Number of records, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range, or more than 2^53 records are needed.
    """
    target, goal, problem = constant("excess", excess), Goal.of(epsilon, 0.0, adjacency), checked_problem(problem)
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
            argument="noise_epsilon",
            rule=f"must be less than epsilon = {goal.epsilon!r}: the determinant takes the rest",
            got=repr(left),
        )
    return left


def _smallest(
    bound: Callable[[int], ExcessRisk | DescentRisk], problem: LearningProblem, excess: float, risk: Risk
) -> int:
    target = constant("excess", excess)
    start = _counted(_nonprivate(checked_problem(problem), target)) if risk == "population" else 1
    return smallest_count(lambda n: bound(n).bound <= target, start)


def _nonprivate(problem: LearningProblem, excess: float) -> Fraction:
    """Return 4 L^2 R0^2/g^2, the number of records that T57 and T48a require without privacy."""
    return (2 * Fraction(problem.lipschitz) * Fraction(problem.reference_norm) / Fraction(excess)) ** 2


def _counted(n: float | Fraction) -> int:
    """Return ``n`` rounded up to a count."""
    if n > checks.LARGEST_COUNT:
        raise OutOfReach
    return max(1, math.ceil(n))
