# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables with named columns: pandas, polars, Arrow, or a mapping of names to one-dimensional arrays.

Tables are recognized by their methods; none of their libraries is imported. Column names are public, and messages
repeat them. About the contents of a column, messages state only the rule.

Each record is read on its own. Integers may have become doubles because another record has a gap, or objects because
another record is text; neither changes how a record is read.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.errors import DataError, ParameterError

Texts = NDArray[np.object_]
"""Strings, floats, and None for missing values."""
Column = Floats | Texts
"""One column of a table: doubles with NaN for missing values, or objects if there is text."""

COMPUTE = "Compute the object, if the records fit into memory."
READ_FILES = "Read the files with pandas or pyarrow, if the records fit into memory, and pass their columns."
"""Remedies for data larger than memory in a function that needs all records at once: of Dask, and in row groups."""
_LARGE = {"dask": "Dask", "dask_expr": "Dask", "dperm.data.large_tables": "", "dperm.data.encoded_table": ""}
"""Modules of data larger than memory, and the library that they belong to."""
GAPS = {"NoneType", "NAType", "NaTType"}
"""Type names of missing values. Those of pandas are compared by name, since pandas is not imported here."""
_NUMBERS, _ITEMS = "biuf", "OUT"
"""Kinds of numpy arrays of numbers, and of arrays read item by item. Dates, bytes and complex are neither."""

_Labels = Sequence[object]
_Fetch = Callable[[int], object]


# Methods only: looking for polars's `columns` would run a lazy query.
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


@runtime_checkable
class _Chunked(Protocol):
    """Arrow array stored in chunks."""

    num_chunks: int

    def iterchunks(self) -> Iterable[object]: ...


def require_in_memory(value: object, *, argument: str = "X", remedy: str = COMPUTE, of_files: str = READ_FILES) -> None:
    """Raise ParameterError for an object of Dask or a table in row groups. Nothing is read or computed.

    Parameters
    ----------
    value
        Argument of the user.
    argument
        Its name.
    remedy, of_files
        Remedies for an object of Dask, and for a table in row groups.
    """
    module = type(value).__module__
    library = _LARGE.get(module, _LARGE.get(module.partition(".")[0]))
    if library is not None:
        got = f"an object of {library}" if library else "a table in row groups"
        raise ParameterError(
            argument=argument, rule="must be in memory here", got=got, remedy=remedy if library else of_files
        )


def is_table(x: object) -> bool:
    """Whether ``x`` is a table of a supported library, or a mapping."""
    return isinstance(x, Mapping | _Pandas | _Polars | _Arrow)


def column_names(table: object) -> tuple[str, ...]:
    """Return the column names in order, as text.

    Raises
    ------
    ParameterError
        If ``table`` is not a table.
    """
    return tuple(str(label) for label in _parts(table)[0])


def column(table: object, name: str) -> Column:
    """Return one column, as `read_column` reads it.

    Raises
    ------
    DataError
        If there is no such column or more than one, or if it holds anything but numbers, truth values and text.
    """
    return next(columns(table, [name]))


def columns(table: object, names: Iterable[str]) -> Iterator[Column]:
    """Yield the columns of these names, all of the same length, with the errors of `column`."""
    wanted = list(names)
    return _all_read(zip(wanted, raw_columns(table, wanted), strict=True))


def raw_columns(table: object, names: Iterable[str]) -> Iterator[object]:
    """Yield the columns of these names as the table holds them.

    Names are compared as text, as `column_names` returns them: a data frame may number its columns.

    Raises
    ------
    DataError
        If there is no such column, or more than one.
    """
    labels, fetch = _parts(table)
    places: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(str(label), []).append(place)
    return (fetch(_only_place(name, places.get(name, []))) for name in names)


def named_columns(X: Any) -> dict[str, object]:
    """Return the columns of a table or of a two-dimensional array by name, not copied and not converted.

    Columns of an array are named x0, x1 and so on. Lists of rows become arrays of objects: numpy would turn all numbers
    into text because of one text, so that one record would change how the others are read.

    Raises
    ------
    DataError
        If ``X`` has another number of dimensions, is masked or sparse, or if two columns have the same name.
    """
    require_in_memory(X)
    if is_table(X):
        names, (_, fetch) = column_names(X), _parts(X)
        if len(set(names)) < len(names):
            raise DataError("the columns of the table must have different names.")
        return {name: fetch(place) for place, name in enumerate(names)}
    array = _rows_as_array(X)
    if array is None or array.ndim != 2 or isinstance(array, np.ma.MaskedArray):
        raise DataError("X must be a table, or a dense array with a row for each record and no mask.")
    return {f"x{place}": array[:, place] for place in range(array.shape[1])}


def _rows_as_array(X: Any) -> NDArray[Any] | None:
    if isinstance(X, np.ndarray):
        return X
    if not isinstance(X, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in X):
        return None
    rows = [list(row) for row in X]
    if len({len(row) for row in rows}) != 1:
        return None
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for place, row in enumerate(rows):
        for column, cell in enumerate(row):  # at once, numpy would look into a cell that is a sequence
            array[place, column] = cell
    return array


def numeric_matrix(table: object) -> tuple[Floats, tuple[str, ...]]:
    """Return all columns as a matrix of doubles, and their names.

    True and False are 1 and 0; missing values are NaN.

    Raises
    ------
    DataError
        If there is no column, or one holds text or anything else but numbers.
    """
    names, (labels, fetch) = column_names(table), _parts(table)
    if not labels:
        raise DataError("the table must have at least one column.")
    read_columns = _all_read((name, fetch(place)) for place, name in enumerate(names))
    matrix = np.empty((0, 0))
    for place, (name, values) in enumerate(zip(names, read_columns, strict=True)):
        if place == 0:
            matrix = np.empty((len(values), len(names)))
        matrix[:, place] = _require_numbers(name, values)
    return matrix, names


def read_column(values: object) -> Column | None:
    """Return one column as doubles or, if it contains text, as strings, floats and None.

    Parameters
    ----------
    values
        One-dimensional list, array, series or Arrow column.

    Returns
    -------
    Column or None
        Doubles with NaN for missing values; objects with None for missing values if there is text. None if ``values``
        is not one-dimensional, or holds anything but numbers, truth values (0 and 1), text and missing values. Errors
        on the way are dropped, since they might show a value.
    """
    try:
        return _column(as_array(values))
    except MemoryError:
        raise
    except Exception:
        return None


def _parts(table: Any) -> tuple[_Labels, _Fetch]:
    """Return the column labels, and a function that returns the column at a place."""
    require_in_memory(table)
    if isinstance(table, Mapping):
        labels = list(table)
        return labels, lambda place: table[labels[place]]  # one at a time: a part of a table is cut column by column
    if isinstance(table, _Pandas):
        return list(table.columns), lambda place: table.iloc[:, place]  # type: ignore[attr-defined]
    if isinstance(table, _Polars):
        return list(table.columns), table.to_series  # type: ignore[attr-defined]
    if isinstance(table, _Arrow):
        return list(table.schema.names), table.column  # type: ignore[attr-defined]
    raise ParameterError(
        argument="X",
        rule="must be a table with named columns: a pandas or polars data frame (a lazy one collected first), an "
        "Arrow table, or a mapping of names to one-dimensional arrays",
        got=f"an object of type {type(table).__name__}",
    )


def _only_place(name: str, places: list[int]) -> int:
    if len(places) != 1:
        rule = "must have a column" if not places else "must have only one column"
        raise DataError(f"the table {rule} named {shown(name)}.")
    return places[0]


def _all_read(found: Iterable[tuple[str, object]]) -> Iterator[Column]:
    length = None
    for name, values in found:
        result = read_column(values)
        if result is None:
            raise DataError(
                f"column {shown(name)} must hold numbers, truth values or text, one for each record.",
                remedy="Convert other values first, such as dates to days since a public date.",
            )
        if length is not None and len(result) != length:
            raise DataError("all columns of the table must have the same length.")
        length = len(result)
        yield result


def _require_numbers(name: str, values: Column) -> Floats:
    if values.dtype == object:
        raise DataError(
            f"column {shown(name)} must hold numbers, and has text or categories.",
            remedy=f"Declare its public categories in dperm.sklearn.PublicTableEncoder, {{{shown(name)}: "
            "Categorical([...])}, before the model, or leave the column out; for a table in row groups by "
            "table(..., columns=[...]) or select.",
        )
    return np.asarray(values, dtype=np.float64)


def as_array(values: object) -> NDArray[Any]:
    """Return one column as a numpy array, with missing entries of masked and Arrow arrays kept."""
    if isinstance(values, _Chunked):
        # Chunk by chunk: as a whole, pyarrow fills the gaps of a dictionary with its last entry.
        chunks = [np.asarray(chunk) for chunk in values.iterchunks()]
        return np.concatenate(chunks) if chunks else np.empty(0, dtype=bool)
    if isinstance(values, list | tuple):
        return _objects(list(values))
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in _NUMBERS + _ITEMS:
        return _objects(values.tolist())  # None for masked entries
    return np.asarray(values)


def _column(array: NDArray[Any]) -> Column | None:
    if array.ndim != 1 or array.dtype.kind not in _NUMBERS + _ITEMS:
        return None
    if array.dtype.kind in _ITEMS:
        return _read_items(array.tolist())
    with np.errstate(over="ignore"):  # beyond doubles is infinite
        return array.astype(np.float64, copy=False)


def _read_items(items: list[Any]) -> Column | None:
    kinds = set(map(type, items))
    if str in kinds and kinds <= {str, type(None)}:  # the same result as below, faster
        return _objects(items)
    readers = {kind: _reader(kind) for kind in kinds}
    if None in readers.values():
        return None
    found = [readers[type(item)](item) for item in items]  # type: ignore[misc]  # none is None
    return _objects(found) if any(issubclass(kind, str) for kind in kinds) else np.array(found, dtype=np.float64)


def _reader(kind: type) -> Callable[[Any], str | float | None] | None:
    """Return the reader for items of a type; None if such items are refused."""
    if kind.__name__ in GAPS:
        return lambda gap: None
    if issubclass(kind, str):
        return str.__str__  # the text itself, also of an Enum
    return _number if issubclass(kind, Real | Decimal | np.bool_) else None


def _number(item: Any) -> float | None:
    try:
        number = float(item)
    except OverflowError:  # beyond doubles is infinite
        number = math.inf if item > 0 else -math.inf
    return None if math.isnan(number) else number


def _objects(items: list[Any]) -> Texts:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
