# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From guesses to a lower bound on epsilon, also where the attacker passes and where there is a delta (A4)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from dperm.audit.black_box.sample import Truths
from dperm.audit.guesses import approximate_from_guesses, gaussian_from_guesses, pure_from_guesses
from dperm.audit.intervals import clopper_pearson_lower
from dperm.audit.lower_bound import LowerBound
from dperm.noise.arrays import Floats

RATE_SHARE = 0.1
"""Of alpha, for the interval of how often a guess is made, where delta > 0."""


@dataclass(frozen=True)
class Counts:
    """How many of the runs were guessed, and how many rightly."""

    correct: int
    guesses: int
    runs: int


def counted(scores: Floats, included: Truths, *, low: float, high: float) -> Counts:
    """Guess "in" at a score of at least ``high``, "out" at one of at most ``low``, and pass between and at NaN."""
    guessed_in, guessed_out = scores >= high, scores <= low
    guessed_out &= ~guessed_in
    correct = np.count_nonzero(guessed_in & included) + np.count_nonzero(guessed_out & ~included)
    return Counts(int(correct), int(np.count_nonzero(guessed_in | guessed_out)), len(scores))


def bounded(counts: Counts, *, delta: float, alpha: float) -> LowerBound:
    """The lower bound on epsilon at ``delta`` of any mechanism; a coin for each run decides about the record.

    Theorem A4. Let g be the probability that a run is guessed, and q that such a guess is right. Under
        (epsilon, delta)-DP g q <= e^epsilon g (1 - q) + delta, so epsilon >= log((q - delta/g) / (1 - q)).
    Proof: given the record the guess is "in" with probability at most e^epsilon times that without it, plus delta, and
    the other way round for "out"; add both and halve.

    Given their number, the right guesses are binomial: one interval with all of alpha for delta = 0. Otherwise a tenth
    of alpha goes to a lower end of g.
    """
    correct, guesses = counts.correct, counts.guesses
    if not guesses:
        return LowerBound(0.0, delta, 1 - alpha, "no guess was made (A4)")
    if delta == 0:
        return pure_from_guesses(correct, guesses, confidence=1 - alpha)
    if guesses == counts.runs:
        return approximate_from_guesses(correct, guesses, delta=delta, confidence=1 - alpha)
    rate = float(clopper_pearson_lower(guesses, counts.runs, RATE_SHARE * alpha))
    if delta >= rate:
        return LowerBound(0.0, delta, 1 - alpha, "guesses are rarer than delta (A4)")
    level = 1 - (1 - RATE_SHARE) * alpha
    found = approximate_from_guesses(correct, guesses, delta=delta / rate, confidence=level)
    return replace(found, delta=delta, confidence=1 - alpha)


def gaussian_bounded(counts: Counts, *, delta: float, alpha: float) -> LowerBound:
    """The same for a Gaussian trade-off: every run has to be guessed."""
    return gaussian_from_guesses(counts.correct, counts.guesses, delta=delta, confidence=1 - alpha)


def fewest_runs(alpha: float) -> int:
    """The least number of guesses that show anything: alpha^(1/r) > 1/2, all of them right."""
    return math.floor(math.log(alpha) / math.log(0.5)) + 1
