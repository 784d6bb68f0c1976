# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From a goal (a guarantee) to the parameter of a mechanism that meets it: one function per theorem.

Each returns a parameter that is safe to calibrate with, rounded down; a goal that no theorem reaches with the mechanism
is refused.
"""

import math
from fractions import Fraction

from dperm.checks import shown
from dperm.errors import AdjacencyError, ConversionError, ParameterError
from dperm.privacy import GDP, RDP, ZCDP, Adjacency, ApproxDP, PureDP
from dperm.privacy.gaussian_profile import mu_for
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered, round_down, round_up


def checked_goal(goal: object) -> AnyGuarantee:
    """``goal``, if it is a guarantee that leaves something to spend."""
    if not isinstance(goal, AnyGuarantee):
        raise ParameterError(
            f'goal must be a guarantee such as ApproxDP(1.0, 1e-6, "replace_one") or PureDP(1.0, "add_remove"), '
            f"got {shown(goal)}."
        )
    if isinstance(goal, PureDP | ApproxDP) and goal.epsilon <= 0:
        raise ParameterError(
            f"goal must have epsilon > 0, got {shown(goal)}. With epsilon = 0 nothing can be released."
        )
    return goal


def gaussian_mu(goal: object) -> float:
    """The largest mu such that mu-GDP implies ``goal``: T6 for (epsilon, delta), T18 for rho, T16 for a Renyi curve.

    Gaussian noise of standard deviation Delta / mu is mu-GDP; rho-zCDP needs mu^2/2 <= rho, a curve needs
    alpha mu^2/2 <= tau at each of its orders.
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
                f"Gaussian noise never has a pure guarantee (delta > 0 at every epsilon, T6), got goal={shown(goal)}. "
                f"Use LaplaceMechanism or GammaNormMechanism, or a goal with delta > 0."
            )
    if mu <= 0:
        raise ParameterError(f"goal must leave something to spend, got {shown(goal)}.")
    return mu


def laplace_epsilon(goal: object) -> float:
    """The largest Delta/b such that Laplace noise of scale b meets ``goal`` (T5).

    Pure: epsilon. With delta: the profile delta(eps) = 1 - e^{(eps - eps0)/2} is below delta at epsilon for
    eps0 = epsilon - 2 log(1 - delta).
    """
    goal = checked_goal(goal)
    if isinstance(goal, ApproxDP) and goal.delta > 0:
        return lowered(goal.epsilon - 2 * math.log1p(-goal.delta))
    return pure_epsilon(goal, "LaplaceMechanism")


def pure_epsilon(goal: object, mechanism: str) -> float:
    """The epsilon of a pure mechanism that meets ``goal``: (epsilon, delta)-DP asks no more than epsilon-DP (T1)."""
    goal = checked_goal(goal)
    if isinstance(goal, PureDP | ApproxDP):
        return goal.epsilon
    raise ConversionError(
        f"{mechanism} is calibrated to PureDP(epsilon, adjacency) or ApproxDP(epsilon, delta, adjacency), "
        f"got goal={shown(goal)}. Of the mechanisms, only GaussianMechanism has {type(goal).__name__} goals."
    )


def local_epsilon(goal: object, mechanism: str) -> float:
    """The epsilon of a local mechanism, which is pure under replace-one and says nothing under add/remove (T9)."""
    epsilon = pure_epsilon(goal, mechanism)
    if checked_goal(goal).adjacency is not Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            f"{mechanism} is local: every record sends an answer, so their number is public and only "
            f'adjacency="replace_one" is proved (T9), got goal={shown(goal)}. Give a replace_one goal.'
        )
    return epsilon


def quotient_down(numerator: float, denominator: float) -> float:
    """The quotient, rounded down."""
    return round_down(Fraction(numerator) / Fraction(denominator))


def quotient_up(numerator: float, denominator: float) -> float:
    """The quotient, rounded up."""
    return round_up(Fraction(numerator) / Fraction(denominator))
