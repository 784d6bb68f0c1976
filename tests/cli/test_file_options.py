# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``--separator``, ``--invalid`` and ``--diagnose``, and compressed files, on the command line."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dperm.errors import NotPrivateWarning
from dperm.sklearn.files import load_stored

FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml"
PLAIN = "--seed 1 --not-private"
GOOD = ["40", "private", "10", "<=50K", "50", "SECRET"]
HEADING = "Private: for the data holder only; do not share or log."
HEAD = ["age", "work", "hours", "income", "pay", "name"]


def content(separator):
    """data.csv with another separator."""
    found = io.StringIO()
    with open("data.csv", newline="", encoding="utf-8") as file:
        csv.writer(found, delimiter=separator, lineterminator="\n").writerows(csv.reader(file))
    return found.getvalue()


def coefficients(path="model.dperm"):
    return load_stored(path).estimator.coef_.tolist()


@pytest.mark.parametrize(("option", "sign"), [(";", ";"), ("tab", "\t"), (r"\t", "\t"), ("|", "|")])
def test_every_verb_reads_with_a_separator(desk, ends, option, sign):
    ends(0, f"{FIT} {PLAIN}")
    known, predicted = coefficients(), ends(0, "predict model.dperm data.csv").stdout
    Path("other.csv").write_text(content(sign))
    given = ["--separator", option]
    ends(0, f"{FIT} {PLAIN} --force".replace("data.csv", "other.csv"), *given)
    assert coefficients() == known
    assert ends(0, "predict model.dperm other.csv", *given).stdout == predicted
    assert "hours" in ends(0, "schema draft other.csv", *given).stdout
    ends(0, "schema check schema.toml other.csv", *given)
    membership = "audit membership other.csv --schema schema.toml --not-private --models 2 --seed 1"
    assert "separator" in ends(2, membership).stderr
    for line in (
        f"{FIT} --force".replace("data.csv", "other.csv"),
        "predict model.dperm other.csv",
        "schema draft other.csv",
    ):
        for wrong in ([], ["--separator", "|" if sign == ";" else ";"]):
            said = ends(2, line, *wrong).stderr
            assert "Choose --separator" in said and "work" not in said
    assert "--separator must be" in ends(2, FIT, "--separator", "ab").stderr


def test_a_compressed_file_is_fitted_charged_and_predicted(opened, ends):
    ledger = opened()
    Path("data.csv.gz").write_bytes(gzip.compress(Path("data.csv").read_bytes()))
    line = FIT.replace("data.csv", "data.csv.gz") + " --ledger census.ledger --request-id a"
    ends(0, line)
    assert "fitted before" in ends(0, line).stdout
    (booked,) = ledger.bookings()
    assert booked.facts["data_file"] == ledger.fingerprint("data.csv.gz")
    packed, plain = ends(0, "predict model.dperm data.csv.gz").stdout, ends(0, "predict model.dperm data.csv").stdout
    assert packed == plain
    assert "no compressed CSV" in ends(2, "predict model.dperm data.csv -o out.csv.gz").stderr


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_invalid_drop_is_that_of_the_estimators(desk, ends, kind):
    """Undeclared values count as missing or other, and a record with an invalid label has the weight 0."""
    Path("strict.toml").write_text(Path("schema.toml").read_text().replace('impute = "unknown"\nother = true', ""))
    frame = pd.read_csv("data.csv", dtype=str, keep_default_na=False)
    frame.loc[3, "income"], frame.loc[4, "income"] = "SECRET", ""
    if kind == "csv":
        frame.loc[5, "hours"], frame.loc[6, "hours"] = "SECRET", ""
        frame.to_csv("bad.csv", index=False)
    else:
        frame["hours"] = pd.to_numeric(frame["hours"])
        frame["age"] = pd.to_numeric(frame["age"])
        frame.to_parquet("bad.parquet")
    line = f"fit bad.{kind} --epsilon 1 --schema strict.toml {PLAIN}"
    ends(2, line)
    ends(0, f"{line} --invalid drop")
    fitted = load_stored("model.dperm")
    table = pd.DataFrame({name: frame[name] for name in ("age", "work", "hours")})
    for name in ("age", "hours"):
        table[name] = pd.to_numeric(table[name], errors="coerce")
    table["work"] = table["work"].replace("", None)
    features = fitted.schema.encoder.transform(table, unseen="other")
    labels = frame["income"].where(frame["income"].isin(["<=50K", ">50K"]), None).to_numpy(dtype=object)
    with pytest.warns(NotPrivateWarning):
        again = type(fitted.estimator)(**fitted.estimator.get_params()).fit(features, labels)
    assert np.allclose(again.coef_, fitted.estimator.coef_, rtol=1e-9)
    assert fitted.estimator.invalid == "drop"
    assert "--invalid must be" in ends(2, f"{line} --invalid some").stderr


def test_invalid_drop_with_a_range_of_labels(desk, ends):
    frame = pd.read_csv("data.csv", dtype=str, keep_default_na=False)
    frame.loc[[3, 4, 5], "pay"] = ["SECRET", "", "inf"]
    frame.to_csv("bad.csv", index=False)
    ends(2, "fit bad.csv --epsilon 1 --schema pay.toml")
    ends(0, "fit bad.csv --epsilon 1 --schema pay.toml --invalid drop")


def test_a_request_is_bound_to_how_cells_are_read(opened, ends):
    ledger = opened()
    line = f"{FIT} --ledger census.ledger --request-id"
    ends(0, f"{line} a")
    assert "--invalid was left out, and is now drop" in ends(3, f"{line} a --invalid drop").stderr
    ends(0, f"{line} b --invalid drop --out b.dperm")
    assert "--invalid was drop, and is now left out" in ends(3, f"{line} b --out b.dperm").stderr
    Path("data.csv").write_text(content(";"))
    ends(0, f"{line} c --separator ; --out c.dperm".replace(" ; ", ' ";" '))
    assert "--separator was ;, and is now left out" in ends(3, f"{line} c --out c.dperm").stderr
    assert len(ledger.bookings()) == 3


# --diagnose


def bad_file():
    """Records 5, 7 and 9 are bad, and 11 is too long; 21 and later ones lack a label."""
    rows = [list(GOOD) for _ in range(60)]
    rows[4][2], rows[6][3], rows[8][2], rows[10:11] = "VALUE\x1b[31m", "ODD", "", [[*GOOD, "more"]]
    for row in rows[20:]:
        row[3] = ""
    with open("data.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEAD, [], *rows])


def test_a_diagnosis_lists_bad_cells_and_charges_nothing(opened, dperm, ends, monkeypatch):
    ledger = opened()
    bad_file()
    before = Path("census.ledger").read_bytes()
    line = f"{FIT} --ledger census.ledger --request-id a --diagnose"
    found = dperm(line)
    assert found.exit_code == 2 and found.stderr == ""
    lines = found.stdout.splitlines()
    assert lines[0] == HEADING
    assert lines[1].startswith("record 5: column 'hours' must hold numbers")
    assert lines[2].startswith("record 7: column 'income' must hold the classes")
    assert lines[3].startswith("record 9: column 'hours' has a missing value")
    assert lines[4] == "record 11: The record must have as many cells as there are names in the header."
    assert lines[5].startswith("record 21: column 'income'") and lines[20].startswith("record 36:")
    assert "Only the first 20" in found.stdout and "terminal only" in found.stdout
    assert "VALUE" not in found.stdout and "ODD" not in found.stdout
    assert Path("census.ledger").read_bytes() == before and ledger.bookings() == ()
    assert not Path("model.dperm").exists()
    assert "no JSON" in ends(2, f"{line} --json").stderr
    assert "record 5" not in ends(2, FIT).stderr and HEADING not in ends(2, FIT).stderr


def test_values_are_shown_on_a_terminal_alone(desk, dperm, monkeypatch):
    from dperm.cli import diagnosis

    monkeypatch.setattr(diagnosis.sys, "stdout", type("Terminal", (io.StringIO,), {"isatty": lambda self: True})())
    bad_file()
    diagnosis_of = diagnosis.print_diagnosis
    from dperm.data.schema import Schema

    with pytest.raises(Exception, match="2"):
        schema = Schema.load("schema.toml")
        declared = {**schema.encoder.columns, schema.target.name: schema.target}
        diagnosis_of(Path("data.csv"), declared, ",", as_json=False)
    said = diagnosis.sys.stdout.getvalue()
    assert r"Value: 'VALUE\x1b[31m'" in said and "Value: 'ODD'" in said and "\x1b" not in said


def test_a_good_file_has_no_bad_cell(desk, dperm):
    found = dperm("fit data.csv --schema schema.toml --diagnose")
    assert found.exit_code == 0 and "dperm fit refuses no cell of data.csv" in found.stdout
    assert not Path("model.dperm").exists()


def test_arrow_files_are_diagnosed_too(desk, dperm):
    frame = pd.DataFrame({"age": [1.0, None, 3.0], "work": ["private", "public", None], "hours": [1.0, None, None]})
    frame.assign(income=["<=50K", "no", ">50K"]).to_parquet("data.parquet")
    lines = dperm("fit data.parquet --schema schema.toml --diagnose").stdout.splitlines()
    assert [line.partition(" must ")[0].partition(" has ")[0] for line in lines[1:4]] == [
        "record 2: column 'hours'",
        "record 2: column 'income'",
        "record 3: column 'hours'",
    ]
