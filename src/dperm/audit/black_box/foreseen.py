# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds chosen on a rehearsal: simulated runs with the same distribution and separate random numbers.

With a known output distribution no split is needed. All audited runs yield guesses, and the rehearsal, independent of
them, may be arbitrarily long (A5, "fixed in advance").
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from dperm.audit.black_box.sample import Sample, Truths
from dperm.audit.black_box.selection import beside, candidates, tallies
from dperm.audit.black_box.statistics import Fixed, Score, check_statistic, scored
from dperm.audit.lower_bound import LowerBound
from dperm.noise.arrays import Floats

LEAST_GUESSES = 200
"""Fewest guesses expected in the audited runs (or a tenth of few runs), and fewest made in the rehearsal."""
DEVIATIONS = 2.0
"""Safety margin for right guesses, in standard deviations; it makes audits with different seeds end alike."""
TAILS: Floats = np.array([1 / 1024, 1 / 512, 1 / 256, 1 / 128])
"""Additional tail quantiles among the candidates."""


@dataclass(frozen=True)
class Foreseen:
    """Score with a known distribution, with thresholds for the largest expected bound at the given number of runs.

    Attributes
    ----------
    name
        Name for the report.
    score
        Function from outputs to a number for each run.
    rehearsal
        Function returning simulated runs, independent of the audited ones.
    share
        Weight in the division of alpha.
    """

    name: str
    score: Score
    rehearsal: Callable[[], Sample]
    share: float = 1.0

    def __post_init__(self) -> None:
        """Check the name, the share and the score function."""
        check_statistic(self.name, self.share, self.score)

    def tested(self, runs: int) -> int:
        """Return ``runs``: every run is available for guesses."""
        return runs

    def bound(self, sample: Sample, *, delta: float, alpha: float) -> LowerBound:
        """Choose thresholds on the rehearsal, and return the bound from the guesses of all runs."""
        first = self.rehearsal()
        scores, audience = scored(self.score, first), Audience(len(sample), delta, alpha)
        low, high = foreseen(scores, first.included, audience)[1]
        return Fixed(self.name, self.score, high, lower=low).bound(sample, delta=delta, alpha=alpha)


@dataclass(frozen=True)
class Audience:
    """Audit for choosing thresholds: number of ``runs``, ``delta``, and available ``alpha``."""

    runs: int
    delta: float
    alpha: float


def foreseen(scores: Floats, included: Truths, audience: Audience) -> tuple[float, tuple[float, float]]:
    """Return (epsilon, (low, high)): the largest conservatively expected bound, and the thresholds for "out" and "in".

    Candidates are pairs of quantiles of the rehearsal. Of v right guesses out of r, only v - sqrt(r)/2 are counted,
    because the best of many estimates is partly luck (A5).
    """
    lows, highs = candidates(scores, TAILS)
    below, above = tallies(scores, included, lows, highs)
    right = below[0][:, None] + above[0][None, :]
    guesses = below[1][:, None] + above[1][None, :]
    value = _expected(right, guesses, len(scores), audience)
    value[lows[:, None] >= highs[None, :]] = -np.inf
    best = np.unravel_index(int(np.argmax(value)), value.shape)
    return float(value[best]), beside(scores, float(lows[best[0]]), float(highs[best[1]]))


def _expected(right: Floats, guesses: Floats, rehearsed: int, audience: Audience) -> Floats:
    """Return log((q - delta/g) / (1 - q)), with q the Clopper-Pearson lower bound for unlucky runs."""
    least = min(LEAST_GUESSES, max(1, audience.runs // 10))
    some = np.maximum(guesses, 1.0)
    believed = np.clip(right - np.sqrt(some) / 2, 1e-9, None) / some
    made = np.maximum(some / rehearsed * audience.runs, 1.0)
    rightly = np.maximum(believed * made - DEVIATIONS * np.sqrt(believed * (1 - believed) * made), 1e-9)
    q = betaincinv(rightly, made - rightly + 1, audience.alpha)
    up = np.maximum(q - audience.delta * rehearsed / some, 1e-300)
    found = np.asarray(np.log(up) - np.log1p(-np.minimum(q, 1 - 1e-16)))
    found[(guesses < min(LEAST_GUESSES, rehearsed / 10)) | (made < least)] = -np.inf
    return found
