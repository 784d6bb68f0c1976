# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Errors name the true problem, and their advice solves it."""

import re

import numpy as np
import pandas as pd
import pytest
from corners import CountingBudget

from dperm.errors import DataError, LeakError, ParameterError
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression

X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
SIGNS = np.arange(60) % 2
BEYOND = r"infinite values \(inf\) or numbers beyond 1\.8e\+308, the largest double"
WORDS = np.array(["no", "yes"])[SIGNS]


def model(**changes):
    return PrivateLogisticRegression(**{"feature_norm": 1.0, "classes": (0, 1), **changes})


def refused(kind, words, fit):
    """The message of an error, raised before anything is charged."""
    budget = CountingBudget()
    with pytest.raises(kind, match=words) as found:
        fit(budget)
    assert budget.charges == 0
    return str(found.value)


@pytest.mark.parametrize("invalid", ["raise", "drop"])
@pytest.mark.parametrize("y", [WORDS, WORDS.astype(object), WORDS.tolist(), np.array(["0", "1"])[SIGNS]], ids=str)
def test_text_labels_of_numeric_classes_are_refused_and_the_advice_holds(y, invalid):
    text = refused(
        DataError,
        "y holds text, and the declared classes 0 and 1",
        lambda b: model(invalid=invalid, ledger=b).fit(X, y),
    )
    assert "drop" not in text and "no label matches the classes" in text
    model(classes=tuple(sorted(set(y))), invalid=invalid).fit(X, y)


def test_numeric_labels_of_text_classes_are_refused_and_one_odd_label_is_not():
    refused(
        DataError, "y holds numbers", lambda b: model(classes=("no", "yes"), invalid="drop", ledger=b).fit(X, SIGNS)
    )
    mixed = [*SIGNS.tolist()[1:], "maybe"]
    assert model(invalid="drop").fit(X, mixed).guarantee_ is not None
    refused(DataError, "must hold the declared classes 0 and 1 only", lambda b: model(ledger=b).fit(X, mixed))


def test_rows_to_predict_are_told_nan_from_infinity():
    fitted = model().fit(X, SIGNS)
    nan = refused(DataError, "column 1 has NaN. Impute", lambda b: fitted.predict([[0.0, np.nan]]))
    assert "inf" not in nan
    inf = refused(DataError, r"column 0 has infinite values \(inf\)", lambda b: fitted.predict([[np.inf, 0.0]]))
    assert "NaN" not in inf and "mpute" not in inf


@pytest.mark.parametrize("huge", [10**400, -(10**400)], ids=["positive", "negative"])
def test_a_number_beyond_doubles_is_infinite_and_no_date(huge):
    y, rows = SIGNS, [[huge, 1.0], *X[1:].tolist()]
    for table in (rows, pd.DataFrame(rows, columns=["a", "b"]), np.array(rows, dtype=object)):
        text = refused(DataError, BEYOND, lambda b, table=table: model(ledger=b).fit(table, y))
        assert "date" not in text
        assert model(invalid="drop").fit(table, y).guarantee_ is not None
    refused(DataError, BEYOND, lambda b: model().fit(X, SIGNS).predict(rows))
    refused(
        DataError,
        "finite numbers",
        lambda b: PrivateLinearRegression(feature_norm=1.0, label_range=(-1, 1), ledger=b).fit(X, [huge, *X[1:, 0]]),
    )
    refused(ParameterError, "bounds must be", lambda b: model(bounds=(0, abs(huge)), ledger=b).fit(X, SIGNS))


def test_a_categorical_is_sent_to_the_encoder_of_pipelines():
    frame = pd.DataFrame({"a": pd.Categorical(["u", "v"] * 30), "b": X[:, 0]})
    text = refused(DataError, "column 'a' must hold numbers", lambda b: model(ledger=b).fit(frame, SIGNS))
    assert "dperm.sklearn.PublicTableEncoder" in text and "{'a': Categorical([...])}" in text


def test_x_without_columns_tells_its_rows_only_where_they_are_public():
    empty = np.empty((60, 0))
    assert "(shape=(60, 0))" in refused(ParameterError, "0 feature", lambda b: model(ledger=b).fit(empty, SIGNS))
    private = refused(ParameterError, "0 feature", lambda b: model(adjacency="add_remove", ledger=b).fit(empty, SIGNS))
    assert "shape" not in private and not re.search("60", private)


@pytest.mark.parametrize("bounds", [{"a": (0, 1), "b": (0, 1)}, {"a": (0, 1)}])
def test_bounds_by_name_ask_for_names_first(bounds):
    refused(ParameterError, "columns of X have no names", lambda b: model(bounds=bounds, ledger=b).fit(X, SIGNS))


def test_an_unfilled_draft_is_called_one(tmp_path):
    from dperm.data.schema import Schema
    from dperm.data.schema_draft import draft

    file = tmp_path / "schema.toml"
    for types in ({"age": "", "income": ""}, {"age": "number", "income": "text"}):
        file.write_text(draft(types, "income"), encoding="utf-8")
        with pytest.raises(LeakError, match=r"this draft is not filled in: columns.age.* replace each \"FILL IN\""):
            Schema.load(file)
