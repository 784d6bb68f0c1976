# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of thresholds: on runs excluded from the test, or on simulated runs (A5).

Simulated runs have the distribution of the audited runs and separate random numbers. They require a known output
distribution, may be arbitrarily many, and leave all audited runs for guesses.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from dperm.audit.black_box.sample import Truths
from dperm.noise.arrays import Floats

LEAST_GUESSES = 100
"""Fewest guesses in the selecting runs; with fewer, an estimate is mostly chance."""
CANDIDATES = 64
SLACK = 1e-6
"""Margin of thresholds relative to the scores' deviation, for scores equal up to rounding."""
LEAST_SIMULATED = 200
"""Fewest guesses expected in the audited runs (or a tenth of few runs), and fewest in the simulated runs."""
DEVIATIONS = 2.0
"""Safety margin for correct guesses, in standard deviations; it makes audits with different seeds agree more often."""
TAILS: Floats = np.array([1 / 1024, 1 / 512, 1 / 256, 1 / 128])
"""Additional tail quantiles among the candidates."""


def select_thresholds(scores: Floats, included: Truths, *, delta: float = 0.0) -> tuple[float, float]:
    """Return the thresholds (low, high) with the largest expected bound."""
    return best_thresholds(scores, included, delta=delta)[1]


def best_thresholds(scores: Floats, included: Truths, *, delta: float = 0.0) -> tuple[float, tuple[float, float]]:
    """Return (epsilon, (low, high)) of the largest expected bound: guess "out" if score <= low, "in" if score >= high.

    Candidates are quantiles, or infinities for no guesses on a side. Each pair's estimate is shrunk by one correct
    guess and two standard deviations. A pair needs at least 100 guesses (or a tenth of few runs), because the best of
    many estimates is partly chance.
    """
    known = ~np.isnan(scores)
    lows, highs = candidates(scores[known])
    below, above = tail_counts(scores[known], included[known], lows, highs)
    right = below[0][:, None] + above[0][None, :]
    guesses = below[1][:, None] + above[1][None, :]
    value = _expected_bound(right, guesses, len(scores), delta)
    value[lows[:, None] >= highs[None, :]] = -np.inf
    best = np.unravel_index(int(np.argmax(value)), value.shape)
    return float(value[best]), widen(scores[known], float(lows[best[0]]), float(highs[best[1]]))


def widen(scores: Floats, low: float, high: float) -> tuple[float, float]:
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


def tail_counts(
    scores: Floats, included: Truths, lows: Floats, highs: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return (right, guesses) below each low and above each high."""
    ins, outs = np.sort(scores[included]), np.sort(scores[~included])
    below = [np.searchsorted(side, lows, side="right").astype(float) for side in (outs, ins)]
    above = [(len(side) - np.searchsorted(side, highs, side="left")).astype(float) for side in (ins, outs)]
    return (below[0], below[0] + below[1]), (above[0], above[0] + above[1])


def _expected_bound(right: Floats, guesses: Floats, runs: int, delta: float) -> Floats:
    """Return the shrunken estimate of log((q - delta/g) / (1 - q))."""
    least = min(LEAST_GUESSES, max(1, runs // 10))
    some = np.maximum(guesses, 1.0)
    q = (right - 1 - 2 * np.sqrt(right * (some - right) / some)) / some
    up = np.maximum(q - delta * runs / some, 1e-300)
    found: Floats = np.log(up) - np.log1p(-q)
    found[guesses < least] = -np.inf
    return found


@dataclass(frozen=True)
class AuditSize:
    """Size of the audit for choosing thresholds: number of ``runs``, ``delta``, and available ``alpha``."""

    runs: int
    delta: float
    alpha: float


def simulated_thresholds(scores: Floats, included: Truths, size: AuditSize) -> tuple[float, tuple[float, float]]:
    """Return (epsilon, (low, high)): the largest conservatively expected bound, and the thresholds for "out" and "in".

    Candidates are pairs of quantiles of the simulated scores. Of v correct guesses out of r, only v - sqrt(r)/2 are
    counted, because the best of many estimates is partly chance (A5).
    """
    lows, highs = candidates(scores, TAILS)
    below, above = tail_counts(scores, included, lows, highs)
    right = below[0][:, None] + above[0][None, :]
    guesses = below[1][:, None] + above[1][None, :]
    value = _simulated_bound(right, guesses, len(scores), size)
    value[lows[:, None] >= highs[None, :]] = -np.inf
    best = np.unravel_index(int(np.argmax(value)), value.shape)
    return float(value[best]), widen(scores, float(lows[best[0]]), float(highs[best[1]]))


def _simulated_bound(right: Floats, guesses: Floats, simulated: int, size: AuditSize) -> Floats:
    """Return log((q - delta/g) / (1 - q)), with q the Clopper-Pearson lower bound for unlucky runs."""
    least = min(LEAST_SIMULATED, max(1, size.runs // 10))
    some = np.maximum(guesses, 1.0)
    believed = np.clip(right - np.sqrt(some) / 2, 1e-9, None) / some
    made = np.maximum(some / simulated * size.runs, 1.0)
    rightly = np.maximum(believed * made - DEVIATIONS * np.sqrt(believed * (1 - believed) * made), 1e-9)
    q = betaincinv(rightly, made - rightly + 1, size.alpha)
    up = np.maximum(q - size.delta * simulated / some, 1e-300)
    found = np.asarray(np.log(up) - np.log1p(-np.minimum(q, 1 - 1e-16)))
    found[(guesses < min(LEAST_SIMULATED, simulated / 10)) | (made < least)] = -np.inf
    return found
