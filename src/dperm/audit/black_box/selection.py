# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of thresholds on runs excluded from the test (A5)."""

import numpy as np

from dperm.audit.black_box.sample import Truths
from dperm.noise.arrays import Floats

LEAST_GUESSES = 100
"""Fewest guesses in the selecting runs; with fewer, an estimate is luck."""
CANDIDATES = 64
SLACK = 1e-6
"""Margin of thresholds relative to the scores' deviation, for scores equal up to rounding."""


def thresholds(scores: Floats, included: Truths, *, delta: float = 0.0) -> tuple[float, float]:
    """Return the thresholds (low, high) with the largest expected bound."""
    return promised(scores, included, delta=delta)[1]


def promised(scores: Floats, included: Truths, *, delta: float = 0.0) -> tuple[float, tuple[float, float]]:
    """Return (epsilon, (low, high)) of the largest expected bound: guess "out" up to low and "in" from high on.

    Candidates are quantiles, and no guesses on either side. Each pair's estimate is shrunk by one right guess and two
    standard deviations. It needs at least 100 guesses (or a tenth of few runs), because the best of many estimates is
    partly luck.
    """
    known = ~np.isnan(scores)
    lows, highs = candidates(scores[known])
    below, above = tallies(scores[known], included[known], lows, highs)
    right = below[0][:, None] + above[0][None, :]
    guesses = below[1][:, None] + above[1][None, :]
    value = _promise(right, guesses, len(scores), delta)
    value[lows[:, None] >= highs[None, :]] = -np.inf
    best = np.unravel_index(int(np.argmax(value)), value.shape)
    return float(value[best]), beside(scores[known], float(lows[best[0]]), float(highs[best[1]]))


def beside(scores: Floats, low: float, high: float) -> tuple[float, float]:
    """Return the thresholds moved slightly towards each other, to include scores equal up to rounding."""
    slack = SLACK * float(scores.std()) if len(scores) else 0.0
    return low + slack, high - slack


def candidates(scores: Floats, tails: Floats | None = None) -> tuple[Floats, Floats]:
    """Return quantiles as low and high thresholds, more in the ``tails``, and infinities for no guesses."""
    if not len(scores):
        return np.array([-np.inf]), np.array([np.inf])
    levels = np.linspace(0, 1, CANDIDATES + 1)
    fine = levels[1:4] / 8 if tails is None else tails
    levels = np.concatenate([levels, fine, 1 - fine])
    found = np.unique(np.quantile(scores, levels, method="nearest"))
    return np.append(-np.inf, found), np.append(found, np.inf)


def tallies(
    scores: Floats, included: Truths, lows: Floats, highs: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return (right, guesses) below each low and above each high."""
    ins, outs = np.sort(scores[included]), np.sort(scores[~included])
    below = [np.searchsorted(side, lows, side="right").astype(float) for side in (outs, ins)]
    above = [(len(side) - np.searchsorted(side, highs, side="left")).astype(float) for side in (ins, outs)]
    return (below[0], below[0] + below[1]), (above[0], above[0] + above[1])


def _promise(right: Floats, guesses: Floats, runs: int, delta: float) -> Floats:
    """Return the shrunken estimate of log((q - delta/g) / (1 - q))."""
    least = min(LEAST_GUESSES, max(1, runs // 10))
    some = np.maximum(guesses, 1.0)
    q = (right - 1 - 2 * np.sqrt(right * (some - right) / some)) / some
    up = np.maximum(q - delta * runs / some, 1e-300)
    found: Floats = np.log(up) - np.log1p(-q)
    found[guesses < least] = -np.inf
    return found
