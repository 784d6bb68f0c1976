# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A file is opened once: what is watched is what is read, whatever happens to the file meanwhile."""

import os
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from dperm.data import Categorical, Numeric, csv_files
from dperm.data.files import read_table, table_file
from dperm.data.schema import TargetSchema
from dperm.data.schema_draft import draft
from dperm.errors import DataError

DECLARED = {"a": Numeric(0, 10), "b": Numeric(0, 10)}
KINDS = ["csv", "parquet", "feather", "ipc"]


def write(path, columns):
    """A table as a file of its kind, uncompressed."""
    table = pa.table(columns)
    if path.suffix == ".csv":
        rows = zip(*(map(str, column) for column in columns.values()), strict=True)
        path.write_text("\n".join(map(",".join, [columns, *rows])) + "\n")
    elif path.suffix == ".parquet":
        pq.write_table(table, path, compression="none", use_dictionary=False)
    elif path.suffix == ".ipc":
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table)
    else:
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    return path


@pytest.fixture(params=KINDS)
def path(request, tmp_path):
    return write(tmp_path / f"t.{request.param}", {"a": [1.0, 2.0], "b": [1.0, 2.0]})


def test_the_whole_content_is_watched_once(path):
    seen = bytearray()
    found = read_table(path, DECLARED, lambda share: None, seen.extend)
    assert seen == path.read_bytes() and found["b"].tolist() == [1.0, 2.0]


def test_small_pieces_of_a_file_are_watched_too(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BUFFER", 16)
    path, seen = write(tmp_path / "t.csv", {"a": list(range(99)), "b": list(range(99))}), bytearray()
    read_table(path, DECLARED, lambda share: None, seen.extend)
    assert seen == path.read_bytes()


def test_another_file_in_its_place_is_not_read(path):
    """Neither a column of it, nor all of it: what is read is what was opened, and watched."""
    other, before, seen = path.with_name(f"other{path.suffix}"), path.read_bytes(), bytearray()
    write(other, {"a": [8.0, 9.0], "b": [8.0, 9.0]})

    def replaced(block):
        seen.extend(block)
        if other.exists():
            os.replace(other, path)

    found = read_table(path, DECLARED, lambda share: None, replaced)
    assert {name: values.tolist() for name, values in found.items()} == {"a": [1.0, 2.0], "b": [1.0, 2.0]}
    assert seen == before != path.read_bytes()


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_change_while_it_is_read_is_noticed(tmp_path, kind):
    path = write(tmp_path / f"t.{kind}", {"a": [1.0, 2.0], "b": [1.0, 2.0]})

    def written(share):
        os.utime(path, ns=(1, 1))

    with pytest.raises(DataError, match="changed while it was read"):
        read_table(path, DECLARED, written)


def test_what_was_read_does_not_change_with_the_file(path):
    declared = {"a": Numeric(0, 10), "b": TargetSchema("b", range=(0, 10))}
    found = read_table(path, declared)
    changed = path.read_bytes().replace(struct.pack("<d", 1.0), struct.pack("<d", float("nan")))
    with open(path, "r+b") as file:
        file.write(changed)
    assert found["a"].tolist() == found["b"].tolist() == [1.0, 2.0]


# one line of names


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=["lf", "cr", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "marked"])
@pytest.mark.parametrize("before", [0, 2])
def test_the_header_is_the_first_line_whatever_ends_it(tmp_path, end, mark, before):
    path = tmp_path / "t.csv"
    path.write_text(mark + end.join([""] * before + ["a,b", "1,2", "3,4", ""]), encoding="utf-8", newline="")
    assert table_file(path).types() == {"a": "", "b": ""}
    assert read_table(path, DECLARED)["b"].tolist() == [2.0, 4.0]


@pytest.mark.parametrize("end", ["\n", "\r"], ids=["lf", "cr"])
def test_a_quote_that_stays_open_does_not_make_names_of_records(tmp_path, end):
    path = tmp_path / "t.csv"
    path.write_text(end.join(['a,"b', "secret,5'2\"", '3,"x"', ""]), newline="")
    for read in (table_file(path).types, lambda: read_table(path, DECLARED)):
        with pytest.raises(DataError, match="in the header, on its line") as caught:
            read()
        assert "secret" not in str(caught.value) and caught.value.__context__ is None


def test_nothing_below_the_header_is_decoded(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\nsecret\xff\0,2\n")
    assert table_file(path).types() == {"a": "", "b": ""}


@pytest.mark.parametrize("read", [lambda path: table_file(path).types(), lambda path: read_table(path, DECLARED)])
def test_a_file_without_line_ends_does_not_fill_the_memory(tmp_path, monkeypatch, read):
    monkeypatch.setattr(csv_files, "LONGEST_HEADER", 10_000)
    path = tmp_path / "t.csv"
    path.write_text("a," * 100_000)
    with pytest.raises(DataError, match="must be CSV"):
        read(path)


def test_names_of_columns_are_text(tmp_path):
    table = pa.table({"a": [1.0], "line\nbreak": [1.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    for read in (
        table_file(tmp_path / "t.parquet").types,
        lambda: read_table(tmp_path / "t.parquet", {"a": Numeric(0, 1)}),
    ):
        with pytest.raises(DataError, match="line break"):
            read()


# gaps


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_column_of_gaps_alone_is_read_as_whatever_is_declared(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    write(path, {"w": pa.nulls(2), "n": pa.nulls(2), "y": pa.nulls(2)})
    assert table_file(path).types() == {"w": "", "n": "", "y": ""}
    declared = {"w": Categorical(("a", "b"), impute="b"), "n": Numeric(0, 4, impute=4)}
    from dperm.data import PublicEncoder

    assert PublicEncoder(declared).transform(read_table(path, declared)).tolist() == [[0.0, 1.0, 1.0]] * 2
    for target in (TargetSchema("y", ("a", "b")), TargetSchema("y", range=(0, 1))):
        with pytest.raises(DataError, match="column 'y' must hold"):
            read_table(path, {"y": target})


def test_a_column_of_gaps_alone_is_drafted_as_unknown(tmp_path):
    path = write(tmp_path / "t.parquet", {"w": pa.nulls(2)})
    assert "# or a category:" in draft(table_file(path).types())


def test_an_empty_line_is_a_missing_value_where_there_is_one_column(tmp_path):
    path = Path(tmp_path / "t.csv")
    path.write_text("\nw\na\n\nb\n\n")
    assert read_table(path, {"w": Categorical(("a", "b"))})["w"].tolist() == ["a", None, "b", None]
    path.write_text("w,x\na,1\n\nb,2\n\n")
    assert read_table(path, {"w": Categorical(("a", "b"))})["w"].tolist() == ["a", "b"]
