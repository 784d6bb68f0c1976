# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds from theory: chosen on a rehearsal, simulated runs of the same law with random numbers of their own.

Whoever knows the law of the outputs needs no split: the audited runs are all guessed with, and the rehearsal, which has
not seen them, may be as long as one likes (A5, "fixed in advance").
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
"""That are expected of the audited runs (or a tenth of the runs, if those are few), and made in the rehearsal."""
DEVIATIONS = 2.0
"""So many standard deviations fewer right guesses are counted on: audits then end much alike, whatever their seed."""
TAILS: Floats = np.array([1 / 1024, 1 / 512, 1 / 256, 1 / 128])
"""Quantiles to look at besides the even ones."""


@dataclass(frozen=True)
class Foreseen:
    """A score whose law is known, and thresholds that promise the largest bound for the number of runs at hand.

    Attributes
    ----------
    name
        What it is, in words.
    score
        From outputs to a number for each run.
    rehearsal
        Gives simulated runs, independent of the audited ones.
    share
        Weight when alpha is shared out.
    """

    name: str
    score: Score
    rehearsal: Callable[[], Sample]
    share: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_statistic(self.name, self.share, self.score)

    def tested(self, runs: int) -> int:
        """All of them."""
        return runs

    def bound(self, sample: Sample, *, delta: float, alpha: float) -> LowerBound:
        """From the guesses of all runs."""
        first = self.rehearsal()
        scores, audience = scored(self.score, first), Audience(len(sample), delta, alpha)
        low, high = foreseen(scores, first.included, audience)[1]
        return Fixed(self.name, self.score, high, lower=low).bound(sample, delta=delta, alpha=alpha)


@dataclass(frozen=True)
class Audience:
    """Whom thresholds are chosen for: an audit of so many ``runs``, at ``delta``, with ``alpha`` to spend."""

    runs: int
    delta: float
    alpha: float


def foreseen(scores: Floats, included: Truths, audience: Audience) -> tuple[float, tuple[float, float]]:
    """(epsilon, (low, high)): the largest bound that luck hardly spoils, and where to guess "out" and "in" for it.

    Candidates are pairs of quantiles of the rehearsal. Of v right guesses out of r there, v - sqrt(r)/2 are believed:
    who takes the best of many estimates takes a lucky one (A5).
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
    """log((q - delta/g) / (1 - q)), q the lower end of Clopper & Pearson if luck is bad."""
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
