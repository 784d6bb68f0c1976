# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Features and labels of a classifier as arrays. Messages name a column and a rule, and nothing that is in the data.

Messages of other libraries repeat cells and shapes: whatever they raise is replaced, and not even kept as a context.
Where scikit-learn's checks expect certain words, they are in the message.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dperm.data.blocks import column_in_words, odd_columns
from dperm.data.reading import read
from dperm.data.tables import column_names, is_table, numeric_matrix
from dperm.errors import DataError, DataTypeError, ParameterError

Features = NDArray[np.float32]
LARGEST = float(np.finfo(np.float32).max)
_TWO_D = (
    "Expected 2D array: X must have a row for each record and a column for each feature. Reshape your data: "
    "X.reshape(-1, 1) if there is a single feature, X.reshape(1, -1) if there is a single record."
)
_NUMBERS = (
    "X must hold numbers in all columns: to be read as one, an argument must be a string of text to be encoded, or a "
    "real number. Convert text, dates and the like first."
)


def features_of(X: Any, *, finite: bool, public: bool = False) -> Features:
    """``X`` in single precision, a row for each record; ``finite`` refuses NaN and infinities, naming a column.

    A number beyond single precision counts as infinite. Messages tell the number of rows only where it is ``public``.
    """
    if sparse.issparse(X):
        raise DataTypeError("Sparse data were passed for X, but dense data are required. Use X.toarray().")
    names = column_names(X) if is_table(X) else None
    found = numeric_matrix(X)[0] if names is not None else _numbers(X)
    if found.ndim != 2:
        raise DataError(_TWO_D)
    if found.shape[1] == 0:
        shape = f" (shape=({found.shape[0]}, 0))" if public else ""
        raise ParameterError(f"X has 0 feature(s){shape} while a minimum of 1 is required. Give a column.")
    if found.shape[0] == 0:
        raise DataError("X has 0 sample(s) while a minimum of 1 is required: an empty data set teaches nothing.")
    with np.errstate(over="ignore"):
        single = np.array(found, dtype=np.float32, order="C")  # a copy: rows may be marked in it
    odd = odd_columns(single) if finite else []
    if odd:
        raise DataError(
            f"X must be finite, but {column_in_words(odd[0], names)} has NaN, infinite values (inf) or values "
            f'beyond {LARGEST:.1e}. Impute them with public constants, or, to learn, give invalid="drop".'
        )
    return single


def labels_of(y: Any, rows: int) -> NDArray[Any]:
    """``y`` as an array of one label for each of ``rows`` records."""
    if y is None:
        raise ParameterError("fit requires y to be passed, but the target y is None. Give the labels.")
    found = _listed(y) if isinstance(y, list | tuple) else _array(y, "y must be a 1d array of labels.")
    if found.ndim == 2 and found.shape[1] == 1:
        found = _raveled(found)
    if found.ndim != 1:
        raise DataError("y should be a 1d array of labels: one for each row of X.")
    if found.dtype.kind == "c":
        raise DataError("Complex data not supported: y must hold real numbers or text.")
    if len(found) != rows:
        raise DataError("X and y must have the same length: inconsistent numbers of samples.")
    return found


def _numbers(X: Any) -> NDArray[Any]:
    found = _array(X, _TWO_D)
    if found.dtype.kind == "c":
        raise DataError("Complex data not supported: X must hold real numbers. Give two columns for each.")
    if found.dtype.kind in "biuf":
        return found
    if found.dtype.kind == "O":
        with suppress(Exception):  # its words repeat a cell
            return found.astype(np.float64)
        columns = [read(values) for values in found.T] if found.ndim == 2 else [None]  # integers beyond doubles
        if columns and all(values is not None and values.dtype.kind == "f" for values in columns):
            return np.column_stack(columns)  # type: ignore[arg-type]  # none is None
    raise DataTypeError(_NUMBERS)


def _array(values: Any, rule: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise DataError("X and y must not be masked: the mask would be lost. Fill it by public constants first.")
    with suppress(Exception):  # what numpy says has shapes and cells in it
        return np.asarray(values)
    raise DataError(rule)


def _listed(items: Sequence[Any]) -> NDArray[Any]:
    """A list of labels, each as it is: as one array, one string would turn all numbers into strings."""
    if any(isinstance(item, list | tuple | np.ndarray) for item in items):
        return _array(items, "y must be a 1d array of labels.")
    found = np.empty(len(items), dtype=object)
    found[:] = [item.item() if isinstance(item, np.generic) else item for item in items]
    return found


def _raveled(column: NDArray[Any]) -> NDArray[Any]:
    """A column of labels in one dimension, with scikit-learn's own warning."""
    from sklearn.utils import column_or_1d

    return np.asarray(column_or_1d(column, warn=True))
