# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many records every pure algorithm needs, by packing (T60, E20)."""

import math

from dperm import checks
from dperm.privacy import Adjacency
from dperm.privacy.rounding import lowered
from dperm.theory.results import privacy


def packing_sample_size(sets: int, epsilon: float, *, adjacency: Adjacency | str, success: float = 0.9) -> float:
    """Records below which no pure epsilon-DP algorithm succeeds on each of K data sets with disjoint answers.

    Theorem T60.
        D_1, ..., D_K have n records each and disjoint sets of right answers. An algorithm that is right on each with
        probability s has n >= ln(s (K - 1)/(1 - s))/eps under replace-one, where any two are at most n replacements
        apart: 1 - s >= P(A(D_1) wrong) >= (K - 1) e^(-n eps) s. Under add/remove they are up to 2n steps apart, and the
        bound is halved.

    Erratum E20: the source has K for K - 1, and A(D_i) where A(D_1) belongs.

    Parameters
    ----------
    sets
        K, at least 2.
    epsilon
        Of the pure guarantee. For (epsilon, delta) nothing follows from T60.
    adjacency
        Of the guarantee.
    success
        s, the probability of a right answer.

    Returns
    -------
    float
        A bound that n is not below, rounded down; 0.0 where it says nothing.
    """
    sets, success = checks.count("sets", sets, least=2), checks.positive_delta("success", success)
    steps = 1 if Adjacency.of(adjacency) is Adjacency.REPLACE_ONE else 2
    odds = math.log(sets - 1) + math.log(success) - math.log1p(-success)
    # the terms cancel where the bound is small: their rounding is taken off before the division
    slack = 4 * 2.0**-53 * (math.log(sets) + abs(math.log(success)) + abs(math.log1p(-success)) + 1)
    return lowered(max(0.0, odds - slack) / (steps * privacy("epsilon", epsilon)))
