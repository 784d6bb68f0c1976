# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declarations of columns, and their features: a number scaled to [-1, 1], or one indicator for each category.

`PublicEncoder` checks declarations, because it knows the column names for its messages.
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
from dperm.data.tables import Column
from dperm.errors import DataError, ParameterError

MISSING_VALUE, UNDECLARED_CATEGORY = "data-missing-value", "data-undeclared-category"
"""Codes of two errors whose remedy depends on the front end: it names a schema file, or a model that has one."""

Places = NDArray[np.intp]
"""For each record, the place of the nonzero feature among those of the column."""
Category = str | bool | int | float

LARGEST = 1e100
"""Largest bound of a number, as in `FeatureSpace`."""
MOST_EXACT = 2**53 - 1
"""Largest integer category. Larger ones lose digits where a missing value makes the column one of doubles."""
_OUTSIDE, _GAP = -1, -2
_PUBLIC = "It must be public: choose it from public knowledge, not from the data."


@dataclass(frozen=True)
class Numeric:
    """Column of numbers, clipped to public bounds and mapped affinely from [low, high] to [-1, 1].

    True and False count as 1 and 0; declare ``Numeric(0, 1)`` for a column of truth values.

    Attributes
    ----------
    low, high
        Public bounds. Numbers outside the bounds, including infinities, are clipped to the nearer bound.
    impute
        Public number within the bounds that replaces missing values; None refuses missing values.

    Examples
    --------
    >>> from dperm.data import Numeric
    >>> Numeric(0, 100, impute=40).features("age")
    ('age',)
    """

    low: float
    high: float
    impute: float | None = None

    def checked(self, where: str) -> "Numeric":
        """Return the same declaration with plain floats.

        Parameters
        ----------
        where
            Name of the column, for messages.

        Returns
        -------
        Numeric
            The checked declaration.

        Raises
        ------
        ParameterError
            If the bounds are not finite and ordered, or ``impute`` lies outside them.
        """
        low, high = (
            checks.between(f"{where}.{end}", value, -LARGEST, LARGEST, _PUBLIC)
            for end, value in (("low", self.low), ("high", self.high))
        )
        if not high / 2 - low / 2 > 0:  # also where the difference is too small to divide by
            rule = f"must be less than {where}.high"
            raise ParameterError(argument=f"{where}.low", rule=rule, got=f"{low!r} and {high!r}", remedy=_PUBLIC)
        if self.impute is None:
            return Numeric(low, high)
        remedy = "It stands for missing numbers, and lies within the bounds."
        return Numeric(low, high, checks.between(f"{where}.impute", self.impute, low, high, remedy))

    def features(self, name: str) -> tuple[str, ...]:
        """Return the feature names of a column.

        Parameters
        ----------
        name
            Name of the column.

        Returns
        -------
        tuple of str
            One name for each feature.
        """
        return (name,)

    def entries(self, name: str, values: Column) -> tuple[Places, Floats]:
        """Return the position and the value of the nonzero feature of each record.

        Parameters
        ----------
        name
            Name of the column.
        values
            Values of the column.

        Returns
        -------
        tuple of ndarray
            Positions, and entries in [-1, 1].

        Raises
        ------
        DataError
            If a value is missing without ``impute``, or is not a number.
        """
        if values.dtype == object:
            problem = f"column {shown(name)} must hold numbers, as it is declared Numeric."
            raise DataError(problem, remedy="Convert text first.")
        known = _without_gaps(name, np.isnan(values), values, self.impute)
        center, half = self.low / 2 + self.high / 2, self.high / 2 - self.low / 2
        scaled = (np.clip(known, self.low, self.high) - center) / half
        return np.zeros(len(values), dtype=np.intp), np.clip(scaled, -1.0, 1.0)  # rounding may go beyond


@dataclass(frozen=True)
class Categorical:
    """Column of public categories, each with an indicator that is 1 in records of the category and 0 in others.

    Text and numbers differ (``"1"`` is not ``1``). Numbers of different types (``1``, ``1.0`` and ``True``) and text in
    different Unicode normal forms are equal.

    Attributes
    ----------
    categories
        Public values, each once: strings, truth values or numbers.
    impute
        Category that replaces missing values; None refuses missing values.
    other
        Whether all undeclared values share one additional indicator; otherwise they are refused. Values of a different
        kind from the categories, such as numbers among text, are always refused.

    Examples
    --------
    >>> from dperm.data import Categorical
    >>> Categorical(["public", "private"], other=True).features("work")
    ('work=public', 'work=private', 'work=(other)')
    """

    categories: Sequence[Category]
    impute: Category | None = None
    other: bool = False

    def checked(self, where: str) -> "Categorical":
        """Return the same declaration with plain values.

        Parameters
        ----------
        where
            Name of the column, for messages.

        Returns
        -------
        Categorical
            The checked declaration.

        Raises
        ------
        ParameterError
            If there is no category, two categories are equal, or ``impute`` is not a category.
        """
        listed = self.categories if isinstance(self.categories, tuple | list) else ()
        argument = f"{where}.categories"
        if not listed:
            rule = "must be a list or tuple of at least one category"
            raise ParameterError(argument=argument, rule=rule, got=shown(self.categories), remedy=_PUBLIC)
        plain = tuple(_category(f"{argument}[{place}]", value) for place, value in enumerate(listed))
        if len({_key(value) for value in plain}) < len(plain):
            raise ParameterError(
                argument=argument,
                rule="must be different values",
                remedy="1, 1.0 and True are the same, and so is text that differs only in its Unicode normal form.",
            )
        if not isinstance(self.other, bool):
            raise ParameterError(argument=f"{where}.other", rule="must be True or False", got=shown(self.other))
        impute = None if self.impute is None else _category(f"{where}.impute", self.impute)
        if impute is not None and _key(impute) not in map(_key, plain):
            rule = "must be one of its categories"
            raise ParameterError(argument=f"{where}.impute", rule=rule, got=shown(impute), remedy="Add it to them.")
        return replace(self, categories=plain, impute=impute)

    def features(self, name: str) -> tuple[str, ...]:
        """Return the feature names of a column.

        Parameters
        ----------
        name
            Name of the column.

        Returns
        -------
        tuple of str
            One name for each feature.
        """
        others = (f"{name}=(other)",) if self.other else ()
        return (*(f"{name}={category}" for category in self.categories), *others)

    def entries(self, name: str, values: Column) -> tuple[Places, Floats]:
        """Return the position of the category of each record, with the entry 1.

        Parameters
        ----------
        name
            Name of the column.
        values
            Values of the column.

        Returns
        -------
        tuple of ndarray
            Positions, and entries equal to 1.

        Raises
        ------
        DataError
            If a value is missing without ``impute``, or is not one of the categories.
        """
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
        """Raise DataError for undeclared values, unless ``other`` is True and they are of the categories' kinds."""
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
    """Return ``values`` with missing ones replaced by ``impute``; raise DataError if it is None."""
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
    """Return a category as a plain string, truth value or number."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    rule, remedy = "text, True or False, or a finite number", "Make text of anything else."
    number = checks.real(where, value, rule=rule, remedy=remedy)
    if not abs(number) <= MOST_EXACT:
        rule = "must be less than 2^53 in magnitude, or text, because larger numbers are not exact"
        raise ParameterError(argument=where, rule=rule)
    return int(number) if isinstance(value, int | np.integer) else number


def _key(category: Category) -> str | float:
    """Return the form in which columns hold a category: text in normal form C, or a double."""
    return same_text(category) if isinstance(category, str) else float(category)
