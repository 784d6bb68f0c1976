# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm report``: the statement of a model, in the form that the name of the file asks for."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from dperm.report.fields import HINTS, STATED_BY_THE_USER
from dperm.sklearn.files import load_stored


@pytest.fixture
def fitted(opened, ends):
    opened()
    ends(0, "fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger")


@pytest.mark.parametrize("name", ["statement.html", "statement.md", "statement.JSON"])
def test_a_statement_is_written(fitted, ends, name):
    said = ends(0, f"report model.dperm -o {name} --fields fields.toml").stdout
    text = Path(name).read_text(encoding="utf-8")
    assert name in said and "Not rated: required fields are missing. The protection would be rated " in said
    assert "the census office" in text and "census 2026" in text and "SECRET" not in text


def test_data_hold_the_fields_and_the_declared_domain(fitted, answered):
    found = answered("report model.dperm -o statement.json")
    assert (found["file"], found["private"]) == ("statement.json", True) and "curator" in found["gaps"]
    stated = json.loads(Path("statement.json").read_text())["fields"]
    kept = load_stored("model.dperm").estimator.statement_
    assert stated["goal"] == kept["goal"]
    for words in (
        "age: number in [17, 90]",
        "work: one of private",
        "income (target): one of <=50K, >50K",
        "census 2026",
    ):
        assert words in str(stated["data_domain"])


def test_the_domain_of_the_user_stands_beside_that_of_the_schema(fitted, answered):
    Path("fields.toml").write_text('data_domain = "people of 2026"')
    answered("report model.dperm -o statement.json --fields fields.toml")
    domain = json.loads(Path("statement.json").read_text())["fields"]["data_domain"]
    assert domain["stated"] == "people of 2026" and "age" in str(domain["known"])


def test_a_model_that_is_not_private_is_told_so(desk, ends, answered):
    ends(0, "fit data.csv --epsilon inf --not-private --schema pay.toml")
    assert answered("report model.dperm -o statement.json")["private"] is False
    assert "NOT PRIVATE" in ends(0, "report model.dperm -o statement.html").stdout
    assert "NOT PRIVATE" in Path("statement.html").read_text()


def test_the_gaps_are_listed_and_a_draft_has_them(fitted, ends, answered):
    said = ends(0, "report model.dperm -o statement.html --fields fields.toml").stdout
    assert "gaps that only you can fill" in said and "links" in said and "curator" not in said
    found = answered("report model.dperm --draft-fields draft.toml")
    draft = Path("draft.toml").read_text()
    assert (found["file"], found["fields"]) == (None, "draft.toml") and tomllib.loads(draft) == {}
    filled = re.sub(r'^# (\w+) = ""$', r'\1 = "said"', draft, flags=re.MULTILINE)
    assert list(tomllib.loads(filled)) == found["gaps"] and set(found["gaps"]) <= set(HINTS)
    Path("draft.toml").write_text(filled)
    result = ends(0, "report model.dperm -o full.html --fields draft.toml")
    assert "gap" not in result.stdout
    assert "Fill it in" in ends(0, "report model.dperm --draft-fields draft.toml --force").stdout


def test_every_field_of_the_user_has_a_hint():
    assert set(HINTS) == set(STATED_BY_THE_USER)


BAD = [
    ("report missing.dperm -o s.html", ["missing.dperm"]),
    ("report data.csv -o s.html", ["cannot read a model"]),
    ("report model.dperm -o s.pdf", ["s.pdf", ".html"]),
    ("report model.dperm", ["-o"]),
    ("report model.dperm -o taken.html", ["taken.html exists"]),
    ("report model.dperm --draft-fields taken.html", ["taken.html exists"]),
    ("report model.dperm -o nowhere/s.html", ["nowhere"]),
    ("report model.dperm -o s.html --fields missing.toml", ["missing.toml"]),
    ("report model.dperm -o s.html --fields broken.toml", ["broken.toml", "not TOML"]),
    ("report model.dperm -o s.html --fields latin.toml", ["latin.toml", "UTF-8"]),
    ("report model.dperm -o s.html --fields wrong.toml", ["epsilon"]),
]


@pytest.mark.parametrize(("line", "words"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_reported_is_refused(fitted, ends, line, words):
    Path("taken.html").write_text("old")
    Path("broken.toml").write_text("= 1")
    Path("latin.toml").write_bytes(b"# \xe4")
    Path("wrong.toml").write_text("epsilon = 0.001")
    said = ends(2, line).stderr
    assert all(word in said for word in words), said
    assert Path("taken.html").read_text() == "old" and not list(Path().glob("s.*"))
