# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Excess risk of DP gradient descent: last iterate (T47), empirical risk (T48) and population risk (T48a).

``gradient_empirical_risk`` and ``gradient_excess_risk`` project onto the ball of radius R0 around 0. The reference
theta_0 is any point in the ball, whose diameter is 2 R0. delta must be positive: the noise is Gaussian, and T48 has no
pure version. The losses need not be smooth; ``smoothness`` is not used.
"""

import math
from dataclasses import replace

from scipy.special import lambertw

from dperm import checks
from dperm.privacy import Adjacency
from dperm.privacy.gaussian_profile import mu_for
from dperm.privacy.rounding import lowered, raised
from dperm.theory.results import (
    DescentRisk,
    LearningProblem,
    checked_problem,
    constant,
    gradients_exchanged,
    positive_epsilon,
)


def last_iterate_bound(steps: int, *, diameter: float, gradient_norm: float, step_scale: float | None = None) -> float:
    """Return a bound on the expected excess risk of the last iterate of projected SGD, rounded up.

    Theorem T47 [Shamir & Zhang 2013, Thm 2].
        Let F be convex on a convex set of diameter D, and let the gradient estimates g be unbiased with E ||g||^2 <=
        G^2. With step sizes eta_t = c/sqrt(t) for t = 1, 2, ..., T, the last iterate w_T satisfies
            E F(w_T) - min F <= (D^2/c + c G^2) (2 + ln T)/sqrt(T).

    Erratum E14: Razaviyayn's lecture (see docs/errata.md) numbers the steps from t = 0, where c/sqrt(t) is infinite,
    and writes log t instead of log T.

    Parameters
    ----------
    steps
        Number T of steps.
    diameter
        Diameter D of the convex set.
    gradient_norm
        Bound G on the root mean square of the norm of a gradient estimate.
    step_scale
        Constant c of the step sizes. None uses the best value D/G, for which the bound is 2 D G (2 + ln T)/sqrt(T).

    Returns
    -------
    float
        The bound, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    steps, width = checks.count("steps", steps), constant("diameter", diameter)
    size = constant("gradient_norm", gradient_norm)
    scale = width / size if step_scale is None else constant("step_scale", step_scale)
    return raised((width * width / scale + scale * size * size) * _decay(steps), 64)


def dpgd_excess_risk(
    n: int,
    dim: int,
    *,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    steps: int | None = None,
) -> DescentRisk:
    """Return a bound on the expected excess empirical risk of DP gradient descent.

    Theorem T48 (replace_one).
        Let F = (1/n) sum l_i with losses l_i that are convex and L-Lipschitz on a convex set of diameter D in d
        dimensions. Consider T steps of size eta_t = c/sqrt(t), with Gaussian noise of standard deviation
        sigma = 2 L sqrt(T)/(n mu) on each coordinate of the gradient (T45). Here mu is the largest number for which
        mu-GDP implies the guarantee (T6). For the best c, the last iterate w_T satisfies
            E F(w_T) - min F <= 2 D (2 + ln T) sqrt(L^2/T + 4 d L^2/(n mu)^2).

    The bound is that of T47 with G^2 = L^2 + d sigma^2 and c = D/G. It is capped at L D, which bounds the excess at
    every point of the set. Under add_remove, the sum of the gradients is divided by the declared number n, so the
    sensitivity of a step is L/n. The bound then holds for data sets with at most n records.

    Parameters
    ----------
    n
        Number of records.
    dim
        Number d of coefficients.
    epsilon
        Epsilon of the guarantee, positive.
    delta
        Delta of the guarantee, in (0, 1).
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    lipschitz
        Lipschitz constant L of one record's loss.
    diameter
        Diameter D of the set of coefficients.
    steps
        Number T of steps; None uses the number with the smallest bound.

    Returns
    -------
    DescentRisk
        Bound on the expected excess risk, with the number of steps and the noise.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> risk = dpgd_excess_risk(10_000, 10, epsilon=1.0, delta=1e-5, adjacency="replace_one")
    >>> round(risk.bound, 5), risk.steps
    (0.08094, 1261709)
    """
    n, dim = checks.count("n", n), checks.count("dim", dim)
    slope, width = constant("lipschitz", lipschitz), constant("diameter", diameter)
    mu = mu_for(positive_epsilon("epsilon", epsilon), checks.positive_delta("delta", delta))
    per_step = gradients_exchanged(adjacency) / lowered(n * mu, 2)  # sigma = L sqrt(T) times this
    steps = _best_steps(dim * per_step * per_step) if steps is None else checks.count("steps", steps)
    spread = math.sqrt(1 + dim * per_step * per_step * steps)
    bound = raised(2 * width * slope * spread * _decay(steps), 64)
    return DescentRisk(min(bound, raised(slope * width, 2)), steps, raised(slope * math.sqrt(steps) * per_step, 16))


def _decay(steps: int) -> float:
    return (2 + math.log(steps)) / math.sqrt(steps)


def _best_steps(noise: float) -> int:
    """Return the whole T that minimizes (2 + ln T) sqrt(1/T + noise).

    With u = ln T the derivative is zero where u e^-u = 2 noise; the larger root is the minimum, u = -W_{-1}(-2 noise).
    Without a root the expression increases for all T >= 1.
    """
    if 2 * noise * math.e >= 1:
        return 1
    turn = min(math.exp(-lambertw(-2 * noise, -1).real), float(checks.LARGEST_COUNT))
    candidates = {1, math.floor(turn), min(math.ceil(turn), checks.LARGEST_COUNT)}
    return min(candidates, key=lambda steps: _decay(steps) * math.sqrt(1 + noise * steps))


def gradient_empirical_risk(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    steps: int | None = None,
) -> DescentRisk:
    """Return a bound on the expected excess empirical risk of DP gradient descent, by T48 with D = 2 R0.

    Gradient descent projects onto the ball of radius R0 = ``problem.reference_norm`` around 0, whose diameter is 2 R0.
    The excess is relative to the smallest empirical risk in this ball.

    Parameters
    ----------
    problem
        Constants of the learning problem.
    n
        Number of records.
    epsilon
        Epsilon of the guarantee, positive.
    delta
        Delta of the guarantee, in (0, 1).
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    steps
        Number T of steps; None uses the number with the smallest bound.

    Returns
    -------
    DescentRisk
        Bound on the expected excess risk, with the number of steps and the noise.
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
    """Return a bound on the expected excess population risk of DP gradient descent, for a linear model.

    Theorem T48a.
        Let the losses f(x'theta, y) be convex and (L/R)-Lipschitz in the score x'theta, with ||x|| <= R. Gradient
        descent projects onto the ball of radius R0 around 0. The bound is that of T48 with D = 2 R0, plus
        2 L R0/sqrt(n). It is capped at 2 L R0.

    Here L = ``problem.lipschitz`` and R0 = ``problem.reference_norm``. The excess is relative to the risk of an
    arbitrary point of the ball, chosen independently of the data.

    Parameters
    ----------
    problem
        Constants of the learning problem.
    n
        Number of records.
    epsilon
        Epsilon of the guarantee, positive.
    delta
        Delta of the guarantee, in (0, 1).
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    steps
        Number T of steps; None uses the number with the smallest bound.

    Returns
    -------
    DescentRisk
        Bound on the expected excess risk, with the number of steps and the noise.

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
