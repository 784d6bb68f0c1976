# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The five decision rules of `dperm.audit.thresholds`: guesses at a threshold, and the resulting bound (A5)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dperm.audit.coins import Truths
from dperm.audit.guesses import approximate_from_guesses, gaussian_from_guesses, pure_from_guesses
from dperm.audit.lower_bound import LowerBound
from dperm.audit.rates import from_rates, gaussian_from_rates
from dperm.checks import shown
from dperm.errors import ParameterError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST = 100
"""Fewest guesses for selecting a threshold; with fewer, luck decides, and the bound falls as runs are added (A5)."""

_NEARLY_ONE = 1 - 1e-12


@dataclass(frozen=True)
class Tally:
    """Counts of right and wrong guesses of either kind, one entry per threshold, and numbers of runs.

    ``true_in`` counts the right guesses "in". ``members`` and ``non_members`` are the numbers of runs with and without
    the record.
    """

    true_in: Ints
    false_in: Ints
    true_out: Ints
    false_out: Ints
    members: int
    non_members: int


@dataclass(frozen=True)
class Rule:
    """Decision rule turning scores and a threshold into a bound.

    Attributes
    ----------
    name
        Name used in messages.
    bound
        Function of (counts at one threshold, delta, confidence) returning a lower bound.
    estimate
        Function of (counts at each threshold, delta) returning shrunken effect sizes; -inf for too few guesses.
    fair
        Whether the coins of the runs must be fair and independent.
    both_tails
        If true, guess "in" for scores >= t, "out" for scores <= -t, and abstain in between and at NaN. Otherwise guess
        "in" for scores >= t and "out" below.
    """

    name: str
    bound: Callable[[Tally, float, float], LowerBound]
    estimate: Callable[[Tally, float], Floats]
    fair: bool
    both_tails: bool = False

    def tally(self, scores: Floats, truths: Truths, thresholds: Floats) -> Tally:
        """Return the counts at each threshold."""
        inside, outside = np.sort(scores[truths]), np.sort(scores[~truths])  # NaN, "no guess", are sorted last
        true_in, false_in = _at_least(inside, thresholds), _at_least(outside, thresholds)
        if self.both_tails:
            true_out = np.searchsorted(outside, -thresholds, side="right")
            false_out = np.searchsorted(inside, -thresholds, side="right")
        else:
            true_out, false_out = len(outside) - false_in, len(inside) - true_in
        return Tally(true_in, false_in, true_out, false_out, len(inside), len(outside))


def _at_least(ordered: Floats, thresholds: Floats) -> Ints:
    numbers = np.count_nonzero(~np.isnan(ordered))
    return np.asarray(numbers - np.searchsorted(ordered, thresholds, side="left"))


def _shrunk(right: Ints, wrong: Ints) -> tuple[Floats, Floats]:
    """Return (v - sqrt(r)/2, r - v + sqrt(r)/2): one standard deviation less, against the winner's curse."""
    half = np.sqrt(right + wrong) / 2
    return np.maximum(right - half, 0.0), wrong + half


def _log_ratios(right: Floats, wrong: Floats, guesses: Ints) -> Floats:
    """Return log(right / wrong), or -inf for fewer than ``FEWEST`` guesses or nonpositive ``right``."""
    usable = (guesses >= FEWEST) & (right > 0)
    return np.asarray(
        np.where(usable, np.log(np.where(usable, right, 1.0)) - np.log(np.maximum(wrong, 1e-300)), -np.inf)
    )


def _rate_estimate(t: Tally, delta: float) -> Floats:
    tp, fp = _shrunk(t.true_in, t.false_in)
    tn, fn = _shrunk(t.true_out, t.false_out)
    inside = _log_ratios(tp / t.members - delta, fp / t.non_members, t.true_in + t.false_in)
    outside = _log_ratios(tn / t.non_members - delta, fn / t.members, t.true_out + t.false_out)
    return np.maximum(inside, outside)


def _gaussian_estimate(t: Tally, _delta: float) -> Floats:
    _, fp = _shrunk(t.true_in, t.false_in)
    _, fn = _shrunk(t.true_out, t.false_out)
    usable = np.minimum(t.true_in + t.false_in, t.true_out + t.false_out) >= FEWEST
    mu = -ndtri(np.minimum(fp / t.non_members, _NEARLY_ONE)) - ndtri(np.minimum(fn / t.members, _NEARLY_ONE))
    return np.asarray(np.where(usable, mu, -np.inf))


def _guess_estimate(t: Tally, _delta: float) -> Floats:
    right, wrong = t.true_in + t.true_out, t.false_in + t.false_out
    return _log_ratios(*_shrunk(right, wrong), right + wrong)


def _guesses(t: Tally) -> tuple[int, int]:
    right = int(t.true_in[0] + t.true_out[0])
    return right, right + int(t.false_in[0] + t.false_out[0])


def _rates(t: Tally) -> tuple[int, int, int, int]:
    return int(t.true_in[0]), t.members, int(t.false_in[0]), t.non_members


def _pure(t: Tally, delta: float, confidence: float) -> LowerBound:
    if delta != 0:
        raise ParameterError(f"delta must be 0 for rule=PURE_GUESSES, got {delta}. Use RATES or APPROXIMATE_GUESSES.")
    return pure_from_guesses(*_guesses(t), confidence=confidence)


RATES = Rule(
    "RATES", lambda t, delta, level: from_rates(*_rates(t), delta=delta, confidence=level), _rate_estimate, fair=False
)
"""A2: no assumptions, not even on the coins."""

GAUSSIAN_RATES = Rule(
    "GAUSSIAN_RATES",
    lambda t, delta, level: gaussian_from_rates(*_rates(t), delta=delta, confidence=level),
    _gaussian_estimate,
    fair=False,
)
"""A3: bound for a Gaussian trade-off."""

PURE_GUESSES = Rule("PURE_GUESSES", _pure, _guess_estimate, fair=True, both_tails=True)
"""A4: pure DP, fair coins, guesses in both tails of a score around 0 such as a log-likelihood ratio."""

APPROXIMATE_GUESSES = Rule(
    "APPROXIMATE_GUESSES",
    lambda t, delta, level: approximate_from_guesses(*_guesses(t), delta=delta, confidence=level),
    _guess_estimate,
    fair=True,
)
"""A4 at a positive delta: fair coins, a guess in every run."""

GAUSSIAN_GUESSES = Rule(
    "GAUSSIAN_GUESSES",
    lambda t, delta, level: gaussian_from_guesses(*_guesses(t), delta=delta, confidence=level),
    _guess_estimate,
    fair=True,
)
"""A4 for a Gaussian trade-off: fair coins, a guess in every run."""


def checked_rule(rule: object) -> Rule:
    """Return ``rule`` if it is a `Rule`; raise ``ParameterError`` otherwise."""
    if not isinstance(rule, Rule):
        known = "RATES, GAUSSIAN_RATES, PURE_GUESSES, APPROXIMATE_GUESSES and GAUSSIAN_GUESSES of dperm.audit.rules"
        raise ParameterError(f"rule must be one of {known}, got {shown(rule)}. Import it; its name alone will not do.")
    return rule
