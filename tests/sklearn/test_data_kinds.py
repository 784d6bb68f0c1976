# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Arrays, sparse matrices and tables: the same rows give the same model, and X is not copied."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from dperm.errors import DataError, DpermWarning
from dperm.sklearn import inputs

# older scikit-learn reads polars by a protocol that newer polars deprecates
pytestmark = pytest.mark.filterwarnings("ignore:Support for the dataframe interchange protocol:DeprecationWarning")

COLUMNS = ["age", "dose", "income"]
TABLES = {
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS),
    "pandas with an index": lambda X: pd.DataFrame(X, columns=COLUMNS, index=np.arange(len(X))[::-1]),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
    "arrow": lambda X: pa.table({name: X[:, place] for place, name in enumerate(COLUMNS)}),
}
ARRAYS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "list of lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "read only": lambda X: X,
}
SPARSE = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "csr matrix": sparse.csr_matrix,
    "duplicates": lambda X: duplicated(sparse.csr_array(X)),
}
LABELS = {
    "list": lambda y: y.tolist(),
    "pandas": pd.Series,
    "nullable pandas": lambda y: pd.Series(y, dtype="Int64"),
    "polars": pl.Series,
    "arrow": lambda y: pa.chunked_array([pa.array(y[:7]), pa.array(y[7:])]),
    "bool": lambda y: y.astype(bool),
    "int8": lambda y: y.astype(np.int8),
    "float": lambda y: y.astype(float),
    "objects": lambda y: y.astype(object),
}


def duplicated(X: sparse.csr_array) -> sparse.csr_array:
    """The same matrix with every entry stored as two halves."""
    return sparse.csr_array((np.repeat(X.data, 2) / 2, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def seeded(make, X, y, **parameters):
    with pytest.warns(DpermWarning):
        return make(random_state=7, **parameters).fit(X, y)


@pytest.mark.parametrize("kind", ARRAYS)
def test_every_array_of_the_same_rows_gives_the_same_model(make, data, kind):
    X, y = data
    expected, found = seeded(make, X, y), seeded(make, ARRAYS[kind](X), y)
    assert found.coef_ == pytest.approx(expected.coef_, abs=1e-6)
    assert (found.predict(ARRAYS[kind](X)) == expected.predict(X)).mean() > 0.999


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, bool])
def test_numbers_of_any_type_are_learnt_from(make, data, dtype):
    X, y = (data[0] * 4).astype(dtype), data[1]
    expected, found = seeded(make, X.astype(float), y), seeded(make, X, y)
    assert found.coef_ == pytest.approx(expected.coef_, abs=1e-5)


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("parameters", [{}, {"bounds": (-2, 2)}, {"bounds": (-1, 1), "feature_norm": 1.0}])
def test_sparse_and_dense_give_the_same_model(make, data, kind, parameters):
    X, y = np.where(np.abs(data[0]) > 0.4, data[0], 0.0), data[1]
    dense, thin = seeded(make, X, y, **parameters), seeded(make, SPARSE[kind](X), y, **parameters)
    assert thin.coef_ == pytest.approx(dense.coef_, rel=1e-4, abs=1e-6)
    assert thin.intercept_ == pytest.approx(dense.intercept_, rel=1e-4, abs=1e-6)
    assert thin.decision_function(SPARSE[kind](X)) == pytest.approx(thin.decision_function(X))


@pytest.mark.parametrize("kind", TABLES)
def test_tables_give_the_model_of_their_rows_and_their_names(make, data, kind):
    X, y = data
    table = TABLES[kind](X)
    expected, found = seeded(make, X, y), seeded(make, table, y)
    assert found.coef_ == pytest.approx(expected.coef_, abs=1e-9)
    assert found.feature_names_in_.tolist() == COLUMNS
    assert (found.predict(table) == expected.predict(X)).all()
    assert found.statement_["public_quantities"]["columns"] == COLUMNS


@pytest.mark.parametrize("kind", TABLES)
def test_bounds_by_name_are_those_of_their_columns(make, data, kind):
    X, y = data
    bounds = {"income": (-3, 1), "age": (-1, 1), "dose": (0, 2)}
    by_name = seeded(make, TABLES[kind](X), y, bounds=bounds)
    in_order = seeded(make, X, y, bounds=[(-1, 1), (0, 2), (-3, 1)])
    assert by_name.coef_ == pytest.approx(in_order.coef_, abs=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_gap_in_a_table_is_a_missing_value(make, data, kind):
    X, y = data
    columns = {name: [*X[:, place].tolist()[:-1], None] for place, name in enumerate(COLUMNS)}
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](columns)
    with pytest.raises(DataError, match=r"column 'age' has NaN"):
        make().fit(table, y)
    assert make(invalid="drop").fit(table, y).n_features_in_ == 3


def test_whole_numbers_with_gaps_and_truth_values_are_numbers(make, data):
    y = data[1]
    table = pd.DataFrame({"a": pd.array([1, None] * 1000, dtype="Int64"), "b": [True, False] * 1000})
    model = make(invalid="drop").fit(table, y)
    assert model.coef_.shape == (1, 2)


@pytest.mark.parametrize("kind", LABELS)
def test_labels_may_be_held_by_anything(make, data, kind):
    X, y = data
    expected, found = seeded(make, X, y), seeded(make, X, LABELS[kind](y))
    assert (found.coef_ == expected.coef_).all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dictionary"])
def test_labels_of_text_may_be_held_by_anything(make, data, kind):
    X, y = data
    words = np.array(["no", "yes"])[y].tolist()
    held = {
        "pandas": lambda: pd.Series(words, dtype="category"),
        "polars": lambda: pl.Series(words),
        "arrow": lambda: pa.array(words),
        "dictionary": lambda: pa.chunked_array([pa.array(words).dictionary_encode()]),
    }[kind]()
    expected, found = seeded(make, X, y), seeded(make, X, held, classes=("no", "yes"))
    assert (found.coef_ == expected.coef_).all()


def test_a_gap_in_a_dictionary_of_labels_is_no_label(make, data):
    words = [None, *np.array(["no", "yes"])[data[1]].tolist()[1:]]
    held = pa.chunked_array([pa.array(words).dictionary_encode()])
    with pytest.raises(DataError, match="declared classes"):
        make(classes=("no", "yes")).fit(data[0], held)


def test_a_column_of_labels_is_flattened_with_scikit_learns_warning(make, data):
    X, y = data
    for column in (y[:, np.newaxis], y[:, np.newaxis].tolist(), pd.DataFrame({"label": y})):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            assert make().fit(X, column).classes_.tolist() == [0, 1]


def test_a_new_fit_forgets_the_names_of_an_earlier_table(make, data):
    X, y = data
    model = make().fit(TABLES["pandas"](X), y)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_are_not_copied(data, dtype, order):
    X = np.array(data[0], dtype=dtype, order=order)
    assert inputs.numeric(inputs.two_dimensional(X)) is X


def test_neither_are_sparse_rows_nor_a_pandas_frame_of_one_type(data):
    X = sparse.csr_array(data[0])
    assert np.shares_memory(inputs.numeric(X).data, X.data)
    frame = pd.DataFrame(data[0])
    assert np.shares_memory(inputs.numeric(frame), frame.to_numpy())


def test_the_data_are_not_changed(make, data):
    X, y = data[0].copy(), data[1].copy()
    thin = sparse.csc_array(X)
    make(bounds=(-0.1, 0.1)).fit(X, y)
    make().fit(thin, y)
    assert (X == data[0]).all() and (y == data[1]).all() and (thin.toarray() == data[0]).all()
