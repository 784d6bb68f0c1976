# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Runs of a training function in this process: released numbers, or a failure description without any data."""

from collections.abc import Callable
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any

import numpy as np

from dperm.audit.black_box.sample import Truths, real_numbers
from dperm.errors import DataError
from dperm.noise.arrays import Floats
from dperm.privacy import Release

FITTED = ("coef_", "intercept_")


def released_numbers(returned: object) -> Floats:
    """Return the released numbers of an array, a number, a `Release`, or a fitted model.

    A fitted model gives ``coef_`` and ``intercept_`` as one vector. An array of (steps, ...) keeps its shape, so
    statistics can compare steps. Errors name types only, because the original error may repeat data.
    """
    if isinstance(returned, Release):
        return released_numbers(returned.value)
    if returned is None:
        raise DataError(
            "train returned None, but it must return the released numbers.",
            remedy="Check that train has a return statement.",
        )
    found = _read(returned)
    if found is None:
        raise DataError(
            argument="train",
            rule="must return the released numbers: an array, or a model with coef_ and intercept_",
            got=f"an object of type {type(returned).__name__}",
        )
    if not found.size:
        raise DataError(argument="train", rule="must return at least one released number", got="none")
    return np.atleast_1d(found)


def _read(returned: object) -> Floats | None:
    """Return the numbers, or None if the object cannot be read as numbers."""
    try:
        parts = [getattr(returned, name, None) for name in FITTED]
    except Exception:  # the error of a property may repeat data
        return None
    read = [real_numbers(part) for part in parts if part is not None]
    if not read:
        return real_numbers(returned)
    known = [part.ravel() for part in read if part is not None]
    return np.concatenate(known) if len(known) == len(read) else None


@dataclass(frozen=True)
class Trainings:
    """Training function with its two data sets."""

    train: Callable[[Any], object]
    with_record: object
    without_record: object


@dataclass(frozen=True)
class Failure:
    """Description of a failed training run, without the error message, because the message may repeat data."""

    message: str


def run_trainings(trainings: Trainings, included: Truths) -> Floats | Failure:
    """Return one row for each run, or the first failure."""
    rows: list[Floats] = []
    for side in included.tolist():
        found = _run_once(trainings, side)
        if isinstance(found, Failure):
            return found
        rows.append(found)
    shapes = {row.shape for row in rows}
    return np.stack(rows) if len(shapes) == 1 else Failure(str(shape_error(shapes)))


def _run_once(trainings: Trainings, side: bool) -> Floats | Failure:
    """Train once, and return the released numbers or a failure."""
    try:
        returned = trainings.train(trainings.with_record if side else trainings.without_record)
    except Exception as error:
        return _failure(error)
    try:
        return released_numbers(returned)
    except DataError as error:
        return Failure(str(error))


def require_success(found: Floats | Failure) -> Floats:
    """Return the outputs; raise ``DataError`` for a failure."""
    if isinstance(found, Failure):
        raise DataError(found.message)
    return found


def shape_error(shapes: set[tuple[int, ...]]) -> DataError:
    """Return the error for runs that release different numbers of values."""
    return DataError(
        f"train must release the same number of values in every run, got arrays of the shapes {sorted(shapes)}."
    )


def _failure(error: Exception) -> Failure:
    """Describe an error of ``train`` by its type and its innermost known location."""
    frames = [(frame.f_code.co_name, line) for frame, line in walk_tb(error.__traceback__)]
    name, line = frames[-1]
    return Failure(
        f"train failed with {type(error).__name__} in line {line} of {name}; its message may repeat data and is not "
        f"shown. Call train on each of the two data sets directly to see it. A training run that can fail reveals "
        f"information about its data by failing."
    )
