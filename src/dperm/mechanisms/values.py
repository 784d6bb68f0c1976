# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of private values; messages are for the data holder and state the rule, never a value."""

from numbers import Integral, Number
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.errors import DataError
from dperm.noise.arrays import Floats
from dperm.presentation.spelling import arg

Records = TypeVar("Records", list[object], Floats)
Numbers = float | Floats
"""Released numbers: a float for a scalar, an array otherwise."""

LARGEST_INTEGER = 2**53
"""Limit of exact integers; rounding larger integers could increase the distance between neighbours."""


def real_array(name: str, values: ArrayLike) -> Floats:
    """Return ``values`` as a new array of doubles, if they are real, finite and exactly representable.

    Raises
    ------
    DataError
        If they are not. The message states the argument and the rule. No other exception is chained, since it might
        show a value.
    """
    array = extended_array(name, values)
    if not np.isfinite(array).all():
        raise DataError(argument=name, rule="must be finite", remedy="Remove NaN and infinities first.")
    return array


def extended_array(name: str, values: ArrayLike) -> Floats:
    """Return ``values`` as a new array of doubles; NaN and infinities are allowed."""
    _refuse_masks(name, values)
    array = _array(values)
    if array is None or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            argument=name,
            rule="must be integers or real numbers in single or double precision, in rows of equal length",
            remedy=f"Convert first: np.asarray({name}, dtype=float).",
        )
    if not _exact(array, values):
        raise DataError(
            argument=name, rule="must be integers of at most 2^53 in magnitude: larger ones are not exact doubles"
        )
    return array.astype(np.float64)  # a copy: other code cannot change it between the checks and the noise


def items(name: str, values: ArrayLike) -> list[object]:
    """Return one Python object per record, at least one.

    A list is read item by item. As an array, one string among numbers would turn all of them into strings, so one
    record would change the others.
    """
    _refuse_masks(name, values)
    found = list(values) if isinstance(values, list | tuple) else _listed(values)
    if found is None or any(isinstance(item, list | np.ndarray) for item in found):
        raise DataError(argument=name, rule="must be one-dimensional: one item per record")
    return non_empty(name, found)


def non_empty(name: str, found: Records) -> Records:
    """Return ``found`` if it holds at least one record."""
    if not len(found):
        raise DataError(argument=name, rule="must hold at least one record")
    return found


def vector(name: str, values: ArrayLike, dim: int) -> Floats:
    """Return ``values`` as doubles if there are exactly ``dim`` of them, in any shape."""
    array = real_array(name, values)
    if array.size != dim:
        entries = "one number" if dim == 1 else f"{dim} numbers"
        raise DataError(
            argument=name,
            rule=f"must be {entries}, since the mechanism is calibrated for {arg('dim', dim)}",
            remedy=f"Calibrate with {arg('dim')} equal to the number of released entries.",
        )
    return array


def require_whole(name: str, values: Floats) -> Floats:
    """Return ``values`` if they are whole numbers."""
    if not (np.rint(values) == values).all():
        raise DataError(argument=name, rule="must be whole numbers", remedy="Use LaplaceMechanism for others.")
    return values


def scalar_or_array(values: Floats) -> Numbers:
    """Return a float for a zero-dimensional array, the array otherwise."""
    return float(values) if values.ndim == 0 else values


def _refuse_masks(name: str, values: ArrayLike) -> None:
    """Refuse masked arrays: numpy drops the mask on conversion, so hidden values would be released."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise DataError(
            argument=name, rule="must not be masked: the mask would be lost", remedy=f"Give {name}.compressed()."
        )


def _array(values: ArrayLike) -> NDArray[Any] | None:
    """Return ``values`` as numpy reads them, or None on failure.

    Exceptions are suppressed, as they may quote values.
    """
    try:
        return np.asarray(values)
    except MemoryError:
        raise
    except Exception:
        return None


def _listed(values: ArrayLike) -> list[object] | None:
    try:
        array = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else object)
        return list(array) if array.ndim == 1 else None
    except MemoryError:
        raise
    except Exception:
        return None


def _exact(array: NDArray[Any], values: ArrayLike) -> bool:
    """Return whether no integer among ``values`` is rounded by the conversion to doubles.

    For a list of mixed integers and floats, or of integers beyond 64 bits, numpy converts to doubles at once. In such a
    list, the function checks each item if any could be too large.
    """
    if not array.size or array.dtype.itemsize < 8:
        return True
    if array.dtype.kind in "iu":
        return bool(-LARGEST_INTEGER <= array.min() and array.max() <= LARGEST_INTEGER)
    if not isinstance(values, list | tuple) or np.abs(array).max() < LARGEST_INTEGER:
        return True
    return _exact_items(values)


def _exact_items(values: ArrayLike) -> bool:
    """Return whether every leaf of a list is a plain number without an integer beyond `LARGEST_INTEGER`."""
    try:
        inside = np.asarray(values, dtype=object).ravel().tolist()
    except Exception:
        return False
    if not all(isinstance(item, Number | np.generic) for item in inside):
        return False  # a zero-dimensional array, for example, would hide an integer
    return not any(isinstance(item, Integral) and abs(int(item)) > LARGEST_INTEGER for item in inside)
