# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit`` on row groups: the same model for every cut, engine and memory; several files; no cell in a message."""

import csv
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from people_tables import HEADER, people, write_csv

from dperm.cli import running
from dperm.cli.fit_request import IN_MEMORY
from dperm.cli.table_reading import TableReading, data_files, opened_table
from dperm.data import local_engines, row_groups
from dperm.errors import ParameterError
from dperm.sklearn.files import load_stored

MODEL = "--epsilon 1 --schema schema.toml"
SEEDED = f"{MODEL} --seed 3 --not-private --force"
ROWS = people(1500)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces of a few rows, so that every file has several of them."""
    monkeypatch.setattr(row_groups, "PIECE_ROWS", 100)


@pytest.fixture
def tables(desk):
    """The records of data.csv as files of other kinds, and in three files of different sizes."""
    columns = {name: [row[place] for row in ROWS] for place, name in enumerate(HEADER)}
    for name in ("age", "hours", "pay"):
        columns[name] = [float(cell) if cell else None for cell in columns[name]]
    whole = pa.table(columns)
    pq.write_table(whole, "whole.parquet", row_group_size=1500)
    pq.write_table(whole, "cut.parquet", row_group_size=400)
    for place, (start, stop) in enumerate([(0, 700), (700, 700), (700, 1500)]):
        pq.write_table(whole.slice(start, stop - start), f"part-{place}.parquet", row_group_size=300)
        write_csv(Path(f"part-{place}.csv"), ROWS[start:stop])
    Path("strict.toml").write_text(Path("schema.toml").read_text().replace('impute = "unknown"\nother = true', ""))
    return desk


def coefficients(ends, line):
    ends(0, f"fit {line} {SEEDED}")
    return load_stored("model.dperm").estimator.coef_.tolist()


@pytest.fixture
def expected(tables, ends):
    return coefficients(ends, "data.csv")


OTHERS = [
    "whole.parquet",
    "cut.parquet",
    "'part-*.parquet'",
    "part-0.csv part-1.csv part-2.csv",
    "part-0.csv part-2.parquet",
    "cut.parquet --engine serial",
    "cut.parquet --memory 1MB --scratch .",
    "cut.parquet --memory 1",
    "cut.parquet --n 1500",
]


@pytest.mark.parametrize("line", OTHERS)
def test_the_model_does_not_depend_on_the_files_the_engine_and_the_memory(expected, ends, line):
    assert coefficients(ends, line) == expected


def test_rows_beyond_the_memory_go_to_the_scratch_folder(expected, ends, monkeypatch):
    written = []
    add = local_engines.ScratchWriter.add
    monkeypatch.setattr(local_engines.ScratchWriter, "add", lambda self, rows: (written.append(1), add(self, rows)))
    assert coefficients(ends, "cut.parquet --memory 1 --scratch .") == expected
    assert written and not [path for path in Path().iterdir() if path.name.startswith(".")]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_workers_of_a_cluster_read_the_files_themselves(expected, ends, answered):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
        dask = f"--engine dask --scheduler {cluster.scheduler_address}"
        assert coefficients(ends, f"'part-*.parquet' {dask}") == expected
        ends(0, f"fit cut.parquet {MODEL} {dask} --out private.dperm")
    found = load_stored("private.dperm").estimator.statement_
    assert found["mechanism"]["engine"]["name"] == "dask" and "All workers" in found["trust_model"]


def test_workers_receive_absolute_paths(tables):
    reading = TableReading("dask", scheduler="tcp://scheduler:8786")
    found = opened_table([Path("cut.parquet")], ["age"], separator=",", reading=reading)
    assert {group.path for group in found.groups} == {tables / "cut.parquet"} and found.columns == ("age",)


def test_a_released_schema_is_named_in_the_statement_as_for_a_table_in_memory(desk, ends, monkeypatch):
    from dperm.cli.fit_request import FitRequest

    ends(0, "schema fit data.csv --target income --epsilon 20 --exclude name -o found.toml")
    line = "fit data.csv --target income --epsilon 1 --schema found.toml --invalid drop --seed 3 --not-private"
    ends(0, f"{line} --out groups.dperm")
    monkeypatch.setattr(FitRequest, "_is_read_at_once", lambda self, files: True)
    ends(0, f"{line} --out memory.dperm")
    one, other = (load_stored(f"{name}.dperm").estimator for name in ("groups", "memory"))
    assert (one.coef_ == other.coef_).all()
    public = [{**model._fitted.public, "engine": None} for model in (one, other)]
    assert public[0] == public[1] and public[0]["encoders"][0]["guarantee"]


@pytest.mark.parametrize(("target", "more"), [("schema", ""), ("pay", ""), ("pay", "--estimator huber")])
def test_records_outside_the_schema_are_treated_as_in_memory(tables, ends, monkeypatch, target, more):
    """Also labels: invalid ones have weight 0."""
    from dperm.cli.fit_request import FitRequest

    rows = [list(row) for row in ROWS]
    for place, column, cell in [(10, 2, "many"), (20, 1, "SECRET"), (30, 3, "SECRET"), (40, 4, ""), (50, 0, "inf")]:
        rows[place][column] = cell
    write_csv(Path("odd.csv"), rows)
    text = Path(f"{target}.toml").read_text().replace('impute = "unknown"\nother = true', "")
    Path("odd.toml").write_text(text)
    line = f"fit odd.csv --epsilon 1 --schema odd.toml --invalid drop --seed 3 --not-private {more}"
    ends(0, f"{line} --out groups.dperm")
    monkeypatch.setattr(FitRequest, "_is_read_at_once", lambda self, files: True)
    ends(0, f"{line} --out memory.dperm")
    one, other = (load_stored(f"{name}.dperm").estimator for name in ("groups", "memory"))
    assert one.coef_.tolist() == other.coef_.tolist() and one.intercept_ == other.intercept_


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_bad_cell_is_named_by_its_file_column_and_rule(tables, ends, kind):
    rows = [list(row) for row in ROWS[:50]]
    rows[47][1] = "SECRET-17"
    write_csv(Path("bad.csv"), rows)
    columns = {"age": [40.0] * 50, "work": [row[1] for row in rows], "hours": [5.0] * 50, "income": ["<=50K"] * 50}
    pq.write_table(pa.table(columns), "bad.parquet", row_group_size=40)
    said = ends(2, f"fit part-0.{kind} bad.{kind} --epsilon 1 --schema strict.toml").stderr
    assert "column 'work'" in said and "17" not in said and "47" not in said
    assert "in row group 'part-0." in said  # the first one in the order of the table: empty cells
    filled = Path("strict.toml").read_text().replace("[columns.work]", '[columns.work]\nimpute = "self"')
    Path("filled.toml").write_text(filled.replace('"public",', '"public", "ship\'s cook",'))
    said = ends(2, f"fit part-2.{kind} bad.{kind} --epsilon 1 --schema filled.toml").stderr
    assert "column 'work' has a value outside its declared categories" in said
    assert f"in row group 'bad.{kind}" in said and "declare other = true" in said
    assert not Path("model.dperm").exists()


def test_a_file_without_a_declared_column_is_named(tables, ends):
    with open("narrow.csv", "w", newline="") as file:
        csv.writer(file).writerows([["age", "work", "income"], ["40", "self", "SECRET"]])
    said = ends(2, f"fit part-0.csv narrow.csv {MODEL}").stderr
    assert "narrow.csv must have a column named 'hours'" in said


def test_files_may_differ_in_columns_that_the_schema_leaves_out(tables, ends, expected):
    write_csv(Path("part-2.csv"), [row[:5] for row in ROWS[700:]], HEADER[:5])
    assert coefficients(ends, "part-0.csv part-2.csv") == expected


REFUSED = [
    ("data.csv --engine spark", ["--engine must be one of serial, threads, dask"]),
    ("data.csv --scheduler tcp://a:1", ["--scheduler belongs to --engine dask"]),
    ("data.csv --engine threads --scheduler tcp://a:1", ["--scheduler belongs to --engine dask"]),
    ("data.csv --engine dask", ["--engine dask needs", "--scheduler tcp://"]),
    ("data.csv --engine dask --scheduler tcp://a:1 --memory 1GB", ["--memory cannot be combined with --engine dask"]),
    ("data.csv --engine dask --scheduler nonsense:", ["--scheduler must be an address like tcp://host:8786"]),
    ("data.csv --engine dask --scheduler localhost", ["--scheduler must be an address like tcp://host:8786"]),
    ("data.csv --memory plenty", ["--memory must be"]),
    ("data.csv --scratch nowhere", ["--scratch must be an existing folder", "got 'nowhere'"]),
    (".", ["DATA must name files, and . is a folder", "'*.parquet'"]),
    ("'none-*.csv'", ["no file matches 'none-*.csv'"]),
    ("part-0.csv gone.csv", ["gone.csv", "No such file"]),
    ("part-0.csv part-0.csv", ["DATA must name each file once"]),
    ("part-0.csv ./part-0.csv", ["DATA must name each file once"]),
    ("part-1.csv", ["part-1.csv must hold at least one record"]),
    ("part-1.csv part-1.parquet", ["all files have a header and no record"]),
    ("'part-*.csv' --holdout 0.1", ["--holdout reads one DATA file"]),
    ("'part-*.csv' --prepare", ["--prepare reads one DATA file"]),
    ("'part-*.csv' --method bolt_on", ["--method bolt_on reads one DATA file", "such as --method objective"]),
    ("'part-*.csv' --diagnose", ["--diagnose reads one DATA file"]),
    ("data.csv --memory 1GB --holdout 0.1", ["--memory cannot be combined with --holdout"]),
    ("data.csv --engine serial --prepare", ["--engine cannot be combined with --prepare"]),
    ("data.csv --engine serial --method posterior", ["--engine cannot be combined with --method posterior"]),
    ("data.csv --out part-0.csv part-0.csv", ["--out", "input files"]),
]


@pytest.mark.parametrize(("line", "words"), REFUSED, ids=range(len(REFUSED)))
def test_a_bad_request_is_refused_and_nothing_is_written(tables, ends, line, words):
    said = ends(2, f"fit {line} {MODEL} {'--force' if '--out' in line else ''}").stderr
    assert all(word in said for word in words), said
    assert not Path("model.dperm").exists()


def test_methods_in_memory_are_those_that_say_so(desk, ends):
    from dperm import ApproxDP
    from dperm.erm.losses import Logistic
    from dperm.erm.spec import ProblemSpec
    from dperm.methods.choose import NAMES, choose

    spec, goal = ProblemSpec(Logistic(), radius=1.0, dim=2, n=1000), ApproxDP(1.0, 1e-6, "replace_one")
    names = [name for name in NAMES if name not in ("auto", "sufficient")]  # the latter is for the squared loss
    planned = {name: choose(spec, goal, name) for name in names}
    assert {name for name, plan in planned.items() if plan.rows_in_memory} == set(IN_MEMORY)
    ends(0, f"fit data.csv {MODEL} --method bolt_on")


def test_a_pipe_is_read_once_and_one_of_several_files_is_no_pipe(desk, ends):
    from threading import Thread

    os.mkfifo("pipe.csv")
    Thread(target=lambda: Path("pipe.csv").write_bytes(Path("data.csv").read_bytes())).start()
    ends(0, f"fit pipe.csv {MODEL}")
    assert "pipe.csv must be a regular file" in ends(2, f"fit pipe.csv data.csv {MODEL} --out b.dperm").stderr


LEDGER = f"{MODEL} --ledger census.ledger --request-id a"


def test_a_request_is_bound_to_the_content_of_all_files_and_not_to_the_engine(tables, opened, ends):
    ledger = opened(files=["part-0.csv", "part-1.csv", "part-2.csv"])
    ends(0, f"fit 'part-*.csv' {LEDGER}")
    (booked,) = ledger.bookings()
    assert booked.facts["data_file"] == [ledger.fingerprint(f"part-{place}.csv") for place in range(3)]
    assert "engine" not in booked.facts["command"]
    Path("copy.csv").write_bytes(Path("part-0.csv").read_bytes())
    again = f"fit copy.csv part-1.csv part-2.csv {LEDGER} --engine serial --memory 1MB --scratch ."
    assert "fitted before" in ends(0, again).stdout
    for other in ("part-0.csv part-2.csv", "part-2.csv", "part-2.csv part-1.csv part-0.csv"):
        assert "the data files differ" in ends(3, f"fit {other} {LEDGER}").stderr
    said = ends(3, f"fit part-0.csv data.csv {MODEL} --ledger census.ledger --out b.dperm").stderr
    assert "data.csv is not one of the files registered" in said
    said = ends(3, "evaluate model.dperm part-2.csv --epsilon 0.5 --ledger census.ledger").stderr
    assert "the model was fitted to part-2.csv" in said
    assert len(ledger.bookings()) == 1


def test_a_file_that_is_swapped_after_its_check_is_not_charged(tables, opened, ends, monkeypatch):
    from dperm.ledger import Ledger

    ledger, known = opened(), Ledger.fingerprint

    def swapped(self, path):
        found = known(self, path)
        if Path(path).name == "part-2.csv" and Path("other.csv").exists():
            os.replace("other.csv", path)
        return found

    write_csv(Path("other.csv"), [[*row[:1], "public", *row[2:]] for row in ROWS[700:]])
    monkeypatch.setattr(Ledger, "fingerprint", swapped)
    said = ends(2, f"fit 'part-*.csv' {LEDGER}").stderr
    assert "part-2.csv changed while the command ran" in said and "Nothing was charged" in said
    assert ledger.bookings() == () and not Path("model.dperm").exists()


def test_a_file_that_changes_between_passes_burns_the_charge(tables, opened, ends, monkeypatch):
    """The rows are read again in each pass, since they exceed the memory and there is no scratch folder."""
    from dperm.accounting.budget import State
    from dperm.cli.charging import WatchedBudget

    ledger, reserve = opened(), WatchedBudget.reserve

    def late(self, event, **options):
        write_csv(Path("part-2.csv"), ROWS[600:1400])
        return reserve(self, event, **options)

    monkeypatch.setattr(WatchedBudget, "reserve", late)
    said = ends(2, f"fit 'part-*.csv' {LEDGER} --memory 1").stderr
    assert "row group 'part-2.csv' has changed since it was first read" in said and "no refunds" in said
    assert [one.state for one in ledger.bookings()] == [State.BURNED]


def test_the_statement_names_the_engine_and_nothing_about_the_row_groups(tables, ends):
    ends(0, f"fit 'part-*.parquet' {MODEL} --adjacency add_remove")
    found = load_stored("model.dperm").estimator.statement_
    assert found["mechanism"]["engine"] == {"name": "threads"}
    assert "integer arithmetic (T201)" in found["security"] and "drew it only once" in found["security"]
    assert "sample of the records; these derivatives are not released" in found["covered"]
    assert "workers" not in found["trust_model"]
    text = json.dumps(found.to_dict())
    assert not any(word in text for word in ("1500", "1,500", "part-0", "passes", "scratch"))


def test_patterns_are_sorted_and_paths_are_taken_as_they_are(tmp_path):
    for name in ("b.csv", "a.csv", "[x].csv"):
        (tmp_path / name).touch()
    (tmp_path / "c.csv").mkdir()
    files = data_files([tmp_path / "missing.csv", tmp_path / "[x].csv", tmp_path / "?.csv"])
    assert [path.name for path in files] == ["missing.csv", "[x].csv", "a.csv", "b.csv"]
    with pytest.raises(ParameterError, match="no file matches"):
        data_files([tmp_path / "*.parquet"])


def test_progress_of_the_first_read_alone_is_shown(monkeypatch):
    """The number of passes and their times depend on the data."""
    shown = []

    class Display:
        def __init__(self, text):
            self.text = text

        def __enter__(self):
            shown.append(self.text)
            return lambda share: shown.append(share)

        def __exit__(self, *given):
            shown.append(f"end of {self.text}")

    monkeypatch.setattr(running, "spinner", Display)
    monkeypatch.setattr(running, "progress_bar", lambda text: Display(f"bar of {text}"))
    with running.first_read("Reading", "Learning") as progress:
        for _ in range(3):
            for done in (1, 2):
                progress(done, 2)
    bar = "bar of Reading"
    assert shown == ["Reading", "end of Reading", bar, 0.5, f"end of {bar}", "Learning", "end of Learning"]
