# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Records that a private choice among K thresholds needs: lower bound (T60, E20), and the number that suffices (T61).

Data set i has half of its records just below the i-th threshold, with the first label, and half just above it, with the
second label. Threshold i makes no error, and every other threshold makes n/2 errors. Success is the choice of threshold
i. The probabilities of the exponential mechanism are computed exactly from its intervals of equal error; a few real
releases confirm them.
"""

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dperm.errors import NotPrivateWarning
from dperm.mechanisms.releases import Threshold
from dperm.noise import NotPrivateBits
from dperm.privacy import PureDP
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome, guarantee_parameters
from dperm.theory import packing_sample_size

GOAL, SUCCESS = PureDP(1.0, "replace_one"), 0.9
POWERS, QUICK_POWERS = tuple(range(1, 31)), (1, 5, 10, 20, 30)
"""Exponents j of the numbers of thresholds, K = 2^j + 1."""
FEW_RECORDS, FEW_THRESHOLDS = 40, 2**10
RELEASES, QUICK_RELEASES = 2000, 200


@dataclass(frozen=True)
class ThresholdRecords:
    """Records for K thresholds: bound of T60, printed bound (E20), need of T61, and its success on forty records."""

    thresholds: int
    bound: float
    printed: float
    needed: int
    success: float


def run(effort: Effort) -> Outcome:
    """Compute exact probabilities; only the confirming releases depend on the seed."""
    powers, found = QUICK_POWERS if effort.quick else POWERS, []
    for place, power in enumerate(powers):
        found.append(_at(2**power))
        effort.progress((place + 1) / (len(powers) + 1))
    releases = QUICK_RELEASES if effort.quick else RELEASES
    share = released_share(FEW_THRESHOLDS, releases, effort.seed)
    effort.progress(1.0)
    parameters: dict[str, Cell] = {
        **guarantee_parameters(GOAL),
        "success": SUCCESS,
        "data": "half of the records just below a threshold, half just above",
        "releases": f"{releases} with {FEW_THRESHOLDS + 1} thresholds",
        "seed": effort.seed,
    }
    return Outcome(parameters, _table(found), _picture(found), _checks(found, share, releases), _sentence(found))


def _at(intervals: int) -> ThresholdRecords:
    sets = intervals + 1
    bound = packing_sample_size(sets, GOAL.epsilon, adjacency=GOAL.adjacency, success=SUCCESS)
    printed = math.log(SUCCESS * sets / (1 - SUCCESS)) / GOAL.epsilon
    return ThresholdRecords(sets, bound, printed, records_needed(intervals), success(intervals, FEW_RECORDS))


@lru_cache
def _learner(intervals: int) -> Threshold:
    return Threshold(GOAL, bounds=(0.0, 1.0), intervals=intervals)


def success(intervals: int, n: int) -> float:
    """Return the probability of the right (middle) threshold among intervals + 1, on n records (T61)."""
    learner = _learner(intervals)
    stretches = learner.stretches(*_records(intervals, n))
    weights = stretches.counts * np.exp(-float(learner.unit) * stretches.costs)
    return float(weights[stretches.costs == 0].sum() / weights.sum())


def _records(intervals: int, n: int) -> tuple[list[float], list[int]]:
    """Return records around the middle of [0, 1], which is a threshold: half a step below it, and on it."""
    below, above = n // 2, n - n // 2
    return [0.5 - 0.5 / intervals] * below + [0.5] * above, [0] * below + [1] * above


def records_needed(intervals: int) -> int:
    """Return the smallest even n with the required success, which grows with n."""
    low, high = 0, 2
    while success(intervals, high) < SUCCESS:
        low, high = high, 2 * high
    while high - low > 2:
        middle = (low + high) // 4 * 2
        low, high = (low, middle) if success(intervals, middle) >= SUCCESS else (middle, high)
    return high


def released_share(intervals: int, releases: int, seed: int) -> float:
    """Return the share of correct real releases on the required number of records."""
    records, bits = _records(intervals, records_needed(intervals)), NotPrivateBits(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        right = [_learner(intervals).release(*records, bits=bits).value.threshold == 0.5 for _ in range(releases)]
    return float(np.mean(right))


def most_success(sets: int, n: int) -> float:
    """Return the largest success of a pure algorithm on K data sets: s/(1 - s) <= e^(n epsilon)/(K - 1) (T60)."""
    return 1 / (1 + (sets - 1) * math.exp(-n * GOAL.epsilon))


def _table(found: list[ThresholdRecords]) -> LessonTable:
    columns = ("K", "bound (T60)", "as printed (E20)", "exponential mechanism", f"its success with n = {FEW_RECORDS}")
    return LessonTable(columns, tuple((at.thresholds, at.bound, at.printed, at.needed, at.success) for at in found))


def _picture(found: list[ThresholdRecords]) -> Picture:
    x = tuple(float(at.thresholds) for at in found)
    curves = (
        Curve("exponential mechanism (T61)", x, tuple(float(at.needed) for at in found)),
        Curve("no pure algorithm below (T60)", x, tuple(at.bound for at in found), "proved"),
    )
    title = f"Records needed to choose one of K thresholds, with probability {SUCCESS:g}"
    return Picture(title, "number of thresholds K", "number of records", curves, x_log=True)


def _checks(found: list[ThresholdRecords], share: float, releases: int) -> tuple[Check, ...]:
    logs = [math.log(at.thresholds - 1) for at in found]
    rise, least = (float(np.polyfit(logs, y, 1)[0]) for y in ([a.needed for a in found], [a.bound for a in found]))
    exact = success(FEW_THRESHOLDS, records_needed(FEW_THRESHOLDS))
    spread = 4 * math.sqrt(exact * (1 - exact) / releases)
    return (
        Check(
            "The exponential mechanism never needs fewer records than T60 requires.",
            all(a.needed >= a.bound for a in found),
        ),
        Check(
            f"The need and the bound grow in proportion to ln K: {rise:.2f} and {least:.2f} records per unit of ln K.",
            abs(least - 1 / GOAL.epsilon) < 0.01 and abs(rise - 4 / GOAL.epsilon) < 0.15,
        ),
        Check(
            "The mechanism needs four times ln(9(K - 1))/epsilon, up to two records.", all(_fourfold(a) for a in found)
        ),
        Check("Real releases succeed as often as computed.", abs(share - exact) <= spread),
        Check(
            f"On {FEW_RECORDS} records the success of the mechanism falls with K, to less than 0.0001 here.",
            all(a.success > b.success for a, b in pairwise(found)) and found[-1].success < 1e-4,
        ),
        Check(
            "This success never exceeds the largest possible success of a pure-DP algorithm (T60).",
            all(a.success <= most_success(a.thresholds, FEW_RECORDS) for a in found),
        ),
    )


def _fourfold(at: ThresholdRecords) -> bool:
    """Return whether the need is four times the bound: n/2 errors at rate epsilon/2 give n epsilon/4; n is even."""
    return 0 <= at.needed - 4 * at.bound < 2


def _sentence(found: list[ThresholdRecords]) -> str:
    last = found[-1]
    return (
        f"Among {last.thresholds:,} thresholds no pure-DP algorithm is right with probability {SUCCESS:g} on fewer "
        f"than {math.ceil(last.bound)} records; the exponential mechanism needs {last.needed}. Both grow like ln K, so "
        f"no number of records suffices for all thresholds in [0, 1]."
    )


LESSON = Lesson(
    name="packing",
    title="No private threshold on the continuum",
    source="Wang",
    claim=(
        "The lecture claims that a pure-DP algorithm that finds each of K thresholds with probability 0.9 needs an n "
        "such that K e^(-n epsilon) 0.9 <= 0.1, and that no such algorithm exists for all thresholds in [0, 1]. K "
        "should be K - 1, and the chain of inequalities is about the outputs on one data set, D_1 (E20). The correct "
        "bound is n >= ln(9(K - 1))/epsilon (T60)."
    ),
    tags=("T60", "T61", "T8", "E20"),
    run=run,
)
