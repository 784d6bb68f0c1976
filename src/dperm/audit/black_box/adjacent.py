# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Check that two data sets are neighbours under the claimed adjacency, as far as they can be compared.

A claim covers only neighbouring data sets, so telling other data sets apart refutes nothing. Errors report sizes, never
values.
"""

import numpy as np
from numpy.typing import NDArray

from dperm.errors import ParameterError
from dperm.privacy import Adjacency

Rows = list[NDArray[np.generic]]
"""Columns, or blocks of columns, of a data set; all of the same length."""

WORDS = {
    Adjacency.ADD_REMOVE: "one is the other without one of its records",
    Adjacency.REPLACE_ONE: "they have as many records, and one of these differs",
}


def require_neighbours(with_record: object, without_record: object, adjacency: Adjacency) -> None:
    """Raise ``ParameterError`` for comparable data sets that are not neighbours; accept incomparable ones unchecked."""
    one, other = rows_of(with_record), rows_of(without_record)
    if one is None or other is None or not _alike(one, other):
        return
    try:
        problem = _problem(one, other, adjacency)
    except Exception:  # of entries that cannot be compared
        return
    if problem:
        raise ParameterError(
            f"with_record and without_record must be neighbours under the claimed adjacency {adjacency.value}: "
            f"{WORDS[adjacency]}; got {problem}. Claims say nothing about other data sets, and would be refuted "
            f"falsely."
        )


def rows_of(data: object) -> Rows | None:
    """Return the parts of a data set, or None if its records cannot be compared.

    An array or a list is one part. A tuple of arrays or lists of equal length, such as (X, y), has several. A table (a
    pandas DataFrame) has its values. A list of two lists is ambiguous and is not compared.
    """
    if isinstance(data, list) and len(data) == 2 and all(hasattr(part, "__len__") for part in data):
        return None
    if (
        isinstance(data, tuple)
        and data
        and all(hasattr(part, "__len__") and not isinstance(part, str) for part in data)
    ):
        parts = [rows_of(list(part) if isinstance(part, tuple) else part) for part in data]
        joined = [one for part in parts if part is not None for one in part]
        return joined if len(joined) == len(data) and len({len(one) for one in joined}) == 1 else None
    if isinstance(data, list | tuple | np.ndarray) or hasattr(data, "iloc"):
        return _array(data)
    return None


def _array(data: object) -> Rows | None:
    """Return the data as one array, or None; never raise, because the error may repeat private values."""
    try:
        found = np.asarray(data)
    except Exception:
        return None
    return [found] if found.ndim else None


def _alike(one: Rows, other: Rows) -> bool:
    """Whether records have the same parts and shapes in both data sets."""
    return len(one) == len(other) and all(a.shape[1:] == b.shape[1:] for a, b in zip(one, other, strict=True))


def _problem(one: Rows, other: Rows, adjacency: Adjacency) -> str:
    sizes = sorted([len(one[0]), len(other[0])])
    is_added = adjacency is Adjacency.ADD_REMOVE
    if sizes[1] - sizes[0] != int(is_added):
        return f"{len(one[0])} and {len(other[0])} records"
    if not is_added:
        differing = int(np.count_nonzero(~_same(one, other)))
        return "" if differing <= 1 else f"{differing} records that differ"
    longer, shorter = (one, other) if len(one[0]) > len(other[0]) else (other, one)
    same = _same([part[:-1] for part in longer], shorter)
    place = int(np.argmin(same)) if not same.all() else len(same)
    rest = _same([part[place + 1 :] for part in longer], [part[place:] for part in shorter])
    return "" if rest.all() else "other records that differ, or stand in another order"


def _same(one: Rows, other: Rows) -> NDArray[np.bool_]:
    """Return a mask of equal records, with NaN equal to NaN."""
    found = np.ones(len(one[0]), dtype=np.bool_)
    for a, b in zip(one, other, strict=True):
        equal = np.asarray((a == b) | ((a != a) & (b != b)), dtype=np.bool_)
        found &= equal.all(axis=tuple(range(1, equal.ndim)))
    return found
