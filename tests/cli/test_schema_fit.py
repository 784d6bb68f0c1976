# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm schema fit``: a private schema in a file, charged once, for later fits."""

import csv
import os
import tomllib
from pathlib import Path

import pytest

from dperm.data.schema import Schema
from dperm.ledger import Ledger

FIT = "schema fit data.csv --epsilon 8 --target income --exclude name --exclude pay"
PART = '[columns.hours]\nlow = 0\nhigh = 80\n[target]\nname = "income"\nclasses = ["<=50K", ">50K"]\n'


def test_a_schema_is_charged_once_and_serves_later_fits(opened, ends, answered):
    """1500 records and epsilon 8: both classes have more than 30 standard deviations of noise."""
    ledger = opened(limit=9.0)
    line = f"{FIT} --ledger census.ledger --request-id a -o found.toml"
    said = ends(0, line).stdout
    assert "epsilon = 8" in said and "'<=50K', '>50K'" in said and "charged:" in said
    text = Path("found.toml").read_text()
    (booked,) = ledger.bookings()
    assert booked.digest in text and "# prepared: age, work, hours, income" in text and "SECRET" not in text
    assert tomllib.loads(text)["target"]["classes"] == ["<=50K", ">50K"]
    assert "found.toml is its schema" in ends(0, line).stdout and len(ledger.bookings()) == 1
    assert "is not its schema" in ends(3, line.replace("found.toml", "other.toml")).stderr
    ends(0, "schema check found.toml data.csv")
    fitted = answered("fit data.csv --schema found.toml --epsilon 1 --ledger census.ledger")
    assert 8.5 < fitted["ledger"]["spent"]["epsilon"] <= 9
    ends(0, "predict model.dperm data.csv")
    assert "valid" in ends(0, "ledger verify census.ledger --model model.dperm").stdout


def test_a_model_of_a_found_schema_states_both_releases(opened, ends, answered):
    """The guarantee of the model covers neither the schema nor, with --prepare, columns that another release found."""
    ledger = opened(limit=9.0)
    ends(0, f"{FIT} --ledger census.ledger -o found.toml")
    fit = "fit data.csv --schema found.toml --epsilon 1 --ledger census.ledger"
    assert "The privacy costs of schema and model add up" in ends(0, f"{fit} --out a.dperm").stderr
    assert "valid" in ends(0, "ledger verify census.ledger --model a.dperm").stdout
    ends(0, "report a.dperm -o a.md")
    text = Path("a.md").read_text()
    assert "was released separately by PrivateTableEncoder" in text and "By basic composition (T11)" in text
    assert "private release of its own" in ends(2, f"{fit} --prepare --exclude name --out b.dperm").stderr
    Path("found.toml").write_text(Path("found.toml").read_text().replace("# release: {", "# release: ["))
    assert "was edited" in ends(2, f"{fit} --out c.dperm").stderr
    ends(0, f"{FIT} --seed 3 --not-private -o seeded.toml")
    seeded = "fit data.csv --schema seeded.toml --epsilon 1 --out d.dperm"
    assert "noise from a seed" in ends(4, seeded).stderr
    ends(4, f"{seeded} --not-private --ledger census.ledger")
    assert len(ledger.bookings()) == 2
    assert answered(f"{seeded} --not-private")["private"] is False


def test_the_schema_is_the_one_of_the_python_api(desk, ends):
    from dperm.noise import NotPrivateBits
    from dperm.preparation import PreparationPlan, TargetKind
    from dperm.privacy import ApproxDP

    with open("data.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table = dict(zip(header, zip(*rows, strict=True), strict=True))
    goal = ApproxDP(8.0, 1e-6, "replace_one")
    plan = PreparationPlan.for_goal(["age", "work", "hours"], goal, target="income", task=TargetKind.CLASSIFICATION)
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        found = plan.run(table, bits=NotPrivateBits(3)).value.schema
    ends(0, f"{FIT} --seed 3 --not-private -o found.toml")
    assert Schema.load(Path("found.toml")) == found
    assert "# guarantee: none: NOT PRIVATE" in Path("found.toml").read_text()


def test_declared_columns_are_copied_and_cost_nothing(desk, answered):
    Path("part.toml").write_text(PART)
    Path("data.csv").write_text(Path("data.csv").read_text().replace(",53,", ",not read,"))
    found = answered(f"{FIT} --schema part.toml --adjacency add_remove -o found.toml")
    schema = Schema.load(Path("found.toml"))
    assert (schema.encoder.columns["hours"].low, schema.target.classes) == (0.0, ("<=50K", ">50K"))
    assert "# prepared: age, work\n# declared: hours, income" in Path("found.toml").read_text()
    assert found["prepared"]["classes"] is None and found["target"]["name"] == "income"


def test_a_charged_schema_is_written_elsewhere_if_the_file_cannot_be_written(opened, ends, monkeypatch):
    opened(limit=9.0)
    known = os.replace

    def full(source, target):
        if str(target) == "found.toml":
            raise OSError(28, "No space left on device")
        known(source, target)

    monkeypatch.setattr("dperm.report.whole_file.os.replace", full)
    said = ends(0, f"{FIT} --ledger census.ledger -o found.toml --force").stderr
    (other,) = Path().glob("found-*.toml")
    assert f"The schema is complete, and is in {Path.cwd() / other}" in said and Schema.load(other).target is not None


def test_errors_before_the_charge_cost_nothing(opened, dperm):
    ledger = opened(limit=9.0)
    Path("typo.toml").write_text(PART.replace("hours", "hour"))
    Path("schema.toml").unlink()
    Path("headless.csv").write_text("40,SECRET,10,<=50K\n" * 30)
    Path("found.toml").write_text("mine")
    for line, words in {
        f"{FIT} --schema typo.toml": "column named 'hour'",
        f"{FIT} -o found.toml": "found.toml exists",
        f"{FIT} --delta 0": "delta > 0",
        f"{FIT} --most-classes 1": "at least 2",
        FIT.replace("8", "10"): "remains in account",
        FIT.replace("8", "inf"): "the schema would not be private",
        "schema fit data.csv --epsilon 1 --task regression": "belongs to --target",
        "schema fit headless.csv --epsilon 1": "line of column names",
        "schema fit data.csv": "--epsilon is missing",
    }.items():
        done = dperm(f"{line} --ledger census.ledger")
        assert done.exit_code in (2, 3, 4) and words in done.stderr, done.output
        assert "SECRET" not in done.output
    assert ledger.bookings() == () and Path("found.toml").read_text() == "mine"


def test_a_table_without_anything_to_see_gives_a_schema_that_reads_back(desk, ends):
    Path("few.csv").write_text("a,b\n" + "1,x\n2,\n" * 5)
    said = ends(0, "schema fit few.csv --epsilon 1 --target b --adjacency add_remove -o few.toml").stdout
    assert "declares no target" in said and "left out:   a; no value" in said and "every prepared column" in said
    assert "# left out: a; no value or range" in Path("few.toml").read_text()
    assert list(Schema.load(Path("few.toml")).encoder.columns) == ["a"]


def test_a_request_that_failed_stays_charged(opened, ends, monkeypatch):
    def fails(self, private, stream):
        raise ValueError("SECRET")

    ledger = opened(limit=9.0)
    monkeypatch.setattr("dperm.preparation.plan.PreparationPlan.draw", fails)
    said = ends(1, f"{FIT} --ledger census.ledger -o found.toml").stderr
    assert "Charged to account 'census'" in said and "No schema was written" in said
    assert [booked.state.value for booked in Ledger(ledger.location).bookings()] == ["burned"]
