# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Metrics of a model with intervals, computed from one private release (T3, T85-T88)."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.canonical import label_text
from dperm.errors import AssumptionError, ConversionError, EventFormatError, ParameterError
from dperm.evaluation.estimate import Estimate
from dperm.evaluation.intervals import CellNoise, MetricInterval, auc_interval, cell_mean, loss_interval
from dperm.evaluation.reconstruction import Loss
from dperm.evaluation.regression import WORST_R2, error_intervals, r2_interval
from dperm.preparation.prepared import TargetKind
from dperm.presentation.glossary import HIDDEN
from dperm.presentation.notebook import Html, notebook_card, notebook_grid
from dperm.presentation.tables import TextTable
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.sensitivity.evaluation import ERROR_SUMS, FOURTH, GROUP_FOURTH

if TYPE_CHECKING:
    from dperm.evaluation.plan import EvaluationPlan

MOST_LISTED = 20
"""Largest number of classes whose precision and recall `Metrics.table` lists."""


@dataclass(frozen=True)
class RocCurve:
    """Receiver operating characteristic at the edges of the score bins, from the highest threshold to the lowest.

    Attributes
    ----------
    thresholds
        Scores above which the positive class is predicted.
    false_positive_rates, true_positive_rates
        Rates at each threshold.
    low, high
        Ends of the intervals of the true-positive rates.
    """

    thresholds: tuple[float, ...]
    false_positive_rates: tuple[float, ...]
    true_positive_rates: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class CalibrationBin:
    """Share of the positive class among the records whose scores lie in one bin.

    Attributes
    ----------
    left, right
        Left and right edges of the bin.
    records
        Noisy number of records in the bin, at least 0.
    rate
        Share of the positive class, with its interval.
    """

    left: float
    right: float
    records: float
    rate: Estimate


@dataclass(frozen=True, eq=False)
class Metrics:
    """Metrics of a model on private records, with intervals that account for sampling error and privacy noise.

    All values are computed from the released noisy numbers, so one guarantee covers all of them (T3). Metrics that do
    not apply to the task are None. The ROC curve, its area, calibration, the Brier score and the log loss refer to the
    positive class. They are None if the plan has no positive class; see ``EvaluationPlan.positive``.

    Attributes
    ----------
    plan
        Public plan of the evaluation.
    noisy
        Released noisy counts (classification) or sums (regression).
    """

    plan: "EvaluationPlan"
    noisy: Floats = field(repr=False)

    # -- classification ------------------------------------------------------------------------------------------

    @cached_property
    def accuracy(self) -> Estimate | None:
        """Share of correct predictions. A record with an undeclared label counts as a wrong prediction."""
        if not self._classifies:
            return None
        counts, noise = self._first
        return self._proportion(counts, self._diagonal.ravel(), noise)

    @cached_property
    def class_shares(self) -> Mapping[Any, Estimate] | None:
        """For each class, the share of all records that truly belong to this class (T86)."""
        if not self._classifies:
            return None
        assert self.plan.classes is not None
        counts, noise = self._first
        return {
            label: self._proportion(counts, self._rows[place], noise) for place, label in enumerate(self.plan.classes)
        }

    @cached_property
    def baseline(self) -> Estimate | None:
        """Accuracy of always predicting the most frequent class: the largest class share (T86).

        The upper end of the interval is the largest upper end among the intervals of the K class shares. The lower end
        is the largest lower end among K wider intervals, each with coverage 1 - (1 - level)/K. So selecting the largest
        share does not reduce the coverage.
        """
        if self.class_shares is None:
            return None
        from scipy.stats import norm

        counts, noise = self._first
        z = float(norm.isf((1 - self.plan.level) / (2 * len(self._rows))))
        low = max(float(cell_mean(counts, row, noise, z).low) for row in self._rows)
        shares = self.class_shares.values()
        return Estimate(max(one.value for one in shares), low, max(one.high for one in shares), self.plan.level)

    @cached_property
    def recall(self) -> Mapping[Any, Estimate] | None:
        """For each class, the share of its records that are predicted as this class."""
        return self._by_class(lambda place: (self._rows[place], self._columns[place]))

    @cached_property
    def precision(self) -> Mapping[Any, Estimate] | None:
        """For each class, the share of the records predicted as this class that truly belong to this class."""
        return self._by_class(lambda place: (self._columns[place], self._rows[place]))

    @cached_property
    def balanced_accuracy(self) -> Estimate | None:
        """Mean of the recalls of all classes.

        The interval combines the intervals of the K recalls like standard errors of independent estimates. On each
        side, its length is the square root of the sum of the squared lengths of these intervals, divided by K. If the
        noise hides a recall, so that its interval is [0, 1], the lower end is instead the mean of all lower ends, and
        the upper end is the mean of all upper ends.
        """
        if self.recall is None:
            return None
        found = list(self.recall.values())
        value = sum(one.value for one in found) / len(found)
        if any((one.low, one.high) == (0.0, 1.0) for one in found):
            ends = (sum(one.low for one in found) / len(found), sum(one.high for one in found) / len(found))
            return Estimate(value, *ends, self.plan.level)
        below = math.sqrt(sum((one.value - one.low) ** 2 for one in found)) / len(found)
        above = math.sqrt(sum((one.high - one.value) ** 2 for one in found)) / len(found)
        return Estimate(value, max(value - below, 0.0), min(value + above, 1.0), self.plan.level)

    @cached_property
    def confusion(self) -> Floats | None:
        """Noisy numbers of records for each true class (row) and predicted class (column), at least 0."""
        if not self._classifies:
            return None
        counts, _ = self._first
        matrix = np.array([[counts @ (row * column) for column in self._columns] for row in self._rows])
        return np.asarray(np.maximum(matrix, 0.0))

    @cached_property
    def confusion_rates(self) -> tuple[tuple[Estimate, ...], ...] | None:
        """For each true class (row), the shares of its records that are predicted as each class (column)."""
        if not self._classifies:
            return None
        counts, noise = self._first
        return tuple(
            tuple(self._proportion(counts, row * column, noise, among=row) for column in self._columns)
            for row in self._rows
        )

    @cached_property
    def auc(self) -> Estimate | None:
        """Area under the ROC curve of the positive class against all others (T87); None without a positive class."""
        if self._scores is None:
            return None
        counts, noise = self._scores
        return self._estimate(auc_interval(counts[:-1].reshape(2, -1), self.plan.edges, noise, self._z))

    @cached_property
    def brier(self) -> Estimate | None:
        """Brier score: mean squared difference between the score of the positive class and the outcome (0 or 1).

        None without a positive class.
        """
        return self._mean_loss(lambda p: p**2, lambda p: (1 - p) ** 2, 1.0)

    @cached_property
    def log_loss(self) -> Estimate | None:
        """Mean log loss of the positive class, with scores clipped to [``plan.clip``, 1 - ``plan.clip``] (T89).

        None without a positive class.
        """
        clip = self.plan.clip

        def clipped(p: Floats) -> Floats:
            return np.clip(p, clip, 1 - clip)

        return self._mean_loss(lambda p: -np.log(1 - clipped(p)), lambda p: -np.log(clipped(p)), -math.log(clip))

    @cached_property
    def roc(self) -> RocCurve | None:
        """ROC curve of the positive class against all others; None without a positive class."""
        if self._scores is None:
            return None
        counts, noise = self._scores
        bins = len(self.plan.edges) - 1
        negative, positive = _nonnegative(counts[:bins]), _nonnegative(counts[bins:-1])
        row = np.r_[np.zeros(bins), np.ones(bins), 0.0]
        rates = [
            self._proportion(counts, row * np.r_[np.tile(np.arange(bins) >= place, 2), False], noise, among=row)
            for place in range(bins, -1, -1)
        ]
        false, true = _upper_shares(negative), _upper_shares(positive)
        low = np.minimum(np.maximum.accumulate([one.low for one in rates]), true)
        high = np.maximum(np.minimum.accumulate([one.high for one in rates][::-1])[::-1], true)
        return RocCurve(
            tuple(self.plan.edges[::-1]),
            tuple(false.tolist()),
            tuple(true.tolist()),
            tuple(low.tolist()),
            tuple(high.tolist()),
        )

    @cached_property
    def calibration(self) -> tuple[CalibrationBin, ...] | None:
        """Share of the positive class among the records in each score bin; None without a positive class."""
        if self._scores is None:
            return None
        counts, noise = self._scores
        edges, bins = self.plan.edges, len(self.plan.edges) - 1
        row = np.r_[np.zeros(bins), np.ones(bins), 0.0]
        found = []
        for place in range(bins):
            among = np.r_[np.tile(np.arange(bins) == place, 2), False].astype(np.float64)
            rate = self._proportion(counts, row, noise, among=among)
            found.append(CalibrationBin(edges[place], edges[place + 1], max(float(counts @ among), 0.0), rate))
        return tuple(found)

    # -- regression ----------------------------------------------------------------------------------------------

    @cached_property
    def r_squared(self) -> Estimate | None:
        """Coefficient of determination, at least -1, with errors clipped at half the label range."""
        if self._classifies:
            return None
        found = r2_interval(self.noisy[:ERROR_SUMS], self.plan.noise_deviation, self._z, self.plan.n)
        return self._estimate(found, limits=(WORST_R2, 1.0))

    @cached_property
    def mae(self) -> Estimate | None:
        """Mean absolute error in units of the labels, with errors clipped at half the label range."""
        return None if self._classifies else self._errors(self.noisy[[0, 1, 2, 5]], self.plan.n)[0]

    @cached_property
    def rmse(self) -> Estimate | None:
        """Root mean squared error in units of the labels, with errors clipped at half the label range."""
        return None if self._classifies else self._errors(self.noisy[[0, 1, 2, 5]], self.plan.n)[1]

    # -- both ----------------------------------------------------------------------------------------------------

    @cached_property
    def records(self) -> float:
        """Number of evaluated records: the public n, or else a noisy number that is at least 0."""
        if self.plan.n is not None:
            return float(self.plan.n)
        return max(float(self._first[0].sum() if self._classifies else self.noisy[0]), 0.0)

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Metrics of each declared group, and of the group "other", by name; empty without declared groups."""
        if self.plan.groups is None:
            return {}
        names = self.plan.groups.labels
        own = self._blocks[-1] if self._classifies else self.noisy[ERROR_SUMS:]
        own = own.reshape(len(names), -1)
        if self._classifies:
            return {name: self._group_rates(own, place) for place, name in enumerate(names)}
        found = {name: self._errors(own[place], None, fourth=GROUP_FOURTH) for place, name in enumerate(names)}
        return {name: {"mae": mae, "rmse": rmse} for name, (mae, rmse) in found.items()}

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Overall metrics that are single numbers, by name. Metrics that do not apply to the task are left out."""
        names = ("accuracy", "baseline", "balanced_accuracy", "auc", "brier", "log_loss", "r_squared", "mae", "rmse")
        return {name: found for name in names if (found := getattr(self, name)) is not None}

    def table(self) -> TextTable:
        """Return a text table with the name, the value and the interval of each metric.

        If the interval is the whole range of the metric, the table shows "hidden by the noise" instead of the value.
        """
        level = f"{100 * self.plan.level:g} % interval"
        rows = [
            (name, HIDDEN if one.is_hidden else f"{one.value:.4g}", f"{one.low:.4g} to {one.high:.4g}")
            for name, one in self._listed()
        ]
        return TextTable(("metric", "estimate", level), rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the intervals and, if applicable, on a model that is no better than guessing or on too few records.

        The note on too few records appears only if the number of records is private. If the number is public, the fit
        or the evaluation has issued a warning instead.
        """
        found = [NOTE]
        if self.accuracy is not None and self.baseline is not None and self.accuracy.low <= self.baseline.high:
            found.append(GUESSING)
        if self.plan.n is None and self.records < self.plan.fewest_records:
            found.append(self.plan.few_records(self.records).describe())
        return tuple(found)

    def _listed(self) -> Iterator[tuple[str, Estimate]]:
        for name, one in self.estimates.items():
            yield _TITLES[name].format(clip=self.plan.clip), one
        for title, found in (("share", self.class_shares), ("precision", self.precision), ("recall", self.recall)):
            if found is not None and len(found) <= MOST_LISTED:
                yield from ((f"{title}, class {label}", one) for label, one in found.items())
        for group, metrics in self.groups.items():
            yield from ((f"{name.replace('_', ' ')}, group {group}", one) for name, one in metrics.items())

    def to_dict(self) -> dict[str, Any]:
        """Return all metrics as plain data for JSON, with the plan and the released numbers that determine them."""

        def plain(found: Mapping[Any, Estimate] | None) -> dict[str, Any] | None:
            return None if found is None else {label_text(label): one.to_dict() for label, one in found.items()}

        data: dict[str, Any] = {
            "task": str(self.plan.task),
            "level": self.plan.level,
            "records": self.records,
            **{name: one.to_dict() for name, one in self.estimates.items()},
            "groups": {name: plain(found) for name, found in self.groups.items()},
            "plan": {**self.plan.public, "goal": guarantee_as_dict(self.plan.goal)},
            "noisy": self.noisy.tolist(),
        }
        if self._classifies:
            assert self.confusion is not None and self.plan.classes is not None
            data |= {
                "classes": list(self.plan.classes),
                "class_shares": plain(self.class_shares),
                "precision": plain(self.precision),
                "recall": plain(self.recall),
                "confusion": self.confusion.tolist(),
                "log_loss_clip": self.plan.clip,
            }
        if self.roc is not None and self.calibration is not None:
            data["roc"] = {name: list(getattr(self.roc, name)) for name in RocCurve.__dataclass_fields__}
            data["calibration"] = [
                {"left": one.left, "right": one.right, "records": one.records, **one.rate.to_dict()}
                for one in self.calibration
            ]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Metrics":
        """Return the metrics stored by `to_dict`, recomputed from the plan and the released numbers alone.

        The result has the same digest (`dperm.privacy.digest.digest`) as the original metrics. A ledger stores this
        digest with the stage of the evaluation. To detect an altered metric, compare ``to_dict()`` of the result with
        the stored data. Other versions of dperm may compute different intervals from the same numbers.

        Parameters
        ----------
        data
            Plain data from `to_dict`, for example read from a file.

        Returns
        -------
        Metrics
            The recomputed metrics.

        Raises
        ------
        EventFormatError
            If the plan or the released numbers are missing, or do not match each other.
        """
        from dperm.evaluation.plan import stored_plan

        try:
            plan, noisy = stored_plan(data["plan"]), np.array(data["noisy"], dtype=np.float64)
        except (KeyError, TypeError, ValueError, AssumptionError, ConversionError, ParameterError):
            raise EventFormatError("the stored metrics have no valid plan with released numbers.") from None
        if noisy.shape != (plan.cells,) or not np.isfinite(noisy).all():
            raise EventFormatError("the stored metrics have released numbers of another plan.")
        noisy.setflags(write=False)
        return cls(plan, noisy)

    def __str__(self) -> str:
        """Return the table of all metrics, with notes on them."""
        return "\n\n".join((self.table().terminal(), *self.notes))

    def __repr__(self) -> str:
        """Return plan and released numbers as one line, from which the digest in a ledger is computed."""
        return f"Metrics({json.dumps(self.plan.public)}, {json.dumps(self.noisy.tolist())})"

    def _repr_html_(self) -> Html:
        """Return the metrics as a card for notebooks."""
        return notebook_card("Private metrics", notebook_grid(self.table()), " ".join(self.notes))

    # -- parts ---------------------------------------------------------------------------------------------------

    @property
    def _classifies(self) -> bool:
        return self.plan.task is TargetKind.CLASSIFICATION

    @cached_property
    def _z(self) -> float:
        from scipy.stats import norm

        return float(norm.isf((1 - self.plan.level) / 2))

    @cached_property
    def _blocks(self) -> list[Floats]:
        """Noisy counts of each histogram."""
        assert self.plan.classes is not None
        sizes = [] if self.plan.is_binary else [len(self.plan.classes) ** 2 + 1]
        if self.plan.positive_place is not None:
            sizes.append(2 * (len(self.plan.edges) - 1) + 1)
        return np.split(self.noisy, np.cumsum(sizes).tolist())[: len(sizes) + (self.plan.groups is not None)]

    def _fitted(self, block: Floats) -> tuple[Floats, CellNoise]:
        noise = CellNoise(self.plan.noise_deviation, len(block), self.plan.n)
        return noise.fitted(block), noise

    @cached_property
    def _first(self) -> tuple[Floats, CellNoise]:
        """Counts of the histogram with true and predicted classes, and their noise."""
        return self._fitted(self._blocks[0])

    @cached_property
    def _scores(self) -> tuple[Floats, CellNoise] | None:
        """Counts of the histogram of scores, and their noise; None without curves or for a regression."""
        if not self._classifies or self.plan.positive_place is None:
            return None
        return self._fitted(self._blocks[0 if self.plan.is_binary else 1])

    @cached_property
    def _rows(self) -> Floats:
        """Cells of each true class."""
        return self._marks[0]

    @cached_property
    def _columns(self) -> Floats:
        """Cells of each predicted class."""
        return self._marks[1]

    @cached_property
    def _diagonal(self) -> Floats:
        return np.asarray((self._rows * self._columns).sum(axis=0))

    @cached_property
    def _marks(self) -> tuple[Floats, Floats]:
        """Cells of each true and of each predicted class, as rows of 0 and 1."""
        assert self.plan.classes is not None
        classes = len(self.plan.classes)
        if self.plan.is_binary:
            place, bins = self.plan.positive_place or 0, len(self.plan.edges) - 1
            actual = np.repeat([1 - place, place], bins)
            predicted = np.where(np.tile(np.array(self.plan.edges[:-1]) >= 0.5, 2), place, 1 - place)
        else:
            actual, predicted = np.repeat(np.arange(classes), classes), np.tile(np.arange(classes), classes)
        marks = [np.array([np.r_[codes == label, False] for label in range(classes)]) for codes in (actual, predicted)]
        return marks[0].astype(np.float64), marks[1].astype(np.float64)

    def _by_class(self, parts: Any) -> Mapping[Any, Estimate] | None:
        if not self._classifies:
            return None
        assert self.plan.classes is not None
        counts, noise = self._first
        found = {}
        for place, label in enumerate(self.plan.classes):
            among, hits = parts(place)
            found[label] = self._proportion(counts, hits * among, noise, among=among)
        return found

    def _mean_loss(self, negative: Loss, positive: Loss, largest: float) -> Estimate | None:
        if self._scores is None:
            return None
        counts, noise = self._scores
        found = loss_interval(counts, self.plan.edges, (negative, positive), noise, self._z, largest=largest)
        return self._estimate(found, limits=(0.0, largest))

    def _group_rates(self, own: Floats, place: int) -> dict[str, Estimate]:
        """Return the rates of one group; groups have noisy sizes, so the public n is used for all of them together."""
        counts, noise = self._fitted(own.ravel())
        cells = np.zeros(own.shape)

        def rate(hits: list[int], among: list[int]) -> Estimate:
            part, whole = cells.copy(), cells.copy()
            part[place, hits], whole[place, among] = 1.0, 1.0
            return self._proportion(counts, part.ravel(), noise, among=whole.ravel())

        if not self.plan.is_binary:
            return {"accuracy": rate([0], [0, 1])}
        return {
            "accuracy": rate([0, 3], [0, 1, 2, 3, 4]),
            "true_positive_rate": rate([3], [2, 3]),
            "false_positive_rate": rate([1], [0, 1]),
        }

    def _errors(self, sums: Floats, n: int | None, *, fourth: float = FOURTH) -> tuple[Estimate, Estimate]:
        """Return MAE and RMSE in units of the labels."""
        assert self.plan.label_range is not None
        low, high = self.plan.label_range
        unit = (high - low) / 2
        absolute, squared = error_intervals(sums, self.plan.noise_deviation, self._z, n=n, fourth=fourth)
        limits = 0.0, unit
        return self._estimate(absolute, unit, limits=limits), self._estimate(squared, unit, limits=limits)

    def _proportion(self, counts: Floats, hits: Floats, noise: CellNoise, *, among: Floats | None = None) -> Estimate:
        return self._estimate(cell_mean(counts, hits, noise, self._z, among=among))

    def _estimate(
        self, found: MetricInterval, unit: float = 1.0, *, limits: tuple[float, float] = (0.0, 1.0)
    ) -> Estimate:
        value, low, high = (unit * float(part) for part in found)
        return Estimate(value, low, high, self.plan.level, limits)


def _nonnegative(counts: Floats) -> Floats:
    """Return the nearest counts >= 0 with the same sum, at least 1: for curves, which must not decrease."""
    total = max(float(counts.sum()), 1.0)
    ordered = np.sort(counts)[::-1]
    shift = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    return np.asarray(np.maximum(counts - shift[np.flatnonzero(ordered > shift)[-1]], 0.0))


def _upper_shares(counts: Floats) -> Floats:
    """Return the share of records above each edge, from the highest edge to the lowest."""
    sums = np.r_[0.0, np.cumsum(counts[::-1])]
    return np.asarray(np.clip(sums / sums[-1], 0.0, 1.0))


NOTE = "Intervals cover sampling and privacy noise together. They describe the population of the evaluated records."
GUESSING = (
    "The intervals of the accuracy and of the baseline, which always predicts the most frequent class, overlap: the "
    "model may be no better than this guess."
)
_TITLES = {
    "accuracy": "accuracy",
    "baseline": "baseline accuracy (most frequent class)",
    "balanced_accuracy": "balanced accuracy",
    "auc": "area under the ROC curve",
    "brier": "Brier score",
    "log_loss": "log loss (probabilities clipped at {clip:g})",
    "r_squared": "R^2 (clipped errors)",
    "mae": "mean absolute error (clipped errors)",
    "rmse": "root mean squared error (clipped errors)",
}
