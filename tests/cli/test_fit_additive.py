# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit --model additive``: the model is that of the Python estimator, and every command reads its file."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from people_tables import people, write_csv

from dperm import ApproxDP
from dperm.data.files import read_table
from dperm.data.schema import AdditiveSchema
from dperm.sklearn import PrivateAdditiveClassifier, PrivateAdditiveRegressor, load_model
from dperm.sklearn.files import largest_size, load_stored

FIT = "fit data.csv --target income --epsilon 1 --schema additive.toml --model additive"
PAY = "fit data.csv --target pay --epsilon 1 --schema additive-pay.toml --model additive"
SEEDED = "--seed 7 --not-private --out seeded.dperm"
SCHEMA = """
interactions = [["age", "work"]]

[columns.age]
low = 17
high = 90
detail = 0.5
bins = 16

[columns.work]
categories = ["private", "public", "self"]
weight = 2

[columns.hours]
low = 0
high = 80
unit = 10
special = [0]

[target]
name = "income"
classes = ["<=50K", ">50K"]
"""


@pytest.fixture
def additive(desk):
    """The working directory, with additive schemas for both targets."""
    Path("additive.toml").write_text(SCHEMA)
    pay = SCHEMA.replace('name = "income"\nclasses = ["<=50K", ">50K"]', 'name = "pay"\nrange = [0, 200]')
    Path("additive-pay.toml").write_text(pay)
    return desk


def table_of(schema):
    table = read_table(Path("data.csv"), {**schema.encoder.columns, schema.target.name: schema.target})
    return table, table.pop(schema.target.name)


@pytest.mark.parametrize(
    ("line", "file", "kind", "labels"),
    [
        (FIT, "additive.toml", PrivateAdditiveClassifier, {"classes": ("<=50K", ">50K")}),
        (PAY, "additive-pay.toml", PrivateAdditiveRegressor, {"label_range": (0, 200)}),
    ],
    ids=["classes", "range"],
)
@pytest.mark.filterwarnings("ignore:.*NOT PRIVATE")
def test_fit_and_predict_agree_with_the_python_estimator(additive, ends, line, file, kind, labels):
    ends(0, f"{line} --C 0.2 --clip 0.4 --delta 1e-7 {SEEDED}")
    schema = AdditiveSchema.load(file)
    table, y = table_of(schema)
    model = kind(
        terms=schema.encoder.columns,
        interactions=[("age", "work")],
        C=0.2,
        clip=0.4,
        delta=1e-7,
        epsilon=1.0,
        random_state=7,
        **labels,
    ).fit(table, y)
    stored = load_stored("seeded.dperm")
    assert stored.schema == schema and (stored.estimator.coef_ == model.coef_).all()
    assert (load_model("seeded.dperm").predict(table) == model.predict(table)).all()
    assert (kind.load("seeded.dperm").predict(table) == model.predict(table)).all()
    options = "--probabilities" if kind is PrivateAdditiveClassifier else ""
    rows = list(csv.reader(ends(0, f"predict seeded.dperm data.csv {options}").stdout.splitlines()))
    assert [row[0] for row in rows[1:]] == list(map(str, model.predict(table).tolist()))
    if options:
        assert np.array_equal(np.array([row[1:] for row in rows[1:]], dtype=float), model.predict_proba(table))


def test_missing_and_undeclared_values_have_effects_of_their_own(additive, ends, answered):
    answered(FIT)
    model = load_model("model.dperm")
    assert model.term_names_ == ["age", "work", "hours", "age x work"]
    strange = {"age": [None, 30], "work": ["elsewhere", None], "hours": [0, 81]}
    Path("new.csv").write_text("age,work,hours\n,elsewhere,0\n30,,81\n")
    found = answered("predict model.dperm new.csv --unseen raise --probabilities")["predictions"]
    assert found["income"] == model.predict(strange).tolist()
    Path("new.csv").write_text("age,work,hours\n,elsewhere,SECRET\n")
    assert "column 'hours'" in ends(2, "predict model.dperm new.csv --unseen raise").stderr
    assert len(answered("predict model.dperm new.csv")["predictions"]["income"]) == 1


def test_options_reach_the_plan_and_its_advice_is_printed(additive, ends, answered):
    planned = answered("plan fit --schema additive.toml --model additive --epsilon 1 --n 1500")
    found = answered(f"{FIT} --adjacency replace_one --n 1500")
    assert planned["estimator"] == found["estimator"] == "PrivateAdditiveClassifier"
    assert planned["why"] == found["why"] and planned["why"][0].startswith("The model has 4 terms with ")
    assert any("The detail of age cannot be learnt" in reason for reason in planned["why"])
    assert "dim" in planned["numbers"] and planned["event"]
    said = ends(0, "plan fit --schema additive.toml --model additive --epsilon 1 --adjacency add_remove").stdout
    assert "Plan for PrivateAdditiveClassifier" in said and "The model has 4 terms" in said


def test_nothing_about_the_number_of_records_is_printed_under_add_remove(additive, dperm):
    for more in ("", "--json"):
        said = dperm(f"{FIT} --adjacency add_remove --force {more}").output
        assert "PrivateAdditiveClassifier" in said and "1500" not in said and "1,500" not in said


def test_the_ledger_is_charged_and_the_statement_agrees_with_it(additive, opened, ends, answered):
    opened()
    planned = answered("plan fit --schema additive.toml --model additive --epsilon 1 --n 1500 --ledger census.ledger")
    done = answered(f"{FIT} --ledger census.ledger --request-id one")
    assert done["guarantee"] == {"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}
    assert done["charged"] == planned["ledger"]["cost"] and planned["ledger"]["covered"]
    assert "Nothing was fitted or charged now" in ends(0, f"{FIT} --ledger census.ledger --request-id one").stdout
    other = "fit data.csv --epsilon 1 --schema schema.toml --ledger census.ledger --request-id one"
    assert "--estimator was PrivateAdditiveClassifier" in ends(3, other).stderr
    ends(0, "report model.dperm -o statement.json")
    checked = answered("ledger verify census.ledger --model model.dperm --model statement.json")
    assert checked["ok"] and checked["models"] == 2
    statement = json.loads(Path("statement.json").read_text())["fields"]
    assert "work: one of private, public, self, or another value" in json.dumps(statement["data_domain"])
    assert load_model("model.dperm").guarantee_ == ApproxDP(1.0, 1e-6, "replace_one")


def test_an_edited_schema_in_the_model_file_is_found(additive, ends, opened):
    from dperm.report.model_file import read_model, write_model

    opened()
    ends(0, f"{FIT} --ledger census.ledger")
    file = read_model("model.dperm")
    file.data["schema"] = file.data["schema"].replace('"self"', '"other"')
    write_model("edited.dperm", file)
    assert "contradict" in ends(2, "predict edited.dperm data.csv").stderr


def test_private_metrics_of_the_stored_model(additive, answered):
    answered(FIT)
    write_csv(Path("new.csv"), people(1500))
    found = answered("evaluate model.dperm new.csv --epsilon 1 -o metrics.json")
    assert found["model"] == "PrivateAdditiveClassifier" and found["private"]


def test_a_fit_without_noise_is_not_private(additive, answered, ends):
    assert "--not-private" in ends(4, FIT.replace("--epsilon 1", "--epsilon inf")).stderr
    assert answered(f"{FIT.replace('--epsilon 1', '--epsilon inf')} --not-private")["guarantee"] is None
    assert len(answered("predict model.dperm data.csv")["predictions"]["income"]) == 1500


def test_the_reserved_space_covers_the_model_file(additive, ends, opened):
    opened()
    ends(0, f"{FIT} --ledger census.ledger")
    assert Path("model.dperm").stat().st_size <= largest_size(AdditiveSchema.load("additive.toml"))


REFUSED = {
    "--prepare": "--prepare cannot be combined with --model additive",
    "--holdout 0.1": "--holdout cannot be combined with --model additive",
    "--groups work=self": "--groups cannot be combined with --model additive",
    "--estimator svc": "--estimator cannot be combined with --model additive",
    "--quantile 0.5": "--quantile cannot be combined with --model additive",
    "--diagnose": "--diagnose cannot be combined with --model additive",
    "--engine serial": "--engine cannot be combined with --model additive",
    "--memory 1GB": "--memory cannot be combined with --model additive",
    "--scratch .": "--scratch cannot be combined with --model additive",
    "--exclude pay": "--exclude belongs to --prepare",
    "--model tree": "--model must be one of linear, additive, got 'tree'",
    "--clip 7": "--clip",
    "--method magic": "magic",
}


@pytest.mark.parametrize("more", REFUSED)
def test_options_of_linear_models_are_refused(additive, ends, more):
    assert REFUSED[more] in " ".join(ends(2, f"{FIT} {more}").stderr.split())
    assert not Path("model.dperm").exists()


@pytest.mark.parametrize("more", ["--holdout 0.1", "--estimator svc", "--quantile 0.5"])
def test_a_plan_refuses_what_the_fit_refuses(additive, ends, more):
    line = f"plan fit --schema additive.toml --model additive --epsilon 1 --n 1500 {more}"
    assert f"{more.split()[0]} cannot be combined with --model additive" in ends(2, line).stderr


def test_several_files_are_refused(additive, ends):
    write_csv(Path("more.csv"), people(1500))
    said = ends(2, FIT.replace("data.csv", "data.csv more.csv")).stderr
    assert "--model additive reads one DATA file" in said


def test_three_classes_are_refused(additive, ends):
    Path("additive.toml").write_text(SCHEMA.replace('">50K"]', '">50K", "?"]'))
    said = ends(2, FIT).stderr
    assert "two classes" in said and "--model linear" in said


def test_a_missing_schema_is_a_leak_and_no_private_preparation_is_offered(additive, ends):
    said = ends(4, FIT.replace("--schema additive.toml", "")).stderr
    assert "--schema is missing" in said and "dperm schema draft" in said and "--prepare" not in said


def test_a_privately_found_schema_is_refused(additive, ends):
    ends(0, "schema fit data.csv --target income --exclude name --epsilon 3 --seed 1 --not-private -o found.toml")
    said = ends(2, "fit data.csv --epsilon 1 --schema found.toml --model additive --not-private --seed 1").stderr
    assert "--model additive: the schema in found.toml is a private release" in said


@pytest.mark.parametrize(
    "line",
    [
        "fit data.csv --epsilon 1 --schema additive.toml",
        "fit data.csv --epsilon 1 --schema additive.toml --diagnose",
        "fit data.csv --epsilon 1 --schema additive.toml --holdout 0.1",
        "fit data.csv --target income --epsilon 1 --schema additive.toml --prepare",
        "plan fit --schema additive.toml --epsilon 1 --n 1500",
        "search data.csv --epsilon 1 --schema additive.toml --setting clip=0.3,1.0",
    ],
)
def test_linear_models_refuse_keys_of_additive_models(additive, ends, line):
    said = " ".join(ends(2, line).stderr.split())
    assert "additive.toml: interactions applies to additive models only." in said and "--model additive" in said


def test_a_schema_without_new_keys_serves_both_models(additive, answered):
    assert answered("fit data.csv --epsilon 1 --schema schema.toml --model linear")["method"] == "objective"
    found = answered("fit data.csv --epsilon 1 --schema schema.toml --model additive --out additive.dperm")
    assert found["estimator"] == "PrivateAdditiveClassifier"


def test_schema_check_accepts_keys_of_additive_models(additive, ends, answered):
    assert "--model additive" in ends(0, "schema check additive.toml data.csv").stdout
    assert answered("schema check additive.toml")["norm"] == 1.0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("\n54,", "\nSECRET,", ["column 'age'", "numbers"]),
        (",<=50K,", ",SECRET,", ["column 'income'", "classes"]),
    ],
)
@pytest.mark.parametrize("verb", ["", "--json"])
def test_no_cell_is_in_an_error(additive, ends, old, new, words, verb):
    text = Path("data.csv").read_text()
    assert old in text
    Path("data.csv").write_text(text.replace(old, new, 1))
    said = ends(2, f"{FIT} {verb}").stderr
    assert all(word in said for word in words) and "1500" not in said
    assert not Path("model.dperm").exists()
    assert answered_drop(ends)


def answered_drop(ends):
    """Whether the same file is accepted with --invalid drop."""
    return ends(0, f"{FIT} --invalid drop").stdout.startswith("Written: model.dperm")
