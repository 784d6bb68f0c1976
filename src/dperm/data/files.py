# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declared columns of tables in files: CSV, Parquet, Arrow and Feather.

Messages name the column and the rule, and no cell, record or count. They do not name other columns of the file: where
a header is missing, the first record takes its place.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dperm.checks import shown
from dperm.data.byte_streams import COMPRESSED, Watch
from dperm.data.canonical import CanonicalColumn
from dperm.data.columns import AnyColumn, Unseen
from dperm.data.schema import TargetSchema
from dperm.data.tables import Column
from dperm.errors import DataError, ParameterError

if TYPE_CHECKING:
    from dperm.data.diagnosis import Piece

Declared = Mapping[str, AnyColumn | TargetSchema]
"""Declarations of the columns to read, by name."""
Progress = Callable[[float], None]
"""Receives the share of the file read so far, from 0 to 1."""
KINDS = ".csv, .parquet, .arrow or .feather"
CSV = tuple(f".csv{suffix}" for suffix in ("", *COMPRESSED))
"""Suffixes of CSV files, also of compressed ones, which are only read."""
SEPARATORS = {",": ",", ";": ";", "tab": "\t", "|": "|"}
"""Separators of CSV files by the names that messages use."""
SEPARATOR_NAMES = '",", ";", "|" or "tab"'
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
    ) -> dict[str, Column | CanonicalColumn]:
        """Return the declared columns, and pass the content that they are read from to ``watch``."""

    def read_raw(
        self, names: Iterable[str], progress: Progress, watch: Watch | None = None
    ) -> dict[str, CanonicalColumn]:
        """Return the columns of these names in canonical form, and pass the content to ``watch``."""

    def pieces(self, declared: Declared, progress: Progress) -> "Iterator[Piece]":
        """Yield the declared cells piece by piece, unchecked, for `dperm.data.diagnosis`."""


def read_table(
    path: Path,
    declared: Declared,
    progress: Progress = lambda share: None,
    watch: Watch | None = None,
    *,
    unseen: Unseen = "raise",
    separator: str = ",",
) -> dict[str, Column | CanonicalColumn]:
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
        "raise", or "other": in the numeric columns of a CSV file, cells that are not numbers are missing values, and
        invalid labels are NaN or None.
    separator
        Separator of the cells of a CSV file, as in `table_file`.

    Raises
    ------
    DataError
        If the format of the file does not match its suffix, or the file lacks a declared column, has no record, breaks
        a rule, or is changed while it is read.
    ParameterError
        If the suffix or the separator is unknown, or pyarrow is needed and not installed.
    """
    columns = table_file(path, separator=separator).read(declared, progress, watch, unseen)
    _require_records(path, columns)
    return columns


def read_raw_table(
    path: Path,
    names: Iterable[str],
    progress: Progress = lambda share: None,
    watch: Watch | None = None,
    *,
    separator: str = ",",
) -> dict[str, CanonicalColumn]:
    """Return columns of a file without declarations, in canonical form (T72), all of the same length.

    Each cell is read on its own, and no cell raises an error. While the file is read, memory holds the result, some
    records as text, and a second copy of one column.

    Parameters
    ----------
    path
        File; its suffix tells the format.
    names
        Names of the columns to read.
    progress
        Function that receives the share of the file read so far.
    watch
        Function that receives the bytes read, for example to compute a digest of exactly this content.
    separator
        Separator of the cells of a CSV file, as in `table_file`.

    Returns
    -------
    dict of str to CanonicalColumn
        The columns by name, in the order of ``names``.

    Raises
    ------
    DataError
        If the format of the file does not match its suffix, or the file lacks a column, has no record, has records of
        different lengths or invalid quotes, or is changed while it is read.
    ParameterError
        If the suffix or the separator is unknown, or pyarrow is needed and not installed.
    """
    columns = table_file(path, separator=separator).read_raw(names, progress, watch)
    _require_records(path, columns)
    return columns


def table_file(path: Path, *, separator: str = ",") -> TableFile:
    """Return the reader for the suffix of ``path``, without opening the file.

    ``separator`` is ",", ";", "|", or a tab, which may be spelled "tab"; it applies to CSV files only.
    """
    from dperm.data.arrow_files import ArrowFile
    from dperm.data.csv_files import CsvFile

    sign = checked_separator(separator)
    if path.name.lower().endswith(CSV):
        return CsvFile(path, sign)
    if path.suffix.lower() in ARROW:
        return ArrowFile(path)
    raise ParameterError(
        f"{path} must be a {KINDS} file, by the suffix of its name. CSV files may be compressed: {', '.join(CSV[1:])}."
    )


def separator_name(separator: object) -> str:
    """Return the name of a separator in messages and records; raise ParameterError for an unknown one."""
    sign = checked_separator(separator)
    return next(name for name, known in SEPARATORS.items() if known == sign)


def checked_separator(separator: object) -> str:
    """Return the character of a separator; raise ParameterError for an unknown one."""
    known = {**SEPARATORS, "\t": "\t", r"\t": "\t"}
    if not isinstance(separator, str) or separator not in known:
        rule = f"must be {SEPARATOR_NAMES}"
        raise ParameterError(argument="separator", rule=rule, got=shown(separator))
    return known[separator]


def require_writable(option: str, path: Path) -> None:
    """Raise ParameterError for an output file of an unknown suffix, or if pyarrow is needed and missing."""
    suffix = path.suffix.lower()
    if suffix in ARROW:
        from dperm.data.arrow_files import require_pyarrow

        require_pyarrow()
    elif path.name.lower().endswith(CSV[1:]):
        raise ParameterError(
            f"{option}: {path} would be compressed, and dperm writes no compressed CSV.",
            remedy="End the name in .csv or .parquet.",
        )
    elif suffix != ".csv":
        raise ParameterError(f"{option}: {path} must end in {KINDS}, which chooses the format.")


def _require_records(path: Path, columns: Mapping[str, Sized]) -> None:
    if not all(map(len, columns.values())):
        raise DataError(f"{path} must hold at least one record: it has a header and no record.")


def require_columns(path: Path, names: list[str], wanted: Iterable[str]) -> None:
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
