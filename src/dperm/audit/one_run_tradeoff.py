# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds from ONE training with many canaries, for a Gaussian trade-off curve (A7).

Theorem A7 [Mahloujifar, Melis & Chaudhuri 2024, Algorithm 3].
    m canaries, each in by an independent fair coin; r guesses, v of them right. Training is not mu-GDP, at level alpha,
    if R + H > r/m at the end of:  R = alpha v/m; H = alpha (r-v)/m; for i = v-1, ..., 0:
        H' = max(H, Phi(Phi^-1(R) - mu));  R = min(1, R + i/(r-i) (H' - H));  H = H'.

The theorem holds for any trade-off curve; here it is G_mu (T19), so the bound is one for mechanisms of that family.
R and H only grow: the loop ends as soon as R + H is large enough, and, since nothing moves after it, at the first step
with H' = H. To end it earlier could only lose a rejection. Few of the v steps are taken: some hundreds, 2e4 at worst.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

from numpy.typing import ArrayLike

from dperm.audit.coins import Canaries
from dperm.audit.levels import alpha_of, gaussian_bound, gaussian_delta
from dperm.audit.lower_bound import LowerBound
from dperm.audit.one_run import counted, from_ranked

_METHOD = "one run, many canaries, mu-GDP (A7)"
_SQRT_HALF = math.sqrt(0.5)
_SURELY = 1 + 1e-9  # the rounding of R and H, with a margin
_BISECTIONS = 32
_MOST_STEPS = 100_000
_QUANTILE = NormalDist().inv_cdf  # scipy's is as accurate, and slower on a single number


def gaussian_one_run(
    correct: int, guesses: int, canaries: int, *, delta: float, confidence: float = 0.95
) -> LowerBound:
    """The smallest epsilon at ``delta`` of a mu-GDP training that lets so many guesses be right (A7, A1).

    Parameters
    ----------
    correct, guesses, canaries
        Right guesses, guesses made (a number fixed in advance), coins flipped: v <= r <= m.
    """
    delta = gaussian_delta(delta)
    mu = gaussian_one_run_mu(correct, guesses, canaries, confidence=confidence)
    return gaussian_bound(mu, delta=delta, confidence=confidence, method=_METHOD)


def gaussian_one_run_mu(correct: int, guesses: int, canaries: int, *, confidence: float = 0.95) -> float:
    """The lower bound on mu itself (A7): the largest mu found that is surely rejected, 0 if none is."""
    sizes, alpha = counted(correct, guesses, canaries), alpha_of(confidence)
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
    """As `dperm.audit.one_run.from_scores`, with the bound of A7: for a Gaussian trade-off only."""
    return from_ranked(
        scores,
        included,
        lambda v, r, m: gaussian_one_run(v, r, m, delta=delta, confidence=confidence),
        guesses=(guesses_in, guesses_out),
        independent=independent,
    )


def _rejected(mu: float, alpha: float, sizes: tuple[int, int, int]) -> bool:
    return refuted(lambda right: _mirrored(right, mu), sizes, alpha)


def refuted(raise_to: Callable[[float], float], sizes: tuple[int, int, int], alpha: float) -> bool:
    """Whether v of r right guesses on m canaries refute, at level alpha, a trade-off curve f (A7).

    ``raise_to`` is R -> f(1 - R), the least H that goes with R; anything less than it is safe.
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
    """Phi(Phi^-1(x) - mu)."""
    if mu == 0 or not 0 < x < 1:
        return min(x, 1.0)
    return 0.5 * math.erfc((mu - _QUANTILE(x)) * _SQRT_HALF)
