# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of the noisy scores by which a private search compares models (T93)."""

import math

from dperm import checks
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised


def graded_sums_sensitivity(models: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of the vector with the sum of g and the sum of 1 - g of each model (T93).

    A validation record has one grade in [0, 1] for each model. For one model it adds (g, 1 - g), of norm at most 1:
    sqrt(m) for m models under add/remove. A replaced record moves (g, 1 - g) by (d, -d) with abs(d) <= 1: sqrt(2 m).

    Parameters
    ----------
    models
        Number m of models that are scored on the same records and whose scores are drawn together.
    adjacency
        Neighbouring relation.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    count = checks.count("models", models, "It is the number of models that are scored together.")
    return raised(math.sqrt(count if adjacency is Adjacency.ADD_REMOVE else 2 * count))
