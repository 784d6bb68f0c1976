# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choosing thresholds on runs that are not used again (A5)."""

import numpy as np

from dperm.audit.black_box.sample import Truths
from dperm.noise.arrays import Floats

LEAST_GUESSES = 100
"""With fewer in the selecting runs an estimate is luck."""
CANDIDATES = 64
SLACK = 1e-6
"""Of the scores' deviation: where many scores are equal but for rounding, a threshold lies beside them."""


def thresholds(scores: Floats, included: Truths, *, delta: float = 0.0) -> tuple[float, float]:
    """(low, high) of the largest bound that can be expected."""
    return promised(scores, included, delta=delta)[1]


def promised(scores: Floats, included: Truths, *, delta: float = 0.0) -> tuple[float, tuple[float, float]]:
    """(epsilon, (low, high)): guess "out" up to low and "in" from high on for the largest bound to be expected.

    Candidates are quantiles, and none at all on either side. Each pair's estimate is shrunk, by one right guess and two
    standard deviations, and has at least 100 guesses (or a tenth of the runs, if those are few): who takes the best of
    many estimates takes a lucky one.
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
    """The thresholds, a little nearer to each other: many scores may be equal to one but for rounding."""
    slack = SLACK * float(scores.std()) if len(scores) else 0.0
    return low + slack, high - slack


def candidates(scores: Floats, tails: Floats | None = None) -> tuple[Floats, Floats]:
    """Quantiles, with more of them in the ``tails``, and none at all on either side."""
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
    """(right, guesses) below each low and above each high."""
    ins, outs = np.sort(scores[included]), np.sort(scores[~included])
    below = [np.searchsorted(side, lows, side="right").astype(float) for side in (outs, ins)]
    above = [(len(side) - np.searchsorted(side, highs, side="left")).astype(float) for side in (ins, outs)]
    return (below[0], below[0] + below[1]), (above[0], above[0] + above[1])


def _promise(right: Floats, guesses: Floats, runs: int, delta: float) -> Floats:
    """The shrunk estimate of log((q - delta/g) / (1 - q))."""
    least = min(LEAST_GUESSES, max(1, runs // 10))
    some = np.maximum(guesses, 1.0)
    q = (right - 1 - 2 * np.sqrt(right * (some - right) / some)) / some
    up = np.maximum(q - delta * runs / some, 1e-300)
    found: Floats = np.log(up) - np.log1p(-q)
    found[guesses < least] = -np.inf
    return found
