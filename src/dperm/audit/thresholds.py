# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Three valid ways to choose a threshold for the scores of runs with and without a record (A5).

A threshold chosen from the data costs confidence. It is either fixed in advance (free), or selected on runs discarded
afterwards, or one of k thresholds fixed in advance, each tested at level alpha/k. There is deliberately no fourth
function: the best of all thresholds, at the level of one, exceeds the true epsilon far more often than stated.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.audit.arrays import as_array, numbers
from dperm.audit.coins import Canaries, Truths, fair_coins, inclusions
from dperm.audit.levels import alpha_of
from dperm.audit.lower_bound import LowerBound
from dperm.audit.rules import FEWEST, RATES, Floats, Rule, checked_rule
from dperm.errors import ParameterError
from dperm.noise.simulation import generator

_CANDIDATES = 1000


def fixed_threshold(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    threshold: float,
    *,
    delta: float,
    confidence: float = 0.95,
    rule: Rule = RATES,
) -> LowerBound:
    """Return the bound at a threshold fixed before seeing the scores, from theory or from other runs (A5).

    Parameters
    ----------
    scores
        One per run, higher for likely inclusion of the record; NaN ("no guess") is allowed for PURE_GUESSES only.
    included
        Whether the record was included, one boolean per run.
    threshold
        The threshold, a finite number.
    delta
        The delta of the bound.
    confidence
        Confidence level of the bound.
    rule
        Decision rule with its bound, from `dperm.audit.rules`.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.
    """
    checked_rule(rule)
    points = _grid([checks.real("threshold", threshold)], "threshold", rule)
    values, truths = _runs(scores, included, rule)
    found = rule.bound(rule.tally(values, truths, points), delta, confidence)
    return _told(found, "threshold fixed in advance", confidence)


def union_threshold(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    thresholds: ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    rule: Rule = RATES,
) -> LowerBound:
    """Return the best bound over k thresholds fixed before seeing the scores, each tested at level alpha/k (A5).

    Parameters
    ----------
    scores, included, delta, rule
        As for `fixed_threshold`.
    thresholds
        The k thresholds; duplicates count once.
    confidence
        Simultaneous confidence level of all k bounds.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.
    """
    checked_rule(rule)
    points = _grid(thresholds, "thresholds", rule)
    values, truths = _runs(scores, included, rule)
    level = math.nextafter(1 - alpha_of(confidence) / len(points), 1)
    bounds = [rule.bound(rule.tally(values, truths, points[i : i + 1]), delta, level) for i in range(len(points))]
    best = max(bounds, key=lambda bound: bound.epsilon)
    return _told(best, f"best of {len(points)} thresholds fixed in advance, each paid for", confidence)


def split_threshold(
    scores: ArrayLike,
    included: Canaries | ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    share: float = 0.2,
    seed: int = 0,
    rule: Rule = RATES,
) -> LowerBound:
    """Select the threshold on a ``share`` of the runs, and test it on the remaining runs (A5).

    The selected threshold maximises the estimate with v - sqrt(r)/2 in place of v right guesses of r, among r >= 100.

    Parameters
    ----------
    scores, included, delta, confidence, rule
        As for `fixed_threshold`.
    share
        Share of the runs for the selection, 0.1 to 0.3.
    seed
        Seed of the shuffle for the selection. Trying several seeds and keeping the best invalidates the bound.

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.

    Raises
    ------
    ParameterError
        If too few runs are available to select a threshold.
    """
    checked_rule(rule)
    delta, share = checks.small_delta("delta", delta), checks.between("share", share, 0.1, 0.3)
    alpha_of(confidence)
    values, truths = _runs(scores, included, rule)
    order = generator(seed, "runs to select a threshold on").permutation(len(values))
    size = round(share * len(values))
    chosen, rest = order[:size], order[size:]
    point = _selected(values[chosen], truths[chosen], delta, rule)
    found = rule.bound(rule.tally(values[rest], truths[rest], point), delta, confidence)
    return _told(found, f"threshold selected on {size} other runs", confidence)


def _selected(scores: Floats, truths: Truths, delta: float, rule: Rule) -> Floats:
    """Return the threshold with the largest shrunken estimate, as an array of length 1."""
    size = np.abs(scores) if rule.both_tails else scores
    points = np.unique(size[np.isfinite(size) & ((size > 0) | (not rule.both_tails))])
    points = points[np.linspace(0, max(len(points) - 1, 0), min(len(points), _CANDIDATES)).astype(np.int64)]
    if len(points) and truths.any() and not truths.all():
        estimates = rule.estimate(rule.tally(scores, truths, points), delta)
        if (best := int(np.argmax(estimates))) >= 0 and estimates[best] > -np.inf:
            return points[best : best + 1]
    raise ParameterError(
        f"scores must hold more runs: of the {len(scores)} to select on no threshold has {FEWEST} guesses that are "
        "right more often than not at delta. Add runs, raise share, or fix the threshold in advance."
    )


def _runs(scores: ArrayLike, included: Canaries | ArrayLike, rule: Rule) -> tuple[Floats, Truths]:
    raw = as_array("scores", scores)
    passed = np.isnan(raw) if rule.both_tails and raw.dtype.kind == "f" else np.zeros(raw.shape, dtype=bool)
    values = np.where(
        passed, np.nan, numbers("scores", np.where(passed, 0.0, raw) if passed.any() else raw, finite=False)
    )
    return values, (fair_coins if rule.fair else inclusions)(included, len(values))


def _grid(thresholds: ArrayLike, name: str, rule: Rule) -> Floats:
    points = np.unique(numbers(name, thresholds))
    if not len(points):
        raise ParameterError(f"{name} must be at least one, got none.")
    if rule.both_tails and points[0] <= 0:
        raise ParameterError(f"{name} must be positive for rule={rule.name}, which guesses in both tails.")
    return points


def _told(bound: LowerBound, how: str, confidence: float) -> LowerBound:
    return replace(bound, method=f"{bound.method}, {how} (A5)", confidence=confidence)
