# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of private values: they raise for the data holder, name the rule, and say nothing about the value."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.errors import DataError

Floats = NDArray[np.float64]
Numbers = float | Floats
"""What is released: a float for a number, an array for anything else."""

LARGEST_INTEGER = 2**53
"""Larger integers are not all doubles: rounding them could move neighbours apart."""


def real_array(name: str, values: ArrayLike) -> Floats:
    """``values`` as doubles, exactly: real, finite numbers that are doubles already.

    Raises
    ------
    DataError
        Otherwise. The message names the argument and the rule; the cause is cut off, it might show a value.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(f"{name} must not be a masked array: its mask would be lost. Give {name}.compressed().")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            f"{name} must be real numbers in single or double precision, or integers, in rows of equal length. Convert "
            f"first: np.asarray({name}, dtype=float)."
        ) from None
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        _require_exact(name, array)
    converted = array.astype(np.float64, copy=False)
    if not np.isfinite(converted).all():
        raise DataError(f"{name} must be finite: NaN and infinities have no place in a release. Clean them first.")
    return converted


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


def _require_exact(name: str, integers: NDArray[np.signedinteger | np.unsignedinteger]) -> None:
    beyond = integers > LARGEST_INTEGER
    if integers.dtype.kind == "i":
        beyond |= integers < -LARGEST_INTEGER
    if beyond.any():
        raise DataError(f"{name} must be integers of at most 2^53 in magnitude: larger ones are not exact doubles.")
