# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of private data; messages state the rule, never a value, a row or a count.

Each record is read independently of the others.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.errors import DataError
from dperm.mechanisms.values import extended_array, non_empty, real_array
from dperm.noise.arrays import Floats
from dperm.presentation.spelling import arg

NAME = "data"
ASSUMED = "at least one"
"""Public assumption about the number of records under either relation: an empty data set is refused."""

NOWHERE = -1
"""Position of a record outside all categories."""


def column(data: ArrayLike) -> Floats:
    """Return one finite number per record."""
    return _single(real_array(NAME, data))


def extended_column(data: ArrayLike) -> Floats:
    """Return one number per record; NaN and infinities are allowed."""
    return _single(extended_array(NAME, data))


def flags(data: ArrayLike) -> NDArray[np.bool_]:
    """Return one truth value per record: True or False, 1 or 0."""
    values = column(data)
    if not ((values == 0) | (values == 1)).all():
        raise DataError(
            argument=NAME,
            rule="must be True or False (or 1 or 0) for every record",
            remedy="Compare first, as in ages >= 18.",
        )
    return np.asarray(values == 1)


def rows(data: ArrayLike, dim: int) -> Floats:
    """Return ``dim`` finite numbers per record."""
    values = real_array(NAME, data)
    if values.ndim != 2 or values.shape[1] != dim:
        raise DataError(argument=NAME, rule=f"must be two-dimensional: one row of {arg('dim', dim)} numbers per record")
    return non_empty(NAME, values)


def require_records(found: int, n: int | None) -> None:
    """Check the number of records against the declared number, if it is public."""
    if n is not None and found != n:
        raise DataError(f"{arg('n', n)} was declared, but {NAME} has a different number of records.")


def places(name: str, found: list[Any], categories: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the position of each item among the categories, `NOWHERE` for others."""
    indices = _looked_up(found, {category: place for place, category in enumerate(categories)})
    if indices is None:
        raise DataError(argument=name, rule="must be hashable values, such as strings or integers")
    return indices


def _single(values: Floats) -> Floats:
    if values.ndim != 1:
        raise DataError(argument=NAME, rule="must be one-dimensional: one number per record")
    return non_empty(NAME, values)


def _looked_up(found: list[Any], table: dict[Hashable, int]) -> NDArray[np.intp] | None:
    """Return the position of each item, or None if one is not hashable.

    Its exception is suppressed, as it may quote data.
    """
    try:
        return np.array([table.get(item, NOWHERE) for item in found], dtype=np.intp)
    except Exception:
        return None
