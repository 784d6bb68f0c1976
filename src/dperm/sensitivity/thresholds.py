# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds of noisy counts, above which a value may be shown."""

import math

from scipy.special import ndtri

from dperm import checks
from dperm.accounting.thresholded import checked_values, fresh_value_probability


def discovery_threshold(delta: float, standard_deviation: float, values: int) -> float:
    """Return the smallest threshold at which values of only one record are released with probability at most delta.

    A value is released if its noisy count exceeds the threshold.

    Theorem T73.
        For independent noise N(0, sigma^2) on each count and d values per record, the threshold is
        tau = 1 + sigma Phi^-1((1 - delta)^{1/d}), where Phi is the standard normal distribution function.

    The probability delta covers all d values of a record together. A threshold that is computed for a single value can
    fail with a probability of up to d times delta (E44).

    Parameters
    ----------
    delta
        Largest probability of a failure, in (0, 1). A failure is the release of a value that only one record has.
    standard_deviation
        Standard deviation sigma of the noise on each count, in records.
    values
        Largest number d of values of one record, for example the number of columns; at most 1,000,000.

    Returns
    -------
    float
        Threshold tau for the noisy counts, at least 1, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> from dperm.sensitivity import discovery_threshold
    >>> round(discovery_threshold(1e-6, standard_deviation=34.5, values=15), 1)
    183.0
    """
    delta, sigma = checks.positive_delta("delta", delta), checks.positive("standard_deviation", standard_deviation)
    values = checked_values(values)
    tail = -math.expm1(math.log1p(-delta) / values)
    tau = max(1 - sigma * float(ndtri(tail)), 1.0)
    step = 1e-15
    while fresh_value_probability(tau, sigma, values) > delta:
        tau, step = tau * (1 + step), 2 * step
    return tau
