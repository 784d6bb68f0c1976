# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Engines of one machine: the same answers from one thread or several, in memory, on disk or read again."""

import threading
import time
import traceback
import weakref
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dperm.data import local_engines, row_groups, table
from dperm.data.bounded import RowRuns
from dperm.data.grid_rows import RowGrid
from dperm.data.local_engines import (
    MemoryGroup,
    SerialEngine,
    SourceGroup,
    ThreadsEngine,
    chosen_engine,
    engine_named,
)
from dperm.data.passes import GroupTask, Sums, TablePasses, checksum_of
from dperm.data.row_encoder import ColumnReader, RowEncoder, encoded_table
from dperm.data.row_groups import pieces_of
from dperm.data.scratch import ScratchFile, ScratchGroup
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.errors import DataError, LedgerError, ParameterError

GRID = RowGrid(FeatureSpace(4, norm=1.0))
SIZES = (30, 0, 41, 7, 100, 3, 64)
NAMES = ("x0", "x1", "x2", "x3")
BYTES = 4 * 4 + 4 + 1
"""Bytes of a row: four cells, its length and its code."""


@dataclass(frozen=True)
class Group:
    """Rows of an array, with the codes in the last column."""

    id: str
    array: np.ndarray

    def read(self, columns):
        return {name: self.array[:, place] for place, name in enumerate((*NAMES, "y")) if name in columns}


def encoded(group):
    codes = group.array[:, 4].astype(np.int8)
    rows, bad = GRID.rows(group.array[:, :4], codes)
    problems = frozenset({"x0"} if bad.any() else ())
    return MemoryGroup(group.id, rows.count, checksum_of(rows), problems, (rows,))


class Pieces:
    """Encoder that works piece by piece."""

    def __init__(self, rows=8):
        self.rows = rows

    def __call__(self, group):
        raise AssertionError("an engine of this machine encodes by pieces")

    def pieces(self, group):
        for start in range(0, len(group.array), self.rows):
            (rows,) = encoded(Group(group.id, group.array[start : start + self.rows])).pieces
            yield rows, frozenset({"x1"} if start == 16 else ())


def groups(sizes=SIZES):
    rng = np.random.default_rng(8)
    arrays = [np.column_stack([rng.normal(size=(size, 4)), rng.integers(0, 2, size)]) for size in sizes]
    return tuple(Group(f"group {place}", array) for place, array in enumerate(arrays))


def sums(rows, place):
    """Kernel that depends on cells, codes, and the places of the rows."""
    cells = rows.cells.astype(np.int64)
    places = place.start + np.arange(rows.count) + 1
    return Sums(cells=rows.codes @ cells, places=np.array([places @ cells[:, 0]]), rows=np.array([rows.count]))


def answers(held, kernel=sums):
    found = [(answer.id, answer.rows, answer.value) for answer in held.run(GroupTask(kernel, 1))]
    return [(name, rows, value and {key: part.tolist() for key, part in value.items()}) for name, rows, value in found]


def places(held):
    return [type(group).__name__[0] for group in held._held]


EXPECTED = answers(SerialEngine().hold(encoded, groups()))
SETTINGS = [(10**6, None), (0, None), (0, "folder"), (45 * BYTES, None), (45 * BYTES, "folder")]
ENGINES = [SerialEngine, partial(ThreadsEngine, 1), partial(ThreadsEngine, 3)]


@pytest.mark.parametrize("encode", [encoded, Pieces()], ids=["whole", "pieces"])
@pytest.mark.parametrize(("memory", "scratch"), SETTINGS)
@pytest.mark.parametrize("engine", ENGINES)
def test_answers_do_not_depend_on_engine_memory_and_scratch(engine, memory, scratch, encode, tmp_path):
    held = engine(memory=memory, scratch=scratch and tmp_path).hold(encode, groups())
    for _ in range(2):
        assert answers(held) == EXPECTED
    passes = TablePasses(held, tuple(group.id for group in groups()))
    problems = passes.read_manifest()
    assert passes.rows == sum(SIZES)
    assert problems["group 2"] == ([] if encode is encoded else ["x1"])
    total = passes.run(sums)
    assert total["cells"].tolist() == np.sum([value["cells"] for *_, value in EXPECTED if value], axis=0).tolist()
    held.close()


def test_rows_leave_the_memory_from_the_first_group_that_does_not_fit(tmp_path):
    def placed(engine, memory, scratch=None, encode=encoded, sizes=(30, 0, 20, 60, 0, 1)):
        held = engine(memory=memory * BYTES, scratch=scratch).hold(encode, groups(sizes))
        assert sum(rows for _, rows, _ in answers(held)) == sum(sizes)
        found = "".join(places(held))
        held.close()
        return found

    for encode in (encoded, Pieces()):
        assert placed(SerialEngine, 1000, encode=encode) == "MMMMMM"
        assert placed(SerialEngine, 111, encode=encode) == "MMMMMM"
        assert placed(SerialEngine, 110, encode=encode)[:4] == "MMMM" and placed(SerialEngine, 110)[5] == "S"
        assert {placed(SerialEngine, 50, encode=encode)[place] for place in (3, 5)} == {"S"}
        three = partial(ThreadsEngine, 3)  # each of them may hold a third
        assert placed(three, 180, encode=encode) == "MMMMMM"
        assert placed(three, 179, encode=encode)[:3] == "MMM" and placed(three, 179)[3] == "S"
        assert {placed(three, 170, encode=encode) for _ in range(10)} <= {"MMMSMS", "MMMSSS"}


@pytest.mark.parametrize(("scratch", "kind"), [(False, SourceGroup), (True, ScratchGroup)])
def test_rows_beyond_the_memory_go_to_the_folder_or_are_read_again(scratch, kind, tmp_path):
    held = ThreadsEngine(2, memory=0, scratch=tmp_path if scratch else None).hold(Pieces(), groups())
    assert {type(group) for group in held._held if group.rows} == {kind}
    assert list(tmp_path.iterdir()) == []
    held.close()


@pytest.mark.parametrize("encode", [encoded, Pieces()], ids=["whole", "pieces"])
def test_rows_that_differ_when_they_are_read_again_are_refused(encode):
    table_rows = groups()
    held = SerialEngine(memory=0).hold(encode, table_rows)
    assert answers(held) == EXPECTED
    table_rows[4].array[17, 2] += 1
    with pytest.raises(DataError, match="row group 'group 4' has changed"):
        answers(held)


def test_a_group_in_memory_is_cut_into_chunks(monkeypatch):
    monkeypatch.setattr(local_engines, "CHUNK_ROWS", 16)
    group = encoded(groups()[4])
    assert [(start, rows.count) for start, rows in group.chunks()] == [(16 * n, 16 if n < 6 else 4) for n in range(7)]
    assert all(np.shares_memory(rows.cells, group.pieces[0].cells) for _, rows in group.chunks())
    assert answers(SerialEngine().hold(encoded, groups())) == EXPECTED


def test_each_thread_has_at_most_one_row_group_that_is_not_at_its_place():
    started, ahead = [], []

    def slow(done, total):
        time.sleep(0.02)
        ahead.append(len(started) - done)

    def noted(group):
        started.append(group.id)
        return encoded(group)

    held = ThreadsEngine(2, progress=slow).hold(noted, groups())
    assert max(ahead) == 2 and len(started) == 7
    held._progress = None
    assert answers(held) == EXPECTED


@pytest.mark.parametrize("scratch", [False, True])
def test_the_pieces_of_a_large_row_group_leave_the_memory_at_once(scratch, tmp_path):
    made = []

    class Counted(Pieces):
        most = 0

        def pieces(self, group):
            for rows, problems in super().pieces(group):
                made.append(weakref.ref(rows))
                self.most = max(self.most, sum(one() is not None for one in made))
                yield rows, problems

    encode = Counted(4)
    held = SerialEngine(memory=20 * BYTES, scratch=tmp_path if scratch else None).hold(encode, groups((8, 400)))
    assert 3 <= encode.most <= 7  # two pieces of the first group, three of the second, and one or two on the way
    assert [rows for _, rows, _ in answers(held)] == [8, 400]
    held.close()


def test_several_row_groups_run_at_a_time():
    together = threading.Barrier(3, timeout=10)

    def waiting(rows, place):
        together.wait()
        return sums(rows, place)

    held = ThreadsEngine(3).hold(encoded, groups((5, 6, 7)))
    assert len(answers(held, waiting)) == 3


def test_linear_algebra_uses_one_thread_in_each_task_and_all_afterwards():
    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(3, "blas"):
        before, seen = threads(), []
        held = ThreadsEngine(2).hold(encoded, groups())
        answers(held, lambda rows, place: seen.append(threads()) or sums(rows, place))
        assert before == {3} and seen == [{1}] * 6 and threads() == before
        passed = held.run(GroupTask(sums, 1))
        next(passed)
        passed.close()
        assert threads() == before


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("error", [ValueError("cell 31415"), KeyError(31415), MemoryError("shape (31415, 4)")])
def test_errors_of_other_libraries_become_errors_without_cells(engine, error):
    def fails(group):
        if group.id == "group 2":
            raise error
        return encoded(group)

    def fails_later(rows, place):
        if place.group == "group 2":
            raise error
        return sums(rows, place)

    held = engine().hold(encoded, groups())
    for work in (lambda: engine().hold(fails, groups()), lambda: answers(held, fails_later)):
        with pytest.raises(DataError, match="row group 'group 2' ") as found:
            work()
        assert "31415" not in "".join(traceback.format_exception(found.value))
        assert found.value.__context__ is None and found.value.__cause__ is None
    assert answers(held) == EXPECTED


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_of_dperm_and_interrupts_pass(engine):
    for error in (LedgerError("as it is."), KeyboardInterrupt()):

        def fails(group, error=error):
            raise error

        with pytest.raises(type(error)) as found:
            engine().hold(fails, groups())
        assert found.value is error


def test_after_an_error_no_task_is_running(tmp_path):
    running, started, before = [], [], set(threading.enumerate())

    def slow(group):
        started.append(group.id)
        if group.id == "group 0":
            raise ValueError
        running.append(group.id)
        time.sleep(0.05)
        running.remove(group.id)
        return encoded(group)

    with pytest.raises(DataError):
        ThreadsEngine(2, scratch=tmp_path).hold(slow, groups())
    assert not running and len(started) <= 3
    assert set(threading.enumerate()) <= before
    started.clear()
    held = ThreadsEngine(2).hold(encoded, groups())
    with pytest.raises(DataError):
        list(held.run(slow))
    assert not running and len(started) <= 3


def test_a_full_disk_ends_the_first_read(tmp_path, monkeypatch):
    monkeypatch.setattr("os.pwritev", lambda *arguments: 0)
    for encode in (encoded, Pieces()):
        for engine in ENGINES:
            with pytest.raises(ParameterError, match="scratch must be on a disk with enough free space"):
                engine(memory=0, scratch=tmp_path).hold(encode, groups())


@pytest.mark.parametrize("engine", ENGINES)
def test_progress_is_reported_after_each_row_group(engine):
    seen = []
    held = engine(progress=lambda done, total: seen.append((done, total))).hold(encoded, groups())
    assert seen == [(done, 7) for done in range(1, 8)]
    answers(held)
    assert seen[7:] == seen[:7]


def test_closed_groups_hold_no_rows_and_no_threads(tmp_path):
    before = set(threading.enumerate())
    held = ThreadsEngine(2, memory=0, scratch=tmp_path).hold(encoded, groups())
    file = held._storage._file
    held.close()
    assert answers(held) == [] and file._file.closed
    assert set(threading.enumerate()) <= before


def test_the_rows_of_a_table_are_encoded_by_pieces(monkeypatch, tmp_path):
    monkeypatch.setattr(row_groups, "PIECE_ROWS", 10)
    monkeypatch.setattr("dperm.data.memory_groups.BLOCK_ROWS", 25)
    data = np.concatenate([group.array for group in groups()])

    class Encode:
        def __call__(self, group):
            raise AssertionError

        def pieces(self, group):
            for piece in pieces_of(group, NAMES, {"x4": None}):
                assert len(piece.numbers) <= 10
                yield GRID.rows(piece.numbers, piece.columns["x4"].astype(np.int8))[0], frozenset()

    for engine in ("serial", "threads"):
        found = table(data, engine=engine, memory=60 * BYTES, scratch=tmp_path)
        held = found.engine.hold(Encode(), found.groups)
        total = TablePasses(held, tuple(group.id for group in found.groups)).run(sums)
        assert total["rows"] == len(data) and places(held)[-1] == "S"
        assert total["cells"].tolist() == np.sum([value["cells"] for *_, value in EXPECTED if value], axis=0).tolist()
        held.close()


def test_engines_have_names(tmp_path):
    for name, kind in (("serial", SerialEngine), ("threads", ThreadsEngine)):
        engine = engine_named(name, memory="5MB", scratch=tmp_path)
        assert type(engine) is kind and engine.name == name
        assert (engine.memory, engine.scratch) == (5 * 10**6, str(tmp_path))
    assert chosen_engine(None).name == "threads" and chosen_engine(engine) is engine
    assert 1 <= ThreadsEngine().workers <= 16
    for workers in (0, 1.5, True):
        with pytest.raises(ParameterError, match="workers must be a whole number"):
            ThreadsEngine(workers)
    for argument, value in (("scratch", tmp_path), ("progress", print)):
        with pytest.raises(ParameterError, match=f"{argument} must be left out for an engine object"):
            chosen_engine(engine, **{argument: value})
    (tmp_path / "file").touch()
    for folder in (tmp_path / "no", tmp_path / "file", 3, b"."):
        with pytest.raises(ParameterError, match="scratch must be an existing folder"):
            SerialEngine(scratch=folder)


def test_a_kernel_that_selects_rows_reads_a_part_of_the_scratch_file(tmp_path, monkeypatch):
    """The selected rows are those of the whole table (T203), and most chunks are not read."""
    rng = np.random.default_rng(5)
    array = np.column_stack([rng.uniform(-1, 1, (200_000, 2)), rng.integers(0, 2, 200_000)])
    space = FeatureSpace(2, bounds=((-1.0, 1.0),) * 2)
    encoder = RowEncoder(space, Classes((0.0, 1.0)), ColumnReader(("x0", "x1"), "x2"), ("x0", "x1"))
    reads, plain = [], ScratchFile.read
    monkeypatch.setattr(ScratchFile, "read", lambda file, stored: reads.append(stored) or plain(file, stored))
    found = []
    for options in ({"memory": "1GB"}, {"memory": "1KB", "scratch": tmp_path}):
        data = encoded_table(table(array, engine="serial", **options), encoder, names=None)
        runs = data.sums(RowRuns(data.store.offsets, 300, 2**8))
        found.append(np.concatenate([rows.cells for _, rows in runs]))
        data.store.close()
    assert np.array_equal(*found)
    assert 0 < len(reads) <= 6
