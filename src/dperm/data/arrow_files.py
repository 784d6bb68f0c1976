# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Parquet, Arrow and Feather files, by pyarrow, which is imported only here and only when one is read."""

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
from dperm.data.columns import Categorical, Numeric
from dperm.data.files import Declared, Progress, Watch, require_columns
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column, column
from dperm.errors import DataError, ParameterError

PARQUET = (".parquet", ".pq")
BLOCK = 2**20


@dataclass(frozen=True)
class ArrowFile:
    """A Parquet, Arrow or Feather file."""

    path: Path

    def types(self) -> dict[str, str]:
        """The names and types in the file's schema; neither values nor dictionaries are read."""
        require_pyarrow()
        with open(self.path, "rb") as file:
            schema = self._understood(lambda: self._source(file).schema)
        require_columns(self.path, list(schema.names), {})
        return {field.name: _kind(field.type) for field in schema}

    def read(self, declared: Declared, progress: Progress, watch: Watch | None = None) -> dict[str, Column]:
        """The declared columns, one after the other, all from the file that was opened first.

        To be watched the file is read twice, and a change in between is refused. pyarrow reads from several places.
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
                raise DataError(f"{self.path} was changed while it was read. Try again when nobody writes to it.")
        return found

    def _source(self, file: BinaryIO) -> "_ParquetSource | _ArrowSource":
        if self.path.suffix.lower() in PARQUET:
            return _ParquetSource(_pyarrow("pyarrow.parquet").ParquetFile(file))
        return _ArrowSource(file)

    def _understood(self, work: Callable[[], Any]) -> Any:
        """What ``work`` returns; what pyarrow says about a damaged file is not repeated, nor kept as a context."""
        arrow = _pyarrow("pyarrow")
        with suppress(arrow.ArrowException, OSError):
            return work()
        kind = self.path.suffix.lower()[1:]
        raise DataError(f"{self.path} cannot be read as {kind}: it is something else, or damaged.")


def _state(file: BinaryIO) -> tuple[int, int, int]:
    """What tells that a file was written to."""
    found = os.fstat(file.fileno())
    return found.st_ino, found.st_size, found.st_mtime_ns


def _watched(file: BinaryIO, watch: Watch | None) -> None:
    """Show the whole content to ``watch``, and go back to the beginning."""
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
    """An Arrow or Feather file, or a stream in a file, from which each column is read by itself.

    It is not mapped into memory: what is written to the file later must not change what was checked.
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
    """Refuse if pyarrow is not installed."""
    _pyarrow("pyarrow")


def as_bytes(columns: Mapping[str, list[Any]], path: Path) -> bytes:
    """A table as the content of a file of this name: Parquet, or Arrow (which Feather is)."""
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
            "Parquet, Arrow and Feather files are read and written by pyarrow, which is not installed: pip install "
            "'dperm[files]'. CSV files need nothing."
        ) from None


def _kind(found: Any) -> str:
    """What a type of Arrow holds, in a word; none if it holds gaps alone, as whatever is declared may do."""
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
    """Refuse a column by its type alone, which is public."""
    numeric = isinstance(known, Numeric) or (isinstance(known, TargetSchema) and known.classes is None)
    if kind == "other":
        raise DataError(
            f"column {shown(name)} must be of a type of numbers, text or truth values. Convert dates first."
        )
    if numeric and kind == "text":
        raise DataError(f"column {shown(name)} must hold numbers, as it is declared, and its type in the file is text.")


def _without_empty_text(values: Column, known: Categorical) -> Column:
    """Empty text is missing, as an empty cell of a CSV file is, unless it is declared."""
    if values.dtype == object and "" not in known.categories:
        values[values == ""] = None
    return values


def _checked(name: str, known: object, values: Column) -> Column:
    """The target as declared; other columns are the encoder's to check."""
    if isinstance(known, Categorical):
        return _without_empty_text(values, known)
    if not isinstance(known, TargetSchema):
        return values
    return as_numbers(name, values) if known.classes is None else as_classes(name, values, known.classes)
