# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Parquet, Arrow and Feather files. pyarrow is imported only here, when such a file is read or written."""

import importlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from dperm.checks import shown
from dperm.data.cells import as_classes, as_numbers
from dperm.data.columns import Categorical, Numeric, Unseen
from dperm.data.files import Declared, Progress, Watch, require_columns
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column, column
from dperm.errors import DataError, ParameterError

PARQUET = (".parquet", ".pq")
BLOCK = 2**20


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
        return {field.name: _kind(field.type) for field in schema}

    def read(
        self, declared: Declared, progress: Progress, watch: Watch | None = None, unseen: Unseen = "raise"
    ) -> dict[str, Column]:
        """Return the declared columns, all from the same open file.

        ``unseen`` changes nothing: a column of a type that does not fit its declaration is always refused.
        pyarrow reads from several places, so a file with ``watch`` is read twice. A change in between is refused.
        """
        require_pyarrow()
        found: dict[str, Column] = {}
        with open(self.path, "rb") as file:
            before = _state(file)
            _watched(file, watch)
            source = self._understood(lambda: self._source(file))
            schema = self._understood(lambda: source.schema)
            require_columns(self.path, list(schema.names), declared)
            for place, (name, known) in enumerate(declared.items()):
                _require_kind(name, known, _kind(schema.field(name).type))
                values = self._understood(partial(source.column, name))
                found[name] = _checked(name, known, column({name: values}, name))
                progress((place + 1) / len(declared))
            if _state(file) != before:
                problem = f"{self.path} was changed while it was read."
                raise DataError(problem, remedy="Try again when nobody writes to it.")
        return found

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


def _state(file: BinaryIO) -> tuple[int, int, int]:
    """Return inode, size and modification time, which change when a file is written."""
    found = os.fstat(file.fileno())
    return found.st_ino, found.st_size, found.st_mtime_ns


def _watched(file: BinaryIO, watch: Watch | None) -> None:
    """Pass the whole content to ``watch``, and return to the beginning."""
    while watch is not None and (block := file.read(BLOCK)):
        watch(block)
    file.seek(0)


@dataclass(frozen=True)
class _ParquetSource:
    file: Any

    @property
    def schema(self) -> Any:
        return self.file.schema_arrow

    def column(self, name: str) -> Any:
        return self.file.read(columns=[name]).column(0)


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

    def _reader(self, fields: list[int] | None = None) -> Any:
        ipc = _pyarrow("pyarrow.ipc")
        self.file.seek(0)
        is_file = self.file.read(6) == b"ARROW1"
        self.file.seek(0)
        opened = ipc.open_file if is_file else ipc.open_stream
        return opened(self.file, options=ipc.IpcReadOptions(included_fields=fields))


def require_pyarrow() -> None:
    """Raise ParameterError if pyarrow is not installed."""
    _pyarrow("pyarrow")


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


def _checked(name: str, known: object, values: Column) -> Column:
    """Return a column, with the target checked against its declaration. The encoder checks other columns."""
    if isinstance(known, Categorical):
        return _without_empty_text(values, known)
    if not isinstance(known, TargetSchema):
        return values
    return as_numbers(name, values) if known.classes is None else as_classes(name, values, known.classes)
