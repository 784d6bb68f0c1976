# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bad input: the message names argument, column and remedy, repeats no cell, row or count, and nothing is charged."""

import re

import numpy as np
import pandas as pd
import pytest
from families import FAMILIES
from scipy import sparse

from dperm import ApproxDP, ParameterError
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
    budget = MemoryBudget(ApproxDP(100.0, 0.5, "replace_one"), blocks=1)
    before = budget.spent
    model.set_params(ledger=budget)
    with pytest.raises(error, match=message) as raised:
        model.fit(X, y)
    assert tells_nothing(raised.value), str(raised.value)
    assert isinstance(raised.value, DpermError)
    assert budget.entries == () and budget.spent == before
    assert not hasattr(model, "coef_")


FEATURES = {
    "NaN in an array": (rows("nan"), DataError, r'column 2 .*NaN.*invalid="drop"'),
    "inf in an array": (rows("inf"), DataError, r"column 2 .*infinite"),
    "NaN in a frame": (frame("nan"), DataError, r"column 'income' .*NaN.*invalid=\"drop\""),
    "inf in a sparse matrix": (sparse.csr_array(rows("inf")), DataError, "column 2 .*infinite"),
    "NaN in a column-wise sparse matrix": (sparse.csc_array(rows("nan")), DataError, "column 2"),
    "text in an array of objects": (with_cell("secret"), DataError, "column 2 of X must hold numbers.*Encode"),
    "an object that is no number": (with_cell(Secret()), DataTypeError, "column 2 of X must hold numbers"),
    "text in a frame": (frame().assign(income="secret"), DataError, "column 'income' must hold numbers"),
    "an array of text": (rows().astype(str), DataError, "X must hold numbers"),
    "complex numbers": (rows() + 1j, DataError, "Complex data not supported"),
    "complex numbers in a sparse matrix": (sparse.csr_array(rows() + 1j), DataError, "Complex data not"),
    "dates": (rows().astype("datetime64[s]"), DataError, "X must hold numbers"),
    "a masked array": (np.ma.masked_array(rows(), rows() > 1), DataError, "masked"),
    "one dimension": (rows()[:, 0], DataError, "2D array.*Reshape"),
    "three dimensions": (rows()[:, :, np.newaxis], DataError, "2D"),
    "ragged rows": ([[SECRET, 1.0], [SECRET]], DataError, "2D"),
    "a number": (SECRET, DataError, "2D"),
    "no record": (np.empty((0, 4)), DataError, r"0 sample\(s\)"),
}


@pytest.mark.filterwarnings("ignore:the noise that:dperm.errors.DpermWarning")
@pytest.mark.parametrize("case", FEATURES)
def test_bad_features_are_refused_without_a_word_about_them(each, case):
    X, error, message = FEATURES[case]
    refused(each.make(), X, each.labels(ROWS), error=error, message=message)


ODD_LABELS = {
    "labels of another length": (LABELS[:41], DataError, "same number of rows"),
    "two columns of labels": (np.column_stack([LABELS, LABELS]), DataError, "y should be a 1d array"),
    "sparse labels": (sparse.csr_array(LABELS[:, np.newaxis]), DataError, "y must be a 1d array"),
    "no labels": (None, ParameterError, "requires y to be passed"),
    "complex labels": (LABELS + 271j, DataError, "Complex data not supported"),
    "ragged labels": ([[0, 1], [271, 0, 1]] * 100, DataError, "1d array of labels"),
    "a masked array of labels": (np.ma.masked_array(LABELS, LABELS > 0), DataError, "masked"),
    "a masked label in a list": ([*LABELS.tolist()[:-1], np.ma.masked], DataError, "masked"),
}


@pytest.mark.parametrize("case", ODD_LABELS)
def test_labels_that_are_no_column_are_refused_without_a_word_about_them(each, case):
    y, error, message = ODD_LABELS[case]
    refused(each.make(), rows(), y, error=error, message=message)


NOT_DECLARED = {
    "a label outside the classes": (labels_with("secret"), r'declared classes.*invalid="dr'),
    "a number outside the classes": (np.where(LABELS, 1, 271), "declared classes"),
    "a label that pandas calls missing": (pd.Series(labels_with(pd.NA)), "declared classes"),
    "a NaN among the labels": (np.where(LABELS, 1.0, np.nan), "declared classes"),
    "a missing label": (labels_with(None), "declared classes"),
}


@pytest.mark.parametrize("name", ["logistic", "svc", "softmax"])
@pytest.mark.parametrize("case", NOT_DECLARED)
def test_labels_that_were_not_declared_are_refused(name, case):
    y, message = NOT_DECLARED[case]
    refused(FAMILIES[name].make(), rows(), y, error=DataError, message=message)


def test_the_declared_classes_are_named():
    for name, words in (("svc", "0 and 1 only"), ("softmax", "0, 1 and 2 only")):
        refused(FAMILIES[name].make(), rows(), labels_with(7), error=DataError, message=words)


NUMBERS = np.linspace(0, 1, ROWS)
NO_NUMBERS = {
    "an array of text": (NUMBERS.astype(str), "real numbers.*Convert text"),
    "dates": (LABELS.astype("datetime64[s]"), "real numbers.*Convert text"),
    "bytes": (NUMBERS.astype("S"), "real numbers"),
    "NaN": (np.where(LABELS, 1.0, np.nan), 'finite numbers .no text, no NaN, no inf.*invalid="drop"'),
    "inf": (np.where(LABELS, 1.0, -np.inf), "finite numbers"),
    "beyond doubles": ([*NUMBERS.tolist()[:-1], 10**400], "finite numbers"),
    "text in a list": ([*NUMBERS.tolist()[:-1], "secret"], "finite numbers"),
    "text among objects": (labels_with("secret"), "finite numbers"),
    "None": (labels_with(None), "finite numbers"),
    "a gap of pandas": (pd.Series(labels_with(pd.NA)), "finite numbers"),
    "an object": (labels_with(Secret()), "finite numbers"),
    "a complex object": (labels_with(271j), "finite numbers"),
    "a list in a list": ([*NUMBERS.tolist()[:-1], [SECRET, SECRET]], "finite numbers"),
}


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_labels_that_are_no_numbers_are_refused(regression, case):
    y, message = NO_NUMBERS[case]
    refused(regression.make(), rows(), y, error=DataError, message=message)


FOUND = {
    "too many to be classes": (np.arange(ROWS), "more than 100 different labels.*declare them.*PrivateLinearRegr"),
    "one": (np.ones(ROWS), "one class.*declare both: classes="),
    "continuous": (np.linspace(0, 271, ROWS), "Unknown label type: continuous.*classes"),
    "NaN": (np.where(LABELS, 1.0, np.nan), 'NaN.*invalid="drop"'),
    "infinite": (np.where(LABELS, 1.0, np.inf), "inf"),
    "mixed": (labels_with("secret"), "Unknown label type"),
    "missing": (labels_with(None), "missing"),
}


@pytest.mark.filterwarnings("ignore::dperm.errors.PublicAssumptionWarning")
@pytest.mark.parametrize("case", FOUND)
def test_labels_that_are_no_classes_are_refused(case):
    y, message = FOUND[case]
    refused(PrivateLogisticRegression(feature_norm=1.0), rows(), y, error=DataError, message=message)


@pytest.mark.filterwarnings("ignore::dperm.errors.PublicAssumptionWarning")
def test_a_support_vector_machine_has_two_classes():
    message = "Only binary classification is supported.*PrivateLogisticRegression, which learns more"
    model = PrivateLinearSVC(feature_norm=1.0)
    refused(model, rows(), np.arange(ROWS) % 3, error=DataError, message=message)
    model = PrivateLinearSVC(feature_norm=1.0, classes=(0, 1, 2))
    refused(model, rows(), Unreadable(), error=ParameterError, message=message.replace("is supported", ""))


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
        "pure|delta|kink",
    ),
    "feature_norm 0": ({"feature_norm": 0.0}, ParameterError, "feature_norm must be"),
    "feature_norm inf": ({"feature_norm": np.inf}, ParameterError, "feature_norm must be"),
    "bounds of wrong length": (
        {"bounds": [(0, 1)] * 3},
        ParameterError,
        "each of the 4 columns.*got an object of type list",
    ),
    "bounds upside down": ({"bounds": (1, 0)}, ParameterError, "bounds must have low less than high"),
    "bounds of one column": ({"bounds": [(0, 1), (0, 1), (3, 3), (0, 1)]}, ParameterError, r"bounds\[2\]"),
    "bounds NaN": ({"bounds": (0, float("nan"))}, ParameterError, "bounds must be"),
    "bounds no pair": ({"bounds": [(0, 1, 2)] * 4}, ParameterError, r"bounds\[0\] must be a pair"),
    "bounds text": ({"bounds": "all"}, ParameterError, "bounds must be"),
    "bounds by name of an array": ({"bounds": {"a": (0, 1)}}, ParameterError, "bounds by name"),
    "C 0": ({"C": 0}, ParameterError, "C must be"),
    "C inf": ({"C": np.inf}, ParameterError, "C must be"),
    "clip 0": ({"clip": 0.0}, ParameterError, r"clip must be a number in \(0, 1\].*(1.0 clips nothing|half the range)"),
    "clip above 1": ({"clip": 1.5}, ParameterError, "clip must be"),
    "clip text": ({"clip": "half"}, ParameterError, "clip must be"),
    "fit_intercept": ({"fit_intercept": "no"}, ParameterError, "fit_intercept must be"),
    "n": ({"n": 1.5}, ParameterError, "n must be"),
    "invalid": ({"invalid": "skip"}, ParameterError, 'invalid must be "raise" or "drop"'),
    "random_state text": ({"random_state": "seed"}, ParameterError, "random_state must be"),
    "random_state below 0": ({"random_state": -1}, ParameterError, "random_state must be"),
    "random_state no whole number": ({"random_state": 0.5}, ParameterError, "random_state must be"),
}
CLASS_PARAMETERS = {
    "classes one": ({"classes": (0,)}, ParameterError, "classes must be two (or more )?different"),
    "classes equal": ({"classes": (1, 0, 1)}, ParameterError, r"classes must .*(two labels|got \(1, 0, 1\))"),
    "classes mixed": ({"classes": (0, "1")}, ParameterError, "classes must be two (or more )?different"),
    "classes text": ({"classes": "01"}, ParameterError, "classes must be two (or more )?different"),
    "classes NaN": ({"classes": (0, float("nan"))}, ParameterError, "classes must be"),
    "balanced": ({"class_weight": "balanced"}, ParameterError, r"class_weight .*private"),
    "weight 0": ({"class_weight": {0: 0.0}}, ParameterError, r"class_weight\[0\] must be .*in \(0, 1e6\]"),
    "weight too large": ({"class_weight": {0: 1e7}}, ParameterError, r"class_weight\[0\] must be .*in \(0, 1e6\]"),
    "weight NaN": ({"class_weight": {0: float("nan")}}, ParameterError, r"class_weight\[0\] must be .*in \(0, 1e6\]"),
    "weight of text": ({"class_weight": {"0": 1.0}}, ParameterError, "'0' is text, the classes are numbers"),
    "weight of another class": ({"class_weight": {2: 1.0}}, ParameterError, "class_weight must name the classes 0 and"),
    "weights as a list": ({"class_weight": [1, 2]}, ParameterError, "class_weight must be a mapping"),
    "three weights": (
        {"class_weight": {0: 1, 1: 1, 2: 1}},
        ParameterError,
        "class_weight must name the classes 0 and 1",
    ),
}
RANGE_PARAMETERS = {
    "range upside down": ({"label_range": (1, 0)}, "label_range must have low less than high"),
    "range of one number": ({"label_range": (1, 1)}, "label_range must have low less than high"),
    "range NaN": ({"label_range": (0, float("nan"))}, "label_range must be.*not be taken from the data"),
    "range infinite": ({"label_range": (0, np.inf)}, r"label_range must be .*both ends are finite, got \(0, inf"),
    "range a number": ({"label_range": 3.0}, "label_range must be a pair"),
    "range text": ({"label_range": "01"}, "label_range must be a pair"),
    "range of three": ({"label_range": (0, 1, 2)}, r"label_range must be a pair .*got \(0, 1, 2\)"),
}
LOSS_PARAMETERS = {
    "kappa 0": ("huber", {"kappa": 0.0}, "kappa must be.*in the units of y"),
    "kappa NaN": ("huber", {"kappa": float("nan")}, "kappa must be"),
    "kappa text": ("huber", {"kappa": "1"}, "kappa must be"),
    "kappa too small for its range": ("huber", {"kappa": 1e-6}, "kappa must be .*half the width of label_range"),
    "quantile 0": ("quantile", {"quantile": 0.0}, "quantile must be"),
    "quantile 1": ("quantile", {"quantile": 1}, "quantile must be"),
    "quantile NaN": ("quantile", {"quantile": float("nan")}, "quantile must be"),
    "quantile text": ("quantile", {"quantile": "median"}, "quantile must be"),
    "loss": ("svc", {"loss": "squared"}, "loss must be"),
    "width 0": ("svc", {"width": 0.0}, "width must be"),
    "width text": ("svc", {"width": "a"}, "width must be"),
}


class Unreadable:
    """Features of a known shape that must not be read."""

    shape = (ROWS, 4)

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("the data were read")


@pytest.mark.parametrize("case", PARAMETERS)
def test_bad_parameters_are_refused_before_labels_are_read(each, case):
    parameters, error, message = PARAMETERS[case]
    refused(each.make(**parameters), np.zeros((ROWS, 4)), Unreadable(), error=error, message=message)


@pytest.mark.parametrize("case", CLASS_PARAMETERS)
def test_bad_classes_and_weights_are_refused(make, case):
    parameters, error, message = CLASS_PARAMETERS[case]
    refused(make(**parameters), np.zeros((ROWS, 4)), Unreadable(), error=error, message=message)
    with pytest.raises(error, match=message):
        make(**parameters).plan(n=ROWS, dim=4)


@pytest.mark.parametrize("case", RANGE_PARAMETERS)
def test_bad_ranges_are_refused(regression, case):
    parameters, message = RANGE_PARAMETERS[case]
    refused(regression.make(**parameters), np.zeros((ROWS, 4)), Unreadable(), error=ParameterError, message=message)
    with pytest.raises(ParameterError, match=message):
        regression.make(**parameters).plan(n=ROWS, dim=4)


@pytest.mark.parametrize("case", LOSS_PARAMETERS)
def test_bad_losses_are_refused(case):
    name, parameters, message = LOSS_PARAMETERS[case]
    model = FAMILIES[name].make(**parameters)
    refused(model, np.zeros((ROWS, 4)), Unreadable(), error=ParameterError, message=message)
    with pytest.raises(ParameterError, match=message):
        FAMILIES[name].make(**parameters).plan(n=ROWS, dim=4)


NOT_PLANNED = {"invalid", "n", "random_state"}
PLANNED = [
    case
    for case, (parameters, _, _) in PARAMETERS.items()
    if not NOT_PLANNED & set(parameters) and case != "bounds by name of an array"
]


@pytest.mark.parametrize("case", PLANNED)
def test_a_plan_refuses_what_a_fit_refuses(each, case):
    parameters, error, message = PARAMETERS[case]
    with pytest.raises(error, match=message):
        each.make(**parameters).plan(n=ROWS, dim=4)


@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_kink_is_refused_where_it_is_not_proved(method):
    model = PrivateLinearSVC(loss="hinge", method=method, classes=(0, 1), feature_norm=1.0)
    refused(model, np.zeros((ROWS, 4)), Unreadable(), error=AssumptionError, message="huber_hinge")


@pytest.mark.parametrize("ledger", ["ledger.db", 1.0, MemoryBudget])
def test_a_ledger_that_is_no_budget_is_refused(each, ledger):
    with pytest.raises(ParameterError, match="ledger must be a budget"):
        each.make(ledger=ledger).fit(np.zeros((ROWS, 4)), Unreadable())


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"age": (0, 1), "dose": (0, 1), "zip": (0, 1)}, "bounds for column 'income' are missing"),
        ({"age": (0, 1), "dose": (0, 1), "income": (0, 1), "zip": (0, 1), "x": (0, 1)}, "'x' is not a column of X"),
        ({"age": (0, 1), "dose": (0, 1), "Zip": (0, 1)}, "'income' are missing, and 'Zip' is not a column of X"),
        (
            {"age": (0, 1), "dose": (0, 1), "income": (1, 0), "zip": (0, 1)},
            r"bounds\['income'\] must have low less than high",
        ),
    ],
)
def test_bounds_by_name_name_every_column_once(each, bounds, message):
    refused(each.make(bounds=bounds), frame(), each.labels(ROWS), error=ParameterError, message=message)


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, pd.DataFrame], ids=["array", "list", "frame"])
def test_records_given_as_bounds_are_not_counted(each, kind):
    X = np.full((137, 3), 0.5)
    with pytest.raises(ParameterError, match=r"bounds must be one .low, high. for all columns") as raised:
        each.make(adjacency="add_remove", n=100, bounds=kind(X)).fit(X, each.labels(137))
    assert "137" not in str(raised.value) and "137" not in str(raised.value.got)


def test_two_columns_of_one_name_are_refused(each):
    X = pd.DataFrame(rows()[:, :2], columns=["a", "a"])
    refused(each.make(), X, each.labels(ROWS), error=ParameterError, message="different names")


def test_bounds_that_would_fill_a_sparse_matrix_are_refused(each):
    X = sparse.csr_array(rows())
    refused(each.make(bounds=(0, 1)), X, each.labels(ROWS), error=ParameterError, message="symmetric")


@pytest.mark.parametrize("rows_and_columns", [(1, 3), (5, 40)], ids=["n=1", "n<d"])
def test_few_records_are_learnt_from_with_a_warning(each, rows_and_columns):
    n, d = rows_and_columns
    with pytest.warns(DpermWarning, match="hardly better than a (guess|constant)"):
        model = each.make().fit(np.ones((n, d)), each.labels(n))
    assert np.isfinite(model.coef_).all()


def test_prediction_names_the_column_too(each):
    X, y = each.data
    model = each.make().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    bad = pd.DataFrame({"a": [0.0], "b": [np.nan], "c": [SECRET]})
    with pytest.raises(DataError, match=r"column 'b' has NaN.*Impute them with public constants") as raised:
        model.predict(bad)
    assert tells_nothing(raised.value)
    with pytest.raises(DataError, match="no row to predict"):
        model.predict(bad[:0])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(bad[["b", "a", "c"]])
    with pytest.raises(ValueError, match="X has 2 features"):
        each.make().fit(X, y).predict(X[:, :2])


def test_weights_by_number_of_classes_of_text_are_explained(data):
    model = PrivateLogisticRegression(classes=("no", "yes"), class_weight={1: 2.0}, feature_norm=1.0)
    with pytest.raises(ParameterError, match="1 is a number, the classes are text"):
        model.fit(*data)
