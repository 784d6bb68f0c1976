# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public description of the labels: classes or an interval.

Each label is stored as a code: the position of its class, or its value mapped to [-1, 1] for an interval. Codes are
private data. A special code marks invalid records, which contribute nothing to a result.

For a loss function, codes are converted to targets: -1 and +1 for two classes, 0, ..., K - 1 for K > 2 classes, and
numbers in [-1, 1] for an interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.data.arrays import Floats, Mask
from dperm.data.space import checked_pair
from dperm.deprecation import deprecated_names
from dperm.errors import DataError, ParameterError
from dperm.presentation.spelling import arg

Codes = NDArray[Any]
"""Codes of the labels, one for each record; private data."""
Targets = NDArray[Any]
MOST_CLASSES = 2**15 - 1
WEIGHT = "A class has a positive public weight."
_SIGNS = np.array([-1.0, 1.0, -1.0])
"""Targets of two classes by code; the last one belongs to code -1, a record of weight 0."""
DROP = arg("invalid", '"drop"')
"""Reference, for messages, to the argument that drops invalid records."""

__getattr__ = deprecated_names(__name__, {"Kind": "dperm.data.targets:LabelKind"})


class LabelKind(Enum):
    """Encoding of the labels in a loss.

    ``SIGN`` is -1 or +1 for two classes, ``PLACE`` is the position 0, ..., K - 1 among K > 2 classes, and ``NUMBER`` is
    a number in [-1, 1] for labels in an interval.
    """

    SIGN = "a sign"
    PLACE = "a place among classes"
    NUMBER = "a number"


class Target(Protocol):
    """Protocol for a set of allowed labels with their codes: `Classes` or `Interval`."""

    @property
    def kind(self) -> LabelKind:
        """Encoding of the labels in a loss."""

    @property
    def outputs(self) -> int:
        """Number of scores of a model: one, or one for each class."""

    @property
    def weights_range(self) -> tuple[float, float]:
        """Smallest and largest weight of a valid record."""

    @property
    def rule(self) -> str:
        """Rule for the labels, and a remedy, for error messages; the text does not end with a full stop."""

    def read(self, labels: NDArray[Any]) -> Codes:
        """Return the codes of the labels in a new array."""

    def counts(self, codes: Codes) -> Mask:
        """Return a mask of the valid codes."""

    def without(self, codes: Codes, bad: Mask) -> None:
        """Mark the codes of the records in the mask ``bad`` as invalid, in place."""

    def targets(self, codes: Codes) -> tuple[Targets, Floats]:
        """Return the targets for a loss, and the weights of the records; an invalid record has weight 0."""


@dataclass(frozen=True)
class Classes:
    """Finite public set of labels. The code of a label is its position in ``labels``, or -1 for an invalid record.

    Attributes
    ----------
    labels
        Two or more distinct labels.
    weights
        Public weights of the classes; by default, every class has weight 1.

    Raises
    ------
    ParameterError
        If there are fewer than 2 or more than 32,767 labels, or if a weight is missing or outside [1e-30, 1e30].
    """

    labels: tuple[object, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check the number of labels and the weights."""
        object.__setattr__(self, "labels", tuple(self.labels))
        checks.count("the number of classes", len(self.labels), least=2, most=MOST_CLASSES)
        weights = tuple(checks.between("weights", weight, 1e-30, 1e30, WEIGHT) for weight in self.weights)
        weights = weights or (1.0,) * len(self.labels)
        if len(weights) != len(self.labels):
            rule = f"must have a number for each of the {len(self.labels)} classes"
            raise ParameterError(argument="weights", rule=rule)
        object.__setattr__(self, "weights", weights)

    @property
    def kind(self) -> LabelKind:
        """Encoding of the labels: `LabelKind.SIGN` for two classes, `LabelKind.PLACE` for more."""
        return LabelKind.SIGN if len(self.labels) == 2 else LabelKind.PLACE

    @property
    def outputs(self) -> int:
        """Number of scores of a model: one for two classes, otherwise one for each class."""
        return 1 if len(self.labels) == 2 else len(self.labels)

    @property
    def weights_range(self) -> tuple[float, float]:
        """Smallest and largest weight of the classes."""
        return min(self.weights), max(self.weights)

    @property
    def rule(self) -> str:
        """Rule for the labels, with up to five declared classes, and a remedy; without a final full stop."""
        return f"y must hold the declared classes {format_labels(self.labels)} only. Correct the labels"

    def read(self, labels: NDArray[Any]) -> Codes:
        """Return the code of each label, in one or two bytes.

        Parameters
        ----------
        labels
            Labels, one for each record.

        Returns
        -------
        ndarray
            Position of each label; -1 for labels outside the classes.
        """
        codes = np.full(labels.shape, -1, dtype=np.int8 if len(self.labels) < 2**7 else np.int16)
        for place, label in enumerate(self.labels):
            codes[equal(labels, label)] = place
        return codes

    def counts(self, codes: Codes) -> Mask:
        """Return a mask of the valid codes.

        Parameters
        ----------
        codes
            Codes of the labels.

        Returns
        -------
        ndarray
            True for codes that are positions in ``labels``, and False for -1.
        """
        return np.asarray(codes >= 0)

    def without(self, codes: Codes, bad: Mask) -> None:
        """Set the codes of invalid records to -1, in place.

        Parameters
        ----------
        codes
            Codes of the labels.
        bad
            Mask of the invalid records.
        """
        codes[bad] = -1

    def targets(self, codes: Codes) -> tuple[Targets, Floats]:
        """Return the targets of the loss and the weights of the records.

        Parameters
        ----------
        codes
            Codes of the labels.

        Returns
        -------
        tuple of ndarray
            Targets (signs for two classes, positions for more) and weights (the weight of the class, or 0 for invalid
            records).
        """
        weights = self._weights.take(codes)
        if self.kind is LabelKind.SIGN:
            return _SIGNS.take(codes), weights
        return np.maximum(codes, 0), weights

    def require_kind(self, labels: NDArray[Any]) -> None:
        """Check that the labels and the classes are of the same kind: text or numbers.

        Parameters
        ----------
        labels
            Labels, one for each record.

        Raises
        ------
        DataError
            If all labels are text and all classes are numbers, or vice versa. No record would then be valid.
        """
        classes_text, labels_text = are_text(np.array(self.labels)), are_text(labels)
        if None in (classes_text, labels_text) or labels_text is classes_text:
            return
        kinds = ("text", "numbers") if labels_text else ("numbers", "text")
        example = arg("classes", ("no", "yes") if labels_text else (0, 1))
        raise DataError(
            f"y holds {kinds[0]}, and the declared classes {format_labels(self.labels)} are {kinds[1]}: no label "
            "matches the classes.",
            remedy=f"Declare the labels as they are in y, such as {example}, or convert y to {kinds[1]}.",
        )

    @cached_property
    def _weights(self) -> Floats:
        """Weights by code; the last one belongs to code -1, an invalid record."""
        return np.array([*self.weights, 0.0])


@dataclass(frozen=True)
class Interval:
    """Public interval [low, high] of numbers.

    The code of a label is its value, clipped and mapped to [-1, 1]; the code of an invalid label is NaN.

    Attributes
    ----------
    low, high
        Public lower and upper end of the interval.

    Raises
    ------
    ParameterError
        If the ends are not finite numbers with low < high.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check that the ends are finite and ordered."""
        low, high = checked_pair("label_range", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def center(self) -> float:
        """Middle of the interval, in the units of y."""
        return self.low / 2 + self.high / 2

    @property
    def half_width(self) -> float:
        """Half the width of the interval, in the units of y."""
        return self.high / 2 - self.low / 2

    @property
    def kind(self) -> LabelKind:
        """Encoding of the labels, always `LabelKind.NUMBER`."""
        return LabelKind.NUMBER

    @property
    def outputs(self) -> int:
        """Number of scores of a model, always one."""
        return 1

    @property
    def weights_range(self) -> tuple[float, float]:
        """Smallest and largest weight of a valid record, always (1.0, 1.0)."""
        return 1.0, 1.0

    @property
    def rule(self) -> str:
        """Rule that the labels must be finite numbers, and a remedy; without a final full stop."""
        return "y must hold finite numbers (no text, no NaN, no inf). Correct the labels"

    def read(self, labels: NDArray[Any]) -> Codes:
        """Return the code of each label.

        Parameters
        ----------
        labels
            Labels, one for each record.

        Returns
        -------
        ndarray
            Clipped labels, mapped to [-1, 1]; NaN for labels that are not finite.

        Raises
        ------
        DataError
            If the labels are not an array of numbers.
        """
        if labels.dtype.kind not in "biuf":
            raise DataError("y must hold real numbers.", remedy="Convert text, dates and the like first.")
        numbers = labels.astype(np.float64)
        numbers[~np.isfinite(numbers)] = np.nan
        np.clip(numbers, self.low, self.high, out=numbers)
        numbers -= self.center
        numbers /= self.half_width
        return np.clip(numbers, -1.0, 1.0, out=numbers)

    def counts(self, codes: Codes) -> Mask:
        """Return a mask of the valid codes.

        Parameters
        ----------
        codes
            Codes of the labels.

        Returns
        -------
        ndarray
            True for codes that are not NaN.
        """
        return np.asarray(~np.isnan(codes))

    def without(self, codes: Codes, bad: Mask) -> None:
        """Set the codes of invalid records to NaN, in place.

        Parameters
        ----------
        codes
            Codes of the labels.
        bad
            Mask of the invalid records.
        """
        codes[bad] = np.nan

    def targets(self, codes: Codes) -> tuple[Targets, Floats]:
        """Return the targets of the loss and the weights of the records.

        Parameters
        ----------
        codes
            Codes of the labels.

        Returns
        -------
        tuple of ndarray
            Targets (numbers in [-1, 1]; 0 for invalid records) and weights (1 for valid records, 0 for invalid ones).
        """
        counted = ~np.isnan(codes)
        return np.where(counted, codes, 0.0), counted.astype(np.float64)


def format_labels(labels: Sequence[object]) -> str:
    """Return up to five labels as text: "0 and 1", or "0, 1, 2, 3, 4, ..." if there are more."""
    *others, last = (repr(label) for label in labels[:5])
    return f"{', '.join(others)} and {last}" if len(labels) <= 5 else f"{', '.join([*others, last])}, ..."


def are_text(labels: NDArray[Any]) -> bool | None:
    """Return True if all present labels are text, False if none is, None if both occur or no label is present."""
    if labels.dtype.kind in "Ubiuf":
        return labels.dtype.kind == "U" if labels.size else None
    if labels.dtype.kind != "O":
        return None
    kinds = {isinstance(item, str) for item in labels.tolist() if item is not None}
    return kinds.pop() if len(kinds) == 1 else None


def equal(labels: NDArray[Any], label: object) -> Mask:
    """Return a mask of the entries of ``labels`` that equal ``label``. Text never equals a number."""
    if labels.dtype.kind in "biufc" and isinstance(label, str | bytes):
        return np.zeros(labels.shape, dtype=np.bool_)
    if labels.dtype.kind in "US" and not isinstance(label, str | bytes):
        return np.zeros(labels.shape, dtype=np.bool_)
    try:
        found = labels == label
    except (ArithmeticError, TypeError, ValueError):  # some object has no truth value when compared
        found = np.array([_same(item, label) for item in labels.tolist()], dtype=np.bool_)
    return np.asarray(found, dtype=np.bool_) if np.ndim(found) else np.zeros(labels.shape, dtype=np.bool_)


def _same(item: object, label: object) -> bool:
    try:
        return bool(item == label)
    except (ArithmeticError, TypeError, ValueError):
        return False
