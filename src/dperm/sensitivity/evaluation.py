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
"""Factors of e^2 (1 - e^2) in these sums, the largest whole ones that do not raise the sensitivity."""


def evaluation_histogram_sensitivity(histograms: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of histograms of evaluated records, released as one vector (T85).

    A record adds 1 to exactly one cell of each histogram: sqrt(h) under add/remove. A replaced record lowers one cell
    and raises another in each histogram: sqrt(2 h) under replace-one. For one histogram, the sensitivity is 1 or
    sqrt(2); for two, sqrt(2) or 2. Every record is in all histograms, so each histogram adds to the sensitivity.

    Parameters
    ----------
    histograms
        Number h of histograms: of scores, of predicted classes, or of groups.
    adjacency
        Neighbouring relation.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    count = checks.count("histograms", histograms, "It is the number of histograms.")
    return raised(math.sqrt(count if adjacency is Adjacency.ADD_REMOVE else 2 * count))


def error_sums_sensitivity(adjacency: Adjacency, *, groups: bool = False) -> float:
    """Return the L2 sensitivity of the sums of a regression (T88).

    With e and t clipped to [-1, 1], the sums of (1, abs(e), e^2, t, t^2) have sensitivity sqrt(5) under add/remove and
    sqrt(6) under replace-one. The sums of 3 e^2 (1 - e^2), 3 t^2 (1 - t^2) and t (1 - t^2), from which third and fourth
    moments follow, do not raise it. With declared groups, a record also adds (1, abs(e), e^2, 2 e^2 (1 - e^2)) to
    the sums of its own group: sqrt(8), and sqrt(10) under replace-one, where the new record may be in another group.

    Parameters
    ----------
    adjacency
        Neighbouring relation.
    groups
        Whether the sums of declared groups are released too.

    Returns
    -------
    float
        The sensitivity in units of the clipping bound, rounded up.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return raised(math.sqrt(8 if groups else 5))
    return raised(math.sqrt(10 if groups else 6))


def log_loss_sensitivity(largest: float, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of a sum of losses in [0, C], with the number of records under add/remove (T89).

    Probabilities are clipped to [p, 1 - p], so a log loss is at most C = ln(1/p). Under add/remove the number of
    records is private and released beside the sum: sqrt(C^2 + 1). Under replace-one it is public: C.

    Parameters
    ----------
    largest
        Largest loss C of a record.
    adjacency
        Neighbouring relation.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    bound = checks.positive("largest", largest, "It is ln(1/p) for probabilities clipped to [p, 1 - p].")
    return raised(math.hypot(bound, 1.0) if adjacency is Adjacency.ADD_REMOVE else bound)
