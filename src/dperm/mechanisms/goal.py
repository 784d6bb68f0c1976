# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Mechanism parameters from a goal (a guarantee): one function per theorem.

Each function returns a parameter safe for calibration, rounded down. Each function raises an error for a goal that its
theorem does not cover.
"""

import math
from fractions import Fraction

from dperm.checks import shown
from dperm.errors import AdjacencyError, ConversionError, ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, PureDP
from dperm.privacy.gaussian_profile import mu_for
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered, round_down, round_up


def checked_goal(goal: object) -> AnyGuarantee:
    """Return ``goal`` if it is a guarantee with epsilon > 0."""
    if not isinstance(goal, AnyGuarantee):
        raise ParameterError(
            argument="goal",
            rule="must be a guarantee",
            got=shown(goal),
            remedy='Give ApproxDP(1.0, 1e-6, "replace_one") or PureDP(1.0, "add_remove"), for example.',
        )
    if isinstance(goal, PureDP | ApproxDP) and goal.epsilon <= 0:
        raise ParameterError(
            argument="goal",
            rule="must have epsilon > 0",
            got=shown(goal),
            remedy="With epsilon = 0 no release is possible.",
        )
    return goal


def gaussian_mu(goal: object) -> float:
    """Return the largest mu for which mu-GDP implies ``goal``.

    Theorem T6 covers (epsilon, delta), T18 rho, and T16 a Rényi curve. Gaussian noise of standard deviation Delta / mu
    is mu-GDP. rho-zCDP requires mu^2/2 <= rho, and a curve requires alpha mu^2/2 <= tau at each of its orders.
    """
    goal = checked_goal(goal)
    match goal:
        case GDP():
            mu = goal.mu
        case ZCDP():
            mu = lowered(math.sqrt(2 * goal.rho))
        case RDP():
            mu = lowered(math.sqrt(min(2 * tau / alpha for alpha, tau in goal.curve)))
        case ApproxDP() if goal.delta > 0:
            mu = mu_for(goal.epsilon, goal.delta)
        case _:
            raise ConversionError(
                f"Gaussian noise never has a pure guarantee (delta > 0 at every epsilon, T6), got "
                f"{arg('goal', shown(goal))}.",
                remedy="Use LaplaceMechanism or GammaNormMechanism, or a goal with delta > 0.",
            )
    if mu <= 0:
        raise ParameterError(argument="goal", rule="must allow a privacy loss greater than 0", got=shown(goal))
    return mu


def laplace_epsilon(goal: object) -> float:
    """Return the largest Delta/b for which Laplace noise of scale b meets ``goal`` (T5).

    For a pure goal this is epsilon. With delta, the profile delta(eps) = 1 - e^{(eps - eps0)/2} is below delta at
    epsilon for eps0 = epsilon - 2 log(1 - delta).
    """
    goal = checked_goal(goal)
    if isinstance(goal, ApproxDP) and goal.delta > 0:
        return lowered(goal.epsilon - 2 * math.log1p(-goal.delta))
    return pure_epsilon(goal, "LaplaceMechanism")


def pure_epsilon(goal: object, mechanism: str) -> float:
    """Return the epsilon of a pure mechanism for ``goal``; epsilon-DP implies (epsilon, delta)-DP (T1)."""
    goal = checked_goal(goal)
    if isinstance(goal, PureDP | ApproxDP):
        return goal.epsilon
    raise ConversionError(
        f"{mechanism} is calibrated to PureDP(epsilon, adjacency) or ApproxDP(epsilon, delta, adjacency), got "
        f"{arg('goal', shown(goal))}.",
        remedy=f"Of the mechanisms, only GaussianMechanism has {type(goal).__name__} goals.",
    )


def local_epsilon(goal: object, mechanism: str) -> float:
    """Return the epsilon of a local mechanism: pure under replace-one, without a guarantee under add/remove (T9)."""
    epsilon = pure_epsilon(goal, mechanism)
    if checked_goal(goal).adjacency is not Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            f"{mechanism} is local: every record sends an answer, so their number is public, and only "
            f"{arg('adjacency', 'replace_one')} is proved (T9), got {arg('goal', shown(goal))}.",
            remedy="Give a replace_one goal.",
        )
    return epsilon


def quotient_down(numerator: float, denominator: float) -> float:
    """Return numerator / denominator, rounded down."""
    return round_down(Fraction(numerator) / Fraction(denominator))


def quotient_up(numerator: float, denominator: float) -> float:
    """Return numerator / denominator, rounded up."""
    return round_up(Fraction(numerator) / Fraction(denominator))
