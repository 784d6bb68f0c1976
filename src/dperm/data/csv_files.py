# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""CSV files: UTF-8, separated by commas, with a header. Cells are read by what is declared, never by inference."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dperm.data.cells import Cells, cells_of
from dperm.data.files import Declared, Progress, require_columns
from dperm.data.reading import Column
from dperm.errors import DataError

ROWS = 2**13
"""Records that are in memory as text at a time."""
BUFFER = 2**20
Rows = Iterator[list[str]]


@dataclass(frozen=True)
class CsvFile:
    """A CSV file."""

    path: Path

    def types(self) -> dict[str, str]:
        """The names in the header line; nothing below it is read, so the types are unknown."""
        with open(self.path, "rb") as file, self._understood():
            names = self._header(csv.reader(map(_line, file), strict=True))
        require_columns(self.path, names, {})
        return dict.fromkeys(names, "")

    def read(self, declared: Declared, progress: Progress) -> dict[str, Column]:
        """The declared columns, some records at a time."""
        with self._records() as (source, records), self._understood():
            names = self._header(records)
            require_columns(self.path, names, declared)
            wanted = {name: (names.index(name), cells_of(column)) for name, column in declared.items()}
            pieces: dict[str, list[Column]] = {name: [] for name in declared}
            for rows in self._pieces(records, len(names)):
                _read_piece(rows, wanted, pieces)
                progress(source.share)
        return {name: _joined(found) for name, found in pieces.items()}

    @contextmanager
    def _records(self) -> "Iterator[tuple[_Source, Rows]]":
        """The records of the file, and what knows how much of it was read."""
        with open(self.path, "rb", buffering=0) as file:
            source = _Source(file, self.path.stat().st_size)
            text = io.TextIOWrapper(io.BufferedReader(source, BUFFER), encoding="utf-8-sig", newline="")
            try:
                yield source, csv.reader(text, strict=True)
            finally:
                text.detach()  # or it would close the file a second time, after an error

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Say what is wrong with a file as CSV, without its content."""
        try:
            yield
        except UnicodeDecodeError:
            raise DataError(f"{self.path} must be UTF-8 text. Save it as UTF-8.") from None
        except _NulError:
            raise DataError(f"{self.path} must be UTF-8 text without NUL bytes (UTF-16 has them).") from None
        except csv.Error:
            raise DataError(
                f"{self.path} must be CSV: cells with commas, quotes or line ends inside stand in double quotes, a "
                f'quote inside them is doubled (""), every quote is closed, and no cell is longer than '
                f"{csv.field_size_limit()} characters."
            ) from None

    def _header(self, records: Rows) -> list[str]:
        names = next((row for row in records if row), None)
        if names is None:
            raise DataError(f"{self.path} is empty: it must begin with a line of column names.")
        return names

    def _pieces(self, records: Rows, width: int) -> Iterator[list[list[str]]]:
        """Some records at a time, all as wide as the header; empty lines are no records."""
        while rows := list(islice(records, ROWS)):
            widths = set(map(len, rows))
            if widths - {0, width}:
                raise DataError(
                    f"{self.path} must have as many cells in every record as there are names in its header."
                )
            kept = [row for row in rows if row] if 0 in widths else rows
            if kept:
                yield kept


def _read_piece(rows: list[list[str]], wanted: dict[str, tuple[int, Cells]], pieces: dict[str, list[Column]]) -> None:
    """Read the declared cells of some records, column by column."""
    for name, (place, cells) in wanted.items():
        pieces[name].append(cells.read(name, [row[place] for row in rows]))


def _line(line: bytes) -> str:
    """One line of a header, without the mark that some programs begin a file with."""
    if b"\0" in line:
        raise _NulError
    return line.decode("utf-8-sig")


def _joined(pieces: list[Column]) -> Column:
    whole: Any = np.concatenate(pieces) if pieces else np.empty(0)
    return whole  # type: ignore[no-any-return]


class _NulError(Exception):
    """The file has a NUL byte."""


class _Source(io.RawIOBase):
    """The bytes of a file, without NULs; knows which share of them was read."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file, self._size, self._done = file, size, 0

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(1.0, self._done / self._size) if self._size else 1.0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class says bytes-like
        """Fill the buffer from the file."""
        count = self._file.readinto(buffer) or 0
        if b"\0" in bytes(buffer[:count]):
            raise _NulError
        self._done += count
        return count
