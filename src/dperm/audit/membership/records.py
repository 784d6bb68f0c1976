# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Validation of the records passed to membership attacks."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.audit.arrays import as_array, numbers
from dperm.data.arrays import Floats
from dperm.errors import ParameterError

Pair = tuple[ArrayLike, ArrayLike]
"""Records as a pair (X, y)."""
Labels = NDArray[np.generic]


def records(name: str, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Labels]:
    """Return X and y as arrays; raise ``ParameterError`` unless X is finite and has as many rows as labels."""
    first, second = ("X", "y") if name == "X, y" else (f"X of {name}", f"y of {name}")
    rows, labels = numbers(first, X, dims=None), as_array(second, y)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise ParameterError(
            f"{name} must be X of shape (n, d) and y of shape (n,), got {rows.shape} and {labels.shape}."
        )
    if not labels.size:
        raise ParameterError(f"{name} must hold one record at least, got none.")
    if not _sortable(labels):
        raise ParameterError(f"{second} must be labels of one type, numbers or text, and none missing.")
    return rows, labels


def _sortable(labels: Labels) -> bool:
    try:
        np.unique(labels)
    except TypeError:  # of objects of several types, None among them
        return False
    return True


def pair(name: str, given: Pair) -> tuple[Floats, Labels]:
    """Return X and y of a pair as `records` does; raise ``ParameterError`` unless it is a pair."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ParameterError(f"{name} must be a pair (X, y), got an object of type {type(given).__name__}.")
    return records(name, *given)


def signs_of(y: Labels) -> Floats:
    """Map two classes, in sorted order, to -1 and +1; raise ``ParameterError`` for any other number of classes."""
    kinds = np.unique(y)
    if len(kinds) != 2:
        raise ParameterError(
            f"y must have two classes for logistic regression, got {len(kinds)}. Use lira with a factory."
        )
    signs: Floats = np.where(y == kinds[1], 1.0, -1.0)
    return signs
