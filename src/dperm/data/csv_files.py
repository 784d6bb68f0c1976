# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""CSV files in UTF-8, separated by commas, with a header. Declared types alone decide how cells are read."""

import csv
import io
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from dperm.data.cells import CellReader, cell_reader
from dperm.data.columns import Unseen
from dperm.data.files import Declared, Progress, Watch, require_columns
from dperm.data.tables import Column
from dperm.errors import DataError

ROWS = 2**13
"""Number of records in memory as text at a time."""
BUFFER = 2**20
BLOCK = 2**12
LONGEST_HEADER = 2**22
"""Largest length of the header line, so that a file without line ends cannot fill the memory."""
Rows = Iterator[list[str]]
Result = TypeVar("Result")


class NulError(Exception):
    """Raised for a file with a NUL byte."""


class WatchedBytes(io.RawIOBase):
    """Byte stream of a file without NUL bytes, which shows each block to ``watch`` and counts the bytes read."""

    def __init__(self, file: io.FileIO, watch: Watch | None = None) -> None:
        self._file, self._watch, self._done = file, watch, 0
        self._size = os.fstat(file.fileno()).st_size

    @property
    def share(self) -> float:
        """Share of the file that was read, from 0 to 1."""
        return min(1.0, self._done / self._size) if self._size else 1.0

    def readable(self) -> bool:
        """Return True, as `io.BufferedReader` requires."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class says bytes-like
        """Fill the buffer from the file, and return the number of bytes."""
        count = self._file.readinto(buffer) or 0
        block = without_nul(bytes(buffer[:count]))
        if self._watch is not None:
            self._watch(block)
        self._done += count
        return count


def without_nul(block: bytes) -> bytes:
    """Return ``block``; raise NulError if it contains a NUL byte."""
    if b"\0" in block:
        raise NulError
    return block


@dataclass(frozen=True)
class CsvFile:
    """CSV file with a header, read by `read_table`."""

    path: Path

    def types(self) -> dict[str, str]:
        """Return the names in the header line, with unknown types; nothing below it is decoded."""
        with open(self.path, "rb") as file:
            names = self._understood(lambda: self._names(without_nul(_first_line(file)).decode()))
        require_columns(self.path, names, {})
        return dict.fromkeys(names, "")

    def read(
        self, declared: Declared, progress: Progress, watch: Watch | None = None, unseen: Unseen = "raise"
    ) -> dict[str, Column]:
        """Return the declared columns, read some records at a time."""
        with self._opened(watch) as (source, text):
            return self._understood(lambda: self._read(source, text, declared, progress, unseen))

    def _read(
        self, source: WatchedBytes, text: io.TextIOWrapper, declared: Declared, progress: Progress, unseen: Unseen
    ) -> dict[str, Column]:
        names = self._names(_first_text(text))
        require_columns(self.path, names, declared)
        wanted = {name: (names.index(name), cell_reader(column, unseen)) for name, column in declared.items()}
        pieces: dict[str, list[Column]] = {name: [] for name in declared}
        for rows in self._pieces(csv.reader(text, strict=True), len(names)):
            _read_piece(rows, wanted, pieces)
            progress(source.share)
        return {name: _joined(found) for name, found in pieces.items()}

    @contextmanager
    def _opened(self, watch: Watch | None) -> Iterator[tuple[WatchedBytes, io.TextIOWrapper]]:
        """Open the file, and yield its bytes and its text."""
        with open(self.path, "rb", buffering=0) as file:
            source = WatchedBytes(file, watch)
            text = io.TextIOWrapper(io.BufferedReader(source, BUFFER), encoding="utf-8-sig", newline="")
            try:
                yield source, text
            finally:
                text.detach()  # or it would close the file a second time, after an error

    def _understood(self, work: Callable[[], Result]) -> Result:
        """Return the result of ``work``, with errors about the format replaced by a DataError without content.

        The DataError is raised outside the ``except`` block: the original error, as its context, would keep a part
        of the file.
        """
        try:
            return work()
        except UnicodeDecodeError:
            rule = "UTF-8 text. Save it as UTF-8."
        except NulError:
            rule = "UTF-8 text without NUL bytes (UTF-16 has them)."
        except csv.Error:
            rule = (
                "CSV: cells with commas, quotes or line ends inside stand in double quotes, a quote inside them is "
                'doubled (""), every quote is closed (in the header, on its line), and no cell is longer than '
                f"{csv.field_size_limit()} characters."
            )
        raise DataError(f"{self.path} must be {rule}")

    def _names(self, line: str) -> list[str]:
        """Return the names in the header line. An open quote in it does not swallow a record."""
        if not line:
            raise DataError(f"{self.path} must begin with a line of column names, and it is empty.")
        return next(csv.reader([line], strict=True))

    def _pieces(self, records: Rows, width: int) -> Iterator[list[list[str]]]:
        """Yield some records at a time, all as wide as the header.

        Empty lines are skipped. In a file with one column they are missing values.
        """
        while rows := list(islice(records, ROWS)):
            widths = set(map(len, rows))
            if widths - {0, width}:
                raise DataError(
                    f"{self.path} must have as many cells in every record as there are names in its header."
                )
            if 0 in widths:
                rows = [row or [""] for row in rows] if width == 1 else [row for row in rows if row]
            if rows:
                yield rows


def _first_line(file: BinaryIO) -> bytes:
    """Return the first nonempty line without its end (CR, LF or both), as `io.TextIOWrapper` would read it."""
    found = bytearray(file.read(len(BOM_UTF8)).removeprefix(BOM_UTF8))
    while block := file.read(BLOCK):
        found += block
        if not (found := found.lstrip(b"\r\n")):
            continue
        if end := re.search(rb"[\r\n]", found):
            return bytes(found[: end.start()])
        _require_short(found)
    return bytes(found.rstrip(b"\r\n"))


def _first_text(text: io.TextIOWrapper) -> str:
    """Return the first nonempty line of a text stream, without its end."""
    while line := text.readline(LONGEST_HEADER + 1):
        _require_short(line)
        if found := line.strip("\r\n"):
            return found
    return ""


def _require_short(line: bytearray | str) -> None:
    if len(line) > LONGEST_HEADER:
        raise csv.Error


def _read_piece(
    rows: list[list[str]], wanted: dict[str, tuple[int, CellReader]], pieces: dict[str, list[Column]]
) -> None:
    """Read the declared cells of some records, and append them to ``pieces`` by column."""
    for name, (place, cells) in wanted.items():
        pieces[name].append(cells.read(name, [row[place] for row in rows]))


def _joined(pieces: list[Column]) -> Column:
    whole: Any = np.concatenate(pieces) if pieces else np.empty(0)
    return whole  # type: ignore[no-any-return]
