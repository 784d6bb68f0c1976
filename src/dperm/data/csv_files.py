# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""CSV files: UTF-8, separated by commas, with a header. Cells are read by what is declared, never by inference."""

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from dperm.data.cells import Cells, cells_of
from dperm.data.csv_source import NulError, Source, without_nul
from dperm.data.files import Declared, Progress, Watch, require_columns
from dperm.data.reading import Column
from dperm.errors import DataError

ROWS = 2**13
"""Records that are in memory as text at a time."""
BUFFER = 2**20
BLOCK = 2**12
LONGEST_HEADER = 2**22
"""Length of the line of names, at most: a file without line ends shall not fill the memory."""
Rows = Iterator[list[str]]
Result = TypeVar("Result")


@dataclass(frozen=True)
class CsvFile:
    """A CSV file."""

    path: Path

    def types(self) -> dict[str, str]:
        """The names in the header line; nothing below it is decoded, so the types are unknown."""
        with open(self.path, "rb") as file:
            names = self._understood(lambda: self._names(without_nul(_first_line(file)).decode()))
        require_columns(self.path, names, {})
        return dict.fromkeys(names, "")

    def read(self, declared: Declared, progress: Progress, watch: Watch | None = None) -> dict[str, Column]:
        """The declared columns, some records at a time."""
        with self._opened(watch) as (source, text):
            return self._understood(lambda: self._read(source, text, declared, progress))

    def _read(
        self, source: Source, text: io.TextIOWrapper, declared: Declared, progress: Progress
    ) -> dict[str, Column]:
        names = self._names(_first_text(text))
        require_columns(self.path, names, declared)
        wanted = {name: (names.index(name), cells_of(column)) for name, column in declared.items()}
        pieces: dict[str, list[Column]] = {name: [] for name in declared}
        for rows in self._pieces(csv.reader(text, strict=True), len(names)):
            _read_piece(rows, wanted, pieces)
            progress(source.share)
        return {name: _joined(found) for name, found in pieces.items()}

    @contextmanager
    def _opened(self, watch: Watch | None) -> Iterator[tuple[Source, io.TextIOWrapper]]:
        """The text of the file, and what knows how much of it was read."""
        with open(self.path, "rb", buffering=0) as file:
            source = Source(file, watch)
            text = io.TextIOWrapper(io.BufferedReader(source, BUFFER), encoding="utf-8-sig", newline="")
            try:
                yield source, text
            finally:
                text.detach()  # or it would close the file a second time, after an error

    def _understood(self, work: Callable[[], Result]) -> Result:
        """What ``work`` returns; what is wrong with a file as CSV is said without its content.

        The error is raised after the one that it stems from was forgotten: as its context that would keep a part of
        the file.
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
        """The names in the header, which is one line: a quote that is not closed in it takes in no record."""
        if not line:
            raise DataError(f"{self.path} is empty: it must begin with a line of column names.")
        return next(csv.reader([line], strict=True))

    def _pieces(self, records: Rows, width: int) -> Iterator[list[list[str]]]:
        """Some records at a time, all as wide as the header.

        Empty lines are no records, but where there is one column: there they are how a missing value is written.
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
    """The first line that is not empty, without its end: a CR, an LF, or both, as for `io.TextIOWrapper`."""
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
    """The same as text."""
    while line := text.readline(LONGEST_HEADER + 1):
        _require_short(line)
        if found := line.strip("\r\n"):
            return found
    return ""


def _require_short(line: bytearray | str) -> None:
    if len(line) > LONGEST_HEADER:
        raise csv.Error


def _read_piece(rows: list[list[str]], wanted: dict[str, tuple[int, Cells]], pieces: dict[str, list[Column]]) -> None:
    """Read the declared cells of some records, column by column."""
    for name, (place, cells) in wanted.items():
        pieces[name].append(cells.read(name, [row[place] for row in rows]))


def _joined(pieces: list[Column]) -> Column:
    whole: Any = np.concatenate(pieces) if pieces else np.empty(0)
    return whole  # type: ignore[no-any-return]
