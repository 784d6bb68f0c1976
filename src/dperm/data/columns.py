# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declarations of columns, and their features: a number scaled to [-1, 1], and indicators of intervals or categories.

`PublicEncoder` checks declarations, because it knows the column names for its messages.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.checks import shown
from dperm.data.arrays import Floats, Mask
from dperm.data.canonical import CanonicalColumn
from dperm.data.identity import same_text
from dperm.data.tables import Column
from dperm.errors import DataError, ParameterError

MISSING_VALUE, UNDECLARED_CATEGORY = "data-missing-value", "data-undeclared-category"
"""Codes of two errors whose remedy depends on the front end: it names a schema file, or a model that has one."""

Places = NDArray[np.intp]
"""For each record, the place of a feature among those of the column."""
Part = tuple[Places, Floats]
"""For each record, one place and the entry of its feature."""
Category = str | bool | int | float
Unseen = Literal["raise", "other"]
"""Treatment of missing and undeclared values: an error, or entries within the norm."""

LARGEST = 1e100
"""Largest bound of a number, as in `FeatureSpace`."""
MOST_EXACT = 2**53 - 1
"""Largest integer category. Larger ones lose digits where a missing value makes the column one of doubles."""
MOST_BINS = 10_000
"""Largest number of cut points of a numeric column."""
_OUTSIDE, _GAP = -1, -2
_PUBLIC = "It must be public: choose it from public knowledge, not from the data."


@dataclass(frozen=True)
class Numeric:
    """Column of numbers, clipped to public bounds and mapped affinely from [low, high] to [-1, 1].

    True and False count as 1 and 0; declare ``Numeric(0, 1)`` for a Boolean column.

    Attributes
    ----------
    low, high
        Public lower and upper bounds. Numbers outside the bounds, including infinities, are clipped to the nearer one.
    impute
        Public number within the bounds that replaces missing values. If it is None and ``missing`` is False, a missing
        value raises ``DataError``, except if the encoder is called with ``unseen="other"`` or if ``canonical`` is True.
        In these two cases, all features of a missing value are 0.
    bins
        Public, increasing cut points, at most 10,000. Each interval below, between and above the cut points has an
        indicator feature. A number equal to a cut point belongs to the interval above it. Numbers are compared with the
        cut points before clipping.
    missing
        Whether missing values have their own indicator instead of the indicator of an interval. The scaled number of a
        missing value is the scaled value of ``impute``, or 0 if ``impute`` is None.
    canonical
        Whether cells are read one by one in canonical form (`dperm.data.canonical`), as in a private preparation. A
        finite number counts as itself, and text such as "1.5" counts as the number that it represents. Every other cell
        counts as missing, and no cell raises an error.

    Examples
    --------
    >>> from dperm.data import Numeric
    >>> Numeric(0, 100, impute=40).features("age")
    ('age',)
    >>> Numeric(0, 100, bins=(18, 65), missing=True).features("age")
    ('age', 'age<18', '18<=age<65', 'age>=65', 'age=(missing)')
    """

    low: float
    high: float
    impute: float | None = None
    bins: Sequence[float] = field(default=(), kw_only=True)
    missing: bool = field(default=False, kw_only=True)
    canonical: bool = field(default=False, kw_only=True)

    def __repr__(self) -> str:
        return _short_repr(self)

    def checked(self, where: str) -> "Numeric":
        """Return the same declaration with plain floats, after checking its values.

        Parameters
        ----------
        where
            Name of the column, for error messages.

        Returns
        -------
        Numeric
            The checked declaration.

        Raises
        ------
        ParameterError
            If the bounds are not finite and increasing, ``impute`` lies outside the bounds, the values of ``bins`` do
            not increase, or an argument has the wrong type.
        """
        low, high = (
            checks.between(f"{where}.{end}", value, -LARGEST, LARGEST, _PUBLIC)
            for end, value in (("low", self.low), ("high", self.high))
        )
        if not high / 2 - low / 2 > 0:  # also where the difference is too small to divide by
            rule = f"must be less than {where}.high"
            raise ParameterError(argument=f"{where}.low", rule=rule, got=f"{low!r} and {high!r}", remedy=_PUBLIC)
        impute, remedy = self.impute, "It stands for missing numbers, and lies within the bounds."
        if impute is not None:
            impute = checks.between(f"{where}.impute", impute, low, high, remedy)
        return Numeric(
            low,
            high,
            impute,
            bins=_cut_points(f"{where}.bins", self.bins),
            missing=_truth(f"{where}.missing", self.missing),
            canonical=_truth(f"{where}.canonical", self.canonical),
        )

    def features(self, name: str) -> tuple[str, ...]:
        """Return the feature names of a column.

        Parameters
        ----------
        name
            Name of the column.

        Returns
        -------
        tuple of str
            One name for each feature of the column.
        """
        gap = (_missing_name(name),) if self.missing else ()
        return (name, *_interval_names(name, self.bins), *gap)

    @property
    def squared_norm(self) -> int:
        """Smallest integer bound on the sum of squares of the column's features in one record: 1 or 2."""
        # The scaled number adds at most 1, and the single indicator of an interval 1. Without bins, only a missing
        # value has an indicator; its scaled number is 0 unless there is impute.
        return 2 if self.bins or (self.missing and self.impute is not None) else 1

    def entries(self, name: str, values: Column, unseen: Unseen = "raise") -> tuple[Part, ...]:
        """Return the scaled number of each record and, with ``bins`` or ``missing``, its indicator.

        Parameters
        ----------
        name
            Name of the column.
        values
            Values of the column.
        unseen
            Treatment of invalid values: "raise" or "other". With "other", text counts as missing, and the features of a
            missing value are all 0 if the column declares neither ``impute`` nor ``missing``.

        Returns
        -------
        tuple of pairs (ndarray, ndarray)
            One pair of arrays, or two pairs with ``bins`` or ``missing``. The arrays of a pair hold, for each record,
            the position of one feature within the column and the value of this feature, in [-1, 1].

        Raises
        ------
        DataError
            If ``unseen`` is "raise" and a value is invalid. A value that is not a number is always invalid. A missing
            value is invalid if the column declares neither ``impute`` nor ``missing``.
        """
        numbers = _numbers(name, values, unseen)
        gaps = np.isnan(numbers)
        if self.impute is not None:
            known = np.where(gaps, self.impute, numbers)
        elif self.missing or unseen == "other" or not gaps.any():
            known = numbers
        else:
            raise _missing_value(name)
        center, half = self.low / 2 + self.high / 2, self.high / 2 - self.low / 2
        scaled = np.clip((np.clip(known, self.low, self.high) - center) / half, -1.0, 1.0)  # rounding may go beyond
        number = np.zeros(len(numbers), dtype=np.intp), np.where(np.isnan(known), 0.0, scaled)
        return (number, self._indicator(known, gaps)) if self.bins or self.missing else (number,)

    def canonical_entries(self, name: str, cells: CanonicalColumn) -> tuple[Part, ...]:
        """Return the scaled number and the indicator of each record, as `entries` does, from cells in canonical form.

        Parameters
        ----------
        name
            Name of the column.
        cells
            Cells of the column in canonical form.

        Returns
        -------
        tuple of pairs (ndarray, ndarray)
            One or two pairs of positions and values, as in `entries`.
        """
        return self.entries(name, cells.numbers, "other")

    def _indicator(self, known: Floats, gaps: Mask) -> Part:
        """Return the indicator of each record: of its interval, or of a missing value; 0 if it has neither."""
        intervals = len(_interval_names("", self.bins))
        places = 1 + np.searchsorted(np.asarray(self.bins, dtype=np.float64), known, side="right").astype(np.intp)
        if self.missing:
            places = np.where(gaps | (intervals == 0), 1 + intervals, places)
            return places, np.where(gaps | (intervals > 0), 1.0, 0.0)
        unknown = np.isnan(known)
        return np.where(unknown, 1, places), np.where(unknown, 0.0, 1.0)


@dataclass(frozen=True)
class Categorical:
    """Column of public categories. Each category has an indicator, which is 1 in its records and 0 in all others.

    Text never equals a number: ``"1"`` and ``1`` are different categories. Equal numbers of different types (``1``,
    ``1.0`` and ``True``) are the same category, and so are strings that differ only in their Unicode normal form.

    Attributes
    ----------
    categories
        Distinct public values: strings, Booleans or numbers. The list may be empty if ``other`` is True.
    impute
        Category that replaces missing values. If it is None and ``missing`` is False, a missing value raises
        ``DataError``, except if the encoder is called with ``unseen="other"`` or if ``canonical`` is True. In these two
        cases, all indicators of a missing value are 0.
    other
        Whether all undeclared values share one additional indicator. If False, an undeclared value raises
        ``DataError``. If True, it raises ``DataError`` only if its type differs from that of the categories, such as a
        number among strings. If the encoder is called with ``unseen="other"``, or if ``canonical`` is True, no
        undeclared value raises an error.
    missing
        Whether missing values have their own indicator. This option cannot be combined with ``impute``.
    canonical
        Whether cells are read one by one in canonical form (`dperm.data.canonical`), as in a private preparation.
        Categories must then be strings, and the cells 1, 1.0 and "1" match the category "1". No cell raises an error.

    Examples
    --------
    >>> from dperm.data import Categorical
    >>> Categorical(["public", "private"], other=True).features("work")
    ('work=public', 'work=private', 'work=(other)')
    """

    categories: Sequence[Category]
    impute: Category | None = None
    other: bool = False
    missing: bool = field(default=False, kw_only=True)
    canonical: bool = field(default=False, kw_only=True)

    def __repr__(self) -> str:
        return _short_repr(self)

    def checked(self, where: str) -> "Categorical":
        """Return the same declaration with plain values, after checking them.

        Parameters
        ----------
        where
            Name of the column, for error messages.

        Returns
        -------
        Categorical
            The checked declaration.

        Raises
        ------
        ParameterError
            If there are no categories and ``other`` is False, two categories are equal, ``impute`` is not a category,
            ``impute`` and ``missing`` are combined, or an argument has the wrong type.
        """
        other, missing = _truth(f"{where}.other", self.other), _truth(f"{where}.missing", self.missing)
        argument = f"{where}.categories"
        if not isinstance(self.categories, tuple | list) or not (self.categories or other):
            rule = "must be a list or tuple of at least one category"
            raise ParameterError(argument=argument, rule=rule, got=shown(self.categories), remedy=_PUBLIC)
        plain = tuple(_category(f"{argument}[{place}]", value) for place, value in enumerate(self.categories))
        if len({_key(value) for value in plain}) < len(plain):
            raise ParameterError(
                argument=argument,
                rule="must be different values",
                remedy="1, 1.0 and True are the same, and so is text that differs only in its Unicode normal form.",
            )
        impute = None if self.impute is None else _category(f"{where}.impute", self.impute)
        if impute is not None and _key(impute) not in map(_key, plain):
            rule = "must be one of its categories"
            raise ParameterError(argument=f"{where}.impute", rule=rule, got=shown(impute), remedy="Add it to them.")
        if impute is not None and missing:
            rule = f"must be left out if {where}.missing is True"
            remedy = "Missing values have either an indicator of their own or that of a category."
            raise ParameterError(argument=f"{where}.impute", rule=rule, got=shown(impute), remedy=remedy)
        if _truth(f"{where}.canonical", self.canonical) and not all(isinstance(value, str) for value in plain):
            remedy = 'Write "1" for the number 1, for example.'
            raise ParameterError(argument=argument, rule=f"must be text if {where}.canonical is True", remedy=remedy)
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
            One name for each feature of the column.
        """
        others = (f"{name}=(other)",) if self.other else ()
        gap = (_missing_name(name),) if self.missing else ()
        return (*(f"{name}={category}" for category in self.categories), *others, *gap)

    @property
    def squared_norm(self) -> int:
        """Bound on the sum of squares of the column's features in one record: 1, the square of a single indicator."""
        return 1

    def entries(self, name: str, values: Column, unseen: Unseen = "raise") -> tuple[Part, ...]:
        """Return, for each record, the position of the indicator that is 1.

        Parameters
        ----------
        name
            Name of the column.
        values
            Values of the column.
        unseen
            Treatment of invalid values: "raise" or "other". With "other", the features of a value without an indicator
            are all 0, and the indicator declared by ``other=True`` accepts undeclared values of any type.

        Returns
        -------
        tuple of pairs (ndarray, ndarray)
            A single pair: the positions of the indicators, and their values. A value is 1, or 0 for a record without an
            indicator.

        Raises
        ------
        DataError
            If ``unseen`` is "raise" and a value is invalid. A missing value is invalid if the column declares neither
            ``impute`` nor ``missing``. An undeclared value is invalid if ``other`` is False, or if it is text and the
            categories are numbers, or the reverse.
        """
        if values.dtype == object:
            places = self._places(name, values.tolist(), unseen)
        else:
            distinct, where = np.unique(values, return_inverse=True)
            items = [None if math.isnan(number) else number for number in distinct.tolist()]
            places = self._places(name, items, unseen)[where]
        return (_indicators(places),)

    def canonical_entries(self, name: str, cells: CanonicalColumn) -> tuple[Part, ...]:
        """Return the position of the indicator of each record, as `entries` does, from cells in canonical form.

        Parameters
        ----------
        name
            Name of the column.
        cells
            Cells of the column in canonical form.

        Returns
        -------
        tuple of pairs (ndarray, ndarray)
            A single pair of positions and values, as in `entries`.
        """
        codes, texts = cells.values()
        return (_indicators(self._places(name, [*texts, None], "other")[codes]),)  # code -1 of missing cells is last

    @cached_property
    def _lookup(self) -> dict[object, int]:
        places: dict[object, int] = {_key(category): place for place, category in enumerate(self.categories)}
        return places | {None: _GAP}

    def _places(self, name: str, items: list[Any], unseen: Unseen) -> Places:
        """Return the position of each item's indicator; negative without one, where ``unseen`` admits that."""
        place_of = self._lookup.get
        spelled = (same_text(item) if isinstance(item, str) else item for item in items)
        found = np.array([place_of(item, _OUTSIDE) for item in spelled], dtype=np.intp)
        gaps, strange = found == _GAP, found == _OUTSIDE
        if unseen == "raise" and gaps.any() and self.impute is None and not self.missing:
            raise _missing_value(name)
        if unseen == "raise" and strange.any():
            self._admit(name, {type(items[place]) for place in np.flatnonzero(strange).tolist()})
        if self.missing:
            found = np.where(gaps, len(self.categories) + self.other, found)
        elif self.impute is not None:
            found = np.where(gaps, self._lookup[_key(self.impute)], found)
        return np.where(strange, len(self.categories), found) if self.other else found

    def _admit(self, name: str, kinds: set[type]) -> None:
        """Raise DataError for undeclared values, unless ``other`` is True and they are of the categories' kinds."""
        if not self.other:
            raise DataError(
                f"column {shown(name)} has a value outside its declared categories (text and numbers differ).",
                remedy="Declare the category, or give other=True: all others then share one feature.",
                code=UNDECLARED_CATEGORY,
            )
        if self.categories and not kinds <= {type(_key(category)) for category in self.categories}:
            raise DataError(f"column {shown(name)} must be of the kind of its declared categories: text, or numbers.")


AnyColumn = Numeric | Categorical


def optional_fields(kind: type[AnyColumn]) -> dict[str, object]:
    """Return the fields that declarations of this kind store only if they differ from these defaults."""
    return {item.name: item.default for item in fields(kind) if item.kw_only}


def declared_fields(column: AnyColumn) -> dict[str, Any]:
    """Return the fields of a declaration by name, without optional ones that have their defaults."""
    found = {item.name: getattr(column, item.name) for item in fields(column)}
    defaults = optional_fields(type(column))
    return {name: value for name, value in found.items() if name not in defaults or value != defaults[name]}


def _short_repr(column: AnyColumn) -> str:
    """Return the constructor call, without optional fields that have their defaults."""
    written = ", ".join(f"{name}={value!r}" for name, value in declared_fields(column).items())
    return f"{type(column).__name__}({written})"


def _missing_name(name: str) -> str:
    return f"{name}=(missing)"


def _interval_names(name: str, bins: Sequence[float]) -> tuple[str, ...]:
    """Return one feature name for each interval; none without cut points."""
    cuts = [str(int(cut)) if abs(cut) <= MOST_EXACT and cut == int(cut) else repr(float(cut)) for cut in bins]
    between = (f"{low}<={name}<{high}" for low, high in pairwise(cuts))
    return (f"{name}<{cuts[0]}", *between, f"{name}>={cuts[-1]}") if cuts else ()


def _indicators(places: Places) -> Part:
    """Return places with the entry 1; negative places, of values without an indicator, have the entry 0."""
    return np.maximum(places, 0), np.where(places < 0, 0.0, 1.0)


def _numbers(name: str, values: Column, unseen: Unseen) -> Floats:
    """Return doubles, NaN for missing values; text raises DataError, or counts as missing."""
    if values.dtype != object:
        return np.asarray(values, dtype=np.float64)
    if unseen == "raise":
        problem = f"column {shown(name)} must hold numbers, as it is declared Numeric."
        remedy = "Convert text first, or declare canonical=True: then text that is not a number counts as missing."
        raise DataError(problem, remedy=remedy)
    return np.array([item if isinstance(item, float) else math.nan for item in values.tolist()], dtype=np.float64)


def _missing_value(name: str) -> DataError:
    return DataError(
        f"column {shown(name)} has a missing value.",
        remedy="Declare impute=, a public value that replaces missing values.",
        code=MISSING_VALUE,
    )


def _cut_points(where: str, bins: object) -> tuple[float, ...]:
    """Return cut points as a tuple of doubles."""
    if not isinstance(bins, tuple | list) or len(bins) > MOST_BINS:
        got = f"{len(bins)} numbers" if isinstance(bins, tuple | list) else shown(bins)
        rule = f"must be a list or tuple of at most {MOST_BINS:,} numbers"
        raise ParameterError(argument=where, rule=rule, got=got, remedy=_PUBLIC)
    cuts = tuple(checks.real(f"{where}[{place}]", cut, remedy=_PUBLIC) + 0.0 for place, cut in enumerate(bins))
    if any(low >= high for low, high in pairwise(cuts)):  # -0.0 + 0.0 is 0.0
        raise ParameterError(argument=where, rule="must increase", remedy="Sort them, and list each once.")
    return cuts


def _truth(where: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(argument=where, rule="must be True or False", got=shown(value))
    return value


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
