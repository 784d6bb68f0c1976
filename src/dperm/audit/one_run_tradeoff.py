# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds from ONE training run with many canaries, for a Gaussian trade-off curve (A7).

Theorem A7 [Mahloujifar, Melis & Chaudhuri 2024, Algorithm 3].
    Each of m canaries (records added for the audit) is included by an independent fair coin. The attacker makes r
    guesses, of which v are right. At level alpha, the test rejects mu-GDP of the training if R + H > r/m at the end of
    the following loop. Start with R = alpha v/m and H = alpha (r-v)/m. Then, for i = v-1, ..., 0, set
        H' = max(H, Phi(Phi^-1(R) - mu));  R = min(1, R + i/(r-i) (H' - H));  H = H'.

The theorem holds for any trade-off curve. Here the curve is G_mu, the trade-off curve of mu-GDP (T19), so the bound
applies to mechanisms with such a curve. R and H only grow, so the loop can stop once R + H is large enough. It also
stops at the first step with H' = H, because nothing changes afterwards. Stopping earlier could only lose a rejection.
The loop typically takes a few hundred of the v steps, and 2e4 at worst.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

from numpy.typing import ArrayLike

from dperm.audit.coins import Canaries
from dperm.audit.lower_bound import LowerBound, alpha_of, gaussian_bound, gaussian_delta
from dperm.audit.one_run import bound_from_ranking, checked_counts

_METHOD = "one run, many canaries, mu-GDP (A7)"
_SQRT_HALF = math.sqrt(0.5)
_SURELY = 1 + 1e-9  # the rounding of R and H, with a margin
_BISECTIONS = 32
_MOST_STEPS = 100_000
_QUANTILE = NormalDist().inv_cdf  # scipy's is as accurate, and slower on a single number


def gaussian_one_run(
    correct: int, guesses: int, canaries: int, *, delta: float, confidence: float = 0.95
) -> LowerBound:
    """Return the smallest epsilon consistent with the correct guesses, for a mu-GDP training run (A7, A1).

    The lower bound on mu from `gaussian_one_run_mu` is converted to epsilon at ``delta``. See
    `dperm.audit.one_run.one_run` for the setting.

    Parameters
    ----------
    correct, guesses, canaries
        Number v of correct guesses, number r of guesses (fixed in advance), and number m of canaries; v <= r <= m.
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
    mu = gaussian_one_run_mu(correct, guesses, canaries, confidence=confidence)
    return gaussian_bound(mu, delta=delta, confidence=confidence, method=_METHOD)


def gaussian_one_run_mu(correct: int, guesses: int, canaries: int, *, confidence: float = 0.95) -> float:
    """Return a lower bound on mu of a mu-GDP training run, from the correct guesses on its canaries (A7).

    The bound is the largest mu for which the test rejects mu-GDP, found by bisection, or 0 if no mu is rejected. See
    `dperm.audit.one_run.one_run` for the setting.

    Parameters
    ----------
    correct, guesses, canaries
        Number v of correct guesses, number r of guesses (fixed in advance), and number m of canaries; v <= r <= m.
    confidence
        Confidence level of the bound.

    Returns
    -------
    float
        The lower bound on mu, at least 0.
    """
    sizes, alpha = checked_counts(correct, guesses, canaries), alpha_of(confidence)
    low, high = 0.0, 1.0
    if not _rejected(low, alpha, sizes):
        return low
    while _rejected(high, alpha, sizes):
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _rejected(middle, alpha, sizes) else (low, middle)
    return low


def gaussian_from_scores(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    *,
    guesses_in: int,
    guesses_out: int,
    delta: float,
    confidence: float = 0.95,
    independent: bool = True,
) -> LowerBound:
    """Bound epsilon from ranked scores as `dperm.audit.one_run.from_scores` does, for a Gaussian trade-off curve (A7).

    Parameters
    ----------
    scores, included, guesses_in, guesses_out, confidence, independent
        See `dperm.audit.one_run.from_scores`.
    delta
        The delta of the bound, positive.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``, valid if the trade-off curve is Gaussian.
    """
    return bound_from_ranking(
        scores,
        included,
        lambda v, r, m: gaussian_one_run(v, r, m, delta=delta, confidence=confidence),
        guesses=(guesses_in, guesses_out),
        independent=independent,
    )


def _rejected(mu: float, alpha: float, sizes: tuple[int, int, int]) -> bool:
    return refutes_curve(lambda right: _mirrored(right, mu), sizes, alpha)


def refutes_curve(raise_to: Callable[[float], float], sizes: tuple[int, int, int], alpha: float) -> bool:
    """Return whether v correct guesses out of r, on m canaries, refute a trade-off curve f at level alpha (A7).

    Parameters
    ----------
    raise_to
        The function R -> f(1 - R), for R in [0, 1]. With smaller values of this function, the test rejects less often.
    sizes
        The numbers (v, r, m).
    alpha
        Level of the test.

    Returns
    -------
    bool
        True if the curve is rejected.
    """
    v, r, m = sizes
    limit = r / m * _SURELY
    right, wrong = alpha * v / m, alpha * (r - v) / m
    for i in range(v - 1, max(-1, v - 1 - _MOST_STEPS), -1):
        raised = raise_to(right)
        if raised <= wrong or right + wrong > limit:
            break
        right = min(1.0, right + i / (r - i) * (raised - wrong))
        wrong = raised
    return right + wrong > limit


def _mirrored(x: float, mu: float) -> float:
    """Return Phi(Phi^-1(x) - mu); for mu = 0, or x outside (0, 1), return min(x, 1)."""
    if mu == 0 or not 0 < x < 1:
        return min(x, 1.0)
    return 0.5 * math.erfc((mu - _QUANTILE(x)) * _SQRT_HALF)
