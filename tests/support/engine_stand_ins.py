# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Row groups, an encoder and kernels for tests of engines; picklable, and importable on workers."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dperm.data.grid_rows import GridRows, RowGrid
from dperm.data.passes import HeldGroup, Place, Sums, TablePasses, checksum_of
from dperm.data.row_groups import numeric_matrix_of
from dperm.data.space import FeatureSpace
from dperm.errors import DataError

COLUMNS = ("x0", "x1", "x2")
GRID = RowGrid(FeatureSpace(3, bounds=((-4, 4), (-4, 4), (-4, 4))))
SECRET = 271_828_182_845


@dataclass(frozen=True)
class ArrayGroup:
    """Rows of an array as a row group; the labels are their last column."""

    id: str
    cells: np.ndarray

    def read(self, columns: Sequence[str]) -> dict[str, Any]:
        return dict(zip((*COLUMNS, "y"), self.cells.T, strict=True))


@dataclass(frozen=True)
class RowsInMemory:
    """Encoded row group."""

    id: str
    held: GridRows
    checksum: int
    problems: frozenset[str] = frozenset()

    @property
    def rows(self) -> int:
        return self.held.count

    def chunks(self) -> Iterator[tuple[int, GridRows]]:
        for start in range(0, self.rows, 100):
            yield start, self.held.part(start, start + 100)


def encode(group: Any) -> RowsInMemory:
    codes = np.asarray(group.read(["y"])["y"], dtype=np.int8)
    held, _ = GRID.rows(numeric_matrix_of(group, COLUMNS), codes)
    return RowsInMemory(group.id, held, checksum_of(held))


@dataclass(frozen=True)
class Noisy:
    """Encoder whose rows are others each time: a row group that changes."""

    def __call__(self, group: Any) -> RowsInMemory:
        held, _ = GRID.rows(np.full((2, 3), time.monotonic_ns() % 4001 / 1000), np.zeros(2, np.int8))
        return RowsInMemory(group.id, held, checksum_of(held))


@dataclass(frozen=True, repr=False)
class Moments:
    """Kernel: number of rows, sums of the columns weighted by codes, and sums that depend on the place."""

    weights: np.ndarray = field(default_factory=lambda: np.array([1, 2, 3]))

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        cells = rows.cells.astype(np.int64)
        places = place.start + np.arange(rows.count)
        return Sums(
            rows=np.array([rows.count]),
            sums=(rows.codes @ cells) * self.weights,
            places=np.array([places @ cells[:, 0] % 2**40]),
        )


@dataclass(frozen=True, repr=False)
class Failing(Moments):
    """Kernel that quotes a cell in its exception, in one row group; ``times`` is a folder for a limited number."""

    group: str = "group 1"
    most: int = 2**30
    times: Path | None = None

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        if place.group == self.group and (self.times is None or claimed(self.times, self.most)):
            try:
                [][SECRET]
            except IndexError:
                raise ValueError(f"secret {SECRET}") from KeyError(f"cause {SECRET}")
        return super().__call__(rows, place)


@dataclass(frozen=True, repr=False)
class Refusing(Moments):
    """Kernel that raises an error of dperm."""

    times: Path = Path()
    most: int = 1

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        if place.group == "group 1" and claimed(self.times, self.most):
            raise DataError(argument="column 'age'", rule="must hold numbers")
        return super().__call__(rows, place)


@dataclass(frozen=True, repr=False)
class Killing(Moments):
    """Kernel that kills its worker, at most ``most`` times."""

    times: Path = Path()
    most: int = 1

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        if claimed(self.times, self.most):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(rows, place)


def claimed(folder: Path, most: int) -> bool:
    """Whether this is one of the first ``most`` calls of all processes."""
    for number in range(most):
        try:
            (folder / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        return True
    return False


@dataclass(frozen=True)
class Partition:
    """Rows of a cut of one table, as a data frame; ``times`` is a folder with a file for each call."""

    index: str = "0"
    times: Path | None = None

    def __call__(self, cut: tuple[int, int]) -> Any:
        import pandas as pd

        if self.times is not None:
            claimed(self.times, 99)
        cells = groups([100])[0].cells[slice(*cut)]
        return pd.DataFrame(cells, columns=[*COLUMNS, "y"], index=np.arange(*cut) + int(self.index))


def groups(sizes: Sequence[int], seed: int = 0) -> list[ArrayGroup]:
    """Return one table, cut into groups of these sizes."""
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.normal(size=(sum(sizes), 3)), rng.integers(0, 2, sum(sizes))])
    cuts = np.cumsum([0, *sizes])
    return [ArrayGroup(f"group {i}", cells[cuts[i] : cuts[i + 1]]) for i in range(len(sizes))]


def passes_over(held: Any, table: Sequence[Any]) -> TablePasses:
    """Return passes whose manifest is read."""
    passes = TablePasses(held, tuple(group.id for group in table))
    passes.read_manifest()
    return passes


class InProcess:
    """Engine of this process; ``answers`` may change the stream of answers of each pass."""

    name = "in process"

    def __init__(self, answers: Any = lambda answers, number: answers) -> None:
        self.answers = answers

    def hold(self, encode: Any, groups: Sequence[Any]) -> "HeldInProcess":
        return HeldInProcess([encode(group) for group in groups], self.answers)


class HeldInProcess:
    def __init__(self, held: list[HeldGroup], answers: Any) -> None:
        self.held, self.answers, self.number = held, answers, 0

    def run(self, task: Any) -> Iterator[Any]:
        self.number += 1
        yield from self.answers([task(group) for group in self.held], self.number)

    def close(self) -> None:
        self.held = []
