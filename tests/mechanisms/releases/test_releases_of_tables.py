# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Releases of tables: the bits of the release of an array, for any row groups and any engine (T203, T206)."""

import pickle
import tracemalloc
from dataclasses import dataclass, field
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import pytest

from dperm.accounting import MemoryBudget
from dperm.data import table as open_table
from dperm.data.column_passes import ColumnAnswer
from dperm.data.row_groups import RowGroups
from dperm.errors import BudgetError, DataError, NotPrivateWarning, ParameterError
from dperm.mechanisms.releases import Count, Covariance, Histogram, Mean, Quantile, Sum, Threshold
from dperm.mechanisms.releases.table_columns import NUMBERS, Layout, table_columns
from dperm.noise import NotPrivateBits
from dperm.privacy import GDP, Adjacency, PureDP

ROWS = 1000
SECRET = 98765.4321
BOTH = ["replace_one", "add_remove"]


def n_of(adjacency, n=ROWS):
    return n if Adjacency(adjacency) is Adjacency.REPLACE_ONE else None


RELEASES = {
    "count": (lambda a: Count(PureDP(1.0, a)), "adult"),
    "sum": (lambda a: Sum(PureDP(1.0, a), bounds=(-2.0, 3.0)), "x"),
    "sum of rows": (lambda a: Sum(GDP(1.0, a), norm=1.5, dim=3), ("x", "y", "grade")),
    "mean": (lambda a: Mean(PureDP(1.0, a), bounds=(1.0, 2.5), n=n_of(a)), "x"),
    "histogram": (lambda a: Histogram(PureDP(1.0, a), edges=[-1.0, 0.0, 0.5, 2.0]), "x"),
    "histogram that drops": (lambda a: Histogram(PureDP(1.0, a), edges=[-1.0, 0.0, 2.0], outside="drop"), "y"),
    "categories": (lambda a: Histogram(PureDP(1.0, a), categories=["red", "blue", "green"]), "color"),
    "categories of numbers": (lambda a: Histogram(PureDP(1.0, a), categories=[0, 1, 3.0]), "grade"),
    "covariance": (lambda a: Covariance(GDP(1.0, a), 2.0, dim=2, center=(0.5, 0.0), n=n_of(a)), ["x", "y"]),
    "quantile": (lambda a: Quantile(PureDP(0.05, a), 0.3, bounds=(-2.0, 2.0), intervals=2**10), "x"),
    "threshold": (
        lambda a: Threshold(PureDP(0.05, a), bounds=(-1.0, 1.0), classes=("red", "blue"), invalid="drop"),
        ("x", "color"),
    ),
}


def drawn_columns(rows=ROWS):
    """Columns with ties, values beyond all bounds and of very different sizes."""
    rng = np.random.default_rng(203)
    x = rng.normal(size=rows) * 10.0 ** rng.integers(-9, 9, rows)
    x[rng.integers(0, rows, rows // 4)] = 0.5
    return {
        "x": x,
        "y": rng.normal(size=rows).astype(np.float32),
        "grade": rng.integers(0, 5, rows),
        "adult": rng.random(rows) < 0.3,
        "color": rng.choice(np.array(["red", "blue", "violet"], dtype=object), rows),
    }


COLUMNS = drawn_columns()


@dataclass(frozen=True)
class MemoryGroup:
    id: str
    columns: dict[str, Any]
    reads: list[tuple[str, ...]] = field(default_factory=list, compare=False)

    def read(self, columns):
        self.reads.append(tuple(columns))
        return {name: self.columns[name] for name in columns}


@dataclass(frozen=True)
class TableOfEngine(RowGroups):
    engine: Any = None


class CarelessEngine:
    """Engine of other processes: pickled functions, answers in another order, twice, or of an earlier pass."""

    name = "careless"

    def __init__(self, seed=0, *, forgotten=(), sent=lambda sent: pickle.loads(pickle.dumps(sent))):
        self.rng, self.forgotten, self.sent, self.closed = np.random.default_rng(seed), forgotten, sent, 0

    def hold(self, encode, groups):
        self.held = [self.sent(encode)(group) for group in groups if group.id not in self.forgotten]
        return self

    def run(self, task):
        answers = [self.sent(self.sent(task)(held)) for held in self.held]
        late = [answer._replace(number=answer.number - 1, value=None, rows=7) for answer in answers]
        twice = [answers[place] for place in self.rng.permutation(np.repeat(np.arange(len(answers)), 2))]
        yield from (*late, ColumnAnswer("of another table", twice[0].number, 9, None), *twice)

    def close(self):
        self.closed += 1


def cut(columns, pieces, *, seed=1):
    """Cut columns at uneven places; from the second piece on, every fourth row group is empty."""
    rows = len(next(iter(columns.values())))
    inner = np.sort(np.random.default_rng(seed).integers(0, rows + 1, pieces - 1))
    ends = [0, *inner.tolist(), rows]
    ends[2:-1:4] = ends[1:-2:4]
    return tuple(
        MemoryGroup(f"part-{place}.parquet", {name: values[start:stop] for name, values in columns.items()})
        for place, (start, stop) in enumerate(pairwise(ends))
    )


def table_of(groups, engine=None):
    return TableOfEngine(tuple(groups), tuple(groups[0].columns), engine)


def arrays_of(columns):
    """The records of the columns as arrays; all of them may be rows, or numbers and labels."""
    if isinstance(columns, str):
        return (COLUMNS[columns],)
    if "color" in columns:
        return tuple(COLUMNS[name] for name in columns)
    return (np.column_stack([COLUMNS[name] for name in columns]),)


def seeded(release, *arguments):
    with pytest.warns(NotPrivateWarning):
        return release.release(*arguments, bits=NotPrivateBits(206))


class NoBits:
    is_private = True

    def stream(self):
        raise AssertionError("bits were drawn")


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", RELEASES)
def test_a_table_gives_the_bits_of_the_array_whatever_the_row_groups_and_the_answers(name, adjacency):
    plan, columns = RELEASES[name]
    release = plan(adjacency)
    expected = seeded(release, *arrays_of(columns))
    for pieces in (1, 3, 16):
        for engine in (None, CarelessEngine(pieces)):
            table = table_of(cut(COLUMNS, pieces), engine)
            found = seeded(release, table, columns)
            assert np.array_equal(np.atleast_1d(found.value), np.atleast_1d(expected.value))
            assert found.record.public == expected.record.public and found.event == expected.event
            read = (columns,) if isinstance(columns, str) else tuple(columns)
            assert all(group.reads == [read] for group in table.groups)
            assert engine is None or engine.closed == 1


@pytest.mark.parametrize("invalid", ["raise", "drop"])
def test_runs_of_equal_cost_are_those_of_the_array(invalid):
    """A draw hides small mistakes in the counts: the costs of all candidates themselves are compared."""
    labels = COLUMNS["color"] if invalid == "drop" else np.where(COLUMNS["color"] == "red", "red", "blue")
    columns = {"x": COLUMNS["x"], "label": labels}
    quantile = Quantile(PureDP(1.0, "add_remove"), 0.7, bounds=(-1.0, 1.0), intervals=2**8)
    for orientation in ("up", "either"):
        threshold = Threshold(
            PureDP(1.0, "add_remove"),
            bounds=(-1.0, 1.0),
            classes=("red", "blue"),
            orientation=orientation,
            invalid=invalid,
            intervals=2**8,
        )
        for pieces in (1, 3, 16):
            table = table_of(cut(columns, pieces), CarelessEngine(pieces))
            pairs = [
                (quantile.stretches(table_columns(table, "x", NUMBERS)), quantile.stretches(columns["x"])),
                (
                    threshold._runs(table_columns(table, ("x", "label"), Layout(2, numeric=1))),
                    threshold.stretches(columns["x"], labels),
                ),
            ]
            for found, expected in pairs:
                for one, other in zip(found, expected, strict=True):
                    assert one.dtype == other.dtype and np.array_equal(one, other)


def test_columns_of_arrow_are_read_as_text():
    arrow = pytest.importorskip("pyarrow")
    release, _ = RELEASES["categories"]
    groups = [
        MemoryGroup(str(place), {"color": arrow.array(part)}) for place, part in enumerate((["red"], [], ["blue"]))
    ]
    expected = seeded(release("add_remove"), ["red", "blue"]).value
    assert np.array_equal(seeded(release("add_remove"), table_of(groups), "color").value, expected)
    groups.append(MemoryGroup("3", {"color": arrow.array(["red", None])}))
    with pytest.raises(DataError, match=r"^column 'color' must be of the same kind .* \(in row group '3'\)"):
        release("add_remove").release(table_of(groups), "color")


def parquet_files(folder):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for place, stop in enumerate((10, 700, ROWS)):
        start = (0, 10, 700)[place]
        part = arrow.table({name: values[start:stop] for name, values in COLUMNS.items()})
        parquet.write_table(part, folder / f"part-{place}.parquet", row_group_size=300)
    parquet.write_table(part.slice(0, 0), folder / "part-9.parquet")
    return str(folder / "*.parquet")


def csv_file(folder):
    columns = {**COLUMNS, "adult": COLUMNS["adult"].astype(int)}
    lines = zip(*(map(str, values.tolist()) for values in columns.values()), strict=True)
    (folder / "all.csv").write_text("\n".join(map(",".join, [columns, *lines])) + "\n", encoding="utf-8")
    return folder / "all.csv"


def array_in_memory(folder):
    return np.column_stack([COLUMNS[name] for name in ("x", "y", "grade", "adult")])


@pytest.mark.parametrize("engine", ["serial", "threads"])
@pytest.mark.parametrize("source", [parquet_files, csv_file, array_in_memory])
def test_tables_of_files_and_of_memory_give_the_bits_of_the_array(source, engine, tmp_path, monkeypatch):
    """CSV files are one row group, which is read in pieces."""
    monkeypatch.setattr("dperm.data.row_groups.PIECE_ROWS", 64)
    table = open_table(source(tmp_path), engine=engine)
    known = ("x", "y", "grade", "adult") if source is array_in_memory else table.columns
    names = dict(zip(known, table.columns, strict=True))
    for plan, columns in RELEASES.values():
        wanted = [columns] if isinstance(columns, str) else columns
        if set(wanted) <= set(names):
            release = plan("add_remove")
            found = seeded(release, table, [names[name] for name in wanted])
            assert np.array_equal(np.atleast_1d(found.value), np.atleast_1d(seeded(release, *arrays_of(columns)).value))


def spoilt(column, values, *, at=(3, 5)):
    """Row groups of the columns; in some of them one column has other values."""
    groups = list(cut(COLUMNS, 6, seed=2))
    for place in at:
        groups[place] = MemoryGroup(groups[place].id, {**groups[place].columns, column: values})
    return groups


BAD = {
    "count": ("adult", [SECRET]),
    "sum": ("x", [SECRET, np.nan]),
    "sum of rows": ("y", [np.inf]),
    "mean": ("x", np.array([str(SECRET)], dtype=object)),
    "histogram": ("x", [[SECRET]]),
    "histogram that drops": ("y", [np.nan]),
    "categories": ("color", [SECRET]),
    "categories of numbers": ("grade", [str(SECRET)]),
    "covariance": ("y", [np.nan]),
    "quantile": ("x", [2**60, 1]),
    "threshold": ("x", [str(SECRET)]),
}


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("engine", [None, CarelessEngine()], ids=["here", "engine"])
def test_an_error_names_column_and_row_group_and_nothing_is_charged_or_drawn(name, engine):
    plan, columns = RELEASES[name]
    column, values = BAD[name]
    values = values if isinstance(values, np.ndarray) else np.array(values)
    groups = spoilt(column, values)
    for place in (3, 5):  # equal lengths, so that only the rule is broken
        for other in groups[place].columns:
            if other != column:
                groups[place].columns[other] = COLUMNS[other][: len(values)]
    release = plan("add_remove")
    budget = MemoryBudget(release.goal)
    with pytest.raises(DataError, match=rf"^column '{column}' must .* \(in row group 'part-3\.parquet'\)\.") as caught:
        release.release(table_of(groups, engine), columns, budget=budget, bits=NoBits())
    assert "98765" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert budget.entries == ()


@pytest.mark.parametrize(("column", "value"), [("x", np.nan), ("color", "violet")])
def test_an_error_of_two_columns_names_the_right_one(column, value):
    columns = {"x": np.array([1.0, 2.0]), "color": np.array(["red", "blue"], dtype=object)}
    columns[column][1] = value
    threshold = Threshold(PureDP(1.0, "add_remove"), bounds=(-1.0, 1.0), classes=("red", "blue"))
    with pytest.raises(DataError, match=rf"^column '{column}' must .* \(in row group 'part-0\.parquet'\)\.") as caught:
        threshold.release(table_of(cut(columns, 1)), ("x", "color"), bits=NoBits())
    assert "violet" not in str(caught.value)


def test_the_error_of_another_library_is_replaced():
    @dataclass(frozen=True)
    class Broken(MemoryGroup):
        def read(self, columns):
            raise ValueError(f"cell {SECRET}")

    class Full(MemoryGroup):
        def read(self, columns):
            raise MemoryError(f"{SECRET} rows")

    release, columns = RELEASES["sum"]
    for kind, rule in ((Broken, "cannot be processed"), (Full, "does not fit into memory")):
        table = table_of([*cut(COLUMNS, 2), kind("broken", {})])
        with pytest.raises(DataError, match=f"^row group 'broken' {rule}") as caught:
            release("add_remove").release(table, columns, bits=NoBits())
        assert "98765" not in str(caught.value)
        assert caught.value.__context__ is None


def test_columns_of_different_lengths_are_refused():
    release, columns = RELEASES["covariance"]
    with pytest.raises(DataError, match=r"^columns must be of equal length \(in row group 'part-3\.parquet'\)"):
        release("add_remove").release(table_of(spoilt("y", np.zeros(3))), columns, bits=NoBits())


def test_a_row_group_without_an_answer_is_an_error():
    release, columns = RELEASES["mean"]
    engine = CarelessEngine(forgotten=("part-2.parquet",))
    with pytest.raises(DataError, match=r"^row group 'part-2\.parquet' was not read to its end"):
        release("add_remove").release(table_of(cut(COLUMNS, 4), engine), columns, bits=NoBits())
    assert engine.closed == 1


def test_the_budget_is_checked_before_the_table_is_read_and_charged_once():
    release, columns = RELEASES["sum"]
    table, budget = table_of(cut(COLUMNS, 3)), MemoryBudget(PureDP(1.0, "add_remove"))
    release("add_remove").release(table, columns, budget=budget)
    assert [entry.state for entry in budget.entries] == ["committed"]
    with pytest.raises(BudgetError):
        release("add_remove").release(table, columns, budget=budget, bits=NoBits())
    assert len(budget.entries) == 1
    assert all(len(group.reads) == 1 for group in table.groups)


@pytest.mark.parametrize("name", RELEASES)
def test_a_table_without_rows_is_refused_like_an_empty_array(name):
    plan, columns = RELEASES[name]
    empty = {name: values[:0] for name, values in COLUMNS.items()}
    for groups in (cut(empty, 1), cut(empty, 3)):
        with pytest.raises(DataError, match=r"^data must hold at least one record\.$"):
            plan("add_remove").release(table_of(groups), columns, bits=NoBits())


def test_the_declared_number_of_records_is_that_of_all_row_groups():
    table = table_of(cut(COLUMNS, 3))
    mean = Mean(PureDP(1.0, "replace_one"), (0.0, 1.0), n=ROWS + 1)
    moment = Covariance(PureDP(1.0, "replace_one"), 1.0, dim=1, n=ROWS - 1)
    for release in (mean, moment):
        with pytest.raises(DataError, match="a different number of records"):
            release.release(table, "x", bits=NoBits())


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("sum", None),
        ("sum", "z"),
        ("sum", ("x", "y")),
        ("sum", []),
        ("sum", 0),
        ("sum of rows", "x"),
        ("sum of rows", ["x", "y"]),
        ("covariance", ["x", "z"]),
        ("threshold", "x"),
        ("threshold", None),
    ],
)
def test_wrong_columns_are_refused_with_the_names_of_the_table(name, columns):
    table = table_of(cut(COLUMNS, 2))
    with pytest.raises(ParameterError, match=r"^columns must .*The table has the columns 'x', 'y', 'grade'"):
        RELEASES[name][0]("add_remove").release(table, columns, bits=NoBits())
    assert all(group.reads == [] for group in table.groups)


@pytest.mark.parametrize("value", [None, 2**53, -(2.0**60), ("a",), b"a"])
def test_values_that_cells_may_lose_are_refused(value):
    """A missing cell is None beside text and NaN beside numbers, and large integers beside NaN are rounded.

    Whether such cells are counted would depend on the other cells of their piece: one record could move all of them.
    """
    table = table_of(cut(COLUMNS, 2))
    releases = {
        "color": Histogram(PureDP(1.0, "add_remove"), categories=["red", value]),
        ("x", "color"): Threshold(PureDP(1.0, "add_remove"), bounds=(0.0, 1.0), classes=("red", value), invalid="drop"),
    }
    for columns, release in releases.items():
        with pytest.raises(ParameterError, match=r"^categories and classes must be text, or numbers below 2\^53"):
            release.release(table, columns, bits=NoBits())
    assert all(group.reads == [] for group in table.groups)


@pytest.mark.parametrize("invalid", ["x", "color"])
def test_a_missing_cell_is_left_out_or_refused_whatever_the_cells_beside_it(invalid, tmp_path, monkeypatch):
    monkeypatch.setattr("dperm.data.row_groups.PIECE_ROWS", 2)
    cells = {"x": "0.5,1.5,2.5,3.5,4.5,5.5".split(","), "color": "red,blue,,,red,".split(",")}
    if invalid == "x":
        cells = {"x": "0.5,,,3.5,4.5,".split(","), "color": "red,blue,blue,red,red,red".split(",")}
    (tmp_path / "a.csv").write_text("x,color\n" + "\n".join(map(",".join, zip(*cells.values(), strict=True))) + "\n")
    table = open_table(tmp_path / "a.csv", engine="serial")
    layout, goal = Layout(2, numeric=1, values=("red", "blue")), PureDP(1.0, "add_remove")
    threshold = Threshold(goal, bounds=(0.0, 8.0), intervals=8, classes=("red", "blue"), invalid="drop")
    kept = [place for place in range(6) if cells["x"][place] and cells["color"][place]]
    expected = threshold.stretches(*([float(cells["x"][i]) for i in kept], [cells["color"][i] for i in kept]))
    found = threshold._runs(table_columns(table, ("x", "color"), layout))
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    refusing = Histogram(goal, categories=["red", "blue"]) if invalid == "color" else Sum(goal, bounds=(0.0, 1.0))
    with pytest.raises(DataError, match=rf"^column '{invalid}' must be .* \(in row group 'a\.csv'\)"):
        refusing.release(table, invalid, bits=NoBits())


def test_an_array_has_no_columns_and_one_budget():
    release, budget = RELEASES["sum"][0]("add_remove"), MemoryBudget(PureDP(1.0, "add_remove"))
    for columns in ("x", ["x"]):
        with pytest.raises(ParameterError, match=r"^columns must be left out for an array"):
            release.release([1.0], columns)
    with pytest.raises(ParameterError, match=r"^budget must be given once"):
        release.release([1.0], budget, budget=budget)
    with pytest.raises(ParameterError, match=r"^budget must be given once"):
        release.release([1.0], budget, budget)
    threshold = RELEASES["threshold"][0]("add_remove")
    with pytest.raises(ParameterError, match=r"^columns must be left out for an array"):
        threshold.release([1.0], ["red"], columns=("x", "color"))
    assert budget.entries == ()
    release.release([1.0], budget)
    assert len(budget.entries) == 1


@pytest.mark.parametrize("name", ["sum", "quantile", "threshold"])
def test_the_budget_of_a_table_follows_its_columns(name):
    release, columns, *_ = RELEASES[name]
    budget = MemoryBudget(PureDP(1.0, "add_remove"))
    release("add_remove").release(table_of(cut(COLUMNS, 2)), columns, budget)
    assert len(budget.entries) == 1


@pytest.mark.parametrize("kind", [Quantile, Threshold])
def test_grids_too_fine_for_a_table_are_refused_before_it_is_read(kind):
    public = {"q": 0.5} if kind is Quantile else {"classes": ("red", "blue"), "invalid": "drop"}
    columns = "x" if kind is Quantile else ("x", "color")
    table = table_of(cut(COLUMNS, 2))
    fine, largest = (
        kind(PureDP(1.0, "add_remove"), bounds=(0.0, 1.0), intervals=number, **public) for number in (2**23, 2**22)
    )
    with pytest.raises(ParameterError, match=r"^intervals must be at most 2\^22 for a table"):
        fine.release(table, columns, bits=NoBits())
    assert all(group.reads == [] for group in table.groups)
    fine.release(*arrays_of(columns))
    largest.release(table, columns)


def test_memory_is_that_of_a_row_group_and_not_of_the_table():
    rows, pieces = 2**16, 24

    @dataclass(frozen=True)
    class Drawn:
        id: str

        def read(self, columns):
            return {name: np.random.default_rng(int(self.id)).normal(size=rows) for name in columns}

    table = RowGroups(tuple(Drawn(str(place)) for place in range(pieces)), ("x", "y"))
    releases = {
        ("x", "y"): Covariance(GDP(1.0, "add_remove"), 1.0, dim=2),
        "x": Quantile(PureDP(1.0, "add_remove"), 0.5, bounds=(-1.0, 1.0), intervals=2**10),
        "y": Sum(PureDP(1.0, "add_remove"), bounds=(-1.0, 1.0)),
    }
    for columns, release in releases.items():
        tracemalloc.start()
        release.release(table, columns)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < rows * pieces * 8 / 2  # one column of the table has twice as many bytes


def adds_every_group_once(module):
    columns = {"x": np.arange(10.0)}
    for engine in (None, CarelessEngine(4, sent=lambda sent: sent)):
        table = table_of(cut(columns, 7), engine)
        found = module.sum_over_columns(table, ["x"], function=_rows_and_sum, add=np.add)
        assert found.tolist() == [10, 45]


def adds_many_results(module):
    sums = module.PairwiseSum(add)
    assert sums.total() is None
    for last in range(300):
        sums.append(last)
        assert len(sums.parts) <= module.MOST_PARTS
    assert sums.total() == sum(range(300))


def refuses_the_first_bad_group(module):
    groups = [MemoryGroup(name, {"x": np.array([sign])}) for name, sign in (("a", 1.0), ("b", -1.0), ("c", -1.0))]
    for seed in range(5):
        engine = CarelessEngine(seed, sent=lambda sent: sent)
        try:
            module.sum_over_columns(table_of(groups, engine), ["x"], function=_rows_and_sum, add=np.add)
        except DataError as error:
            message = str(error)
        else:
            message = ""
        assert message == "column 'x' must be positive (in row group 'b')."


def _rows_and_sum(columns):
    if columns["x"][0] < 0:
        raise DataError(argument="column 'x'", rule="must be positive")
    return np.array([len(columns["x"]), int(columns["x"].sum())])


def leaves_out_empty_groups(module):
    task = module.ColumnTask(_number_of_rows, np.add, ("x",), 1)
    for rows, value in ((0, None), (2, 2)):
        assert task(module.UnreadGroup(MemoryGroup("a", {"x": np.zeros(rows)}))).value == value


def _number_of_rows(columns):
    return len(columns["x"])


def adds_places(module):
    one = module.PlaceCounts(np.array([1, 4]), np.array([[2, 0], [1, 1]]))
    other = module.PlaceCounts(np.array([0, 4, 9]), np.array([[0, 5], [3, 2], [1, 0]]))
    for found in (module.add_place_counts(one, other), module.add_place_counts(other, one)):
        assert found.places.tolist() == [0, 1, 4, 9]
        assert found.counts.tolist() == [[0, 5], [2, 0], [4, 3], [1, 0]]


PASSES, CANDIDATES = "dperm.data.column_passes", "dperm.mechanisms.releases.candidates"
FUNCTION, PROBLEM = "if count := lengths.pop()", "if problem := problems[waiting.popleft()]"
MUTANTS = {
    "only the last row group counts": (adds_every_group_once, PASSES, "size, self.add(one, other))", "size, other)"),
    "many results lose one": (adds_many_results, PASSES, "            self._join(0)", "            self.parts.pop()"),
    "groups without rows are read": (leaves_out_empty_groups, PASSES, FUNCTION, "if (count := lengths.pop()) >= 0"),
    "problems are ignored": (refuses_the_first_bad_group, PASSES, PROBLEM, f"{PROBLEM} and None"),
    "the first problem to arrive is told": (
        refuses_the_first_bad_group,
        PASSES,
        "            while waiting and",
        "            if answer.problem:\n                raise answer.problem\n            while waiting and",
    ),
    "counts of the same point replace each other": (adds_places, CANDIDATES, "] += part.counts", "] = part.counts"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_unsafe_mutants_die(name, assert_killed):
    assert_killed(*MUTANTS[name])
