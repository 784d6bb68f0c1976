# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public shape of the labels: what every label is made to keep, and how it is stored.

A label becomes a code, privately kept with its row; a code that does not count stands for a record that contributes
nothing. Losses see targets: -1 and +1 for two classes, 0, ..., K - 1 for more, numbers in [-1, 1] for an interval.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.data.arrays import Floats, Mask
from dperm.data.space import checked_pair
from dperm.errors import DataError, ParameterError

Codes = NDArray[Any]
"""One for each record, private."""
Targets = NDArray[Any]
MOST_CLASSES = 2**15 - 1
WEIGHT = "A class has a positive public weight."


class Kind(Enum):
    """What losses see of a label."""

    SIGN = "a sign"
    PLACE = "a place among classes"
    NUMBER = "a number"


class Target(Protocol):
    """What labels may be."""

    @property
    def kind(self) -> Kind:
        """What losses see of them."""

    @property
    def outputs(self) -> int:
        """Scores that a model has for them: one, or one for each class."""

    @property
    def weights_range(self) -> tuple[float, float]:
        """The least and the largest weight of a record that counts."""

    @property
    def rule(self) -> str:
        """What is said to the holder of labels that break it."""

    def read(self, labels: NDArray[Any]) -> Codes:
        """The codes of the labels, in an array of their own."""

    def counts(self, codes: Codes) -> Mask:
        """Which of the codes stand for a record that counts."""

    def without(self, codes: Codes, bad: Mask) -> None:
        """Make the ``bad`` ones not count, in place."""

    def targets(self, codes: Codes) -> tuple[Targets, Floats]:
        """What losses see, and the weights, 0 for a record that does not count."""


@dataclass(frozen=True)
class Classes:
    """Labels of a finite public set; the codes are places in it, -1 for a record that does not count.

    Attributes
    ----------
    labels
        Two or more different labels.
    weights
        Public weights of the classes; 1 for all if left out.
    """

    labels: tuple[object, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check their number, and the weights."""
        object.__setattr__(self, "labels", tuple(self.labels))
        checks.count("the number of classes", len(self.labels), least=2, most=MOST_CLASSES)
        weights = tuple(checks.between("weights", weight, 1e-30, 1e30, WEIGHT) for weight in self.weights)
        weights = weights or (1.0,) * len(self.labels)
        if len(weights) != len(self.labels):
            raise ParameterError(f"weights must have a number for each of the {len(self.labels)} classes.")
        object.__setattr__(self, "weights", weights)

    @property
    def kind(self) -> Kind:
        """Signs for two classes, places for more."""
        return Kind.SIGN if len(self.labels) == 2 else Kind.PLACE

    @property
    def outputs(self) -> int:
        """One for two classes."""
        return 1 if len(self.labels) == 2 else len(self.labels)

    @property
    def weights_range(self) -> tuple[float, float]:
        """Over the classes."""
        return min(self.weights), max(self.weights)

    @property
    def rule(self) -> str:
        """The labels are those that were declared."""
        return f"y must hold the declared classes {self._named} only. Correct the labels"

    @property
    def _named(self) -> str:
        *others, last = (repr(label) for label in self.labels[:5])
        return f"{', '.join(others)} and {last}" if len(self.labels) <= 5 else f"{', '.join([*others, last])}, ..."

    def read(self, labels: NDArray[Any]) -> Codes:
        """The place of each label, one byte or two for each."""
        codes = np.full(labels.shape, -1, dtype=np.int8 if len(self.labels) < 2**7 else np.int16)
        for place, label in enumerate(self.labels):
            codes[equal(labels, label)] = place
        return codes

    def counts(self, codes: Codes) -> Mask:
        """Those that are places."""
        return np.asarray(codes >= 0)

    def without(self, codes: Codes, bad: Mask) -> None:
        """-1 is no place."""
        codes[bad] = -1

    def targets(self, codes: Codes) -> tuple[Targets, Floats]:
        """Signs for two classes, places for more."""
        counted = codes >= 0
        weights = np.where(counted, self._weights[codes], 0.0) if self._weighted else counted.astype(np.float64)
        if self.kind is Kind.SIGN:
            return np.where(codes > 0, 1.0, -1.0), weights
        return np.maximum(codes, 0), weights

    def require_kind(self, labels: NDArray[Any]) -> None:
        """Refuse labels that are all text where the classes are numbers, or the other way round.

        Raises
        ------
        DataError
            Then no record would count.
        """
        text, found = _are_text(np.array(self.labels)), _are_text(labels)
        if None in (text, found) or found is text:
            return
        kinds = ("text", "numbers") if found else ("numbers", "text")
        raise DataError(
            f"y holds {kinds[0]}, and the declared classes {self._named} are {kinds[1]}: no label matches the classes. "
            f"Declare the labels as they are in y, such as classes={('no', 'yes') if found else (0, 1)}, or convert y "
            f"to {kinds[1]}."
        )

    @cached_property
    def _weights(self) -> Floats:
        return np.array(self.weights)

    @cached_property
    def _weighted(self) -> bool:
        return self.weights_range != (1.0, 1.0)


@dataclass(frozen=True)
class Interval:
    """Numbers that are clipped to a public [low, high] and mapped to [-1, 1]; NaN for a record that does not count."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check both ends."""
        low, high = checked_pair("label_range", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def center(self) -> float:
        """The middle."""
        return self.low / 2 + self.high / 2

    @property
    def half_width(self) -> float:
        """Half the width."""
        return self.high / 2 - self.low / 2

    @property
    def kind(self) -> Kind:
        """Numbers."""
        return Kind.NUMBER

    @property
    def outputs(self) -> int:
        """One."""
        return 1

    @property
    def weights_range(self) -> tuple[float, float]:
        """All records weigh the same."""
        return 1.0, 1.0

    @property
    def rule(self) -> str:
        """Numbers, whatever their size: they are clipped."""
        return "y must hold finite numbers (no text, no NaN, no inf). Correct the labels"

    def read(self, labels: NDArray[Any]) -> Codes:
        """Numbers in [-1, 1], and NaN for what is not finite."""
        if labels.dtype.kind not in "biuf":
            raise DataError("y must hold real numbers. Convert text, dates and the like first.")
        numbers = labels.astype(np.float64)
        numbers[~np.isfinite(numbers)] = np.nan
        np.clip(numbers, self.low, self.high, out=numbers)
        numbers -= self.center
        numbers /= self.half_width
        return np.clip(numbers, -1.0, 1.0, out=numbers)

    def counts(self, codes: Codes) -> Mask:
        """Those that are numbers."""
        return np.asarray(~np.isnan(codes))

    def without(self, codes: Codes, bad: Mask) -> None:
        """NaN."""
        codes[bad] = np.nan

    def targets(self, codes: Codes) -> tuple[Targets, Floats]:
        """The numbers, 0 where there is none."""
        counted = ~np.isnan(codes)
        return np.where(counted, codes, 0.0), counted.astype(np.float64)


def _are_text(labels: NDArray[Any]) -> bool | None:
    """True if all labels that are there are text, False if none is; None if both occur, or no label is there."""
    if labels.dtype.kind in "Ubiuf":
        return labels.dtype.kind == "U" if labels.size else None
    if labels.dtype.kind != "O":
        return None
    kinds = {isinstance(item, str) for item in labels.tolist() if item is not None}
    return kinds.pop() if len(kinds) == 1 else None


def equal(labels: NDArray[Any], label: object) -> Mask:
    """Elementwise equality; labels of another kind (a number among words) are simply not equal."""
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
