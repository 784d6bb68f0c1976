# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The tail of the privacy loss against the exact delta (T2): why an accountant must not use the tail.

The exact delta is E[(1 - e^{eps - L})_+] (T2), not P(L > eps). Erratum E11 (see docs/errata.md): the lecture of
Razaviyayn uses the tail as an accountant, and only in one direction of the pair.
"""

import math

from scipy.special import log_ndtr, ndtri_exp

from dperm import checks
from dperm.accounting.theorems._rounding import ALLOWANCE, up_delta


def gaussian_loss_tail(epsilon: float, mu: float) -> float:
    """Return P(L > epsilon) for the privacy loss L ~ N(mu^2/2, mu^2) of the Gaussian mechanism.

    Theorem T2a: if P(L > eps) <= delta in both directions of every neighbouring pair, the mechanism is (eps, delta)-DP.
    The condition is sufficient, but not necessary. At mu = 1 and eps = 3, the tail probability is 0.00621, but the
    exact delta is 0.00154.

    Parameters
    ----------
    epsilon
        Threshold for the privacy loss; any finite number.
    mu
        Ratio of sensitivity to standard deviation, positive.

    Returns
    -------
    float
        Tail probability, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon, mu = checks.real("epsilon", epsilon), checks.positive("mu", mu)
    return up_delta(math.exp(float(log_ndtr(mu / 2 - epsilon / mu))))


def gaussian_tail_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon at which the Gaussian mechanism satisfies the tail condition T2a for ``delta``.

    The tail condition is P(L > epsilon) <= delta for the privacy loss L. The result is mu^2/2 + mu z, where
    P(N(0,1) > z) = delta, or 0 if this number is negative. At mu = 1 and delta = 1e-5, the result is 4.7649, but the
    exact epsilon is 4.3772 (T6).

    Parameters
    ----------
    mu
        Ratio of sensitivity to standard deviation, positive.
    delta
        Target delta, in (0, 1).

    Returns
    -------
    float
        Epsilon, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    mu, delta = checks.positive("mu", mu), checks.positive_delta("delta", delta)
    quantile = -float(ndtri_exp(math.log(delta)))
    # the two terms cancel when delta > 1/2, so the allowance goes by their sizes
    allowance = ALLOWANCE * mu * (mu + abs(quantile))
    return max(mu * (mu / 2 + quantile) + allowance, 0.0)


def loss_tail_bound(epsilon: float, delta: float, *, threshold: float) -> float:
    """Return an upper bound on P(L > threshold) for the privacy loss L of any (epsilon, delta)-DP mechanism.

    Theorem T2b, a partial converse of T2a by Markov's inequality.
        (eps, delta)-DP implies P(L > eps') <= delta / (1 - e^{eps - eps'}) for every eps' > eps.

    For eps' <= eps, the function returns the trivial bound 1.

    Parameters
    ----------
    epsilon
        Epsilon of the mechanism, at least 0.
    delta
        Delta of the mechanism, in [0, 1).
    threshold
        Threshold eps' for the privacy loss; any finite number.

    Returns
    -------
    float
        Upper bound on the probability, rounded up; at most 1.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.small_delta("delta", delta)
    threshold = checks.real("threshold", threshold)
    if threshold <= epsilon:
        return 1.0
    return up_delta(delta / -math.expm1(epsilon - threshold)) if delta > 0 else 0.0
