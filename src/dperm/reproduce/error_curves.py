# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Test errors of perturbed logistic regression as a function of one parameter: measurement, table and curves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.report.pictures import Curve, Kind
from dperm.reproduce.lesson import Cell, Effort, LessonTable
from dperm.reproduce.perturbed_logistic import JMLR, OURS, OUTPUT, PRINTED, STANDARD, Task, draws, errors_of
from dperm.reproduce.spheres import SETS

ALGORITHMS = (OUTPUT, PRINTED, JMLR, OURS)
COLUMNS = (*ALGORITHMS, STANDARD)
TEST = 20_000
"""Number of test records."""
SAMPLES = 3
BANDS = "bands: two standard errors"


@dataclass(frozen=True)
class ErrorMeasurement:
    """Errors of single runs of every algorithm, on one data set and one task."""

    name: str
    task: Task
    errors: dict[str, Floats]

    def mean(self, algorithm: str) -> float:
        """Return the mean error of an algorithm over the runs."""
        return float(self.errors[algorithm].mean())

    def margin(self, algorithm: str) -> float:
        """Return two standard errors of the mean."""
        errors = self.errors[algorithm]
        return 2 * float(errors.std(ddof=1)) / math.sqrt(len(errors))


def measured(tasks: Sequence[Task], effort: Effort, *, runs: int) -> list[ErrorMeasurement]:
    """Measure all tasks on both data sets, with ``runs`` draws of the noise on each of three samples.

    All tasks share the same draws.
    """
    found: list[ErrorMeasurement] = []
    for name in SETS:
        for task in tasks:
            found.append(_point(name, task, draws(runs * SAMPLES, task.dim, effort.seed), effort.seed))
            effort.progress(len(found) / (len(SETS) * len(tasks)))
    return found


def _point(name: str, task: Task, noise: Floats, seed: int) -> ErrorMeasurement:
    sample = SETS[name](TEST + SAMPLES * task.n, task.dim, seed)
    test, parts = sample.at(slice(TEST)), []
    for place, h in enumerate(np.split(noise, SAMPLES)):
        start = TEST + place * task.n
        parts.append(errors_of(task, sample.at(slice(start, start + task.n)), test, noise=h, algorithms=ALGORITHMS))
    return ErrorMeasurement(name, task, {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS})


def table(points: Sequence[ErrorMeasurement], varied: str, column: str) -> LessonTable:
    """Return the mean errors, one row per data set and task; ``varied`` is the varying field of the task."""
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        means = (round(point.mean(name), 4) for name in COLUMNS)
        rows.append((point.name, getattr(point.task, varied), point.task.strength, *means))
    return LessonTable(("set", column, "n lambda", *COLUMNS), tuple(rows))


def curves(points: Sequence[ErrorMeasurement], varied: str, name: str) -> tuple[Curve, ...]:
    """Return the mean errors on one data set, with bands of two standard errors."""
    here = [point for point in points if point.name == name]
    x = tuple(float(getattr(point.task, varied)) for point in here)
    found = []
    for algorithm in COLUMNS:
        y = [point.mean(algorithm) for point in here]
        margins = [point.margin(algorithm) for point in here]
        low, high = (tuple(a + side * b for a, b in zip(y, margins, strict=True)) for side in (-1, 1))
        found.append(Curve(algorithm, x, y=tuple(y), kind=kind_of(algorithm), low=low, high=high))
    return tuple(found)


def kind_of(algorithm: str) -> Kind:
    """Return the kind of an algorithm's curve; the printed algorithm is not private in general."""
    return "wrong" if algorithm == PRINTED else "measured"
