# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of private evaluation: histograms of scores, sums of errors, and sums of losses (T85, T88, T89)."""

import math

from dperm import checks
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised

ERROR_SUMS = 8
"""Sums of a regression: records, |e|, e^2, t, t^2, 3 e^2 (1 - e^2), 3 t^2 (1 - t^2), t (1 - t^2)."""
GROUP_SUMS = 4
"""Sums of each declared group of a regression: records, |e|, e^2, 2 e^2 (1 - e^2)."""
FOURTH, GROUP_FOURTH = 3.0, 2.0
"""Factors of e^2 (1 - e^2) in these sums, the largest integers that do not raise the sensitivity."""


def evaluation_histogram_sensitivity(histograms: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of histograms of evaluated records, released as one vector (T85).

    Every record is counted once in each of the h histograms. Adding or removing a record changes one cell of each
    histogram by 1, so the sensitivity is sqrt(h). Replacing a record lowers one cell of each histogram by 1 and raises
    another by 1, so the sensitivity is sqrt(2 h).

    Parameters
    ----------
    histograms
        Number h of histograms, such as those of scores, predicted classes and groups.
    adjacency
        Neighbouring relation: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    count = checks.count("histograms", histograms, "It is the number of histograms.")
    return raised(math.sqrt(count if adjacency is Adjacency.ADD_REMOVE else 2 * count))


def error_sums_sensitivity(adjacency: Adjacency, *, groups: bool = False) -> float:
    """Return the L2 sensitivity of the sums released to evaluate a regression (T88).

    For each record, e is the error of the prediction and t is the label minus the middle of the label range. Both are
    divided by half the width of the label range and clipped to [-1, 1]. The sums of (1, abs(e), e^2, t, t^2) have
    sensitivity sqrt(5) under add/remove and sqrt(6) under replace-one. The evaluation also releases the sums of
    3 e^2 (1 - e^2), 3 t^2 (1 - t^2) and t (1 - t^2), from which it computes third and fourth moments. These sums do not
    increase the sensitivity. With declared groups, a record also adds (1, abs(e), e^2, 2 e^2 (1 - e^2)) to the sums of
    its own group. The sensitivity is then sqrt(8) under add/remove, and sqrt(10) under replace-one, where the new
    record may be in another group.

    Parameters
    ----------
    adjacency
        Neighbouring relation: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.
    groups
        Whether sums for each declared group are released too.

    Returns
    -------
    float
        The sensitivity of the sums of scaled and clipped numbers, rounded up.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return raised(math.sqrt(8 if groups else 5))
    return raised(math.sqrt(10 if groups else 6))


def log_loss_sensitivity(largest: float, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of a sum of log losses, each in [0, C] (T89).

    Probabilities are clipped to [p, 1 - p], so a log loss is at most C = ln(1/p). Under add/remove, the number of
    records is private and is released together with the sum, so the sensitivity is sqrt(C^2 + 1). Under replace-one,
    the number of records is public, so the sensitivity is C.

    Parameters
    ----------
    largest
        Largest log loss C of a record, positive.
    adjacency
        Neighbouring relation: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    bound = checks.positive("largest", largest, "It is ln(1/p) for probabilities clipped to [p, 1 - p].")
    return raised(math.hypot(bound, 1.0) if adjacency is Adjacency.ADD_REMOVE else bound)
