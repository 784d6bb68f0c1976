# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on epsilon from guesses, including abstentions and a positive delta (A4)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from dperm.audit.black_box.sample import Truths
from dperm.audit.guesses import approximate_from_guesses, gaussian_from_guesses, pure_from_guesses
from dperm.audit.intervals import clopper_pearson_lower
from dperm.audit.lower_bound import LowerBound
from dperm.noise.arrays import Floats

RATE_SHARE = 0.1
"""Share of alpha for the interval of the guessing rate, if delta > 0."""


@dataclass(frozen=True)
class GuessCounts:
    """Numbers of correct guesses, of all guesses, and of all runs."""

    correct: int
    guesses: int
    runs: int


def count_guesses(scores: Floats, included: Truths, *, low: float, high: float) -> GuessCounts:
    """Guess "in" for scores of at least ``high``, "out" for at most ``low``; abstain in between and at NaN."""
    guessed_in, guessed_out = scores >= high, scores <= low
    guessed_out &= ~guessed_in
    correct = np.count_nonzero(guessed_in & included) + np.count_nonzero(guessed_out & ~included)
    return GuessCounts(int(correct), int(np.count_nonzero(guessed_in | guessed_out)), len(scores))


def bound_from_counts(counts: GuessCounts, *, delta: float, alpha: float) -> LowerBound:
    """Return the lower bound on epsilon at ``delta`` for any mechanism, if fair coins include the record in the runs.

    Theorem A4. Let g be the probability of a guess in a run, and q the probability of a guess being right. Under
        (epsilon, delta)-DP g q <= e^epsilon g (1 - q) + delta, so epsilon >= log((q - delta/g) / (1 - q)).
    Proof: with the record, the guess is "in" with probability at most e^epsilon times the probability without it, plus
    delta, and vice versa for "out"; add both and halve.

    Given their number, the correct guesses are binomial. For delta = 0 one interval uses all of alpha. Otherwise a
    tenth of alpha goes to a lower bound on g.
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


def gaussian_bound_from_counts(counts: GuessCounts, *, delta: float, alpha: float) -> LowerBound:
    """Return the lower bound on epsilon for a Gaussian trade-off; every run must have a guess."""
    return gaussian_from_guesses(counts.correct, counts.guesses, delta=delta, confidence=1 - alpha)


def fewest_guesses(alpha: float) -> int:
    """Return the smallest number r of guesses with a bound above 0 if all are right: alpha^(1/r) > 1/2."""
    return math.floor(math.log(alpha) / math.log(0.5)) + 1
