# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Check the arrays passed to an audit: numeric dtype, expected number of dimensions, no NaN.

Errors name the argument but never repeat a value or chain a conversion error, because records are private.
"""

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError

_SHAPES: dict[int | None, str] = {0: "a", 1: "a list of", 2: "a matrix of"}


def numbers(name: str, values: object, *, dims: int | None = 1, finite: bool = True, remedy: str = "") -> Floats:
    """Return ``values`` as an array of doubles.

    ``dims`` is the required number of dimensions, or None for any. With ``finite=False`` infinities are allowed, but
    NaN is still an error. Text, objects, complex numbers and ragged lists are errors.
    """
    found = as_array(name, values)
    wrong = _wrong(found, dims, finite=finite)
    if wrong:
        what = f"{_SHAPES.get(dims, 'an array of')} {'finite ' if finite else ''}number{'' if dims == 0 else 's'}"
        raise ParameterError(argument=name, rule=f"must be {what}", got=wrong, remedy=remedy)
    return found.astype(np.float64)


def truths(name: str, values: object, *, dims: int | None = 1) -> Mask:
    """Return ``values`` as a boolean array; a one-dimensional list of integers 0 and 1 is accepted too."""
    found = as_array(name, values)
    if found.dtype.kind in "iu" and found.ndim == dims == 1 and np.isin(found, (0, 1)).all():
        found = found.astype(np.bool_)
    if found.dtype != np.bool_ or dims not in (None, found.ndim):
        raise ParameterError(
            argument=name,
            rule=f"must be {_SHAPES.get(dims, 'an array of')} True and False",
            got=f"an array of {_kind(found)} of shape {found.shape}",
        )
    return found.astype(np.bool_, copy=False)


def as_array(name: str, values: object) -> NDArray[np.generic]:
    """Convert ``values`` to an array; raise ``ParameterError``, without the original error, if the conversion fails."""
    try:
        return np.asarray(values)
    except Exception:
        message = f"{name} must be an array, or lists of equal length, got an object of type {type(values).__name__}."
    raise ParameterError(message)  # outside of the clause: what went wrong may repeat private values


def _wrong(found: NDArray[np.generic], dims: int | None, *, finite: bool) -> str:
    """Describe the first reason for rejecting the array (dtype, shape, NaN, infinity), or return ""."""
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
