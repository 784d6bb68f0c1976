# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Three valid ways to choose a threshold for the scores of an attack, and five decision rules (A5).

Each score belongs to a training run with or without the record. A threshold that is chosen from the scores weakens the
bound or its confidence. So the threshold is fixed in advance (`fixed_threshold`), selected on runs that are then
discarded (`split_threshold`), or one of k thresholds that are fixed in advance and each tested at level alpha/k, where
alpha = 1 - confidence (`union_threshold`). A function that tests the best of all thresholds at level alpha is missing
on purpose: its bound would exceed the true epsilon far more often than alpha allows.

A decision rule turns scores and a threshold into guesses, and the guesses into a bound. The decision rules are `RATES`,
`GAUSSIAN_RATES`, `PURE_GUESSES`, `APPROXIMATE_GUESSES` and `GAUSSIAN_GUESSES`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from dperm import checks
from dperm.audit.arrays import as_array, numbers
from dperm.audit.coins import Canaries, Truths, fair_coins, inclusions
from dperm.audit.guesses import approximate_from_guesses, gaussian_from_guesses, pure_from_guesses
from dperm.audit.lower_bound import LowerBound, alpha_of
from dperm.audit.rates import from_rates, gaussian_from_rates
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.errors import ParameterError
from dperm.noise.simulation import generator
from dperm.presentation.spelling import arg

Ints = NDArray[np.int64]

FEWEST = 100
"""Smallest number of guesses at a threshold that `split_threshold` may select (A5).

With fewer guesses, the selection would depend mostly on chance, and additional runs could make the bound worse.
"""

_NEARLY_ONE = 1 - 1e-12
_CANDIDATES = 1000


@dataclass(frozen=True)
class Tally:
    """Counts of correct and wrong guesses at one or more thresholds, and numbers of runs.

    A guess is "in" (the data of the run contain the record) or "out".

    Attributes
    ----------
    true_in, false_in
        Numbers of correct and of wrong "in" guesses, one entry per threshold.
    true_out, false_out
        Numbers of correct and of wrong "out" guesses, one entry per threshold.
    members, non_members
        Numbers of runs with and without the record.
    """

    true_in: Ints
    false_in: Ints
    true_out: Ints
    false_out: Ints
    members: int
    non_members: int


@dataclass(frozen=True)
class DecisionRule:
    """Decision rule that turns scores and a threshold into guesses, and the guesses into a lower bound on epsilon.

    Attributes
    ----------
    name
        Name used in messages.
    bound
        Function that returns the lower bound, given a `Tally` at one threshold, a delta and a confidence level.
    estimate
        Function that returns a conservative estimate of the strength of the attack at each threshold, given a `Tally`
        and a delta. `split_threshold` selects a threshold by this estimate, which is -inf at thresholds with too few
        guesses.
    fair
        Whether the record must have been included by fair and independent coin flips, one for each run.
    both_tails
        If True, guess "in" for scores of at least the threshold t, guess "out" for scores of at most -t, and abstain in
        between and at NaN. If False, guess "in" for scores of at least t, and "out" otherwise.
    """

    name: str
    bound: Callable[[Tally, float, float], LowerBound]
    estimate: Callable[[Tally, float], Floats]
    fair: bool
    both_tails: bool = False

    def tally(self, scores: Floats, truths: Truths, thresholds: Floats) -> Tally:
        """Return the counts of correct and wrong guesses at each threshold.

        Parameters
        ----------
        scores
            One score per run.
        truths
            One boolean per run: whether the record was included.
        thresholds
            Thresholds with which the scores are compared.

        Returns
        -------
        Tally
            The counts, with one entry per threshold, and the numbers of runs.
        """
        inside, outside = np.sort(scores[truths]), np.sort(scores[~truths])  # NaN, "no guess", are sorted last
        true_in, false_in = _at_least(inside, thresholds), _at_least(outside, thresholds)
        if self.both_tails:
            true_out = np.searchsorted(outside, -thresholds, side="right")
            false_out = np.searchsorted(inside, -thresholds, side="right")
        else:
            true_out, false_out = len(outside) - false_in, len(inside) - true_in
        return Tally(
            true_in, false_in, true_out=true_out, false_out=false_out, members=len(inside), non_members=len(outside)
        )


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
        raise ParameterError(
            argument="delta",
            rule=f"must be 0 for {arg('rule', 'PURE_GUESSES')}",
            got=str(delta),
            remedy="Use RATES or APPROXIMATE_GUESSES.",
        )
    return pure_from_guesses(*_guesses(t), confidence=confidence)


RATES = DecisionRule(
    "RATES", lambda t, delta, level: from_rates(*_rates(t), delta=delta, confidence=level), _rate_estimate, fair=False
)
"""Decision rule of A2, without assumptions, not even about the coin flips."""

GAUSSIAN_RATES = DecisionRule(
    "GAUSSIAN_RATES",
    lambda t, delta, level: gaussian_from_rates(*_rates(t), delta=delta, confidence=level),
    _gaussian_estimate,
    fair=False,
)
"""Decision rule of A3: bound for a mechanism with a Gaussian trade-off curve."""

PURE_GUESSES = DecisionRule("PURE_GUESSES", _pure, _guess_estimate, fair=True, both_tails=True)
"""Decision rule of A4 for pure DP and fair coin flips.

It guesses only at large positive and large negative scores, so it needs scores around 0, such as log-likelihood ratios.
"""

APPROXIMATE_GUESSES = DecisionRule(
    "APPROXIMATE_GUESSES",
    lambda t, delta, level: approximate_from_guesses(*_guesses(t), delta=delta, confidence=level),
    _guess_estimate,
    fair=True,
)
"""Decision rule of A4 for a positive delta and fair coin flips. It makes a guess for every run."""

GAUSSIAN_GUESSES = DecisionRule(
    "GAUSSIAN_GUESSES",
    lambda t, delta, level: gaussian_from_guesses(*_guesses(t), delta=delta, confidence=level),
    _guess_estimate,
    fair=True,
)
"""Decision rule of A4 for a Gaussian trade-off curve and fair coin flips. It makes a guess for every run."""


def _checked_rule(rule: object) -> DecisionRule:
    """Return ``rule`` if it is a `DecisionRule`; raise ``ParameterError`` otherwise."""
    if not isinstance(rule, DecisionRule):
        known = (
            "RATES, GAUSSIAN_RATES, PURE_GUESSES, APPROXIMATE_GUESSES and GAUSSIAN_GUESSES of dperm.audit.thresholds"
        )
        raise ParameterError(
            argument="rule",
            rule=f"must be one of {known}",
            got=shown(rule),
            remedy="Import the rule; its name is not enough.",
        )
    return rule


def fixed_threshold(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    threshold: float,
    *,
    delta: float,
    confidence: float = 0.95,
    rule: DecisionRule = RATES,
) -> LowerBound:
    """Return the lower bound on epsilon at a threshold that was fixed before the scores were seen (A5).

    The threshold may come from theory or from other runs.

    Parameters
    ----------
    scores
        One score per run; a higher score means that the record was more likely included. NaN means no guess, and is
        allowed only for ``PURE_GUESSES``.
    included
        One boolean per run: whether the record was included. `dperm.audit.coins.Canaries` are also accepted.
    threshold
        The threshold, a finite number; it must be positive for ``PURE_GUESSES``.
    delta
        Delta at which epsilon is bounded, in [0, 1). It must be 0 for ``PURE_GUESSES``, and positive for the Gaussian
        rules.
    confidence
        Confidence level of the bound, in (0, 1).
    rule
        Decision rule: `RATES`, `GAUSSIAN_RATES`, `PURE_GUESSES`, `APPROXIMATE_GUESSES` or `GAUSSIAN_GUESSES`.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.

    Raises
    ------
    AssumptionError
        If the rule requires fair and independent coin flips, and ``included`` is very unlikely to result from them.
    ParameterError
        If an argument is invalid.
    """
    _checked_rule(rule)
    points = _grid([checks.real("threshold", threshold)], "threshold", rule)
    values, truths = _runs(scores, included, rule)
    found = rule.bound(rule.tally(values, truths, points), delta, confidence)
    return _with_method(found, "threshold fixed in advance", confidence)


def union_threshold(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    thresholds: ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    rule: DecisionRule = RATES,
) -> LowerBound:
    """Return the best lower bound on epsilon over k thresholds that were fixed before the scores were seen (A5).

    Each threshold is tested at level alpha/k, where alpha = 1 - confidence.

    Parameters
    ----------
    scores, included, delta, rule
        See `fixed_threshold`.
    thresholds
        The k thresholds; duplicates count once.
    confidence
        Confidence level at which all k bounds hold simultaneously.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.

    Raises
    ------
    AssumptionError, ParameterError
        See `fixed_threshold`.
    """
    _checked_rule(rule)
    points = _grid(thresholds, "thresholds", rule)
    values, truths = _runs(scores, included, rule)
    level = math.nextafter(1 - alpha_of(confidence) / len(points), 1)
    bounds = [rule.bound(rule.tally(values, truths, points[i : i + 1]), delta, level) for i in range(len(points))]
    best = max(bounds, key=lambda bound: bound.epsilon)
    return _with_method(best, f"best of {len(points)} thresholds fixed in advance, each paid for", confidence)


def split_threshold(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    share: float = 0.2,
    seed: int = 0,
    rule: DecisionRule = RATES,
) -> LowerBound:
    """Select a threshold on a fraction of the runs, and return its lower bound on epsilon from the other runs (A5).

    Among the thresholds with at least 100 guesses, the function selects the threshold at which the attack is estimated
    to be strongest. For v correct guesses out of r, the estimate uses v - sqrt(r)/2 instead of v, because the largest
    of many estimates is usually too large.

    Parameters
    ----------
    scores, included, delta, confidence, rule
        See `fixed_threshold`.
    share
        Fraction of the runs used for the selection, from 0.1 to 0.3.
    seed
        Seed for the random choice of the runs that are used for the selection. Trying several seeds and keeping the
        best result invalidates the bound.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.

    Raises
    ------
    AssumptionError
        See `fixed_threshold`.
    ParameterError
        If an argument is invalid, or if there are too few runs to select a threshold.
    """
    _checked_rule(rule)
    delta, share = checks.small_delta("delta", delta), checks.between("share", share, 0.1, 0.3)
    alpha_of(confidence)
    values, truths = _runs(scores, included, rule)
    order = generator(seed, "runs to select a threshold on").permutation(len(values))
    size = round(share * len(values))
    chosen, rest = order[:size], order[size:]
    point = _select_threshold(values[chosen], truths[chosen], delta, rule)
    found = rule.bound(rule.tally(values[rest], truths[rest], point), delta, confidence)
    return _with_method(found, f"threshold selected on {size} other runs", confidence)


def _select_threshold(scores: Floats, truths: Truths, delta: float, rule: DecisionRule) -> Floats:
    """Return the threshold with the largest shrunken estimate, as an array of length 1."""
    size = np.abs(scores) if rule.both_tails else scores
    points = np.unique(size[np.isfinite(size) & ((size > 0) | (not rule.both_tails))])
    points = points[np.linspace(0, max(len(points) - 1, 0), min(len(points), _CANDIDATES)).astype(np.int64)]
    if len(points) and truths.any() and not truths.all():
        estimates = rule.estimate(rule.tally(scores, truths, points), delta)
        if (best := int(np.argmax(estimates))) >= 0 and estimates[best] > -np.inf:
            return points[best : best + 1]
    raise ParameterError(
        argument="scores",
        rule=(
            f"must contain more runs: among the {len(scores)} selecting runs, no threshold has {FEWEST} guesses with "
            "a majority of right ones at delta"
        ),
        remedy=f"Add runs, increase {arg('share')}, or fix the threshold in advance.",
    )


def _runs(scores: ArrayLike, included: Canaries | ArrayLike, rule: DecisionRule) -> tuple[Floats, Truths]:
    raw = as_array("scores", scores)
    passed = np.isnan(raw) if rule.both_tails and raw.dtype.kind == "f" else np.zeros(raw.shape, dtype=bool)
    values = np.where(
        passed, np.nan, numbers("scores", np.where(passed, 0.0, raw) if passed.any() else raw, finite=False)
    )
    return values, (fair_coins if rule.fair else inclusions)(included, len(values))


def _grid(thresholds: ArrayLike, name: str, rule: DecisionRule) -> Floats:
    points = np.unique(numbers(name, thresholds))
    if not len(points):
        raise ParameterError(argument=name, rule="must be at least one", got="none")
    if rule.both_tails and points[0] <= 0:
        raise ParameterError(
            argument=name, rule=f"must be positive for {arg('rule', rule.name)}, because it guesses in both tails"
        )
    return points


def _with_method(bound: LowerBound, how: str, confidence: float) -> LowerBound:
    return replace(bound, method=f"{bound.method}, {how} (A5)", confidence=confidence)
