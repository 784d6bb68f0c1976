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
    """What the auditor is told of a training that failed: never the message of its error, which may repeat data."""

    words: str


def trained(trainings: Trainings, included: Truths) -> Floats | Failure:
    """One row for each run, or the first failure."""
    rows: list[Floats] = []
    for side in included.tolist():
        found = _once(trainings, side)
        if isinstance(found, Failure):
            return found
        rows.append(found)
    shapes = {row.shape for row in rows}
    return np.stack(rows) if len(shapes) == 1 else Failure(str(different(shapes)))


def _once(trainings: Trainings, side: bool) -> Floats | Failure:
    """One run: what was released, or what to say."""
    try:
        returned = trainings.train(trainings.with_record if side else trainings.without_record)
    except Exception as error:
        return _failure(error)
    try:
        return numbers(returned)
    except DataError as error:
        return Failure(str(error))


def succeeded(found: Floats | Failure) -> Floats:
    """The outputs, unless a run failed."""
    if isinstance(found, Failure):
        raise DataError(found.words)
    return found


def different(shapes: set[tuple[int, ...]]) -> DataError:
    """The refusal of runs that release different amounts of numbers."""
    return DataError(f"train must release as many numbers in every run, got arrays of the shapes {sorted(shapes)}.")


def _failure(error: Exception) -> Failure:
    """The type of an error of ``train``, and the innermost place that is known."""
    frames = [(frame.f_code.co_name, line) for frame, line in walk_tb(error.__traceback__)]
    name, line = frames[-1]
    return Failure(
        f"train failed with {type(error).__name__} in line {line} of {name}; its message may repeat data and is not "
        f"shown. Call train on each of the two data sets by hand to see it. A training that can fail tells about its "
        f"data by failing."
    )
