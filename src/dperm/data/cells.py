# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Readers of text cells, one for each kind of declared column. No cell changes how another is read."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dperm.checks import shown
from dperm.data.canonical import MISSING, TRUTH, UNDERSCORE
from dperm.data.columns import AnyColumn, Numeric, Unseen
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column
from dperm.errors import DataError


class CellReader(Protocol):
    """Reader of the cells of a column."""

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Return the entries of some cells of the column ``name``.

        Raises
        ------
        DataError
            If a cell breaks a rule. The message names the column and the rule, and nothing of the cell.
        """


@dataclass(frozen=True)
class NumberCells:
    """Reader of numbers in Python's notation, true and false as 1 and 0, and missing values as NaN."""

    rule: str = "as it is declared with low and high"
    unseen: Unseen = "raise"

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Return doubles, NaN for missing values and, if ``unseen`` is "other", for text."""
        with suppress(ValueError):
            if UNDERSCORE not in "".join(cells):
                return np.array(list(map(float, cells)))
        numbers = [_number(cell) for cell in cells]
        if None in numbers and self.unseen == "raise":
            raise DataError(
                f"column {shown(name)} must hold numbers, {self.rule}: 12, -0.5 or 1e3, without units or thousands "
                "separators.",
                remedy="Empty cells, NA, NaN and null are missing values.",
            )
        return np.array(numbers, dtype=np.float64)


@dataclass(frozen=True)
class RawCells:
    """Reader of cells as they are, for columns in canonical form."""

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Return an array of texts, one for each cell."""
        found = np.empty(len(cells), dtype=object)
        found[:] = list(cells)
        return found


@dataclass(frozen=True)
class UndeclaredCells:
    """Reader of cells without a declaration: numbers as `NumberCells` reads them, and text unchanged."""

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Return doubles if no cell is text; otherwise an array of numbers, texts, and None for missing values."""
        numbers = [_number(cell) for cell in cells]
        if None not in numbers:
            return np.array(numbers, dtype=np.float64)
        found = np.empty(len(cells), dtype=object)
        for place, (cell, number) in enumerate(zip(cells, numbers, strict=True)):
            found[place] = cell if number is None else None if math.isnan(number) else number
        return found


@dataclass(frozen=True)
class CategoryCells:
    """Reader of declared categories, with None for missing values.

    Undeclared text is returned unchanged, for the encoder to refuse or pool. A cell matches the category of the same
    text. Where categories are numbers, it also matches the category of equal value.
    """

    categories: tuple[Any, ...]

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Return an array of categories, undeclared texts and None."""
        known = self._known
        found = np.empty(len(cells), dtype=object)
        found[:] = [known[cell] if cell in known else self._other(cell) for cell in cells]
        return found

    @cached_property
    def _known(self) -> dict[str, str | float]:
        """Categories by their text; text takes precedence over numbers of the same spelling."""
        numbers = {str(value): float(value) for value in self.categories if not isinstance(value, str)}
        return numbers | {value: value for value in self.categories if isinstance(value, str)}

    @cached_property
    def _has_numbers(self) -> bool:
        return not all(isinstance(value, str) for value in self.categories)

    def _other(self, cell: str) -> str | float | None:
        if cell.strip().casefold() in MISSING:
            return None
        number = _number(cell) if self._has_numbers else None
        return cell if number is None else number


@dataclass(frozen=True)
class ClassCells:
    """Reader of labels from a set of declared classes."""

    classes: tuple[Any, ...]
    unseen: Unseen = "raise"

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Return an array of declared classes and, if ``unseen`` is "other", None for other labels."""
        return as_classes(name, CategoryCells(self.classes).read(name, cells), self.classes, self.unseen)


@dataclass(frozen=True)
class RangeCells:
    """Reader of finite numbers to predict."""

    unseen: Unseen = "raise"

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Return doubles, one for each cell; finite ones, unless ``unseen`` is "other"."""
        return as_numbers(name, NumberCells("as the target has a range", self.unseen).read(name, cells), self.unseen)


def cell_reader(declared: AnyColumn | TargetSchema, unseen: Unseen = "raise") -> CellReader:
    """Return the reader for a declared column or target.

    If ``unseen`` is "other", text in numbers is missing, and invalid labels are None or NaN.
    """
    if isinstance(declared, TargetSchema):
        return RangeCells(unseen) if declared.classes is None else ClassCells(declared.classes, unseen)
    if declared.canonical:
        return RawCells()
    return NumberCells(unseen=unseen) if isinstance(declared, Numeric) else CategoryCells(tuple(declared.categories))


def as_classes(name: str, values: Column, classes: tuple[Any, ...], unseen: Unseen = "raise") -> NDArray[Any]:
    """Return the declared class of each value, where text and numbers differ, or None.

    Raises
    ------
    DataError
        If ``unseen`` is "raise" and a value is not a declared class.
    """
    by_key = {value if isinstance(value, str) else float(value): value for value in classes}
    labels = [by_key.get(value) for value in values.tolist()]
    if unseen == "raise" and None in labels:
        raise DataError(
            f"column {shown(name)} must hold the classes that the schema declares, in every record (text and numbers "
            "differ).",
            remedy="Declare all that can occur, or correct the labels.",
        )
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def as_numbers(name: str, values: Column, unseen: Unseen = "raise") -> NDArray[Any]:
    """Return the values; raise DataError unless all are finite numbers or ``unseen`` is "other"."""
    if unseen == "other":
        return values
    if values.dtype == object or not np.isfinite(values).all():
        raise DataError(f"column {shown(name)} must hold a finite number in every record, as the target has a range.")
    return values


def _number(cell: str) -> float | None:
    """Return the number in a cell; NaN if it is missing, None if it is not a number."""
    word = cell.strip().casefold()
    if word in MISSING:
        return math.nan
    if word in TRUTH:
        return TRUTH[word]
    with suppress(ValueError):
        if UNDERSCORE not in cell:
            return float(cell)
    return None
