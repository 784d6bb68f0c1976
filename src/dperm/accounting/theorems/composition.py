# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Composition theorems of the textbooks: basic (T11), advanced (T12) and its inverse (T12a).

All three theorems assume that epsilon and delta of every mechanism are fixed before the first release. The mechanisms
themselves may be chosen adaptively. T14 states the conditions for adaptively chosen epsilons and deltas. The module
``optimal`` computes the exact composition.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

from dperm import checks
from dperm.accounting.theorems._atoms import combined
from dperm.accounting.theorems._rounding import checked_pairs, down, up, up_delta
from dperm.checks import shown
from dperm.errors import AssumptionError
from dperm.privacy.rounding import round_up


def basic_composition(epsilons: Iterable[float], deltas: Iterable[float]) -> tuple[float, float]:
    """Return the (epsilon, delta) guarantee of basic composition: the sums of the epsilons and of the deltas.

    Theorem T11 [Dwork & Roth 2014, Thm 3.16].
        Adaptively composed (eps_i, delta_i)-DP mechanisms are (sum eps_i, sum delta_i)-DP.

    Parameters
    ----------
    epsilons
        Epsilon of each mechanism, at least 0.
    deltas
        Delta of each mechanism, in [0, 1); as many values as ``epsilons``.

    Returns
    -------
    tuple[float, float]
        Epsilon and delta of the composition: the exact sums, rounded up. Delta is at most 1.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    pairs = checked_pairs(epsilons, deltas)
    epsilon = round_up(sum((Fraction(epsilon) for epsilon, _ in pairs), Fraction()))
    delta = round_up(sum((Fraction(delta) for _, delta in pairs), Fraction()))
    return epsilon, min(delta, 1.0)


def advanced_composition(epsilon: float, delta: float, *, count: int, slack: float) -> tuple[float, float]:
    """Return the (epsilon, delta) guarantee of advanced composition, which adds ``slack`` to delta.

    Theorem T12 [Dwork & Roth 2014, Thm 3.20, with the smaller second term of Kairouz, Oh & Viswanath 2015].
        For every slack > 0, the composition of T mechanisms that are (eps, delta)-DP is (eps', delta')-DP with
            eps'   = eps sqrt(2 T ln(1/slack)) + T eps (e^eps - 1)/(e^eps + 1)
            delta' = T delta + slack.

    Erratum E1 (see docs/errata.md): the lecture of Razaviyayn prints the denominator as e^{eps+1}. The printed formula
    gives an epsilon that is too small, so it is unsafe. For eps = 1, delta = 0, T = 1000 and slack = 1e-6, it gives
    398.8, but at this epsilon the true delta is 0.986 (T13). The correct value is 628.3.

    Parameters
    ----------
    epsilon
        Epsilon of each mechanism, at least 0.
    delta
        Delta of each mechanism, in [0, 1).
    count
        Number T of mechanisms, at least 1.
    slack
        Additional delta for the composition, in (0, 1). A smaller slack gives a larger epsilon.

    Returns
    -------
    tuple[float, float]
        Epsilon and delta of the composition, rounded up. For few mechanisms, the epsilon T eps of ``basic_composition``
        is smaller; the function does not take the minimum. ``advanced_composition_delta`` gives a smaller delta.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.small_delta("delta", delta)
    count, slack = checks.count("count", count), checks.positive_delta("slack", slack)
    spread = epsilon * math.sqrt(2 * count * -math.log(slack))
    # tanh(eps/2) = (e^eps - 1)/(e^eps + 1), without overflow or cancellation
    drift = count * epsilon * math.tanh(epsilon / 2)
    return up(spread + drift), up_delta(count * delta + slack)


def advanced_composition_delta(delta: float, *, count: int, slack: float) -> float:
    """Return the delta of T12 in its sharper form, 1 - (1 - delta)^T (1 - slack) instead of T delta + slack.

    In the worst case, each mechanism is eps-DP outside an event of probability delta [Kairouz, Oh & Viswanath 2015].
    These events are independent, so their union has probability 1 - (1 - delta)^T. The slack is needed only on the
    complement of this union.

    Parameters
    ----------
    delta
        Delta of each mechanism, in [0, 1).
    count
        Number T of mechanisms, at least 1.
    slack
        Additional delta for the composition, in (0, 1); the same value as for ``advanced_composition``.

    Returns
    -------
    float
        Delta of the composition, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    delta, count = checks.small_delta("delta", delta), checks.count("count", count)
    slack = checks.positive_delta("slack", slack)
    return combined(infinite_mass([(delta, count)]), slack)


def per_step_epsilon(epsilon: float, *, count: int, slack: float) -> float:
    """Return the epsilon of each mechanism for a composition of ``count`` mechanisms with total epsilon ``epsilon``.

    Theorem T12a [Dwork & Roth 2014, Cor 3.21].
        Let 0 < eps < 1, slack <= 1/2 and eps' = eps / sqrt(8 T ln(1/slack)). The composition of T mechanisms that are
        (eps', delta')-DP is (eps, T delta' + slack)-DP.

    Errata E12 and E39 (see docs/errata.md) concern the lecture of Razaviyayn. For DP gradient descent, the lecture sets
    slack = delta' = delta/(T+1), but writes ln(1/delta) instead of ln((T+1)/delta) in eps'. For the correct value, pass
    ``slack=delta / (T + 1)``. The lecture also omits the condition slack <= 1/2. The formula is unsafe for a slack near
    1.

    Parameters
    ----------
    epsilon
        Epsilon of the composition, in (0, 1).
    count
        Number T of mechanisms, at least 1.
    slack
        Additional delta for the composition, in (0, 1/2].

    Returns
    -------
    float
        Epsilon of each mechanism, rounded *down*, because a smaller epsilon is safe.

    Raises
    ------
    AssumptionError
        If epsilon >= 1 or slack > 1/2, where the theorem does not apply.
    ParameterError
        If an argument is out of range.
    """
    epsilon, count = checks.positive("epsilon", epsilon), checks.count("count", count)
    slack = checks.positive_delta("slack", slack)
    if epsilon >= 1:
        raise AssumptionError(
            f"the simplified advanced composition (T12a) is proved for epsilon < 1, got {shown(epsilon)}. "
            "Use optimal_composition_epsilon, or calibrate the noise with dperm.accounting.calibrate()."
        )
    if slack > 0.5:
        raise AssumptionError(f"the simplified advanced composition (T12a) needs slack <= 1/2, got {shown(slack)}.")
    return down(epsilon / math.sqrt(8 * count * -math.log(slack)))


def infinite_mass(deltas: Iterable[tuple[float, int]]) -> float:
    """1 - prod (1 - delta_i)^{k_i} over pairs (delta_i, k_i), rounded up; exact for a single mechanism."""
    positive = [(delta, count) for delta, count in deltas if delta > 0]
    if not positive:
        return 0.0
    if len(positive) == 1 and positive[0][1] == 1:
        return positive[0][0]
    return up_delta(-math.expm1(math.fsum(count * math.log1p(-delta) for delta, count in positive)))
