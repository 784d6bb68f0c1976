# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables as row groups: pieces of a table with public ids, which can be read again."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dperm.checks import shortened
from dperm.data.columns import Unseen
from dperm.data.group_cells import Declaration, GroupCells, TableCells, joined_column, joined_matrix
from dperm.errors import DataError, DpermError, ParameterError

T = TypeVar("T")

FOREIGN = "row-group"
"""Code of an error in place of an exception of another library."""
PIECE_ROWS = 2**14
"""Largest number of rows in a piece of a row group, so that memory does not grow with the row group."""
MOST_NAMES = 12
"""Largest number of columns that a message lists."""


class RowGroup(Protocol):
    """Piece of a table that can be read again; picklable.

    A second read must return the same rows in the same order. A pass compares checksums and refuses a row group that
    changed.
    """

    @property
    def id(self) -> str:
        """Public name of the row group, unique in its table, such as "part-0.parquet, row group 3"."""

    def read(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the named columns of all rows of the group: numpy arrays, or Arrow arrays for text.

        Raises
        ------
        DataError
            If the piece cannot be read. The message names the row group and no cell.
        """


@dataclass(frozen=True)
class RowGroups:
    """Table as a sequence of row groups; the rows are numbered in the order of the groups.

    Attributes
    ----------
    groups
        Row groups, in order.
    columns
        Names of the columns.
    """

    groups: tuple[RowGroup, ...]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that there is at least one row group, and that ids are distinct."""
        if not self.groups:
            raise ParameterError(argument="groups", rule="must hold at least one row group")
        if len({group.id for group in self.groups}) < len(self.groups):
            raise ParameterError(argument="groups", rule="must have distinct ids")


def listed_columns(table: RowGroups) -> str:
    """Return a sentence with the first columns of a table, for a message about a wrong name.

    The first line of a CSV file may be a record by mistake, so a message does not repeat it.
    """
    if any(getattr(group, "has_header_line", False) for group in table.groups):
        return "Names are exact; the attribute columns of the table holds them."
    names = shortened(", ".join(map(repr, table.columns[:MOST_NAMES])))
    more = len(table.columns) - MOST_NAMES
    return f"The table has the columns {names}{f' and {more} more' if more > 0 else ''}."


class RowPiece(NamedTuple):
    """Consecutive rows of a row group.

    Attributes
    ----------
    numbers
        Columns of numbers, as a 2-D array in single or double precision; NaN for missing values.
    columns
        Other columns, by name, as `GroupCells.column` returns them.
    """

    numbers: NDArray[Any]
    columns: dict[str, Any]


@runtime_checkable
class PieceReader(Protocol):
    """Row group that is also read piece by piece, in bounded memory."""

    def pieces(
        self, numbers: Sequence[str], others: Mapping[str, Declaration] | None = None, *, unseen: Unseen = "raise"
    ) -> Iterator[RowPiece]:
        """Yield the rows in pieces, in their order; see `pieces_of`."""


def pieces_of(
    group: RowGroup,
    numbers: Sequence[str],
    others: Mapping[str, Declaration] | None = None,
    *,
    unseen: Unseen = "raise",
) -> Iterator[RowPiece]:
    """Yield the rows of a row group in pieces, in their order.

    Parameters
    ----------
    group
        Row group. One without a method ``pieces`` is read as a whole.
    numbers
        Names of columns to return as one matrix of numbers.
    others
        Declarations of further columns, by name; None for a column without one.
    unseen
        Treatment of labels and cells outside the declarations, as in `dperm.data.files.read_table`.

    Yields
    ------
    RowPiece
        At most `PIECE_ROWS` rows, if the source allows; there is no piece for a row group without rows.

    Raises
    ------
    DataError
        If the row group cannot be read or has changed, or a column breaks a rule. The message names the row group, the
        column and the rule, and no cell.
    """
    if isinstance(group, PieceReader):
        yield from group.pieces(numbers, others, unseen=unseen)
        return
    declared = others or {}
    names = tuple(dict.fromkeys([*numbers, *declared]))

    def whole() -> RowPiece:
        columns = group.read(names)
        rows = len(next(iter(columns.values()), ()))
        return _piece(TableCells(columns, rows), numbers, declared, unseen)

    piece = located(group.id, lambda: guarded(group.id, whole))
    if names and len(piece.numbers):
        yield piece


def numeric_matrix_of(group: RowGroup, columns: Sequence[str]) -> NDArray[Any]:
    """Return columns of numbers of all rows of a group as one matrix, in single or double precision.

    Use `pieces_of` where memory must not grow with the row group.

    Parameters
    ----------
    group
        Row group. One without a method ``matrix`` is read piece by piece.
    columns
        Names of the columns, in the order of the matrix.

    Returns
    -------
    ndarray
        Matrix of shape (rows, columns); NaN for missing values.

    Raises
    ------
    DataError
        As `pieces_of`; also if a column holds text.
    """
    matrix: Callable[[Sequence[str]], NDArray[Any]] | None = getattr(group, "matrix", None)
    if matrix is not None:
        return matrix(columns)
    return joined_matrix([piece.numbers for piece in pieces_of(group, columns)], len(columns))


class CellGroup(ABC):
    """Row group on a source of cells; the subclasses are the kinds of sources."""

    id: str

    @abstractmethod
    def cells(self, names: Sequence[str], rows: int | None) -> Iterator[GroupCells]:
        """Yield the cells of the named columns, at most ``rows`` rows at a time; None for all rows at once."""

    def read(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the named columns of all rows, without declarations; see `GroupCells.column`."""
        pieces = list(self._pieces((), dict.fromkeys(columns), "raise", None))
        return {name: joined_column([piece.columns[name] for piece in pieces]) for name in columns}

    def matrix(self, columns: Sequence[str]) -> NDArray[Any]:
        """Return columns of numbers of all rows; see `numeric_matrix_of`."""
        return joined_matrix([piece.numbers for piece in self._pieces(columns, {}, "raise", None)], len(columns))

    def pieces(
        self, numbers: Sequence[str], others: Mapping[str, Declaration] | None = None, *, unseen: Unseen = "raise"
    ) -> Iterator[RowPiece]:
        """Yield the rows in pieces of at most `PIECE_ROWS` rows; see `pieces_of`."""
        yield from self._pieces(numbers, others or {}, unseen, PIECE_ROWS)

    def _pieces(
        self, numbers: Sequence[str], others: Mapping[str, Declaration], unseen: Unseen, rows: int | None
    ) -> Iterator[RowPiece]:
        source = self.cells(tuple(dict.fromkeys([*numbers, *others])), rows)

        def following() -> RowPiece | None:
            cells = next(source, None)
            return None if cells is None else _piece(cells, numbers, others, unseen)

        while (piece := located(self.id, lambda: guarded(self.id, following))) is not None:
            yield piece


def _piece(cells: GroupCells, numbers: Sequence[str], others: Mapping[str, Declaration], unseen: Unseen) -> RowPiece:
    columns = {name: cells.column(name, declared, unseen) for name, declared in others.items()}
    return RowPiece(cells.matrix(numbers) if numbers else np.empty((0, 0)), columns)


def guarded(name: str, work: Callable[[], T]) -> T:
    """Return the result of ``work`` on the row group ``name``.

    Raises
    ------
    DpermError
        Errors of dperm pass unchanged. Any other exception becomes a DataError that names the row group, without its
        message, which may quote cells. It is not kept as a context either.
    """
    try:
        return work()
    except DpermError:
        raise
    except MemoryError:
        found = DataError(
            f"row group {name!r} does not fit into memory.", remedy="Write smaller row groups.", code=FOREIGN
        )
    except Exception as error:
        found = DataError(
            f"row group {name!r} cannot be processed: a library raised {type(error).__name__}.",
            remedy="Check that the source of the row group is complete and readable, and has not changed.",
            code=FOREIGN,
        )
    raise found


def located(name: str, work: Callable[[], T]) -> T:
    """Return the result of ``work`` on the row group ``name``, and name the row group in every DataError."""
    try:
        return work()
    except DataError as error:
        found = in_row_group(error, name)
    raise found


def in_row_group(error: DataError, name: str) -> DataError:
    """Return the error with the row group in its message, without the exceptions and frames behind it."""
    problem = error.problem_text.removesuffix(".")
    where = "" if repr(name) in str(error) else f" (in row group {name!r})"
    return type(error)(f"{problem}{where}.", remedy=error.remedy, code=error.code)
