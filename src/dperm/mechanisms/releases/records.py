# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of private data: they name the rule, and never a value, a row or a count.

Reading is a function of one record at a time: what becomes of a record does not depend on the others.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.errors import DataError
from dperm.mechanisms.values import extended_array, filled, real_array
from dperm.noise.arrays import Floats

NAME = "data"
ASSUMED = "at least one"
"""What is assumed public about the number of records, under either relation: an empty data set is refused."""

NOWHERE = -1
"""The place of a record that is in none of the categories."""


def column(data: ArrayLike) -> Floats:
    """One finite number per record."""
    return _single(real_array(NAME, data))


def extended_column(data: ArrayLike) -> Floats:
    """One number per record, NaN and infinities included."""
    return _single(extended_array(NAME, data))


def flags(data: ArrayLike) -> NDArray[np.bool_]:
    """One truth value per record: True or False, 1 or 0."""
    values = column(data)
    if not ((values == 0) | (values == 1)).all():
        raise DataError(f"{NAME} must be True or False (or 1 or 0) for every record. Compare first: ages >= 18.")
    return np.asarray(values == 1)


def rows(data: ArrayLike, dim: int) -> Floats:
    """``dim`` finite numbers per record."""
    values = real_array(NAME, data)
    if values.ndim != 2 or values.shape[1] != dim:
        raise DataError(f"{NAME} must be two-dimensional: one row of dim={dim} numbers per record.")
    return filled(NAME, values)


def require_records(found: int, n: int | None) -> None:
    """The number of records is the one that the release was planned with, where that is public."""
    if n is not None and found != n:
        raise DataError(f"n={n} was declared, but {NAME} has a different number of records.")


def places(name: str, found: list[Any], categories: Sequence[Hashable]) -> NDArray[np.intp]:
    """The place of each item among the categories; `NOWHERE` for any other. A dictionary holds one place for it."""
    indices = _looked_up(found, {category: place for place, category in enumerate(categories)})
    if indices is None:
        raise DataError(f"{name} must be hashable values, such as strings or integers.")
    return indices


def _single(values: Floats) -> Floats:
    if values.ndim != 1:
        raise DataError(f"{NAME} must be one-dimensional: one number per record.")
    return filled(NAME, values)


def _looked_up(found: list[Any], table: dict[Hashable, int]) -> NDArray[np.intp] | None:
    """The place of each item, or None if one has no hash; what it raised is forgotten."""
    try:
        return np.array([table.get(item, NOWHERE) for item in found], dtype=np.intp)
    except Exception:
        return None
