# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Area under a ROC curve, with a confidence interval."""

import math

import numpy as np
from scipy.special import expit, logit, ndtri

from dperm.data.arrays import Floats

_BISECTIONS = 60


def placements(members: Floats, non_members: Floats) -> tuple[Floats, Floats]:
    """Return the share of non-members below each member, and the share of members above each non-member.

    A tie counts one half. The mean of either is the area (Mann & Whitney), and their variances are DeLong's.
    """
    low, high = np.sort(non_members), np.sort(members)
    below = np.searchsorted(low, members, "left") + np.searchsorted(low, members, "right")
    beneath = np.searchsorted(high, non_members, "left") + np.searchsorted(high, non_members, "right")
    return below / (2 * len(low)), 1 - beneath / (2 * len(high))


def area(members: Floats, non_members: Floats) -> float:
    """Return P(member's score > non-member's) + P(equal)/2 for the given scores."""
    return float(placements(members, non_members)[0].mean())


def area_interval(members: Floats, non_members: Floats, confidence: float) -> tuple[float, float]:
    """Return an approximate two-sided interval for the area, for independent scores: DeLong, on the logit scale.

    DeLong, DeLong & Clarke-Pearson 1988: var = var(placements of members)/n_1 + var(placements of non-members)/n_0. The
    logit keeps the ends within (0, 1) and the coverage near the edges. For completely separated or tied scores
    (variance 0), the function inverts Hanley & McNeil's variance instead (Newcombe 2006, method 5).
    """
    above, beneath = placements(members, non_members)
    found, z = float(above.mean()), float(ndtri(0.5 + confidence / 2))
    variance = above.var(ddof=1) / len(above) + beneath.var(ddof=1) / len(beneath)
    if not 0 < found < 1 or variance <= 0:
        return _inverted(found, z, len(above), len(beneath))
    half = z * math.sqrt(variance) / (found * (1 - found))
    return float(expit(logit(found) - half)), float(expit(logit(found) + half))


def _inverted(found: float, z: float, members: int, non_members: int) -> tuple[float, float]:
    """Return the two areas at a distance of z of their own standard deviations from ``found``."""

    def deviation(a: float) -> float:
        middle = (members + non_members) / 2 - 1
        inner = 1 + middle * (1 - a) / (2 - a) + middle * a / (1 + a)
        return math.sqrt(a * (1 - a) * inner / (members * non_members))

    def end(inside: float, outside: float) -> float:
        for _ in range(_BISECTIONS):
            middle = (inside + outside) / 2
            if abs(found - middle) <= z * deviation(middle):
                inside = middle
            else:
                outside = middle
        return outside

    return end(found, 0.0), end(found, 1.0)
