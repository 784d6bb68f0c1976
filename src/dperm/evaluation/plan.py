# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plan of a private evaluation: cells, noise and event, from public numbers alone (T85, T88)."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.data.canonical import canonical_cell, label_text
from dperm.data.identity import plain_label
from dperm.data.labels import declared_classes
from dperm.data.space import checked_pair
from dperm.errors import AssumptionError, ConversionError, DpermWarning, EventFormatError, ParameterError
from dperm.evaluation.metrics import Metrics
from dperm.evaluation.reconstruction import from_stretched, stretched
from dperm.evaluation.records import FRACTION, Codes, PrivateScores, integer_sums, private_scores, released_sums
from dperm.mechanisms.calibration import MOST_DIM
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.releases.fixed_point import FixedPoint, fixed_point
from dperm.mechanisms.run import ReleaseFacts, release
from dperm.noise.bits import Bits, Stream
from dperm.preparation.plan import about
from dperm.preparation.prepared import TargetKind
from dperm.presentation.facts import Fact
from dperm.presentation.glossary import OTHER_GROUP
from dperm.presentation.spelling import arg
from dperm.privacy import GDP, ZCDP, Adjacency, ApproxDP, Release
from dperm.privacy.guarantee import AnyGuarantee, guarantee_from_dict
from dperm.sensitivity.arguments import records_exchanged
from dperm.sensitivity.evaluation import (
    ERROR_SUMS,
    GROUP_SUMS,
    error_sums_sensitivity,
    evaluation_histogram_sensitivity,
    log_loss_sensitivity,
)

MOST_CELLS = 2**22
"""Largest number of released counts."""
MOST_BINS, SHORTEST_BIN = 1000, 1e-7
USUAL_BINS, FEW_BINS, MANY_BINS = 20, 10, 40
"""Numbers of score bins that `score_edges` chooses from."""
FEW_RECORDS, MANY_RECORDS = 100, 50_000
"""Public numbers of records below (in standard deviations of the noise) and above which `score_edges` differs."""
MOST_NOISE = 0.1
"""Largest 95 % error, from the noise alone, of an accuracy (or of a mean error, in units of half the label range) for
which a plan does not warn of too few records."""
SHORTEST_CLIP, LONGEST_CLIP = 1e-6, 0.25
METRICS = "metrics"
"""Key of the metrics in the public facts of a record."""
_Z = 1.96
"""Normal quantile of a 95 % interval."""
SUM_ROUNDING = 2.0**-FRACTION
"""Bound on the distance of each rounded contribution of a record from the exact one, in the sums of a regression."""


@dataclass(frozen=True)
class DeclaredGroups:
    """Declared groups of records, for which metrics are computed separately.

    Attributes
    ----------
    column
        Name of the column that holds the group of each record.
    names
        Values of the column that are declared as groups. Records with any other value belong to the group "other".
    """

    column: str
    names: tuple[str | bool | int | float, ...]

    def __post_init__(self) -> None:
        """Check that the groups differ when they are read cell by cell."""
        object.__setattr__(self, "names", tuple(plain_label(name) for name in self.names))
        texts = [label_text(name) for name in self.names]
        distinct = len({*texts, OTHER_GROUP}) == len(texts) + 1
        if not texts or not distinct or any(canonical_cell(name) is None for name in self.names):
            rule = f"must be different public values, none of them missing or {OTHER_GROUP!r}"
            raise ParameterError(argument="groups", rule=rule, remedy='Give {"sex": ["female", "male"]}, for example.')

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all groups as text; the last one is "other"."""
        return (*map(label_text, self.names), OTHER_GROUP)


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """Public plan of one private evaluation of a fixed model, on records that were not used to train the model.

    The evaluation releases histograms (for a classification) or sums of errors (for a regression) once, with Gaussian
    noise. All metrics and intervals are computed from this release. The accounting event depends only on ``goal``,
    ``task``, ``groups`` and ``positive``. So an earlier private stage may determine the classes or the label range
    (T70): create the plan without them, and add them later with `with_labels`.

    Attributes
    ----------
    goal
        Guarantee of the evaluation: ApproxDP with delta > 0, GDP or ZCDP.
    task
        Classification or regression.
    classes
        Public classes, sorted; None for a regression, or if `with_labels` will add them.
    label_range
        Public (low, high) of the labels; None for a classification, or if `with_labels` will add the range.
    positive
        Positive class for the ROC curve, its area, calibration, Brier score and log loss. For two classes, the default
        is the second class. For more than two classes, these metrics are released only if ``positive`` is given, and
        they need a second histogram.
    bins
        "auto", an even number of score bins, or increasing edges from 0 to 1 that contain 0.5. See
        `dperm.evaluation.plan.score_edges`.
    groups
        Declared groups of records; None for no groups.
    n
        Public number of evaluated records, allowed only under replace-one; None if the number is private. For example,
        the number is private if the records were selected by secret coin flips.
    level
        Nominal coverage of the intervals, from 0.5 to 0.9999.
    clip
        Smallest probability p in the log loss, from 1e-6 to 0.25. The log loss of a record is then at most ln(1/p).

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.evaluation import EvaluationPlan
    >>> plan = EvaluationPlan(goal=ApproxDP(1.0, 1e-5, "add_remove"), task="classification", classes=("no", "yes"))
    >>> round(plan.noise_deviation, 2)
    3.73
    """

    goal: AnyGuarantee
    task: TargetKind
    classes: tuple[Any, ...] | None = None
    label_range: tuple[float, float] | None = None
    positive: Any = None
    bins: str | int | Sequence[float] = "auto"
    groups: DeclaredGroups | None = None
    n: int | None = None
    level: float = 0.95
    clip: float = 0.01

    def __post_init__(self) -> None:
        """Check all arguments and calibrate the noise, from public numbers alone."""
        set_field = object.__setattr__
        require_gaussian_goal(self.goal)
        if self.task not in tuple(TargetKind):
            rule = 'must be "classification" or "regression"'
            raise ParameterError(argument="task", rule=rule, got=shown(self.task))
        set_field(self, "task", TargetKind(self.task))
        set_field(self, "n", _public_number(self.n, self.goal.adjacency))
        set_field(self, "level", checks.between("level", self.level, 0.5, 0.9999, "0.95 gives 95 % intervals."))
        set_field(self, "clip", checks.between("clip", self.clip, SHORTEST_CLIP, LONGEST_CLIP, _CLIP))
        self._check_labels()
        if self.task is TargetKind.CLASSIFICATION:
            set_field(self, "bins", self.bins if isinstance(self.bins, str | int) else tuple(map(float, self.bins)))
            self.edges  # noqa: B018  # checks the bins
        self.event  # noqa: B018  # raises before any data are read

    def _check_labels(self) -> None:
        set_field = object.__setattr__
        if self.task is TargetKind.REGRESSION:
            if self.classes is not None or self.positive is not None:
                raise ParameterError(argument="classes", rule="must be left out for a regression")
            if self.label_range is not None:
                set_field(self, "label_range", checked_pair("label_range", self.label_range))
            return
        if self.label_range is not None:
            raise ParameterError(argument="label_range", rule="must be left out for a classification")
        if self.classes is None:
            return
        classes = tuple(declared_classes(self.classes).tolist())
        texts = [label_text(label) for label in classes]
        if len(set(texts)) < len(texts) or any(canonical_cell(label) is None for label in classes):
            rule = "must be different labels when they are read cell by cell, and none may be a missing value"
            raise ParameterError(argument="classes", rule=rule, remedy="'01', 1 and True are one label. Rename them.")
        set_field(self, "classes", classes)
        if self.positive is not None and label_text(self.positive) not in texts:
            rule = "must be one of the classes"
            raise ParameterError(argument="positive", rule=rule, got=shown(self.positive))
        if self.positive is not None:
            set_field(self, "positive", classes[texts.index(label_text(self.positive))])
        if self.cells > MOST_CELLS:
            rule = f"must give at most {MOST_CELLS:,} counts"
            raise ParameterError(argument="classes", rule=rule, remedy="Merge rare classes.")

    def with_labels(
        self, *, classes: Sequence[Any] | None = None, label_range: tuple[float, float] | None = None
    ) -> "EvaluationPlan":
        """Return the plan with classes or a label range from an earlier private stage; the event is unchanged (T70).

        Parameters
        ----------
        classes
            Public classes of a classification.
        label_range
            Public (low, high) of the labels of a regression.

        Returns
        -------
        EvaluationPlan
            The completed plan.

        Raises
        ------
        AssumptionError
            If the event would change. This happens if ``positive`` is set and there are more than two classes, because
            a second histogram is then needed.
        """
        found = replace(self, classes=None if classes is None else tuple(classes), label_range=label_range)
        if found.event != self.event:
            raise AssumptionError(
                f"{arg('positive')} adds a histogram for more than two classes, and would change the event.",
                remedy=f"Plan without {arg('positive')}.",
            )
        return found

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of the goal."""
        return self.goal.adjacency

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes; also True while the classes are unknown."""
        return self.classes is None or len(self.classes) == 2

    @property
    def positive_place(self) -> int | None:
        """Index of the positive class in ``classes``; None if there is no positive class."""
        assert self.classes is not None
        if self.positive is None:
            return 1 if self.is_binary else None
        return [label_text(label) for label in self.classes].index(label_text(self.positive))

    @property
    def histograms(self) -> int:
        """Number of histograms of a classification; each histogram counts every record once."""
        curves = not self.is_binary and self.positive is not None
        return 1 + curves + (self.groups is not None)

    @property
    def sensitivity(self) -> float:
        """L2 sensitivity of all released numbers together (T85; T88 for a regression)."""
        if self.task is TargetKind.CLASSIFICATION:
            return evaluation_histogram_sensitivity(self.histograms, self.adjacency)
        return error_sums_sensitivity(self.adjacency, groups=self.groups is not None)

    @cached_property
    def mechanism(self) -> GaussianMechanism:
        """Gaussian mechanism of the release, calibrated without knowledge of the classes and the label range.

        For a regression, the contribution of each record and each sum are rounded. The calibration accounts for both
        rounding errors (T10).
        """
        error = 0.0
        if self.task is TargetKind.REGRESSION:
            moved = SUM_ROUNDING * records_exchanged(self.adjacency) + self.fixed_point.rounding
            error = math.sqrt(self.cells) * moved
        return GaussianMechanism.calibrate(self.sensitivity, self.goal, dim=MOST_DIM, numerical_error=error)

    @cached_property
    def fixed_point(self) -> FixedPoint:
        """Fixed-point format of the sums of a regression."""
        return fixed_point(-FRACTION, l2=self.sensitivity, dim=self.cells)

    @property
    def event(self) -> Event:
        """Event of the evaluation: one Gaussian release."""
        return self.mechanism.event

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise of each count or sum, in records.

        In a regression, errors and labels are in units of half the label range.
        """
        return self.mechanism.standard_deviation

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """Public edges of the score bins of a classification.

        A bin contains the scores above its left edge and up to its right edge; the first bin also contains 0. The edges
        include 0.5, and a score above 0.5 predicts the positive class.
        """
        return score_edges(self.bins, self.noise_deviation, self.n)

    @property
    def cells(self) -> int:
        """Number of released counts or sums."""
        groups = 0 if self.groups is None else len(self.groups.labels)
        if self.task is TargetKind.REGRESSION:
            return ERROR_SUMS + groups * GROUP_SUMS
        if self.classes is None:
            raise AssumptionError("the number of counts is known once the classes are.", remedy="Call with_labels.")
        curves = 2 * (len(self.edges) - 1) + 1
        if self.is_binary:
            return curves + groups * 5
        return len(self.classes) ** 2 + 1 + (curves if self.positive is not None else 0) + groups * 2

    @property
    def why(self) -> tuple[Fact, ...]:
        """Statements about the size of the noise and its consequences, computed from public numbers."""
        facts = [
            Fact(
                "evaluation.noise",
                "Each number that the evaluation releases has Gaussian noise of standard deviation {deviation:.3g} "
                "{unit}. All metrics are computed from these numbers (T3).",
                {
                    "deviation": self.noise_deviation,
                    "unit": "records"
                    if self.task is TargetKind.CLASSIFICATION
                    else "records (errors and labels are measured in units of half the label range)",
                },
            ),
            Fact(
                "evaluation.records",
                "With fewer than about {records:,} evaluated records, the noise of the {metric} exceeds its sampling "
                "error.",
                {
                    "metric": "accuracy" if self.task is TargetKind.CLASSIFICATION else "mean absolute error",
                    "records": about(self._records_needed),
                },
            ),
        ]
        if self.groups is not None:
            growth = self.sensitivity / replace(self, groups=None).sensitivity
            facts.insert(
                1,
                Fact(
                    "evaluation.groups",
                    "For the metrics of the declared groups, each record is counted once more. This makes the noise of "
                    "all metrics {growth:.3g} times as large ({theorem}).",
                    {"growth": growth, "theorem": "T85" if self.task is TargetKind.CLASSIFICATION else "T88"},
                ),
            )
        if self.task is TargetKind.CLASSIFICATION and (self.is_binary or self.positive is not None):
            largest = -math.log(self.clip)
            alone = log_loss_sensitivity(largest, self.adjacency) / self.sensitivity * self.noise_deviation
            facts.append(
                Fact(
                    "evaluation.log_loss",
                    "Brier score and log loss are computed from the {bins} score bins (T85). No separate sum of log "
                    "losses is released: it would need its own share of epsilon and delta. Even with all of them, its "
                    "noise would have standard deviation {alone:.3g} (T89; each loss is at most {largest:.3g}).",
                    {"bins": len(self.edges) - 1, "largest": largest, "alone": alone},
                )
            )
        return tuple(facts)

    @property
    def _records_needed(self) -> int:
        """Number of records at which noise and sampling contribute equally, at accuracy 0.85 or a typical error."""
        if self.task is TargetKind.REGRESSION:
            return math.ceil((self.noise_deviation / 0.1) ** 2)
        return math.ceil(self._summed_noise**2 / (0.85 * 0.15))

    @property
    def _summed_noise(self) -> float:
        """Standard deviation of the noise of the number of correct predictions, or of the sum of errors."""
        if self.task is TargetKind.REGRESSION:
            return self.noise_deviation
        cells = 2 * (len(self.edges) - 1) + 1 if self.is_binary else 10
        return self.noise_deviation * math.sqrt(0.375 * cells)

    @property
    def fewest_records(self) -> int:
        """Number of records below which the noise alone may change the accuracy by more than 0.1.

        With at least this many records, the change exceeds 0.1 with probability at most 5 %. For a regression, the same
        holds for the mean absolute error in units of half the label range.
        """
        return math.ceil(_Z * self._summed_noise / MOST_NOISE)

    def few_records(self, records: float) -> Fact:
        """Return the warning about an evaluation of fewer records than ``fewest_records``.

        Parameters
        ----------
        records
            Number of records: public, expected, or released with noise.

        Returns
        -------
        Fact
            The warning.
        """
        moved = _Z * self._summed_noise / max(records, 1.0)
        if self.task is TargetKind.REGRESSION:
            text = "the noise alone moves the mean absolute error by up to {moved:.2g} of half the label range"
        else:
            text = "the noise alone moves the accuracy by up to {moved:.2g}"
        return Fact(
            "evaluation.few_records",
            f"The metrics come from about {{records:,}} records, and {text} with probability 95 %. Evaluate at least "
            "about {fewest:,} records, or choose a larger epsilon.",
            {"records": about(max(round(records), 0)), "moved": min(moved, 1.0), "fewest": about(self.fewest_records)},
        )

    @property
    def public(self) -> dict[str, object]:
        """Public numbers of the plan, as stored in the record of a run."""
        groups = None if self.groups is None else {"column": self.groups.column, "names": list(self.groups.names)}
        curves = self.task is TargetKind.CLASSIFICATION
        return {
            "release": "evaluation",
            "task": str(self.task),
            "classes": None if self.classes is None else list(self.classes),
            "label_range": None if self.label_range is None else list(self.label_range),
            "positive": self.positive,
            "score_edges": list(self.edges) if curves else None,
            "groups": groups,
            "n": self.n,
            "level": self.level,
            "log_loss_clip": self.clip if curves else None,
            "noise_standard_deviation": self.noise_deviation,
        }

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems on which the guarantee is based."""
        own = "T85" if self.task is TargetKind.CLASSIFICATION else "T88"
        return (own, *self.mechanism.facts.theorems)

    @property
    def noise(self) -> str:
        """Description of the noise in words."""
        counted = "on the counts of an evaluation" if self.task is TargetKind.CLASSIFICATION else "on sums of errors"
        return self.mechanism.law.words_at(counted)

    @cached_property
    def facts(self) -> ReleaseFacts:
        """Public facts for the record of the evaluation, if it is a separate release."""
        return ReleaseFacts(
            goal=self.goal, event=self.event, noise=self.noise, theorems=self.theorems, public=self.public
        )

    def read(
        self, labels: object, scores: object = None, *, predictions: object = None, groups: object = None
    ) -> PrivateScores:
        """Return the evaluated records in canonical form, after checking shapes and types. The result is private.

        Parameters
        ----------
        labels
            True labels, one for each record. In a classification, a record with a label outside ``classes`` counts as
            an error.
        scores
            For a classification: scores in [0, 1] of the positive class, or one column of scores for each class, in the
            order of ``classes``. A record with a score that is NaN or infinite counts as an error.
        predictions
            For a regression: predicted numbers. For more than two classes: predicted labels; by default, the class with
            the largest score is the predicted class.
        groups
            Group of each record; required if the plan has groups.

        Returns
        -------
        PrivateScores
            The evaluated records.

        Raises
        ------
        DataError
            If an array has the wrong shape, length or type. If the types are right, no value raises an error.
        ParameterError
            If a required argument, the classes or the label range are missing.
        """
        self._require_labels()
        return private_scores(self, labels, scores=scores, predictions=predictions, groups=groups)

    def draw(self, private: PrivateScores, stream: Stream) -> Metrics:
        """Return the metrics of the evaluated records.

        **Only this method combines private data with noise.** It raises no error that depends on the records, even
        if there are no records.

        Parameters
        ----------
        private
            Result of `read`.
        stream
            Random bits of the release.

        Returns
        -------
        Metrics
            The metrics.
        """
        return self.draw_from_sums(integer_sums(self, private), stream)

    def draw_from_sums(self, sums: Codes, stream: Stream) -> Metrics:
        """Return the metrics of a table whose row groups were summed separately, by adding noise to the total sums.

        Parameters
        ----------
        sums
            Sum of `dperm.evaluation.records.integer_sums` over all row groups, or zeros if there are no records. The
            sums are private.
        stream
            Random bits of the release.

        Returns
        -------
        Metrics
            The metrics that `draw` returns for the same records and the same random bits.
        """
        exact = released_sums(self, sums)
        noisy = self.mechanism.noisy(exact, stream)
        noisy.setflags(write=False)
        return Metrics(self, noisy)

    def run(
        self,
        labels: object,
        scores: object = None,
        budget: Budget | None = None,
        *,
        predictions: object = None,
        groups: object = None,
        bits: Bits | None = None,
    ) -> Release[Metrics]:
        """Evaluate private records: check the budget, read the records, charge the budget, draw noise, and commit.

        Parameters
        ----------
        labels, scores, predictions, groups
            See `read`.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the run reproducible and NOT PRIVATE.

        Returns
        -------
        Release
            The metrics, with guarantee, profile, event and record.
        """
        self._require_labels()
        return release(
            self.facts,
            lambda: self.read(labels, scores, predictions=predictions, groups=groups),
            self.draw,
            budget=budget,
            bits=bits,
        )

    def _require_labels(self) -> None:
        missing = self.classes if self.task is TargetKind.CLASSIFICATION else self.label_range
        if missing is None:
            name = "classes" if self.task is TargetKind.CLASSIFICATION else "label_range"
            raise ParameterError(argument=name, rule="must be given before records are read")


def with_metrics(found: Release[Metrics]) -> Release[Metrics]:
    """Return a release with its metrics among the public facts of its record, where statements find them."""
    fresh = replace(found.value)  # the metrics of the release stay as they are: plan and noisy numbers
    return found.with_public({**found.record.public, METRICS: fresh.to_dict()})


def warn_few_evaluated(plan: EvaluationPlan, records: float | None, *, stacklevel: int) -> None:
    """Warn if a public or expected number of evaluation records is so small that the noise dominates the metrics.

    Parameters
    ----------
    plan
        Plan of the evaluation.
    records
        Number of records; None if it is private. No warning is issued then.
    stacklevel
        Place of the caller's caller, as in `warnings.warn`.
    """
    if records is not None and records < plan.fewest_records:
        warnings.warn(plan.few_records(records).describe(arg), DpermWarning, stacklevel=stacklevel + 1)


def declared_groups(groups: object, columns: Sequence[str] | None = None) -> DeclaredGroups | None:
    """Return the declared groups for the argument ``groups``; None if no groups are declared.

    Parameters
    ----------
    groups
        Mapping of one column to its groups, or None.
    columns
        Names of the columns of the table; None if they are not known yet.

    Raises
    ------
    ParameterError
        If ``groups`` is anything else, such as a string in place of the list, or names a column that does not exist.
    """
    if groups is None:
        return None
    remedy = 'Give {"region": ["north", "south"]}, for example.'
    if not isinstance(groups, Mapping) or len(groups) != 1:
        rule = "must map the name of one column to a list of its public groups"
        raise ParameterError(argument="groups", rule=rule, got=shown(groups), remedy=remedy)
    ((column, names),) = groups.items()
    if columns is not None and str(column) not in columns:
        raise ParameterError(argument="groups", rule="must name a column of the table", got=shown(column))
    if isinstance(names, str | bytes) or not isinstance(names, Sequence | np.ndarray):
        rule = "must give a list of the public groups of the column"
        raise ParameterError(argument="groups", rule=rule, got=shown(names), remedy=remedy)
    return DeclaredGroups(str(column), tuple(names))


def stored_plan(data: Mapping[str, Any]) -> EvaluationPlan:
    """Return the plan with the goal and the public numbers of `dperm.evaluation.Metrics.to_dict`.

    Raises
    ------
    EventFormatError
        If the plan has other public numbers, such as noise that the goal does not give.
    """
    groups, goal = data["groups"], guarantee_from_dict(data["goal"])
    curves = data["task"] == TargetKind.CLASSIFICATION
    plan = EvaluationPlan(
        goal=goal,
        task=data["task"],
        classes=data["classes"],
        label_range=data["label_range"],
        positive=data["positive"],
        groups=None if groups is None else DeclaredGroups(groups["column"], tuple(groups["names"])),
        n=data["n"],
        level=data["level"],
        **({"bins": data["score_edges"], "clip": data["log_loss_clip"]} if curves else {}),
    )
    if {**plan.public, "goal": data["goal"]} != dict(data):
        raise EventFormatError("the stored plan has other public numbers than a plan with its goal.")
    return plan


def require_gaussian_goal(goal: object) -> None:
    """Raise ConversionError unless Gaussian noise can meet the goal: (epsilon, delta) with delta > 0, GDP or zCDP."""
    if not (isinstance(goal, GDP | ZCDP) or (isinstance(goal, ApproxDP) and goal.delta > 0)):
        raise ConversionError(
            "a private evaluation adds Gaussian noise, which meets no pure guarantee (T6), got "
            f"{arg('goal', shown(goal))}.",
            remedy=f"Give {arg('delta', '1e-6')}, for example, or a GDP or ZCDP goal.",
        )


def score_edges(bins: object, deviation: float, n: int | None) -> tuple[float, ...]:
    """Return the public edges of the score bins for the argument ``bins`` of a plan.

    If ``bins`` is a number, the inner edges are equally spaced on the scale asinh(log-odds / 2) of the scores, which
    covers scores from 1e-5 to 1 - 1e-5. The edges lie close together near 0 and 1, so they resolve the scores of rare
    classes. "auto" gives 20 bins if n is private. If n is public, "auto" gives 10 bins for n below 100 standard
    deviations of the noise, because the noise dominates the error. It gives 40 bins for n above 50,000, because the
    width of the bins dominates the error, and 20 bins otherwise.

    Parameters
    ----------
    bins
        "auto", an even number of bins, or increasing edges from 0 to 1 that contain 0.5.
    deviation
        Standard deviation of the noise of a count.
    n
        Public number of records; None if it is private.
    """
    if isinstance(bins, str) and bins == "auto":
        few, many = n is not None and n < FEW_RECORDS * deviation, n is not None and n > MANY_RECORDS
        bins = FEW_BINS if few else MANY_BINS if many else USUAL_BINS
    if isinstance(bins, str):
        rule = 'must be "auto", an even number of bins, or edges'
        raise ParameterError(argument="bins", rule=rule, got=shown(bins))
    if not isinstance(bins, Sequence):
        number = checks.count("bins", bins, "20 is a usual number of bins.", least=2, most=MOST_BINS)
        if number % 2:
            rule = "must be even, so that 0.5 is an edge"
            raise ParameterError(argument="bins", rule=rule, got=shown(bins))
        upper = from_stretched(stretched(np.ones(1)) * np.arange(2, number, 2) / number)
        return (0.0, *(1 - upper[::-1]).tolist(), 0.5, *upper.tolist(), 1.0)
    edges = tuple(checks.between("bins", edge, 0.0, 1.0) for edge in bins)
    increasing = all(right - left >= SHORTEST_BIN for left, right in pairwise(edges))
    if not 3 <= len(edges) <= MOST_BINS + 1 or not increasing or (edges[0], edges[-1]) != (0, 1) or 0.5 not in edges:
        rule = "must be increasing edges from 0 to 1 that contain 0.5"
        raise ParameterError(argument="bins", rule=rule, remedy="Give (0, 0.25, 0.5, 0.75, 1), for example.")
    return edges


def _public_number(n: object, adjacency: Adjacency) -> int | None:
    if n is None:
        return None
    if adjacency is Adjacency.ADD_REMOVE:
        rule = f"must be left out under {arg('adjacency', 'add_remove')}, where it is private"
        raise ParameterError(argument="n", rule=rule, got=shown(n))
    return checks.count("n", n, "It is the public number of evaluated records.", most=2**31)


_CLIP = "It is the smallest probability in the log loss; 0.01 bounds the loss of a record by 4.61."
