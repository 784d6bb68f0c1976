# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on epsilon from correct guesses of fair coin flips, by one binomial test (A4).

In each run, an independent fair coin decides whether the record is included. The attacker guesses the coin by a rule
fixed in advance. A guess is correct with probability at most q, which depends on the guarantee, so the number of
correct guesses is stochastically smaller than Bin(guesses, q). Let CP_lo be the Clopper-Pearson lower bound on the
probability of a correct guess, with error probability alpha = 1 - confidence. Then CP_lo <= q holds with probability at
least 1 - alpha. This single interval at alpha is tighter than the two intervals at alpha/2 of A2 and A3. The coin flips
must be independent. They are not independent if exactly half of the runs include the record by design.
"""

from dperm import checks
from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper
from dperm.audit.lower_bound import (
    LowerBound,
    alpha_of,
    checked_guess_counts,
    gaussian_bound,
    gaussian_delta,
    gaussian_separation,
    log_ratio,
)


def pure_from_guesses(correct: int, guesses: int, *, confidence: float = 0.95) -> LowerBound:
    """Return the smallest epsilon of pure DP consistent with the correct guesses; the attacker may abstain (A4).

    In each run, an independent fair coin decides whether the attacked record is included, and the attacker may guess
    the outcome. Under eps-DP, a guess is correct with probability at most e^eps / (1 + e^eps), no matter for which
    outputs the attacker guesses. So eps >= logit(CP_lo), where CP_lo is the Clopper-Pearson lower bound on the
    probability of a correct guess. For example, 900 correct guesses out of 1000 give 2.02123323 at 95 % confidence.

    Parameters
    ----------
    correct, guesses
        Number of correct guesses, and number of all guesses. Runs without a guess are not counted.
    confidence
        Confidence level of the bound.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at delta 0.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    alpha = alpha_of(confidence)
    correct, guesses = checked_guess_counts(correct, guesses)
    epsilon = log_ratio(_right(correct, guesses, alpha), _wrong(correct, guesses, alpha))
    return LowerBound(epsilon, 0.0, confidence, "binomial test on the guesses, pure DP (A4)")


def approximate_from_guesses(correct: int, guesses: int, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return the smallest epsilon of (epsilon, delta)-DP consistent with the guesses, given a guess in EVERY run.

    In each run, an independent fair coin decides whether the attacked record is included, and the attacker guesses the
    outcome. The probability P(correct) of a correct guess is at most (1 + TV)/2, where TV is the total variation
    distance between the outputs with and without the record. Under (eps, delta)-DP, TV is at most
    1 - 2 (1 - delta)/(1 + e^eps). So P(correct) is at most (e^eps + delta)/(1 + e^eps), and
    eps >= log((CP_lo - delta) / (1 - CP_lo)), where CP_lo is the Clopper-Pearson lower bound on P(correct).

    The attacker must not abstain. An attacker who guesses only if a failure event of probability delta occurs could
    always be right. If the attacker may abstain, use `dperm.audit.rates.from_rates` (A2).

    Parameters
    ----------
    correct
        Number of correct guesses.
    guesses
        Number of guesses, which is the number of runs.
    delta
        The delta of the bound.
    confidence
        Confidence level of the bound.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    delta, alpha = checks.small_delta("delta", delta), alpha_of(confidence)
    correct, guesses = checked_guess_counts(correct, guesses)
    epsilon = log_ratio(_right(correct, guesses, alpha) - delta, _wrong(correct, guesses, alpha))
    return LowerBound(epsilon, delta, confidence, "binomial test on the guesses, one in every run (A4)")


def gaussian_from_guesses(correct: int, guesses: int, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return the smallest epsilon of mu-GDP (T19) consistent with the correct guesses, given a guess in EVERY run.

    In each run, an independent fair coin decides whether the attacked record is included, and the attacker guesses the
    outcome. The probability P(correct) of a correct guess is at most (1 + TV)/2, where TV = 2 Phi(mu/2) - 1 is the
    total variation distance between N(0, 1) and N(mu, 1). So P(correct) <= Phi(mu/2), and mu >= 2 Phi^-1(CP_lo). Here
    Phi is the standard normal distribution function, and CP_lo is the Clopper-Pearson lower bound on P(correct). The
    lower bound on mu is converted to epsilon at ``delta``. If false positives and false negatives are equally frequent,
    the result is tighter than that of `dperm.audit.rates.gaussian_from_rates` (A3).

    Parameters
    ----------
    correct
        Number of correct guesses.
    guesses
        Number of guesses, which is the number of runs.
    delta
        The delta of the bound, positive.
    confidence
        Confidence level of the bound.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``, valid if the trade-off curve is Gaussian.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    delta = gaussian_delta(delta)
    mu = gaussian_mu_from_guesses(correct, guesses, confidence=confidence)
    method = "mu-GDP from a binomial test on the guesses, one in every run (A4)"
    return gaussian_bound(mu, delta=delta, confidence=confidence, method=method)


def gaussian_mu_from_guesses(correct: int, guesses: int, *, confidence: float = 0.95) -> float:
    """Return a lower bound on mu of mu-GDP from the correct guesses, given a guess in EVERY run (A4).

    See `gaussian_from_guesses` for the setting and the derivation.

    Parameters
    ----------
    correct, guesses
        Number of correct guesses, and number of guesses, which is the number of runs.
    confidence
        Confidence level of the bound.

    Returns
    -------
    float
        The lower bound on mu, at least 0. It is 0 if the guesses are uninformative.
    """
    alpha = alpha_of(confidence)
    wrong = _wrong(*checked_guess_counts(correct, guesses), alpha)
    return max(0.0, gaussian_separation(wrong, wrong))


def _right(correct: int, guesses: int, alpha: float) -> float:
    return float(clopper_pearson_lower(correct, guesses, alpha))


def _wrong(correct: int, guesses: int, alpha: float) -> float:
    """Return 1 - `_right`, the upper bound on the error rate, to full relative accuracy."""
    return float(clopper_pearson_upper(guesses - correct, guesses, alpha))
