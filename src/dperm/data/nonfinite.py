# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Columns with cells that are not finite, and their descriptions in messages."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dperm.data.arrays import Mask

INFINITE = "infinite values (inf) or numbers beyond 1.8e+308, the largest double"
"""Description of cells that are infinite as doubles, for messages."""


def nonfinite_columns(rows: Any) -> list[int]:
    """Return the places of columns with NaN or infinities as doubles, in dense or sparse rows."""
    if isinstance(rows, np.ndarray):
        return [int(place) for place in np.flatnonzero(~_is_finite(rows).all(axis=0))]
    return [int(place) for place in np.unique(rows.indices[~_is_finite(rows.data)])]


def _is_finite(values: Any) -> Mask:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.isfinite(np.asarray(values, dtype=np.float64)))


def column_description(place: int, names: Sequence[str] | None) -> str:
    """Return "column" with its name, or with its place if there are no names."""
    return f"column {names[place]!r}" if names is not None else f"column {place}"
