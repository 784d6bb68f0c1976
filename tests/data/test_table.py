# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of any size: the same rows from every kind of source, in bounded memory; refusals say nothing of a cell."""

import gzip
import json
import math
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from dperm.checks import memory_size
from dperm.data import Categorical, Numeric, csv_files, file_groups, group_cells, row_groups, table
from dperm.data.files import read_table
from dperm.data.memory_groups import MatrixGroup
from dperm.data.row_groups import RowGroups, numeric_matrix_of, pieces_of
from dperm.data.schema import TargetSchema
from dperm.errors import DataError, ParameterError

ROWS = 23
RNG = np.random.default_rng(5)
AGE = [None if place % 5 == 2 else float(place) / 4 for place in range(ROWS)]
COUNT = list(range(ROWS))
FLAG = [place % 3 == 0 for place in range(ROWS)]
WORK = [("a", "b,c", None, "d")[place % 4] for place in range(ROWS)]
DATA = {"age": AGE, "count": COUNT, "flag": FLAG, "work": WORK}
TYPES = pa.schema([("age", pa.float32()), ("count", pa.int16()), ("flag", pa.bool_()), ("work", pa.string())])
ARROW = pa.table(DATA, schema=TYPES)
NUMBERS = np.column_stack([[math.nan if age is None else age for age in AGE], COUNT, FLAG])
NAMES = ("age", "count", "flag")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces and blocks of a few rows, so that every source has several of them."""
    monkeypatch.setattr(row_groups, "PIECE_ROWS", 3)
    monkeypatch.setattr(csv_files, "ROWS", 4)
    monkeypatch.setattr(group_cells, "HEIGHT", 2)
    monkeypatch.setattr(file_groups, "BLOCK_ROWS", 7)
    monkeypatch.setattr("dperm.data.memory_groups.BLOCK_ROWS", 7)


def csv_text():
    rows = zip(AGE, COUNT, FLAG, WORK, strict=True)
    cells = [("NA" if age is None else age, count, str(flag).lower(), work or "") for age, count, flag, work in rows]
    return "\n".join(["age,count,flag,work", *(f'{a},{c},{f},"{w}"' for a, c, f, w in cells)]) + "\n"


def parquet(folder, rows=5):
    pq.write_table(ARROW, folder / "t.parquet", row_group_size=rows)
    return folder / "t.parquet"


def arrow_file(folder, rows=5):
    with pa.OSFile(str(folder / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, TYPES) as writer:
        writer.write_table(ARROW, max_chunksize=rows)
    return folder / "t.arrow"


def arrow_stream(folder):
    with pa.OSFile(str(folder / "t.ipc"), "wb") as sink, pa.ipc.new_stream(sink, TYPES) as writer:
        writer.write_table(ARROW, max_chunksize=5)
    return folder / "t.ipc"


def feather(folder):
    pa.feather.write_feather(ARROW, folder / "t.feather", compression="zstd", chunksize=4)
    return folder / "t.feather"


def dictionary(folder):
    place = ARROW.schema.get_field_index("work")
    coded = ARROW.set_column(place, "work", ARROW.column("work").dictionary_encode())
    pq.write_table(coded, folder / "d.parquet", row_group_size=6)
    return folder / "d.parquet"


def csv(folder):
    (folder / "t.csv").write_text(csv_text())
    return folder / "t.csv"


def csv_gz(folder):
    (folder / "t.csv.gz").write_bytes(gzip.compress(csv_text().encode()))
    return folder / "t.csv.gz"


def several_files(folder):
    for place, start in enumerate(range(0, ROWS, 9)):
        pq.write_table(ARROW.slice(start, 9).select(TYPES.names[:: 1 - 2 * (place % 2)]), folder / f"{place}.parquet")
    return str(folder / "*.parquet")


SOURCES = {
    "parquet": parquet,
    "one row group": lambda folder: parquet(folder, ROWS),
    "arrow": arrow_file,
    "many batches": lambda folder: arrow_file(folder, 1),
    "stream": arrow_stream,
    "feather": feather,
    "dictionary": dictionary,
    "csv": csv,
    "csv.gz": csv_gz,
    "several files": several_files,
    "arrow table": lambda folder: ARROW,
    "batch": lambda folder: ARROW.to_batches()[0],
    "pandas": lambda folder: ARROW.to_pandas(),
    "nullable pandas": lambda folder: pd.DataFrame(DATA).astype(
        {"age": "Float32", "count": "Int16", "flag": "boolean"}
    ),
    "polars": lambda folder: pl.DataFrame(DATA),
    "mapping": lambda folder: {**DATA, "count": np.array(COUNT)},
}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    return SOURCES[request.param](tmp_path)


def as_list(values):
    return [None if value is None or value != value else value for value in np.asarray(values).tolist()]


def in_order(columns):
    """Return the cells of the pieces of a column, with None for missing ones."""
    return [cell for column in columns for cell in as_list(column)]


def cells_of(groups, name):
    return in_order(group.read([name])[name] for group in groups)


def test_every_source_has_the_same_rows(source, monkeypatch):
    monkeypatch.setattr(file_groups, "MOST_BATCH_GROUPS", 4)
    found = table(source)
    assert isinstance(found, RowGroups)
    assert found.columns == ("age", "count", "flag", "work")
    assert {name: cells_of(found.groups, name) for name in DATA} == DATA
    whole = [numeric_matrix_of(group, NAMES) for group in found.groups]
    np.testing.assert_array_equal(np.concatenate(whole), NUMBERS)
    pieces = [piece for group in found.groups for piece in pieces_of(group, NAMES[::-1], {"work": None, "age": None})]
    assert all(0 < len(piece.numbers) <= 4 for piece in pieces)
    np.testing.assert_array_equal(np.concatenate([piece.numbers for piece in pieces]), NUMBERS[:, ::-1])
    assert in_order(piece.columns["work"] for piece in pieces) == WORK
    assert in_order(piece.columns["age"] for piece in pieces) == AGE


@pytest.mark.parametrize("kind", ["array", "memmap", "npy", "by column", "big-endian", "integers"])
def test_every_matrix_has_the_same_rows(kind, tmp_path):
    X = RNG.integers(-9, 9, (ROWS, 3)).astype("i4" if kind == "integers" else "f4")
    path = tmp_path / "X.npy"
    np.save(path, np.asfortranarray(X) if kind == "by column" else X.astype(">f4") if kind == "big-endian" else X)
    found = table({"array": X, "memmap": np.load(path, mmap_mode="r")}.get(kind, path))
    assert found.columns == ("x0", "x1", "x2") and len(found.groups) == 4
    for columns in ([0, 1, 2], [2, 0]):
        names = [f"x{place}" for place in columns]
        whole = [numeric_matrix_of(group, names) for group in found.groups]
        np.testing.assert_array_equal(np.concatenate(whole), X[:, columns])
        pieces = [piece.numbers for group in found.groups for piece in pieces_of(group, names, {"x1": None})]
        assert all(len(piece) <= 3 for piece in pieces)
        assert {piece.dtype for piece in pieces} == {np.dtype("f8" if kind == "integers" else "f4")}
        np.testing.assert_array_equal(np.concatenate(pieces), X[:, columns])
    assert cells_of(found.groups, "x1") == X[:, 1].tolist()


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "csv.gz"])
def test_declared_columns_are_those_of_a_fit(kind, tmp_path):
    path = SOURCES[kind](tmp_path)
    declared = {
        "age": Numeric(0, 5, impute=1),
        "work": Categorical(["a", "d"], other=True),
        "flag": TargetSchema("flag", classes=(0, 1)),
        "count": TargetSchema("count", range=(0, 9)),
    }
    expected = read_table(path, declared)
    found = [piece.columns for group in table(path).groups for piece in pieces_of(group, (), declared)]
    for name in declared:
        assert in_order(columns[name] for columns in found) == as_list(expected[name])
    with pytest.raises(DataError, match="column 'work' must hold") as error:
        list(pieces_of(table(path).groups[0], (), {"work": TargetSchema("work", classes=("a", "b"))}))
    assert "in row group 't." in str(error.value)


def test_precision_is_that_of_the_types_not_of_the_values():
    single = pa.table({"a": pa.array([1.5, None], pa.float32()), "b": pa.array([1, 2], pa.int16())})
    assert numeric_matrix_of(table(single).groups[0], ["a", "b"]).dtype == np.float32
    large = single.append_column("c", pa.array([2**31 + 1, 1]))
    assert numeric_matrix_of(table(large).groups[0], ["a", "c"]).tolist()[0] == [1.5, 2.0**31 + 1]


def test_numbers_and_text_of_one_csv_column_are_read_cell_by_cell(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\nNA,a\n2.5,a\n3,a\n,a\ntwo,a\n1,a\nnan,a\n")
    (group,) = table(tmp_path / "t.csv").groups
    assert group.read(["x"])["x"].tolist() == [1.0, None, 2.5, 3.0, None, "two", 1.0, None]


def test_a_row_group_without_pieces_is_read_as_a_whole():
    class Plain:
        id = "part 1"

        def read(self, columns):
            return {name: {"a": np.array([1, 2]), "b": ["x", None]}[name] for name in columns}

    (piece,) = pieces_of(Plain(), ["a"], {"b": None})
    assert piece.numbers.tolist() == [[1.0], [2.0]] and piece.columns["b"].tolist() == ["x", None]
    assert numeric_matrix_of(Plain(), ["a", "a"]).tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_ids_are_names_of_files_without_folders(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        parquet(tmp_path / folder, 20)
    found = table([tmp_path / "one" / "t.parquet", tmp_path / "two" / "t.parquet"])
    ids = [group.id for group in found.groups]
    assert ids == [f"t.parquet{twice}, row group {number}" for twice in ("", " (2)") for number in (0, 1)]
    assert [group.id for group in table(arrow_file(tmp_path, 20)).groups] == [
        "t.arrow, record batch 0",
        "t.arrow, record batch 1",
    ]
    assert [group.id for group in table(csv(tmp_path)).groups] == ["t.csv"]


def test_row_groups_are_pickled_without_rows_of_the_file(tmp_path):
    for source in (parquet(tmp_path), arrow_file(tmp_path), csv(tmp_path), np.save(tmp_path / "X.npy", NUMBERS)):
        for group in table(source or tmp_path / "X.npy").groups:
            copy = pickle.loads(pickle.dumps(group))
            name = "age" if source else "x0"
            assert as_list(copy.read([name])[name]) == as_list(group.read([name])[name])
            assert len(pickle.dumps(group)) < 1000
    (group, *_) = table(np.zeros((10**4, 8))).groups
    assert len(pickle.dumps(group)) < 1000  # the rows of one block only


def empty_parquet(path, groups):
    with pq.ParquetWriter(path, TYPES) as writer:
        for _ in range(groups):
            writer.write_table(ARROW.slice(0, 0))
    return path


@pytest.mark.parametrize("kind", ["no row group", "no row", "batch", "no batch", "stream", "csv", "npy", "frame"])
def test_sources_may_have_no_rows(kind, tmp_path):
    none = ARROW.slice(0, 0)
    if kind in ("batch", "no batch", "stream"):
        path = tmp_path / "t.arrow"
        open_writer = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, open_writer(sink, TYPES) as writer:
            if kind == "batch":
                writer.write_batch(pa.RecordBatch.from_pylist([], schema=TYPES))
    else:
        path = {
            "no row group": lambda: empty_parquet(tmp_path / "t.parquet", 0),
            "no row": lambda: empty_parquet(tmp_path / "t.parquet", 2),
            "csv": lambda: (tmp_path / "t.csv").write_text("age,count,flag,work\n") and tmp_path / "t.csv",
            "npy": lambda: np.save(tmp_path / "t.npy", np.empty((0, 4))) or tmp_path / "t.npy",
            "frame": lambda: none,
        }[kind]()
    found = table(path)
    assert found.groups
    names = found.columns[:3]
    for group in found.groups:
        assert numeric_matrix_of(group, names).shape == (0, 3)
        assert [len(values) for values in group.read(found.columns).values()] == [0] * 4
        assert sum(len(piece.numbers) for piece in pieces_of(group, names)) == 0


def test_empty_files_stand_beside_full_ones(tmp_path):
    empty_parquet(tmp_path / "0.parquet", 0)
    (tmp_path / "9.csv").write_text("age,count,flag,work\n")
    found = table([tmp_path / "0.parquet", parquet(tmp_path), tmp_path / "9.csv"])
    assert cells_of(found.groups, "count") == COUNT


def test_a_file_that_was_replaced_is_refused(tmp_path):
    for write in (parquet, arrow_file, csv):
        path = write(tmp_path)
        group = table(path).groups[-1]
        group.read(["age"])
        os.utime(path, ns=(1, 1))
        with pytest.raises(DataError, match=r"row group '.*' has changed"):
            group.read(["age"])
        path.unlink()
        with pytest.raises(DataError, match=r"row group '.*' has changed"):
            group.matrix(["age"])


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = csv(tmp_path)
    pieces = pieces_of(table(path).groups[0], ["age"])
    next(pieces)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match=r"row group 't\.csv' has changed"):
        list(pieces)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("a.parquet", "b.parquet"), "b.parquet lacks column 'y' of a.parquet."),
        (("b.parquet", "a.parquet"), "b.parquet lacks column 'y' of a.parquet."),
        (("a.parquet", "c.csv"), "c.csv lacks column 'x' of a.parquet."),
        (("c.csv", "a.parquet"), "a.parquet lacks column 1 of c.csv."),
        (("c.csv", "d.csv"), "d.csv lacks column 1 of c.csv."),
        (("a.parquet", "t.parquet"), "column 'y' of t.parquet must be of the same kind in all files"),
    ],
)
def test_files_of_different_columns_are_refused(files, words, tmp_path):
    pq.write_table(pa.table({"x": [1], "y": [2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"x": [True], "y": ["2"]}), tmp_path / "t.parquet")
    (tmp_path / "c.csv").write_text("31415,y\n1,2\n")  # its header may be a record
    (tmp_path / "d.csv").write_text("y,z\n1,2\n")
    with pytest.raises(DataError) as error:
        table([tmp_path / name for name in files])
    assert str(error.value).startswith(words)
    assert "31415" not in str(error.value)
    assert ("columns=[...]" in str(error.value)) == ("lacks" in words)


def test_a_wrong_name_lists_the_first_columns():
    with pytest.raises(ParameterError, match=r"got 'y'\. The table has the columns 'x0', .*, 'x11' and 8 more\.$"):
        table(np.zeros((2, 20))).select(["x3", "y"])


def test_files_are_found_once(tmp_path):
    path = parquet(tmp_path)
    os.link(path, tmp_path / "u.parquet")
    for twice in ([path, path], str(tmp_path / "*.parquet")):
        with pytest.raises(ParameterError, match="source must name each file once"):
            table(twice)


def test_a_format_is_named_for_files_without_a_suffix(tmp_path):
    for write, format in ((parquet, "parquet"), (arrow_file, "arrow"), (csv, "csv")):
        os.rename(write(tmp_path), tmp_path / "part-0")
        assert cells_of(table(tmp_path / "part-0", format=format).groups, "count") == COUNT
        with pytest.raises(ParameterError, match=r"part-0 must end in \.parquet"):
            table(tmp_path / "part-0")
    (tmp_path / "s.csv").write_text(csv_text().replace('"b,c"', "bc").replace(",", ";"))
    assert cells_of(table(tmp_path / "s.csv", separator=";").groups, "count") == COUNT


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("none-*.parquet", {}, "source must name at least one file, got 'none-*.parquet'."),
        ("none.csv", {}, "source must name at least one file"),
        (".", {}, "source must name files, got the folder '.'."),
        ([], {}, "source must name at least one file, got an empty list."),
        ([[31415, 2], [3, 4]], {}, "source must be a path"),
        (31415.0, {}, "source must be a path"),
        (None, {}, "source must be a path"),
        (np.zeros((2, 0)), {}, "source must have at least one column."),
        ("t.parquet", {"format": "xml"}, "format must be one of parquet, arrow, csv, npy"),
        ("t.parquet", {"memory": "1 pound"}, "memory must be a number of bytes"),
        ("t.parquet", {"engine": "spark"}, "engine must be 'serial' or 'threads'"),
        (
            "t.parquet",
            {"engine": "dask"},
            "engine must be 'serial' or 'threads', or an engine object, got 'dask'. Pass",
        ),
        ("t.parquet", {"engine": 3}, 'engine must be "serial", "threads" or an object'),
        ("t.parquet", {"scratch": "no/such/folder"}, "scratch must be an existing folder"),
    ],
)
def test_invalid_arguments_are_refused(source, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(parquet(tmp_path).parent)
    with pytest.raises(ParameterError) as error:
        table(source, **options)
    assert str(error.value).startswith(words)
    assert isinstance(source, float) or "31415" not in str(error.value)


def test_lazy_tables_are_refused(tmp_path):
    dask = type("DataFrame", (), {"__module__": "dask.dataframe", "iloc": 0, "itertuples": lambda self: None})()
    for lazy in (dask, pl.LazyFrame(DATA)):
        with pytest.raises(ParameterError, match="source must be"):
            table(lazy)


def damaged_parquet(folder):
    path = parquet(folder)
    content = bytearray(path.read_bytes())
    content[4:200] = b"secret 31415 " * 15 + b"!"
    path.write_bytes(bytes(content))
    return path


def text_in_csv(folder):
    (folder / "t.csv").write_text("age,work\n1,a\nsecret 31415,b\n")
    return folder / "t.csv"


def torn_csv(folder):
    (folder / "t.csv").write_text('age,work\n1,a\n2,"secret 31415"x\n')
    return folder / "t.csv"


def text_in_parquet(folder):
    pq.write_table(pa.table({"age": ["1", "secret 31415"]}), folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize(
    "source",
    [
        damaged_parquet,
        text_in_csv,
        torn_csv,
        text_in_parquet,
        lambda folder: pd.DataFrame({"age": [1.0, "secret 31415"]}),
        lambda folder: pd.DataFrame({"age": [1.0, type("Odd", (), {"__float__": lambda self: 1 / 0})()]}),
        lambda folder: {"age": np.array(["secret 31415"])},
    ],
)
def test_errors_name_the_row_group_and_no_cell(source, tmp_path):
    found = table(source(tmp_path))
    with pytest.raises(DataError) as error:
        for group in found.groups:
            group.matrix(["age"])
    assert any(repr(group.id) in str(error.value) for group in found.groups)
    seen = "".join(traceback.format_exception(error.value))
    assert "31415" not in seen and error.value.__cause__ is None
    assert not isinstance(error.value.__context__, Exception) or isinstance(error.value.__context__, DataError)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npy", ".csv"])
def test_a_damaged_file_is_refused_at_once(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(b"\x93NUMPY secret 31415\0" * 3)
    with pytest.raises(DataError) as error:
        table(path)
    assert "31415" not in str(error.value) and error.value.__context__ is None


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((2, 2), complex), np.array([["a"]]), np.array([[None]])]
)
def test_npy_files_hold_matrices_of_numbers(array, tmp_path):
    np.save(tmp_path / "X.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=r"must be a \.npy file of numbers with two dimensions"):
        table(tmp_path / "X.npy")
    np.save(tmp_path / "Y.npy", np.zeros((4, 4)))
    os.truncate(tmp_path / "Y.npy", 200)
    with pytest.raises(DataError, match=r"must be a \.npy file"):
        table(tmp_path / "Y.npy")


def test_the_text_of_a_table_does_not_depend_on_its_rows(tmp_path):
    assert repr(table(parquet(tmp_path))) == "Table(4 columns, engine='threads')"
    assert repr(table(np.zeros((50, 2)))) == repr(table(np.zeros((1, 2))))
    np.save(tmp_path / "X.npy", np.full((5, 2), 31415.0))
    groups = [
        group for source in (tmp_path / "X.npy", np.full((5, 2), 31415.0), ARROW) for group in table(source).groups
    ]
    shown = " ".join(map(repr, groups))
    assert "31415" not in shown and "b,c" not in shown and "5" not in shown.replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("value", "size"),
    [(0, 0), (np.int64(7), 7), ("12", 12), ("500MB", 5 * 10**8), ("1.5 kib", 1536), (" 2GB ", 2 * 10**9)],
)
def test_sizes_of_memory_are_read(value, size):
    assert memory_size("memory", value) == size


@pytest.mark.parametrize("value", [-1, 1.5, True, "", "GB", "-1GB", "1e9", "1_0", "9999999TB", "1 MBit", None, "nan"])
def test_other_sizes_are_refused(value):
    with pytest.raises(
        ParameterError, match='memory must be a number of bytes from 0 to 2\\^53, or text such as "500MB"'
    ):
        memory_size("memory", value)


MEMORY = r"""
import json, re, sys
from pathlib import Path
from dperm.data import table
from dperm.data.row_groups import pieces_of
def largest(path):
    found = table(path, engine="serial")
    for group in found.groups:
        for piece in pieces_of(group, found.columns):
            pass
    return int(re.search(r"VmHWM:\s*([0-9]+) kB", Path("/proc/self/status").read_text())[1])
print(json.dumps([largest(path) for path in sys.argv[1:]]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the largest memory is read from Linux's files")
@pytest.mark.parametrize("suffix", ["parquet", "npy"])
def test_memory_does_not_grow_with_the_rows(suffix, tmp_path):
    sizes = {"small": 2**17, "large": 2**20}  # 4 and 32 MB of numbers in one row group
    for name, rows in sizes.items():
        X = np.arange(rows * 8, dtype=np.float32).reshape(rows, 8)
        if suffix == "npy":
            np.save(tmp_path / f"{name}.npy", X)
        else:
            columns = {f"x{place}": values for place, values in enumerate(X.T.copy())}
            pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", compression="none", use_dictionary=False)
    paths = [str(tmp_path / f"{name}.{suffix}") for name in sizes]
    done = subprocess.run([sys.executable, "-c", MEMORY, *paths], capture_output=True, text=True, check=True)
    small, large = json.loads(done.stdout)
    assert large - small < 12 * 2**10  # kB


def row_groups_are_distinct(module) -> None:
    groups = tuple(MatrixGroup(name, np.zeros((2, 1)), ("a",)) for name in ("one", "two"))
    assert module.RowGroups(groups, ("a",)).groups == groups
    for wrong, words in (((), "at least one row group"), (groups[:1] * 2, "distinct ids")):
        try:
            module.RowGroups(wrong, ("a",))
        except ParameterError as error:
            assert words in str(error)
        else:
            raise AssertionError(words)


@pytest.mark.parametrize(
    "old", ["if not self.groups:", "if len({group.id for group in self.groups}) < len(self.groups):"]
)
def test_row_groups_of_one_name_would_replace_each_other(assert_killed, old):
    assert_killed(row_groups_are_distinct, "dperm.data.row_groups", old, "if False:")
