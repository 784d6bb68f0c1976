# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of private values: they raise for the data holder, name the rule, and say nothing about the value."""

from numbers import Integral, Number
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.errors import DataError
from dperm.noise.arrays import Floats

Records = TypeVar("Records", list[object], Floats)
Numbers = float | Floats
"""What is released: a float for a number, an array for anything else."""

LARGEST_INTEGER = 2**53
"""Larger integers are not all doubles: rounding them could move neighbours apart."""


def real_array(name: str, values: ArrayLike) -> Floats:
    """``values`` as doubles, exactly, in an array of their own: real, finite numbers that are doubles already.

    Raises
    ------
    DataError
        Otherwise. The message names the argument and the rule, and no other exception is chained to it: that one might
        show a value.
    """
    array = extended_array(name, values)
    if not np.isfinite(array).all():
        raise DataError(f"{name} must be finite: NaN and infinities have no place in a release. Clean them first.")
    return array


def extended_array(name: str, values: ArrayLike) -> Floats:
    """The same, NaN and infinities included."""
    _refuse_masks(name, values)
    array = _array(values)
    if array is None or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            f"{name} must be real numbers in single or double precision, or integers, in rows of equal length. Convert "
            f"first: np.asarray({name}, dtype=float)."
        )
    if not _exact(array, values):
        raise DataError(f"{name} must be integers of at most 2^53 in magnitude: larger ones are not exact doubles.")
    return array.astype(np.float64)  # a copy: nobody changes it between the checks and the noise


def items(name: str, values: ArrayLike) -> list[object]:
    """One Python object per record, at least one.

    A list is read item by item: as an array, one string among numbers would turn all of them into strings, and one
    record would change how the others are read.
    """
    _refuse_masks(name, values)
    found = list(values) if isinstance(values, list | tuple) else _listed(values)
    if found is None or any(isinstance(item, list | np.ndarray) for item in found):
        raise DataError(f"{name} must be one-dimensional: one item per record.")
    return filled(name, found)


def filled(name: str, found: Records) -> Records:
    """``found``, if there is a record in it."""
    if not len(found):
        raise DataError(f"{name} must hold at least one record: nothing can be learnt from none.")
    return found


def vector(name: str, values: ArrayLike, dim: int) -> Floats:
    """``values`` as doubles, if there are exactly ``dim`` of them, in whatever shape."""
    array = real_array(name, values)
    if array.size != dim:
        entries = "one number" if dim == 1 else f"{dim} numbers"
        raise DataError(
            f"{name} must be {entries}, as the mechanism was calibrated for dim={dim}. Calibrate with dim= the "
            f"number of entries that are released."
        )
    return array


def integral(name: str, values: Floats) -> Floats:
    """``values``, if they are whole numbers."""
    if not (np.rint(values) == values).all():
        raise DataError(f"{name} must be whole numbers. Use LaplaceMechanism for others.")
    return values


def plain(values: Floats) -> Numbers:
    """A float if ``values`` has no dimensions."""
    return float(values) if values.ndim == 0 else values


def _refuse_masks(name: str, values: ArrayLike) -> None:
    """Numpy drops the mask of what it converts: what was hidden would be released."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise DataError(f"{name} must not be masked: the mask would be lost. Give {name}.compressed().")


def _array(values: ArrayLike) -> NDArray[Any] | None:
    """``values`` as numpy reads them, or None; whatever was raised on the way is forgotten."""
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
    """Whether no integer among ``values`` is rounded on its way to a double.

    numpy makes doubles of a list in which integers and floats are mixed, or integers of both signs that 64 bits do not
    hold: there the items are looked at, if any could be too large.
    """
    if not array.size or array.dtype.itemsize < 8:
        return True
    if array.dtype.kind in "iu":
        return bool(-LARGEST_INTEGER <= array.min() and array.max() <= LARGEST_INTEGER)
    if not isinstance(values, list | tuple) or np.abs(array).max() < LARGEST_INTEGER:
        return True
    return _exact_items(values)


def _exact_items(values: ArrayLike) -> bool:
    """Whether every leaf of a list is a plain number, and no integer among them is too large."""
    try:
        inside = np.asarray(values, dtype=object).ravel().tolist()
    except Exception:
        return False
    if not all(isinstance(item, Number | np.generic) for item in inside):
        return False  # an array of no dimensions, for one, would hide an integer
    return not any(isinstance(item, Integral) and abs(int(item)) > LARGEST_INTEGER for item in inside)
