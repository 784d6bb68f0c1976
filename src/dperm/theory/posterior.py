# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Efficiency of one posterior sample (T49); tempering powers and guarantees are in `dperm.sensitivity`."""

from fractions import Fraction

from dperm.privacy.rounding import round_up
from dperm.theory.results import constant


def posterior_inflation(temperature: float) -> float:
    """Return the asymptotic variance of one tempered sample divided by that of an efficient estimator: 1 + 1/tau (T49).

    Asymptotically, the mean of the tempered posterior has the variance of an efficient estimator. Sampling around the
    mean adds 1/tau times this variance.

    Parameters
    ----------
    temperature
        Inverse temperature tau > 0, the power of the likelihood.

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
