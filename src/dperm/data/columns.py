# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is declared of a column, and the features that follow: a number scaled to [-1, 1], or one indicator a category.

A declaration is checked by the encoder that it is given to, which knows the name of the column.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.checks import shown
from dperm.data.arrays import Floats, Mask
from dperm.data.identity import same_text
from dperm.data.reading import Column
from dperm.errors import DataError, ParameterError

MISSING_VALUE, UNDECLARED_CATEGORY = "data-missing-value", "data-undeclared-category"
"""Codes of two errors whose remedy depends on the front end: it names a schema file, or a model that has one."""

Places = NDArray[np.intp]
"""For each record, which of a column's features is not zero."""
Category = str | bool | int | float

LARGEST = 1e100
"""The largest bound, as of a `FeatureSpace`."""
MOST_EXACT = 2**53 - 1
"""Larger integers become doubles where another record has a gap, and could then be equal to a neighbour."""
_OUTSIDE, _GAP = -1, -2
_PUBLIC = "It must be public: chosen from what is known of the question, not from the data."


@dataclass(frozen=True)
class Numeric:
    """A column of numbers, clipped to public bounds and mapped affinely from [low, high] to [-1, 1].

    True and False are 1 and 0: they are declared ``Numeric(0, 1)``.

    Attributes
    ----------
    low, high
        Public bounds. Numbers beyond, infinities too, are moved to the nearer one.
    impute
        The public number that stands for a missing one, within the bounds; without it, missing numbers are refused.
    """

    low: float
    high: float
    impute: float | None = None

    def checked(self, where: str) -> "Numeric":
        """The same with plain floats, if it makes sense; ``where`` is what the user calls it."""
        low, high = (
            checks.between(f"{where}.{end}", value, -LARGEST, LARGEST, _PUBLIC)
            for end, value in (("low", self.low), ("high", self.high))
        )
        if not high / 2 - low / 2 > 0:  # also where the difference is too small to divide by
            raise ParameterError(f"{where}.low must be less than {where}.high, got {low!r} and {high!r}. {_PUBLIC}")
        if self.impute is None:
            return Numeric(low, high)
        remedy = "It stands for missing numbers, and lies within the bounds."
        return Numeric(low, high, checks.between(f"{where}.impute", self.impute, low, high, remedy))

    def features(self, name: str) -> tuple[str, ...]:
        """The names of the features of a column of this name."""
        return (name,)

    def entries(self, name: str, values: Column) -> tuple[Places, Floats]:
        """For each record the place of the feature that is not zero, and its entry in [-1, 1]."""
        if values.dtype == object:
            raise DataError(f"column {shown(name)} must hold numbers, as it is declared Numeric. Convert text first.")
        known = _without_gaps(name, np.isnan(values), values, self.impute)
        center, half = self.low / 2 + self.high / 2, self.high / 2 - self.low / 2
        scaled = (np.clip(known, self.low, self.high) - center) / half
        return np.zeros(len(values), dtype=np.intp), np.clip(scaled, -1.0, 1.0)  # rounding may go beyond


@dataclass(frozen=True)
class Categorical:
    """A column of public categories: for each an indicator, 1 in the records that have it and 0 in the others.

    Text and numbers differ (``"1"`` is not ``1``); numbers of different types do not (``1``, ``1.0`` and ``True``), and
    neither does text in different Unicode normal forms.

    Attributes
    ----------
    categories
        The public values, each once: strings, truth values or numbers.
    impute
        The category that stands for something missing; without it, missing values are refused.
    other
        Whether all values that are not declared share one more indicator; if not, they are refused. Values of a kind
        that no category has (numbers among text) are refused in any case.
    """

    categories: Sequence[Category]
    impute: Category | None = None
    other: bool = False

    def checked(self, where: str) -> "Categorical":
        """The same with plain values, if it makes sense; ``where`` is what the user calls it."""
        given = self.categories if isinstance(self.categories, tuple | list) else ()
        if not given:
            rule = "a list or tuple of at least one category"
            raise ParameterError(f"{where}.categories must be {rule}, got {shown(self.categories)}. {_PUBLIC}")
        plain = tuple(_category(f"{where}.categories[{place}]", value) for place, value in enumerate(given))
        if len({_key(value) for value in plain}) < len(plain):
            raise ParameterError(
                f"{where}.categories must be different values. 1, 1.0 and True are the same, and so is text that "
                "differs only in its Unicode normal form."
            )
        if not isinstance(self.other, bool):
            raise ParameterError(f"{where}.other must be True or False, got {shown(self.other)}.")
        impute = None if self.impute is None else _category(f"{where}.impute", self.impute)
        if impute is not None and _key(impute) not in map(_key, plain):
            raise ParameterError(f"{where}.impute must be one of its categories, got {shown(impute)}. Add it to them.")
        return replace(self, categories=plain, impute=impute)

    def features(self, name: str) -> tuple[str, ...]:
        """The names of the features of a column of this name."""
        others = (f"{name}=(other)",) if self.other else ()
        return (*(f"{name}={category}" for category in self.categories), *others)

    def entries(self, name: str, values: Column) -> tuple[Places, Floats]:
        """For each record the place of its category, and the entry 1."""
        if values.dtype == object:
            places = self._places(name, values.tolist())
        else:
            distinct, where = np.unique(values, return_inverse=True)
            places = self._places(name, [None if math.isnan(number) else number for number in distinct.tolist()])[where]
        return places, np.ones(len(values))

    @cached_property
    def _lookup(self) -> dict[object, int]:
        places: dict[object, int] = {_key(category): place for place, category in enumerate(self.categories)}
        return places | {None: _GAP}

    def _places(self, name: str, items: list[Any]) -> Places:
        place_of = self._lookup.get
        spelled = (same_text(item) if isinstance(item, str) else item for item in items)
        found = np.array([place_of(item, _OUTSIDE) for item in spelled], dtype=np.intp)
        impute = None if self.impute is None else self._lookup[_key(self.impute)]
        known = _without_gaps(name, found == _GAP, found, impute)
        strange = found == _OUTSIDE
        if strange.any():
            self._admit(name, {type(items[place]) for place in np.flatnonzero(strange).tolist()})
        return np.where(strange, len(self.categories), known)

    def _admit(self, name: str, kinds: set[type]) -> None:
        """Refuse values outside the categories, unless all others have an indicator and they are of their kind."""
        if not self.other:
            raise DataError(
                f"column {shown(name)} has a value outside its declared categories (text and numbers differ).",
                remedy="Declare the category, or give other=True: all others then share one feature.",
                code=UNDECLARED_CATEGORY,
            )
        if not kinds <= {type(_key(category)) for category in self.categories}:
            raise DataError(f"column {shown(name)} must be of the kind of its declared categories: text, or numbers.")


AnyColumn = Numeric | Categorical


def _without_gaps(name: str, gaps: Mask, values: Any, impute: float | None) -> Any:
    """``values`` with ``impute`` in its gaps."""
    if not gaps.any():
        return values
    if impute is None:
        raise DataError(
            f"column {shown(name)} has a missing value.",
            remedy="Declare impute=, a public value that stands for missing ones.",
            code=MISSING_VALUE,
        )
    return np.where(gaps, impute, values)


def _category(where: str, value: object) -> Category:
    """A category as a plain string, truth value or number."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    rule, remedy = "text, True or False, or a finite number", "Make text of anything else."
    number = checks.real(where, value, rule=rule, remedy=remedy)
    if not abs(number) <= MOST_EXACT:
        raise ParameterError(f"{where} must be less than 2^53 in magnitude, or text: larger numbers are not exact.")
    return int(number) if isinstance(value, int | np.integer) else number


def _key(category: Category) -> str | float:
    """A category as columns are read: text in normal form C, or a double."""
    return same_text(category) if isinstance(category, str) else float(category)
