# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of private preparation: histograms of all columns at once, and of row norms (T72, T74, T76)."""

import math

from dperm import checks
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised

COLUMNS = "It is the number of columns, the target included."


def histogram_sensitivity(columns: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of one histogram for each of d columns, released as one vector (T72, T74).

    A record adds 1 to exactly one count of each column: sqrt(d) under add/remove. A replaced record lowers one count
    and raises another in each column: sqrt(2 d) under replace-one.

    Parameters
    ----------
    columns
        Number d of columns, each with one histogram.
    adjacency
        Neighbouring relation.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    count = checks.count("columns", columns, COLUMNS)
    return raised(math.sqrt(count if adjacency is Adjacency.ADD_REMOVE else 2 * count))


def pooled_histogram_sensitivity(adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of one histogram of all cells, in which a record of d cells has weight 1/d each (T72).

    The weights of a record sum to 1, so its L2 norm is at most 1. Two records have weights at nonnegative places, so
    they differ by at most sqrt(2).

    Parameters
    ----------
    adjacency
        Neighbouring relation.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    return 1.0 if adjacency is Adjacency.ADD_REMOVE else raised(math.sqrt(2))


def pooled_count_sensitivity(columns: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of one histogram of all cells, in which each of a record's d cells counts 1 (T72).

    These counts are whole numbers, d times the weights of `pooled_histogram_sensitivity`: d or sqrt(2) d.

    Parameters
    ----------
    columns
        Number d of pooled columns.
    adjacency
        Neighbouring relation.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    count = checks.count("columns", columns, "It is the number of pooled columns.")
    return raised(count * pooled_histogram_sensitivity(adjacency))


def norm_histogram_sensitivity(adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of the histogram of row norms over a fixed grid (T76).

    A record adds 1 to exactly one count: 1 under add/remove. A replaced record lowers one count and raises another:
    sqrt(2) under replace-one.

    Parameters
    ----------
    adjacency
        Neighbouring relation.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    return histogram_sensitivity(1, adjacency)


def normal_tail_point(probability: float) -> float:
    """Return the z with P(N(0, 1) > z) = ``probability``, rounded up by a relative 1e-12."""
    from scipy.stats import norm

    found = float(norm.isf(probability))
    return found + 1e-12 * max(1.0, abs(found))
