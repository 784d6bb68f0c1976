# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables in files: every cell by what is declared, in every kind of file; what is wrong is said without a value."""

import builtins
import csv
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.data import Categorical, Numeric, PublicEncoder, csv_files
from dperm.data.files import read_table, table_file
from dperm.data.schema import TargetSchema
from dperm.errors import DataError, ParameterError

DECLARED = {"age": Numeric(0, 100), "work": Categorical(("a", "b", "NA"))}


def written(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.fixture
def table(tmp_path):
    """A function that reads the columns of a CSV text."""

    def table(text, declared=DECLARED):
        return {name: found.tolist() for name, found in read_table(written(tmp_path / "t.csv", text), declared).items()}

    return table


def test_declared_columns_are_read_and_others_are_not(table):
    assert table("x,work,age\nq,a,3\nq,b,-4.5e1\n") == {"age": [3.0, -45.0], "work": ["a", "b"]}


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("3", 3.0),
        (" 3.5 ", 3.5),
        ("1e3", 1000.0),
        ("true", 1.0),
        ("FALSE", 0.0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_numbers_are_read_as_python_writes_them(table, cell, number):
    assert table(f"age,work\n{cell},a\n")["age"] == [number]


@pytest.mark.parametrize("cell", ["", "NA", "na", "NaN", "nan", "null", "NULL", " "])
def test_missing_numbers_are_nan_whatever_stands_beside_them(table, cell):
    assert math.isnan(table(f"age,work\n{cell},a\n")["age"][0])
    assert math.isnan(table(f"age,work\n1,a\n{cell},a\n2,a\n")["age"][1])


def test_a_declared_category_is_no_missing_value(table):
    assert table("age,work\n1,NA\n1,null\n1,\n")["work"] == ["NA", None, None]


@pytest.mark.parametrize(
    ("categories", "cell", "found"),
    [
        ((1, 2), "1", 1.0),
        ((1, 2), "1.0", 1.0),
        ((True, False), "True", 1.0),
        ((True, False), "true", 1.0),
        ((True, False), "0", 0.0),
        ((2.5,), "2.50", 2.5),
        (("1", "2"), "1", "1"),
        (("1", "2"), "1.0", "1.0"),
        (("1", 1), "1", "1"),
        ((1, "b"), "c", "c"),
        ((1, 2), "3", 3.0),
        (("a",), " a", " a"),
    ],
)
def test_categories_are_compared_as_text_and_numbers_also_as_numbers(table, categories, cell, found):
    assert table(f"w\n{cell}\n", {"w": Categorical(categories)})["w"] == [found]


def test_an_encoder_takes_what_was_read(tmp_path):
    declared = {"age": Numeric(0, 10, impute=5), "code": Categorical((1, 2), other=True)}
    path = written(tmp_path / "t.csv", "code,age\n1.0,0\n2,\n7,20\n")
    assert PublicEncoder(declared).transform(read_table(path, declared)).tolist() == [
        [-1.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 1.0],
    ]


def test_labels_are_the_declared_ones(table):
    assert table("y\nno\nyes\n", {"y": TargetSchema("y", ("yes", "no"))})["y"] == ["no", "yes"]
    found = table("y\n0\n1.0\n1\n", {"y": TargetSchema("y", (0, 1))})["y"]
    assert found == [0, 1, 1] and {type(label) for label in found} == {int}
    assert table("y\nTrue\nfalse\n", {"y": TargetSchema("y", (False, True))})["y"] == [True, False]
    assert table("y\n7\n-1e9\n", {"y": TargetSchema("y", None, (0, 5))})["y"] == [7.0, -1e9]


def test_a_mark_quotes_line_ends_and_empty_lines_are_understood(table):
    text = '\ufeffage,work\r\n1,"a"\r\n\r\n2,b\n'
    assert table(text) == {"age": [1.0, 2.0], "work": ["a", "b"]}
    declared = {"t": Categorical(('one\ntwo "q"',))}
    assert table('t,x\n"one\ntwo ""q""",1\n', declared) == {"t": ['one\ntwo "q"']}


def test_pieces_of_a_long_file_are_put_together(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "ROWS", 7)
    monkeypatch.setattr(csv_files, "BUFFER", 16)
    text = "age,work\n" + "".join(f"{place},{'ab'[place % 2]}\n" for place in range(100))
    shares = []
    found = read_table(written(tmp_path / "t.csv", text), DECLARED, shares.append)
    assert found["age"].tolist() == list(range(100)) and found["work"].tolist() == ["a", "b"] * 50
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) == 15


CELLS = st.sampled_from(["1", "2.5", "", "NA", "x", "inf", "true", "1e400", '"', ",", "a", "b", "\n", "secret"])


@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=5), st.tuples(CELLS, CELLS), st.data())
def test_one_record_does_not_change_how_another_is_read(tmp_path_factory, records, other, data):
    """Of two neighbouring files, all records but one are read alike; a refusal is about one record alone."""
    place = data.draw(st.integers(0, len(records) - 1))
    neighbour = [other if at == place else record for at, record in enumerate(records)]
    declared = {"w": Categorical(("a", "b", 1)), "v": Categorical(("x",))}
    folder = tmp_path_factory.mktemp("neighbours")
    found = []
    for rows in (records, neighbour):
        with open(folder / "t.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("w", "v"), *rows])
        read = read_table(folder / "t.csv", declared)
        found.append([pair for at, pair in enumerate(zip(*map(list, read.values()), strict=True)) if at != place])
    assert repr(found[0]) == repr(found[1])


@given(st.lists(CELLS, min_size=1, max_size=6))
def test_numbers_in_a_file_are_those_of_files_of_one_record(tmp_path_factory, cells):
    folder = tmp_path_factory.mktemp("cells")

    def read(chosen):
        with open(folder / "t.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("v", "x"), *((cell, "") for cell in chosen)])
        try:
            return read_table(folder / "t.csv", {"v": Numeric(0, 1)})["v"].tolist()
        except DataError:
            return None

    alone = [read([cell]) for cell in cells]
    together = read(cells)
    assert (together is None) is (None in alone)
    if together is not None:
        assert repr(together) == repr([single[0] for single in alone])


REFUSED = [
    ("", {}, "is empty"),
    ("\n\n", {}, "is empty"),
    ("age,work\n", {}, "no record"),
    ("work\na\n", {}, "column named 'age'"),
    ("age,work,age\n1,a,2\n", {}, "once, and two are named 'age'"),
    ("age,work,\n1,a,\n", {}, r"without a name.*index=False"),
    ("age,work\n1\n", {}, "as many cells"),
    ("age,work\n1,a,secret\n", {}, "as many cells"),
    ("age,work\nsecret,a\n", {}, "column 'age' must hold numbers"),
    ("age,work\n1_000 secret,a\n", {}, "column 'age' must hold numbers"),
    ("age,work\n1_000,a\n", {}, "column 'age' must hold numbers"),
    ("age,work\n1_000,a\nNA,a\n", {}, "column 'age' must hold numbers"),
    ("y\n1_0\n", {"y": TargetSchema("y", (0, 10))}, "column 'y' must hold the classes"),
    ('age,"work\n1,secret"\n2,a\n', {}, "every quote is closed"),
    ('age,work,"a\x1bsecret"\n2,a,1\n', {}, "control character"),
    ("age,work,a\u2028secret\n2,a,1\n", {}, "line break"),
    ('age,work\n1,"secret\n', {}, "every quote is closed"),
    ('age,work\n1,"sec"ret\n', {}, "double quotes"),
    ("age,work\n1,a\0secret\n", {}, "NUL"),
    ("y\nsecret\n", {"y": TargetSchema("y", (0, 1))}, "column 'y' must hold the classes"),
    ("y,x\n,\n", {"y": TargetSchema("y", (0, 1))}, "column 'y' must hold the classes"),
    ("y\nsecret\n", {"y": TargetSchema("y", None, (0, 1))}, "column 'y' must hold numbers"),
    ("y,x\n,\n", {"y": TargetSchema("y", None, (0, 1))}, "column 'y' must hold a finite number"),
    ("y\ninf\n", {"y": TargetSchema("y", None, (0, 1))}, "column 'y' must hold a finite number"),
]


@pytest.mark.parametrize(("text", "declared", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_breaks_a_rule_is_refused_without_a_value(table, text, declared, words):
    with pytest.raises(DataError, match=words) as caught:
        table(text, declared or DECLARED)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_header_that_may_be_a_record_is_not_repeated(tmp_path):
    path = written(tmp_path / "t.csv", "secret,secret\n1,2\n")
    with pytest.raises(DataError) as caught:
        table_file(path).types()
    assert "secret" not in str(caught.value)


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    for name, content in (("below", b"age,work\n1,a\xff\n"), ("header", b"age\xff,work\n1,a\n")):
        path = tmp_path / f"{name}.csv"
        path.write_bytes(content)
        with pytest.raises(DataError, match="UTF-8") as caught:
            read_table(path, DECLARED)
        assert caught.value.__context__ is None  # it would hold a part of the file


ARROW = pa.table(
    {
        "age": pa.array([1, None, 3], pa.int64()),
        "work": pa.array(["a", None, "b"]),
        "kind": pa.array(["a", "b", None]).dictionary_encode(),
        "ok": pa.array([True, None, False]),
        "when": pa.array([1, 2, 3], pa.timestamp("s")),
        "y": pa.array(["no", "yes", "no"]),
        "code": pa.array([0, 1, 0], pa.int8()),
        "pay": pa.array([1.5, 2.5, 1e9]),
    }
)


@pytest.fixture(params=["parquet", "PQ", "arrow", "feather", "ipc"])
def arrow_file(request, tmp_path):
    """The table in every kind of file; .ipc is a stream."""
    path = tmp_path / f"t.{request.param}"
    if path.suffix.lower() in (".parquet", ".pq"):
        pq.write_table(ARROW, path, row_group_size=2)
    elif path.suffix == ".ipc":
        with pa.ipc.new_stream(path, ARROW.schema) as stream:
            stream.write_table(ARROW, max_chunksize=2)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, ARROW.schema) as file:
            file.write_table(ARROW, max_chunksize=2)
    else:
        pyarrow.feather.write_feather(ARROW, path, compression="lz4")
    return path


def test_arrow_files_give_the_declared_columns(arrow_file):
    declared = {
        "work": Categorical(("a", "b")),
        "age": Numeric(0, 9),
        "kind": Categorical(("a", "b")),
        "ok": Numeric(0, 1),
        "y": TargetSchema("y", ("no", "yes")),
    }
    shares = []
    found = read_table(arrow_file, declared, shares.append)
    assert list(found) == list(declared) and shares[-1] == 1.0
    assert found["work"].tolist() == ["a", None, "b"] and found["kind"].tolist() == ["a", "b", None]
    np.testing.assert_equal(found["age"], [1.0, np.nan, 3.0])
    np.testing.assert_equal(found["ok"], [1.0, np.nan, 0.0])
    assert found["y"].tolist() == ["no", "yes", "no"]
    assert read_table(arrow_file, {"code": TargetSchema("code", (0, 1))})["code"].tolist() == [0, 1, 0]
    assert read_table(arrow_file, {"pay": TargetSchema("pay", None, (0, 5))})["pay"].tolist() == [1.5, 2.5, 1e9]


def test_arrow_files_have_types_without_a_value_read(arrow_file):
    kinds = {"age": "number", "work": "text", "kind": "text", "ok": "truth", "when": "other"}
    assert table_file(arrow_file).types() == {**kinds, "y": "text", "code": "number", "pay": "number"}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"none": Numeric(0, 1)}, "column named 'none'"),
        ({"work": Numeric(0, 1)}, "column 'work' must hold numbers.*text"),
        ({"when": Numeric(0, 1)}, "column 'when'.*dates"),
        ({"work": TargetSchema("work", None, (0, 1))}, "column 'work' must hold numbers"),
        ({"work": TargetSchema("work", ("a", "b"))}, "column 'work' must hold the classes"),
        ({"age": TargetSchema("age", None, (0, 1))}, "column 'age' must hold a finite number"),
        ({"code": TargetSchema("code", ("0", "1"))}, "column 'code' must hold the classes"),
    ],
    ids=range(7),
)
def test_arrow_files_that_break_a_rule_are_refused(arrow_file, declared, words):
    with pytest.raises(DataError, match=words):
        read_table(arrow_file, declared)


def test_names_in_arrow_files_are_checked_too(tmp_path):
    twice = pa.table([pa.array([1]), pa.array([2])], names=["age", "age"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="once"):
        read_table(tmp_path / "twice.parquet", {"age": Numeric(0, 1)})
    pq.write_table(ARROW.slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(DataError, match="no record"):
        read_table(tmp_path / "empty.parquet", {"age": Numeric(0, 1)})


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
def test_what_is_no_arrow_file_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"ARROW1 secret" * 9)
    with pytest.raises(DataError, match="cannot be read as") as caught:
        read_table(tmp_path / name, {"age": Numeric(0, 1)})
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / f"other-{name}", {"age": Numeric(0, 1)})


def test_without_pyarrow_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    known = builtins.__import__

    def missing(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return known(name, *rest)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ParameterError, match=r"pip install 'dperm\[files\]'"):
        read_table(tmp_path / "t.parquet", {"age": Numeric(0, 1)})


@pytest.mark.parametrize("name", ["t.txt", "t", "t.xlsx", "t.gz", "t.parquet.gz"])
def test_other_kinds_of_files_are_refused_by_their_names(name):
    with pytest.raises(ParameterError, match=r"\.csv, \.parquet"):
        table_file(Path(name))
