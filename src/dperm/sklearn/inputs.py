# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Features and labels as the user gives them, as arrays.

Messages of other libraries repeat cells, rows and shapes. Whatever they raise on the way is replaced by a DataError
that names the column and the rule, and no other exception is chained to it, not even as a context. Where
scikit-learn's checks expect certain words, they are in the message.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dperm.data.blocks import INFINITE, column_in_words, odd_columns
from dperm.data.reading import read
from dperm.data.tables import column_names, is_table, numeric_matrix
from dperm.errors import DataError, DataTypeError, ParameterError

Labels = NDArray[Any]
Names = Sequence[str] | None

_TWO_D = (
    "Expected 2D array: X must have a row for each record and a column for each feature. Reshape your data: "
    "X.reshape(-1, 1) if there is a single feature, X.reshape(1, -1) if there is a single record."
)
IMPUTE = (
    'Impute them with public constants: PublicTableEncoder with impute=, or SimpleImputer(strategy="constant", '
    "fill_value=..., keep_empty_features=True)."
)
_MASKED = "X and y must not be masked: the mask would be lost. Fill it by public constants first."
_ONE_D = "y should be a 1d array of labels: one for each row of X."
_COMPLEX = "Complex data not supported: X and y must hold real numbers. Give real and imaginary parts as two columns."


def two_dimensional(X: Any) -> Any:
    """``X`` with a shape of rows and columns: a sparse matrix, a table or an array, its cells not read yet."""
    if sparse.issparse(X):
        if X.ndim != 2:
            raise DataError(_TWO_D)
        return X
    found = X if _is_table(X) else _array(X, _TWO_D)
    if len(found.shape) != 2:
        raise DataError(_TWO_D)
    return found


def names_of(X: Any) -> Names:
    """The names of the columns of a table, all different; None for arrays."""
    if not _is_table(X):
        return None
    names = column_names(X)
    if len(set(names)) < len(names):
        raise ParameterError("the columns of X must have different names: rename those that occur more than once.")
    return names


def checked_shape(
    X: Any, otherwise: str = "an empty data set teaches nothing.", *, public: bool = False
) -> tuple[int, int]:
    """Rows and columns, at least one of each; messages tell the number of rows only where it is ``public``."""
    rows, columns = (int(size) for size in X.shape)
    if columns == 0:
        raise no_columns(rows if public else None)
    if rows == 0:
        raise DataError(f"X has 0 sample(s) while a minimum of 1 is required: {otherwise}")
    return rows, columns


def no_columns(rows: int | None) -> ParameterError:
    """The error for X without columns, in scikit-learn's words; ``rows`` is None where their number is private."""
    shape = "" if rows is None else f" (shape=({rows}, 0))"
    return ParameterError(f"X has 0 feature(s){shape} while a minimum of 1 is required. Give at least one column.")


def numeric(X: Any) -> Any:
    """``X`` as a 2-D array of floats or a compressed sparse row matrix; floats are not copied.

    Raises
    ------
    DataError
        If a column holds anything but real numbers.
    """
    if sparse.issparse(X):
        return _floating(X.tocsr())
    if _is_table(X):
        return np.asarray(X) if _one_block(X) else numeric_matrix(X)[0]
    return _from_objects(X) if X.dtype.kind == "O" else _floating(X)


def required(y: Any) -> Any:
    """``y``, if it is given."""
    if y is None:
        raise ParameterError("fit requires y to be passed, but the target y is None. Give the labels.")
    return y


def labels_of(y: Any) -> Labels:
    """``y`` as a 1-D array, every label read on its own: None where an object is no label.

    As an array, one string in a list of numbers would turn all of them into strings, and one record would change how
    the others are read.
    """
    found = _one_dimensional(y)
    return _each_read(found) if found.dtype.kind not in "biufU" else found


def numbers_of(y: Any) -> Labels:
    """``y`` as a 1-D array of numbers, every object read on its own: NaN where it is none."""
    found = _one_dimensional(y)
    if found.dtype.kind == "O" and not all(isinstance(item, str | bytes) for item in found.tolist()):
        return np.array([_number(item) for item in found.tolist()], dtype=np.float64)
    if found.dtype.kind not in "biuf":
        raise DataError("y must hold real numbers. Convert text, dates and the like first.")
    with np.errstate(over="ignore"):  # beyond doubles is infinite
        return found.astype(np.float64, copy=False)


def require_finite(X: Any, names: Names) -> None:
    """Refuse NaN and infinities in rows to predict, naming the first column that has one."""
    odd = odd_columns(X)
    if odd:
        found = X[:, [odd[0]]]
        values = found if isinstance(found, np.ndarray) else found.data
        has, remedy = (
            ("NaN", IMPUTE)
            if np.isnan(values).any()
            else (INFINITE, "Replace them by finite numbers, such as the bounds of the column.")
        )
        raise DataError(f"X must be finite, but {column_in_words(odd[0], names)} has {has}. {remedy}")


def _is_table(X: Any) -> bool:
    return is_table(X) and not isinstance(X, Mapping)


def _array(values: Any, rule: str) -> NDArray[Any]:
    """``values`` as numpy reads them."""
    rows = values if isinstance(values, list | tuple) else ()
    if any(isinstance(part, np.ma.MaskedArray) for part in (values, *rows)):
        raise DataError(_MASKED)
    with suppress(Exception):  # what numpy says has shapes and cells in it, and would stay as a context
        return np.asarray(values)
    raise DataError(rule)


def _floating(array: Any) -> Any:
    """An array or sparse matrix of single or double precision."""
    if array.dtype.kind == "c":
        raise DataError(_COMPLEX)
    if array.dtype.kind not in "biuf":
        raise DataError("X must hold numbers in all columns. Convert text, dates and the like first.")
    return array if array.dtype in (np.float64, np.float32) else array.astype(np.float64)


def _one_block(X: Any) -> bool:
    """Whether a pandas frame is of one floating type: numpy then sees it without a copy."""
    types = {str(kind) for kind in getattr(X, "dtypes", ())}
    return types in ({"float64"}, {"float32"})


def _from_objects(array: NDArray[Any]) -> NDArray[np.float64]:
    """An array of objects, column by column."""
    found = [read(array[:, place]) for place in range(array.shape[1])]
    for place, values in enumerate(found):
        if values is None:
            raise DataTypeError(
                f"{column_in_words(place, None)} of X must hold numbers: to be read as one, an argument must be a "
                f"string of text to be encoded, or a real number. Convert it first."
            )
        if values.dtype.kind == "O":
            raise DataError(
                f"{column_in_words(place, None)} of X must hold numbers, and has text. Give X as a data frame and "
                f"declare the categories of the column in dperm.sklearn.PublicTableEncoder, or leave the column out."
            )
    return np.column_stack(found)  # type: ignore[arg-type]  # none is None


def _one_dimensional(y: Any) -> NDArray[Any]:
    """``y`` as a 1-D array: sequences that are no arrays as objects, a single column raveled."""
    if sparse.issparse(y):
        raise DataError("y must be a 1d array of labels, not a sparse matrix.")
    listed = isinstance(y, Sequence) and not isinstance(y, str | bytes)
    found = _objects(y) if listed else _array(_whole(y), "y must be a 1d array of labels.")
    if found.dtype.kind == "c":
        raise DataError(_COMPLEX)
    if found.ndim == 2 and found.shape[1] == 1:
        found = _raveled(found)
    if found.ndim != 1:
        raise DataError(_ONE_D)
    return found


def _raveled(column: NDArray[Any]) -> NDArray[Any]:
    """A column of labels in one dimension, with scikit-learn's own warning."""
    from sklearn.utils import column_or_1d

    return np.asarray(column_or_1d(column, warn=True))


def _whole(y: Any) -> Any:
    """An Arrow array in pieces as one array; converted as a whole, gaps of a dictionary would become its last entry."""
    pieces = getattr(y, "iterchunks", None)
    if pieces is None:
        return y
    with suppress(Exception):  # of dates, for instance, which numpy does not put beside truth values
        return np.concatenate([np.empty(0, dtype=bool), *map(np.asarray, pieces())])
    raise DataError("y must hold labels that numpy can put into one array. Convert dates and the like first.")


def _objects(items: Sequence[object]) -> NDArray[Any]:
    """A list of labels, each as it is: what is odd about one must not change how others are read.

    In one dimension, or in two if it is a list of rows of one label, so that scikit-learn's warning is given.
    """
    if any(isinstance(item, np.ma.MaskedArray) for item in items):
        raise DataError(_MASKED)
    labels = [_unwrapped(item) for item in items]
    if labels and all(isinstance(label, list | tuple | np.ndarray) for label in labels):
        raise DataError(_ONE_D)
    found = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):  # at once, numpy would look into a label that is a sequence
        found[place] = label
    return found[:, np.newaxis] if labels and all(map(_is_row, items)) else found


def _unwrapped(item: Any) -> Any:
    """The one entry of an array without dimensions, or of a row of a column; anything else as it is."""
    if isinstance(item, np.ndarray) and item.ndim == 0:
        return item.item()
    return item[0] if _is_row(item) else item


def _is_row(item: Any) -> bool:
    """Whether it is a row of a column: one entry."""
    return item.shape[:1] == (1,) if isinstance(item, np.ndarray) else isinstance(item, list | tuple) and len(item) == 1


def _each_read(objects: NDArray[Any]) -> NDArray[Any]:
    """Strings, truth values and numbers; None for anything else."""
    read_labels = [item if _is_label(item) else None for item in objects.tolist()]
    return _objects(read_labels)


def _is_label(item: object) -> bool:
    with suppress(Exception):  # a number of somebody's own may raise anything, with anything in it
        return isinstance(item, str) or (isinstance(item, Real | np.bool_) and bool(item == item))
    return False


def _number(item: object) -> float:
    """A real number as a double; NaN for anything else."""
    if not isinstance(item, Real | Decimal | np.bool_):
        return math.nan
    with suppress(Exception):  # beyond doubles, a NaN that signals, or a number of somebody's own that raises
        return float(item)
    return math.nan
