# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit --holdout``: schema, model and metrics on held-out records, in one release with one charge."""

import json
import re
from pathlib import Path

import pytest
from people_tables import RAW_HEADER, raw_people, write_raw

from dperm.sklearn import PrivateTableClassifier
from dperm.sklearn.files import load_stored

PREPARED = "fit raw.csv --target income --epsilon 8 --prepare --exclude pay --exclude id --holdout 0.2"
DECLARED = "fit data.csv --epsilon 8 --schema schema.toml --holdout 0.2"
GROUPS = "--groups work=private,public"


@pytest.fixture
def raw(desk):
    write_raw(raw_people(3000))
    return desk


def test_model_schema_and_metrics_are_one_charge_that_every_verb_accepts(raw, opened, ends, answered):
    ledger = opened(limit=9.0)
    line = f"{PREPARED} {GROUPS} --ledger census.ledger --request-id a"
    found = answered(line)
    (booked,) = ledger.bookings()
    assert booked.cost["epsilon"] == pytest.approx(8, rel=1e-3) and booked.state.value == "committed"
    names = ["preparation", "training", "evaluation"]
    assert [one["stage"] for one in found["stages"]] == names
    assert found["stages"][2]["records"] == "evaluation records, each with probability 0.2"
    assert max(one["epsilon_alone"] for one in found["stages"]) == found["guarantee"]["epsilon"] == 8
    accuracy = found["metrics"]["accuracy"]
    assert 0 <= accuracy["low"] <= accuracy["value"] <= accuracy["high"] <= 1 and accuracy["value"] > 0.7
    assert list(found["metrics"]["groups"]) == ["private", "public", "other"]
    (main,) = answered("ledger show census.ledger --entries")["accounts"]
    (entry,) = [entry for entry in main["entries"] if entry["kind"] == "reserve"]
    assert [stage["name"] for stage in entry["stages"]] == names
    assert "was fitted before" in ends(0, line).stdout and len(ledger.bookings()) == 1
    assert "--holdout was 0.2, and is now 0.3" in ends(3, line.replace("0.2", "0.3")).stderr
    assert "--groups was work=private,public" in ends(3, line.replace("=private", "=self")).stderr
    assert "all valid" in ends(0, "ledger verify census.ledger --model model.dperm").stdout
    assert len(ends(0, "predict model.dperm raw.csv").stdout.splitlines()) == 3001
    ends(0, "report model.dperm -o statement.html")
    page = Path("statement.html").read_text(encoding="utf-8")
    assert 'id="roc"' in page and 'id="calibration"' in page and "accuracy, group private" in page
    ends(0, "report model.dperm -o statement.md")
    text = Path("statement.md").read_text(encoding="utf-8")
    assert "| metric | estimate | low | high |" in text and "| stage |" in text
    assert "One guarantee covers schema, model and metrics together" in text


def test_the_same_fit_in_python_has_the_same_metrics(raw, answered):
    from dperm.data.files import read_raw_table

    found = answered(f"{PREPARED} {GROUPS} --seed 3 --not-private")
    assert not found["private"] and found["guarantee"] is None
    table = read_raw_table(Path("raw.csv"), RAW_HEADER[1:5])
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        model = PrivateTableClassifier(
            epsilon=8.0, holdout=0.2, groups={"work": ("private", "public")}, random_state=3
        ).fit(table, target="income")
    assert found["metrics"] == json.loads(json.dumps(model.metrics_.to_dict()))


def test_a_complete_schema_needs_no_preparation_and_the_metrics_bind_the_file(desk, opened, ends, answered):
    from dperm.report.model_file import ModelFile, read_model, write_model

    opened(limit=9.0)
    found = answered(f"{DECLARED} --estimator svc --ledger census.ledger")
    assert found["estimator"] == "PrivateLinearSVC" and "prepared" not in found
    assert [one["stage"] for one in found["stages"]] == ["training", "evaluation"]
    assert found["metrics"]["accuracy"]["value"] > 0.7
    assert load_stored("model.dperm").estimator.guarantee_.epsilon == 8
    assert "all valid" in ends(0, "ledger verify census.ledger --model model.dperm").stdout
    assert len(ends(0, "predict model.dperm data.csv").stdout.splitlines()) == 1501
    ends(0, "report model.dperm -o statement.json")
    utility = json.loads(Path("statement.json").read_text())["fields"]["utility"]["known"]
    listed = {one["metric"]: one["estimate"] for one in utility["metrics"]}
    assert listed["accuracy"] == found["metrics"]["accuracy"]["value"]
    file = read_model("model.dperm")
    record = json.loads(file.data["record"])
    record["public"]["metrics"]["accuracy"]["value"] = 0.999
    write_model("better.dperm", ModelFile(file.kind, {**file.data, "record": json.dumps(record)}, file.arrays))
    said = ends_with(5, "ledger verify census.ledger --model better.dperm")
    assert "edited or is damaged" in said


def ends_with(code, line):
    import shlex

    from typer.testing import CliRunner

    from dperm.cli.app import app

    done = CliRunner().invoke(app, shlex.split(line))
    assert done.exit_code == code, done.output
    return done.output


def test_numbers_are_measured_by_their_errors(desk, ends, answered):
    line = "fit data.csv --epsilon 8 --schema pay.toml --adjacency add_remove --holdout 0.3"
    found = answered(line)
    assert {"r_squared", "mae", "rmse"} <= found["metrics"].keys() and found["estimator"] == "PrivateLinearRegression"
    said = ends(0, f"{line} --force").stdout
    for words in ("mean absolute error", "95 % interval", "evaluation records, each with probability 0.3"):
        assert words in said
    assert not re.search(r"\b1500\b", said)


REFUSED = {
    "share": (f"{PREPARED} --holdout 0.6", "--holdout must be a number in [0, 0.5], got 0.6"),
    "groups alone": (f"fit data.csv --epsilon 1 --schema schema.toml {GROUPS}", "--groups belongs to --holdout"),
    "groups": (f"{DECLARED} --groups work", "--groups must name a column and its public groups"),
    "empty group": (f"{DECLARED} --groups work=a,,b", "--groups must name a column and its public groups"),
    "column": (f"{DECLARED} --groups sex=f,m", "--groups must name a column"),
    "excluded": (f"{PREPARED} --groups pay=1,2", "--groups must name a column"),
    "C": (f"{DECLARED} --C 1", "--C cannot be combined with --holdout"),
    "method": (f"{DECLARED} --method bolt_on", "--method bolt_on cannot be combined with --holdout"),
    "unknown": (f"{DECLARED} --method fast", "must"),
    "pure": (f"{DECLARED} --delta 0", "--delta must be greater than 0 with --holdout"),
    "infinite": (f"{DECLARED} --epsilon inf --not-private", "--epsilon must be finite"),
    "released": (f"{DECLARED} --schema released.toml", "is a private release of its own"),
}


def test_requests_without_a_guarantee_for_all_stages_are_refused_before_the_data_are_read(
    raw, opened, ends, monkeypatch
):
    from dperm.data import files

    ledger = opened(limit=9.0)
    ends(0, "schema fit raw.csv --target income --epsilon 8 --exclude pay --exclude id -o released.toml")
    monkeypatch.setattr(files, "read_raw_table", lambda *given, **more: pytest.fail("the data were read"))
    monkeypatch.setattr(files, "read_table", lambda *given, **more: pytest.fail("the data were read"))
    for line, words in REFUSED.values():
        said = ends(2, f"{line} --ledger census.ledger").stderr
        assert words in said, said
    assert ledger.bookings() == () and not Path("model.dperm").exists()


def test_invalid_cells_cost_nothing_wherever_the_coins_put_them(desk, opened, ends):
    ledger = opened(limit=9.0)
    text = Path("data.csv").read_text()
    for bad in (text.replace(",53,", ",SECRET,", 1), text.replace(",<=50K,", ",SECRET,", 1)):
        Path("data.csv").write_text(bad)
        said = ends(2, f"{DECLARED} --ledger census.ledger").stderr
        assert "Nothing was charged" in said and not re.search(r"\b(1500|53|15[0-9])\b", said)
    assert ledger.bookings() == ()
    said = ends(0, f"{DECLARED} --invalid drop").stdout
    assert "accuracy" in said


def test_plans_state_the_event_that_the_fit_charges_and_it_reads_back(raw, opened, answered, ends):
    ledger = opened(limit=30.0)
    for plan, fit in (
        ("plan table raw.csv --target income --epsilon 8 --exclude pay --exclude id --holdout 0.2 --n 3000", PREPARED),
        ("plan fit --schema schema.toml --epsilon 8 --n 1500 --holdout 0.2", f"{DECLARED} --n 1500"),
    ):
        planned = answered(f"{plan} {GROUPS} --ledger census.ledger")
        ends(0, f"{fit} {GROUPS} --ledger census.ledger --force {'--n 3000' * (fit is PREPARED)}")
        assert dict(ledger.bookings()[-1].cost) == planned["ledger"]["cost"] and planned["ledger"]["covered"]
        assert planned["stages"][-1]["stage"] == "evaluation" and planned["evaluation"]["groups"]["column"] == "work"
        assert planned["event_text"].startswith("parallel_parts(")
        read = answered("account --adjacency replace_one --delta 1e-6", planned["event_text"])
        assert read["event"] == planned["event"] and read["answers"][0]["epsilon"] <= 8 * (1 + 1e-9)
    assert "evaluation records" in ends(0, f"{plan}").stdout
    assert "--n is missing" in ends(2, "plan fit --schema schema.toml --epsilon 8 --holdout 0.2").stderr
