# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""ROC curves of membership attacks: rates and areas with intervals, compared with the limits of a guarantee."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtri

from dperm import checks
from dperm.audit.arrays import as_array, numbers
from dperm.audit.finding import Finding
from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper
from dperm.audit.membership.ceiling import area_ceiling, profile_of, rate_ceiling
from dperm.audit.membership.verdict import TrialDependence, membership_finding, require_same_adjacency
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, Guarantee
from dperm.privacy.profile import PrivacyProfile

_BISECTIONS = 60
RATES = (0.001, 0.01, 0.1)
"""Reported false-positive rates; attacks matter most at low false-positive rates (Carlini et al. 2022)."""
PRIVATE = "not for publication."
GUESSING = Fact(
    "membership.guessing",
    "By guessing, the AUC is 0.5 and the true-positive rate equals the false-positive rate; an attack learns something "
    "only as far as it exceeds these values.",
)
EXPLANATION = str(GUESSING)
"""Explanation of a ROC curve, relative to guessing."""
REVERSED_SCORES = Fact(
    "membership.reversed-scores",
    "The AUC is below 0.5, but larger scores must indicate members. Check the sign of the scores.",
)
REVERSAL_CONFIDENCE = 0.999
"""Confidence level for reporting an area below 1/2."""
LEAST_OF_EACH = 10
"""Smallest number of members, and of non-members, for a curve."""


def placements(members: Floats, non_members: Floats) -> tuple[Floats, Floats]:
    """Return the share of non-members below each member, and the share of members above each non-member.

    A tie counts one half. The mean of either share is the area (Mann & Whitney), and the variances are those of DeLong.
    """
    low, high = np.sort(non_members), np.sort(members)
    below = np.searchsorted(low, members, "left") + np.searchsorted(low, members, "right")
    beneath = np.searchsorted(high, non_members, "left") + np.searchsorted(high, non_members, "right")
    return below / (2 * len(low)), 1 - beneath / (2 * len(high))


def area(members: Floats, non_members: Floats) -> float:
    """Return P(member's score > non-member's) + P(equal)/2 for the given scores."""
    return float(placements(members, non_members)[0].mean())


def area_interval(members: Floats, non_members: Floats, confidence: float) -> tuple[float, float]:
    """Return an approximate two-sided interval for the area, for independent scores: DeLong, on the logit scale.

    DeLong, DeLong & Clarke-Pearson 1988: var = var(placements of members)/n_1 + var(placements of non-members)/n_0. The
    logit keeps the ends within (0, 1) and the coverage near the edges. For completely separated or tied scores
    (variance 0), the function inverts Hanley & McNeil's variance instead (Newcombe 2006, method 5).
    """
    above, beneath = placements(members, non_members)
    found, z = float(above.mean()), float(ndtri(0.5 + confidence / 2))
    variance = above.var(ddof=1) / len(above) + beneath.var(ddof=1) / len(beneath)
    if not 0 < found < 1 or variance <= 0:
        return _inverted(found, z, len(above), len(beneath))
    half = z * math.sqrt(variance) / (found * (1 - found))
    return float(expit(logit(found) - half)), float(expit(logit(found) + half))


def _inverted(found: float, z: float, members: int, non_members: int) -> tuple[float, float]:
    """Return the two areas at a distance of z of their own standard deviations from ``found``."""

    def deviation(a: float) -> float:
        middle = (members + non_members) / 2 - 1
        inner = 1 + middle * (1 - a) / (2 - a) + middle * a / (1 + a)
        return math.sqrt(a * (1 - a) * inner / (members * non_members))

    def end(inside: float, outside: float) -> float:
        for _ in range(_BISECTIONS):
            middle = (inside + outside) / 2
            if abs(found - middle) <= z * deviation(middle):
                inside = middle
            else:
                outside = middle
        return outside

    return end(found, 0.0), end(found, 1.0)


@dataclass(frozen=True)
class Rate:
    """Point of a ROC curve, with two-sided intervals at the confidence passed to `Roc.at` or `Roc.above`.

    Attributes
    ----------
    threshold
        Threshold of the scores; records with a score above the threshold are classified as members.
    false_positive_rate, false_positive_interval
        Share of the non-members that are classified as members, and its interval (lower end, upper end).
    true_positive_rate, true_positive_interval
        Share of the members that are classified as members, and its interval (lower end, upper end).
    """

    threshold: float
    false_positive_rate: float
    false_positive_interval: tuple[float, float]
    true_positive_rate: float
    true_positive_interval: tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Roc:
    """ROC curve of membership scores over all thresholds.

    Attributes
    ----------
    scores
        One score per trial, larger for likely members.
    member
        One boolean per trial: whether the record of the trial was in the training data.
    trials
        Dependence between trials. Intervals are confidence intervals only for independent trials. Scores of records
        under *one* model depend on each other through the model, so their intervals are only descriptive.
    adjacency
        Neighbouring relation between training with and without the record of a trial. The relation is replace_one if
        training without the record uses another record in its place; otherwise it is add_remove. None means that the
        relation is unknown, which is possible only for dependent trials.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.audit.membership import Roc
    >>> scores = np.arange(40.0)
    >>> Roc.of(scores, scores >= 20).auc
    1.0
    """

    scores: Floats
    member: Mask
    trials: TrialDependence = TrialDependence.DEPENDENT
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        """Set the adjacency of one-run and independent trials to add_remove by default."""
        if self.adjacency is None and self.trials is not TrialDependence.DEPENDENT:
            object.__setattr__(self, "adjacency", Adjacency.ADD_REMOVE)

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        member: ArrayLike,
        *,
        trials: TrialDependence | str = TrialDependence.DEPENDENT,
        adjacency: Adjacency | str | None = None,
    ) -> "Roc":
        """Build a curve from arrays of scores and membership bits of the same shape.

        Parameters
        ----------
        scores
            One score per trial, larger for likely members.
        member
            One boolean per trial: whether the record of the trial was in the training data.
        trials
            Dependence between trials: a `TrialDependence`, or its name such as "one_run".
        adjacency
            Neighbouring relation between training with and without the record of a trial. None means add_remove for
            one-run and independent trials, and an unknown relation for dependent trials.

        Returns
        -------
        Roc
            The curve.

        Raises
        ------
        ParameterError
            If an argument is invalid, a score is NaN, or there are fewer than ten members or ten non-members.
        """
        values = numbers("scores", scores, dims=None, finite=False).ravel()
        bits = _bits(as_array("member", member).ravel())
        _check(values, bits)
        return cls(values, bits, TrialDependence.of(trials), None if adjacency is None else Adjacency.of(adjacency))

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
        """False-positive and true-positive rates at each distinct score, from (0, 0) to (1, 1)."""
        thresholds = np.unique(self.scores)[::-1]
        false = np.searchsorted(-self.non_members, -thresholds, "right") / len(self.non_members)
        true = np.searchsorted(-self.members, -thresholds, "right") / len(self.members)
        return np.concatenate([[0.0], false]), np.concatenate([[0.0], true])

    @cached_property
    def auc(self) -> float:
        """Area under the curve; a tie between a member and a non-member counts one half."""
        return area(self.members, self.non_members)

    def auc_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a two-sided interval for the area under the curve.

        The interval is the approximate one of DeLong, DeLong & Clarke-Pearson 1988, on the logit scale. It is valid
        only for independent trials.

        Parameters
        ----------
        confidence
            Confidence level of the interval.

        Returns
        -------
        tuple[float, float]
            Lower and upper ends of the interval.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        """
        return area_interval(self.members, self.non_members, checks.positive_delta("confidence", confidence))

    def at(self, false_positive_rate: float, confidence: float = 0.95) -> Rate:
        """Return the point of the curve at the lowest threshold with at most this false-positive rate.

        The threshold is the score of a non-member, so it is independent of the members. Given the threshold, the number
        of true positives is binomial, and the Clopper-Pearson interval applies. Let the threshold be the j-th largest
        score of n_0 non-members, without ties. The false-positive rate in the population then has the distribution
        Beta(j, n_0 - j + 1), and the upper end of its Clopper-Pearson interval is an exact quantile of this
        distribution. Both intervals are valid only for independent trials.

        Parameters
        ----------
        false_positive_rate
            Largest false-positive rate, in [0, 1].
        confidence
            Confidence level of the intervals.

        Returns
        -------
        Rate
            Threshold and rates with intervals.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        """
        rate = checks.probability("false_positive_rate", false_positive_rate)
        allowed = min(int(rate * len(self.non_members) * (1 + 1e-12)), len(self.non_members) - 1)
        return self.above(float(self.non_members[allowed]), confidence)

    def above(self, threshold: float, confidence: float = 0.95) -> Rate:
        """Return the true- and false-positive rates if records with scores above ``threshold`` count as members.

        Parameters
        ----------
        threshold
            Threshold, chosen without looking at the scores; infinity is allowed.
        confidence
            Confidence level of the intervals.

        Returns
        -------
        Rate
            Threshold and rates with intervals.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        """
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
        """Return the true-positive rate at the lowest threshold with at most this false-positive rate.

        Parameters
        ----------
        false_positive_rate
            Largest false-positive rate, in [0, 1].

        Returns
        -------
        float
            True-positive rate.
        """
        return self.at(false_positive_rate).true_positive_rate

    def ceilings(self, guarantee: Guarantee | PrivacyProfile, rates: Sequence[float] = RATES) -> dict[str, float]:
        """Return the largest area under the curve and the largest true-positive rates allowed by the guarantee.

        Parameters
        ----------
        guarantee
            Guarantee or privacy profile, under the adjacency of the trials.
        rates
            False-positive rates at which to limit the true-positive rate, each in [0, 1].

        Returns
        -------
        dict
            Limits under the names used by `as_dict`, such as "AUC" and "TPR at FPR 1 %".
        """
        require_same_adjacency(self.adjacency, profile_of(guarantee))
        found = {rate_name(rate): rate_ceiling(guarantee, rate) for rate in rates}
        return {"AUC": area_ceiling(guarantee), **found}

    def finding(self, claimed: AnyGuarantee, *, delta: float | None = None, confidence: float = 0.95) -> Finding:
        """Compare lower bounds on epsilon from the trials with a claimed guarantee.

        The available bounds depend on ``trials``; see `TrialDependence`.

        Parameters
        ----------
        claimed
            The claimed guarantee.
        delta
            The delta of the bounds; None uses the delta of the claim. Claims of GDP, zCDP and RDP require a value.
        confidence
            Simultaneous confidence level of all bounds.

        Returns
        -------
        Finding
            Lower bounds on epsilon and the verdict.

        Raises
        ------
        AssumptionError
            If the trials depend on each other in an unknown way.
        AdjacencyError
            If the claim has a different adjacency from the trials.
        """
        return membership_finding(self, claimed, delta=delta, confidence=confidence)

    def exceeds(self, claimed: AnyGuarantee, *, delta: float | None = None, confidence: float = 0.95) -> bool:
        """Return whether the attack refutes the guarantee, with error probability at most 1 - confidence.

        A curve above one of the limits of `ceilings` is not sufficient to refute the guarantee, because these limits do
        not account for sampling error. The lower bounds of `finding` account for it, and divide the error probability
        among all tested points (A5).

        Parameters
        ----------
        claimed, delta, confidence
            See `finding`.

        Returns
        -------
        bool
            True if a lower bound exceeds the claimed epsilon.
        """
        return self.finding(claimed, delta=delta, confidence=confidence).violation

    @property
    def hint(self) -> str:
        """Advice for the user if scores are clearly lower for members than for non-members, otherwise ""."""
        return "" if self.auc_interval(REVERSAL_CONFIDENCE)[1] >= 0.5 else str(REVERSED_SCORES)

    @property
    def summary(self) -> Fact:
        """One-line summary: number of trials, area under the curve, and true-positive rates."""
        template = (
            "{trials} trials, AUC {auc:.3f} (guessing: 0.5), TPR {low_percent:.3g} % at FPR {low_rate:g} %, "
            "{high_percent:.3g} % at FPR {high_rate:g} % (guessing: TPR = FPR)"
        )
        low, high = RATES[:2]
        values = {"trials": len(self.scores), "auc": self.auc, "low_rate": 100 * low, "high_rate": 100 * high}
        percents = {"low_percent": 100 * self.tpr_at(low), "high_percent": 100 * self.tpr_at(high)}
        return Fact("membership.summary", template, {**values, **percents})

    def __repr__(self) -> str:
        """One-line summary without the private scores and bits."""
        return f"<Roc: {self.summary}; {PRIVATE}{' ' * bool(self.hint)}{self.hint}>"

    def as_dict(self, confidence: float = 0.95, *, rates: Sequence[float] = RATES) -> dict[str, object]:
        """Return JSON-serialisable data: the area and the rates with their intervals, and an interpretation.

        Parameters
        ----------
        confidence
            Confidence level of the intervals.
        rates
            False-positive rates to report.

        Returns
        -------
        dict
            Counts, area, rates, intervals, the values of random guessing for comparison, and an explanation.
        """
        points = {rate_name(rate): self.at(rate, confidence) for rate in rates}
        return {
            "members": len(self.members),
            "non_members": len(self.non_members),
            "AUC": self.auc,
            "AUC interval": list(self.auc_interval(confidence)),
            **{name: point.true_positive_rate for name, point in points.items()},
            **{f"{name}, interval": list(point.true_positive_interval) for name, point in points.items()},
            "confidence": confidence,
            "intervals": str(self.trials.interval_meaning),
            "by guessing": guessing(rates),
            "explanation": EXPLANATION,
        }


def guessing(rates: Sequence[float] = RATES) -> dict[str, float]:
    """Return the area and true-positive rates of random guessing, under the names of `Roc.as_dict`."""
    return {"AUC": 0.5, **{rate_name(rate): rate for rate in rates}}


def rate_name(rate: float) -> str:
    """Return a name such as "TPR at FPR 0.1 %"."""
    return f"TPR at FPR {100 * rate:g} %"


def _interval(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    low, high = clopper_pearson_lower(successes, trials, tail), clopper_pearson_upper(successes, trials, tail)
    return float(low), float(high)


def _bits(member: NDArray[np.generic]) -> Mask:
    if member.dtype.kind not in "biuf" or not np.isin(member, (0, 1)).all():
        raise ParameterError(argument="member", rule="must be True or False (1 or 0) for each score")
    return member.astype(np.bool_)


def _check(scores: Floats, member: Mask) -> None:
    if scores.shape != member.shape:
        raise ParameterError(
            argument="scores", rule=f"must have the length of {arg('member')}", got=f"{len(scores)} and {len(member)}"
        )
    members = int(member.sum())
    if min(members, len(member) - members) < LEAST_OF_EACH:
        raise ParameterError(
            (
                f"a ROC curve requires at least {LEAST_OF_EACH} members and {LEAST_OF_EACH} non-members, got "
                f"{members} and {len(member) - members}."
            ),
            remedy="Attack more records.",
        )
