# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Parquet, Arrow and Feather files. pyarrow is imported only here, when such a file is read or written."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from dperm.checks import shown
from dperm.data.byte_streams import Watch, file_state, pass_content, require_unchanged
from dperm.data.canonical import CanonicalBuilder, CanonicalColumn, canonical_column
from dperm.data.cells import as_classes, as_numbers
from dperm.data.columns import AnyColumn, Categorical, Numeric, Unseen
from dperm.data.diagnosis import Piece, require_declared
from dperm.data.files import Declared, Progress, require_columns
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column, column
from dperm.errors import DataError, ParameterError

PARQUET = (".parquet", ".pq")
ROWS = 2**16
"""Number of records in memory in the form of the file at a time, of one column."""


@dataclass(frozen=True)
class ArrowFile:
    """Parquet, Arrow or Feather file, read by `read_table`."""

    path: Path

    def types(self) -> dict[str, str]:
        """Return the names and types in the file's schema, without reading values or dictionaries."""
        require_pyarrow()
        with open(self.path, "rb") as file:
            schema = self._understood(lambda: self._source(file).schema)
        require_columns(self.path, list(schema.names), {})
        return type_kinds(schema)

    def read(
        self, declared: Declared, progress: Progress, watch: Watch | None = None, unseen: Unseen = "raise"
    ) -> dict[str, Column | CanonicalColumn]:
        """Return the declared columns, all from the same open file.

        Columns declared as canonical are of any type, and are returned in canonical form.

        A column of a type that does not fit its declaration is refused, also if ``unseen`` is "other".
        pyarrow reads from several places, so a file with ``watch`` is read twice. A change in between is refused.
        """
        found: dict[str, Column | CanonicalColumn] = {}
        with self._opened(watch) as (source, schema):
            require_columns(self.path, list(schema.names), declared)
            for place, (name, known) in enumerate(declared.items()):
                if not isinstance(known, TargetSchema) and known.canonical:
                    found[name] = self._understood(partial(_canonical, source, name))
                else:
                    _require_kind(name, known, _kind(schema.field(name).type))
                    values = self._understood(partial(source.column, name))
                    found[name] = _checked(name, known, column({name: values}, name), unseen)
                progress((place + 1) / len(declared))
        return found

    def read_raw(
        self, names: Iterable[str], progress: Progress, watch: Watch | None = None
    ) -> dict[str, CanonicalColumn]:
        """Return the columns of these names in canonical form, read some records at a time; see `read`."""
        wanted = list(names)
        found: dict[str, CanonicalColumn] = {}
        with self._opened(watch) as (source, schema):
            require_columns(self.path, list(schema.names), wanted)
            for place, name in enumerate(wanted):
                found[name] = self._understood(partial(_canonical, source, name))
                progress((place + 1) / len(wanted))
        return found

    def pieces(self, declared: Declared, progress: Progress) -> Iterator[Piece]:
        """Yield the declared cells of some records at a time, column by column."""
        with self._opened(None) as (source, schema):
            require_columns(self.path, list(schema.names), declared)
            for place, (name, known) in enumerate(declared.items()):
                _require_kind(name, known, _kind(schema.field(name).type))
                first, read = 1, partial(_require_valid, name, known)
                found = self._understood(partial(source.pieces, name))
                while (cells := self._understood(partial(next, found, None))) is not None:
                    yield Piece(range(first, first + len(cells)), name, cells, read)
                    first += len(cells)
                progress((place + 1) / len(declared))

    @contextmanager
    def _opened(self, watch: Watch | None) -> Iterator[tuple["_ParquetSource | _ArrowSource", Any]]:
        """Open the file, yield its reader and its schema, and refuse a change in between."""
        require_pyarrow()
        with open(self.path, "rb") as file:
            before = file_state(file)
            pass_content(file, watch)
            source = self._understood(lambda: self._source(file))
            yield source, self._understood(lambda: source.schema)
            require_unchanged(self.path, file, before)

    def _source(self, file: BinaryIO) -> "_ParquetSource | _ArrowSource":
        if self.path.suffix.lower() in PARQUET:
            return _ParquetSource(_pyarrow("pyarrow.parquet").ParquetFile(file))
        return _ArrowSource(file)

    def _understood(self, work: Callable[[], Any]) -> Any:
        """Return the result of ``work``; errors of pyarrow are neither repeated nor kept as a context."""
        arrow = _pyarrow("pyarrow")
        with suppress(arrow.ArrowException, OSError):
            return work()
        kind = self.path.suffix.lower()[1:]
        raise DataError(f"{self.path} cannot be read as {kind}: it is something else, or damaged.")


def _require_valid(name: str, known: AnyColumn | TargetSchema, cells: Any) -> None:
    """Raise DataError if a fit refuses some cells of a column."""
    require_declared(name, known, _checked(name, known, column({name: cells}, name), "raise"))


def _canonical(source: "_ParquetSource | _ArrowSource", name: str) -> CanonicalColumn:
    built = CanonicalBuilder()
    for piece in source.pieces(name):
        built.add(piece)
    return built.column()


@dataclass(frozen=True)
class _ParquetSource:
    file: Any

    @property
    def schema(self) -> Any:
        return self.file.schema_arrow

    def column(self, name: str) -> Any:
        return self.file.read(columns=[name]).column(name)

    def pieces(self, name: str) -> Iterator[Any]:
        """Yield a column as arrays of some records."""
        for batch in self.file.iter_batches(ROWS, columns=[name]):
            yield batch.column(name)


@dataclass(frozen=True)
class _ArrowSource:
    """Arrow or Feather file, or a stream in a file, with each column read separately.

    The file is not mapped into memory, because later writes would change checked values.
    """

    file: BinaryIO

    @property
    def schema(self) -> Any:
        return self._reader().schema

    def column(self, name: str) -> Any:
        return self._reader([self.schema.get_field_index(name)]).read_all().column(0)

    def pieces(self, name: str) -> Iterator[Any]:
        """Yield a column as arrays of some records."""
        is_file = self._is_file()
        reader = self._reader([self.schema.get_field_index(name)])
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        for batch in batches:
            column = batch.column(0)
            for start in range(0, len(column), ROWS):
                yield column.slice(start, ROWS)

    def _reader(self, fields: list[int] | None = None) -> Any:
        ipc = _pyarrow("pyarrow.ipc")
        opened = ipc.open_file if self._is_file() else ipc.open_stream
        return opened(self.file, options=ipc.IpcReadOptions(included_fields=fields))

    def _is_file(self) -> bool:
        self.file.seek(0)
        found = self.file.read(6) == b"ARROW1"
        self.file.seek(0)
        return found


def require_pyarrow() -> None:
    """Raise ParameterError if pyarrow is not installed."""
    _pyarrow("pyarrow")


def load_pyarrow(module: str = "pyarrow") -> Any:
    """Return pyarrow or one of its modules; raise ParameterError if it is not installed."""
    return _pyarrow(module)


def type_kinds(schema: Any) -> dict[str, str]:
    """Return "number", "text", "truth", "other", or "" for each column of an Arrow schema, by name."""
    return {field.name: _kind(field.type) for field in schema}


def declared_column(
    name: str, declared: AnyColumn | TargetSchema, values: Any, unseen: Unseen = "raise"
) -> Column | CanonicalColumn:
    """Return some cells of a column as `ArrowFile.read` returns them.

    Parameters
    ----------
    name
        Name of the column, for messages.
    declared
        Declaration of the column.
    values
        Arrow array.
    unseen
        See `ArrowFile.read`.

    Raises
    ------
    DataError
        If the type of the array does not fit the declaration, or a label breaks its rule.
    """
    if not isinstance(declared, TargetSchema) and declared.canonical:
        return canonical_column(values)
    _require_kind(name, declared, _kind(values.type))
    return _checked(name, declared, column({name: values}, name), unseen)


def as_bytes(columns: Mapping[str, list[Any]], path: Path) -> bytes:
    """Return a table as file content: Parquet or Arrow (also for Feather), by the suffix of ``path``."""
    arrow = _pyarrow("pyarrow")
    table, sink = arrow.table(dict(columns)), arrow.BufferOutputStream()
    if path.suffix.lower() in PARQUET:
        _pyarrow("pyarrow.parquet").write_table(table, sink)
    else:
        with _pyarrow("pyarrow.ipc").new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return bytes(sink.getvalue())


def _pyarrow(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ParameterError(
            "Parquet, Arrow and Feather files are read and written by pyarrow, which is not installed.",
            remedy="Run pip install 'dperm[files]', or use a CSV file.",
        ) from None


def _kind(found: Any) -> str:
    """Return "number", "text", "truth" or "other" for an Arrow type; "" for a type of missing values alone."""
    types = _pyarrow("pyarrow.types")
    if types.is_null(found):
        return ""
    if types.is_dictionary(found):
        return _kind(found.value_type)
    if types.is_boolean(found):
        return "truth"
    if types.is_integer(found) or types.is_floating(found) or types.is_decimal(found):
        return "number"
    text = types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)
    return "text" if text else "other"


def _require_kind(name: str, known: object, kind: str) -> None:
    """Check that the type of a column, which is public, fits its declaration."""
    numeric = isinstance(known, Numeric) or (isinstance(known, TargetSchema) and known.classes is None)
    if kind == "other":
        problem = f"column {shown(name)} must be of a type of numbers, text or truth values."
        raise DataError(problem, remedy="Convert dates first.")
    if numeric and kind == "text":
        raise DataError(f"column {shown(name)} must hold numbers, as it is declared, and its type in the file is text.")


def _without_empty_text(values: Column, known: Categorical) -> Column:
    """Make empty text missing, as in CSV files, unless it is a declared category."""
    if values.dtype == object and "" not in known.categories:
        values[values == ""] = None
    return values


def _checked(name: str, known: object, values: Column, unseen: Unseen) -> Column:
    """Return a column, with the target checked against its declaration. The encoder checks other columns."""
    if isinstance(known, Categorical):
        return _without_empty_text(values, known)
    if not isinstance(known, TargetSchema):
        return values
    if known.classes is None:
        return as_numbers(name, values, unseen)
    return as_classes(name, values, known.classes, unseen)
