# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation by the length of the noise in the plane of two records (T41)."""

import math

from dperm import checks
from dperm.accounting.theorems._rounding import ALLOWANCE, up_delta
from dperm.privacy.gaussian_profile import mills_ratio


def planar_objective_delta(epsilon: float, noise_multiplier: float, *, determinant: float) -> float:
    """Return an upper bound on the delta of objective perturbation under replace_one; losses need not be monotone.

    Theorem T41 (a).
        Let sigma be the standard deviation of the noise, L the Lipschitz constant of one record's loss, and
        c = ``determinant``. The privacy loss is at most U = c + s^2/2 + s R, where s = 2L/sigma and R has the chi
        distribution with two degrees of freedom. Let r = (epsilon - c)/s - s/2, and let M be the Mills ratio of the
        normal distribution. Then delta = s e^{-r^2/2} M(r + s) for r >= 0, and delta = 1 - e^{rs} (1 - s M(s)) for
        r < 0.

    A loss is monotone if its derivative with respect to the score has the same sign at every parameter vector. For
    losses that are not monotone, `account` uses T41 (c), which gives a smaller delta. At epsilon = 1, sigma/L = 5 and
    c = log(1.025), it gives 0.0031044 instead of 0.0110789.

    Parameters
    ----------
    epsilon
        Epsilon, at least 0.
    noise_multiplier
        Ratio sigma/L of the standard deviation of the noise to the Lipschitz constant of one record's loss, positive.
    determinant
        Upper bound c on the change of the log-determinant of the objective's Hessian if one record is added, at least
        0. It is log(1 + beta/Lambda) for linear models, where beta is the smoothness of one record's loss and Lambda
        is the regularization strength (T37).

    Returns
    -------
    float
        Upper bound on delta, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon, c = checks.nonnegative("epsilon", epsilon), checks.nonnegative("determinant", determinant)
    s = 2 / checks.positive("noise_multiplier", noise_multiplier)
    r = (epsilon - c) / s - s / 2
    wrong = ALLOWANCE * (1 + (epsilon + c) / s + s)  # of r, whose terms cancel
    tail = s * math.exp(-(max(r - wrong, 0.0) ** 2) / 2) * mills_ratio(max(r - wrong, 0.0) + s)
    return up_delta(tail if r >= 0 else -math.expm1(min(r - wrong, 0.0) * s) * (1 - tail) + tail)
