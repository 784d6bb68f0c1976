# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""JSON: what is written meets the schema and is read back; what contradicts itself is refused."""

import copy
import json
from pathlib import Path

import pytest
from statements import fitted, kinds

import dperm.report
from dperm.errors import EventFormatError
from dperm.report import Statement, fields

KINDS = pytest.mark.parametrize("kind", kinds())


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.Draft202012Validator.check_schema(Statement.schema())
    return jsonschema.Draft202012Validator(Statement.schema())


@KINDS
def test_every_statement_meets_the_schema(validator, kind):
    assert [error.message for error in validator.iter_errors(json.loads(kinds()[kind].to_json()))] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 1),
        (("private",), "yes"),
        (("private",), False),
        (("gaps",), ["epsilon"]),
        (("more",), 1),
        (("fields", "more"), 1),
        (("fields", "parameters", "epsilon"), "1"),
        (("fields", "parameters", "delta"), 1.0),
        (("fields", "parameters"), "nothing"),
        (("fields", "adjacency"), "replace"),
        (("fields", "status"), fields.SEEDED),
        (("fields", "profile", "accuracy"), 1.5),
        (("fields", "limits"), "none"),
        (("fields", "mechanism"), {}),
    ],
    ids=str,
)
def test_the_schema_refuses_what_is_wrong(validator, path, value):
    data = json.loads(fitted().statement_.to_json())
    assert validator.is_valid(data)
    inner = data
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    assert not validator.is_valid(data)


@pytest.mark.parametrize("name", fields.FIELDS)
def test_the_schema_requires_every_field(validator, name):
    data = json.loads(fitted().statement_.to_json())
    del data["fields"][name]
    assert not validator.is_valid(data)


def test_the_schema_names_the_fields_as_the_page_does():
    described = Statement.schema()["properties"]["fields"]
    assert {name: value["title"] for name, value in described["properties"].items()} == fields.FIELDS
    assert described["required"] == list(fields.FIELDS)
    assert Path(dperm.report.__file__).with_name("statement.schema.json").is_file()


@KINDS
def test_a_statement_is_read_back(kind):
    found = kinds()[kind]
    assert Statement.from_json(found.to_json()) == found
    assert Statement.from_json(found.to_json(indent=1)) == found
    assert json.loads(found.to_json())["gaps"] == list(found.gaps)


def changed(**changes) -> str:
    return json.dumps(copy.deepcopy(json.loads(fitted().statement_.to_json())) | changes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot read"),
        ("[1]", "cannot read"),
        ("{}", "cannot read"),
        (changed(format=1), "format 2 and 3"),
        (changed(format=True), "format 2 and 3"),
        (changed(format=4), "format 2 and 3"),
        (changed(format=2), "must have the keys"),
        (changed(fields={}), "cannot read"),
        (changed(fields=None), "cannot read"),
        (changed(private=False), "do not follow from its fields"),
        (changed(gaps=[]), "do not follow from its fields"),
        (changed(gaps=None), "cannot read"),
    ],
    ids=["empty", "list", "nothing", "1", "true", "4", "2", "no fields", "null", "lies", "no gaps", "null gaps"],
)
def test_what_is_no_statement_is_refused(text, words):
    with pytest.raises(EventFormatError, match=words):
        Statement.from_json(text)
