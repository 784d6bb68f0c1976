# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact profile of one release of noisy counts above a threshold."""

import math

from dperm import checks
from dperm.accounting.laws.gaussian import gaussian_delta
from dperm.accounting.theorems._rounding import up_delta
from dperm.accounting.thresholded import checked_values, fresh_value_probability


def thresholded_values_delta(epsilon: float, standard_deviation: float, threshold: float, values: int) -> float:
    """Return the exact delta of one `ThresholdedValues` release under add/remove.

    Theorem T73. A record holds d values, and j of these values are held by no other record.
        With p_j = 1 - Phi((tau - 1)/sigma)^j and m_j = sqrt(d - j)/sigma,
        delta(eps) = max_{0 <= j <= d} max{p_j + (1 - p_j) delta_GDP(eps - ln(1 - p_j); m_j),
        delta_GDP(eps + ln(1 - p_j); m_j)}.

    Here Phi is the standard normal distribution function, and delta_GDP(eps; mu) is the delta of Gaussian noise with
    standard deviation 1/mu and sensitivity 1 (T6). The first term in braces is the delta for removing the record, and
    the second term is the delta for adding the record.

    Parameters
    ----------
    epsilon
        Epsilon, at least 0.
    standard_deviation
        Standard deviation sigma of the noise on each count, in records; positive.
    threshold
        Threshold tau for the noisy counts, from 1 to 1e15.
    values
        Largest number d of values that one record holds, from 1 to 10,000.

    Returns
    -------
    float
        Delta, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    sigma = checks.positive("standard_deviation", standard_deviation)
    values = checks.count("values", checked_values(values), "The maximum is over as many terms.", most=10_000)
    found = 0.0
    for fresh in range(values + 1):
        shown = fresh_value_probability(threshold, sigma, fresh) if fresh else 0.0
        shift, hidden = math.sqrt(values - fresh) / sigma, math.log1p(-shown)
        with_record = shown + (1 - shown) * _gaussian(epsilon - hidden, shift)
        found = max(found, with_record, _gaussian(epsilon + hidden, shift))
    return up_delta(found)


def _gaussian(epsilon: float, mu: float) -> float:
    """Return T6's profile at every real epsilon; without a shift the laws are equal."""
    return gaussian_delta(epsilon, mu) if mu > 0 else max(-math.expm1(epsilon), 0.0)
