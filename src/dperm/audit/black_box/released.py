# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of a training's return value to the released numbers."""

import numpy as np

from dperm.audit.black_box.sample import real_numbers
from dperm.errors import DataError
from dperm.noise.arrays import Floats
from dperm.privacy import Release

FITTED = ("coef_", "intercept_")


def numbers(returned: object) -> Floats:
    """Return the released numbers of an array, a number, a `Release`, or a fitted model.

    A fitted model gives ``coef_`` and ``intercept_`` as one vector. An array of (steps, ...) keeps its shape, so
    statistics can compare steps. Errors name types only, because the original error may repeat data.
    """
    if isinstance(returned, Release):
        return numbers(returned.value)
    if returned is None:
        raise DataError("train returned None: it must return what is released. Is a return missing?")
    found = _read(returned)
    if found is None:
        raise DataError(
            f"train must return the released numbers: an array, or a model with coef_ and intercept_, got an object of "
            f"type {type(returned).__name__}."
        )
    if not found.size:
        raise DataError("train must return the released numbers, one at least, got none.")
    return np.atleast_1d(found)


def _read(returned: object) -> Floats | None:
    """Return the numbers, or None if the object cannot be read as numbers."""
    try:
        parts = [getattr(returned, name, None) for name in FITTED]
    except Exception:  # a property may fail, in words of its data
        return None
    read = [real_numbers(part) for part in parts if part is not None]
    if not read:
        return real_numbers(returned)
    known = [part.ravel() for part in read if part is not None]
    return np.concatenate(known) if len(known) == len(read) else None
