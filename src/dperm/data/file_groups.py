# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Row groups of files: Parquet row groups, Arrow record batches, blocks of .npy matrices, and whole CSV files.

A row group records identity, size and times of its file. It is refused if they differ before or after a read.
"""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from dperm.checks import shown
from dperm.data.arrow_files import PARQUET, load_pyarrow, type_kinds
from dperm.data.csv_files import CsvFile
from dperm.data.files import ARROW, CSV, checked_separator, require_columns
from dperm.data.group_cells import ArrowCells, GroupCells, MatrixCells, TextCells
from dperm.data.npy_files import NpyMatrix, npy_matrix
from dperm.data.row_groups import CellGroup
from dperm.errors import DataError, ParameterError

T = TypeVar("T")

NPY = ".npy"
FORMATS = ("parquet", "arrow", "csv", "npy")
BLOCK_ROWS = 2**17
"""Rows of a row group in a source without row groups of its own: a .npy file, or a table in memory."""
MOST_BATCH_GROUPS = 2**8
"""Largest number of row groups of an Arrow file; each has as many consecutive record batches as needed."""
_BUFFER = 2**14
"""Bytes that are read from a column of a Parquet file at a time."""


class FileState(NamedTuple):
    """Identity, size and times of a file: a file that is replaced or written to has another state."""

    size: int
    modified: int
    changed: int = -1
    number: int = -1


@dataclass(frozen=True)
class FileContents:
    """Columns and row groups of one file.

    Attributes
    ----------
    kinds
        Kind of each column: "number", "text", "truth", "other", or "" if unknown.
    groups
        Row groups, at least one.
    has_header_line
        Whether the names come from a line of text, which may be a record by mistake. Messages do not repeat it.
    """

    kinds: dict[str, str]
    groups: tuple[CellGroup, ...]
    has_header_line: bool = False


@dataclass(frozen=True)
class FileGroup(CellGroup):
    """Row group of a file.

    Attributes
    ----------
    id
        Public name of the row group.
    path
        File.
    state
        State of the file when the table was opened.
    """

    id: str
    path: Path
    state: FileState = field(repr=False)

    def cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        """Yield the cells; raise DataError if the file is missing or has changed, also while it was read."""
        with self._unchanged():
            yield from self._cells(names, rows)

    @abstractmethod
    def _cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        """Yield the cells of the file as it is."""

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        self._require_state()
        yield
        self._require_state()

    def _require_state(self) -> None:
        from dperm.data.passes import changed_group  # imports scipy

        if file_state(self.path) != self.state:
            raise changed_group(self.id)


@dataclass(frozen=True)
class ParquetGroup(FileGroup):
    """Row group of a Parquet file; None for a file without row groups."""

    number: int | None

    def _cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        if self.number is None:
            return
        parquet = load_pyarrow("pyarrow.parquet")
        footer, wanted = _parquet_footer(self.path, self.state), list(names)
        with parquet.ParquetFile(self.path, metadata=footer, buffer_size=_BUFFER, pre_buffer=False) as file:
            if rows is None:
                yield _arrow_cells(file.read_row_group(self.number, columns=wanted, use_threads=False), names)
                return
            for batch in file.iter_batches(rows, row_groups=[self.number], columns=wanted, use_threads=False):
                yield _arrow_cells(batch, names)


@dataclass(frozen=True)
class ArrowGroup(FileGroup):
    """Consecutive record batches of an Arrow or Feather file; None for all batches of a stream in a file."""

    batches: range | None

    def _cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        arrow = load_pyarrow()
        with _opened_arrow(self.path, names) as reader:
            found = reader if self.batches is None else map(reader.get_batch, self.batches)
            if rows is None:
                yield _arrow_cells(arrow.Table.from_batches(found, reader.schema), names)
                return
            for batch in found:
                for start in range(0, batch.num_rows, rows):
                    yield _arrow_cells(batch.slice(start, rows), names)


@dataclass(frozen=True)
class CsvGroup(FileGroup):
    """CSV file as one row group. Quoted cells may contain line ends, so the file is not cut."""

    has_header_line: ClassVar[bool] = True
    separator: str

    def _cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        for count, columns in CsvFile(self.path, self.separator).text_blocks(names):
            yield TextCells(columns, count)


@dataclass(frozen=True)
class NpyGroup(FileGroup):
    """Rows of a .npy file, from ``start`` up to ``stop``."""

    matrix_in_file: NpyMatrix = field(repr=False)
    start: int = field(repr=False)
    stop: int = field(repr=False)
    names: tuple[str, ...] = field(repr=False)

    def _cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        with open(self.path, "rb", buffering=0) as file:
            for start in range(self.start, self.stop, rows or BLOCK_ROWS):
                stop = min(start + (rows or BLOCK_ROWS), self.stop)
                yield MatrixCells(self.matrix_in_file.read(file, start, stop), self.names)


def file_state(path: Path) -> FileState:
    """Return the state of a file; all numbers are -1 if there is no readable file."""
    with suppress(OSError):
        found = os.stat(path)
        return FileState(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
    return FileState(-1, -1)


def column_names(width: int) -> tuple[str, ...]:
    """Return the names x0, x1, ... of the columns of an array."""
    return tuple(f"x{place}" for place in range(width))


def file_format(path: Path, requested: str | None) -> str:
    """Return the format of a file: the requested one, or that of the suffix of its name.

    Raises
    ------
    ParameterError
        If the format or the suffix is unknown.
    """
    if requested is not None:
        if requested not in FORMATS:
            rule = f"must be one of {', '.join(FORMATS)}, or None for the suffix of each file"
            raise ParameterError(argument="format", rule=rule, got=shown(requested))
        return requested
    suffix = path.suffix.lower()
    if path.name.lower().endswith(CSV):
        return "csv"
    if suffix in PARQUET:
        return "parquet"
    if suffix in ARROW:
        return "arrow"
    if suffix == NPY:
        return "npy"
    raise ParameterError(
        f"{path} must end in .parquet, .arrow, .feather, .npy or .csv, or in .csv with a compression:"
        f" {', '.join(CSV[1:])}.",
        remedy="Name the format of files without such a suffix: format='parquet', for example.",
    )


def file_contents(
    path: Path, name: str, *, format: str, separator: str = ",", wanted: Sequence[str] = ()
) -> FileContents:
    """Return the columns and row groups of a file, from its header alone.

    Parameters
    ----------
    path
        File.
    name
        Public name of the file, with which the ids of its row groups begin.
    format
        One of `FORMATS`.
    separator
        Separator of the cells of a CSV file, as in `dperm.data.files.table_file`.
    wanted
        Names of columns that the file must have; further ones are allowed.

    Raises
    ------
    DataError
        If the file is not of this format, has no columns or two columns of one name, or lacks a wanted column.
    ParameterError
        If the file does not exist or is no regular file, or pyarrow is needed and not installed.
    """
    if not path.is_file() or not os.access(path, os.R_OK):
        raise ParameterError(argument="source", rule="must name readable files", got=shown(str(path)))
    if format == "csv":
        return _csv(path, name, checked_separator(separator), wanted)
    readers = {"parquet": _parquet, "arrow": _arrow, "npy": _npy}
    return readers[format](path, name, wanted)


def _parquet(path: Path, name: str, wanted: Sequence[str]) -> FileContents:
    state = file_state(path)
    footer = _understood(path, "parquet", lambda: _parquet_footer(path, state))
    schema = _understood(path, "parquet", lambda: footer.schema.to_arrow_schema())
    numbers = range(footer.num_row_groups)
    groups = [ParquetGroup(f"{name}, row group {number}", path, state, number) for number in numbers]
    return _arrow_contents(path, schema, groups or [ParquetGroup(f"{name}, no row groups", path, state, None)], wanted)


def _arrow(path: Path, name: str, wanted: Sequence[str]) -> FileContents:
    state = file_state(path)

    def header() -> tuple[Any, int | None]:
        with _opened_arrow(path) as reader:
            return reader.schema, getattr(reader, "num_record_batches", None)

    schema, count = _understood(path, "arrow", header)
    if not count:
        empty = None if count is None else range(0)
        return _arrow_contents(path, schema, [ArrowGroup(name, path, state, empty)], wanted)
    step = -(-count // MOST_BATCH_GROUPS)
    groups = []
    for start in range(0, count, step):
        batches = range(start, min(start + step, count))
        part = f"record batch {start}" if len(batches) == 1 else f"record batches {start} to {batches[-1]}"
        groups.append(ArrowGroup(f"{name}, {part}", path, state, batches))
    return _arrow_contents(path, schema, groups, wanted)


def _arrow_contents(path: Path, schema: Any, groups: Sequence[FileGroup], wanted: Sequence[str]) -> FileContents:
    require_columns(path, list(schema.names), wanted)
    return FileContents(type_kinds(schema), tuple(groups))


def _csv(path: Path, name: str, separator: str, wanted: Sequence[str]) -> FileContents:
    state = file_state(path)
    return FileContents(CsvFile(path, separator).types(wanted), (CsvGroup(name, path, state, separator),), True)


def _npy(path: Path, name: str, wanted: Sequence[str]) -> FileContents:
    state, matrix = file_state(path), npy_matrix(path)
    names = column_names(matrix.columns)
    require_columns(path, list(names), wanted)
    groups = tuple(
        NpyGroup(f"{name}, block {place}", path, state, matrix, start, min(start + BLOCK_ROWS, matrix.rows), names)
        for place, start in enumerate(range(0, max(matrix.rows, 1), BLOCK_ROWS))
    )
    return FileContents(dict.fromkeys(names, "number"), groups)


@lru_cache(maxsize=8)
def _parquet_footer(path: Path, state: FileState) -> Any:
    """Return the metadata of a Parquet file, which may have thousands of row groups, parsed once."""
    return load_pyarrow("pyarrow.parquet").read_metadata(path)


@contextmanager
def _opened_arrow(path: Path, names: Sequence[str] | None = None) -> Iterator[Any]:
    """Open an Arrow file or a stream in a file; yield a reader of the named columns."""
    arrow, ipc = load_pyarrow(), load_pyarrow("pyarrow.ipc")
    with arrow.OSFile(os.fspath(path)) as file:
        opened = ipc.open_file if file.read(6) == b"ARROW1" else ipc.open_stream
        file.seek(0)
        options = {}
        if names is not None:
            schema = opened(file).schema
            file.seek(0)
            fields = [schema.get_field_index(name) for name in names]
            options = {"options": ipc.IpcReadOptions(included_fields=fields, use_threads=False)}
        yield opened(file, **options)


def _arrow_cells(found: Any, names: Sequence[str]) -> ArrowCells:
    return ArrowCells({name: found.column(name) for name in names}, found.num_rows)


def _understood(path: Path, format: str, work: Callable[[], T]) -> T:
    """Return the result of ``work``; errors of pyarrow are neither repeated nor kept as a context."""
    arrow = load_pyarrow()
    with suppress(arrow.ArrowException, OSError):
        return work()
    raise DataError(f"{path} cannot be read as {format}: it is something else, or damaged.")
