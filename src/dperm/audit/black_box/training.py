# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Some runs of a training, in this process: their outputs, or what went wrong, without a word of the data."""

from collections.abc import Callable
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any

import numpy as np

from dperm.audit.black_box.released import numbers
from dperm.audit.black_box.sample import Truths
from dperm.errors import DataError
from dperm.noise.arrays import Floats


@dataclass(frozen=True)
class Trainings:
    """What is run, and on what."""

    train: Callable[[Any], object]
    with_record: object
    without_record: object


@dataclass(frozen=True)
class Failure:
    """An error of the training: its type and its place. Its message may repeat data, so it is not kept."""

    kind: str
    place: str

    @property
    def words(self) -> str:
        """What the auditor is told."""
        return (
            f"train failed with {self.kind} in {self.place}; its message may repeat data and is not shown. Call train "
            f"on each of the two data sets by hand to see it. A training that can fail tells about its data by failing."
        )


def trained(trainings: Trainings, included: Truths) -> Floats | Failure:
    """One row for each run, or the first failure."""
    rows: list[Floats] = []
    for side in included.tolist():
        try:
            returned = trainings.train(trainings.with_record if side else trainings.without_record)
        except Exception as error:
            return _failure(error)
        rows.append(numbers(returned))
    shapes = {row.shape for row in rows}
    if len(shapes) > 1:
        raise different(shapes)
    return np.stack(rows)


def succeeded(found: Floats | Failure) -> Floats:
    """The outputs, unless a run failed."""
    if isinstance(found, Failure):
        raise DataError(found.words)
    return found


def different(shapes: set[tuple[int, ...]]) -> DataError:
    """The refusal of runs that release different amounts of numbers."""
    return DataError(f"train must release as many numbers in every run, got arrays of the shapes {sorted(shapes)}.")


def _failure(error: Exception) -> Failure:
    """The innermost place that is known."""
    frames = [(frame.f_code.co_name, line) for frame, line in walk_tb(error.__traceback__)]
    name, line = frames[-1]
    return Failure(type(error).__name__, f"line {line} of {name}")
