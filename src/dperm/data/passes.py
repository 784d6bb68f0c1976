# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Passes over row groups: a pure function of the rows of each group, run by an engine, and added by the driver (T203).

The *driver* is the process that holds budget, noise and solver. It sends a *kernel* to every row group and adds the
results. A kernel returns `Sums`, vectors of integers, so the sum does not depend on the row groups, their order, or
repeated tasks. An engine only has to run functions: everything that the guarantee rests on is checked here, by
`TablePasses`. The driver accepts one result of each row group in a pass, in any order, and refuses a result whose rows
or checksum differ from the manifest (T206).
"""

import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dperm.data.grid_rows import GridRows
from dperm.errors import DataError

T = TypeVar("T")


class Sums(dict[str, NDArray[np.int64]]):
    """Named vectors of integers, added entry by entry."""

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums of both, name by name."""
        return Sums({name: self[name] + other[name] for name in self})


class Place(NamedTuple):
    """Position of some rows: the id of their row group, and the number of the first of them within the group."""

    group: str
    start: int


class Kernel(Protocol):
    """Picklable function of some rows. Results of the parts of a row group are added by ``+``."""

    def __call__(self, rows: GridRows, place: Place) -> Any:
        """Return `Sums`, or a list of selected rows."""


class HeldGroup(Protocol):
    """Encoded rows of one row group, wherever an engine holds them."""

    @property
    def id(self) -> str:
        """Id of the row group."""

    @property
    def rows(self) -> int:
        """Number of rows; private."""

    @property
    def checksum(self) -> int:
        """Checksum of the encoded rows; private."""

    @property
    def problems(self) -> frozenset[str]:
        """Names of columns that break a rule; ``LABELS`` for the labels."""

    def chunks(self) -> Iterator[tuple[int, GridRows]]:
        """Yield the rows in chunks, each with the number of its first row within the group."""


class HeldGroups(Protocol):
    """Encoded row groups of one table, held by an engine."""

    def run(self, task: Callable[[HeldGroup], T]) -> Iterator[T]:
        """Yield ``task(group)`` for every group, in any order; repeated results are allowed."""

    def close(self) -> None:
        """Free the memory or the files of the rows."""


class TableEngine(Protocol):
    """Runner of tasks. It knows nothing of sums, noise or budgets.

    A lost group is encoded again by the engine; `TablePasses` compares its checksum.
    """

    name: str

    def hold(self, encode: Callable[[Any], HeldGroup], groups: Sequence[Any]) -> HeldGroups:
        """Run ``encode`` on every row group, and hold the results until `HeldGroups.close`."""


@dataclass(frozen=True)
class GroupAnswer:
    """Result of a task on one row group, with the facts that the driver compares."""

    id: str
    number: int
    rows: int = field(repr=False)
    checksum: int = field(repr=False)
    value: Any = field(repr=False)


@dataclass(frozen=True)
class GroupTask:
    """Kernel of the pass ``number``, applied to all chunks of a held group; picklable."""

    kernel: Kernel | None
    number: int

    def __call__(self, group: HeldGroup) -> GroupAnswer:
        """Return the kernel's result for the whole group; without a kernel, the problems of the group."""
        if self.kernel is None:
            value: Any = sorted(group.problems)
        else:
            results = (self.kernel(rows, Place(group.id, start)) for start, rows in self._chunks(group))
            value = total(results)
        return GroupAnswer(group.id, self.number, group.rows, group.checksum, value)

    def _chunks(self, group: HeldGroup) -> Iterator[tuple[int, GridRows]]:
        """Return the chunks of the group; a kernel that selects rows reads a part of a scratch file only."""
        wants = getattr(self.kernel, "wants", None)
        within = getattr(group, "chunks_within", None)
        if wants is None or within is None:
            return group.chunks()
        found: Iterator[tuple[int, GridRows]] = within(lambda start, stop: wants(Place(group.id, start), stop - start))
        return found


def total(results: Iterable[Any]) -> Any:
    """Return the sum of results by ``+``; None if there are none."""
    whole = None
    for result in results:
        whole = result if whole is None else whole + result
    return whole


def first_number() -> int:
    """Return the number before the first pass of a fit, at random: late answers of other fits have other numbers."""
    return uuid.uuid4().int >> 66


@dataclass
class TablePasses:
    """Passes over held row groups, with the checks that make a sum complete (T206).

    Attributes
    ----------
    held
        Row groups held by an engine.
    ids
        Ids of all row groups, in the order of the table.
    """

    held: HeldGroups
    ids: tuple[str, ...]
    number: int = field(default_factory=first_number)
    manifest: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False)

    def read_manifest(self) -> Mapping[str, Sequence[str]]:
        """Run the first pass; return the problems of each row group, in the order of the table."""
        answers = self._answers(None)
        self.manifest = {name: (answers[name].rows, answers[name].checksum) for name in self.ids}
        return {name: answers[name].value for name in self.ids}

    @property
    def rows(self) -> int:
        """Number of all rows, which is private under add/remove."""
        return sum(rows for rows, _ in self.manifest.values())

    @property
    def offsets(self) -> dict[str, int]:
        """Number of the first row of each group."""
        return first_rows({name: self.manifest[name][0] for name in self.ids})

    def run(self, kernel: Kernel) -> Any:
        """Return the sum of the kernel's results over all row groups, in the order of the table.

        Raises
        ------
        DataError
            If a row group is missing or changed. The message names the row group, and no cell.
        """
        answers = self._answers(kernel)
        for name, expected in self.manifest.items():
            if (answers[name].rows, answers[name].checksum) != expected:
                raise changed_group(name)
        return total(found for name in self.ids if (found := answers[name].value) is not None)

    def close(self) -> None:
        """Free the encoded rows. Further passes fail."""
        self.held.close()

    def _answers(self, kernel: Kernel | None) -> dict[str, GroupAnswer]:
        """Return one answer of every row group: the first one of this pass."""
        self.number += 1
        answers = self.held.run(GroupTask(kernel, self.number))
        return {answer.id: answer for answer in first_answers(answers, self.ids, self.number)}


class Identified(Protocol):
    """Answer with the id of its row group and the number of its pass."""

    @property
    def id(self) -> str:
        """Id of the row group."""

    @property
    def number(self) -> int:
        """Number of the pass."""


Found = TypeVar("Found", bound=Identified)


def first_answers(answers: Iterable[Found], ids: Sequence[str], number: int) -> Iterator[Found]:
    """Yield the first answer of each row group in the pass ``number``, in any order.

    Raises
    ------
    DataError
        After the last answer, if a row group has none.
    """
    missing = dict.fromkeys(ids)
    for answer in answers:
        if answer.number == number and answer.id in missing:
            del missing[answer.id]
            yield answer
    for name in missing:
        raise DataError(
            f"row group {name!r} was not read to its end: the engine returned no result for it.",
            remedy="Check that the workers run and can read the row group.",
        )


def first_rows(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the number of the first row of each row group, from the numbers of rows in the order of the table."""
    firsts = accumulate(counts.values(), initial=0)
    return dict(zip(counts, firsts, strict=False))  # the last sum is the number of all rows


def changed_group(name: str) -> DataError:
    """Return the error for a row group that is not the same when it is read again."""
    return DataError(
        f"row group {name!r} has changed since it was first read.",
        remedy="Train on files that nobody writes to, and on a computation that returns the same rows each time.",
    )


def checksum_of(rows: GridRows) -> int:
    """Return a checksum of rows, lengths and codes, equal for equal rows in the same order."""
    cells = rows.cells
    arrays = [cells] if isinstance(cells, np.ndarray) else [cells.data, cells.indices, cells.indptr]
    found = rows.count
    for array in (*arrays, rows.lengths, rows.codes):
        found = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, found)
    return found
