# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Parquet, Arrow and Feather files, by pyarrow, which is imported only here and only when one is read."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dperm.checks import shown
from dperm.data.cells import as_classes, as_numbers
from dperm.data.columns import Numeric
from dperm.data.files import Declared, Progress, require_columns
from dperm.data.reading import Column
from dperm.data.schema import TargetSchema
from dperm.data.tables import column
from dperm.errors import DataError, ParameterError


@dataclass(frozen=True)
class ArrowFile:
    """A Parquet, Arrow or Feather file."""

    path: Path

    def types(self) -> dict[str, str]:
        """The names and types in the file's schema; neither values nor dictionaries are read."""
        with self._opened() as file:
            schema = file.schema
            require_columns(self.path, list(schema.names), {})
            return {field.name: _kind(field.type) for field in schema}

    def read(self, declared: Declared, progress: Progress) -> dict[str, Column]:
        """The declared columns, one after the other."""
        found: dict[str, Column] = {}
        with self._opened() as file:
            schema = file.schema
            require_columns(self.path, list(schema.names), declared)
            for place, (name, known) in enumerate(declared.items()):
                _require_kind(name, known, _kind(schema.field(name).type))
                found[name] = _checked(name, known, column({name: file.column(name)}, name))
                progress((place + 1) / len(declared))
        return found

    @contextmanager
    def _opened(self) -> "Iterator[_ParquetSource | _ArrowSource]":
        """The file; what pyarrow says about a damaged one is not repeated."""
        arrow = _pyarrow("pyarrow")
        self.path.open("rb").close()  # a file that is not there is the file system's to name
        try:
            if self.path.suffix.lower() in (".parquet", ".pq"):
                yield _ParquetSource(_pyarrow("pyarrow.parquet").ParquetFile(self.path))
            else:
                yield _ArrowSource(self.path)
        except (arrow.ArrowException, OSError):
            kind = self.path.suffix.lower()[1:]
            raise DataError(f"{self.path} cannot be read as {kind}: it is something else, or damaged.") from None


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
    """An Arrow or Feather file, or a stream in a file; it is opened again for each column, and mapped, not read."""

    path: Path

    @property
    def schema(self) -> Any:
        return self._reader().schema

    def column(self, name: str) -> Any:
        return self._reader([self.schema.get_field_index(name)]).read_all().column(0)

    def _reader(self, fields: list[int] | None = None) -> Any:
        ipc, source = _pyarrow("pyarrow.ipc"), _pyarrow("pyarrow").memory_map(str(self.path))
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        opened = ipc.open_file if is_file else ipc.open_stream
        return opened(source, options=ipc.IpcReadOptions(included_fields=fields))


def _pyarrow(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ParameterError(
            "Parquet, Arrow and Feather files are read by pyarrow, which is not installed: pip install 'dperm[files]'. "
            "CSV files need nothing."
        ) from None


def _kind(found: Any) -> str:
    """What a type of Arrow holds, in a word."""
    types = _pyarrow("pyarrow.types")
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


def _checked(name: str, known: object, values: Column) -> Column:
    """The target as declared; other columns are the encoder's to check."""
    if not isinstance(known, TargetSchema):
        return values
    return as_numbers(name, values) if known.classes is None else as_classes(name, values, known.classes)
