# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of features scaled down to a norm, each on its own (T44)."""

import numpy as np

from dperm.data.arrays import Floats


def scaled_down(rows: Floats, norm: float) -> Floats:
    """Return the rows with longer ones scaled down, so that every row has L2 norm at most ``norm``.

    Lengths are rounded, so rows within rounding errors of ``norm`` are scaled down as well.

    Parameters
    ----------
    rows
        Finite rows.
    norm
        Largest norm.
    """
    longest = norm * (1 - (rows.shape[1] + 16) * 2.0**-52)
    largest = np.max(np.abs(rows), axis=1, initial=0.0, keepdims=True)
    shape = rows / np.where(largest > 0, largest, 1.0)  # squares of its entries do not overflow
    length = np.sqrt((shape * shape).sum(axis=1, keepdims=True))  # at least 1, unless the row is zero
    with np.errstate(over="ignore"):
        is_long = largest * length > longest
    return np.where(is_long, shape * (longest / np.where(length > 0, length, 1.0)), rows)
