# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on epsilon from ONE training run with many canaries (A6).

Theorem A6 [Steinke, Nasr & Jagielski 2023, Thm 5.2].
    An independent fair coin decides the inclusion of each of m canaries, which are records added for the audit. The
    attacker sees the whole output of (eps, delta)-DP training and guesses r coin flips, with r fixed in advance. Then v
    or more guesses are right with probability at most
        p = beta + 2 m delta max_{1<=i<=v} P(v-i <= B <= v-1) / i,   B ~ Bin(r, 1/(1+e^-eps)),  beta = P(B >= v).

The maximum is taken over the mean probabilities of the windows v-i, ..., v-1. The distribution of B is unimodal, so the
mean grows with i as long as the next probability exceeds it. A binary search finds the largest mean in O(log v) steps.

For p < 1/2, the p-value p grows with eps. Proof: let q = 1/(1+e^-eps) and c = 2 m delta / i, and write p as the maximum
over i of E g_i(B), where g_i is c on the window, 1 above it and 0 below it. With B' ~ Bin(r-1, q), the derivative of
E g_i(B) with respect to q is r (c P(B' = v-i-1) + (1-c) P(B' = v-1)). This is >= 0 if c <= 1. If c > 1, then p >= P(B
>= v-i), so the median of B, and hence the mode of B', is at most v-i-1. The first probability is then the larger one,
and the derivative is again >= 0.
"""

import math
from collections.abc import Callable

from numpy.typing import ArrayLike
from scipy.special import betaincc, betaln, expit, log_expit

from dperm import checks
from dperm.audit.coins import Canaries
from dperm.audit.intervals import MOST_TRIALS
from dperm.audit.lower_bound import LowerBound, alpha_of, checked_guess_counts
from dperm.audit.ranking import checked_scores, ranked_guesses, too_few_guesses, total_guesses
from dperm.privacy.rounding import ULP

_METHOD = "one run, many canaries (A6)"
_ROUNDING = 1e-9  # of p, with a margin; and some units for each guess, as in the intervals
_BISECTIONS = 60


def one_run(correct: int, guesses: int, canaries: int, *, delta: float = 0.0, confidence: float = 0.95) -> LowerBound:
    """Return the smallest epsilon that the number of correct guesses in one run does not refute (A6).

    In one training run, an independent fair coin decides whether each of m canaries (records added for the audit) is
    included. The attacker guesses r of the m coin flips, and v guesses are correct. This result refutes an epsilon if v
    or more correct guesses have probability at most 1 - confidence under (epsilon, delta)-DP.

    Parameters
    ----------
    correct, guesses, canaries
        Number v of correct guesses, number r of guesses (fixed in advance), and number m of canaries; v <= r <= m.
    delta
        The delta of the bound; 0 for pure DP. To test a claim, use the delta of the claim.
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
    alpha = alpha_of(confidence)
    v, r, m = checked_counts(correct, guesses, canaries)
    delta = checks.small_delta("delta", delta)
    level = min(alpha, math.nextafter(0.5, 0))  # where p grows with epsilon
    low, high = 0.0, 1.0
    while _rejected(high, level, (v, r, m), delta):
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _rejected(middle, level, (v, r, m), delta) else (low, middle)
    return LowerBound(low, delta, confidence, _METHOD)


def one_run_p_value(correct: int, guesses: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """Return an upper bound on the probability of ``correct`` or more correct guesses under (epsilon, delta)-DP (A6).

    See `one_run` for the setting.

    Parameters
    ----------
    correct, guesses, canaries
        Number v of correct guesses, number r of guesses (fixed in advance), and number m of canaries; v <= r <= m.
    epsilon, delta
        Parameters of the tested guarantee.

    Returns
    -------
    float
        The p-value, in [0, 1].

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    sizes = checked_counts(correct, guesses, canaries)
    return _p_value(checks.nonnegative("epsilon", epsilon), sizes, checks.small_delta("delta", delta))


def from_scores(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    *,
    guesses_in: int,
    guesses_out: int,
    delta: float,
    confidence: float = 0.95,
    independent: bool = True,
) -> LowerBound:
    """Guess "in" for the highest scores and "out" for the lowest, and bound epsilon from the correct guesses (A6).

    Parameters
    ----------
    scores
        One score per canary, higher for canaries that are more likely to be included; NaN is not allowed. Ties are
        broken by a fixed random order that is independent of ``included``.
    included
        The `Canaries` drawn by `dperm.audit.coins.coins` (recommended), or one boolean per canary in the order of the
        coin flips.
    guesses_in, guesses_out
        Numbers of guesses "in" (included) and "out" (not included), fixed in advance. If you try several numbers and
        keep the best bound, this bound is not valid.
    delta
        The delta of the bound.
    confidence
        Confidence level of the bound.
    independent
        Whether the coin flips are independent. False raises an error, because the bound is not valid for dependent
        flips. Flips are dependent if, by design, exactly half of the canaries or one canary of each pair is included.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.

    Raises
    ------
    AssumptionError
        If ``independent`` is False, or the coin flips are too unlikely to be fair and independent.
    ParameterError
        If an argument is invalid, or no bound above 0 is possible even if all guesses are correct.
    """
    return bound_from_ranking(
        scores,
        included,
        lambda v, r, m: one_run(v, r, m, delta=delta, confidence=confidence),
        guesses=(guesses_in, guesses_out),
        independent=independent,
    )


def bound_from_ranking(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    bound: Callable[[int, int, int], LowerBound],
    *,
    guesses: tuple[int, int],
    independent: bool,
) -> LowerBound:
    """Guess from ranked scores as `from_scores` does, and return the bound for the number of correct guesses.

    Parameters
    ----------
    scores, included, independent
        See `from_scores`.
    bound
        Function that takes three numbers (correct guesses, guesses, canaries) and returns a lower bound.
    guesses
        Numbers of guesses "in" and "out".

    Returns
    -------
    LowerBound
        The bound for the observed number of correct guesses.

    Raises
    ------
    AssumptionError, ParameterError
        See `from_scores`.
    """
    r = total_guesses(*guesses)
    values = checked_scores(scores, r)
    best = bound(r, r, len(values))
    if best.epsilon == 0:
        raise too_few_guesses(r, len(values), delta=best.delta, confidence=best.confidence)
    ins, outs = guesses
    right = ranked_guesses(values, included, guesses_in=ins, guesses_out=outs, independent=independent)
    return bound(right, r, len(values))


def checked_counts(correct: int, guesses: int, canaries: int) -> tuple[int, int, int]:
    """Return the three numbers, after checking that 0 <= correct <= guesses <= canaries and canaries >= 1.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """
    m = checks.count("canaries", canaries, most=MOST_TRIALS)
    r = checks.count("guesses", guesses, f"There are {m} canaries to guess.", least=0, most=m)
    return *checked_guess_counts(correct, r), m


def _rejected(epsilon: float, level: float, sizes: tuple[int, int, int], delta: float) -> bool:
    return _p_value(epsilon, sizes, delta) * (1 + _ROUNDING + 4 * ULP * sizes[1]) <= level


def _p_value(epsilon: float, sizes: tuple[int, int, int], delta: float) -> float:
    v, r, m = sizes
    if v == 0:
        return 1.0
    beta = _tail(v, r, epsilon)
    return min(1.0, beta + 2 * m * delta * _densest_window(v, r, epsilon)) if delta > 0 else beta


def _tail(v: int, r: int, epsilon: float) -> float:
    """Return P(B >= v), computed from the wrong guesses to keep relative accuracy at any epsilon."""
    return float(betaincc(r - v + 1, v, expit(-epsilon))) if v > 0 else 1.0


def _densest_window(v: int, r: int, epsilon: float) -> float:
    """Return max_{1<=i<=v} P(v-i <= B <= v-1) / i."""
    beta = _tail(v, r, epsilon)

    def mean(i: int) -> float:
        return (_tail(v - i, r, epsilon) - beta) / i

    low, high = 1, v
    while low < high:
        middle = (low + high) // 2
        grows = _probability(v - middle - 1, r, epsilon) > mean(middle)
        low, high = (middle + 1, high) if grows else (low, middle)
    return max(mean(low), _probability(v - 1, r, epsilon))


def _probability(k: int, r: int, epsilon: float) -> float:
    """Return P(B = k) for B ~ Bin(r, 1/(1+e^-eps))."""
    log_choices = -math.log(r + 1) - float(betaln(k + 1, r - k + 1))
    return math.exp(log_choices + k * float(log_expit(epsilon)) + (r - k) * float(log_expit(-epsilon)))
