# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Raw tables in files: each cell is read on its own, so one record changes no other one (T72)."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from dperm.data import arrow_files, csv_files
from dperm.data.canonical import canonical_columns
from dperm.data.files import read_raw_table, read_table
from dperm.data.schema import TargetSchema
from dperm.errors import DataError, ParameterError

BASES = {
    "integers": [1, 2, 3, 2**53 + 1],
    "doubles": [1.5, 2.0, 1e300, 0.1],
    "truth": [True, False, True, True],
    "words": ["a", " b ", "1", 'x,"y"\nz'],
    "days": list(pd.to_datetime(["2020-01-01", "2021-02-03", "1969-12-31", "2024-02-29"])),
    "times": list(map(pd.Timestamp, ["2020-01-01 10:00", "2021-02-03 00:00:01", "1969-12-31", "2024-02-29"])),
    "durations": list(pd.to_timedelta([1, 2, 3, 4], unit="h")),
}
ODD = [None, 0.5, "word", "", True, pd.Timestamp("2020-01-01 01:02:03.000004"), pd.Timestamp(5), float("inf"), 10**30]


def forms(column):
    """The canonical form of every cell."""
    codes, texts = column.values()
    return [None if code < 0 else texts[code] for code in codes]


def frame_forms(frame):
    return {name: forms(column) for name, column in zip(frame, canonical_columns(frame, frame), strict=True)}


def file_forms(path, names, **options):
    return {name: forms(column) for name, column in read_raw_table(path, names, **options).items()}


def written(frame, path, group=3):
    """A frame as a file of its kind, as pandas or pyarrow write it."""
    if ".csv" in path.name:
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=group)
    elif path.suffix == ".ipc":
        table = pa.Table.from_pandas(frame)
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=2)
    else:
        pyarrow.feather.write_feather(frame, path, chunksize=3)
    return path


@pytest.fixture(params=["csv", "csv.gz", "csv.zip", "parquet", "feather", "ipc"])
def kind(request, monkeypatch):
    monkeypatch.setattr(csv_files, "ROWS", 3)
    monkeypatch.setattr(arrow_files, "ROWS", 2)
    return request.param


def test_files_and_frames_agree(tmp_path, kind):
    """True is text in a CSV file, and pandas writes durations in a form of its own; all other cells agree."""
    frame = pd.DataFrame(BASES | {"gaps": [1, None, 3, None], "codes": pd.Categorical(["u", None, "v", "u"])})
    frame["small"] = np.array([1, 2, 3, 4], dtype=np.uint8)
    names = [name for name in frame if "csv" not in kind or name not in ("truth", "durations")]
    found = file_forms(written(frame, tmp_path / f"t.{kind}"), names)
    assert found == {name: column for name, column in frame_forms(frame).items() if name in names}
    assert found["integers"][:3] == ["1", "2", "3"] and found["gaps"] == ["1", None, "3", None]
    assert found["days"][0] == "2020-01-01" and found["times"][:2] == ["2020-01-01T10:00:00", "2021-02-03T00:00:01"]


@pytest.mark.parametrize("odd", ODD, ids=lambda cell: repr(cell)[:20])
def test_an_odd_record_changes_no_other_one(tmp_path, odd):
    """A neighbouring table of pandas, also where it has other column types, and as a CSV file."""
    base = pd.DataFrame(BASES)
    more = pd.DataFrame({name: pd.Series([*cells, odd], dtype=None) for name, cells in BASES.items()})
    alone = frame_forms(base)
    assert {name: column[:-1] for name, column in frame_forms(more).items()} == alone
    names = [name for name in base if name != "durations"]  # the format of pandas depends on the type of the column
    before = file_forms(written(base, tmp_path / "a.csv"), names)
    after = file_forms(written(more, tmp_path / "b.csv"), names)
    assert {name: column[:-1] for name, column in after.items()} == before


QUOTED = ['1,"abc', '1,abc"', '"1,abc', '1,a"b', '1,"a"b', '1,"a""', '1, "a"', '1,"', '1,"a","']


@pytest.mark.parametrize("odd", QUOTED)
@pytest.mark.parametrize("rest", ['2,"x"', "2,y", '2,","', '"2","u\n""v"""', '2,""'])
def test_an_open_quote_swallows_no_record(tmp_path, odd, rest):
    """Wherever the next quotes are, a record with a stray quote is refused and joins no other one."""
    path = tmp_path / "t.csv"
    for records in ([odd, rest, rest], [rest, odd, rest], [rest, rest, odd]):
        path.write_text("\n".join(["a,b", *records]) + "\n", newline="")
        for read in (
            lambda: read_raw_table(path, ["a", "b"]),
            lambda: read_table(path, {"b": TargetSchema("b", ("x", "y"))}),
        ):
            with pytest.raises(DataError, match=r"quote|as many cells") as caught:
                read()
            assert caught.value.__context__ is None
    path.write_text("a,b\n" + "\n".join([rest] * 3), newline="")
    assert len(read_raw_table(path, ["a"])["a"]) == 3


def test_a_record_of_any_characters_changes_no_other_one(tmp_path):
    """The file is refused, or the other records are read as without it, whatever stands between two line ends."""
    stream, path = np.random.default_rng(3), tmp_path / "t.csv"
    signs = list('"",;\n\r ab1\x85\u2028')
    whole = ["1,x", '2,","', '3,"\n"', '4,""', '"5","""q"""', '6,"y,"', '"7",', '8,"\r\n,"']
    accepted = 0
    for _ in range(250):
        records = [whole[place] for place in stream.permutation(len(whole))[:5]]
        place = int(stream.integers(6))
        odd = "".join(stream.choice(signs, size=stream.integers(0, 9)))
        path.write_text("a,b\n" + "".join(f"{one}\n" for one in records), newline="")
        before = file_forms(path, ["a", "b"])
        after = "".join(f"{one}\n" for one in [*records[:place], odd, *records[place:]])
        path.write_text(f"a,b\n{after}", newline="")
        try:
            found = file_forms(path, ["a", "b"])
        except DataError:
            continue
        accepted += 1
        more = len(found["a"]) - 5
        for name, cells in before.items():
            assert found[name][:place] + found[name][place + more :] == cells, after
    assert accepted > 5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n1,2,3\n", "as many cells"),
        (b"a,b\n1,\xff\n", "UTF-8"),
        (b"a,b\n1,2\n\0,2\n", "NUL"),
        (b"a,b\n", "no record"),
        (b"a,c\n1,2\n", "column named 'b'"),
        (b"a,b,b\n1,2,3\n", "once"),
    ],
)
def test_broken_files_are_refused_by_their_rule(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        read_raw_table(tmp_path / "t.csv", ["a", "b"])
    assert caught.value.__context__ is None


def test_odd_cells_of_arrow_types_do_not_raise(tmp_path):
    table = pa.table(
        {
            "list": pa.array([[1], None, [2, 3]]),
            "bytes": pa.array([b"x", None, b"\xff"]),
            "struct": pa.array([{"list": 1}, None, {"list": 2}]),
            "words": pa.array(["u", None, "u"]).dictionary_encode(),
            "numbers": pa.array([1, None, 1]).dictionary_encode(),
            "decimal": pa.array(["1.10", None, "2.00"]).cast(pa.decimal128(10, 2)),
            "day": pa.array([0, None, 1], type=pa.date32()),
            "none": pa.nulls(3),
        }
    )
    for path in (tmp_path / "t.parquet", tmp_path / "t.arrow"):
        if path.suffix == ".parquet":
            pq.write_table(table, path)
        else:
            pyarrow.feather.write_feather(table, path)
        found = file_forms(path, table.column_names)
        assert found["list"] == found["bytes"] == found["struct"] == found["none"] == [None] * 3
        assert found["words"] == ["u", None, "u"] and found["numbers"] == ["1", None, "1"]
        assert found["decimal"] == ["1.1", None, "2"] and found["day"] == ["1970-01-01", None, "1970-01-02"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_is_near_that_of_the_result(tmp_path, monkeypatch, kind):
    """Twelve bytes for each cell, eight for the column that is joined, and the records in memory as text."""
    monkeypatch.setattr(csv_files, "ROWS", 500)
    monkeypatch.setattr(csv_files, "BUFFER", 2**14)
    monkeypatch.setattr(arrow_files, "ROWS", 500)
    rows = 30_000
    place = np.arange(rows)
    words = [f"{place % 50} words" for place in range(rows)]
    frame = pd.DataFrame({"words": words, "whole": place, "double": place / 7})
    path = written(frame, tmp_path / f"t.{kind}", rows)
    read_raw_table(path, ["words"])  # imports
    tracemalloc.start()
    try:
        found = read_raw_table(path, list(frame))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found["words"].texts) == 50 and found["double"].numbers.tolist() == frame["double"].tolist()
    assert peak < (12 * 3 + 8) * rows + 500_000


def test_separators(tmp_path):
    path = tmp_path / "t.csv"
    for separator, sign in ((",", ","), (";", ";"), ("|", "|"), ("tab", "\t"), ("\t", "\t"), (r"\t", "\t")):
        path.write_text(f'a{sign}b\n1{sign}"x{sign}y"\n')
        assert file_forms(path, ["a", "b"], separator=separator) == {"a": ["1"], "b": [f"x{sign}y"]}
        wrong = ";" if sign != ";" else ","
        with pytest.raises(DataError, match="separator"):
            read_raw_table(path, ["a", "b"], separator=wrong)
    with pytest.raises(ParameterError, match="separator must be"):
        read_raw_table(path, ["a"], separator="::")
    path.write_text("a;b\n1\n")
    assert file_forms(path, ["a;b"]) == {"a;b": ["1"]}
