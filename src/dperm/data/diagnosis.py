# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Cells of a file that break their declarations. PRIVATE: the result repeats records, for the data holder alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from dperm.data.cells import cell_reader
from dperm.data.columns import AnyColumn
from dperm.data.files import Declared, Progress, table_file
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column
from dperm.errors import DataError

MOST = 20
"""Number of cells that are listed."""


@dataclass(frozen=True)
class BadCell:
    """Cell that breaks its declaration, or record that breaks the format. PRIVATE.

    Attributes
    ----------
    record
        Number of the record, from 1; the header and empty lines do not count.
    column
        Name of the column; None for a whole record.
    value
        Value of the cell; None for a whole record.
    rule
        Broken rule.
    """

    record: int
    column: str | None
    value: object
    rule: str


@dataclass(frozen=True)
class Piece:
    """Cells of one column in some records, as `TableFile.pieces` yields them.

    Attributes
    ----------
    records
        Numbers of the records.
    column
        Name of the column; None if ``cells`` holds whole records.
    cells
        The cells: a list, or an Arrow array.
    read
        Function that reads cells by their declaration, and raises DataError for invalid ones.
    """

    records: Sequence[int]
    column: str | None
    cells: Any
    read: Callable[[Any], object]


def bad_cells(
    path: Path, declared: Declared, progress: Progress = lambda share: None, *, separator: str = ","
) -> list[BadCell]:
    """Return the first cells of a file that a fit refuses, at most `MOST`, in the order of the records. PRIVATE.

    Parameters
    ----------
    path
        File; its suffix tells the format.
    declared
        Declarations of the columns to check, by name.
    progress
        Function that receives the share of the file read so far.
    separator
        Separator of the cells of a CSV file, as in `table_file`.

    Returns
    -------
    list of BadCell
        The cells; empty if a fit accepts all of them.

    Raises
    ------
    DataError
        If the file cannot be read in its format, or lacks a column.
    """
    found: list[BadCell] = []
    for piece in table_file(path, separator=separator).pieces(declared, progress):
        found += islice(_bad_cells_of(piece), MOST)
        found = sorted(found, key=lambda cell: cell.record)[:MOST]
    return found


def require_declared(name: str, declared: AnyColumn | TargetSchema, values: Column) -> None:
    """Raise DataError if the encoder refuses a value of a column; the reader has checked a target."""
    if not isinstance(declared, TargetSchema) and not declared.canonical:
        declared.entries(name, values)


def text_reader(name: str, declared: AnyColumn | TargetSchema) -> Callable[[Sequence[str]], None]:
    """Return a function that reads text cells by their declaration."""
    reader = cell_reader(declared)
    return lambda cells: require_declared(name, declared, reader.read(name, cells))


def refuse(records: object) -> None:
    """Raise DataError for records with another number of cells than the header has."""
    raise DataError("The record must have as many cells as there are names in the header.")


def _bad_cells_of(piece: Piece) -> Iterator[BadCell]:
    """Yield the cells of a piece that are refused; each is read on its own only if the piece is refused."""
    if _broken_rule(piece.read, piece.cells) is None:
        return
    for place, record in enumerate(piece.records):
        one = piece.cells[place : place + 1]
        rule = _broken_rule(piece.read, one)
        if rule is not None:
            value = one[0].as_py() if hasattr(one[0], "as_py") else one[0]
            yield BadCell(record, piece.column, None if piece.column is None else value, rule)


def _broken_rule(read: Callable[[Any], object], cells: Any) -> str | None:
    try:
        read(cells)
    except DataError as error:
        return error.problem
    return None
