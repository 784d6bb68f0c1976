# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data files of ``dperm fit`` as a table in row groups, and the engine that reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data import Table
    from dperm.data.local_engines import Progress
    from dperm.data.passes import TableEngine

LOCAL = ("serial", "threads")
DASK = "dask"
ENGINES = "|".join((*LOCAL, DASK))
DEFAULT_ENGINE, DEFAULT_MEMORY = "threads", "1GB"
_PATTERN = "*?["


@dataclass(frozen=True)
class TableReading:
    """Engine and memory of a fit. They change neither its result nor its cost (T203).

    Attributes
    ----------
    engine
        One of `ENGINES`; None for `DEFAULT_ENGINE`.
    scheduler
        Address of a Dask scheduler.
    scratch
        Folder for encoded rows that exceed the memory.
    memory
        Largest size of all encoded rows in memory; None for `DEFAULT_MEMORY`.

    Raises
    ------
    ParameterError
        If there is no such engine, or an option belongs to another one.
    """

    engine: str | None = None
    scheduler: str | None = None
    scratch: Path | None = None
    memory: str | None = None

    def __post_init__(self) -> None:
        """Check the options against each other."""
        if self.engine not in (None, *LOCAL, DASK):
            raise ParameterError(f"--engine must be one of {', '.join((*LOCAL, DASK))}, got {self.engine!r}.")
        if self.engine == DASK and self.scheduler is None:
            raise ParameterError(
                "--engine dask needs the address of a scheduler, such as --scheduler tcp://scheduler:8786."
            )
        if self.engine == DASK and self.scheduler is not None:
            from dperm.engines.dask import checked_address

            checked_address(self.scheduler)
        if self.engine != DASK and self.scheduler is not None:
            raise ParameterError("--scheduler belongs to --engine dask, which is missing.")
        for option, value in (("--scratch", self.scratch), ("--memory", self.memory)):
            if self.engine == DASK and value is not None:
                raise ParameterError(
                    f"{option} cannot be combined with --engine dask: the workers hold the encoded rows in their "
                    "memory. Leave it out."
                )

    @property
    def given(self) -> dict[str, object]:
        """Options by name, None for those left out."""
        values = {"--engine": self.engine, "--scheduler": self.scheduler}
        return {**values, "--scratch": self.scratch, "--memory": self.memory}

    def runner(self, progress: "Progress | None" = None) -> "TableEngine":
        """Return the engine; a local one reports its row groups to ``progress``.

        Raises
        ------
        ParameterError
            If the memory or the folder is invalid.
        """
        if self.engine == DASK:
            from dperm.engines import DaskEngine

            return DaskEngine(self.scheduler)
        from dperm.data.local_engines import engine_named

        memory = self.memory or DEFAULT_MEMORY
        return engine_named(self.engine or DEFAULT_ENGINE, memory=memory, scratch=self.scratch, progress=progress)


def data_files(given: Sequence[Path], name: str = "DATA") -> tuple[Path, ...]:
    """Return the files of DATA, or of an option: paths as they are, and the files that match patterns, sorted.

    Raises
    ------
    ParameterError
        If no file matches a pattern, or a path is a folder.
    """
    import glob
    import shlex

    found: list[Path] = []
    for path in given:
        text = str(path)
        if path.is_dir():
            pattern = shlex.quote(str(path / "*.parquet"))
            raise ParameterError(
                f"{name} must name files, and {text} is a folder.", remedy=f"Name its files by a pattern: {pattern}."
            )
        if path.exists() or not any(sign in text for sign in _PATTERN):
            found.append(path)  # a missing file is reported when it is opened
            continue
        matching = [Path(file) for file in sorted(glob.glob(text, recursive=True)) if not Path(file).is_dir()]
        if not matching:
            raise ParameterError(f"no file matches {text!r}.", remedy=f"Correct the pattern {name}.")
        found += matching
    return tuple(found)


def only_file(files: Sequence[Path], option: str, remedy: str = "Write them into one file first.") -> Path:
    """Return the only file; raise ParameterError if there are several, for an option that holds a table in memory."""
    if len(files) > 1:
        raise ParameterError(f"{option} reads one DATA file, and there are several.", remedy=remedy)
    return files[0]


def opened_table(
    files: Sequence[Path],
    columns: Sequence[str],
    *,
    separator: str,
    reading: TableReading,
    progress: "Progress | None" = None,
) -> "Table":
    """Return the files as a table in row groups; only their headers are read.

    Parameters
    ----------
    files
        Files, which must be regular ones: they are read several times.
    columns
        Names of the columns to use.
    separator
        Separator of the cells of CSV files.
    reading
        Engine and memory.
    progress
        See `dperm.data.local_engines.SerialEngine`.

    Raises
    ------
    DataError
        If a file is not of the format in its name, or lacks a column.
    OSError
        If a file cannot be opened.
    ParameterError
        If a file is named twice, or an option is invalid.
    """
    from dperm.data import large_tables

    engine = reading.runner(progress)
    for path in files:
        if path.is_fifo():
            raise ParameterError(f"{path} must be a regular file, because it is read several times.")
        with open(path, "rb"):  # the error of the operating system names the file
            pass
    paths = [path.absolute() for path in files] if reading.engine == DASK else files  # workers run in other folders
    return large_tables.table([str(path) for path in paths], columns=columns, engine=engine, separator=separator)
