# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Features and labels of a classifier as arrays in single precision, read by `dperm.data.inputs`.

Messages name a column and a rule, and never quote the data.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dperm.data import inputs
from dperm.data.nonfinite import column_description, nonfinite_columns
from dperm.data.targets import DROP
from dperm.errors import DataError, DataTypeError

Features = NDArray[np.float32]
LARGEST = float(np.finfo(np.float32).max)


def features_of(X: Any, *, finite: bool, public: bool = False) -> Features:
    """Return ``X`` in single precision, one row for each record, as a copy.

    Parameters
    ----------
    X
        Array, or pandas, polars or Arrow table.
    finite
        Whether to refuse NaN, infinities and numbers beyond single precision.
    public
        Whether the number of rows is public, so that messages may contain it.

    Raises
    ------
    DataError
        If ``X`` is sparse, is not two-dimensional, has no rows, contains anything but numbers, or is not finite.
    """
    if sparse.issparse(X):
        raise DataTypeError("Sparse data were passed for X, but dense data are required.", remedy="Use X.toarray().")
    table = inputs.two_dimensional(X)
    names = inputs.names_of(table)
    inputs.checked_shape(table, public=public)
    with np.errstate(over="ignore"):
        single = np.array(inputs.numeric(table), dtype=np.float32, order="C")  # a copy: rows may be marked in it
    places = nonfinite_columns(single) if finite else []
    if places:
        raise DataError(
            f"X must be finite, but {column_description(places[0], names)} has NaN, infinite values (inf) or values "
            f"beyond {LARGEST:.1e}.",
            remedy=f"Impute them with public constants, or, to learn, give {DROP}.",
        )
    return single


def labels_of(y: Any, rows: int) -> NDArray[Any]:
    """Return ``y`` as a 1-D array with one label for each of ``rows`` records.

    Raises
    ------
    DataError
        If ``y`` is not one-dimensional, or does not have one label per record.
    """
    labels = inputs.labels_of(inputs.required(y))
    if len(labels) != rows:
        raise DataError("X and y must have the same length: inconsistent numbers of samples.")
    return labels
