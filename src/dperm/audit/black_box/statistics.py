# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics: a score for each run, a decision rule for guesses, and the resulting bound (A4, A5).

Thresholds are fixed in advance (`FixedThreshold`), chosen on runs that are not used for the bound
(`SelectedThreshold`), or chosen on simulated runs (`SimulatedThreshold`).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dperm import checks
from dperm.audit.black_box.guess_bounds import bound_from_counts, count_guesses, gaussian_bound_from_counts
from dperm.audit.black_box.sample import RunSample, real_numbers
from dperm.audit.black_box.threshold_selection import AuditSize, select_thresholds, simulated_thresholds
from dperm.audit.lower_bound import LowerBound
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats
from dperm.presentation.spelling import arg

Score = Callable[[Floats], Floats]
"""Function from outputs to one number per run: larger if "in" is more likely, NaN for no guess."""

SPLIT = 0.2


@runtime_checkable
class Statistic(Protocol):
    """Protocol for an audit statistic: a score, a rule for guesses, and the resulting lower bound on epsilon."""

    @property
    def name(self) -> str:
        """Name of the statistic for the report."""

    @property
    def share(self) -> float:
        """Positive weight: `audit` divides its error probability among the statistics in proportion to the weights."""

    def tested(self, runs: int) -> int:
        """Return the number of runs used for the bound, without the runs used to choose thresholds.

        Parameters
        ----------
        runs
            Total number of runs.

        Returns
        -------
        int
            Number of runs used for the bound.
        """

    def bound(self, sample: RunSample, *, delta: float, alpha: float) -> LowerBound:
        """Return a lower bound on epsilon; the bound exceeds the true epsilon with probability at most ``alpha``.

        Parameters
        ----------
        sample
            Outputs of all runs, and whether each run included the record.
        delta
            Delta at which epsilon is bounded.
        alpha
            Largest allowed error probability of the bound, in (0, 1).

        Returns
        -------
        LowerBound
            Bound with confidence at least 1 - ``alpha``.
        """


@dataclass(frozen=True)
class FixedThreshold:
    """Statistic that guesses from a score, with thresholds fixed before any run.

    Attributes
    ----------
    name
        Name for the report.
    score
        Function that takes the outputs of all runs and returns one number for each run.
    threshold
        The guess is "in" (the run included the record) for scores of at least ``threshold``. Otherwise the guess is
        "out" for scores of at most ``lower``. For all other scores, and for NaN, no guess is made. If both thresholds
        are 0, as by default, every score other than NaN gives a guess.
    share
        Positive weight of this statistic. `audit` divides its error probability, 1 - ``confidence``, among the
        statistics in proportion to their weights.
    lower
        Threshold for "out"; None uses minus ``threshold``.
    gaussian
        Whether the trade-off curve is known to be Gaussian, as for mu-GDP. If True, both thresholds must be equal, a
        guess is made in every run ("in" for NaN), and the bound follows from a lower bound on mu (A1).
    """

    name: str
    score: Score
    threshold: float = 0.0
    share: float = 1.0
    lower: float | None = None
    gaussian: bool = False

    def __post_init__(self) -> None:
        """Check the name, the share, the score function and the thresholds."""
        require_statistic(self.name, self.share, self.score)
        _check_place("threshold", self.threshold)
        _check_place("lower", self.low)
        if not self.low <= self.threshold:
            raise ParameterError(
                argument="threshold",
                rule=f"must be at least {arg('lower', format(self.low, 'g'))}",
                got=f"{self.threshold:g}",
            )
        if self.gaussian and self.threshold != self.low:
            raise ParameterError(
                argument="threshold",
                rule="must be 0 for a Gaussian trade-off, where every run has a guess",
                got=f"{self.threshold:g}",
            )

    @property
    def low(self) -> float:
        """Threshold for "out": ``lower`` if given, otherwise minus ``threshold``."""
        return -self.threshold if self.lower is None else self.lower

    def tested(self, runs: int) -> int:
        """Return ``runs``, because the thresholds are fixed and every run is used for the bound.

        Parameters
        ----------
        runs
            Total number of runs.

        Returns
        -------
        int
            ``runs``.
        """
        return runs

    def bound(self, sample: RunSample, *, delta: float, alpha: float) -> LowerBound:
        """Return the lower bound from the guesses in all runs.

        Parameters
        ----------
        sample
            Outputs of all runs, and whether each run included the record.
        delta
            Delta at which epsilon is bounded.
        alpha
            Largest allowed error probability of the bound, in (0, 1).

        Returns
        -------
        LowerBound
            Bound with confidence at least 1 - ``alpha``.
        """
        scores = run_scores(self.score, sample)
        if not self.gaussian:
            counts = count_guesses(scores, sample.included, low=self.low, high=self.threshold)
            return bound_from_counts(counts, delta=delta, alpha=alpha)
        every = np.where(np.isnan(scores), self.low, scores)
        counts = count_guesses(every, sample.included, low=self.low, high=self.low)
        return gaussian_bound_from_counts(counts, delta=delta, alpha=alpha)


@dataclass(frozen=True)
class SelectedThreshold:
    """Statistic that learns its score and thresholds on the first runs, and guesses in the remaining runs (A5).

    Attributes
    ----------
    name
        Name for the report.
    learned
        Function that takes the first runs as a `RunSample` and returns a score. The score is a function that takes
        outputs and returns one number for each run.
    share
        Positive weight of this statistic. `audit` divides its error probability, 1 - ``confidence``, among the
        statistics in proportion to their weights.
    split
        Fraction of the runs used to learn the score and the thresholds, from 0.01 to 0.9.
    gaussian
        Whether to assume that the trade-off curve is Gaussian, as for mu-GDP. If True, a guess is made in every run.
        The threshold is then halfway between the median scores of the first runs with and without the record.
    """

    name: str
    learned: Callable[[RunSample], Score]
    share: float = 1.0
    split: float = SPLIT
    gaussian: bool = False

    def __post_init__(self) -> None:
        """Check the name, the share, the function and the split."""
        require_statistic(self.name, self.share, self.learned)
        checks.between("split", self.split, 0.01, 0.9, "It is the share of the runs to choose thresholds with.")

    def tested(self, runs: int) -> int:
        """Return the number of runs that are not used to learn the score and the thresholds.

        Parameters
        ----------
        runs
            Total number of runs.

        Returns
        -------
        int
            Number of runs used for the bound.
        """
        return runs - round(self.split * runs)

    def bound(self, sample: RunSample, *, delta: float, alpha: float) -> LowerBound:
        """Return the lower bound from the guesses in the runs that are not used for learning.

        Parameters
        ----------
        sample
            Outputs of all runs, and whether each run included the record.
        delta
            Delta at which epsilon is bounded.
        alpha
            Largest allowed error probability of the bound, in (0, 1).

        Returns
        -------
        LowerBound
            Bound with confidence at least 1 - ``alpha``.
        """
        first, rest = sample.split(self.split)
        score = self.learned(first)
        low, high = self._thresholds(run_scores(score, first), first, delta)
        chosen = FixedThreshold(self.name, score, high, lower=low, gaussian=self.gaussian)
        return chosen.bound(rest, delta=delta, alpha=alpha)

    def _thresholds(self, scores: Floats, first: RunSample, delta: float) -> tuple[float, float]:
        if not self.gaussian:
            return select_thresholds(scores, first.included, delta=delta)
        middle = _middle(scores, first)
        return middle, middle


@dataclass(frozen=True)
class SimulatedThreshold:
    """Score with a known distribution, and thresholds that maximize the expected bound at the given number of runs.

    Simulated runs have the same distribution and separate random numbers. They replace the split, so all audited runs
    yield guesses (A5, "fixed in advance").

    Attributes
    ----------
    name
        Name for the report.
    score
        Function that takes the outputs of all runs and returns one number for each run.
    simulation
        Function that returns simulated runs, independent of the audited runs.
    share
        Positive weight of this statistic. `audit` divides its error probability, 1 - ``confidence``, among the
        statistics in proportion to their weights.
    """

    name: str
    score: Score
    simulation: Callable[[], RunSample]
    share: float = 1.0

    def __post_init__(self) -> None:
        """Check the name, the share and the score function."""
        require_statistic(self.name, self.share, self.score)

    def tested(self, runs: int) -> int:
        """Return ``runs``, because every run is available for guesses."""
        return runs

    def bound(self, sample: RunSample, *, delta: float, alpha: float) -> LowerBound:
        """Choose thresholds on the simulated runs, and return the bound from the guesses of all runs."""
        first = self.simulation()
        scores, audience = run_scores(self.score, first), AuditSize(len(sample), delta, alpha)
        low, high = simulated_thresholds(scores, first.included, audience)[1]
        return FixedThreshold(self.name, self.score, high, lower=low).bound(sample, delta=delta, alpha=alpha)


def run_scores(score: Score, sample: RunSample) -> Floats:
    """Return the scores; raise ``ParameterError`` unless there is one per run (NaN for no guess)."""
    if not callable(score):
        raise ParameterError(
            argument="learned", rule="must return a function from outputs to scores", got=checks.shown(score)
        )
    returned = score(sample.outputs)
    found = real_numbers(returned)
    if found is None or found.shape != (len(sample),):
        got = f"an object of type {type(returned).__name__}" if found is None else f"an array of shape {found.shape}"
        raise ParameterError(
            argument="score", rule=f"must return one score for each of the {len(sample)} runs", got=got
        )
    return found


def require_statistic(name: object, share: object, function: object) -> None:
    """Raise ``ParameterError`` unless the statistic has a name, a positive share and a function."""
    if not isinstance(name, str):
        raise ParameterError(argument="name", rule="must be a string", got=checks.shown(name))
    checks.positive("share", share)
    if not callable(function):
        raise ParameterError(
            f"{arg('score')} (or {arg('learned')}) of the statistic {name!r} must be a function, got "
            f"{checks.shown(function)}."
        )


def _check_place(name: str, value: object) -> None:
    """Check that a threshold is a real number or an infinity."""
    if not isinstance(value, float) or not math.isinf(value):
        checks.real(name, value)


def _middle(scores: Floats, sample: RunSample) -> float:
    """Return the midpoint between the median scores of runs with and without the record."""
    sides = [scores[sample.included == side] for side in (False, True)]
    known = [side[~np.isnan(side)] for side in sides]
    return float(np.mean([np.median(side) for side in known])) if all(map(len, known)) else 0.0


def checked_statistics(statistics: object, *, delta: float = 1.0) -> tuple[Statistic, ...]:
    """Return the statistics; raise ``ParameterError`` for none, duplicate names, or a Gaussian statistic at delta 0."""
    if isinstance(statistics, str | Statistic) or not isinstance(statistics, Iterable):
        raise ParameterError(
            argument="statistics", rule="must be a list, such as [projection()]", got=checks.shown(statistics)
        )
    found = tuple(statistics)
    for one in found:
        if isinstance(one, type) or not isinstance(one, Statistic):
            raise ParameterError(
                argument="statistics",
                rule="must contain statistics only, such as FixedThreshold and SelectedThreshold",
                got=checks.shown(one),
            )
    names = [one.name for one in found]
    if not names or len(set(names)) < len(names):
        raise ParameterError(argument="statistics", rule="must be at least one, with distinct names", got=str(names))
    if delta == 0 and any(getattr(one, "gaussian", False) for one in found):
        raise ParameterError(
            argument="delta",
            rule="must be above 0 for statistics with gaussian=True",
            got="0",
            remedy="A Gaussian trade-off has no finite epsilon at delta 0.",
        )
    return found
