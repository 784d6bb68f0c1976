# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of any size: files, arrays and data frames as row groups, with the settings of the engine that reads them."""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from dperm.checks import memory_size, shown
from dperm.data.file_groups import FileContents, file_contents, file_format
from dperm.data.memory_groups import memory_groups
from dperm.data.row_groups import RowGroup, RowGroups, listed_columns
from dperm.data.tables import is_table
from dperm.errors import DataError, ParameterError

if TYPE_CHECKING:
    from dperm.data.passes import TableEngine

Source = Any
"""Path, pattern, list of paths, 2-D array, or pandas, polars or Arrow table."""
_SOURCES = (
    "must be a path, a pattern such as 'data/*.parquet', a list of paths, a 2-D numpy array, or a pandas, polars or "
    "Arrow table"
)


@dataclass(frozen=True, eq=False, repr=False)
class Table(RowGroups):
    """Table of any size, created by `dperm.data.table` and read by an engine in blocks of rows (row groups).

    Attributes
    ----------
    groups, columns
        See `dperm.data.row_groups.RowGroups`.
    engine
        Engine that encodes the row groups and runs each computation (pass) over all rows, such as
        `dperm.engines.DaskEngine`.
    memory
        Limit on the total size of the encoded rows in the memory of this process, in bytes.
    kinds
        Kind of each column, by name: "number", "text", "truth" (Boolean) or "other", or "" if the source does not
        specify the kind, as in a CSV file.
    """

    engine: "TableEngine"
    memory: int
    kinds: dict[str, str] = field(default_factory=dict)

    def select(self, columns: Sequence[str]) -> "Table":
        """Return a table with some of the columns. No rows are read.

        Parameters
        ----------
        columns
            Names of the columns, in the order of the result.

        Returns
        -------
        Table
            Table with the same rows, engine and memory.

        Raises
        ------
        ParameterError
            If ``columns`` is empty, repeats a name, or contains a name that the table does not have.

        Examples
        --------
        >>> import numpy as np
        >>> from dperm.data import table
        >>> table(np.zeros((1000, 3))).select(["x2", "x0"]).columns
        ('x2', 'x0')
        """
        names = _checked_names(columns)
        for name in names:
            if name not in self.columns:
                raise ParameterError(
                    argument="columns",
                    rule="must be columns of the table",
                    got=shown(name),
                    remedy=listed_columns(self),
                )
        kinds = {name: self.kinds[name] for name in names if name in self.kinds}
        return replace(self, columns=names, kinds=kinds)

    def __repr__(self) -> str:
        """Return the number of columns and the engine; the numbers of rows and row groups may be private."""
        return f"Table({len(self.columns)} columns, engine={self.engine.name!r})"


def table(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    scratch: str | os.PathLike[str] | None = None,
    memory: int | str = "1GB",
    engine: Union[str, "TableEngine", None] = None,
    format: str | None = None,
    separator: str = ",",
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Return a table of any size, whose rows are read later in blocks (row groups).

    This function reads only the names and the types of the columns.

    Parameters
    ----------
    source
        Path, pattern such as ``"data/*.parquet"``, list of paths, 2-D numpy array, pandas or polars data frame, or
        Arrow table. A file is a Parquet, Arrow, Feather, .npy or CSV file; CSV files may be compressed.
    columns
        Names of the columns to use, in this order; None for all columns. If names are given, the files may differ in
        their other columns.
    scratch
        Folder for encoded rows that exceed ``memory``. They are stored in a file without a name, which no other user
        can open, and which the system removes when the process ends. Without a folder, such rows are read from the
        source again in each pass over the data, which is slower.
    memory
        Limit on the total size of the encoded rows in memory: a number of bytes, or text such as "500MB". Row groups
        need additional memory while they are read: for Parquet files, about 2 MB for each column and thread.
    engine
        "serial", "threads" (the default), or an engine object such as ``dperm.engines.DaskEngine(client)``.
    format
        Format of files whose names do not end in its usual suffix: "parquet", "arrow", "csv" or "npy".
    separator
        Separator of the cells of CSV files: ",", ";", "|" or "tab".
    progress
        Function that is called after each row group of each pass, with the number of finished row groups and the number
        of all row groups.

    Returns
    -------
    Table
        The table. Its files must not change while the table is in use.

    Raises
    ------
    DataError
        If a file cannot be read in its format, or the files have different columns.
    ParameterError
        If an argument is invalid, if no file matches a path or pattern, or if a file is given twice.

    Notes
    -----
    *Guarantees.* Results do not depend on ``memory``, ``scratch``, the engine, the format, or the division into row
    groups (T203). If a file has changed when it is read again, DataError is raised (T206).

    *Edge cases.*

    ====================================  ==============================================================
    source                                result
    ====================================  ==============================================================
    file or row group without rows        allowed
    pattern without a matching file       ParameterError
    same file given twice, or by a link   ParameterError, because its records would count twice
    files with different columns          DataError that names the file and the column
    columns in a different order          allowed: columns are read by name, in the order of the first file
    text in one file, numbers in others   DataError
    columns of an array or .npy file      named x0, x1 and so on
    ====================================  ==============================================================

    The content of a removed file stays on the disk until other data overwrite it. For private data, choose a
    ``scratch`` folder on an encrypted disk.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.data import table
    >>> people = table(np.zeros((1000, 3)), memory="100MB", engine="serial")
    >>> people.columns
    ('x0', 'x1', 'x2')
    """
    from dperm.data.local_engines import chosen_engine

    size = memory_size("memory", memory)
    runner = chosen_engine(engine, memory=size, scratch=scratch, progress=progress)
    wanted = () if columns is None else _checked_names(columns)
    paths = [source] if _is_path(source) else source
    groups: Sequence[RowGroup]
    if isinstance(paths, list | tuple):
        if not all(map(_is_path, paths)):
            raise ParameterError(argument="source", rule=_SOURCES, got=f"a {type(source).__name__} of other objects")
        files = [file for path in paths for file in _matching_files(path)]
        kinds, groups = _read_files(files, format, separator=separator, wanted=wanted)
        return Table(tuple(groups), tuple(kinds), runner, size, kinds)
    _require_local(source)
    names, groups = memory_groups(source)
    if not names:
        raise ParameterError(argument="source", rule="must have at least one column")
    whole = Table(tuple(groups), names, runner, size)
    return whole.select(wanted) if wanted else whole


def engine_facts_of(table: Table) -> dict[str, str]:
    """Return the name of the engine, and its version if it has one, as public facts of a fit."""
    version = getattr(table.engine, "version", None)
    return {"name": str(table.engine.name), **({} if version is None else {"version": str(version)})}


def _checked_names(columns: object) -> tuple[str, ...]:
    """Return names of columns as a tuple; raise ParameterError unless they are a list of different names."""
    names = tuple(columns) if isinstance(columns, Sequence) and not isinstance(columns, str) else ()
    if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        rule = "must be a list of different names of columns, at least one"
        raise ParameterError(argument="columns", rule=rule, got=shown(columns))
    return names


def _is_path(source: object) -> bool:
    return isinstance(source, str | os.PathLike)


def _require_local(source: object) -> None:
    """Raise ParameterError unless the source is a table or an array in memory."""
    library = type(source).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        raise ParameterError(
            argument="source",
            rule="must be files or a table in memory",
            got=f"an object of {library}",
            remedy="Pass it to the estimator itself, which reads its partitions on the workers.",
        )
    if not is_table(source) and not isinstance(source, np.ndarray):
        raise ParameterError(argument="source", rule=_SOURCES, got=shown(source))


def _matching_files(path: Any) -> Iterator[Path]:
    """Yield the file of this path, or the files that match a pattern, in the order of their names."""
    text = os.path.expanduser(os.fspath(path))
    if not isinstance(text, str):
        raise ParameterError(argument="source", rule=_SOURCES, got="a path of bytes")
    if os.path.isdir(text):
        raise ParameterError(
            argument="source",
            rule="must name files",
            got=f"the folder {shown(text)}",
            remedy=f"Name its files by a pattern: {shown(os.path.join(text, '*.parquet'))}.",
        )
    found = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
    if not found:
        rule = "must name at least one file"
        raise ParameterError(argument="source", rule=rule, got=shown(text), remedy="Correct the path or the pattern.")
    yield from (Path(one) for one in found if not os.path.isdir(one))


def _read_files(
    paths: list[Path], format: str | None, *, separator: str, wanted: tuple[str, ...]
) -> tuple[dict[str, str], list[RowGroup]]:
    """Return the kinds of the wanted columns, or else of all, and the row groups of all files."""
    if not paths:
        raise ParameterError(argument="source", rule="must name at least one file", got="an empty list")
    _require_distinct(paths)
    formats = [file_format(path, format) for path in paths]
    kinds, groups, first = dict[str, str](), list[RowGroup](), None
    for path, name, kind in zip(paths, _public_names(paths), formats, strict=True):
        contents = file_contents(path, name, format=kind, separator=separator, wanted=wanted)
        if not contents.kinds:
            raise DataError(f"{path} must have at least one column.")
        if wanted:
            contents = replace(contents, kinds={column: contents.kinds[column] for column in wanted})
        first = first or (name, contents)
        _require_same_columns((name, contents), first)
        for column, found in contents.kinds.items():
            kinds[column] = _common_kind(kinds.get(column, ""), found, column=column, file=name)
        groups += contents.groups
    return kinds, groups


def _require_distinct(paths: list[Path]) -> None:
    """Raise ParameterError if two paths lead to one file: its records would be counted twice."""
    seen = set()
    for path in paths:
        if not path.exists():
            continue  # refused where it is read
        found = path.stat()
        if (found.st_dev, found.st_ino) in seen:
            raise ParameterError(argument="source", rule="must name each file once", got=shown(str(path)))
        seen.add((found.st_dev, found.st_ino))


def _public_names(paths: list[Path]) -> list[str]:
    """Return distinct names of the files without their folders: "a.csv", and "a.csv (2)" for the second one."""
    names: dict[str, None] = {}
    for path in paths:
        name, times = path.name, 1
        while name in names:
            times += 1
            name = f"{path.name} ({times})"
        names[name] = None
    return list(names)


def _require_same_columns(file: tuple[str, FileContents], first: tuple[str, FileContents]) -> None:
    """Raise DataError unless a file has the columns of the first one, in any order."""
    for (name, contents), (other, others) in ((file, first), (first, file)):
        for place, column in enumerate(others.kinds, start=1):
            if column not in contents.kinds:
                label = f"column {place}" if others.has_header_line else f"column {shown(column)}"
                raise DataError(
                    f"{name} lacks {label} of {other}.",
                    remedy="All files of a table must have the same columns. Names are exact. To use only columns that "
                    "all files have, name them: columns=[...].",
                )


def _common_kind(known: str, found: str, *, column: str, file: str) -> str:
    """Return the kind of a column in all files; raise DataError for text in some files and numbers in others."""
    if known and found and known != found:
        if {known, found} != {"number", "truth"}:
            raise DataError(
                f"column {shown(column)} of {file} must be of the same kind in all files: numbers, text or dates.",
                remedy="Convert the column where it differs.",
            )
        return "number"
    return known or found
