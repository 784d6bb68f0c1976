# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One column, whatever holds it, as numbers or text with gaps.

Reading is a function of one record at a time: whether integers have become doubles because another record has a gap,
or objects because another record is text, changes nothing of what a record is read as.
"""

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats

Texts = NDArray[np.object_]
"""Strings, floats, and None for gaps."""
Column = Floats | Texts

GAPS = {"NoneType", "NAType", "NaTType"}
"""Types of markers for something missing; pandas's are known by name, since pandas is not imported here."""
_NUMBERS, _ITEMS = "biuf", "OUT"
"""Kinds of numpy arrays that are numbers, and that are read item by item. Dates, bytes and complex are neither."""


@runtime_checkable
class _Chunked(Protocol):
    """An Arrow array in pieces."""

    num_chunks: int

    def iterchunks(self) -> Iterable[object]: ...


def read(values: object) -> Column | None:
    """``values`` as doubles (NaN for gaps) or, if there is text among them, as strings, floats and None for gaps.

    None if they are not one-dimensional, or hold anything but numbers, truth values (0 and 1), text and gaps; whatever
    was raised on the way is forgotten, since it might show a value.
    """
    try:
        return _column(_array(values))
    except MemoryError:
        raise
    except Exception:
        return None


def _array(values: object) -> NDArray[Any]:
    if isinstance(values, _Chunked):
        # Piece by piece: as a whole, pyarrow fills the gaps of a dictionary with its last entry.
        return np.concatenate([np.empty(0, dtype=bool), *(np.asarray(chunk) for chunk in values.iterchunks())])
    if isinstance(values, list | tuple):
        return _objects(list(values))
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in _NUMBERS + _ITEMS:
        return _objects(values.tolist())  # None for what is masked
    return np.asarray(values)


def _column(array: NDArray[Any]) -> Column | None:
    if array.ndim != 1 or array.dtype.kind not in _NUMBERS + _ITEMS:
        return None
    if array.dtype.kind in _ITEMS:
        return _read_items(array.tolist())
    with np.errstate(over="ignore"):  # beyond doubles is infinite
        return array.astype(np.float64, copy=False)


def _read_items(items: list[Any]) -> Column | None:
    kinds = set(map(type, items))
    if str in kinds and kinds <= {str, type(None)}:  # as below, at once
        return _objects(items)
    readers = {kind: _reader(kind) for kind in kinds}
    if None in readers.values():
        return None
    found = [readers[type(item)](item) for item in items]  # type: ignore[misc]  # none is None
    return _objects(found) if any(issubclass(kind, str) for kind in kinds) else np.array(found, dtype=np.float64)


def _reader(kind: type) -> Callable[[Any], str | float | None] | None:
    """How items of a type are read; None if they are not."""
    if kind.__name__ in GAPS:
        return lambda gap: None
    if issubclass(kind, str):
        return str.__str__  # the text itself, also of an Enum
    return _number if issubclass(kind, Real | Decimal | np.bool_) else None


def _number(item: Any) -> float | None:
    try:
        number = float(item)
    except OverflowError:  # beyond doubles is infinite
        number = math.inf if item > 0 else -math.inf
    return None if math.isnan(number) else number


def _objects(items: list[Any]) -> Texts:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
