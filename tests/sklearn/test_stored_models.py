# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files of models whatever their class, with the schema of the tables that they predict."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dperm.accounting import MemoryBudget
from dperm.data.schema import Schema
from dperm.errors import ModelFormatError
from dperm.privacy import PureDP
from dperm.privacy.digest import digest
from dperm.report.model_file import read_model, write_model
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression
from dperm.sklearn.files import load_model, load_stored, save, stored_record

SCHEMA = Schema.from_toml(
    "[columns.a]\nlow = 0\nhigh = 1\n"
    "[columns.w]\ncategories = ['x', 'y']\n[target]\nname = 't'\nclasses = ['no', 'yes']"
)
PAY = Schema(SCHEMA.encoder, Schema.from_toml("[columns.a]\nlow=0\nhigh=1\n[target]\nname='t'\nrange=[0, 9]").target)


@pytest.fixture
def model():
    X = SCHEMA.encoder.transform({"a": np.arange(500) % 7 / 7, "w": ["x", "y"] * 250})
    return PrivateLogisticRegression(feature_norm=SCHEMA.encoder.norm, classes=("yes", "no")).fit(
        X, ["no", "yes"] * 250
    )


def test_the_class_is_the_one_of_the_file(each, tmp_path):
    model = each.make().fit(*each.data)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert type(again) is type(model) and (again.coef_ == model.coef_).all()
    assert load_stored(tmp_path / "m").schema is None
    assert stored_record(tmp_path / "m") == model._fitted.record


def test_a_schema_is_kept_and_names_the_features(model, tmp_path):
    save(model, tmp_path / "m", schema=SCHEMA)
    stored = load_stored(tmp_path / "m")
    assert stored.schema == SCHEMA and (stored.estimator.coef_ == model.coef_).all()
    assert stored.estimator.statement_["public_quantities"]["columns"] == ["a", "w=x", "w=y"]
    assert model.statement_["public_quantities"]["columns"] is None


def test_a_model_with_a_schema_is_a_pipeline_that_predicts_raw_tables(model, tmp_path):
    save(model, tmp_path / "m", schema=SCHEMA)
    table = {"a": [0.1, 0.9, 5.0], "w": ["x", "y", "y"]}
    pipeline = load_model(tmp_path / "m")
    expected = model.predict_proba(SCHEMA.encoder.transform(table))
    assert (pipeline.predict_proba(table) == expected).all()
    assert (pipeline.predict(table) == model.predict(SCHEMA.encoder.transform(table))).all()
    assert pipeline["model"].statement_["goal"] == model.statement_["goal"]
    assert pipeline.feature_names_in_.tolist() == ["a", "w"] and pipeline.classes_.tolist() == ["no", "yes"]


def test_a_class_refuses_a_model_with_a_schema_and_says_what_reads_it(model, tmp_path):
    save(model, tmp_path / "m", schema=SCHEMA)
    for kind in (PrivateLogisticRegression, PrivateLinearRegression):
        with pytest.raises(ModelFormatError, match=r"through a schema.*Use dperm\.sklearn\.load_model\(path\)"):
            kind.load(tmp_path / "m")


def test_the_model_of_a_pipeline_is_saved_without_the_schema(model, tmp_path):
    save(model, tmp_path / "m", schema=SCHEMA)
    load_model(tmp_path / "m")["model"].save(tmp_path / "alone")
    assert (PrivateLogisticRegression.load(tmp_path / "alone").coef_ == model.coef_).all()


@pytest.mark.parametrize(
    "schema",
    [
        "{}",
        "3",
        "no json",
        PAY.to_json(),
        SCHEMA.to_json().replace('"yes"', '"maybe"'),
        SCHEMA.to_json().replace('["x", "y"]', '["x"]'),
        Schema(SCHEMA.encoder).to_json(),
    ],
    ids=range(7),
)
def test_a_schema_of_another_model_is_refused(model, tmp_path, schema):
    save(model, tmp_path / "m", schema=SCHEMA)
    file = read_model(tmp_path / "m")
    write_model(tmp_path / "m", replace(file, data={**file.data, "schema": schema}))
    with pytest.raises(ModelFormatError, match="does not fit together"):
        load_model(tmp_path / "m")


def test_files_without_a_schema_still_load(model, tmp_path):
    save(model, tmp_path / "m")
    file = read_model(tmp_path / "m")
    write_model(tmp_path / "m", replace(file, data={k: v for k, v in file.data.items() if k != "schema"}))
    assert load_stored(tmp_path / "m").schema is None


@pytest.mark.parametrize("kind", ["PublicTableEncoder", "PrivateForest", "os", ""])
def test_a_kind_that_is_no_model_is_refused(model, tmp_path, kind):
    save(model, tmp_path / "m")
    write_model(tmp_path / "m", replace(read_model(tmp_path / "m"), kind=kind))
    with pytest.raises(ModelFormatError, match="unknown to this version"):
        load_model(tmp_path / "m")


def test_a_model_without_noise_keeps_its_schema(tmp_path):
    X = SCHEMA.encoder.transform({"a": np.arange(500) % 7 / 7, "w": ["x", "y"] * 250})
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        plain = PrivateLinearRegression(epsilon=np.inf, feature_norm=SCHEMA.encoder.norm, label_range=(0, 9))
        plain.fit(X, X[:, 0])
    save(plain, tmp_path / "m", schema=PAY)
    stored = load_stored(tmp_path / "m")
    assert stored.schema == PAY and stored_record(tmp_path / "m") is None
    assert json.dumps(stored.estimator.statement_["public_quantities"]["columns"]) == '["a", "w=x", "w=y"]'


def booked_file(tmp_path):
    X, y = np.random.default_rng(0).uniform(size=(300, 2)), np.arange(300) % 2
    budget = MemoryBudget(PureDP(1.0, "replace_one"))
    PrivateLogisticRegression(epsilon=1.0, delta=0.0, feature_norm=2.0, classes=(0, 1), ledger=budget).fit(X, y).save(
        tmp_path / "m"
    )
    return read_model(tmp_path / "m")


def test_what_was_booked_is_in_the_file_and_has_the_digest_of_the_receipt(tmp_path):
    file = booked_file(tmp_path)
    receipt = json.loads(file.data["record"])["ledger"]
    assert receipt["digest"] == digest(file.arrays["released"])
    assert load_model(tmp_path / "m")._fitted.released.tolist() == file.arrays["released"].tolist()


@pytest.mark.parametrize("changed", [("released",), ("coef",), ("released", "coef")], ids="-".join)
def test_coefficients_that_are_not_the_booked_ones_are_refused(tmp_path, changed):
    file = booked_file(tmp_path)
    arrays = {name: 1.001 * array if name in changed else array for name, array in file.arrays.items()}
    write_model(tmp_path / "m", replace(file, arrays=arrays))
    with pytest.raises(ModelFormatError, match="does not fit together"):
        load_model(tmp_path / "m")
