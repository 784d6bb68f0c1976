# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models go to files and come back with everything that was released and promised."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families import FAMILIES

from dperm import ApproxDP, PureDP
from dperm.accounting import MemoryBudget
from dperm.errors import ModelFormatError, NotPrivateWarning, ParameterError
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


def test_every_model_comes_back_whole(each, tmp_path):
    model = each.make(bounds=[(-1, 3), (-2, 2), (-2, 2)], C=0.05).fit(*each.data)
    again = round_trip(model, tmp_path / "model.npz")
    assert (again.coef_ == model.coef_).all() and np.all(again.intercept_ == model.intercept_)
    assert type(again.intercept_) is type(model.intercept_) and again.coef_.shape == model.coef_.shape
    assert (again.predict(each.X) == model.predict(each.X)).all()
    assert again.guarantee_ == model.guarantee_ and again.statement_ == model.statement_
    assert again.profile_.epsilon(1e-7) == model.profile_.epsilon(1e-7)
    assert hasattr(again, "classes_") is each.is_classifier
    assert again.set_params(**each.declared).fit(*each.data).plan_ == model.plan_


def test_a_model_without_a_guarantee_comes_back_without_one(smooth, tmp_path):
    with pytest.warns(NotPrivateWarning):
        model = smooth.make(epsilon=np.inf).fit(*smooth.data)
    again = round_trip(model, tmp_path / "m")
    assert again.guarantee_ is None and again.profile_ is None
    assert again.epsilon == np.inf and again.statement_ == model.statement_


def test_a_seeded_model_stays_not_private(each, tmp_path):
    with pytest.warns(NotPrivateWarning):
        model = each.make(random_state=np.int64(3)).fit(*each.data)
    again = round_trip(model, tmp_path / "m")
    assert again.random_state == 3 and not again.statement_.is_private
    assert again.guarantee_ is None and again.profile_ is None
    assert again.statement_ == model.statement_ and "NOT PRIVATE" in again._repr_html_()


def test_what_cannot_be_stored_is_left_out(smooth, tmp_path):
    budget = MemoryBudget(PureDP(10.0, "replace_one"))
    model = smooth.make(delta=0.0, epsilon=8.0, method=OutputPerturbation(noise="laplace"), ledger=budget)
    again = round_trip(model.fit(*smooth.data), tmp_path / "m")
    assert again.ledger is None and again.method == "output"


def test_the_file_holds_plain_data_only(each, tmp_path):
    model = each.make().fit(*each.data)
    model.save(tmp_path / "m")
    with np.load(tmp_path / "m", allow_pickle=False) as file:
        kinds = {name: file[name].dtype.kind for name in file.files}
    assert set(kinds.values()) == {"f", "u"}
    text = json.dumps(read_model(tmp_path / "m").data)
    assert "epsilon" in text and "2000" in text  # n is public under replace_one


def test_a_file_that_exists_is_not_overwritten_unless_asked(data, tmp_path):
    path, fitted = tmp_path / "m", PrivateLogisticRegression(classes=(0, 1), feature_norm=1.0).fit(*data)
    path.write_text("mine")
    with pytest.raises(ParameterError, match=r"'m' exists and is left as it is\. .*overwrite=True"):
        fitted.save(path)
    assert path.read_text() == "mine" and [file.name for file in tmp_path.iterdir()] == ["m"]
    fitted.save(path, overwrite=True)
    assert (PrivateLogisticRegression.load(path).coef_ == fitted.coef_).all()


def test_under_add_remove_the_file_does_not_hold_the_number_of_rows(each, tmp_path):
    each.without_n().fit(each.X[:1777], each.y[:1777]).save(tmp_path / "m")
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
        lambda data, arrays: data.update(classes=None),
        lambda data, arrays: data.update(classes=[0, 1, 2]),
        lambda data, arrays: data.update(classes=[[0, 1]]),
        lambda data, arrays: data.update(feature_names=["a"]),
        lambda data, arrays: data.update(feature_names=[1, 2, 3]),
        lambda data, arrays: data["parameters"].update(power=9000),
        lambda data, arrays: data.update(parameters=[]),
        lambda data, arrays: arrays.pop("coef"),
        lambda data, arrays: arrays.update(coef=np.zeros((3, 1))),
        lambda data, arrays: arrays.update(coef=np.zeros((2, 3)), intercept=np.zeros(2)),
        lambda data, arrays: arrays.update(coef=np.zeros((1, 3, 1))),
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


@pytest.mark.parametrize(
    "change",
    [
        lambda data, arrays: data.update(classes=[0, 1]),
        lambda data, arrays: data.pop("classes"),
        lambda data, arrays: arrays.update(coef=np.zeros((2, 3)), intercept=np.zeros(2)),
        lambda data, arrays: arrays.update(intercept=np.zeros(0)),
        lambda data, arrays: data["parameters"].update(classes=[0, 1]),
    ],
)
def test_a_file_of_a_regression_that_does_not_fit_together_is_refused(regression, tmp_path, change):
    path = tmp_path / "m"
    regression.make().fit(*regression.data).save(path)
    stored = read_model(path)
    values, arrays = dict(stored.data), dict(stored.arrays)
    change(values, arrays)
    write_model(path, ModelFile(stored.kind, values, arrays))
    with pytest.raises(ModelFormatError, match="does not fit together"):
        regression.estimator.load(path)


def test_three_classes_are_too_many_for_a_support_vector_machine(tmp_path):
    path = tmp_path / "m"
    FAMILIES["softmax"].make().fit(*FAMILIES["softmax"].data).save(path)
    stored = read_model(path)
    write_model(path, ModelFile("PrivateLinearSVC", stored.data, stored.arrays))
    with pytest.raises(ModelFormatError, match="does not fit together"):
        PrivateLinearSVC.load(path)


# files of 0.3.0, written by that version: they hold the coefficients of their one score without its dimension

OLD = Path(__file__).parent / "files_of_0_3_0"


def test_a_file_of_an_older_version_is_read():
    model = PrivateLogisticRegression.load(OLD / "logistic.npz")
    assert model.coef_.tolist() == [[5.088058038876182, -3.9664124398025704]]
    assert model.intercept_.tolist() == [0.14551483296268097]
    assert model.classes_.tolist() == ["no", "yes"] and model.class_weight == {"yes": 2.0}
    assert model.guarantee_ == ApproxDP(2.0, 1e-6, "replace_one")
    assert model.profile_.epsilon(1e-7) == pytest.approx(2.1428412474291947, rel=1e-6)
    assert model.predict(pd.DataFrame({"age": [1.0, -1.0], "dose": [-1.0, 1.0]})).tolist() == ["yes", "no"]
    assert model.statement_["public_quantities"]["classes"] == ["no", "yes"]


def test_a_file_of_an_older_version_knows_its_noise():
    model = PrivateLinearSVC.load(OLD / "svc.npz")
    assert model.coef_.tolist() == [[2.4750334828499945, -2.8621936236445435]] and model.intercept_.tolist() == [0.0]
    assert model.guarantee_ == PureDP(1.0, "add_remove")
    low, high = model.noise_interval(0.9)
    assert low == pytest.approx([1.657987393032117, -3.679239713462421])
    assert high == pytest.approx([3.292079572667872, -2.045147533826666])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data, record: record.update(seeded=False), "a seeded fit that says it is private"),
        (lambda data, record: record["public"].update(n_features=99), "other columns"),
        (lambda data, record: record["public"].update(estimator="PrivateLinearSVC"), "another estimator"),
    ],
)
def test_a_record_that_the_rest_of_the_file_contradicts_is_refused(tmp_path, change, why):
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    with pytest.warns(NotPrivateWarning):
        model = PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1), random_state=3).fit(X, (X[:, 0] > 0) * 1)
    path = tmp_path / "model.npz"
    model.save(path)
    file = read_model(path)
    record = json.loads(file.data["record"])
    change(file.data, record)
    write_model(path, ModelFile(file.kind, {**file.data, "record": json.dumps(record)}, file.arrays))
    with pytest.raises(ModelFormatError, match="does not fit together"):
        PrivateLogisticRegression.load(path)


def test_a_record_that_is_nested_without_end_is_refused(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    model = PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1)).fit(X, (X[:, 0] > 0) * 1)
    path = tmp_path / "model.npz"
    model.save(path)
    file = read_model(path)
    write_model(path, ModelFile(file.kind, {**file.data, "record": "[" * 100_000}, file.arrays))
    with pytest.raises(ModelFormatError, match="does not fit together"):
        PrivateLogisticRegression.load(path)
