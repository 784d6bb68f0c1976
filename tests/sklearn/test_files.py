# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models go to files and come back with everything that was released and promised."""

import json

import numpy as np
import pandas as pd
import pytest

from dperm import PureDP
from dperm.accounting import MemoryBudget
from dperm.errors import ModelFormatError, NotPrivateWarning
from dperm.methods import OutputPerturbation
from dperm.report.model_file import ModelFile, read_model, write_model
from dperm.sklearn import PrivateLinearSVC, PrivateLogisticRegression

CLASSES = [("no", "yes"), (0, 1), (-1.5, 2.5), (False, True), ("ä", "日本")]


def round_trip(model, path):
    model.save(path)
    return type(model).load(path)


@pytest.mark.parametrize("classes", CLASSES, ids=str)
def test_a_model_comes_back_whole(make, data, tmp_path, classes):
    X, y = data
    labels = np.array(classes)[y]
    model = make(classes=classes, bounds=(-1, 3), C=0.05, clip=0.7, class_weight={classes[1]: 2.0}).fit(X, labels)
    again = round_trip(model, tmp_path / "model.npz")
    assert (again.coef_ == model.coef_).all() and (again.intercept_ == model.intercept_).all()
    assert (again.predict(X) == model.predict(X)).all() and again.predict(X).dtype.kind == labels.dtype.kind
    assert again.classes_.tolist() == list(classes)
    assert again.guarantee_ == model.guarantee_ and again.statement_ == model.statement_
    assert again.profile_.epsilon(1e-7) == model.profile_.epsilon(1e-7)
    assert again.n_features_in_ == 3 and again.plan_ is None
    assert again.class_weight == {classes[1]: 2.0} and again.C == 0.05 and again.clip == 0.7


def test_names_of_columns_come_back(make, data, tmp_path):
    X, y = data
    table = pd.DataFrame(X, columns=["a", "b", "ç"])
    model = make(bounds={"a": (-1, 1), "b": (0, 1), "ç": (-2, 2)}).fit(table, y)
    again = round_trip(model, tmp_path / "m")
    assert again.feature_names_in_.tolist() == ["a", "b", "ç"]
    assert (again.predict(table) == model.predict(table)).all()
    assert {name: tuple(pair) for name, pair in again.bounds.items()} == model.bounds
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table[["b", "a", "ç"]])
    assert again.set_params(classes=(0, 1)).fit(table, y).plan_ == model.plan_


def test_a_model_without_a_guarantee_comes_back_without_one(make, data, tmp_path):
    with pytest.warns(NotPrivateWarning):
        model = make(epsilon=np.inf).fit(*data)
    again = round_trip(model, tmp_path / "m")
    assert again.guarantee_ is None and again.profile_ is None
    assert again.epsilon == np.inf and again.statement_ == model.statement_


def test_a_seeded_model_stays_not_private(make, data, tmp_path):
    with pytest.warns(NotPrivateWarning):
        model = make(random_state=np.int64(3)).fit(*data)
    again = round_trip(model, tmp_path / "m")
    assert again.random_state == 3 and not again.statement_.is_private
    assert again.guarantee_ is None and again.profile_ is None
    assert again.statement_ == model.statement_ and "NOT PRIVATE" in again._repr_html_()


def test_what_cannot_be_stored_is_left_out(make, data, tmp_path):
    budget = MemoryBudget(PureDP(10.0, "replace_one"))
    model = make(delta=0.0, method=OutputPerturbation(noise="laplace"), ledger=budget)
    again = round_trip(model.fit(*data), tmp_path / "m")
    assert again.ledger is None and again.method == "output"


def test_the_file_holds_plain_data_only(make, data, tmp_path):
    model = make().fit(*data)
    model.save(tmp_path / "m")
    with np.load(tmp_path / "m", allow_pickle=False) as file:
        kinds = {name: file[name].dtype.kind for name in file.files}
    assert set(kinds.values()) == {"f", "u"}
    text = json.dumps(read_model(tmp_path / "m").data)
    assert "epsilon" in text and "2000" in text  # n is public under replace_one


def test_under_add_remove_the_file_does_not_hold_the_number_of_rows(make, data, tmp_path):
    make(adjacency="add_remove").fit(data[0][:1777], data[1][:1777]).save(tmp_path / "m")
    assert "1777" not in json.dumps(read_model(tmp_path / "m").data)


def test_a_file_of_another_class_is_refused(data, tmp_path):
    PrivateLogisticRegression(classes=(0, 1), feature_norm=1.0).fit(*data).save(tmp_path / "m")
    with pytest.raises(ModelFormatError, match=r"PrivateLogisticRegression\.load"):
        PrivateLinearSVC.load(tmp_path / "m")


@pytest.mark.parametrize(
    "change",
    [
        lambda data, arrays: data.pop("parameters"),
        lambda data, arrays: data.pop("record"),
        lambda data, arrays: data.update(record="{}"),
        lambda data, arrays: data.update(record=None),
        lambda data, arrays: data.update(classes=[0]),
        lambda data, arrays: data.update(classes=[1, 1]),
        lambda data, arrays: data.update(feature_names=["a"]),
        lambda data, arrays: data.update(feature_names=[1, 2, 3]),
        lambda data, arrays: data["parameters"].update(power=9000),
        lambda data, arrays: data.update(parameters=[]),
        lambda data, arrays: arrays.pop("coef"),
        lambda data, arrays: arrays.update(coef=np.zeros((1, 3))),
        lambda data, arrays: arrays.update(coef=np.zeros(0)),
        lambda data, arrays: arrays.update(intercept=np.zeros(2)),
        lambda data, arrays: arrays.update(scales=np.ones(4)),
        lambda data, arrays: arrays.update(combination=np.ones(2)),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(data, tmp_path, change):
    path = tmp_path / "m"
    PrivateLogisticRegression(classes=(0, 1), feature_norm=1.0).fit(*data).save(path)
    stored = read_model(path)
    values, arrays = dict(stored.data), dict(stored.arrays)
    change(values, arrays)
    write_model(path, ModelFile(stored.kind, values, arrays))
    with pytest.raises(ModelFormatError, match="does not fit together"):
        PrivateLogisticRegression.load(path)
