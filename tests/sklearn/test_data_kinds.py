# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Arrays, sparse matrices and tables: the same rows give the same model, and X is not copied."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from families import FAMILIES
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from dperm.data import inputs
from dperm.errors import DataError, DpermWarning

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
    "polars": pl.Series,
    "arrow": lambda y: pa.chunked_array([pa.array(y[:7]), pa.array(y[7:])]),
    "float": lambda y: y.astype(float),
    "objects": lambda y: y.astype(object),
}
WHOLE_LABELS = {
    "nullable pandas": lambda y: pd.Series(y, dtype="Int64"),
    "bool": lambda y: y.astype(bool),
    "int8": lambda y: y.astype(np.int8),
    "long double": lambda y: y.astype(np.longdouble),
    "float16": lambda y: y.astype(np.float16),
}


def duplicated(X: sparse.csr_array) -> sparse.csr_array:
    """The same matrix with every entry stored as two halves."""
    return sparse.csr_array((np.repeat(X.data, 2) / 2, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def _scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def seeded(family, X, y, **parameters):
    with pytest.warns(DpermWarning):
        return family.make(random_state=7, **parameters).fit(X, y)


def assert_same(found, expected) -> None:
    assert found == pytest.approx(expected, rel=1e-9) if found.dtype.kind == "f" else (found == expected).all()


@pytest.mark.parametrize("kind", ARRAYS)
def test_every_array_of_the_same_rows_gives_the_same_model(each, kind):
    X, y = each.data
    expected, found = seeded(each, X, y), seeded(each, ARRAYS[kind](X), y)
    assert found.coef_ == pytest.approx(expected.coef_, rel=1e-6, abs=1e-6)
    assert_same(found.predict(ARRAYS[kind](X)), found.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, bool])
def test_numbers_of_any_type_are_learnt_from(each, dtype):
    X, y = (each.X * 4).astype(dtype), each.y
    expected, found = seeded(each, X.astype(float), y), seeded(each, X, y)
    assert found.coef_ == pytest.approx(expected.coef_, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("parameters", [{}, {"bounds": (-2, 2)}, {"bounds": (-1, 1), "feature_norm": 1.0}])
def test_sparse_and_dense_give_the_same_model(each, kind, parameters):
    X, y = np.where(np.abs(each.X) > 0.4, each.X, 0.0), each.y
    dense, thin = seeded(each, X, y, **parameters), seeded(each, SPARSE[kind](X), y, **parameters)
    assert thin.coef_ == pytest.approx(dense.coef_, rel=1e-4, abs=1e-6)
    assert thin.intercept_ == pytest.approx(dense.intercept_, rel=1e-4, abs=1e-6)
    assert _scores(thin, SPARSE[kind](X)) == pytest.approx(_scores(thin, X))


@pytest.mark.parametrize("kind", TABLES)
def test_tables_give_the_model_of_their_rows_and_their_names(each, kind):
    X, y = each.data
    table = TABLES[kind](X)
    expected, found = seeded(each, X, y), seeded(each, table, y)
    assert found.coef_ == pytest.approx(expected.coef_, rel=1e-9, abs=1e-9)
    assert found.feature_names_in_.tolist() == COLUMNS
    assert_same(found.predict(table), expected.predict(X))
    assert found.statement_["public_quantities"]["columns"] == COLUMNS


@pytest.mark.parametrize("kind", TABLES)
def test_bounds_by_name_are_those_of_their_columns(each, kind):
    X, y = each.data
    bounds = {"income": (-3, 1), "age": (-1, 1), "dose": (0, 2)}
    by_name = seeded(each, TABLES[kind](X), y, bounds=bounds)
    in_order = seeded(each, X, y, bounds=[(-1, 1), (0, 2), (-3, 1)])
    assert by_name.coef_ == pytest.approx(in_order.coef_, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_gap_in_a_table_is_a_missing_value(each, kind):
    X, y = each.data
    columns = {name: [*X[:, place].tolist()[:-1], None] for place, name in enumerate(COLUMNS)}
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](columns)
    with pytest.raises(DataError, match=r"column 'age' has NaN"):
        each.make().fit(table, y)
    assert each.make(invalid="drop").fit(table, y).n_features_in_ == 3


def test_whole_numbers_with_gaps_and_truth_values_are_numbers(each):
    y = each.y
    table = pd.DataFrame({"a": pd.array([1, None] * 1000, dtype="Int64"), "b": [True, False] * 1000})
    model = each.make(invalid="drop").fit(table, y)
    assert model.coef_.shape[-1] == 2


@pytest.mark.parametrize("kind", LABELS)
def test_labels_may_be_held_by_anything(each, kind):
    X, y = each.data
    expected, found = seeded(each, X, y), seeded(each, X, LABELS[kind](y))
    assert (found.coef_ == expected.coef_).all()


@pytest.mark.parametrize("kind", WHOLE_LABELS)
def test_labels_may_be_numbers_of_any_type(each, kind):
    X, y = each.X, np.clip(np.rint(each.y), 0, 1)
    expected, found = seeded(each, X, y), seeded(each, X, WHOLE_LABELS[kind](y))
    assert (found.coef_ == expected.coef_).all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dictionary"])
def test_labels_of_text_may_be_held_by_anything(data, kind):
    X, y = data
    words = np.array(["no", "yes"])[y].tolist()
    held = {
        "pandas": lambda: pd.Series(words, dtype="category"),
        "polars": lambda: pl.Series(words),
        "arrow": lambda: pa.array(words),
        "dictionary": lambda: pa.chunked_array([pa.array(words).dictionary_encode()]),
    }[kind]()
    expected, found = seeded(FAMILIES["logistic"], X, y), seeded(FAMILIES["logistic"], X, held, classes=("no", "yes"))
    assert (found.coef_ == expected.coef_).all()


def test_a_gap_in_a_dictionary_of_labels_is_no_label(make, data):
    words = [None, *np.array(["no", "yes"])[data[1]].tolist()[1:]]
    held = pa.chunked_array([pa.array(words).dictionary_encode()])
    with pytest.raises(DataError, match="declared classes"):
        make(classes=("no", "yes")).fit(data[0], held)


def test_a_column_of_labels_is_flattened_with_scikit_learns_warning(each):
    X, y = each.data
    for column in (y[:, np.newaxis], y[:, np.newaxis].tolist(), pd.DataFrame({"label": y})):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            assert each.make().fit(X, column).n_features_in_ == 3


def test_a_new_fit_forgets_the_names_of_an_earlier_table(each):
    X, y = each.data
    model = each.make().fit(TABLES["pandas"](X), y)
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


def test_the_data_are_not_changed(each):
    X, y = each.X.copy(), each.y.copy()
    thin = sparse.csc_array(X)
    each.make(bounds=(-0.1, 0.1)).fit(X, y)
    each.make().fit(thin, y)
    assert (X == each.X).all() and (y == each.y).all() and (thin.toarray() == each.X).all()
