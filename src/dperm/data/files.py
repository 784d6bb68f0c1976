# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declared columns of tables in files: CSV, Parquet, Arrow and Feather.

Messages name the column and the rule, and no cell, record or count. They do not name other columns of the file: where
a header is missing, the first record takes its place.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from dperm.checks import shown
from dperm.data.canonical import CanonicalColumn, canonical_column
from dperm.data.columns import AnyColumn, Categorical, Unseen
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column
from dperm.errors import DataError, ParameterError

Declared = Mapping[str, AnyColumn | TargetSchema]
"""Declarations of the columns to read, by name."""
Progress = Callable[[float], None]
"""Receives the share of the file read so far, from 0 to 1."""
Watch = Callable[[bytes], object]
"""Receives the content of the file from beginning to end, the same bytes that the columns are read from."""
KINDS = ".csv, .parquet, .arrow or .feather"
ARROW = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
"""Suffixes of files read and written by pyarrow."""
_NO_TEXT = ("Cc", "Zl", "Zp")
"""Unicode categories of control characters, line separators and paragraph separators."""


class TableFile(Protocol):
    """Table file with named columns."""

    def types(self) -> dict[str, str]:
        """Return the column names with types "number", "text", "truth", "other", or "" if unknown.

        No value is read.
        """

    def read(
        self, declared: Declared, progress: Progress, watch: Watch | None = None, unseen: Unseen = "raise"
    ) -> dict[str, Column]:
        """Return the declared columns, and pass the content that they are read from to ``watch``."""


def read_table(
    path: Path,
    declared: Declared,
    progress: Progress = lambda share: None,
    watch: Watch | None = None,
    *,
    unseen: Unseen = "raise",
) -> dict[str, Column]:
    """Return the declared columns of a file, all of the same length, with a checked target.

    The file is opened once, so that a replacement under the same name is not read.

    Parameters
    ----------
    path
        File; its suffix tells the format.
    declared
        Declarations of the columns to read, by name.
    progress
        Function that receives the share of the file read so far.
    watch
        Function that receives the bytes read, for example to compute a digest of exactly this content.
    unseen
        "raise", or "other": in the numeric columns of a CSV file, cells that are not numbers are missing values.

    Raises
    ------
    DataError
        If the format of the file does not match its suffix, or the file lacks a declared column, has no record, breaks
        a rule, or is changed while it is read.
    ParameterError
        If the suffix is unknown, or pyarrow is needed and not installed.
    """
    columns = table_file(path).read(declared, progress, watch, unseen)
    if not all(map(len, columns.values())):
        raise DataError(f"{path} must hold at least one record: it has a header and no record.")
    return columns


def read_raw_table(
    path: Path,
    names: Sequence[str],
    progress: Progress = lambda share: None,
    watch: Watch | None = None,
    separator: str = ",",
) -> dict[str, CanonicalColumn]:
    """Return columns of a file in canonical form, each cell read on its own. No cell raises an error.

    Parameters
    ----------
    path
        File; its suffix tells the format.
    names
        Names of the columns to read.
    progress
        Function that receives the share of the file read so far.
    watch
        Function that receives the bytes read.
    separator
        Character between the cells of a CSV file; only a comma is supported.

    Raises
    ------
    DataError
        As `read_table` does for the format of the file. No message depends on the content of a cell.
    """
    assert separator == ","
    raw = Categorical((), other=True, missing=True, canonical=True)
    found = table_file(path).read(dict.fromkeys(names, raw), progress, watch, "other")
    columns = {name: canonical_column(values) for name, values in found.items()}
    if not all(map(len, columns.values())):
        raise DataError(f"{path} must hold at least one record: it has a header and no record.")
    return columns


def table_file(path: Path) -> TableFile:
    """Return the reader for the suffix of ``path``, without opening the file."""
    from dperm.data.arrow_files import ArrowFile
    from dperm.data.csv_files import CsvFile

    suffix = path.suffix.lower()
    if suffix == ".csv":
        return CsvFile(path)
    if suffix in ARROW:
        return ArrowFile(path)
    raise ParameterError(f"{path} must be a {KINDS} file, by the suffix of its name.")


def require_writable(option: str, path: Path) -> None:
    """Raise ParameterError for an output file of an unknown suffix, or if pyarrow is needed and missing."""
    suffix = path.suffix.lower()
    if suffix in ARROW:
        from dperm.data.arrow_files import require_pyarrow

        require_pyarrow()
    elif suffix != ".csv":
        raise ParameterError(f"{option}: {path} must end in {KINDS}, which chooses the format.")


def require_columns(path: Path, names: list[str], wanted: Declared) -> None:
    """Raise DataError if a wanted column is missing, or if a name is empty, no line of text, or occurs twice."""
    for name in wanted:  # first: if all are present, the header is a header, and messages may repeat its names
        if name not in names:
            problem = f"{path} must have a column named {shown(name)}, in its header or schema."
            raise DataError(problem, remedy="Names are exact.")
    if "" in names:
        raise DataError(
            f"{path} has a column without a name.",
            remedy="Give every column a name. pandas writes such a column for its index; to_csv(..., index=False) "
            "leaves it out.",
        )
    if any(unicodedata.category(sign) in _NO_TEXT for name in names for sign in name):
        problem = f"{path} has a column whose name has a line break or a control character in it."
        raise DataError(problem, remedy="Rename it.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        known = f", and two are named {shown(twice[0])}" if wanted else ""
        raise DataError(f"{path} must name each column once{known}.")
