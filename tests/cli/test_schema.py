# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm schema draft`` and ``check``: names and types, never values."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dperm.data.schema import Schema
from dperm.errors import LeakError


def test_a_draft_has_the_names_and_no_value(desk, ends):
    text = ends(0, "schema draft data.csv --target income").stdout
    for name in ("age", "work", "hours", "pay", "name"):
        assert f"[columns.{name}]" in text
    assert "[columns.income]" not in text and 'name = "income"' in text
    for value in ("private", "cook", "50K", "SECRET"):
        assert value not in text


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_a_draft_does_not_depend_on_the_values(desk, ends, suffix):
    drafts = []
    for shift in (0, 1000):
        frame = pd.DataFrame(
            {"age": [shift + 0.5, 2.5], "work": pd.Categorical([f"a{shift}", "b"]), "ok": [True, False]}
        )
        {"csv": frame.to_csv, "parquet": frame.to_parquet, "feather": frame.to_feather}[suffix](
            f"d.{suffix}", **({"index": False} if suffix == "csv" else {})
        )
        drafts.append(ends(0, f"schema draft d.{suffix}").stdout)
    assert drafts[0] == drafts[1]


def test_only_the_header_line_of_a_csv_file_is_read(desk, ends):
    Path("data.csv").write_bytes(b"age,work\n" + b"\xff\xfe SECRET not even text\n" * 100_000)
    assert "[columns.age]" in ends(0, "schema draft data.csv").stdout


def test_types_of_parquet_decide_what_is_offered(desk, ends, answered):
    table = pa.table(
        {
            "n": pa.array([1, 2]),
            "t": pa.array(["SECRET", "b"]),
            "d": pa.array(["SECRET", "b"]).dictionary_encode(),
            "b": pa.array([True, False]),
            "w": pa.array([1, 2], pa.timestamp("s")),
        }
    )
    pq.write_table(table, "data.parquet")
    found = answered("schema draft data.parquet --target b")
    assert found["types"] == {"n": "number", "t": "text", "d": "text", "b": "truth", "w": "other"}
    assert (
        '[columns.n]\nlow = "FILL IN"' in found["draft"] and '[columns.d]\ncategories = ["FILL IN"]' in found["draft"]
    )
    assert "classes = [false, true]" in found["draft"]


def test_a_draft_is_refused_until_it_is_filled_in(desk, ends):
    ends(0, "schema draft data.csv --target income -o draft.toml")
    said = ends(4, "schema check draft.toml").stderr
    assert "columns.age" in said and "draft.toml" in said
    text = Path("draft.toml").read_text()
    with pytest.raises(LeakError, match=r'columns\.age\.low still says "FILL IN"'):
        Schema.from_toml(text.replace("# low =", "low ="))


def test_a_draft_that_is_filled_in_fits(desk, ends):
    ends(0, "schema draft data.csv --target income -o draft.toml")
    head, *tables = Path("draft.toml").read_text().split("\n[")
    kept = [table for table in tables if table.startswith(("columns.age", "columns.hours", "target"))]
    text = "\n[".join([head, *kept]).replace("# low = ", "low = ").replace("# high = ", "high = ")
    text = text.replace("# impute = ", "impute = ", 1).replace("# classes", "classes")
    for value in ("0", "100", "40", "0", "80", '"<=50K"', '">50K"'):
        text = _filled(text, value)
    Path("draft.toml").write_text(text)
    ends(0, "schema check draft.toml data.csv")
    ends(0, "fit data.csv --epsilon 1 --schema draft.toml")


def _filled(text, value):
    lines = text.splitlines()
    place = next(place for place, line in enumerate(lines) if "FILL IN" in line and not line.startswith("#"))
    lines[place] = lines[place].replace('"FILL IN"', value, 1)
    return "\n".join(lines) + "\n"


def test_odd_names_are_quoted(desk, ends):
    Path("odd.csv").write_text('"native country","a.b","say ""hi""",ä\n', encoding="utf-8")
    text = ends(0, "schema draft odd.csv").stdout
    for key in ('"native country"', '"a.b"', r'"say \"hi\""', '"ä"'):
        assert f"[columns.{key}]" in text


def test_a_schema_is_described(desk, ends, answered):
    said = ends(0, "schema check schema.toml data.csv").stdout
    for words in ("age, work, hours", "income, one of '<=50K', '>50K'", "not used:   pay, name"):
        assert words in said
    found = answered("schema check pay.toml data.csv")
    assert found["target"] == {"name": "pay", "range": [0.0, 200.0]} and found["unused"] == ["income", "name"]
    assert found["features"][:2] == ["age", "work=private"]
    assert "a number in [0, 200]" in ends(0, "schema check pay.toml").stdout


BAD = [
    (2, "schema draft missing.csv", ["missing.csv"]),
    (2, "schema draft data.csv --target wages", ["--target", "'wages'"]),
    (2, "schema draft data.csv -o schema.toml", ["schema.toml exists", "--force"]),
    (2, "schema draft schema.toml", [".csv"]),
    (2, "schema draft broken.parquet", ["broken.parquet", "cannot be read"]),
    (2, "schema check missing.toml", ["missing.toml"]),
    (2, "schema check broken.toml", ["broken.toml", "not TOML"]),
    (2, "schema check schema.toml few.csv", ["few.csv", "'work'"]),
    (4, "schema check nothing.toml", ["nothing.toml", "no column"]),
]


@pytest.mark.parametrize(("code", "line", "words"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_said(desk, ends, code, line, words):
    Path("broken.toml").write_text("low = = 1")
    Path("nothing.toml").write_text("")
    Path("few.csv").write_text("age\nSECRET\n")
    Path("broken.parquet").write_text("SECRET")
    said = ends(code, line).stderr
    assert all(word in said for word in words), said


def test_the_command_alone_shows_its_help(dperm):
    assert dperm("schema").stdout.strip() == dperm("schema --help").stdout.strip()


def test_a_draft_that_is_not_filled_in_is_not_drafted_again(desk, ends):
    ends(0, "schema draft data.csv --target income -o draft.toml")
    for line in ("fit data.csv --schema draft.toml --epsilon 1", "plan --schema draft.toml --epsilon 1 --n 100"):
        said = ends(4, line).stderr
        assert "this draft is not filled in" in said and "dperm schema draft" not in said
