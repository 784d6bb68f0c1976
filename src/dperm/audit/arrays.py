# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Arrays that users give to an audit, checked: numbers and nothing else, in the shape that was asked for.

Errors name the argument and never repeat a value, nor the error of a conversion that would: records are private.
"""

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError

_SHAPES: dict[int | None, str] = {0: "a", 1: "a list of", 2: "a matrix of"}


def numbers(name: str, values: object, *, dims: int | None = 1, finite: bool = True, remedy: str = "") -> Floats:
    """``values`` as doubles; ``dims`` is None for any shape, and without ``finite`` only NaN is refused.

    Text, objects, complex numbers, and lists of unequal length are no numbers.
    """
    found = as_array(name, values)
    wrong = _wrong(found, dims, finite=finite)
    if wrong:
        what = f"{_SHAPES.get(dims, 'an array of')} {'finite ' if finite else ''}number{'' if dims == 0 else 's'}"
        raise ParameterError(f"{name} must be {what}, got {wrong}.{' ' * bool(remedy)}{remedy}")
    return found.astype(np.float64)


def truths(name: str, values: object, *, dims: int | None = 1) -> Mask:
    """``values`` as an array of True and False, if it is one already, or a list of whole numbers 1 and 0."""
    found = as_array(name, values)
    if found.dtype.kind in "iu" and found.ndim == dims == 1 and np.isin(found, (0, 1)).all():
        found = found.astype(np.bool_)
    if found.dtype != np.bool_ or dims not in (None, found.ndim):
        raise ParameterError(
            f"{name} must be {_SHAPES.get(dims, 'an array of')} True and False, got an array of {_kind(found)} of "
            f"shape {found.shape}."
        )
    return found.astype(np.bool_, copy=False)


def as_array(name: str, values: object) -> NDArray[np.generic]:
    """``values`` as an array, if they can be one."""
    try:
        return np.asarray(values)
    except Exception:
        message = f"{name} must be an array, or lists of equal length, got an object of type {type(values).__name__}."
    raise ParameterError(message)  # outside of the clause: what went wrong may repeat private values


def _wrong(found: NDArray[np.generic], dims: int | None, *, finite: bool) -> str:
    """What keeps an array from being numbers, if anything."""
    if found.dtype.kind not in "biuf":
        return f"an array of {_kind(found)}" if found.ndim else _kind(found)
    if dims not in (None, found.ndim):
        return f"an array of shape {found.shape}"
    if np.isnan(found).any():
        return "NaN"
    return "infinity" if finite and np.isinf(found).any() else ""


def _kind(found: NDArray[np.generic]) -> str:
    kinds = {"U": "text", "S": "text", "T": "text", "O": "objects", "c": "complex numbers"}
    return kinds.get(found.dtype.kind, str(found.dtype))
