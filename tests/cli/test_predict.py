# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm predict``: raw tables through the stored schema, the same as the Python API predicts."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dperm.data.files import read_table
from dperm.data.schema import Schema
from dperm.errors import ModelFormatError
from dperm.sklearn import PrivateLogisticRegression
from dperm.sklearn.files import load_model, load_stored, save


@pytest.fixture
def fitted(desk, ends):
    """A model of two classes, and one of a number."""
    ends(0, "fit data.csv --target income --epsilon 1 --schema schema.toml")
    ends(0, "fit data.csv --target pay --epsilon 1 --schema pay.toml --out pay.dperm")
    return desk


def python_features(schema="schema.toml"):
    encoder = Schema.load(Path(schema)).encoder
    return encoder.transform(read_table(Path("data.csv"), encoder.columns))


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_are_those_of_the_python_api(fitted, ends):
    found = rows(ends(0, "predict model.dperm data.csv").stdout)
    expected = load_stored("model.dperm").estimator.predict(python_features())
    assert [row["income"] for row in found] == expected.tolist() and len(set(expected)) == 2


def test_numbers_are_those_of_the_python_api_to_the_last_digit(fitted, ends):
    found = rows(ends(0, "predict pay.dperm data.csv").stdout)
    expected = load_stored("pay.dperm").estimator.predict(python_features("pay.toml"))
    assert [float(row["pay"]) for row in found] == expected.tolist()


def test_probabilities_have_a_column_for_each_class(fitted, ends, answered):
    found = rows(ends(0, "predict model.dperm data.csv --probabilities").stdout)
    expected = load_stored("model.dperm").estimator.predict_proba(python_features())
    assert list(found[0]) == ["income", "income=<=50K", "income=>50K"]
    assert [[float(row["income=<=50K"]), float(row["income=>50K"])] for row in found] == expected.tolist()
    as_json = answered("predict model.dperm data.csv --probabilities")["predictions"]
    assert as_json["income=>50K"] == expected[:, 1].tolist()


def test_more_than_two_classes_of_numbers(desk, ends):
    schema = Path("schema.toml").read_text()
    Path("three.toml").write_text(
        schema.replace('name = "income"\nclasses = ["<=50K", ">50K"]', 'name = "g"\nclasses = [0, 1, 2]')
    )
    frame = pd.read_csv("data.csv").assign(g=lambda frame: frame.pay // 61)
    frame.to_csv("three.csv", index=False)
    ends(0, "fit three.csv --epsilon 5 --schema three.toml")
    found = rows(ends(0, "predict model.dperm three.csv --probabilities").stdout)
    assert {row["g"] for row in found} <= {"0", "1", "2"} and list(found[0]) == ["g", "g=0", "g=1", "g=2"]
    assert abs(sum(float(found[0][f"g={label}"]) for label in range(3)) - 1) < 1e-9


def test_the_target_and_other_columns_are_not_needed(fitted, ends):
    whole = ends(0, "predict model.dperm data.csv").stdout
    pd.read_csv("data.csv", dtype=str, keep_default_na=False)[["work", "hours", "age"]].to_csv("bare.csv", index=False)
    assert ends(0, "predict model.dperm bare.csv").stdout == whole


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
def test_other_kinds_of_files_give_the_same(fitted, ends, suffix):
    whole = ends(0, "predict model.dperm data.csv").stdout
    frame = pd.read_csv("data.csv", keep_default_na=False, na_values={"age": [""]})
    frame["work"] = frame["work"].replace("", None)
    if suffix == "parquet":
        frame.to_parquet("data.parquet")
    else:
        frame.to_feather(f"data.{suffix}")
    assert ends(0, f"predict model.dperm data.{suffix}").stdout == whole


def test_a_file_is_written_whole_and_not_overwritten(fitted, ends, answered):
    whole = ends(0, "predict model.dperm data.csv").stdout
    assert ends(0, "predict model.dperm data.csv -o out.csv").stdout == "Written: out.csv\n"
    assert Path("out.csv").read_text() == whole
    assert "exists" in ends(2, "predict model.dperm data.csv -o out.csv").stderr
    found = answered("predict model.dperm data.csv -o out.csv --force")
    assert found == {"file": "out.csv", "columns": ["income"]}
    assert "input file" in ends(2, "predict model.dperm data.csv -o data.csv --force").stderr


BAD = [
    ("predict missing.dperm data.csv", ["missing.dperm", "No such file"]),
    ("predict model.dperm missing.csv", ["missing.csv", "No such file"]),
    ("predict data.csv data.csv", ["cannot read a model", "data.csv"]),
    ("predict torn.dperm data.csv", ["cannot read a model", "torn.dperm", "damaged"]),
    ("predict flipped.dperm data.csv", ["cannot read a model", "flipped.dperm"]),
    ("predict plain.dperm data.csv", ["plain.dperm", "no schema"]),
    ("predict model.dperm few.csv", ["few.csv", "column named 'hours'"]),
    ("predict model.dperm odd.csv --unseen raise", ["column 'hours' must hold numbers"]),
    (
        "predict model.dperm gap.csv --unseen raise",
        ["'hours' has a missing value. Fill in the value, or leave out --unseen raise"],
    ),
    (
        "predict strict.dperm kind.csv --unseen raise",
        ["'work' has a value outside", "Correct the value", "or leave out --unseen raise"],
    ),
    ("predict model.dperm data.csv --unseen zero", ["--unseen", "'zero'", '"raise" or "other"']),
    ("predict pay.dperm data.csv --probabilities", ["--probabilities", "PrivateLinearRegression"]),
    ("predict model.dperm data.csv -o nowhere/out.csv", ["-o", "nowhere"]),
]


@pytest.mark.parametrize(("line", "words"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_predicted_is_refused(fitted, ends, line, words):
    content = Path("model.dperm").read_bytes()
    Path("torn.dperm").write_bytes(content[: len(content) // 2])
    Path("flipped.dperm").write_bytes(content[:900] + bytes([content[900] ^ 1]) + content[901:])
    X, y = np.eye(3)[np.arange(300) % 3], np.arange(300) % 2
    PrivateLogisticRegression(classes=(0, 1), feature_norm=1.0).fit(X, y).save("plain.dperm")
    Path("few.csv").write_text("age,work\n40,SECRET\n")
    Path("odd.csv").write_text("age,work,hours\n40,private,SECRET\n")
    Path("gap.csv").write_text("age,work,hours\n40,private,\n")
    Path("kind.csv").write_text("age,work,hours\n40,SECRET,30\n")
    strict = Schema.from_toml(Path("schema.toml").read_text().replace("other = true", ""))
    columns = len(strict.encoder.feature_names)
    model = PrivateLogisticRegression(classes=strict.target.classes, feature_norm=strict.encoder.norm)
    save(model.fit(np.zeros((300, columns)), np.array(strict.target.classes)[y]), "strict.dperm", schema=strict)
    before = sorted(path.name for path in Path().iterdir())
    said = " ".join(ends(2, line).stderr.split())
    assert all(word in said for word in words), said
    assert "in the schema" not in said and "SECRET" not in said
    assert sorted(path.name for path in Path().iterdir()) == before


def test_a_pipe_that_is_closed_is_no_drama(fitted):
    import subprocess
    import sys

    command = [sys.executable, "-c", "from dperm.cli import main; main()", "predict", "model.dperm", "data.csv"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait() in (0, 1)
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


@pytest.mark.parametrize("name", ["p.parquet", "p.pq", "p.arrow", "p.feather", "P.Parquet"])
def test_predictions_are_written_in_the_form_of_the_name(fitted, ends, answered, name):
    pytest.importorskip("pyarrow")
    expected = answered("predict model.dperm data.csv --probabilities")["predictions"]
    ends(0, f"predict model.dperm data.csv --probabilities -o {name}")
    read = pd.read_parquet if name.lower().endswith(("parquet", "pq")) else pd.read_feather
    assert read(name).to_dict("list") == expected


@pytest.mark.parametrize("name", ["p.txt", "p", "p.xlsx"])
def test_a_form_that_is_not_known_is_refused(fitted, ends, name):
    assert "must end in .csv, .parquet" in ends(2, f"predict model.dperm data.csv -o {name}").stderr
    assert not Path(name).exists()


@pytest.mark.parametrize("kind", ["pandas", "mapping"])
@pytest.mark.parametrize(("model", "target"), [("model.dperm", "income"), ("pay.dperm", "pay")])
def test_the_model_in_python_predicts_raw_tables_as_the_command_does(fitted, answered, kind, model, target):
    frame = pd.read_csv("data.csv")
    table = frame if kind == "pandas" else {name: frame[name].tolist() for name in frame}
    pipeline = load_model(model)
    assert [name for name, _ in pipeline.steps] == ["encoder", "model"]
    assert pipeline.predict(table).tolist() == answered(f"predict {model} data.csv")["predictions"][target]


def test_the_class_does_not_load_what_it_cannot_encode(fitted):
    with pytest.raises(ModelFormatError, match=r"through a schema.*dperm\.sklearn\.load_model"):
        PrivateLogisticRegression.load("model.dperm")


def test_empty_text_in_parquet_is_missing_as_in_csv(fitted, answered):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv("data.csv", keep_default_na=False)
    assert (frame["work"] == "").any()
    frame["age"], frame["hours"] = pd.to_numeric(frame["age"]), pd.to_numeric(frame["hours"])
    frame.to_parquet("data.parquet")
    assert answered("predict model.dperm data.parquet --probabilities") == answered(
        "predict model.dperm data.csv --probabilities"
    )


@pytest.mark.parametrize("cells", ["40,private,SECRET", "40,private,", ",SECRET,30", "SECRET,,NA", "1e400,nan,-inf"])
def test_values_outside_the_schema_are_predicted(fitted, ends, cells):
    Path("odd.csv").write_text(f"age,work,hours\n{cells}\n40,private,30\n")
    Path("plain.csv").write_text("age,work,hours\n40,private,30\n")
    for model in ("model.dperm", "pay.dperm"):
        found = rows(ends(0, f"predict {model} odd.csv").stdout)
        assert len(found) == 2
        assert found[1:] == rows(ends(0, f"predict {model} plain.csv").stdout)  # other records are not affected
        assert ends(0, f"predict {model} odd.csv --unseen other").stdout == ends(0, f"predict {model} odd.csv").stdout


def test_the_pipeline_and_the_command_agree_on_values_outside_the_schema(fitted, answered):
    Path("odd.csv").write_text("age,work,hours\nSECRET,abroad,\n40,,NA\n,private,text\n")
    table = {
        "age": ["SECRET", 40, None],
        "work": ["abroad", None, "private"],
        "hours": [None, None, "text"],
    }
    expected = answered("predict pay.dperm odd.csv")["predictions"]["pay"]
    assert load_model("pay.dperm").predict(table).tolist() == expected


def test_a_model_with_intervals_and_missing_values_is_fitted_and_predicts(desk, ends):
    schema = Path("schema.toml").read_text()
    Path("bins.toml").write_text(
        schema.replace("[columns.hours]\n", "[columns.hours]\nbins = [20, 40]\nmissing = true\n")
    )
    ends(0, "fit data.csv --epsilon 5 --schema bins.toml")
    columns = load_stored("model.dperm").schema.encoder.columns
    assert columns["hours"].bins == (20.0, 40.0) and columns["hours"].missing
    Path("gap.csv").write_text("age,work,hours\n40,private,\n40,private,30\n")
    assert len(rows(ends(0, "predict model.dperm gap.csv --unseen raise").stdout)) == 2
