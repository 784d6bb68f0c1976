# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""CSV files in UTF-8 with a header, also compressed. Declared types alone decide how cells are read.

One record must not change how another is read. Quotes could: an open quote makes one cell of all text up to the next
quote. So a quote is accepted only at the beginning or the end of a cell, or doubled within quotes. Then every accepted
record has an even number of quotes, and a record with an odd number leaves a quote open at the end of the file.
"""

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dperm.data.byte_streams import CompressionError, StoredBytes, Watch, opened
from dperm.data.canonical import CanonicalBuilder, CanonicalColumn
from dperm.data.cells import CellReader, cell_reader
from dperm.data.columns import Unseen
from dperm.data.diagnosis import Piece, refuse, text_reader
from dperm.data.files import SEPARATOR_NAMES, SEPARATORS, Declared, Progress, require_columns
from dperm.data.tables import Column
from dperm.errors import DataError
from dperm.presentation.spelling import arg

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


class PlainBytes(io.RawIOBase):
    """Content of a file without NUL bytes."""

    def __init__(self, content: io.RawIOBase) -> None:
        self._content = content

    def readable(self) -> bool:
        """Return True, as `io.BufferedReader` requires."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base class says bytes-like
        """Fill the buffer, and return the number of bytes."""
        block = without_nul(self._content.read(len(buffer)) or b"")
        buffer[: len(block)] = block
        return len(block)


def without_nul(block: bytes) -> bytes:
    """Return ``block``; raise NulError if it contains a NUL byte."""
    if b"\0" in block:
        raise NulError
    return block


@dataclass(frozen=True)
class CsvFile:
    """CSV file with a header, read by `read_table`."""

    path: Path
    separator: str = ","

    def types(self, wanted: Iterable[str] = ()) -> dict[str, str]:
        """Return the names in the header line, with unknown types; nothing below it is decoded.

        ``wanted`` are names of columns that must be there.
        """
        names = self._understood(self._header)
        self._require_columns(names, wanted)
        return dict.fromkeys(names, "")

    def read(
        self, declared: Declared, progress: Progress, watch: Watch | None = None, unseen: Unseen = "raise"
    ) -> dict[str, Column | CanonicalColumn]:
        """Return the declared columns, read some records at a time."""
        return self._understood(lambda: self._read(declared, progress, watch, unseen))

    def read_raw(
        self, names: Iterable[str], progress: Progress, watch: Watch | None = None
    ) -> dict[str, CanonicalColumn]:
        """Return the columns of these names in canonical form, read some records at a time."""
        return self._understood(lambda: self._read_raw(list(names), progress, watch))

    def pieces(self, declared: Declared, progress: Progress) -> Iterator[Piece]:
        """Yield the declared cells of some records at a time, and the records of another length than the header."""
        found = self._unchecked_pieces(declared, progress)
        while (piece := self._understood(lambda: next(found, None))) is not None:
            yield piece

    def text_blocks(self, names: Iterable[str]) -> Iterator[tuple[int, dict[str, list[str]]]]:
        """Yield numbers of records, each with the text cells of the named columns in so many records, not converted."""
        found = self._text_blocks(list(names))
        while (block := self._understood(lambda: next(found, None))) is not None:
            yield block

    def _header(self) -> list[str]:
        with opened(self.path) as (_, content):
            return self._names(without_nul(_first_line(content)).decode())

    def _read(
        self, declared: Declared, progress: Progress, watch: Watch | None, unseen: Unseen
    ) -> dict[str, Column | CanonicalColumn]:
        pieces: dict[str, list[Column]] = {name: [] for name in declared}
        with self._opened(watch) as (source, text):
            names = self._names(_first_text(text))
            self._require_columns(names, declared)
            wanted = {name: (names.index(name), cell_reader(column, unseen)) for name, column in declared.items()}
            for rows in self._pieces(self._records(text), len(names)):
                _read_piece(rows, wanted, pieces)
                progress(source.share)
        return {name: _joined(pieces.pop(name)) for name in declared}

    def _read_raw(self, wanted: list[str], progress: Progress, watch: Watch | None) -> dict[str, CanonicalColumn]:
        built = {name: CanonicalBuilder() for name in wanted}
        with self._opened(watch) as (source, text):
            names = self._names(_first_text(text))
            self._require_columns(names, wanted)
            for rows in self._pieces(self._records(text), len(names)):
                for name, column in built.items():
                    place = names.index(name)
                    column.add_texts([row[place] for row in rows])
                progress(source.share)
        return {name: built.pop(name).column() for name in wanted}

    def _text_blocks(self, wanted: list[str]) -> Iterator[tuple[int, dict[str, list[str]]]]:
        with self._opened(None) as (_, text):
            names = self._names(_first_text(text))
            self._require_columns(names, wanted)
            places = {name: names.index(name) for name in wanted}
            for rows in self._pieces(self._records(text), len(names)):
                yield len(rows), {name: [row[place] for row in rows] for name, place in places.items()}

    def _unchecked_pieces(self, declared: Declared, progress: Progress) -> Iterator[Piece]:
        with self._opened(None) as (source, text):
            names = self._names(_first_text(text))
            self._require_columns(names, declared)
            blank = [""] if len(names) == 1 else []
            records = enumerate((row or blank for row in self._records(text) if row or blank), start=1)
            while rows := list(islice(records, ROWS)):
                whole = [(record, row) for record, row in rows if len(row) == len(names)]
                numbers = [record for record, _ in whole]
                for name, known in declared.items():
                    place = names.index(name)
                    yield Piece(numbers, name, [row[place] for _, row in whole], text_reader(name, known))
                ragged = [(record, row) for record, row in rows if len(row) != len(names)]
                if ragged:
                    yield Piece([record for record, _ in ragged], None, [row for _, row in ragged], refuse)
                progress(source.share)

    @contextmanager
    def _opened(self, watch: Watch | None) -> Iterator[tuple[StoredBytes, io.TextIOWrapper]]:
        """Open the file, and yield its stored bytes and its text."""
        with opened(self.path, watch) as (source, content):
            text = io.TextIOWrapper(io.BufferedReader(PlainBytes(content), BUFFER), encoding="utf-8-sig", newline="")
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
        except CompressionError as error:
            rule = str(error)
        except NulError:
            rule = "UTF-8 text without NUL bytes (UTF-16 has them)."
        except csv.Error:
            rule = (
                "CSV: cells with separators, quotes or line ends inside stand in double quotes, a quote inside them is "
                'doubled (""), every quote is closed (in the header, on its line), and no cell is longer than '
                f"{csv.field_size_limit()} characters."
            )
        raise DataError(f"{self.path} must be {rule}")

    def _names(self, line: str) -> list[str]:
        """Return the names in the header line. An open quote in it does not swallow a record."""
        if not line:
            raise DataError(f"{self.path} must begin with a line of column names, and it is empty.")
        return next(self._records([line]))

    def _require_columns(self, names: list[str], wanted: Iterable[str]) -> None:
        """Raise DataError for missing columns and invalid names, first for a file with another separator."""
        if len(names) == 1 and names[0] not in wanted and any(sign in names[0] for sign in SEPARATORS.values()):
            raise DataError(
                f"{self.path} has a header with one column, and another separator in its name.",
                remedy=f"Choose {arg('separator')} as in the file: {SEPARATOR_NAMES}.",
            )
        require_columns(self.path, names, wanted)

    def _records(self, lines: Iterable[str]) -> Rows:
        return csv.reader(_quoted_lines(lines, self.separator), strict=True, delimiter=self.separator)

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


def _quoted_lines(lines: Iterable[str], separator: str) -> Iterator[str]:
    """Yield the lines; raise csv.Error for a quote that neither begins nor ends a cell, and is not doubled."""
    inside = False
    for line in lines:
        if '"' in line:
            parts = line.split('"')
            first, last = int(inside), len(parts) - 1
            for place in range(first, last + 1, 2):  # the parts outside of quotes
                part = parts[place]
                closes, opens = place > 0, place < last
                if closes and opens and not part:  # a doubled quote
                    continue
                if closes and not part.startswith(separator) and part.strip("\r\n"):
                    raise csv.Error
                if opens and part and not part.endswith(separator):
                    raise csv.Error
            inside ^= last % 2 == 1
        yield line


def _first_line(file: io.RawIOBase) -> bytes:
    """Return the first nonempty line without its end (CR, LF or both), as `io.TextIOWrapper` would read it."""
    begin = io.BufferedReader(file, BLOCK)
    found = bytearray(begin.read(len(BOM_UTF8)).removeprefix(BOM_UTF8))
    while block := begin.read1(BLOCK):
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
