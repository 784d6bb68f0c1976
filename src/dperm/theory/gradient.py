# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Expected excess risk of DP gradient descent in the ball of radius R0 around 0 (T48, T48a).

The reference theta_0 is any point of the ball; projected descent stays in it, and its diameter is 2 R0. delta has to be
positive: the noise is Gaussian, and T48 has no pure version. Nothing has to be smooth: ``smoothness`` is not used.
"""

import math
from dataclasses import replace

from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised
from dperm.theory.descent import dpgd_excess_risk
from dperm.theory.results import DescentRisk, LearningProblem, checked_problem


def gradient_empirical_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    steps: int | None = None,
) -> DescentRisk:
    """Expected excess empirical risk of DP gradient descent: T48 with D = 2 R0.

    ``steps`` is T; None takes the number that makes the bound smallest.
    """
    problem = checked_problem(problem)
    half = dpgd_excess_risk(
        n,
        problem.dim,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        lipschitz=problem.lipschitz,
        diameter=problem.reference_norm,
        steps=steps,
    )
    return replace(half, bound=2 * half.bound)  # the bound is linear in D, and doubling is exact


def gradient_excess_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    steps: int | None = None,
) -> DescentRisk:
    """Expected excess population risk of DP gradient descent on n independent records, for a linear model.

    Theorem T48a.
        Losses f(x'theta, y), convex and Lipschitz in the score with constant L/R, ||x|| <= R; projection on the ball of
        radius R0 around 0. The bound is that of T48 with D = 2 R0, plus 2 L R0/sqrt(n); never more than 2 L R0.

    ``steps`` is T; None takes the number that makes the bound smallest.

    Examples
    --------
    >>> risk = gradient_excess_risk(LearningProblem(dim=10), 10_000, epsilon=1.0, delta=1e-5, adjacency="replace_one")
    >>> round(risk.bound, 5), round(risk.sampling, 5), risk.steps
    (0.18188, 0.02, 1261709)
    """
    fitted = gradient_empirical_risk(problem, n, epsilon=epsilon, delta=delta, adjacency=adjacency, steps=steps)
    whole = 2 * problem.lipschitz * problem.reference_norm
    sampling = raised(whole / math.sqrt(n), 8)
    return replace(fitted, bound=min(raised(fitted.bound + sampling, 2), raised(whole, 4)), sampling=sampling)
