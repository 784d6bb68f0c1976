# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of a table as the records of a release.

A release computes its exact statistic by one function of the records. For an array the function runs once, for a table
once on each row group, and the results are added. They are integers, so the statistic is that of the whole column.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.data.column_passes import sum_over_columns
from dperm.data.row_groups import RowGroups, listed_columns
from dperm.errors import DataError, ParameterError
from dperm.mechanisms.releases import records
from dperm.noise.arrays import Floats
from dperm.presentation.spelling import arg

T = TypeVar("T")


class Layout(NamedTuple):
    """Columns that a release reads.

    Attributes
    ----------
    columns
        Number of columns.
    numeric
        Number of columns that must hold numbers; they are the first ones.
    rows
        Whether the columns are the entries of a row.
    values
        Public values that cells of the other columns are compared with.
    """

    columns: int
    numeric: int
    rows: bool = False
    values: tuple[Hashable, ...] = ()


NUMBERS = Layout(1, numeric=1)
LEAST_ROUNDED = 2**53
"""Integers from here on may not be doubles."""


@dataclass(frozen=True)
class ColumnRecords:
    """Named columns of a table, with one record per row."""

    table: RowGroups
    names: tuple[str, ...]
    layout: Layout


Records = ArrayLike | ColumnRecords


@dataclass(frozen=True)
class ColumnStatistic:
    """Statistic of the records of one row group; a function for `sum_over_columns`."""

    statistic: Callable[..., Any]
    names: tuple[str, ...]
    layout: Layout

    def __call__(self, columns: Mapping[str, Any]) -> Any:
        """Return the statistic of the columns; an error names the column that breaks a rule."""
        arrays = [columns[name] for name in self.names]
        for name, values in zip(self.names[: self.layout.numeric], arrays, strict=False):
            _require_numbers(name, values)
        if self.layout.rows:
            named = zip(self.names, arrays, strict=True)
            arrays = [np.column_stack([_finite_column(name, values) for name, values in named])]
        try:
            return self.statistic(*arrays)
        except DataError as error:
            raise self._named(error) from None

    def _named(self, error: DataError) -> DataError:
        """Return the error with its column as the argument."""
        place = 0 if error.argument == records.NAME else -1
        return _named(error, self.names[place])


def total(statistic: Callable[..., T], add: Callable[[T, T], T], *data: Records) -> T:
    """Return the statistic of the records, an array or several; for a table, the sum over its row groups.

    Parameters
    ----------
    statistic
        Picklable function of the records. For one row more, its result changes by a term of this row alone.
    add
        Commutative and associative sum of two results.
    *data
        Arrays of the records, or `ColumnRecords`.

    Returns
    -------
    object
        Exact statistic of all records; **not private**.

    Raises
    ------
    DataError
        If the data break a rule.
    """
    columns = data[0]
    if not isinstance(columns, ColumnRecords):
        return statistic(*data)
    function = ColumnStatistic(statistic, columns.names, columns.layout)
    whole = sum_over_columns(columns.table, columns.names, function=function, add=add)
    if whole is None:
        raise DataError(argument=records.NAME, rule="must hold at least one record")
    return whole


def table_columns(table: RowGroups, columns: object, layout: Layout) -> ColumnRecords:
    """Return the named columns of a table.

    Raises
    ------
    ParameterError
        If the names are not as many as the release reads, or are not in the table, or if cells cannot be compared with
        the values of the layout.
    """
    _require_cell_values(layout.values)
    names = _names(columns)
    if names is None or len(names) != layout.columns:
        wanted = "the name of a column" if layout.columns == 1 else f"the names of {layout.columns} columns"
        raise ParameterError(
            argument="columns",
            rule=f"must be {wanted} of the table",
            got=shown(columns),
            remedy=listed_columns(table),
        )
    for name in names:
        if name not in table.columns:
            raise ParameterError(
                argument="columns",
                rule="must be in the table",
                got=shown(name),
                remedy=listed_columns(table),
            )
    return ColumnRecords(table, names, layout)


def records_and_budget(
    data: ArrayLike | RowGroups, columns: object, budget: Budget | None, *, layout: Layout
) -> tuple[Records, Budget | None]:
    """Return the records and the budget of ``release(array, budget)`` or ``release(table, columns, budget=budget)``.

    Parameters
    ----------
    data
        Array of the records, or a table.
    columns
        Names of the columns of a table; for an array, the budget as the second positional argument.
    budget
        Budget as a keyword argument.
    layout
        Columns that the release reads from a table.

    Raises
    ------
    ParameterError
        If column names are missing for a table, or given for an array.
    """
    if isinstance(data, RowGroups):
        return table_columns(data, columns, layout), budget
    if _names(columns) is not None:
        raise ParameterError(
            argument="columns",
            rule="must be left out for an array",
            got=shown(columns),
            remedy="Give the records of one column as an array, or a table of dperm.data.",
        )
    if columns is not None and budget is not None:
        raise ParameterError(f"{arg('budget')} must be given once.")
    return data, cast(Budget | None, columns) if budget is None else budget


def _require_cell_values(values: tuple[Hashable, ...]) -> None:
    """Refuse values of which cells may be equal or not, depending on the other cells that are read with them.

    A missing cell is None beside text, and NaN beside numbers. A large integer is rounded beside a missing cell.
    """
    for value in values:
        if not isinstance(value, str) and not (isinstance(value, Number) and abs(cast(Any, value)) < LEAST_ROUNDED):
            raise ParameterError(
                f"categories and classes must be text, or numbers below 2^53, for a table; got {shown(value)}.",
                remedy="Replace missing cells by text in the table itself, for example.",
            )


def _names(columns: object) -> tuple[str, ...] | None:
    """Return a name, or a list of names, as a tuple; None for anything else."""
    names = [columns] if isinstance(columns, str) else columns
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return tuple(names)
    return None


def _require_numbers(name: str, values: object) -> None:
    if np.asarray(values).dtype.kind not in "biuf":
        raise DataError(
            argument=f"column {name!r}",
            rule="must hold numbers or truth values",
            remedy="Convert the column to numbers before the table is written.",
        )


def _finite_column(name: str, values: ArrayLike) -> Floats:
    """Return the finite numbers of a column."""
    try:
        return records.column(values)
    except DataError as error:
        raise _named(error, name) from None


def _named(error: DataError, column: str) -> DataError:
    """Return the error with the column as its argument."""
    return DataError(argument=f"column {column!r}", rule=error.rule, remedy=error.remedy)
