# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Passes over columns as they are: a pure function of the columns of each row group, added by the driver (T203).

Such a pass needs no feature space. It is one read of the table, so there is no manifest to compare. Everything else is
as in `dperm.data.passes`: an engine runs tasks, and the driver accepts one answer of each row group, in any order.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from dperm.data.grid_rows import GridRows
from dperm.data.passes import TableEngine, first_answers, first_number
from dperm.data.row_groups import PieceReader, RowGroup, RowGroups, guarded, in_row_group
from dperm.errors import DataError

T = TypeVar("T")

MOST_PARTS = 6
"""Largest number of sums of different sizes, each of which may be as large as the whole."""


class ColumnFunction(Protocol):
    """Picklable function of the columns of some rows of a row group."""

    def __call__(self, columns: Mapping[str, Any]) -> Any:
        """Return the result for columns of equal length, at least one row.

        Raises
        ------
        DataError
            If a column breaks a rule. The error has the column as its ``argument``, and no value.
        """


class ColumnAnswer(NamedTuple):
    """Result of one row group: its number of rows with the value of the function, or a problem."""

    id: str
    number: int
    rows: int = 0
    value: Any = None
    problem: DataError | None = None


@dataclass(frozen=True)
class UnreadGroup:
    """Row group for an engine to hold: the group itself, and none of its rows."""

    group: RowGroup

    rows: ClassVar[int] = 0
    checksum: ClassVar[int] = 0
    problems: ClassVar[frozenset[str]] = frozenset()

    @property
    def id(self) -> str:
        """Id of the row group."""
        return self.group.id

    def chunks(self) -> Iterator[tuple[int, GridRows]]:
        """Return an empty iterator: no row is encoded."""
        return iter(())


@dataclass(frozen=True)
class ColumnTask:
    """Task that applies a function to the columns of a row group, and adds the results of its pieces; picklable.

    A broken rule is part of the answer, and not an exception: the driver raises the error of the first row group in the
    order of the table. Exceptions of other libraries are left to the engine, which may run the task again.
    """

    function: ColumnFunction
    add: Callable[[Any, Any], Any]
    names: tuple[str, ...]
    number: int

    def __call__(self, held: Any) -> ColumnAnswer:
        """Return the answer of a held row group."""
        group: RowGroup = held.group
        try:
            return self._answer(group)
        except DataError as error:
            return ColumnAnswer(group.id, self.number, problem=in_row_group(error, group.id))

    def _answer(self, group: RowGroup) -> ColumnAnswer:
        rows, sums = 0, PairwiseSum(self.add)
        with np.errstate(all="ignore"):  # settings of the worker decide nothing
            for columns in _column_pieces(group, self.names):
                lengths = {len(columns[name]) for name in self.names}
                if len(lengths) != 1:
                    raise DataError("columns must be of equal length.")
                if count := lengths.pop():
                    rows += count
                    sums.append(self.function(columns))
            return ColumnAnswer(group.id, self.number, rows, sums.total())


class PairwiseSum:
    """Sum of many results, added in pairs of equal size: a result that grows is not copied for each small one.

    Attributes
    ----------
    parts
        Sums of some results each, with their numbers of results; at most `MOST_PARTS`.
    """

    def __init__(self, add: Callable[[Any, Any], Any]) -> None:
        self.add = add
        self.parts: list[tuple[int, Any]] = []

    def append(self, result: Any) -> None:
        """Add a result."""
        self.parts.append((1, result))
        while len(self.parts) > 1 and self.parts[-2][0] == self.parts[-1][0]:
            self._join(len(self.parts) - 2)
        if len(self.parts) > MOST_PARTS:
            self._join(0)

    def total(self) -> Any:
        """Return the sum; None without a result."""
        while len(self.parts) > 1:
            self._join(len(self.parts) - 2)
        return self.parts[0][1] if self.parts else None

    def _join(self, place: int) -> None:
        (size, one), (other_size, other) = self.parts[place : place + 2]
        self.parts[place : place + 2] = [(size + other_size, self.add(one, other))]


def sum_over_columns(
    table: RowGroups, names: Sequence[str], *, function: ColumnFunction, add: Callable[[T, T], T]
) -> T | None:
    """Return the sum of a function over the row groups of a table, in one read of the named columns.

    Parameters
    ----------
    table
        Table to read.
    names
        Names of the columns to read.
    function
        Picklable function of the columns of some rows of a row group. Row groups without rows are left out.
    add
        Picklable, commutative and associative sum of two results, such as integers.

    Returns
    -------
    object or None
        Sum of the results; None if the table has no rows.

    Raises
    ------
    DataError
        If a row group is missing, cannot be read or breaks a rule. The message names the row group and the column, and
        no cell. If several row groups break a rule, the error is that of the first one in the order of the table.

    Notes
    -----
    **Guarantees.** Each row group is counted once, whatever the order and the repetitions of the engine's answers
    (T206). If the function is additive, the result does not depend on the cuts into row groups and pieces (T203).

    ==============================  ===========================================
    answers of the engine           result
    ==============================  ===========================================
    repeated, or of another pass    the first answer of this pass counts
    missing row group               DataError
    row group without rows          left out, whatever the types of its columns
    ==============================  ===========================================
    """
    task = ColumnTask(function, add, tuple(dict.fromkeys(names)), first_number())
    waiting, problems = deque(group.id for group in table.groups), dict[str, DataError | None]()
    sums = PairwiseSum(add)
    with closing(_answers(table, task)) as answers:
        for answer in first_answers(answers, tuple(waiting), task.number):
            problems[answer.id] = answer.problem
            while waiting and waiting[0] in problems:
                if problem := problems[waiting.popleft()]:
                    raise problem
            if answer.rows:
                sums.append(answer.value)
    whole: T | None = sums.total()
    return whole


def _answers(table: RowGroups, task: ColumnTask) -> Generator[ColumnAnswer, None, None]:
    """Yield the answers of the table's engine; without an engine, those of this process, one row group at a time."""
    engine: TableEngine | None = getattr(table, "engine", None)
    if engine is None:
        for group in table.groups:
            yield guarded(group.id, partial(task, UnreadGroup(group)))
        return
    with closing(engine.hold(UnreadGroup, table.groups)) as held:
        yield from held.run(task)


def _column_pieces(group: RowGroup, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the columns of a row group as they are, in pieces if the row group has pieces."""
    if isinstance(group, PieceReader):
        yield from (piece.columns for piece in group.pieces((), dict.fromkeys(names)))
    else:
        yield group.read(names)
