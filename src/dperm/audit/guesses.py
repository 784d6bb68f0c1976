# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From correct guesses of fair coins to a lower bound on epsilon: one binomial at full alpha (A4).

An independent fair coin per run decides whether the record is in; the attacker guesses the coin by a rule fixed in
advance. Conditionally on the run being guessed its guess is right with probability at most q, a function of the
guarantee, so the number of right ones lies below Bin(guesses, q) and CP_lo(correct, guesses, alpha) <= q. One interval
at alpha is tighter than the two at alpha/2 of A2 and A3. The coins must be independent: no stratified split.
"""

from dperm import checks
from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper
from dperm.audit.levels import alpha_of, counts, gaussian_bound, gaussian_delta, gaussian_separation, log_ratio
from dperm.audit.lower_bound import LowerBound


def pure_from_guesses(correct: int, guesses: int, *, confidence: float = 0.95) -> LowerBound:
    """The epsilon that pure DP needs for so many right guesses; the attacker may abstain (A4).

    P(right | guess) <= q = e^eps / (1 + e^eps), whatever set of outputs is guessed on, so eps >= logit(CP_lo).
    900 of 1000 give 2.02123323.
    """
    alpha = alpha_of(confidence)
    correct, guesses = counts(correct, guesses)
    epsilon = log_ratio(_right(correct, guesses, alpha), _wrong(correct, guesses, alpha))
    return LowerBound(epsilon, 0.0, confidence, "one binomial of guesses, pure DP (A4)")


def approximate_from_guesses(correct: int, guesses: int, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """The epsilon that (epsilon, delta)-DP needs, if EVERY run was guessed.

    P(right) = (1 + advantage)/2 is at most (1 + TV)/2, and the total variation of an (eps, delta)-DP pair is at most
    1 - 2 (1 - delta)/(1 + e^eps), at the kink of its trade-off curve. So P(right) <= (e^eps + delta)/(1 + e^eps), and
    eps >= log((CP_lo - delta) / (1 - CP_lo)). An attacker who abstains could wait for the delta: then use A2.

    Parameters
    ----------
    guesses
        The number of all runs.
    """
    delta, alpha = checks.small_delta("delta", delta), alpha_of(confidence)
    correct, guesses = counts(correct, guesses)
    epsilon = log_ratio(_right(correct, guesses, alpha) - delta, _wrong(correct, guesses, alpha))
    return LowerBound(epsilon, delta, confidence, "one binomial of guesses in every run (A4)")


def gaussian_from_guesses(correct: int, guesses: int, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """The same under mu-GDP (T19), if EVERY run was guessed: tighter than A3.

    P(right) = (1 + advantage)/2 <= (1 + TV)/2. Total variation is 1 - min(x + G_mu(x)), attained where the trade-off
    curve has slope -1: TV(N(0,1), N(mu,1)) = 2 Phi(mu/2) - 1. So P(right) <= Phi(mu/2), and mu >= 2 Phi^-1(CP_lo).

    Parameters
    ----------
    guesses
        The number of all runs.
    """
    delta = gaussian_delta(delta)
    mu = gaussian_mu_from_guesses(correct, guesses, confidence=confidence)
    method = "mu-GDP from one binomial of guesses in every run (A4)"
    return gaussian_bound(mu, delta=delta, confidence=confidence, method=method)


def gaussian_mu_from_guesses(correct: int, guesses: int, *, confidence: float = 0.95) -> float:
    """The lower bound on mu itself, 0 where the guesses show nothing."""
    alpha = alpha_of(confidence)
    wrong = _wrong(*counts(correct, guesses), alpha)
    return max(0.0, gaussian_separation(wrong, wrong))


def _right(correct: int, guesses: int, alpha: float) -> float:
    return float(clopper_pearson_lower(correct, guesses, alpha))


def _wrong(correct: int, guesses: int, alpha: float) -> float:
    """1 minus the above, to full relative accuracy."""
    return float(clopper_pearson_upper(guesses - correct, guesses, alpha))
