# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bad input: the message names argument, column and remedy, repeats no cell, row or count, and nothing is charged."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dperm import ParameterError, PureDP
from dperm.accounting import MemoryBudget
from dperm.errors import (
    AdjacencyError,
    AssumptionError,
    ConversionError,
    DataError,
    DataTypeError,
    DpermError,
    DpermWarning,
)
from dperm.methods import ObjectivePerturbation, OutputPerturbation
from dperm.sklearn import PrivateLinearSVC, PrivateLogisticRegression

ROWS, ODD_ROW, SECRET = 4321, 1987, 271.828
LABELS = np.tile([0, 1, 1], ROWS)[:ROWS]


class Secret:
    """Nothing that could be a number."""


def rows(kind: str = "plain") -> np.ndarray:
    X = np.full((ROWS, 4), SECRET)
    X[:, 1] = np.linspace(-1, 1, ROWS)
    if kind != "plain":
        X[ODD_ROW, 2] = {"nan": np.nan, "inf": -np.inf}[kind]
    return X


def frame(kind: str = "plain") -> pd.DataFrame:
    return pd.DataFrame(rows(kind), columns=["age", "dose", "income", "zip"])


def with_cell(cell: object) -> np.ndarray:
    X = rows().astype(object)
    X[ODD_ROW, 2] = cell
    return X


def labels_with(label: object) -> np.ndarray:
    y = LABELS.astype(object)
    y[ODD_ROW] = label
    return y


def tells_nothing(error: BaseException) -> bool:
    """Neither the message nor an error that is shown with it repeats anything private."""
    shown = str(error) + " ".join(getattr(error, "__notes__", ()))
    chained = error.__cause__ is not None or (error.__context__ is not None and not error.__suppress_context__)
    found = re.search(rf"{SECRET}|271|{ROWS}|4,321|{ODD_ROW}|secret|\b41\b", shown, re.IGNORECASE)
    return found is None and not chained


def refused(model, X, y, *, error, message: str) -> None:
    budget = MemoryBudget(PureDP(100.0, "replace_one"))
    model.set_params(ledger=budget)
    with pytest.raises(error, match=message) as raised:
        model.fit(X, y)
    assert tells_nothing(raised.value), str(raised.value)
    assert isinstance(raised.value, DpermError)
    assert budget.entries == () and budget.spent == {"epsilon": 0.0}
    assert not hasattr(model, "coef_")


DATA = {
    "NaN in an array": (rows("nan"), LABELS, DataError, r'column 2 .*NaN.*invalid="drop"'),
    "inf in an array": (rows("inf"), LABELS, DataError, r"column 2 .*infinite"),
    "NaN in a frame": (frame("nan"), LABELS, DataError, r"column 'income' .*NaN.*invalid=\"drop\""),
    "inf in a sparse matrix": (sparse.csr_array(rows("inf")), LABELS, DataError, "column 2 .*infinite"),
    "NaN in a column-wise sparse matrix": (sparse.csc_array(rows("nan")), LABELS, DataError, "column 2"),
    "text in an array of objects": (with_cell("secret"), LABELS, DataError, "column 2 of X must hold numbers.*Encode"),
    "an object that is no number": (with_cell(Secret()), LABELS, DataTypeError, "column 2 of X must hold numbers"),
    "text in a frame": (frame().assign(income="secret"), LABELS, DataError, "column 'income' must hold numbers"),
    "an array of text": (rows().astype(str), LABELS, DataError, "X must hold numbers"),
    "complex numbers": (rows() + 1j, LABELS, DataError, "Complex data not supported"),
    "complex numbers in a sparse matrix": (sparse.csr_array(rows() + 1j), LABELS, DataError, "Complex data not"),
    "dates": (rows().astype("datetime64[s]"), LABELS, DataError, "X must hold numbers"),
    "a masked array": (np.ma.masked_array(rows(), rows() > 1), LABELS, DataError, "masked"),
    "one dimension": (rows()[:, 0], LABELS, DataError, "2D array.*Reshape"),
    "three dimensions": (rows()[:, :, np.newaxis], LABELS, DataError, "2D"),
    "ragged rows": ([[SECRET, 1.0], [SECRET]], [0, 1], DataError, "2D"),
    "a number": (SECRET, LABELS, DataError, "2D"),
    "no feature": (np.empty((ROWS, 0)), LABELS, ParameterError, r"0 feature\(s\).*at least one column"),
    "no record": (np.empty((0, 4)), [], DataError, r"0 sample\(s\)"),
    "labels of another length": (rows(), LABELS[:41], DataError, "same number of rows"),
    "a label outside the classes": (rows(), labels_with("secret"), DataError, r'declared classes 0 and 1.*invalid="dr'),
    "a number outside the classes": (rows(), np.where(LABELS, 1, 271), DataError, "declared classes 0 and 1"),
    "a missing label": (rows(), labels_with(None), DataError, "declared classes 0 and 1"),
    "a label that pandas calls missing": (rows(), pd.Series(labels_with(pd.NA)), DataError, "declared classes"),
    "a NaN among the labels": (rows(), np.where(LABELS, 1.0, np.nan), DataError, "declared classes 0 and 1"),
    "two columns of labels": (rows(), np.column_stack([LABELS, LABELS]), DataError, "y should be a 1d array"),
    "sparse labels": (rows(), sparse.csr_array(LABELS[:, np.newaxis]), DataError, "y must be a 1d array"),
    "no labels": (rows(), None, ParameterError, "requires y to be passed"),
    "complex labels": (rows(), LABELS + 271j, DataError, "Complex data not supported"),
    "ragged labels": (rows(), [[0, 1], [271]] * 100, DataError, "1d array of labels"),
}


@pytest.mark.filterwarnings("ignore:the noise that:dperm.errors.DpermWarning")
@pytest.mark.parametrize("case", DATA)
def test_bad_data_are_refused_without_a_word_about_them(make, case):
    X, y, error, message = DATA[case]
    refused(make(), X, y, error=error, message=message)


FOUND = {
    "more than two": (np.arange(ROWS) % 3, "Only binary classification is supported.*k times epsilon"),
    "one": (np.ones(ROWS), "one class.*declare both: classes="),
    "continuous": (np.linspace(0, 271, ROWS), "Unknown label type: continuous.*classes"),
    "NaN": (np.where(LABELS, 1.0, np.nan), 'NaN.*invalid="drop"'),
    "infinite": (np.where(LABELS, 1.0, np.inf), "inf"),
    "mixed": (labels_with("secret"), "Unknown label type"),
    "missing": (labels_with(None), "missing"),
}


@pytest.mark.filterwarnings("ignore::dperm.errors.PublicAssumptionWarning")
@pytest.mark.parametrize("case", FOUND)
def test_labels_that_are_not_two_classes_are_refused(case):
    y, message = FOUND[case]
    refused(PrivateLogisticRegression(feature_norm=1.0), rows(), y, error=DataError, message=message)


PARAMETERS = {
    "epsilon 0": ({"epsilon": 0.0}, ParameterError, r"epsilon must be a number in \(0, 500\].*or inf.*got 0.0"),
    "epsilon above 500": ({"epsilon": 501}, ParameterError, r"epsilon must be a number in \(0, 500\].*got 501"),
    "epsilon beyond any double": ({"epsilon": 10**400}, ParameterError, r"epsilon must be a number in \(0, 500\]"),
    "epsilon True": ({"epsilon": True}, ParameterError, "epsilon must be"),
    "epsilon below 0": ({"epsilon": -1.0}, ParameterError, "epsilon must be"),
    "epsilon NaN": ({"epsilon": float("nan")}, ParameterError, "epsilon must be"),
    "epsilon -inf": ({"epsilon": -np.inf}, ParameterError, "^(?!.*finite).*epsilon must be"),
    "epsilon text": ({"epsilon": "1"}, ParameterError, "epsilon must be"),
    "delta 1": ({"delta": 1.0}, ParameterError, "delta must be"),
    "delta below 0": ({"delta": -1e-6}, ParameterError, "delta must be"),
    "adjacency": ({"adjacency": "substitute"}, AdjacencyError, "replace_one.*add_remove"),
    "adjacency None": ({"adjacency": None}, AdjacencyError, "adjacency must be"),
    "method": ({"method": "magic"}, ParameterError, "method must be"),
    "method a class": ({"method": OutputPerturbation}, ParameterError, r"Write OutputPerturbation\(\)"),
    "pure by gradient": ({"delta": 0.0, "method": "gradient"}, (ConversionError, AssumptionError), "delta"),
    "pure by Gaussian": (
        {"delta": 0.0, "method": ObjectivePerturbation(noise="gaussian")},
        (ConversionError, AssumptionError),
        "pure|delta",
    ),
    "feature_norm 0": ({"feature_norm": 0.0}, ParameterError, "feature_norm must be"),
    "feature_norm inf": ({"feature_norm": np.inf}, ParameterError, "feature_norm must be"),
    "bounds of wrong length": ({"bounds": [(0, 1)] * 3}, ParameterError, "each of the 4 columns.*got 3 of them"),
    "bounds upside down": ({"bounds": (1, 0)}, ParameterError, "low < high"),
    "bounds of one column": ({"bounds": [(0, 1), (0, 1), (3, 3), (0, 1)]}, ParameterError, r"bounds\[2\]"),
    "bounds NaN": ({"bounds": (0, float("nan"))}, ParameterError, "bounds must be"),
    "bounds no pair": ({"bounds": [(0, 1, 2)] * 4}, ParameterError, r"bounds\[0\] must be a pair"),
    "bounds text": ({"bounds": "all"}, ParameterError, "bounds must be"),
    "bounds by name of an array": ({"bounds": {"a": (0, 1)}}, ParameterError, "bounds by name"),
    "C 0": ({"C": 0}, ParameterError, "C must be"),
    "C inf": ({"C": np.inf}, ParameterError, "C must be"),
    "clip 0": ({"clip": 0.0}, ParameterError, r"clip must be a number in \(0, 1\].*1.0 clips nothing"),
    "clip above 1": ({"clip": 1.5}, ParameterError, "clip must be"),
    "clip text": ({"clip": "half"}, ParameterError, "clip must be"),
    "classes one": ({"classes": (0,)}, ParameterError, "classes must be two different"),
    "classes equal": ({"classes": (1, True)}, ParameterError, "classes must be two different"),
    "classes three": ({"classes": (0, 1, 2)}, ParameterError, "Only binary classification.*k times epsilon"),
    "classes mixed": ({"classes": (0, "1")}, ParameterError, "classes must be two different"),
    "classes text": ({"classes": "01"}, ParameterError, "classes must be two different"),
    "classes NaN": ({"classes": (0, float("nan"))}, ParameterError, "classes must be"),
    "balanced": ({"class_weight": "balanced"}, ParameterError, r"class_weight .*private"),
    "weight 0": ({"class_weight": {0: 0.0}}, ParameterError, r"class_weight\[0\] must be .*in \(0, 1e6\]"),
    "weight too large": ({"class_weight": {0: 1e7}}, ParameterError, r"class_weight\[0\] must be .*in \(0, 1e6\]"),
    "weight NaN": ({"class_weight": {0: float("nan")}}, ParameterError, r"class_weight\[0\] must be .*in \(0, 1e6\]"),
    "weight of text": ({"class_weight": {"0": 1.0}}, ParameterError, "'0' is text, the classes are numbers"),
    "weight of another class": ({"class_weight": {2: 1.0}}, ParameterError, "class_weight must name the classes 0 and"),
    "weights as a list": ({"class_weight": [1, 2]}, ParameterError, "class_weight must be a mapping"),
    "three weights": ({"class_weight": {0: 1, 1: 1, 2: 1}}, ParameterError, "class_weight must be a mapping"),
    "fit_intercept": ({"fit_intercept": "no"}, ParameterError, "fit_intercept must be"),
    "n": ({"n": 1.5}, ParameterError, "n must be"),
    "invalid": ({"invalid": "skip"}, ParameterError, 'invalid must be "raise" or "drop"'),
    "random_state text": ({"random_state": "seed"}, ParameterError, "random_state must be"),
    "random_state below 0": ({"random_state": -1}, ParameterError, "random_state must be"),
    "random_state no whole number": ({"random_state": 0.5}, ParameterError, "random_state must be"),
}


class Unreadable:
    """Features of a known shape that must not be read."""

    shape = (ROWS, 4)

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("the data were read")


@pytest.mark.parametrize("case", PARAMETERS)
def test_bad_parameters_are_refused_before_labels_are_read(make, case):
    parameters, error, message = PARAMETERS[case]
    refused(make(**parameters), np.zeros((ROWS, 4)), Unreadable(), error=error, message=message)


NOT_PLANNED = {"classes", "invalid", "n", "random_state"}
NEED_DATA = ("bounds by name of an array", "weight of another class", "weight of text")
PLANNED = [
    case
    for case, (parameters, _, _) in PARAMETERS.items()
    if not NOT_PLANNED & set(parameters) and case not in NEED_DATA
]


@pytest.mark.parametrize("case", PLANNED)
def test_a_plan_refuses_what_a_fit_refuses(make, case):
    parameters, error, message = PARAMETERS[case]
    with pytest.raises(error, match=message):
        make(**parameters).plan(n=ROWS, dim=4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"loss": "squared"}, "loss must be"), ({"width": 0.0}, "width must be"), ({"width": "a"}, "width must be")],
)
def test_bad_losses_are_refused(parameters, message):
    model = PrivateLinearSVC(classes=(0, 1), feature_norm=1.0, **parameters)
    refused(model, np.zeros((ROWS, 4)), Unreadable(), error=ParameterError, message=message)


@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_kink_is_refused_where_it_is_not_proved(method):
    model = PrivateLinearSVC(loss="hinge", method=method, classes=(0, 1), feature_norm=1.0)
    refused(model, np.zeros((ROWS, 4)), Unreadable(), error=AssumptionError, message="huber_hinge")


@pytest.mark.parametrize("ledger", ["ledger.db", 1.0, MemoryBudget])
def test_a_ledger_that_is_no_budget_is_refused(make, ledger):
    with pytest.raises(ParameterError, match="ledger must be a budget"):
        make(ledger=ledger).fit(np.zeros((ROWS, 4)), Unreadable())


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"age": (0, 1), "dose": (0, 1), "zip": (0, 1)}, "bounds for column 'income' are missing"),
        ({"age": (0, 1), "dose": (0, 1), "income": (0, 1), "zip": (0, 1), "x": (0, 1)}, "'x' is no column"),
        ({"age": (0, 1), "dose": (0, 1), "Zip": (0, 1)}, "'income' are missing, and 'Zip' is no column"),
        ({"age": (0, 1), "dose": (0, 1), "income": (1, 0), "zip": (0, 1)}, r"bounds\['income'\] must have low < high"),
    ],
)
def test_bounds_by_name_name_every_column_once(make, bounds, message):
    refused(make(bounds=bounds), frame(), LABELS, error=ParameterError, message=message)


def test_two_columns_of_one_name_are_refused(make):
    X = pd.DataFrame(rows()[:, :2], columns=["a", "a"])
    refused(make(), X, LABELS, error=ParameterError, message="different names")


def test_bounds_that_would_fill_a_sparse_matrix_are_refused(make):
    X = sparse.csr_array(rows())
    refused(make(bounds=(0, 1)), X, LABELS, error=ParameterError, message="symmetric")


@pytest.mark.parametrize("rows_and_columns", [(1, 3), (5, 40)], ids=["n=1", "n<d"])
def test_few_records_are_learnt_from_with_a_warning(make, rows_and_columns):
    n, d = rows_and_columns
    with pytest.warns(DpermWarning, match="no better than a guess"):
        model = make().fit(np.ones((n, d)), np.arange(n) % 2)
    assert np.isfinite(model.coef_).all()


def test_prediction_names_the_column_too(make, data):
    X, y = data
    model = make().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    bad = pd.DataFrame({"a": [0.0], "b": [np.nan], "c": [SECRET]})
    with pytest.raises(DataError, match=r"column 'b' has NaN.*Impute them with public constants") as raised:
        model.predict(bad)
    assert tells_nothing(raised.value)
    with pytest.raises(DataError, match="no row to predict"):
        model.predict(bad[:0])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(bad[["b", "a", "c"]])
    with pytest.raises(ValueError, match="X has 2 features"):
        make().fit(X, y).predict(X[:, :2])


def test_weights_by_number_of_classes_of_text_are_explained(data):
    model = PrivateLogisticRegression(classes=("no", "yes"), class_weight={1: 2.0}, feature_norm=1.0)
    with pytest.raises(ParameterError, match="1 is a number, the classes are text"):
        model.fit(*data)


# invalid="drop"


def spoilt(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Three bad rows: NaN, infinite, and a label that was not declared."""
    X, y = X.copy(), y.copy()
    X[3, 1], X[700, 0], y[1500] = np.nan, np.inf, 9
    return X, y


def test_dropped_rows_contribute_nothing(make, data):
    X, y = data
    bad_X, bad_y = spoilt(X, y)
    kept = np.ones(2000, dtype=bool)
    kept[[3, 700, 1500]] = False
    settings = {"adjacency": "add_remove", "random_state": 4}
    with pytest.warns(DpermWarning):
        dropped = make(invalid="drop", **settings).fit(bad_X, bad_y)
        without = make(**settings).fit(X[kept], y[kept])
    assert dropped.coef_ == pytest.approx(without.coef_, rel=1e-6)
    assert dropped.statement_["public_quantities"]["invalid"] == "drop"
    assert dropped.statement_["goal"] == without.statement_["goal"]


def test_dropping_does_not_change_the_plan(make, data):
    bad = spoilt(*data)
    assert make(invalid="drop").fit(*bad).plan_ == make().fit(*data).plan_


def test_one_strange_label_in_a_list_does_not_change_how_the_others_are_read(make, data):
    X, y = data
    mixed = [*y.tolist()[:-1], "secret"]
    with pytest.warns(DpermWarning):
        with_text = make(invalid="drop", random_state=1).fit(X, mixed)
        with_other = make(invalid="drop", random_state=1).fit(X, [*y.tolist()[:-1], 5])
    assert (with_text.coef_ == with_other.coef_).all()
    assert np.abs(with_text.coef_).max() > 0.1


@pytest.mark.filterwarnings("ignore::dperm.errors.PublicAssumptionWarning")
def test_missing_labels_are_no_class_when_they_are_dropped(data):
    X, y = data
    missing = y.astype(float)
    missing[:5] = np.nan
    model = PrivateLogisticRegression(invalid="drop", feature_norm=1.0).fit(X, missing)
    assert model.classes_.tolist() == [0.0, 1.0]


def test_everything_may_be_dropped(make):
    model = make(invalid="drop").fit(np.full((ROWS, 2), np.nan), LABELS)
    assert np.isfinite(model.coef_).all()
