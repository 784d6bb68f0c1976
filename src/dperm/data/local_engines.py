# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Engines of one machine: row groups are encoded and processed one after the other, or in several threads.

Encoded rows stay in memory up to a limit. The first row group that exceeds the limit and all later row groups go to a
scratch file or, without a scratch folder, are encoded again in each pass. This choice depends only on the sizes and the
order of the row groups, not on the time that threads take.
"""

import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from dperm import checks
from dperm.checks import shown
from dperm.data.blas_threads import single_threaded_blas
from dperm.data.grid_rows import GridRows
from dperm.data.passes import HeldGroup, TableEngine, changed_group, checksum_of
from dperm.data.row_groups import guarded
from dperm.data.scratch import ScratchFile, ScratchWriter
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data.row_groups import RowGroup

S = TypeVar("S")
T = TypeVar("T")
Encode = Callable[[Any], HeldGroup]
Progress = Callable[[int, int], None]
"""Receives the number of row groups done and the number of all, after each row group."""

ENGINES = ("serial", "threads")
MEMORY = 10**9
CHUNK_ROWS = 2**16
"""Largest number of rows in a chunk in memory."""
MOST_WORKERS = 16
"""Largest default number of threads."""


@runtime_checkable
class PieceEncoder(Protocol):
    """Encoder that can also encode a row group piece by piece, so that no row group has to fit into memory."""

    def __call__(self, group: "RowGroup") -> HeldGroup:
        """Return the encoded rows of a row group, in memory."""

    def pieces(self, group: "RowGroup") -> Iterator[tuple[GridRows, frozenset[str]]]:
        """Yield the encoded rows in pieces, with the problems of each one; the cuts must be the same each time."""


@dataclass(frozen=True)
class MemoryGroup:
    """Encoded rows of one row group in memory.

    Attributes
    ----------
    id, rows, checksum, problems
        See `HeldGroup`.
    pieces
        Encoded rows, in their order.
    """

    id: str
    rows: int
    checksum: int
    problems: frozenset[str]
    pieces: tuple[GridRows, ...]

    def chunks(self) -> Iterator[tuple[int, GridRows]]:
        """Yield the rows in chunks of at most `CHUNK_ROWS` rows, on views of the pieces."""
        first = 0
        for piece in self.pieces:
            for start in range(0, piece.count, CHUNK_ROWS):
                yield first + start, piece.part(start, start + CHUNK_ROWS)
            first += piece.count


@dataclass(frozen=True)
class SourceGroup:
    """Rows of one row group that are encoded again in each pass.

    Attributes
    ----------
    id, rows, checksum, problems
        See `HeldGroup`, from the first time that the rows were encoded.
    encode
        Encoder.
    group
        Row group to read.
    """

    id: str
    rows: int
    checksum: int
    problems: frozenset[str]
    encode: Encode
    group: Any

    def chunks(self) -> Iterator[tuple[int, GridRows]]:
        """Yield the rows in pieces.

        Raises
        ------
        DataError
            After the last piece, if the rows differ from those that were encoded first.
        """
        if not isinstance(self.encode, PieceEncoder):
            held = self.encode(self.group)
            self._require(held.rows, held.checksum)
            yield from held.chunks()
            return
        facts = _Facts()
        for rows, problems in self.encode.pieces(self.group):
            start = facts.rows
            facts.add(rows, problems)
            yield start, rows
        self._require(facts.rows, facts.checksum)

    def _require(self, rows: int, checksum: int) -> None:
        if (rows, checksum) != (self.rows, self.checksum):
            raise changed_group(self.id)


class SerialEngine:
    """Engine that processes the row groups one after the other, in the calling thread.

    Parameters
    ----------
    memory
        Limit on the total size of the encoded rows in memory: a number of bytes, or text such as "500MB".
    scratch
        Folder for a scratch file with the encoded rows that exceed ``memory``. If None, these rows are encoded again in
        each pass.
    progress
        Function that is called after each row group of each pass, with the number of finished row groups and the number
        of all row groups. Neither number depends on the values in the table.
    """

    name = "serial"
    workers = 1

    def __init__(
        self,
        *,
        memory: int | str = MEMORY,
        scratch: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.memory = checks.memory_size("memory", memory)
        self.scratch, self.progress = _checked_folder(scratch), progress

    def hold(self, encode: Encode, groups: Sequence[Any]) -> "LocalGroups":
        """Encode every row group, and keep the encoded rows in memory or in the scratch file.

        The rows are kept until `LocalGroups.close` is called.

        Parameters
        ----------
        encode
            Function that returns the encoded rows of a row group, or a `PieceEncoder`.
        groups
            Row groups, in the order of the table.

        Returns
        -------
        LocalGroups
            The encoded row groups.

        Raises
        ------
        DataError
            If a row group cannot be read or has changed. The message names the row group, but contains no cell.
        ParameterError
            If the disk of the scratch file is full.
        """
        workers = min(self.workers, max(len(groups), 1))
        held = LocalGroups(_Storage(self.memory, workers, self.scratch), _Pool(workers), self.progress)
        try:
            held.encode(encode, groups)
        except BaseException:
            held.close()
            raise
        return held


class ThreadsEngine(SerialEngine):
    """Engine that processes several row groups at a time, one in each thread.

    Parameters
    ----------
    workers
        Number of threads; by default, one for each available processor, but at most 16.
    memory, scratch, progress
        See `SerialEngine`. ``progress`` is called in the thread that uses the engine, not in its worker threads.

    Notes
    -----
    During a pass, the linear algebra libraries of numpy and scipy use only one thread for each task. This limit applies
    to the whole process, and is removed at the end of the pass.
    """

    name = "threads"

    def __init__(
        self,
        workers: int | None = None,
        *,
        memory: int | str = MEMORY,
        scratch: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(memory=memory, scratch=scratch, progress=progress)
        default = min(_processors(), MOST_WORKERS)
        self.workers = default if workers is None else checks.count("workers", workers, most=2**10)


def chosen_engine(
    engine: "str | TableEngine | None",
    *,
    memory: int | str = MEMORY,
    scratch: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> "TableEngine":
    """Return the engine with a given name, or the engine object of the user.

    Parameters
    ----------
    engine
        "serial", "threads", None for "threads", or an object with the methods of `TableEngine`.
    memory, scratch, progress
        See `SerialEngine`. For an engine object, ``memory`` is ignored, and the others must be None.

    Raises
    ------
    ParameterError
        If there is no such engine, or ``scratch`` or ``progress`` is set for an engine with settings of its own.
    """
    if engine is None or isinstance(engine, str):
        return engine_named(engine or "threads", memory=memory, scratch=scratch, progress=progress)
    if not callable(getattr(engine, "hold", None)) or not isinstance(getattr(engine, "name", None), str):
        raise ParameterError(
            argument="engine",
            rule='must be "serial", "threads" or an object with a name and a method hold',
            got=shown(engine),
        )
    for argument, value in (("scratch", scratch), ("progress", progress)):
        if value is not None:
            raise ParameterError(
                argument=argument,
                rule="must be left out for an engine object, which has settings of its own",
                remedy=f"Pass it to the engine: ThreadsEngine({argument}=...).",
            )
    return engine


def engine_named(
    name: str,
    *,
    memory: int | str = MEMORY,
    scratch: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> SerialEngine:
    """Return a local engine by its name.

    Parameters
    ----------
    name
        "serial" or "threads".
    memory, scratch, progress
        See `SerialEngine`.

    Raises
    ------
    ParameterError
        If there is no such engine, or a setting is invalid.
    """
    for known in (SerialEngine, ThreadsEngine):
        if known.name == name:
            return known(memory=memory, scratch=scratch, progress=progress)
    rule = f"must be {' or '.join(map(repr, ENGINES))}, or an engine object"
    remedy = "Pass an object for a cluster of Dask: dperm.engines.DaskEngine(client)." if name == "dask" else ""
    raise ParameterError(argument="engine", rule=rule, got=shown(name), remedy=remedy)


class LocalGroups:
    """Encoded row groups in this process, made by `SerialEngine.hold`."""

    def __init__(self, storage: "_Storage", pool: "_Pool", progress: Progress | None) -> None:
        self._storage, self._pool, self._progress = storage, pool, progress
        self._held: list[HeldGroup] = []

    def encode(self, encode: Encode, groups: Sequence[Any]) -> None:
        """Encode and store all row groups, with at most one row group per thread that is not yet stored."""
        drafts = self._pool.in_order(partial(self._storage.draft, encode), groups, ahead=1)
        for group in groups:  # no variable holds a draft while the next one is encoded
            self._held.append(self._storage.accepted(next(drafts), encode, group))
            self._report(len(groups), len(self._held))

    def run(self, task: Callable[[HeldGroup], T]) -> Iterator[T]:
        """Yield ``task(group)`` for every group, in the order of the table.

        Raises
        ------
        DataError
            If a row group cannot be read or has changed, or the task fails. The message names the row group.
        """
        with self._pool.single_threaded_blas():
            answers = self._pool.in_order(lambda group: guarded(group.id, lambda: task(group)), self._held, ahead=4)
            for done, answer in enumerate(answers, start=1):
                self._report(len(self._held), done)
                yield answer

    def close(self) -> None:
        """Free the memory and the scratch file."""
        self._pool.close()
        self._held = []
        self._storage.close()

    def _report(self, total: int, done: int) -> None:
        if self._progress is not None:
            self._progress(done, total)


class _Facts:
    """Number of rows, checksum and problems of the pieces of a row group."""

    def __init__(self) -> None:
        self.rows, self.checksum, self.size = 0, 0, 0
        self.problems: frozenset[str] = frozenset()

    def add(self, rows: GridRows, problems: frozenset[str]) -> None:
        self.rows += rows.count
        self.size += rows.nbytes()
        self.checksum = zlib.crc32(checksum_of(rows).to_bytes(4, "little"), self.checksum)
        self.problems |= problems


class _Draft(NamedTuple):
    """Encoded row group before its place is decided.

    Attributes
    ----------
    held
        Encoded row group.
    size
        Size of all its rows in memory, in bytes.
    is_outside
        Whether its rows have left the memory already.
    """

    held: HeldGroup
    size: int
    is_outside: bool = False


class _Storage:
    """Places of encoded rows: memory up to a limit, then a scratch file or the source itself.

    A row group stays in memory if it fits, if all before it fit, and if it is at most as large as the share of a
    thread. So the memory of row groups that are being encoded is limited as well.
    """

    def __init__(self, memory: int, workers: int, folder: str | None) -> None:
        self._memory, self._share, self._folder = memory, memory // workers, folder
        self._used, self._full = 0, False
        self._file: ScratchFile | None = None
        self._lock = Lock()

    def draft(self, encode: Encode, group: Any) -> _Draft:
        """Encode a row group; called by several threads."""
        return guarded(group.id, lambda: self._draft(encode, group))

    def _draft(self, encode: Encode, group: Any) -> _Draft:
        if isinstance(encode, PieceEncoder):
            return self._draft_by_pieces(encode, group)
        held = encode(group)
        return _Draft(held, sum(rows.nbytes() for _, rows in held.chunks()))

    def _draft_by_pieces(self, encode: PieceEncoder, group: Any) -> _Draft:
        """Encode a row group. Its rows leave the memory as soon as they exceed the limit.

        They would not fit later either: the limit falls while earlier row groups are accepted.
        """
        facts, kept, writer, is_outside = _Facts(), list[GridRows](), None, False
        for rows, problems in encode.pieces(group):
            facts.add(rows, problems)
            kept.append(rows)
            if not is_outside and (self._full or facts.size > self._limit):
                is_outside, writer = True, self._writer()
            while is_outside and kept:
                part = kept.pop(0)
                if writer is not None:
                    writer.add(part)
        known = (group.id, facts.rows, facts.checksum, facts.problems)
        held: HeldGroup = MemoryGroup(*known, tuple(kept))
        if is_outside:
            held = SourceGroup(*known, encode, group) if writer is None else writer.group(*known)
        return _Draft(held, facts.size, is_outside)

    def accepted(self, draft: _Draft, encode: Encode, group: Any) -> HeldGroup:
        """Return a row group at its place; called by one thread, in the order of the table."""
        held = draft.held
        if draft.size == 0:
            return held
        self._full = self._full or draft.is_outside or draft.size > self._limit
        if not self._full:
            self._used += draft.size
        if draft.is_outside or not self._full:
            return held
        known, writer = (held.id, held.rows, held.checksum, held.problems), self._writer()
        if writer is None:
            return SourceGroup(*known, encode, group)
        for _, rows in held.chunks():
            writer.add(rows)
        return writer.group(*known)

    @property
    def _limit(self) -> int:
        return min(self._share, self._memory - self._used)

    def _writer(self) -> ScratchWriter | None:
        """Return a writer to the scratch file, which is created now if there is none; None without a folder."""
        if self._folder is None:
            return None
        with self._lock:
            if self._file is None:
                self._file = ScratchFile(self._folder)
        return ScratchWriter(self._file)

    def close(self) -> None:
        """Close the scratch file."""
        if self._file is not None:
            self._file.close()


class _Pool:
    """Threads with a bounded number of tasks at a time; none of them for one worker."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._executor = ThreadPoolExecutor(workers, "dperm") if workers > 1 else None

    def single_threaded_blas(self) -> AbstractContextManager[Any]:
        """Limit the linear algebra to one thread, if there are several threads here."""
        return nullcontext() if self._executor is None else single_threaded_blas()

    def in_order(self, work: Callable[[S], T], items: Sequence[S], *, ahead: int) -> Iterator[T]:
        """Yield ``work(item)`` in the order of the items.

        For each thread, at most ``ahead`` tasks are waiting, running or finished with a result that is not read yet.
        After an error, or if the iterator is closed, waiting tasks are cancelled and running ones awaited.
        """
        if self._executor is None:
            yield from map(work, items)
            return
        left, running = iter(items), deque[Future[T]]()
        try:
            for item in islice(left, ahead * self._workers):
                running.append(self._executor.submit(work, item))
            while running:
                running[0].exception()  # wait
                for item in islice(left, 1):
                    running.append(self._executor.submit(work, item))
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()
            for future in running:
                with suppress(BaseException):
                    future.result()

    def close(self) -> None:
        """End the threads."""
        if self._executor is not None:
            self._executor.shutdown()


def _checked_folder(scratch: Any) -> str | None:
    """Return the folder for scratch files; ParameterError unless it is a folder in which files can be created."""
    if scratch is None:
        return None
    if isinstance(scratch, str | os.PathLike):
        folder = os.path.expanduser(os.fspath(scratch))
        if isinstance(folder, str) and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    rule = "must be an existing folder in which files can be created"
    raise ParameterError(argument="scratch", rule=rule, got=shown(scratch))


def _processors() -> int:
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available is not None else os.cpu_count() or 1
