# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics: a number for each run, a rule that turns it into a guess, and the bound that the guesses prove (A4, A5).

Thresholds are fixed in advance (`Fixed`), or chosen on a part of the runs that is not used again (`Selected`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dperm import checks
from dperm.audit.black_box.guessing import bounded, counted, gaussian_bounded
from dperm.audit.black_box.sample import Sample, real_numbers
from dperm.audit.black_box.selection import thresholds
from dperm.audit.lower_bound import LowerBound
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats

Score = Callable[[Floats], Floats]
"""From outputs to a number for each run: bigger, more likely "in"; NaN, no guess."""

SPLIT = 0.2


@runtime_checkable
class Statistic(Protocol):
    """Something to look at."""

    @property
    def name(self) -> str:
        """What it is, in words."""

    @property
    def share(self) -> float:
        """Its weight when alpha is shared out among the statistics of an audit."""

    def tested(self, runs: int) -> int:
        """How many of the runs are left for guesses."""

    def bound(self, sample: Sample, *, delta: float, alpha: float) -> LowerBound:
        """The lower bound on epsilon at ``delta``, false with probability ``alpha`` at most."""


@dataclass(frozen=True)
class Fixed:
    """A score and thresholds that were fixed before any run.

    Attributes
    ----------
    name
        What it is, in words.
    score
        From outputs to a number for each run.
    threshold
        Guess "in" from it on, "out" up to ``lower``, pass between. 0 guesses every run.
    lower
        By default minus the threshold.
    share
        Weight when alpha is shared out.
    gaussian
        The trade-off is known to be Gaussian: then every run is guessed, and the bound goes through mu (A1).
    """

    name: str
    score: Score
    threshold: float = 0.0
    share: float = 1.0
    lower: float | None = None
    gaussian: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_statistic(self.name, self.share, self.score)
        _check_place("threshold", self.threshold)
        _check_place("lower", self.low)
        if not self.low <= self.threshold:
            raise ParameterError(f"threshold must be at least lower={self.low:g}, got {self.threshold:g}.")
        if self.gaussian and self.threshold != self.low:
            raise ParameterError("threshold must be 0 for a Gaussian trade-off: every run is guessed.")

    @property
    def low(self) -> float:
        """Up to it the guess is "out"."""
        return -self.threshold if self.lower is None else self.lower

    def tested(self, runs: int) -> int:
        """All of them."""
        return runs

    def bound(self, sample: Sample, *, delta: float, alpha: float) -> LowerBound:
        """From the guesses of all runs."""
        scores = scored(self.score, sample)
        if not self.gaussian:
            counts = counted(scores, sample.included, low=self.low, high=self.threshold)
            return bounded(counts, delta=delta, alpha=alpha)
        every = np.where(np.isnan(scores), self.low, scores)
        counts = counted(every, sample.included, low=self.low, high=self.low)
        return gaussian_bounded(counts, delta=delta, alpha=alpha)


@dataclass(frozen=True)
class Selected:
    """A score that is learnt, and thresholds that are chosen, on the first runs; the others are guessed (A5).

    Attributes
    ----------
    name
        What it is, in words.
    learned
        From the selecting runs to a score.
    share
        Weight when alpha is shared out.
    split
        Share of the runs to choose with.
    gaussian
        The trade-off is assumed to be Gaussian: every run is guessed, at the threshold that was most often right.
    """

    name: str
    learned: Callable[[Sample], Score]
    share: float = 1.0
    split: float = SPLIT
    gaussian: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_statistic(self.name, self.share, self.learned)
        checks.between("split", self.split, 0.01, 0.9, "It is the share of the runs to choose thresholds with.")

    def tested(self, runs: int) -> int:
        """The others."""
        return runs - round(self.split * runs)

    def bound(self, sample: Sample, *, delta: float, alpha: float) -> LowerBound:
        """From the guesses of the runs that nothing was chosen with."""
        first, rest = sample.split(self.split)
        score = self.learned(first)
        low, high = self._thresholds(scored(score, first), first, delta)
        chosen = Fixed(self.name, score, high, lower=low, gaussian=self.gaussian)
        return chosen.bound(rest, delta=delta, alpha=alpha)

    def _thresholds(self, scores: Floats, first: Sample, delta: float) -> tuple[float, float]:
        if not self.gaussian:
            return thresholds(scores, first.included, delta=delta)
        middle = _middle(scores, first)
        return middle, middle


def scored(score: Score, sample: Sample) -> Floats:
    """The scores, checked: one for each run, NaN where it is to pass."""
    if not callable(score):
        raise ParameterError(f"learned must give a function from outputs to scores, got {checks.shown(score)}.")
    returned = score(sample.outputs)
    found = real_numbers(returned)
    if found is None or found.shape != (len(sample),):
        got = f"an object of type {type(returned).__name__}" if found is None else f"an array of shape {found.shape}"
        raise ParameterError(f"score must give one score for each of the {len(sample)} runs, got {got}.")
    return found


def check_statistic(name: object, share: object, function: object) -> None:
    """Refuse a statistic without a name, a share and a function."""
    if not isinstance(name, str):
        raise ParameterError(f"name must be words, got {checks.shown(name)}.")
    checks.positive("share", share)
    if not callable(function):
        raise ParameterError(f"score (or learned) of {name!r} must be a function, got {checks.shown(function)}.")


def _check_place(name: str, value: object) -> None:
    """A number, or an end of the line."""
    if not isinstance(value, float) or not math.isinf(value):
        checks.real(name, value)


def _middle(scores: Floats, sample: Sample) -> float:
    """Half-way between the medians of the two kinds of runs."""
    sides = [scores[sample.included == side] for side in (False, True)]
    known = [side[~np.isnan(side)] for side in sides]
    return float(np.mean([np.median(side) for side in known])) if all(map(len, known)) else 0.0
