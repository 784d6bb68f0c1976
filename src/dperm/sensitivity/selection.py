# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of the noisy scores by which a private search compares models (T93)."""

import math

from dperm import checks
from dperm.privacy import Adjacency
from dperm.privacy.rounding import raised


def graded_sums_sensitivity(models: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of the sums of grades of several models, released as one vector (T93).

    The grade g of a model on a validation record is a number in [0, 1], which measures how good the prediction is. The
    vector contains the sum of g and the sum of 1 - g for each model. Adding or removing a record changes the two sums
    of each model by (g, 1 - g). This change has norm at most 1, so the sensitivity for m models is sqrt(m). Replacing a
    record changes the two sums of each model by (d, -d) with abs(d) <= 1, so the sensitivity is sqrt(2 m).

    Parameters
    ----------
    models
        Number m of models whose grades on the same records are released together.
    adjacency
        Neighbouring relation: `Adjacency.ADD_REMOVE` or `Adjacency.REPLACE_ONE`.

    Returns
    -------
    float
        The sensitivity, rounded up.
    """
    count = checks.count("models", models, "It is the number of models that are scored together.")
    return raised(math.sqrt(count if adjacency is Adjacency.ADD_REMOVE else 2 * count))
