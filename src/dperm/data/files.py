# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables in files: CSV, Parquet, and Arrow or Feather; the declared columns only.

Messages name the column and the rule. They say nothing of a cell, a record or a count, and of the other columns of
the file not even the name: where a header is missing, the first record stands in its place.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from dperm.checks import shown
from dperm.data.columns import AnyColumn
from dperm.data.reading import Column
from dperm.data.schema import TargetSchema
from dperm.errors import DataError, ParameterError

Declared = Mapping[str, AnyColumn | TargetSchema]
"""What is declared of the columns to read, by name."""
Progress = Callable[[float], None]
"""Is told the share of the file that was read."""
KINDS = ".csv, .parquet, .arrow or .feather"
_ARROW = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


class TableFile(Protocol):
    """A file with named columns."""

    def types(self) -> dict[str, str]:
        """The names of the columns with their types: "number", "text", "truth", "other", or "" if the file has none.

        No value is read.
        """

    def read(self, declared: Declared, progress: Progress) -> dict[str, Column]:
        """The declared columns."""


def read_table(path: Path, declared: Declared, progress: Progress = lambda share: None) -> dict[str, Column]:
    """The declared columns of a file; all have the same length, and the target is checked against its declaration.

    Raises
    ------
    DataError
        If the file is not what it is called, lacks a declared column, has no record, or breaks a rule.
    ParameterError
        If the file is of another kind, or pyarrow is needed and not installed.
    """
    columns = table_file(path).read(declared, progress)
    if not all(map(len, columns.values())):
        raise DataError(f"{path} has a header and no record: it must hold one at least.")
    return columns


def table_file(path: Path) -> TableFile:
    """The file, by the end of its name; nothing is opened."""
    from dperm.data.arrow_files import ArrowFile
    from dperm.data.csv_files import CsvFile

    suffix = path.suffix.lower()
    if suffix == ".csv":
        return CsvFile(path)
    if suffix in _ARROW:
        return ArrowFile(path)
    raise ParameterError(f"{path} must be a {KINDS} file, by the end of its name.")


def require_columns(path: Path, names: list[str], wanted: Declared) -> None:
    """Refuse a file that lacks a wanted column, or in which a name is empty or occurs twice."""
    for name in wanted:  # first: where all of them are there, the names are names, and may be repeated
        if name not in names:
            raise DataError(f"{path} must have a column named {shown(name)}, in its header or schema. Names are exact.")
    if "" in names:
        raise DataError(
            f"{path} has a column without a name: give every column one. (pandas writes such a column for its index: "
            f"to_csv(..., index=False) leaves it out.)"
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        known = f", and two are named {shown(twice[0])}" if wanted else ""
        raise DataError(f"{path} must name each column once{known}.")
