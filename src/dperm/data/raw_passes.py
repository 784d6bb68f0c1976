# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Several passes over the raw columns of a table in row groups, which must not change in between (T203, T206).

A private preparation reads the same records several times: to check them, to count, and to encode them. Each pass is a
pure function of the columns of each row group, as in `dperm.data.column_passes`. In addition, the driver keeps the
number of rows of each row group and a checksum of each column, and refuses a row group that differs in a later pass.

Columns in canonical form are read cell by cell, so the cuts into row groups and pieces change no cell (T72).
"""

import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dperm.data.canonical import CanonicalColumn, canonical_column
from dperm.data.column_passes import PairwiseSum, UnreadGroup
from dperm.data.columns import AnyColumn, Categorical, Unseen
from dperm.data.large_tables import Table
from dperm.data.passes import HeldGroups, changed_group, first_answers, first_number, first_rows
from dperm.data.row_groups import RowGroup, in_row_group, pieces_of
from dperm.data.table_part import part_of_column
from dperm.errors import DataError

RAW = Categorical((), other=True, canonical=True)
"""Declaration of a column that is read in canonical form."""
Columns = Mapping[str, Any]
"""Columns of some records by name: canonical columns, or arrays for columns with another declaration."""
ChosenRows = Callable[[int, int], NDArray[np.int64]]
"""Picklable function that returns the chosen row numbers from a first one up to a last one, in ascending order."""


class RecordFunction(Protocol):
    """Picklable function of the columns of some records."""

    def __call__(self, columns: Columns) -> Any:
        """Return the result for at least one record; None if there is none to add.

        Raises
        ------
        DataError
            If a record breaks a rule. The message names the column, and no value.
        """


@dataclass
class GroupFacts:
    """Number of rows of a row group, and checksums of its columns; both are private.

    Attributes
    ----------
    rows
        Number of rows.
    checksums
        Checksum of each column, by its name and the way in which it was read.
    """

    rows: int = 0
    checksums: dict[tuple[str, str], int] = field(default_factory=dict)

    def differs(self, other: "GroupFacts") -> bool:
        """Whether the number of rows differs, or the checksum of a column that both have read."""
        common = self.checksums.keys() & other.checksums.keys()
        return self.rows != other.rows or any(self.checksums[key] != other.checksums[key] for key in common)

    def digest(self, keys: Sequence[tuple[str, str]]) -> tuple[int, int]:
        """Return the number of rows, and one checksum for several columns."""
        found = (self.checksums.get(key, 0) for key in keys)
        return self.rows, zlib.crc32(np.fromiter(found, np.int64).tobytes())


@dataclass(frozen=True)
class RecordReader:
    """Picklable reader of the columns of a row group.

    Attributes
    ----------
    declared
        Declarations of the columns to read, by name; `RAW` for canonical form.
    unseen
        Treatment of values outside declarations that are not canonical, as in `PublicEncoder.transform`.
    chosen
        Chosen rows of the table; None for all rows.
    offsets
        Number of the first row of each row group; not used if all rows are chosen.
    """

    declared: Mapping[str, AnyColumn]
    unseen: Unseen = "other"
    chosen: ChosenRows | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Key of each column among the checksums."""
        return tuple((name, "" if one.canonical else self.unseen) for name, one in self.declared.items())

    def pieces(self, group: RowGroup, facts: GroupFacts) -> Iterator[Columns]:
        """Yield the columns of the chosen rows in pieces, and add all rows to ``facts``."""
        facts.checksums.update(dict.fromkeys(self.keys, 0))
        for piece in pieces_of(group, (), self.declared, unseen=self.unseen):
            cells = {name: canonical_column(values) for name, values in piece.columns.items()}
            lengths = {len(column) for column in cells.values()}
            if len(lengths) != 1:
                raise DataError("all columns of the table must have the same length.")
            start = facts.rows
            facts.rows += lengths.pop()
            for key in self.keys:
                facts.checksums[key] = _checksum(cells[key[0]], facts.checksums[key])
            columns = {
                name: cells[name] if one.canonical else piece.columns[name] for name, one in self.declared.items()
            }
            if self.chosen is None:
                yield columns
                continue
            first = self.offsets[group.id]
            places = self.chosen(first + start, first + facts.rows) - (first + start)
            if len(places):
                yield {name: part_of_column(values, places) for name, values in columns.items()}


class RecordAnswer(NamedTuple):
    """Result of one row group: its facts with the value of the function, or a problem."""

    id: str
    number: int
    facts: GroupFacts
    value: Any = None
    problem: DataError | None = None


@dataclass(frozen=True)
class RecordTask:
    """Task that applies a function to the records of a row group, and adds the results of its pieces; picklable.

    A broken rule is part of the answer: the driver raises the error of the first row group in the order of the table.
    """

    function: RecordFunction
    add: Callable[[Any, Any], Any]
    reader: RecordReader
    number: int

    def __call__(self, held: Any) -> RecordAnswer:
        """Return the answer of a held row group."""
        group: RowGroup = held.group
        facts, sums = GroupFacts(), PairwiseSum(self.add)
        try:
            with np.errstate(all="ignore"):  # settings of the worker decide nothing
                for columns in self.reader.pieces(group, facts):
                    if (found := self.function(columns)) is not None:
                        sums.append(found)
                return RecordAnswer(group.id, self.number, facts, sums.total())
        except DataError as error:
            return RecordAnswer(group.id, self.number, GroupFacts(), problem=in_row_group(error, group.id))


class RawPasses:
    """Passes over the raw columns of one table, with the checks that make a sum complete.

    Parameters
    ----------
    table
        Table with its engine.

    Attributes
    ----------
    known
        Facts of each row group, from the passes up to now; private.

    Notes
    -----
    *Guarantees.* In each pass, each row group counts once, whatever the order and the repetitions of the engine's
    answers. A row group is refused if its number of rows or a column differs from an earlier pass (T206). If the
    function is additive, the result does not depend on the cuts into row groups and pieces (T203).
    """

    def __init__(self, table: Table) -> None:
        self.table, self.known = table, dict[str, GroupFacts]()
        self._held: HeldGroups | None = None
        self._number = first_number()

    @property
    def rows(self) -> int:
        """Number of rows of the table, after a pass; private under add/remove."""
        return sum(facts.rows for facts in self.known.values())

    @property
    def offsets(self) -> dict[str, int]:
        """Number of the first row of each row group, after a pass."""
        return first_rows({group.id: self.known[group.id].rows for group in self.table.groups})

    def digests(self, keys: Sequence[tuple[str, str]]) -> dict[str, tuple[int, int]]:
        """Return the number of rows and one checksum of several columns for each row group."""
        return {name: facts.digest(keys) for name, facts in self.known.items()}

    def reader(
        self, declared: Mapping[str, AnyColumn], *, unseen: Unseen = "other", chosen: ChosenRows | None = None
    ) -> RecordReader:
        """Return the reader of some columns; rows can be chosen after a first pass, once their numbers are known."""
        return RecordReader(declared, unseen, chosen, {} if chosen is None else self.offsets)

    def run(self, function: RecordFunction, reader: RecordReader, *, add: Callable[[Any, Any], Any]) -> Any:
        """Return the sum of a function over all chosen records, in one pass; None if there are no results.

        Parameters
        ----------
        function
            Function of the columns of some records.
        reader
            Reader of the columns, from `reader`.
        add
            Picklable, commutative and associative sum of two results.

        Raises
        ------
        DataError
            If a row group is missing, cannot be read, breaks a rule or has changed. The message names the row group,
            and no cell. Of several, it is the first one in the order of the table.
        """
        self._number += 1
        if self._held is None:
            self._held = self.table.engine.hold(UnreadGroup, self.table.groups)
        task = RecordTask(function, add, reader, self._number)
        ids = tuple(group.id for group in self.table.groups)
        waiting, answered, sums = deque(ids), dict[str, RecordAnswer](), PairwiseSum(add)
        with closing(_iterator(self._held.run(task))) as answers:
            for answer in first_answers(answers, ids, self._number):
                if answer.value is not None:
                    sums.append(answer.value)
                answered[answer.id] = answer._replace(value=None)
                while waiting and waiting[0] in answered:
                    self._accept(answered[waiting.popleft()])
        return sums.total()

    def close(self) -> None:
        """Free all that the engine holds."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _accept(self, answer: RecordAnswer) -> None:
        """Keep the facts of a row group; raise its problem, or DataError if it has changed."""
        if answer.problem is not None:
            raise answer.problem
        known = self.known.setdefault(answer.id, answer.facts)
        if known.differs(answer.facts):
            raise changed_group(answer.id)
        known.checksums.update(answer.facts.checksums)


def _iterator(answers: Any) -> Any:
    """Yield the answers of an engine; the generator can be closed."""
    yield from answers


def _checksum(column: CanonicalColumn, found: int) -> int:
    """Return the checksum of the cells of a column, continued from those before."""
    found = zlib.crc32(np.ascontiguousarray(column.numbers).view(np.uint8).data, found)
    if not column.texts:
        return found
    found = zlib.crc32(np.ascontiguousarray(column.codes).view(np.uint8).data, found)
    return zlib.crc32("\0".join(column.texts).encode(), found)
