# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm evaluate``: private metrics of a saved model, charged once."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from people_tables import people, write_csv

from dperm.ledger import Ledger

MEASURE = "evaluate model.dperm new.csv --epsilon 2"
BOOKED = f"{MEASURE} --ledger census.ledger --request-id check-1"


@pytest.fixture
def fitted(desk, ends):
    """A model of data.csv, and new.csv with records that it was not trained on."""
    ends(0, "fit data.csv --epsilon 1 --schema schema.toml")
    write_csv(desk / "new.csv", people(2000, first=1500))
    return desk


@pytest.mark.parametrize("out", ["m.json", "m.html", "m.md"])
def test_an_evaluation_is_charged_once_and_found_again(fitted, opened, ends, out):
    ledger = opened()
    line = f"{BOOKED} --groups work=private,public -o {out}"
    said = ends(0, line).stdout
    for words in ("accuracy, group other", "95 % interval", "charged:    epsilon 2", "request id: check-1"):
        assert words in said
    (booked,) = ledger.bookings()
    assert booked.state.value == "committed" and booked.cost["epsilon"] == pytest.approx(2, rel=1e-3)
    written = Path(out).read_bytes()
    again = ends(0, line).stdout
    assert "was released before" in again and "Nothing was released or charged now" in again
    assert "--bins was auto, and is now 10" in ends(3, f"{line} --bins 10").stderr
    Path(out).rename("moved")
    assert "is not its evaluation" in ends(3, line).stderr
    ends(0, "fit data.csv --epsilon 1 --schema schema.toml --force")
    assert "the content of the model file differs" in ends(3, line).stderr
    assert len(ledger.bookings()) == 1 and Path("moved").read_bytes() == written


def test_the_metrics_are_right_and_cover_the_truth(fitted, answered, ends):
    """Six standard errors: the noise has at most 3.5 records for each of 41 cells, among 2000 records."""
    found = answered(f"{MEASURE} --level 0.9999")
    predicted = ends(0, "predict model.dperm new.csv").stdout.splitlines()[1:]
    truth = np.mean([one == row[3] for one, row in zip(predicted, people(2000, first=1500), strict=True)])
    accuracy = found["metrics"]["accuracy"]
    assert abs(accuracy["value"] - truth) < 6 * 3.5 * 41**0.5 / 2000 and accuracy["low"] < truth < accuracy["high"]
    assert found["metrics"]["records"] == 2000 and found["metrics"]["level"] == 0.9999
    assert found["theorems"][0] == "T85" and found["charged"] == {} and found["guarantee"]["epsilon"] == 2
    assert found["noise_standard_deviation"] < 3.5


def test_every_format_has_metrics_and_guarantee_and_the_ledger_verifies_json(fitted, opened, ends, dperm):
    opened(limit=9.0)
    for suffix in ("json", "html", "md"):
        ends(0, f"{MEASURE} --ledger census.ledger -o m.{suffix}")
    assert "all valid" in ends(0, "ledger verify census.ledger --model m.json").stdout
    fields = json.loads(Path("m.json").read_text())["fields"]
    assert fields["utility"]["known"]["roc"]["thresholds"][-1] == 0 and fields["goal"]["epsilon"] == 2
    digest = hashlib.sha256(Path("model.dperm").read_bytes()).hexdigest()
    assert fields["public_quantities"]["evaluated_model"]["sha256_of_file"] == digest
    assert fields["public_quantities"]["target"] == "income"
    listed = ends(0, "ledger show census.ledger --entries").stdout
    assert f"evaluation of PrivateLogisticRegression (file sha256:{digest[:12]}), target income" in listed
    Path("edited.json").write_text(Path("m.json").read_text().replace(digest, "0" * 64))
    assert "evaluated model or target that differs" in dperm("ledger verify census.ledger --model edited.json").stdout
    page = Path("m.html").read_text()
    assert "Evaluation of Logistic Regression for target income" in page
    assert all(f'<figure id="{name}"' in page for name in ("metrics", "roc", "calibration")) and "<script" not in page
    assert "| accuracy |" in Path("m.md").read_text() and "GAP" in Path("m.md").read_text()


def test_gaps_are_filled_after_the_charge_by_the_report(fitted, ends):
    ends(0, f"{MEASURE} -o m.json")
    ends(0, "report m.json --draft-fields draft.toml")
    assert '# curator = ""' in Path("draft.toml").read_text()
    Path("fields.toml").write_text('curator = "Statistics Office"\n')
    ends(0, "report m.json -o m.html --fields fields.toml")
    page = Path("m.html").read_text()
    assert "Statistics Office" in page
    assert all(f'<figure id="{name}"' in page for name in ("trade-off", "metrics", "roc", "calibration"))
    ends(0, "report m.json -o again.json --fields fields.toml")
    assert "curator" not in ends(0, "report again.json -o again.md").stdout
    assert "--audit belongs to a model" in ends(2, "report m.json -o n.md --audit m.json").stderr
    Path("m.json").write_text("{}")
    assert "cannot read a statement" in ends(2, "report m.json -o n.md").stderr


def test_the_training_file_is_refused_under_its_ledger(desk, opened, ends):
    ledger = opened(limit=9.0)
    ends(0, "fit data.csv --epsilon 1 --schema schema.toml --ledger census.ledger")
    line = "evaluate model.dperm data.csv --epsilon 2 --ledger census.ledger"
    assert "the model was fitted to data.csv" in ends(3, line).stderr and len(ledger.bookings()) == 1
    ends(0, f"{line} --training-records")
    write_csv(desk / "new.csv", people(2000, first=1500))
    ends(0, f"{MEASURE} --ledger census.ledger -o new.json")
    ends(0, "fit data.csv --epsilon 1 --schema schema.toml --force")
    ends(0, f"{line} -o alone.json")  # without a charge, the ledger does not know the file of the fit
    assert len(ledger.bookings()) == 4


def test_numbers_and_private_counts(desk, ends, answered):
    ends(0, "fit data.csv --epsilon 4 --schema pay.toml --adjacency add_remove")
    line = "evaluate model.dperm data.csv --epsilon 4 --adjacency add_remove"
    found = answered(line)
    assert found["metrics"]["rmse"]["value"] < 60 and found["metrics"]["records"] != 1500
    assert not re.search(r"\b1500\b", ends(0, f"{line} --force").stdout)
    assert "predicts numbers" in ends(2, f"{line} --positive 3 --force").stderr


REFUSED = {
    "epsilon": ("", 2, "--epsilon is missing"),
    "infinite": ("--epsilon inf --not-private", 2, "--epsilon must be finite"),
    "pure": ("--epsilon 1 --delta 0", 2, "meets no pure guarantee"),
    "seed": ("--epsilon 1 --seed 3", 4, "--seed fixes the noise: the evaluation would not be private"),
    "bins": ("--epsilon 1 --bins 7", 2, "--bins must be even"),
    "level": ("--epsilon 1 --level 1", 2, "--level"),
    "groups": ("--epsilon 1 --groups work=", 2, "--groups must name a column"),
    "group column": ("--epsilon 1 --groups sex=f", 2, "column named 'sex'"),
    "target": ("--epsilon 1 --target incom", 2, "column named 'incom'"),
    "positive": ("--epsilon 1 --positive rich", 2, "--positive must be one of the classes"),
    "suffix": ("--epsilon 1 -o metrics.txt", 2, "must end in .json, .html, .md"),
    "taken": ("--epsilon 1 -o new.csv.md --groups work=a", 2, "exists and was not changed"),
    "share": ("--epsilon 1 --delta 1e-5", 2, "its share of the limit's delta"),
    "budget": ("--epsilon 7", 3, "Nothing was charged"),
}


def test_bad_requests_are_refused_before_the_records_are_read(fitted, opened, ends, monkeypatch):
    from dperm.data import files

    ledger = opened()
    Path("new.csv.md").write_text("mine")
    monkeypatch.setattr(files, "read_raw_table", lambda *given, **more: pytest.fail("the data were read"))
    for more, code, words in REFUSED.values():
        said = ends(code, f"evaluate model.dperm new.csv {more} --ledger census.ledger").stderr
        assert words in said, said
    said = ends(2, "evaluate new.csv new.csv --epsilon 1").stderr
    assert "cannot read a model" in said
    assert ledger.bookings() == () and not Path("evaluation.json").exists()


def test_no_cell_is_refused_or_repeated(fitted, opened, ends):
    rows = people(300)
    rows[0] = ["SECRET", "SECRET", "SECRET", "SECRET", "-", "SECRET"]
    rows[1] = ["", "", "", "", "", ""]
    write_csv(Path("new.csv"), rows)
    opened(limit=9.0)
    said = ends(0, f"{BOOKED} --groups work=private -o m.html")
    assert "SECRET" not in said.stdout and "SECRET" not in Path("m.html").read_text()
    Path("new.csv").write_text(Path("new.csv").read_text() + "1,2\n")
    said = ends(2, f"{MEASURE} --ledger census.ledger -o n.html").stderr
    assert "as many cells in every record" in said and "Nothing was charged" in said
    assert not re.search(r"\b30[0-3]\b", said) and len(Ledger("census.ledger").bookings()) == 1


def test_a_seeded_evaluation_is_not_private(fitted, answered, ends):
    line = f"{MEASURE} --seed 3 --not-private"
    found = answered(line)
    assert not found["private"] and found["guarantee"] is None and found["protection"] is None
    assert answered(f"{line} --force")["metrics"] == found["metrics"]
    said = ends(0, f"{line} -o m.md")
    assert "NOT PRIVATE" in said.stdout and "NOT PRIVATE" in said.stderr and "NOT PRIVATE" in Path("m.md").read_text()


def test_an_error_after_the_charge_states_it(fitted, opened, ends, monkeypatch):
    from dperm.errors import DataError

    def fails(self, private, stream):
        raise DataError("the noise failed.")

    ledger = opened()
    monkeypatch.setattr("dperm.evaluation.plan.EvaluationPlan.draw", fails)
    said = ends(2, BOOKED).stderr
    assert "Charged to account 'census'" in said and "No evaluation was written" in said
    assert ledger.bookings()[0].state.value == "burned"
    assert "is burned" in ends(3, BOOKED).stderr
