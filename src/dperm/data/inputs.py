# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Features and labels given by the user, read as arrays.

Messages of other libraries repeat cells, rows and shapes. Errors raised by them are replaced by a DataError that names
the column and the rule. No other exception is chained to it, not even as a context. Some messages contain the words
that scikit-learn's estimator checks expect.
"""

import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dperm.data.encoded import EncodedMatrix
from dperm.data.identity import same_text
from dperm.data.nonfinite import INFINITE, column_description, nonfinite_columns
from dperm.data.tables import column_names, is_table, numeric_matrix, read_column, require_in_memory
from dperm.errors import DataError, DataTypeError, ParameterError

Labels = NDArray[Any]
Names = Sequence[str] | None

IMPUTE = (
    'Impute them with public constants: PublicTableEncoder with impute=, or SimpleImputer(strategy="constant", '
    "fill_value=..., keep_empty_features=True)."
)
_TWO_D = "Expected 2D array: X must have a row for each record and a column for each feature."
_RESHAPE = (
    "Reshape your data: X.reshape(-1, 1) if there is a single feature, X.reshape(1, -1) if there is a single record."
)
_MASKED = "X and y must not be masked, because the mask would be lost."
_FILL = "Fill masked entries with public constants first."
_ONE_D = "y should be a 1d array of labels: one for each row of X."
_COMPLEX = "Complex data not supported: X and y must hold real numbers."
_REAL_PARTS = "Give real and imaginary parts as two columns."
_CONVERT = "Convert text, dates and the like first."


@dataclass(frozen=True)
class RowsOnDemand:
    """Matrix of features that is computed when a fit reads it, after its plan and the check of its budget.

    Attributes
    ----------
    shape
        Numbers of rows and columns.
    compute
        Function that returns the matrix.
    """

    shape: tuple[int, int]
    compute: Callable[[], Any] = field(repr=False)

    def __len__(self) -> int:
        return self.shape[0]


def two_dimensional(X: Any) -> Any:
    """Return ``X`` as a sparse matrix, table or array with two dimensions, without reading its cells.

    Raises
    ------
    DataError
        If ``X`` has another number of dimensions, or is masked.
    ParameterError
        If ``X`` is not in memory.
    """
    if isinstance(X, RowsOnDemand):
        return X
    require_in_memory(X)
    if sparse.issparse(X):
        found = X.plain() if isinstance(X, EncodedMatrix) else X
    else:
        found = X if _is_frame(X) else _array(X, _TWO_D, _RESHAPE)
    if len(found.shape) != 2:
        raise DataError(_TWO_D, remedy=_RESHAPE)
    return found


def names_of(X: Any) -> Names:
    """Return the column names of a table, or None for an array.

    Raises
    ------
    ParameterError
        If two columns have the same name, also in different Unicode normal forms.
    """
    if not _is_frame(X):
        return None
    names = column_names(X)
    if len(set(map(same_text, names))) < len(names):
        raise ParameterError(
            "the columns of X must have different names; different Unicode normal forms of one name are not enough.",
            remedy="Rename those that occur more than once.",
        )
    return names


def checked_shape(
    X: Any, otherwise: str = "an empty data set teaches nothing.", *, public: bool = False
) -> tuple[int, int]:
    """Return the numbers of rows and columns, at least one of each.

    ``public`` says that the number of rows is public, so that messages may contain it.
    """
    rows, columns = (int(size) for size in X.shape)
    if columns == 0:
        shape = f" (shape=({rows}, 0))" if public else ""
        problem = f"X has 0 feature(s){shape} while a minimum of 1 is required."
        raise ParameterError(problem, remedy="Give at least one column.")
    if rows == 0:
        raise DataError(f"X has 0 sample(s) while a minimum of 1 is required: {otherwise}")
    return rows, columns


def numeric(X: Any) -> Any:
    """Return ``X`` as a 2-D array of floats or a compressed sparse row matrix, without copying floats.

    Raises
    ------
    DataError
        If a column holds anything but real numbers.
    """
    if isinstance(X, RowsOnDemand):
        return X.compute()
    if sparse.issparse(X):
        return _floating(X.tocsr())
    if _is_frame(X):
        return np.asarray(X) if _is_one_block(X) else numeric_matrix(X)[0]
    return _from_objects(X) if X.dtype.kind == "O" else _floating(X)


def required(y: Any) -> Any:
    """Return ``y``; raise ParameterError if it is None."""
    if y is None:
        raise ParameterError("fit requires y to be passed, but the target y is None.", remedy="Give the labels.")
    return y


def labels_of(y: Any) -> Labels:
    """Return ``y`` as a 1-D array of labels, with None for objects that are not labels.

    Every label is read on its own. numpy would turn all numbers of a list into strings because of one string, and one
    record would change how the others are read.
    """
    found = _one_dimensional(y)
    if found.dtype.kind in "biufU":
        return found
    items = found.tolist()
    if set(map(type, items)) <= {str, int, bool}:  # the same result as below, faster
        return found
    return _objects([item if _is_label(item) else None for item in items])


def numbers_of(y: Any) -> Labels:
    """Return ``y`` as a 1-D array of doubles, with NaN for objects that are not numbers.

    Raises
    ------
    DataError
        If all labels are text, or of a type that holds no numbers.
    """
    found = _one_dimensional(y)
    if found.dtype.kind == "O" and not all(isinstance(item, str | bytes) for item in found.tolist()):
        return np.array([_number(item) for item in found.tolist()], dtype=np.float64)
    if found.dtype.kind not in "biuf":
        raise DataError("y must hold real numbers.", remedy=_CONVERT)
    with np.errstate(over="ignore"):  # beyond doubles is infinite
        return found.astype(np.float64, copy=False)


def require_finite(X: Any, names: Names) -> None:
    """Raise DataError if rows to predict have NaN or infinities, naming the first such column."""
    places = nonfinite_columns(X)
    if not places:
        return
    column = X[:, [places[0]]]
    values = column if isinstance(column, np.ndarray) else column.data
    has, remedy = (
        ("NaN", IMPUTE)
        if np.isnan(values).any()
        else (INFINITE, "Replace them by finite numbers, such as the bounds of the column.")
    )
    raise DataError(f"X must be finite, but {column_description(places[0], names)} has {has}.", remedy=remedy)


def _is_frame(X: Any) -> bool:
    """Whether ``X`` is a table with a shape; a mapping has none."""
    return is_table(X) and not isinstance(X, Mapping)


def _array(values: Any, rule: str, remedy: str = "") -> NDArray[Any]:
    rows = values if isinstance(values, list | tuple) else ()
    if any(isinstance(part, np.ma.MaskedArray) for part in (values, *rows)):
        raise DataError(_MASKED, remedy=_FILL)
    with suppress(Exception):  # numpy's message has shapes and cells in it, and would stay as a context
        return np.asarray(values)
    raise DataError(rule, remedy=remedy)


def _floating(array: Any) -> Any:
    """Return an array or sparse matrix of single or double precision."""
    if array.dtype.kind == "c":
        raise DataError(_COMPLEX, remedy=_REAL_PARTS)
    if array.dtype.kind not in "biuf":
        raise DataTypeError("X must hold numbers in all columns.", remedy=_CONVERT)
    return array if array.dtype in (np.float64, np.float32) else array.astype(np.float64)


def _is_one_block(X: Any) -> bool:
    """Whether all columns of a pandas frame have one floating type, so that numpy views it without a copy."""
    types = {str(kind) for kind in getattr(X, "dtypes", ())}
    return types in ({"float64"}, {"float32"})


def _from_objects(array: NDArray[Any]) -> NDArray[np.float64]:
    columns = [read_column(array[:, place]) for place in range(array.shape[1])]
    for place, values in enumerate(columns):
        if values is None:
            raise DataTypeError(
                f"{column_description(place, None)} of X must hold numbers: to be read as one, an argument must be a "
                "string of text to be encoded, or a real number.",
                remedy="Convert it first.",
            )
        if values.dtype.kind == "O":
            raise DataTypeError(
                f"{column_description(place, None)} of X must hold numbers, and has text.",
                remedy="Give X as a data frame and declare the categories of the column in "
                "dperm.sklearn.PublicTableEncoder, or leave the column out.",
            )
    return np.column_stack(columns)  # type: ignore[arg-type]  # none is None


def _one_dimensional(y: Any) -> NDArray[Any]:
    """Return ``y`` as a 1-D array: sequences other than arrays as objects, a single column raveled."""
    require_in_memory(y, argument="y")
    if sparse.issparse(y):
        raise DataError("y must be a 1d array of labels, not a sparse matrix.")
    listed = isinstance(y, Sequence) and not isinstance(y, str | bytes)
    found = _objects(y) if listed else _array(_joined_chunks(y), "y must be a 1d array of labels.")
    if found.dtype.kind == "c":
        raise DataError(_COMPLEX, remedy=_REAL_PARTS)
    if found.ndim == 2 and found.shape[1] == 1:
        found = _raveled(found)
    if found.ndim != 1:
        raise DataError(_ONE_D)
    return found


def _raveled(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of labels in one dimension, with the warning that scikit-learn gives.

    scikit-learn is not imported here. If it is in memory, the warning has its category.
    """
    exceptions = sys.modules.get("sklearn.exceptions")
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for "
        "example using ravel().",
        getattr(exceptions, "DataConversionWarning", UserWarning),
        stacklevel=2,
    )
    return column.ravel()


def _joined_chunks(y: Any) -> Any:
    """Join the chunks of an Arrow array; converted as a whole, gaps of a dictionary would become its last entry."""
    chunks = getattr(y, "iterchunks", None)
    if chunks is None:
        return y
    with suppress(Exception):  # dates, for instance, which numpy does not put beside truth values
        return np.concatenate([np.empty(0, dtype=bool), *map(np.asarray, chunks())])
    raise DataError("y must hold labels that numpy can put into one array.", remedy="Convert dates and the like first.")


def _objects(items: Sequence[object]) -> NDArray[Any]:
    """Return a list of labels as an array of objects, each label unchanged.

    The array has two dimensions for a list of rows with one label each, as scikit-learn's warning requires.
    """
    if any(isinstance(item, np.ma.MaskedArray) for item in items):
        raise DataError(_MASKED, remedy=_FILL)
    labels = [_unwrapped(item) for item in items]
    if labels and all(isinstance(label, list | tuple | np.ndarray) for label in labels):
        raise DataError(_ONE_D)
    found = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):  # at once, numpy would look into a label that is a sequence
        found[place] = label
    return found[:, np.newaxis] if labels and all(map(_is_row, items)) else found


def _unwrapped(item: Any) -> Any:
    """Return the entry of a 0-d array or of a row of one column; anything else unchanged."""
    if isinstance(item, np.ndarray) and item.ndim == 0:
        return item.item()
    return item[0] if _is_row(item) else item


def _is_row(item: Any) -> bool:
    """Whether ``item`` is a row of one column, with a single entry."""
    return item.shape[:1] == (1,) if isinstance(item, np.ndarray) else isinstance(item, list | tuple) and len(item) == 1


def _is_label(item: object) -> bool:
    """Whether ``item`` is text, a truth value or a real number, and not NaN."""
    with suppress(Exception):  # the comparison of a foreign number type may raise, with a value in its message
        return isinstance(item, str) or (isinstance(item, Real | np.bool_) and bool(item == item))
    return False


def _number(item: object) -> float:
    """Return a real number as a double, and NaN for anything else."""
    if not isinstance(item, Real | Decimal | np.bool_):
        return math.nan
    with suppress(Exception):  # beyond doubles, a signalling NaN, or a foreign number type that raises
        return float(item)
    return math.nan
