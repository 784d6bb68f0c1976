# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Schemas: what they declare, what they refuse, and drafts that are none yet."""

import json
import tomllib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.data import Categorical, Numeric, PublicEncoder
from dperm.data.schema import (
    AdditiveSchema,
    PartialSchema,
    Schema,
    TargetSchema,
    load_schema,
    schema_from_json,
)
from dperm.data.schema_draft import draft
from dperm.errors import LeakError, ParameterError

AGE = "[columns.age]\nlow = 0\nhigh = 100\n"
WORK = '[columns.work]\ncategories = ["a", 1, true, 2.5]\nimpute = "a"\nother = true\n'
TARGET = '[target]\nname = "y"\nclasses = ["no", "yes"]\n'


def test_everything_that_can_be_declared_is_read():
    schema = Schema.from_toml(f"{AGE}impute = 40\n[columns.work]\ncategories = ['a', 2]\nother = true\n{TARGET}")
    assert dict(schema.encoder.columns) == {
        "age": Numeric(0.0, 100.0, 40.0),
        "work": Categorical(("a", 2), None, True),
    }
    assert schema.target == TargetSchema("y", ("no", "yes"))
    assert Schema.from_toml(f"{AGE}[target]\nname = 'y'\nrange = [0, 5]").target == TargetSchema("y", None, (0.0, 5.0))
    assert Schema.from_toml(AGE).target is None


def test_the_order_of_the_columns_is_that_of_the_file():
    one, other = "[columns.b]\nlow = 0\nhigh = 1\n", "[columns.a]\nlow = 0\nhigh = 1\n"
    assert Schema.from_toml(one + other).encoder.feature_names == ("b", "a")


@pytest.mark.parametrize(
    "target", ["", TARGET, "[target]\nname = 'y'\nrange = [0.5, 5]", "[target]\nname='y'\nclasses=[1, 2]"]
)
def test_a_schema_comes_back_from_json(target):
    schema = Schema.from_toml(AGE + target)
    again = Schema.from_json(schema.to_json())
    assert again == schema and again.to_json() == schema.to_json()


@pytest.mark.parametrize(
    "change", [{"dperm_schema": 2}, {"more": 1}, {"encoder": {}}, {"target": {"name": "y"}}, {"target": [1]}], ids=str
)
def test_other_json_is_refused(change):
    data = json.loads(Schema.from_toml(AGE + TARGET).to_json()) | change
    with pytest.raises(ParameterError):
        Schema.from_json(json.dumps(data))
    with pytest.raises(ParameterError):
        Schema.from_json("[]")


UNDECLARED = [
    ("", "no column is declared"),
    (TARGET, "no column is declared"),
    ("[columns.age]", r"columns\.age declares neither"),
    ("[columns.age]\nimpute = 3", r"columns\.age declares neither"),
    ("[columns.age]\nlow = 3", r"columns\.age\.high is missing"),
    ("[columns.age]\nother = true", r"columns\.age\.categories is missing"),
    ('[columns.age]\nlow = "FILL IN"\nhigh = 1', r'columns\.age\.low still says "FILL IN"'),
    ('[columns.age]\ncategories = ["a", "FILL IN"]', r"columns\.age\.categories still says"),
    (f'{AGE}impute = "FILL IN"', r"columns\.age\.impute still says"),
    (f'{AGE}[target]\nname = "FILL IN"\nclasses = [0, 1]', r"target\.name still says"),
    (f'{AGE}[target]\nname = "y"', "neither classes nor a range"),
    (f'{AGE}[target]\nname = "y"\nclasses = ["FILL IN", "FILL IN"]', r"target\.classes still says"),
]


@pytest.mark.parametrize(("text", "words"), UNDECLARED, ids=range(len(UNDECLARED)))
def test_what_is_not_declared_is_refused_as_such(text, words):
    with pytest.raises(LeakError, match=words) as caught:
        Schema.from_toml(text)
    assert "taken from the data" in str(caught.value)


BAD = [
    ("low = = 1", "not TOML"),
    ("[column.age]\nlow = 0\nhigh = 1", "'column'.* Did you mean columns"),
    ("columns = 3", "columns must be a table"),
    ("[columns]\nage = 3", r"columns\.age must be a table"),
    ("[columns.age]\nmin = 0\nhigh = 1", r"columns\.age has 'min'"),
    ("[columns.age]\nhihg = 1", "Did you mean high"),
    (f"{AGE}categories = ['a']", "not both"),
    ("[columns.age]\nlow = 1\nhigh = 0", r"columns\.age\.low must be less"),
    ("[columns.age]\nlow = inf\nhigh = 0", r"columns\.age\.low"),
    ("[columns.age]\nlow = '0'\nhigh = 1", r"columns\.age\.low"),
    (f"{AGE}impute = 200", r"columns\.age\.impute"),
    ("[columns.w]\ncategories = []", r"columns\.w\.categories"),
    ("[columns.w]\ncategories = ['a', 'a']", r"columns\.w\.categories"),
    ("[columns.w]\ncategories = [1979-05-27]", r"columns\.w\.categories\[0\]"),
    ("[columns.w]\ncategories = ['a']\nimpute = 'b'", r"columns\.w\.impute"),
    ("[columns.w]\ncategories = ['a']\nother = 1", r"columns\.w\.other"),
    (f"{AGE}[target]\nclasses = [0, 1]", r"target\.name"),
    (f"{AGE}[target]\nname = 3\nclasses = [0, 1]", r"target\.name"),
    (f"{AGE}[target]\nname = 'y'\nclasses = [0, 1]\nrange = [0, 1]", "classes = .* or range"),
    (f"{AGE}[target]\nname = 'y'\nclasses = [0]", r"target\.classes"),
    (f"{AGE}[target]\nname = 'y'\nclasses = [0, 'a']", r"target\.classes"),
    (f"{AGE}[target]\nname = 'y'\nclasses = [0, 0.0]", "different"),
    (f"{AGE}[target]\nname = 'y'\nrange = [1, 0]", r"target\.range"),
    (f"{AGE}[target]\nname = 'y'\nrange = 7", r"target\.range"),
    (f"{AGE}[target]\nname = 'y'\nweights = [1]\nclasses = [0, 1]", "'weights'"),
    (f"{AGE}[target]\nname = 'age'\nclasses = [0, 1]", "predicted from itself"),
]


@pytest.mark.parametrize(("text", "words"), BAD, ids=range(len(BAD)))
def test_what_makes_no_sense_is_refused_by_its_name(text, words):
    with pytest.raises(ParameterError, match=words) as caught:
        Schema.from_toml(text)
    assert not isinstance(caught.value, LeakError)


def test_a_file_is_named_in_what_is_said_about_it(tmp_path):
    path = tmp_path / "s.toml"
    for content, kind in ((b"", LeakError), (b"= 1", ParameterError), (b"# \xe4", ParameterError)):
        path.write_bytes(content)
        with pytest.raises(kind, match=r"s\.toml: "):
            Schema.load(Path(path))


def test_intervals_and_missing_values_are_declared_in_toml():
    schema = Schema.from_toml(
        f"{AGE}bins = [18, 65.5]\nmissing = true\n[columns.w]\ncategories = []\nother = true\nmissing = true\n"
    )
    assert dict(schema.encoder.columns) == {
        "age": Numeric(0.0, 100.0, bins=(18.0, 65.5), missing=True),
        "w": Categorical((), other=True, missing=True),
    }
    assert Schema.from_json(schema.to_json()) == schema == Schema.from_toml(schema.to_toml())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{AGE}bins = [2, 1]", r"columns\.age\.bins must increase"),
        (f"{AGE}bins = 3", r"columns\.age\.bins must be a list"),
        (f"{AGE}bins = [inf]", r"columns\.age\.bins\[0\]"),
        (f"{AGE}missing = 1", r"columns\.age\.missing must be True or False"),
        ("[columns.w]\ncategories = ['a']\nbins = [1]", "not both"),
        ("[columns.w]\ncategories = ['a']\nimpute = 'a'\nmissing = true", r"columns\.w\.impute must be left out"),
    ],
)
def test_invalid_intervals_and_missing_values_are_refused(text, words):
    with pytest.raises(ParameterError, match=words):
        Schema.from_toml(text)


ODD_TEXT = st.one_of(
    st.sampled_from(
        ["", "a.b", 'quo"te', "back\\slash", "line\nend", "cr\r\n", "\x7f\x00", "ü€😀", "[target]", "# no"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
CUTS = st.lists(FINITE, max_size=4, unique=True).map(sorted)
NUMBERS = st.builds(
    lambda ends, cuts, gap: Numeric(*sorted(ends), impute=ends[0], bins=cuts, missing=gap),
    st.sampled_from([(0, 1), (0.1, -1e100), (5e-300, 1e-7), (-0.0, 1e22)]),
    CUTS,
    st.booleans(),
)
LABELS = st.one_of(ODD_TEXT, st.integers(2, 2**53 - 1), st.booleans(), st.floats(0.01, 0.99))
CATEGORIES = st.builds(
    lambda given, gap: Categorical(given, other=True, missing=gap),
    st.lists(LABELS, max_size=4, unique_by=lambda label: unicodedata.normalize("NFC", str(label))),
    st.booleans(),
)


@given(st.dictionaries(ODD_TEXT, st.one_of(NUMBERS, CATEGORIES), min_size=1, max_size=3), st.booleans())
def test_a_schema_comes_back_from_toml(columns, with_target):
    target = TargetSchema("the target", ("nö", 'y"es')) if with_target else None
    try:
        schema = Schema(PublicEncoder(columns), target)
    except ParameterError:
        return  # two features of the same name
    again = Schema.from_toml(schema.to_toml())
    assert again == schema and again.to_json() == schema.to_json()
    assert again.to_toml().encode().decode() == schema.to_toml()


def test_the_toml_of_a_plain_schema_is_short():
    schema = Schema.from_toml(
        f"{AGE}impute = 40\n{WORK.replace('true, 2', '0.1, 2')}[target]\nname = 'y'\nrange = [0.1, 5]"
    )
    assert schema.to_toml() == (
        "[columns.age]\nlow = 0.0\nhigh = 100.0\nimpute = 40.0\n\n"
        '[columns.work]\ncategories = ["a", 1, 0.1, 2.5]\nimpute = "a"\nother = true\n\n'
        '[target]\nname = "y"\nrange = [0.1, 5.0]\n'
    )


def test_text_that_no_file_can_hold_is_refused():
    with pytest.raises(ParameterError, match="half of a surrogate pair"):
        Schema(PublicEncoder({"w": Categorical(["\ud800"])})).to_toml()


KINDS = st.sampled_from(["number", "truth", "text", "other", ""])
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.dictionaries(NAMES, KINDS, min_size=1, max_size=4), st.booleans())
def test_a_draft_is_toml_with_these_names_and_no_schema(types, with_target):
    target = next(iter(types)) if with_target else None
    text = draft(types, target)
    data = tomllib.loads(text)
    assert list(data.get("columns", {})) == [name for name in types if name != target]
    assert data["target"]["name"] == (target or "FILL IN")
    if target is not None and set(types.values()) == {"truth"} and len(types) > 1:
        return  # truth values are 0 and 1: there is nothing left to say
    with pytest.raises(LeakError):
        Schema.from_toml(text)


ADDITIVE = """interactions = [["age", "work"]]

[columns.age]
low = 0
high = 100
unit = 10
special = [0, 999]
detail = 0.6
bins = 64
weight = 3

[columns.hour]
low = 0
high = 24
period = 24

[columns.work]
categories = ["a", "b"]
weight = 2
"""


def test_an_additive_schema_has_all_keys_of_additive_models():
    schema = AdditiveSchema.from_toml(f"{ADDITIVE}{TARGET}")
    assert dict(schema.encoder.columns) == {
        "age": Numeric(0.0, 100.0, bins=64, unit=10.0, special=(0.0, 999.0), detail=0.6, weight=3.0),
        "hour": Numeric(0.0, 24.0, period=24.0),
        "work": Categorical(("a", "b"), weight=2.0),
    }
    assert schema.encoder.pairs == (("age", "work"),) and schema.target == TargetSchema("y", ("no", "yes"))


@pytest.mark.parametrize("text", [ADDITIVE, ADDITIVE + TARGET, AGE, AGE + TARGET], ids=range(4))
def test_an_additive_schema_comes_back_from_json_and_toml(text):
    schema = AdditiveSchema.from_toml(text)
    assert AdditiveSchema.from_toml(schema.to_toml()) == schema
    assert AdditiveSchema.from_json(schema.to_json()) == schema == schema_from_json(schema.to_json())


def test_the_kind_of_a_schema_follows_from_its_keys(tmp_path):
    for text, kind in ((ADDITIVE, AdditiveSchema), (AGE, Schema), (f"{AGE}weight = 1.0", Schema)):
        (tmp_path / "schema.toml").write_text(text)
        assert type(load_schema(tmp_path / "schema.toml")) is kind
    assert type(schema_from_json(Schema.from_toml(AGE).to_json())) is Schema
    with pytest.raises(ParameterError):
        Schema.from_json(AdditiveSchema.from_toml(AGE).to_json())
    with pytest.raises(ParameterError):
        AdditiveSchema.from_json(Schema.from_toml(AGE).to_json())


def test_json_and_digests_of_schemas_without_new_keys_are_those_of_earlier_versions():
    schema = Schema.from_toml(f"{AGE}bins = [18]\n{WORK.replace('1, true', '1')}{TARGET}")
    assert schema.digest == "sha256:c1d06e34a76b057c163184330cbbf0c427a856515e1d2f56bd69d482f165c44f"


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("unit = 3", "columns.age.unit"),
        ("special = [0]", "columns.age.special"),
        ("detail = 0.5", "columns.age.detail"),
        ("detail = 0.5\nbins = 8", "columns.age.bins"),
        ("period = 10", "columns.age.period"),
        ("weight = 2", "columns.age.weight"),
        ("[columns.work]\ncategories = ['a']\nweight = 2", "columns.work.weight"),
    ],
)
@pytest.mark.parametrize("kind", [Schema, PartialSchema])
def test_linear_schemas_refuse_keys_of_additive_models(kind, key, named):
    with pytest.raises(ParameterError, match=rf"{named} applies to additive models only.*--model additive"):
        kind.from_toml(f"{AGE}{key}\n{TARGET}")
    with pytest.raises(ParameterError, match="interactions applies to additive models only"):
        kind.from_toml(f"interactions = []\n{AGE}{TARGET}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'interactions = "age"\n{AGE}', "interactions must be a list of pairs"),
        (f'interactions = [["age"]]\n{AGE}', r"interactions\[0\] must be two different columns"),
        (f'interactions = [["age", "nobody"]]\n{AGE}', r"interactions\[0\] must name declared columns"),
        (f"{AGE}bins = [18]", "must not be cut points"),
        (f"{AGE}unit = -1", "unit"),
        (f"{AGE}unti = 1", "Did you mean unit"),
        (f"{AGE}[target]\nname = 'age'\nrange = [0, 1]", "predicted from itself"),
        ("interactions = []", "no column is declared"),
        ('[columns.age]\nlow = "FILL IN"\nhigh = 1', "this draft is not filled in"),
    ],
)
def test_an_invalid_additive_schema_is_refused(text, words):
    with pytest.raises(ParameterError, match=words):
        AdditiveSchema.from_toml(text)
