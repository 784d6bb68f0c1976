# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Evaluated records, and the exact counts and sums that a release adds noise to (T85, T88).

Each record is counted on its own. After the charge, no value of a record raises an error.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.canonical import canonical_column, label_text
from dperm.errors import DataError, ParameterError
from dperm.preparation.prepared import TargetKind
from dperm.sensitivity.evaluation import FOURTH, GROUP_FOURTH

if TYPE_CHECKING:
    from dperm.evaluation.plan import EvaluationPlan

Codes = NDArray[np.int64]
UNDECLARED = -1
"""Code of a label, prediction or score that is not among the declared ones."""
FRACTION = 27
"""Binary digits of a contribution to the sums of a regression."""
_NUMBERS = (Real, Decimal, np.bool_)


@dataclass(frozen=True)
class PrivateScores:
    """Evaluated records in canonical form. They are private data without noise, so do not release them.

    Attributes
    ----------
    labels
        For a classification, the positions of the true classes in the declared classes, or -1 for undeclared labels.
        For a regression, the true numbers, or NaN for labels that are not numbers.
    predictions
        For more than two classes, the positions of the predicted classes, or -1 for invalid predictions. For a
        regression, the predicted numbers. None for two classes.
    scores
        Scores of the positive class, or NaN for invalid scores; None without a positive class.
    groups
        Positions of the groups; the last position belongs to the group "other". None without groups.
    """

    labels: NDArray[Any] = field(repr=False)
    predictions: NDArray[Any] | None = field(repr=False)
    scores: Floats | None = field(repr=False)
    groups: Codes | None = field(repr=False)


def private_scores(
    plan: "EvaluationPlan", labels: object, *, scores: object, predictions: object, groups: object
) -> PrivateScores:
    """Return the records of an evaluation, after checking shapes and lengths; see `EvaluationPlan.read`."""
    column = canonical_column(labels)
    rows = len(column)
    if plan.n is not None and rows != plan.n:
        raise DataError(
            "the number of evaluated records must be the public n of the plan.",
            remedy="Plan with n=None if it is private.",
        )
    found = _group_codes(plan, groups, rows)
    if plan.task is TargetKind.REGRESSION:
        if predictions is None:
            raise ParameterError(argument="predictions", rule="must be given for a regression")
        return PrivateScores(column.numbers, _numbers(predictions, rows, "predictions"), None, found)
    assert plan.classes is not None
    texts = tuple(label_text(label) for label in plan.classes)
    codes = _codes(column, texts, rows, "labels")
    by_class = None if scores is None else _scores(scores, rows, len(texts))
    one = _positive_scores(plan, by_class)
    if plan.is_binary:
        return PrivateScores(codes, None, one, found)
    if predictions is not None:
        return PrivateScores(codes, _codes(predictions, texts, rows, "predictions"), one, found)
    if by_class is None or by_class.ndim != 2:
        rule = "must be given for more than two classes, or scores with one column for each class"
        raise ParameterError(argument="predictions", rule=rule)
    largest = np.where(np.isnan(by_class).any(axis=1), UNDECLARED, np.nan_to_num(by_class).argmax(axis=1))
    return PrivateScores(codes, largest, one, found)


def _group_codes(plan: "EvaluationPlan", groups: object, rows: int) -> Codes | None:
    """Return the code of the group of each record, the last for "other"; None without groups."""
    if plan.groups is None:
        return None
    if groups is None:
        raise ParameterError(argument="groups", rule="must be given, because the plan declares groups")
    found = _codes(groups, plan.groups.labels[:-1], rows, "groups")
    return np.where(found == UNDECLARED, len(plan.groups.labels) - 1, found)


def _positive_scores(plan: "EvaluationPlan", by_class: Floats | None) -> Floats | None:
    """Return the scores of the positive class; one number for each record is its score. None without curves."""
    place = plan.positive_place
    if place is None:
        return None
    if by_class is None:
        rule = f"must be given for {'two classes' if plan.is_binary else 'the curves of a class'}"
        raise ParameterError(argument="scores", rule=rule)
    return by_class[:, place] if by_class.ndim == 2 else by_class


def class_counts(plan: "EvaluationPlan", private: PrivateScores) -> Floats:
    """Return the exact counts of all histograms of a classification as one vector (T85).

    Two classes: (true class, score bin) and one cell for invalid records. More classes: (true class, predicted class)
    and one cell for invalid records, and the former histogram if curves are planned. Groups: five counts for two
    classes (true and false predictions of each class, invalid), two for more (right, wrong). Every record is in exactly
    one cell of each histogram.
    """
    assert plan.classes is not None
    classes, labels = len(plan.classes), private.labels
    place = plan.positive_place
    parts: list[Floats] = []
    if not plan.is_binary:
        assert private.predictions is not None
        valid = (labels != UNDECLARED) & (private.predictions != UNDECLARED)
        cells = np.where(valid, labels * classes + private.predictions, classes**2)
        parts.append(_counted(cells, classes**2 + 1))
    if private.scores is not None:
        bins = len(plan.edges) - 1
        valid = (labels != UNDECLARED) & np.isfinite(private.scores)
        score_bin = np.searchsorted(np.array(plan.edges[1:-1]), np.nan_to_num(private.scores), side="left")
        cells = np.where(valid, (labels == place) * bins + score_bin, 2 * bins)
        parts.append(_counted(cells, 2 * bins + 1))
    if private.groups is not None:
        assert plan.groups is not None
        outcomes = 5 if plan.is_binary else 2
        cells = private.groups * outcomes + _outcomes(plan, private)
        parts.append(_counted(cells, len(plan.groups.labels) * outcomes))
    return np.concatenate(parts)


def _outcomes(plan: "EvaluationPlan", private: PrivateScores) -> Codes:
    """Return the outcome of each record: 2 * actual + predicted or 4 for two classes; 0 right, 1 wrong for more."""
    labels = private.labels
    if not plan.is_binary:
        return np.where((labels != UNDECLARED) & (labels == private.predictions), 0, 1)
    assert private.scores is not None
    valid = (labels != UNDECLARED) & np.isfinite(private.scores)
    actual, predicted = labels == plan.positive_place, np.nan_to_num(private.scores) > 0.5
    return np.where(valid, 2 * actual + predicted, 4)


def contributions(plan: "EvaluationPlan", private: PrivateScores) -> Floats:
    """Return the contribution of each record to the sums of a regression: 1, |e|, e^2, t, t^2, and three more (T88).

    e is the error and t the label minus the middle of the range, both clipped to [-1, 1] in units of half the range. A
    record without a finite label and prediction has the largest error and t = 0.
    """
    assert plan.label_range is not None and private.predictions is not None
    low, high = plan.label_range
    span, middle = (high - low) / 2, low + (high - low) / 2
    with np.errstate(all="ignore"):
        error = (private.predictions - private.labels) / span
        centred = (private.labels - middle) / span
    valid = np.isfinite(private.labels) & np.isfinite(private.predictions)
    e = np.where(valid, np.clip(np.abs(np.nan_to_num(error, posinf=1.0, neginf=1.0)), 0.0, 1.0), 1.0)
    t = np.where(valid, np.clip(np.nan_to_num(centred), -1.0, 1.0), 0.0)
    e2, t2 = e * e, t * t
    return np.stack(
        [np.ones_like(e), e, e2, t, t2, FOURTH * e2 * (1 - e2), FOURTH * t2 * (1 - t2), t * (1 - t2)], axis=1
    )


def integer_sums(plan: "EvaluationPlan", private: PrivateScores) -> Codes:
    """Return the counts of a classification, or the sums of a regression in units of 2^-`FRACTION`, as integers.

    The sums of parts of the records add up to those of all records, exactly.
    """
    if plan.task is TargetKind.CLASSIFICATION:
        return class_counts(plan, private).astype(np.int64)
    return np.array(_error_totals(plan, private), dtype=np.int64)


def released_sums(plan: "EvaluationPlan", sums: Codes) -> Floats:
    """Return integer sums in the form to which noise is added."""
    if plan.task is TargetKind.CLASSIFICATION:
        return sums.astype(np.float64)
    return plan.fixed_point.doubles(sums.tolist())


def error_sums(plan: "EvaluationPlan", private: PrivateScores) -> Floats:
    """Return the sums of a regression, then those of each group, as exact sums of rounded contributions (T88)."""
    return plan.fixed_point.doubles(_error_totals(plan, private))


def _error_totals(plan: "EvaluationPlan", private: PrivateScores) -> list[int]:
    parts = contributions(plan, private)
    totals: list[int] = _rounded(parts).sum(axis=0).tolist()
    if private.groups is not None:
        assert plan.groups is not None
        own = _rounded(parts[:, [0, 1, 2, 5]] * (1.0, 1.0, 1.0, GROUP_FOURTH / FOURTH))
        for place in range(len(plan.groups.labels)):
            totals += own[private.groups == place].sum(axis=0).tolist()
    return totals


def _rounded(parts: Floats) -> Codes:
    """Return numbers in [-3, 3] as whole multiples of 2^-FRACTION, whose sums are exact."""
    return np.rint(np.ldexp(parts, FRACTION)).astype(np.int64)


def _counted(cells: Codes, number: int) -> Floats:
    return np.bincount(cells, minlength=number).astype(np.float64)


def _codes(values: object, texts: tuple[str, ...], rows: int, name: str) -> Codes:
    """Return the place of each cell among ``texts``; `UNDECLARED` for any other cell."""
    column = canonical_column(values)
    if len(column) != rows:
        raise _lengths(name)
    codes, found = column.values()
    known = {text: place for place, text in enumerate(texts)}
    places = np.array([*(known.get(text, UNDECLARED) for text in found), UNDECLARED], dtype=np.int64)
    return np.asarray(places[codes])  # code -1 of missing cells is last


def _numbers(values: object, rows: int, name: str) -> Floats:
    numbers = _floats(values, name)
    if numbers.shape != (rows,):
        raise _lengths(name)
    return numbers


def _scores(values: object, rows: int, classes: int) -> Floats:
    """Return scores clipped to [0, 1], of one class or one column for each; NaN for scores that are not finite."""
    numbers = _floats(values, "scores")
    if numbers.shape not in ((rows,), (rows, classes)):
        raise DataError("scores must have one number, or one column for each class, for each label.")
    return np.where(np.isfinite(numbers), np.clip(numbers, 0.0, 1.0), np.nan)


def _floats(values: object, name: str) -> Floats:
    """Return real numbers as float64; raise DataError for complex numbers, dates and text."""
    rule = DataError(f"{name} must be an array of real numbers.")
    try:
        found = np.asarray(values)
        if found.dtype.kind == "O":  # cells of several kinds; numpy reads text and dates among them as numbers
            numbers = all(cell is None or isinstance(cell, _NUMBERS) for cell in found.ravel().tolist())
        else:
            numbers = found.dtype.kind in "biuf" or found.size == 0
        if not numbers:
            raise rule
        return found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise rule from None


def _lengths(name: str) -> DataError:
    return DataError(f"{name} must have one value for each label.")
