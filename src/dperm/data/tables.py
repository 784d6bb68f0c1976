# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables with named columns: pandas, polars, Arrow, or a mapping of names to one-dimensional arrays.

They are known by what they can do; none of their libraries is imported. Names of columns are public, and messages
repeat them; of what is in a column they say nothing but the rule.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.reading import Column, read
from dperm.errors import DataError, ParameterError

_Labels = Sequence[object]
_Fetch = Callable[[int], object]


# Methods only: to look for polars's `columns` would run a lazy query.
@runtime_checkable
class _Pandas(Protocol):
    iloc: Any

    def itertuples(self) -> Any: ...


@runtime_checkable
class _Polars(Protocol):
    def to_series(self, index: int) -> object: ...

    def get_column_index(self, name: str) -> int: ...


@runtime_checkable
class _Arrow(Protocol):
    def column(self, i: int) -> object: ...

    def to_pydict(self) -> Any: ...


def is_table(x: object) -> bool:
    """Whether ``x`` has named columns that can be read."""
    return isinstance(x, Mapping | _Pandas | _Polars | _Arrow)


def column_names(table: object) -> tuple[str, ...]:
    """The names of the columns, in order."""
    return tuple(str(label) for label in _parts(table)[0])


def column(table: object, name: str) -> Column:
    """One column: doubles (NaN where something is missing), or objects if there is text (None where it is missing).

    Raises
    ------
    DataError
        If there is no such column or more than one, or if it holds anything but numbers, truth values and text.
    """
    return next(columns(table, [name]))


def columns(table: object, names: Iterable[str]) -> Iterator[Column]:
    """The columns of these names, one after the other, each as `column` reads it; all have the same length."""
    labels, fetch = _parts(table)
    places: dict[object, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    return _all_read((name, fetch(_only_place(name, places.get(name, [])))) for name in names)


def numeric_matrix(table: object) -> tuple[Floats, tuple[str, ...]]:
    """All columns side by side as doubles, and their names; True and False are 1 and 0, something missing is NaN.

    Raises
    ------
    DataError
        If a column holds text, or anything else that is not a number.
    """
    names, (labels, fetch) = column_names(table), _parts(table)
    if not labels:
        raise DataError("the table must have at least one column.")
    read_columns = _all_read((name, fetch(place)) for place, name in enumerate(names))
    matrix = np.empty((0, 0))
    for place, (name, values) in enumerate(zip(names, read_columns, strict=True)):
        if place == 0:
            matrix = np.empty((len(values), len(names)))
        matrix[:, place] = _numbers(name, values)
    return matrix, names


def _parts(table: Any) -> tuple[_Labels, _Fetch]:
    """The labels of the columns, and what fetches the column at a place."""
    if isinstance(table, Mapping):
        return list(table), list(table.values()).__getitem__
    if isinstance(table, _Pandas):
        return list(table.columns), lambda place: table.iloc[:, place]  # type: ignore[attr-defined]
    if isinstance(table, _Polars):
        return list(table.columns), table.to_series  # type: ignore[attr-defined]
    if isinstance(table, _Arrow):
        return list(table.schema.names), table.column  # type: ignore[attr-defined]
    raise ParameterError(
        "X must be a table with named columns: a data frame of pandas or polars (a lazy one collected first), an Arrow "
        f"table, or a mapping of names to one-dimensional arrays, got an object of type {type(table).__name__}."
    )


def _only_place(name: str, places: list[int]) -> int:
    if len(places) != 1:
        rule = "must have a column" if not places else "must have only one column"
        raise DataError(f"the table {rule} named {shown(name)}.")
    return places[0]


def _all_read(found: Iterable[tuple[str, object]]) -> Iterator[Column]:
    length = None
    for name, values in found:
        result = read(values)
        if result is None:
            raise DataError(
                f"column {shown(name)} must hold numbers, truth values or text, one for each record. Convert other "
                "values first, such as dates to days since a public date."
            )
        if length is not None and len(result) != length:
            raise DataError("all columns of the table must have the same length.")
        length = len(result)
        yield result


def _numbers(name: str, values: Column) -> Floats:
    if values.dtype == object:
        raise DataError(
            f"column {shown(name)} must hold numbers, and has text or categories. Declare its public categories in "
            f"dperm.sklearn.PublicTableEncoder, {{{shown(name)}: Categorical([...])}}, before the model, or leave the "
            f"column out."
        )
    return np.asarray(values, dtype=np.float64)
