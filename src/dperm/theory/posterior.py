# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Efficiency of one posterior sample (T49); tempering powers and guarantees are in `dperm.sensitivity`."""

from fractions import Fraction

from dperm.privacy.rounding import round_up
from dperm.theory.results import constant


def posterior_inflation(temperature: float) -> float:
    """Return 1 + 1/tau, the asymptotic variance of a posterior sample relative to an efficient estimator (T49).

    The sample is a single draw from the tempered posterior, in which the likelihood is raised to the power tau.
    Asymptotically, the mean of this posterior has the variance of an efficient estimator. The draw around the mean adds
    1/tau times this variance.

    Parameters
    ----------
    temperature
        Power tau > 0 of the likelihood, also called the inverse temperature.

    Returns
    -------
    float
        Ratio of the two variances, at least 1, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    return round_up(1 + 1 / Fraction(constant("temperature", temperature)))
