# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Test errors of perturbed logistic regression over a number that varies: how they are measured, listed and drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.report.pictures import Curve, Kind
from dperm.reproduce.lesson import Cell, Effort, Table
from dperm.reproduce.perturbed_logistic import JMLR, OURS, OUTPUT, PRINTED, STANDARD, Task, draws, errors_of
from dperm.reproduce.spheres import SETS

ALGORITHMS = (OUTPUT, PRINTED, JMLR, OURS)
COLUMNS = (*ALGORITHMS, STANDARD)
TEST = 20_000
"""Records that tell the error; they are learnt from by nobody."""
SAMPLES = 3
BANDS = "bands: two standard errors"


@dataclass(frozen=True)
class Point:
    """The errors of every algorithm on one set at one task: of single runs."""

    name: str
    task: Task
    errors: dict[str, Floats]

    def mean(self, algorithm: str) -> float:
        """The mean over the runs."""
        return float(self.errors[algorithm].mean())

    def margin(self, algorithm: str) -> float:
        """Two standard errors of it."""
        errors = self.errors[algorithm]
        return 2 * float(errors.std(ddof=1)) / math.sqrt(len(errors))


def measured(tasks: Sequence[Task], effort: Effort, *, runs: int) -> list[Point]:
    """On both sets, ``runs`` draws of the noise on each of three samples: the same draws for every task."""
    found: list[Point] = []
    for name in SETS:
        for task in tasks:
            found.append(_point(name, task, draws(runs * SAMPLES, task.dim, effort.seed), effort.seed))
            effort.progress(len(found) / (len(SETS) * len(tasks)))
    return found


def _point(name: str, task: Task, noise: Floats, seed: int) -> Point:
    sample = SETS[name](TEST + SAMPLES * task.n, task.dim, seed)
    test, parts = sample.at(slice(TEST)), []
    for place, h in enumerate(np.split(noise, SAMPLES)):
        start = TEST + place * task.n
        parts.append(errors_of(task, sample.at(slice(start, start + task.n)), test, noise=h, algorithms=ALGORITHMS))
    return Point(name, task, {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS})


def table(points: Sequence[Point], varied: str, column: str) -> Table:
    """A row for each set and task, with the mean errors; ``varied`` is the field of the task that varies."""
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        means = (round(point.mean(name), 4) for name in COLUMNS)
        rows.append((point.name, getattr(point.task, varied), point.task.strength, *means))
    return Table(("set", column, "n lambda", *COLUMNS), tuple(rows))


def curves(points: Sequence[Point], varied: str, name: str) -> tuple[Curve, ...]:
    """The means on one set, with bands of two standard errors."""
    here = [point for point in points if point.name == name]
    x = tuple(float(getattr(point.task, varied)) for point in here)
    found = []
    for algorithm in COLUMNS:
        y = [point.mean(algorithm) for point in here]
        margins = [point.margin(algorithm) for point in here]
        low, high = (tuple(a + side * b for a, b in zip(y, margins, strict=True)) for side in (-1, 1))
        found.append(Curve(algorithm, x, tuple(y), kind_of(algorithm), low, high))
    return tuple(found)


def kind_of(algorithm: str) -> Kind:
    """How its curve is drawn: all are measured, and what is printed is not private in general."""
    return "wrong" if algorithm == PRINTED else "measured"
