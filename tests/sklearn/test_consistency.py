# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A file that was edited in one place is refused: what is not private must not pass for private."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from dperm.accounting import Laplace, MemoryBudget, Poisson
from dperm.accounting.serialize import event_to_json
from dperm.data.schema import Schema
from dperm.errors import ModelFormatError
from dperm.methods.choose import BY_NAME
from dperm.privacy import ApproxDP
from dperm.report import model_file
from dperm.report.model_file import read_model, write_model
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression
from dperm.sklearn.files import load_stored, save

pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")

SCHEMA = Schema.from_toml(
    "[columns.a]\nlow = 0\nhigh = 1\n"
    "[columns.w]\ncategories = ['x', 'y']\n[target]\nname = 't'\nclasses = ['no', 'yes']"
)
X = SCHEMA.encoder.transform({"a": np.arange(500) % 7 / 7, "w": ["x", "y"] * 250})
LABELS = ["no", "yes"] * 250
NUMBERS = 5 + 3 * X[:, 0]
BUDGET = MemoryBudget(ApproxDP(9.0, 1e-5, "replace_one"), blocks=9)
CENTERED = {"bounds": [(-3, 5), (-1, 1), (-1, 3)]}


def classifier(**given):
    return PrivateLogisticRegression(feature_norm=SCHEMA.encoder.norm, classes=("yes", "no"), **given).fit(X, LABELS)


def regressor(**given):
    return PrivateLinearRegression(label_range=(0, 10), epsilon=5.0, **{**CENTERED, **given}).fit(X, NUMBERS)


class Edited:
    """The parts of a file, to be changed and written again."""

    def __init__(self, path):
        self.path, self.file = path, read_model(path)
        self.data = copy.deepcopy(dict(self.file.data))
        self.arrays = {name: array.copy() for name, array in self.file.arrays.items()}
        self.record = None if self.data["record"] is None else json.loads(self.data["record"])

    @property
    def parameters(self):
        return self.data["parameters"]

    def write(self):
        if self.record is not None:
            self.data["record"] = json.dumps(self.record)
        write_model(self.path, replace(self.file, data=self.data, arrays=self.arrays))

    def refused(self, because):
        self.write()
        with pytest.raises(ModelFormatError, match="does not fit together") as caught:
            load_stored(self.path)
        assert because in repr(caught.value.__cause__)


@pytest.fixture
def edited(tmp_path):
    """A function that stores a model, and gives the parts of its file."""

    def edited(model, schema=None):
        save(model, tmp_path / "m", schema=schema)
        load_stored(tmp_path / "m")
        return Edited(tmp_path / "m")

    return edited


def updated(part, **changes):
    return lambda file: getattr(file, part).update(changes)


PARAMETERS = [
    (updated("parameters", epsilon=0.1), "another guarantee"),
    (updated("parameters", epsilon="inf"), "another guarantee"),
    (updated("parameters", delta=0.0), "another guarantee"),
    (updated("parameters", adjacency="add_remove"), "another guarantee"),
    (updated("parameters", method="output"), "another method"),
    (updated("parameters", random_state=3), "a seed was given"),
    (updated("parameters", n=7), "another n"),
    (updated("parameters", invalid="drop"), "public facts"),
    (updated("parameters", fit_intercept=False), "public facts"),
    (updated("parameters", feature_norm=1.0), "public facts"),
    (updated("parameters", bounds=[-1, 1]), "public facts"),
    (updated("parameters", class_weight=[["no", 2.0]]), "public facts"),
    (updated("parameters", classes=["yes", "maybe"]), "other classes"),
    (updated("parameters", ledger="/tmp/x"), "parameters that it does not have"),
    (updated("parameters", power=3), "parameters that it does not have"),
    (updated("parameters", method={"__class__": 1}), "the method has no name"),
    (updated("parameters", method=None), "the method has no name"),
    (updated("parameters", random_state="3"), "the seed is not a number"),
    (updated("parameters", random_state=True), "the seed is not a number"),
    (updated("parameters", epsilon="1"), "epsilon must be"),
    (updated("parameters", C="big"), "C must be"),
    (updated("parameters", clip=[1]), "clip must be"),
    (updated("data", more=1), "unknown parts"),
    (updated("data", classes=["yes", "no"]), "other classes"),
    (updated("data", classes=["n" * 20_000, *map(str, range(999))]), "too long"),
    (updated("data", public={}), "either a record"),
]


@pytest.mark.parametrize(("change", "because"), PARAMETERS, ids=range(len(PARAMETERS)))
def test_parameters_that_the_record_contradicts_are_refused(edited, change, because):
    file = edited(classifier(method="objective"))
    change(file)
    file.refused(because)


def test_a_model_without_noise_cannot_borrow_a_record(edited, tmp_path):
    file = edited(classifier())
    record, released = file.record, file.arrays["released"]
    plain = edited(classifier(epsilon=np.inf))
    plain.record, plain.data["public"] = record, None
    plain.refused("another guarantee")
    plain.parameters["epsilon"] = 1.0
    plain.refused("released values are missing")
    plain.arrays["released"] = released
    plain.refused("do not follow from the released values")


def test_a_private_model_cannot_lose_its_record(edited):
    file = edited(classifier())
    file.data["public"], file.record, file.data["record"] = file.record["public"], None, None
    file.refused("there is no record")


@pytest.mark.parametrize("budget", [None, BUDGET], ids=["free", "booked"])
def test_a_seeded_model_does_not_pass_for_private(edited, budget):
    file = edited(classifier(random_state=3, ledger=budget))
    file.parameters["random_state"] = None
    file.write()
    assert load_stored(file.path).estimator.guarantee_ is None  # a Generator is not kept
    file.record["seeded"] = False
    file.refused("the description of the noise contradicts the seed")


def test_a_private_model_does_not_pass_for_seeded(edited):
    file = edited(classifier())
    file.record["seeded"] = True
    file.refused("the description of the noise contradicts the seed")


def test_the_record_and_the_classes_name_them_in_one_order(edited):
    file = edited(PrivateLogisticRegression(feature_norm=SCHEMA.encoder.norm, classes=("no", "yes")).fit(X, LABELS))
    file.data["classes"], file.parameters["classes"] = ["yes", "no"], None
    file.refused("public facts")


# arrays


@pytest.mark.parametrize("model", [classifier, regressor], ids=["classifier", "regressor"])
@pytest.mark.parametrize("name", ["coef", "intercept", "scales", "combination", "released"])
@pytest.mark.parametrize("factor", [-1.0, 1 + 1e-6])
def test_every_array_follows_from_what_was_released(edited, model, name, factor):
    file = edited(model())
    file.arrays[name] *= factor
    file.refused("do not follow from the released values")


@pytest.mark.parametrize("model", [classifier, regressor], ids=["classifier", "regressor"])
@pytest.mark.parametrize("name", ["coef", "scales", "combination"])
def test_products_are_compared_exactly_and_with_a_tolerance_in_files_of_other_versions(edited, model, name):
    file = edited(model())
    file.arrays[name] *= 1 + 1e-12
    file.refused("do not follow from the released values")
    file.record["versions"]["dperm"] = "0.9.0"
    file.write()
    assert load_stored(file.path)


def test_the_sum_in_an_intercept_is_compared_up_to_rounding(edited):
    file = edited(regressor())
    file.arrays["intercept"] *= 1 + 1e-12
    file.write()
    assert load_stored(file.path)


def test_signs_that_are_turned_together_are_refused(edited):
    file = edited(classifier())
    for name in ("coef", "scales"):
        file.arrays[name] *= -1
    file.refused("do not follow from the released values")


@pytest.mark.parametrize("budget", [None, BUDGET], ids=["free", "booked"])
def test_what_was_released_cannot_be_left_out(edited, budget):
    file = edited(classifier(ledger=budget))
    del file.arrays["released"]
    file.refused("released values are missing")


def test_files_before_0_5_hold_no_release_and_have_no_digest(edited, monkeypatch):
    file = edited(classifier())
    del file.arrays["released"]
    file.write()
    stored = replace(read_model(file.path), form=2)
    monkeypatch.setattr("dperm.sklearn.files.read_model", lambda path: stored)
    with pytest.raises(ModelFormatError) as caught:  # its record says that it is newer
        load_stored(file.path)
    assert "missing" in repr(caught.value.__cause__)
    file.record["versions"]["dperm"] = "0.4.0"
    for receipt, loads in (({}, True), ({"digest": "sha256:0"}, False)):
        record = json.dumps({**file.record, "ledger": receipt})
        stored = replace(stored, data={**stored.data, "record": record})
        if loads:
            assert load_stored(file.path).estimator.guarantee_ is not None
        else:
            with pytest.raises(ModelFormatError):
                load_stored(file.path)


def test_the_format_of_a_file_that_is_written_is_the_newest(edited):
    assert edited(classifier()).file.form == model_file.FORMAT == 3


@pytest.mark.filterwarnings("ignore:the noise :dperm.errors.DpermWarning")
@pytest.mark.parametrize("method", [*BY_NAME, "auto"])
def test_models_of_every_method_are_read(edited, method):
    model = regressor if method == "sufficient" else classifier
    assert edited(model(method=method)).record["public"]["method"] in (*BY_NAME, method)


@pytest.mark.parametrize(
    "given", [{}, CENTERED, {"bounds": (-1, 4), "feature_norm": 0.5}], ids=["norm", "bounds", "both"]
)
@pytest.mark.parametrize("intercept", [True, False])
def test_models_of_every_geometry_are_read(edited, given, intercept):
    edited(regressor(**{"bounds": None, "feature_norm": 1.0, **given}, fit_intercept=intercept))


def test_bounds_by_name_are_read_from_files_of_tables_without_an_order(edited):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"b": X[:, 0], "a": X[:, 1]})
    edited(PrivateLinearRegression(bounds={"a": (0, 1), "b": (-1, 3)}, label_range=(0, 10)).fit(table, NUMBERS))


def test_an_event_whose_account_would_fill_the_memory_is_refused(edited, monkeypatch):
    def full(*given):
        raise MemoryError

    file = edited(classifier())
    file.record["event"] = json.loads(event_to_json(Poisson(Laplace(0.01), 0.5) * 10**9))
    monkeypatch.setattr("dperm.accounting.lattice.spectrum.fold", full)
    file.refused("MemoryError")


# the schema


def swapped(**changes):
    """The schema with a changed column."""
    data = json.loads(SCHEMA.to_json())
    data["encoder"]["columns"][0] |= changes
    return json.dumps(data)


@pytest.mark.parametrize(
    ("schema", "because"),
    [
        (swapped(low=-1000.0, high=-900.0), "not that of the fit"),
        (swapped(impute=0.5), "not that of the fit"),
        (SCHEMA.to_json().replace('["x", "y"]', '["y", "x"]'), "other features"),
        (SCHEMA.to_json().replace('"no", "yes"', '"yes", "no"'), "not that of the fit"),
        (SCHEMA.to_json().replace('"name": "t"', '"name": "other"'), "not that of the fit"),
        (json.dumps({**json.loads(SCHEMA.to_json()), "target": None}), "no target"),
    ],
    ids=range(6),
)
def test_a_schema_that_was_swapped_is_refused(edited, schema, because):
    file = edited(classifier(), SCHEMA)
    assert file.record["public"]["schema_digest"] == SCHEMA.digest
    file.data["schema"] = schema
    file.refused(because)


def test_a_schema_cannot_be_put_in_without_its_digest(edited):
    file = edited(classifier(), SCHEMA)
    del file.record["public"]["schema_digest"]
    file.refused("not that of the fit")


def test_the_norm_and_the_range_are_those_of_the_schema(edited):
    other = Schema(
        SCHEMA.encoder, Schema.from_toml("[columns.a]\nlow=0\nhigh=1\n[target]\nname='t'\nrange=[0, 9]").target
    )
    for model, because in ((regressor(), "another range"), (regressor(bounds=None, feature_norm=2.0), "another norm")):
        file = edited(model)
        file.record["public"] |= {"columns": list(SCHEMA.encoder.feature_names), "schema_digest": other.digest}
        file.data["schema"] = other.to_json()
        file.refused(because)
