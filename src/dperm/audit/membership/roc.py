# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""ROC curves of membership attacks: rates and areas with intervals, beside the ceiling of a guarantee."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm import checks
from dperm.audit.arrays import as_array, numbers
from dperm.audit.finding import Finding
from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper
from dperm.audit.membership.auc import area, area_interval
from dperm.audit.membership.ceiling import area_ceiling, profile_of, rate_ceiling
from dperm.audit.membership.trials import Trials, comparable
from dperm.audit.membership.verdict import finding_of
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, Guarantee
from dperm.privacy.profile import PrivacyProfile

RATES = (0.001, 0.01, 0.1)
"""False-positive rates that are reported: attacks matter where they rarely accuse falsely (Carlini et al. 2022)."""
PRIVATE = "not for publication."
EXPLANATION = (
    "By guessing, the AUC is 0.5 and the true-positive rate equals the false-positive rate; an attack learns something "
    "only as far as it exceeds these values."
)
TURNED = 0.999
"""Confidence that an area is below 1/2."""
LEAST_OF_EACH = 10
"""Fewer members or non-members make no curve."""


@dataclass(frozen=True)
class Rate:
    """A point of a ROC curve, with two-sided intervals at the confidence asked for."""

    threshold: float
    """Scores above it are called members."""
    false_positive_rate: float
    false_positive_interval: tuple[float, float]
    true_positive_rate: float
    true_positive_interval: tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Roc:
    """How well scores tell members from non-members, over all thresholds.

    Attributes
    ----------
    scores
        One per trial; larger says "member".
    member
        Whether the record of the trial was in the training data.
    trials
        What is independent of what. Intervals are confidence intervals for independent trials only: scores of the
        records of *one* model depend on each other through the model, and then intervals are descriptive.
    adjacency
        How "in" and "out" differ. A record in the data or not is added or removed; it is replaced only if another one
        of its own stood in its place. None for dependent trials, of which nobody may know.
    """

    scores: Floats
    member: Mask
    trials: Trials = Trials.DEPENDENT
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        """Trials that a verdict may rest on have an adjacency."""
        if self.adjacency is None and self.trials is not Trials.DEPENDENT:
            object.__setattr__(self, "adjacency", Adjacency.ADD_REMOVE)

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        member: ArrayLike,
        *,
        trials: Trials | str = Trials.DEPENDENT,
        adjacency: Adjacency | str | None = None,
    ) -> "Roc":
        """From scores and membership bits, of any shape; without ``adjacency`` records were added or removed.

        Raises
        ------
        ParameterError
            If there are NaN scores, or fewer than ten members or non-members.
        """
        values = numbers("scores", scores, dims=None, finite=False).ravel()
        bits = _bits(as_array("member", member).ravel())
        _check(values, bits)
        return cls(values, bits, Trials.of(trials), None if adjacency is None else Adjacency.of(adjacency))

    @cached_property
    def members(self) -> Floats:
        """Scores of members, in decreasing order."""
        return -np.sort(-self.scores[self.member])

    @cached_property
    def non_members(self) -> Floats:
        """Scores of non-members, in decreasing order."""
        return -np.sort(-self.scores[~self.member])

    @cached_property
    def curve(self) -> tuple[Floats, Floats]:
        """(false-positive rates, true-positive rates), from (0, 0) to (1, 1), at each threshold that matters."""
        thresholds = np.unique(self.scores)[::-1]
        false = np.searchsorted(-self.non_members, -thresholds, "right") / len(self.non_members)
        true = np.searchsorted(-self.members, -thresholds, "right") / len(self.members)
        return np.concatenate([[0.0], false]), np.concatenate([[0.0], true])

    @cached_property
    def auc(self) -> float:
        """The area under the curve."""
        return area(self.members, self.non_members)

    def auc_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """A two-sided interval for the area: DeLong on the logit scale, approximate, for independent trials."""
        return area_interval(self.members, self.non_members, checks.positive_delta("confidence", confidence))

    def at(self, false_positive_rate: float, confidence: float = 0.95) -> Rate:
        """The true-positive rate at the lowest threshold with at most this false-positive rate.

        The threshold is a score of a non-member, and says nothing about members: given it, the true positives are
        binomial, and Clopper-Pearson holds for them. The true false-positive rate above the j-th largest of n_0
        scores is Beta(j, n_0 - j + 1) if there are no ties, and Clopper-Pearson's upper end is its exact quantile. Both
        for independent trials.
        """
        rate = checks.probability("false_positive_rate", false_positive_rate)
        allowed = min(int(rate * len(self.non_members) * (1 + 1e-12)), len(self.non_members) - 1)
        return self.above(float(self.non_members[allowed]), confidence)

    def above(self, threshold: float, confidence: float = 0.95) -> Rate:
        """The rates of calling members whose scores exceed a ``threshold`` that was fixed beforehand."""
        confidence = checks.positive_delta("confidence", confidence)
        threshold = float(numbers("threshold", threshold, dims=0, finite=False))
        false, true = int((self.non_members > threshold).sum()), int((self.members > threshold).sum())
        return Rate(
            threshold,
            false / len(self.non_members),
            _interval(false, len(self.non_members), confidence),
            true / len(self.members),
            _interval(true, len(self.members), confidence),
        )

    def tpr_at(self, false_positive_rate: float) -> float:
        """The true-positive rate at the lowest threshold with at most this false-positive rate."""
        return self.at(false_positive_rate).true_positive_rate

    def ceilings(self, guarantee: Guarantee | PrivacyProfile, rates: Sequence[float] = RATES) -> dict[str, float]:
        """The largest area and true-positive rates that the guarantee allows, under names such as "TPR at FPR 1 %"."""
        comparable(self.adjacency, profile_of(guarantee))
        found = {named(rate): rate_ceiling(guarantee, rate) for rate in rates}
        return {"AUC": area_ceiling(guarantee), **found}

    def finding(self, claimed: AnyGuarantee, *, delta: float | None = None, confidence: float = 0.95) -> Finding:
        """The claim beside lower bounds on epsilon; see `dperm.audit.membership.verdict.finding_of`."""
        return finding_of(self, claimed, delta=delta, confidence=confidence)

    def exceeds(self, claimed: AnyGuarantee, *, delta: float | None = None, confidence: float = 0.95) -> bool:
        """Whether the attack is better than the guarantee allows: wrongly so with probability at most 1 - confidence.

        A curve that crosses the ceiling somewhere proves nothing: every look has to be paid for (A5).
        """
        return self.finding(claimed, delta=delta, confidence=confidence).violation

    @property
    def hint(self) -> str:
        """What to look at if scores are lower for members than for others, clearly; "" otherwise."""
        if self.auc_interval(TURNED)[1] >= 0.5:
            return ""
        return "The AUC is below 0.5: larger scores must mean members. Are they turned round?"

    @property
    def summary(self) -> str:
        """Area and true-positive rates, in one line."""
        rates = ", ".join(f"{100 * self.tpr_at(rate):.3g} % at FPR {100 * rate:g} %" for rate in RATES[:2])
        return f"{len(self.scores)} trials, AUC {self.auc:.3f} (guessing: 0.5), TPR {rates} (guessing: TPR = FPR)"

    def __repr__(self) -> str:
        """One line, without scores and bits: those are private."""
        return f"<Roc: {self.summary}; {PRIVATE}{' ' * bool(self.hint)}{self.hint}>"

    def as_dict(self, confidence: float = 0.95, *, rates: Sequence[float] = RATES) -> dict[str, object]:
        """Plain data: area and rates with intervals, and what these are worth."""
        points = {named(rate): self.at(rate, confidence) for rate in rates}
        return {
            "members": len(self.members),
            "non_members": len(self.non_members),
            "AUC": self.auc,
            "AUC interval": list(self.auc_interval(confidence)),
            **{name: point.true_positive_rate for name, point in points.items()},
            **{f"{name}, interval": list(point.true_positive_interval) for name, point in points.items()},
            "confidence": confidence,
            "intervals": self.trials.words,
            "by guessing": guessing(rates),
            "explanation": EXPLANATION,
        }


def guessing(rates: Sequence[float] = RATES) -> dict[str, float]:
    """Area and true-positive rates of an attacker who guesses, under the names of `Roc.as_dict`."""
    return {"AUC": 0.5, **{named(rate): rate for rate in rates}}


def named(rate: float) -> str:
    """Such as "TPR at FPR 0.1 %"."""
    return f"TPR at FPR {100 * rate:g} %"


def _interval(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    low, high = clopper_pearson_lower(successes, trials, tail), clopper_pearson_upper(successes, trials, tail)
    return float(low), float(high)


def _bits(member: NDArray[np.generic]) -> Mask:
    if member.dtype.kind not in "biuf" or not np.isin(member, (0, 1)).all():
        raise ParameterError("member must be True or False (1 or 0) for each score.")
    return member.astype(np.bool_)


def _check(scores: Floats, member: Mask) -> None:
    if scores.shape != member.shape:
        raise ParameterError(f"scores and member must have the same length, got {len(scores)} and {len(member)}.")
    members = int(member.sum())
    if min(members, len(member) - members) < LEAST_OF_EACH:
        raise ParameterError(
            f"a ROC curve needs at least {LEAST_OF_EACH} members and as many non-members, got {members} and "
            f"{len(member) - members}. Attack more records."
        )
