# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables in files: CSV, Parquet, and Arrow or Feather; the declared columns only.

Messages name the column and the rule. They say nothing of a cell, a record or a count, and of the other columns of
the file not even the name: where a header is missing, the first record stands in its place.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from dperm.checks import shown
from dperm.data.columns import AnyColumn
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column
from dperm.errors import DataError, ParameterError

Declared = Mapping[str, AnyColumn | TargetSchema]
"""What is declared of the columns to read, by name."""
Progress = Callable[[float], None]
"""Is told the share of the file that was read."""
Watch = Callable[[bytes], object]
"""Is given the content of the file, from beginning to end: the very bytes that the columns are made of."""
KINDS = ".csv, .parquet, .arrow or .feather"
ARROW = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
"""Ends of names that pyarrow reads and writes."""
_NO_TEXT = ("Cc", "Zl", "Zp")
"""Categories of Unicode: control characters, and what ends a line or a paragraph."""


class TableFile(Protocol):
    """A file with named columns."""

    def types(self) -> dict[str, str]:
        """The names of the columns with their types: "number", "text", "truth", "other", or "" if the file has none.

        No value is read.
        """

    def read(self, declared: Declared, progress: Progress, watch: Watch | None = None) -> dict[str, Column]:
        """The declared columns; ``watch`` sees the content that they are read from."""


def read_table(
    path: Path, declared: Declared, progress: Progress = lambda share: None, watch: Watch | None = None
) -> dict[str, Column]:
    """The declared columns of a file; all have the same length, and the target is checked against its declaration.

    The file is opened once, so that another one put in its place meanwhile is not read. What ``watch`` is given is
    what was read: whether it is the right file is asked of that, not of the name.

    Raises
    ------
    DataError
        If the file is not what it is called, lacks a declared column, has no record, breaks a rule, or is changed
        while it is read.
    ParameterError
        If the file is of another kind, or pyarrow is needed and not installed.
    """
    columns = table_file(path).read(declared, progress, watch)
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
    if suffix in ARROW:
        return ArrowFile(path)
    raise ParameterError(f"{path} must be a {KINDS} file, by the end of its name.")


def require_writable(option: str, path: Path) -> None:
    """Refuse a name whose end does not say what is to be written, and one for which pyarrow is missing."""
    suffix = path.suffix.lower()
    if suffix in ARROW:
        from dperm.data.arrow_files import require_pyarrow

        require_pyarrow()
    elif suffix != ".csv":
        raise ParameterError(f"{option}: {path} must end in {KINDS}: that says what is written.")


def require_columns(path: Path, names: list[str], wanted: Declared) -> None:
    """Refuse a file that lacks a wanted column, or in which a name is empty, no line of text, or occurs twice."""
    for name in wanted:  # first: where all of them are there, the names are names, and may be repeated
        if name not in names:
            raise DataError(f"{path} must have a column named {shown(name)}, in its header or schema. Names are exact.")
    if "" in names:
        raise DataError(
            f"{path} has a column without a name: give every column one. (pandas writes such a column for its index: "
            f"to_csv(..., index=False) leaves it out.)"
        )
    if any(unicodedata.category(sign) in _NO_TEXT for name in names for sign in name):
        raise DataError(f"{path} has a column whose name has a line break or a control character in it: rename it.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        known = f", and two are named {shown(twice[0])}" if wanted else ""
        raise DataError(f"{path} must name each column once{known}.")
