# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Finite classes: excess risk and sample size of the exponential mechanism (T59, E25); packing bound (T60, E20).

Losses are in [0, 1], the utility is minus their sum over the records, and the rate is epsilon/2 under replace-one,
epsilon under add/remove, where all sums move in the same direction (T8). Bounds are rounded up.
"""

import math
from dataclasses import dataclass

from dperm import checks
from dperm.privacy import Adjacency
from dperm.privacy.rounding import lowered, raised
from dperm.theory.results import constant, positive_epsilon
from dperm.theory.search import smallest_count

BETA = "It is the largest probability of failure of the bound."


@dataclass(frozen=True)
class FiniteClassRisk:
    """Bound on the excess population risk of a hypothesis selected by the exponential mechanism, with its terms (T59).

    In the formulas, H is the number of hypotheses, n is the number of records, and beta is the largest probability that
    the bound fails. For a guarantee with privacy-loss bound epsilon, the rate r of the exponential mechanism is
    epsilon/2 under replace-one and epsilon under add/remove. The realizable case is the case in which some hypothesis
    has population risk 0.

    Attributes
    ----------
    bound
        Bound on the excess population risk, rounded up and at most 1.
    deviation
        Bound sqrt(ln(4H/beta)/(2n)) on the distance between the empirical and the population risk of every hypothesis.
        In the realizable case, this attribute is the term D = ln(2H/beta)/n instead.
    selection
        Bound ln(2H/beta)/(n r) on the difference between the empirical risk of the selected hypothesis and the smallest
        empirical risk.
    """

    bound: float
    deviation: float
    selection: float


def finite_class_empirical_gap(
    hypotheses: int, n: int, *, epsilon: float, beta: float, adjacency: Adjacency | str
) -> float:
    """Return a bound on the excess empirical risk of the hypothesis selected by the exponential mechanism (T59).

    The excess is relative to the smallest empirical risk in the class, and the loss of each record is in [0, 1]. By T8,
    the bound is 2 ln(H/beta)/(n eps) under replace-one, and half as much under add/remove. It holds with probability at
    least 1 - beta. For the private choice of a threshold from a grid, the hypotheses are the G threshold rules of the
    grid, and the loss is 1 for a misclassified record and 0 for any other. T61 gives the same bound with H = G, which
    is 2 (ln G + ln(1/beta))/(n eps) under replace-one.

    Parameters
    ----------
    hypotheses
        Number H of hypotheses.
    n
        Number of records.
    epsilon
        Epsilon of the guarantee, positive.
    beta
        Largest probability that the bound fails, in (0, 1).
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".

    Returns
    -------
    float
        The bound, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    rate, logarithm = _rate(epsilon, adjacency), _log_ratio(hypotheses, beta)
    return raised(logarithm / (checks.count("n", n) * rate), 16)


def finite_class_excess_risk(
    hypotheses: int, n: int, *, epsilon: float, beta: float, adjacency: Adjacency | str, realizable: bool = False
) -> FiniteClassRisk:
    """Return a bound on the excess population risk of the hypothesis selected by the exponential mechanism.

    The excess is relative to the smallest population risk in the class, and the loss of each record is in [0, 1].

    Theorem T59, replace-one (under add/remove, the terms with eps are halved).
        With probability at least 1 - beta, the excess is at most 2 sqrt(ln(4H/beta)/(2n)) + 2 ln(2H/beta)/(n eps). In
        the realizable case (some hypothesis has population risk 0), the bound is D + G + sqrt(D (D + 2G)) <= 2 (D + G),
        with D = ln(2H/beta)/n and G = 2 ln(2H/beta)/(n eps).

    Erratum E25: the table in Wang's lecture (see docs/errata.md) omits the constants and the factor 2.

    Parameters
    ----------
    hypotheses
        Number H of hypotheses.
    n
        Number of independent records.
    epsilon, adjacency
        Epsilon of the guarantee, positive, and its neighbouring relation, "add_remove" or "replace_one".
    beta
        Largest probability that the bound fails, in (0, 1).
    realizable
        Whether some hypothesis is known to have population risk 0.

    Returns
    -------
    FiniteClassRisk
        The bound with its terms.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    n, beta = checks.count("n", n), checks.positive_delta("beta", beta, BETA)
    selection = finite_class_empirical_gap(hypotheses, n, epsilon=epsilon, beta=beta / 2, adjacency=adjacency)
    if checks.truth("realizable", realizable):
        deviation = raised(_log_ratio(hypotheses, beta / 2) / n)
        total = deviation + selection + math.sqrt(deviation * (deviation + 2 * selection))
    else:
        deviation = raised(math.sqrt(_log_ratio(hypotheses, beta / 4) / (2 * n)))
        total = 2 * deviation + selection
    return FiniteClassRisk(min(1.0, raised(total)), deviation, selection)


def finite_class_sample_size(
    hypotheses: int,
    excess: float,
    *,
    epsilon: float,
    beta: float,
    adjacency: Adjacency | str,
    realizable: bool = False,
) -> int:
    """Return the smallest number of records at which `finite_class_excess_risk` is at most ``excess`` (T59).

    Parameters
    ----------
    hypotheses
        Number H of hypotheses.
    excess
        Target for the excess population risk (of the mean loss, not of the sum), positive.
    epsilon
        Epsilon of the guarantee, positive.
    beta
        Largest probability that the bound fails, in (0, 1).
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    realizable
        Whether some hypothesis is known to have population risk 0.

    Returns
    -------
    int
        Number of records.

    Raises
    ------
    ParameterError
        If an argument is out of range, or more than 2^53 records are needed.
    """

    def reached(n: int) -> bool:
        risk = finite_class_excess_risk(
            hypotheses, n, epsilon=epsilon, beta=beta, adjacency=adjacency, realizable=realizable
        )
        return risk.bound <= target

    target = constant("excess", excess)
    return smallest_count(reached, 1)


def _rate(epsilon: float, adjacency: Adjacency | str) -> float:
    """Return the rate r of T8 for losses in [0, 1]."""
    epsilon = positive_epsilon("epsilon", epsilon)
    return epsilon if Adjacency.of(adjacency) is Adjacency.ADD_REMOVE else epsilon / 2


def _log_ratio(hypotheses: int, beta: float) -> float:
    """Return ln(H/beta), without a quotient that could overflow."""
    size, failure = checks.count("hypotheses", hypotheses), checks.positive_delta("beta", beta, BETA)
    return math.log(size) - math.log(failure)


def packing_sample_size(sets: int, epsilon: float, *, adjacency: Adjacency | str, success: float = 0.9) -> float:
    """Return a lower bound on the number of records that any epsilon-DP algorithm needs, by a packing argument.

    Theorem T60.
        Let the data sets D_1, ..., D_K have n records each and disjoint sets of correct answers. An eps-DP algorithm A
        whose answer on each data set is correct with probability at least s needs n >= ln(s (K - 1)/(1 - s))/eps under
        replace-one. The reason is that any two of the data sets are at most n replacements apart, so
        1 - s >= P(A(D_1) wrong) >= (K - 1) e^(-n eps) s. Under add/remove, two of the data sets can be 2n additions and
        removals apart, and the bound is halved.

    Erratum E20: Wang's lecture (see docs/errata.md) prints K instead of K - 1, and A(D_i) instead of A(D_1).

    Parameters
    ----------
    sets
        Number K of data sets, at least 2.
    epsilon
        Epsilon of the pure guarantee, positive. T60 does not cover (epsilon, delta)-DP with delta > 0.
    adjacency
        Neighbouring relation of the guarantee, "add_remove" or "replace_one".
    success
        Probability s of a correct answer, in (0, 1).

    Returns
    -------
    float
        Lower bound on n, rounded down; 0.0 if the theorem gives no positive bound.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    sets, success = checks.count("sets", sets, least=2), checks.positive_delta("success", success)
    steps = 1 if Adjacency.of(adjacency) is Adjacency.REPLACE_ONE else 2
    odds = math.log(sets - 1) + math.log(success) - math.log1p(-success)
    # the terms cancel where the bound is small: their rounding is taken off before the division
    slack = 4 * 2.0**-53 * (math.log(sets) + abs(math.log(success)) + abs(math.log1p(-success)) + 1)
    return lowered(max(0.0, odds - slack) / (steps * positive_epsilon("epsilon", epsilon)))
