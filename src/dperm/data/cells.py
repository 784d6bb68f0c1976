# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One cell of a text file at a time, read by what is declared of its column: no cell changes how another is read."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dperm.checks import shown
from dperm.data.columns import AnyColumn, Numeric
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column
from dperm.errors import DataError

MISSING = frozenset(("", "na", "nan", "null"))
"""CellReader that stand for something missing, in any case of letters, unless they are declared as a category."""
UNDERSCORE = "_"
"""Python takes 1_000 for a number; in a table it is a name or a slip."""
_TRUTH = {"true": 1.0, "false": 0.0}


class CellReader(Protocol):
    """How the cells of a column are read."""

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Some cells of the column of this name, one entry each.

        Raises
        ------
        DataError
            If a cell breaks a rule: with the column and the rule, and nothing about the cell.
        """


@dataclass(frozen=True)
class NumberCells:
    """Numbers as Python writes them, true and false as 1 and 0, NaN for what is missing."""

    rule: str = "as it is declared with low and high"

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Doubles."""
        with suppress(ValueError):
            if UNDERSCORE not in "".join(cells):
                return np.array(list(map(float, cells)))
        numbers = [_number(cell) for cell in cells]
        if None in numbers:
            raise DataError(
                f"column {shown(name)} must hold numbers, {self.rule}: 12, -0.5 or 1e3, without units or thousands "
                f"separators. Empty cells, NA, NaN and null are missing ones."
            )
        return np.array(numbers, dtype=np.float64)


@dataclass(frozen=True)
class CategoryCells:
    """Declared values; None for what is missing; anything else as it stands, which the encoder refuses or pools.

    A cell is the category whose text it is; where categories are numbers, also the one that it equals as a number.
    """

    categories: tuple[Any, ...]

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Objects."""
        known = self._known
        found = np.empty(len(cells), dtype=object)
        found[:] = [known[cell] if cell in known else self._other(cell) for cell in cells]
        return found

    @cached_property
    def _known(self) -> dict[str, str | float]:
        """Categories by their text; text comes before numbers that are written alike."""
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
    """Labels of declared classes, as declared."""

    classes: tuple[Any, ...]

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Objects, of which each is one of the classes."""
        return as_classes(name, CategoryCells(self.classes).read(name, cells), self.classes)


@dataclass(frozen=True)
class RangeCells:
    """Finite numbers to predict."""

    def read(self, name: str, cells: Sequence[str]) -> Column:
        """Doubles."""
        return as_numbers(name, NumberCells("as the target has a range").read(name, cells))


def cell_reader(declared: AnyColumn | TargetSchema) -> CellReader:
    """How cells of a column are read of which this is declared."""
    if isinstance(declared, TargetSchema):
        return RangeCells() if declared.classes is None else ClassCells(declared.classes)
    return NumberCells() if isinstance(declared, Numeric) else CategoryCells(tuple(declared.categories))


def as_classes(name: str, values: Column, classes: tuple[Any, ...]) -> NDArray[Any]:
    """The declared class that each value is; text and numbers differ."""
    by_key = {value if isinstance(value, str) else float(value): value for value in classes}
    labels = [by_key.get(value) for value in values.tolist()]
    if None in labels:
        raise DataError(
            f"column {shown(name)} must hold the classes that the schema declares, in every record (text and numbers "
            f"differ). Declare all that can occur, or correct the labels."
        )
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def as_numbers(name: str, values: Column) -> NDArray[Any]:
    """The values, if they are finite numbers."""
    if values.dtype == object or not np.isfinite(values).all():
        raise DataError(f"column {shown(name)} must hold a finite number in every record, as the target has a range.")
    return values


def _number(cell: str) -> float | None:
    """The number that a cell holds; NaN if it is missing, None if it is something else."""
    word = cell.strip().casefold()
    if word in MISSING:
        return math.nan
    if word in _TRUTH:
        return _TRUTH[word]
    with suppress(ValueError):
        if UNDERSCORE not in cell:
            return float(cell)
    return None
