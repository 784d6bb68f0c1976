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
from numbers import Integral
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
MOST_CELLS = 4096
"""Largest number of cells of a number with detail: the table of its code has a row and a feature for each."""
DEFAULT_CELLS = 256
"""Number of cells of a number with detail, unless ``bins`` declares another."""
MOST_DETAIL = 0.99
"""Largest share of cells in the code of a number; a smooth part always remains."""
MOST_SPECIAL = 100
"""Largest number of special values of a number."""
LARGEST_WEIGHT = 1e6
"""Largest declared weight; the smallest is its inverse."""
_OUTSIDE, _GAP = -1, -2
_PUBLIC = "It must be public: choose it from public knowledge, not from the data."


@dataclass(frozen=True)
class Numeric:
    """Column of numbers, clipped to public bounds and mapped affinely from [low, high] to [-1, 1].

    True and False count as 1 and 0; declare ``Numeric(0, 1)`` for a Boolean column. The last five fields, and a whole
    number as ``bins``, apply to additive models only; `PublicEncoder` refuses them.

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
        cut points before clipping. In additive models with ``detail``, ``bins`` is the number of cells instead, from 2
        to 4,096; without ``bins`` there are 256.
    missing
        Whether missing values have their own indicator instead of the indicator of an interval. The scaled number of a
        missing value is the scaled value of ``impute``, or 0 if ``impute`` is None.
    canonical
        Whether cells are read one by one in canonical form (`dperm.data.canonical`), as in a private preparation. A
        finite number counts as itself, and text such as "1.5" counts as the number that it represents. Every other cell
        counts as missing, and no cell raises an error.
    unit
        Public positive number. Additive models place x at asinh(x / unit) instead of x: linearly below the unit, and
        logarithmically above it. Declare it for amounts of money and counts.
    special
        Public values with an effect of their own in additive models, at most 100, such as 0 of an amount that most
        records do not have. They may lie outside the bounds, such as -1 for "never". Numbers are compared with them
        before clipping.
    detail
        Share, in [0, .99], of the code of an additive model that is an indicator of the number's cell. The effect is
        then a step function, which can jump. 0 stands for smooth effects alone.
    period
        Public positive number. Additive models place x at its fraction of the period from ``low``, so that ``low`` and
        ``low + period`` are one place. Declare it for hours of the day and days of the year. It cannot be combined with
        ``unit``.
    weight
        Public relative weight of the column in an additive model, from 1e-6 to 1e6. Columns have equal weights by
        default.

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
    bins: Sequence[float] | int = field(default=(), kw_only=True)
    missing: bool = field(default=False, kw_only=True)
    canonical: bool = field(default=False, kw_only=True)
    unit: float | None = field(default=None, kw_only=True)
    special: Sequence[float] = field(default=(), kw_only=True)
    detail: float = field(default=0.0, kw_only=True)
    period: float | None = field(default=None, kw_only=True)
    weight: float = field(default=1.0, kw_only=True)

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
            not increase, two declarations exclude each other, or an argument has the wrong type.
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
        found = Numeric(
            low,
            high,
            impute,
            bins=_bins(f"{where}.bins", self.bins),
            missing=_truth(f"{where}.missing", self.missing),
            canonical=_truth(f"{where}.canonical", self.canonical),
            unit=_optional_scale(f"{where}.unit", self.unit),
            special=_special(f"{where}.special", self.special),
            detail=checks.between(f"{where}.detail", self.detail, 0.0, MOST_DETAIL, _PUBLIC),
            period=_optional_scale(f"{where}.period", self.period),
            weight=_weight(f"{where}.weight", self.weight),
        )
        found._check_scale(where)
        return found

    @property
    def cut_points(self) -> tuple[float, ...]:
        """Cut points of the indicators of intervals; empty if ``bins`` is a number of cells."""
        return () if isinstance(self.bins, int) else tuple(self.bins)

    @property
    def additive_fields(self) -> tuple[str, ...]:
        """Names of the declared fields that only additive models use."""
        cells = ("bins",) if isinstance(self.bins, int) else ()
        declared = declared_fields(self)
        return (*cells, *(name for name in ("unit", "special", "detail", "period", "weight") if name in declared))

    def scaled(self, numbers: Floats) -> Floats:
        """Return the place t in [0, 1] of each number in an additive model: 0 at ``low`` and 1 at ``high``.

        Numbers, including infinities, are clipped to the bounds first. With ``unit``, places are equidistant in
        asinh(x / unit). With ``period``, t is the fraction of the period since ``low``, below 1.

        Parameters
        ----------
        numbers
            Numbers without NaN.
        """
        clipped = np.clip(numbers, self.low, self.high)
        if self.period is not None:
            turns = (clipped - self.low) / self.period
            return np.clip(turns - np.floor(turns), 0.0, 1.0)
        low, high = self._ends
        return np.clip((self._stretched(clipped) / 2 - low / 2) / (high / 2 - low / 2), 0.0, 1.0)

    def unscaled(self, places: Floats) -> Floats:
        """Return the number at each place t in [0, 1], the inverse of `scaled`; for axes of shapes.

        Parameters
        ----------
        places
            Places in [0, 1].
        """
        if self.period is not None:
            return self.low + places * self.period
        low, high = self._ends
        stretched = (1 - places) * low + places * high
        numbers = stretched if self.unit is None else np.sinh(stretched) * self.unit
        return np.clip(numbers, self.low, self.high)

    @property
    def _ends(self) -> tuple[float, float]:
        low, high = self._stretched(np.array([self.low, self.high])).tolist()
        return low, high

    def _stretched(self, numbers: Floats) -> Floats:
        return numbers if self.unit is None else np.arcsinh(numbers / self.unit)

    def _check_scale(self, where: str) -> None:
        """Raise ParameterError for declarations of an additive model that exclude each other."""
        if isinstance(self.bins, int) and not self.detail:
            rule = f"must be a list or tuple of cut points unless {where}.detail > 0"
            remedy = "Declare detail=.6, for example."
            raise ParameterError(argument=f"{where}.bins", rule=rule, got=shown(self.bins), remedy=remedy)
        if self.unit is not None and self.period is not None:
            rule, remedy = f"must be left out if {where}.period is declared", "A period has a linear scale."
            raise ParameterError(argument=f"{where}.unit", rule=rule, got=shown(self.unit), remedy=remedy)
        if self.unit is not None and not self._ends[1] / 2 - self._ends[0] / 2 > 0:
            rule, remedy = "must tell the bounds apart: asinh(bound / unit) is one double for both", "Widen the bounds."
            raise ParameterError(argument=f"{where}.unit", rule=rule, got=shown(self.unit), remedy=remedy)
        if self.period is not None and not (self.high - self.low) / self.period <= MOST_EXACT:
            rule, remedy = "must be at least 2^-53 of the distance between the bounds", _PUBLIC
            raise ParameterError(argument=f"{where}.period", rule=rule, got=shown(self.period), remedy=remedy)

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
        return (name, *_interval_names(name, self.cut_points), *gap)

    @property
    def squared_norm(self) -> int:
        """Smallest integer bound on the sum of squares of the column's features in one record: 1 or 2."""
        # The scaled number adds at most 1, and the single indicator of an interval 1. Without bins, only a missing
        # value has an indicator; its scaled number is 0 unless there is impute.
        return 2 if self.cut_points or (self.missing and self.impute is not None) else 1

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
        numbers = read_numbers(name, values, unseen)
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
        return (number, self._indicator(known, gaps)) if self.cut_points or self.missing else (number,)

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
        intervals = len(_interval_names("", self.cut_points))
        places = 1 + np.searchsorted(np.asarray(self.cut_points, dtype=np.float64), known, side="right").astype(np.intp)
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
    weight
        Public relative weight of the column in an additive model, from 1e-6 to 1e6. `PublicEncoder` refuses weights
        other than 1.

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
    weight: float = field(default=1.0, kw_only=True)

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
        return replace(self, categories=plain, impute=impute, weight=_weight(f"{where}.weight", self.weight))

    @property
    def additive_fields(self) -> tuple[str, ...]:
        """Names of the declared fields that only additive models use."""
        return ("weight",) if "weight" in declared_fields(self) else ()

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
        return (_indicators(self.positions(name, values, unseen)),)

    def positions(self, name: str, values: Column, unseen: Unseen = "raise") -> Places:
        """Return the position of the indicator of each record; negative for records without an indicator.

        Parameters
        ----------
        name, values, unseen
            See `entries`.

        Raises
        ------
        DataError
            See `entries`.
        """
        if values.dtype == object:
            return self._places(name, values.tolist(), unseen)
        distinct, where = np.unique(values, return_inverse=True)
        items = [None if math.isnan(number) else number for number in distinct.tolist()]
        return self._places(name, items, unseen)[where]

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


def read_numbers(name: str, values: Column, unseen: Unseen) -> Floats:
    """Return the doubles of a column, NaN for missing values.

    Raises
    ------
    DataError
        If there is text and ``unseen`` is "raise". With "other", text counts as missing.
    """
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


def _bins(where: str, bins: object) -> tuple[float, ...] | int:
    """Return cut points as a tuple of doubles, or the number of cells."""
    if isinstance(bins, Integral) and not isinstance(bins, bool):
        return checks.count(where, bins, _PUBLIC, least=2, most=MOST_CELLS)
    return _cut_points(where, bins)


def _special(where: str, values: object) -> tuple[float, ...]:
    """Return special values as a tuple of different doubles, in their declared order."""
    if not isinstance(values, tuple | list) or len(values) > MOST_SPECIAL:
        got = f"{len(values)} numbers" if isinstance(values, tuple | list) else shown(values)
        rule = f"must be a list or tuple of at most {MOST_SPECIAL} numbers"
        raise ParameterError(argument=where, rule=rule, got=got, remedy=_PUBLIC)
    found = tuple(checks.real(f"{where}[{place}]", value, remedy=_PUBLIC) + 0.0 for place, value in enumerate(values))
    if len(set(found)) < len(found):
        raise ParameterError(argument=where, rule="must be different numbers", remedy="List each once.")
    return found


def _optional_scale(where: str, value: object) -> float | None:
    return None if value is None else checks.between(where, value, 1 / LARGEST, LARGEST, _PUBLIC)


def _weight(where: str, value: object) -> float:
    return checks.between(where, value, 1 / LARGEST_WEIGHT, LARGEST_WEIGHT, _PUBLIC)


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
