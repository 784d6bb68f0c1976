# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public encoder of table columns as a scikit-learn transformer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, Union, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.columns import AnyColumn, Unseen
from dperm.data.encoded import EncodingFacts, encoded
from dperm.data.encoded_table import EncodedTable
from dperm.data.encoder import PublicEncoder, checked_unseen
from dperm.data.large_tables import Table
from dperm.data.tables import column_names, require_in_memory
from dperm.engines.dask_tables import is_dask
from dperm.errors import DataError, ParameterError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@final
class PublicTableEncoder(TransformerMixin, BaseEstimator):
    """Encode declared columns of a table as features in [-1, 1], for a pipeline.

    The encoder learns nothing from the data. The public declarations in ``columns`` alone determine the encoding (see
    `dperm.data.PublicEncoder`). ``transform`` works without ``fit``; ``fit`` only checks the declarations and stores
    the column names.

    Parameters
    ----------
    columns : mapping of str to Numeric or Categorical
        Public declarations of the columns to use, by name; other columns are not read.
    sparse : bool, default=False
        Whether to return a compressed sparse row matrix.
    unseen : {"other", "raise"}, default="other"
        Treatment by ``transform`` of undeclared categories, and of missing values that a column does not allow. "raise"
        raises DataError. With "other", an undeclared category is encoded as the category ``other`` if the column
        declares one. In all other cases, the features of the column are 0. The norm of the row stays at most ``norm``.
        ``fit_transform`` always raises DataError for such values. Numbers outside their bounds are always clipped.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        Column names of the table seen by ``fit``.
    n_features_in_ : int
        Number of columns of the table seen by ``fit``.

    Examples
    --------
    >>> from dperm.data import Categorical, Numeric
    >>> from dperm.sklearn import PublicTableEncoder
    >>> encoder = PublicTableEncoder({"age": Numeric(0, 100), "work": Categorical(["public", "private"])})
    >>> encoder.fit_transform({"age": [25, 110], "work": ["private", "public"]})
    array([[-0.5,  0. ,  1. ],
           [ 1. ,  1. ,  0. ]])
    >>> encoder.norm ** 2
    2.0000000000000004
    >>> encoder.transform({"age": [None, 110], "work": ["private", "abroad"]})
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """

    def __init__(self, columns: Mapping[str, AnyColumn], sparse: bool = False, unseen: Unseen = "other") -> None:
        self.columns = columns
        self.sparse = sparse
        self.unseen = unseen

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Public (low, high) of each feature, for the ``bounds`` argument of an estimator."""
        return self._public().bounds

    @property
    def norm(self) -> float:
        """Public bound on the L2 norm of a row, for the ``feature_norm`` argument of an estimator."""
        return self._public().norm

    @property
    def encoding_facts(self) -> EncodingFacts:
        """Public facts attached to the encoded rows, which an estimator with ``feature_norm="auto"`` reads."""
        return EncodingFacts(self._public(), sparse=self.sparse, unseen=self.unseen)

    def fit(self, X: object, y: object = None) -> Self:
        """Check the declarations, and that the table has the declared columns. No entry of the table is read.

        Parameters
        ----------
        X
            pandas or polars data frame, Arrow table, mapping of names to columns, `dperm.data.Table`, or Dask data
            frame.
        y
            Ignored.

        Returns
        -------
        self
            The encoder.

        Raises
        ------
        DataError
            If the table lacks a declared column.
        ParameterError
            If a declaration is invalid.
        """
        encoder, names = self._public(), _names(X)
        missing = [name for name in encoder.columns if name not in names]
        if missing:
            raise DataError(f"the table must have a column named {shown(missing[0])}.")
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def fit_transform(self, X: object, y: object = None) -> Union[Floats, "csr_array", EncodedTable]:
        """Call ``fit``, and return the features of the training rows.

        Parameters
        ----------
        X
            pandas or polars data frame, Arrow table, mapping of names to columns, `dperm.data.Table`, or Dask data
            frame.
        y
            Ignored.

        Returns
        -------
        ndarray, csr_array or EncodedTable
            Features of shape (n_samples, n_features). The returned array, and any subset of its rows, passes ``norm``
            on to an estimator with ``feature_norm="auto"``. For a `dperm.data.Table` or a Dask data frame, the result
            is a `dperm.data.encoded_table.EncodedTable`. Its rows are encoded only when an estimator is fitted to them,
            and errors in the data are raised then.

        Raises
        ------
        DataError
            If a declared column is missing, or contains an undeclared category or a missing value that its declaration
            does not allow, regardless of ``unseen``.
        """
        return self.fit(X)._encoded(X, "raise")

    def transform(self, X: object) -> Union[Floats, "csr_array", EncodedTable]:
        """Return one row of features for each record.

        Parameters
        ----------
        X
            pandas or polars data frame, Arrow table, mapping of names to columns, `dperm.data.Table`, or Dask data
            frame.

        Returns
        -------
        ndarray, csr_array or EncodedTable
            Features of shape (n_samples, n_features); see `fit_transform`.

        Raises
        ------
        DataError
            If a declared column is missing, or ``unseen`` is "raise" and a column contains an undeclared category or a
            missing value that its declaration does not allow.
        """
        return self._encoded(X, self.unseen)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the feature names.

        Parameters
        ----------
        input_features
            Ignored, because columns are declared by name.

        Returns
        -------
        ndarray of str
            Feature names.
        """
        return np.array(self._public().feature_names, dtype=object)

    def _encoded(self, X: object, unseen: Unseen) -> Union[Floats, "csr_array", EncodedTable]:
        if _is_large(X):
            return EncodedTable(X, self._public(), sparse=self.sparse, unseen=unseen, facts=self.encoding_facts)
        return encoded(self._public().transform(X, sparse=self.sparse, unseen=unseen), self.encoding_facts)

    def _public(self) -> PublicEncoder:
        if not isinstance(self.sparse, bool):
            raise ParameterError(argument="sparse", rule="must be True or False", got=shown(self.sparse))
        checked_unseen(self.unseen)
        return PublicEncoder(self.columns)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True  # the encoder checks the table itself
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _is_large(X: object) -> bool:
    """Whether X is a table in row groups or a frame of Dask, which a fit encodes while it reads it."""
    return isinstance(X, Table) or (is_dask(X) and hasattr(X, "columns"))


def _names(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of a table, in memory or not."""
    if _is_large(X):
        return tuple(map(str, X.columns))
    require_in_memory(X, remedy="Declared columns have names: give an array of Dask as a frame of Dask.")
    return column_names(X)
