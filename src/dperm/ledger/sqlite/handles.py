# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Open connections: one per thread and file, created on first use.

A ledger object holds a path only. Opening SQLite for every entry would cost more than the entry, so the connection
stays open. Three events could then lose charged entries, and are prevented here:

- Replacement of the ledger file or its log: every transaction detects and refuses it.
- Fork of the process: SQLite would mistake the locks of the parent for its own, and the last process to close the
  ledger would remove the log in use. Connections are closed before a fork, and reopened on demand.
- A second name of the file (a hard link) with its own log: refused.

A ledger on a read-only medium can be read, not charged (`Handle.connection`). SQLite cannot create its log files there,
so the file is opened as immutable, provided that no log holds entries missing from the file.
"""

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from dperm.errors import NO_LEDGER, LedgerError
from dperm.ledger.books import UnreadableLedgerError
from dperm.ledger.disks import require_local

OLDEST = (3, 38, 0)
"""Oldest supported SQLite, with STRICT tables and the JSON operator ->>."""
IMMUTABLE = "mode=ro&immutable=1"
"""Mode of a connection to a file on a read-only medium."""
PATIENCE = 60.0
"""Seconds to wait for a process that holds the database without the lock file."""

FileId = tuple[int, int] | None
FileState = tuple[int, int, int]


class Handle:
    """Connection of one thread, and the files it has open."""

    def __init__(self, path: Path) -> None:
        self.turn = threading.RLock()
        """Lock held during use of the ledger; a fork waits for it."""
        self._path = path
        self._file = identity(path)
        if self._file is None:
            raise LedgerError(f"there is no ledger at {str(path)!r}.")
        self._logs = [f"{os.path.realpath(path)}{end}" for end in ("-wal", "-shm")]
        self._logs_open: list[FileId] | None = None
        self._connection: sqlite3.Connection | None = None
        self._frozen: FileState | None = None
        """Size and time of a file opened as immutable; None otherwise."""

    @property
    def inode(self) -> int:
        """Inode number of the file."""
        return 0 if self._file is None else self._file[1]

    @property
    def is_frozen(self) -> bool:
        """Whether the last use opened the file as immutable, on a read-only medium."""
        return self._frozen is not None

    @property
    def connection(self) -> sqlite3.Connection:
        """Open connection, reopened if closed; on a read-only medium, a read-only one.

        Raises
        ------
        UnreadableLedgerError
            If the medium is read-only and the log holds entries missing from the file, or the file may not be read.
        """
        if self._frozen is not None and self._frozen != _state(self._path):
            self.close()  # the file is writable after all
        if self._connection is None:
            require_local(self._path)
            self._frozen = None
            try:
                self._connection = _connect(self._path)
            except sqlite3.OperationalError:
                if not _is_read_only(self._path):
                    raise
                self._frozen = _state(self._path)
                self._connection = _connect_frozen(self._path, self._logs[0])
            self._logs_open = None
        self.require_same_files()
        return self._connection

    def require_same_files(self) -> None:
        """Refuse a ledger whose file or log was replaced or removed while open; called inside a transaction.

        Raises
        ------
        LedgerError
            Also if the file has a second name.
        """
        if self._frozen is not None:
            same = self._frozen == _state(self._path)
        else:
            same = self._same_logs()
        if identity(self._path) != self._file or not same:
            raise LedgerError(
                f"the file {str(self._path)!r}, or its log, was replaced or removed while the ledger was open, so "
                "charges would be lost with the old one.",
                remedy="Release nothing. Find the cause, verify the file against an anchor, and restart the process.",
            )
        if os.stat(self._path).st_nlink > 1:
            raise LedgerError(
                f"the file {str(self._path)!r} has a second name (a hard link), so SQLite would keep a log for each "
                "name, and lines would be lost. Nothing was charged.",
                remedy="Remove the other name; to keep a copy, copy the file.",
            )

    def close(self) -> None:
        """Close the connection, except during a transaction."""
        if self._connection is not None and not self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def give_up(self) -> None:
        """Abandon the connection of the parent process, without closing it."""
        if self._connection is not None:
            _inherited.append(self._connection)
            self._connection = None

    def _same_logs(self) -> bool:
        """Return whether both log files are unchanged.

        SQLite creates them at the first transaction and keeps them while open.
        """
        if self._logs_open is None and (self._connection is None or not self._connection.in_transaction):
            return True
        found = [identity(log) for log in self._logs]
        if self._logs_open is None:
            self._logs_open = found
        return None not in found and found == self._logs_open

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


class _Open(threading.local):
    def __init__(self) -> None:
        self.handles: dict[Path, Handle] = {}
        self.used: set[Path] = set()


_open = _Open()
_all: "weakref.WeakSet[Handle]" = weakref.WeakSet()
_making = threading.Lock()
_waiting: list[Handle] = []  # during a fork: every handle, none of them in use
_inherited: list[sqlite3.Connection] = []


@contextmanager
def borrow(path: Path) -> Iterator[Handle]:
    """Yield the handle of this thread on ``path``, while no other thread forks."""
    handle = _open.handles.get(path)
    if handle is None:
        handle = Handle(path)
        with _making:
            _all.add(handle)
        _open.handles[path] = handle
    with handle.turn:
        yield handle


def forget(path: Path) -> None:
    """Close the connection of this thread to ``path``, if there is one."""
    handle = _open.handles.pop(path, None)
    if handle is not None:
        handle.close()


def identity(path: Path | str) -> FileId:
    """Return device and inode of the file at ``path``; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    found = open_connection(path)
    try:
        _require_tables(found, path)
        found.execute("PRAGMA journal_mode = WAL")
    except BaseException:
        found.close()
        raise
    return found


def _connect_frozen(path: Path, log: str) -> sqlite3.Connection:
    """Return a connection to an immutable file, without a log."""
    if not os.access(path, os.R_OK):
        raise UnreadableLedgerError(f"the ledger {str(path)!r} cannot be read: permission denied. It was not verified.")
    if os.path.exists(log) and os.path.getsize(log):
        raise UnreadableLedgerError(
            f"the ledger {str(path)!r} is on a read-only medium, and its log {os.path.basename(log)!r} holds lines "
            "missing from the file. SQLite merges them on a writable disk only. The ledger was not read.",
            remedy="Copy the file, the log and the .lock file to a private directory on a writable disk, and use that "
            "copy.",
        )
    found = open_connection(path, IMMUTABLE)
    try:
        _require_tables(found, path)
    except BaseException:
        found.close()
        raise
    return found


def _require_tables(connection: sqlite3.Connection, path: Path) -> None:
    if "ledger" not in schema_names(connection):
        raise LedgerError(
            f"the file {str(path)!r} holds no ledger: it is another file, or empty.",
            remedy="Give the path of a ledger.",
            code=NO_LEDGER,
        )


def _is_read_only(path: Path) -> bool:
    """Return whether this process cannot write the file, or cannot create a log beside it."""
    return not os.access(path, os.W_OK) or not os.access(Path(os.path.realpath(path)).parent, os.W_OK)


def _state(path: Path) -> FileState:
    """Return size and time of the file, and the size of its log, to detect changes."""
    found, log = os.stat(path), f"{os.path.realpath(path)}-wal"
    return found.st_size, found.st_mtime_ns, os.path.getsize(log) if os.path.exists(log) else 0


def open_connection(path: Path, mode: str = "mode=rw") -> sqlite3.Connection:
    """Return a connection to a file, whatever its content; opening it changes nothing."""
    if sqlite3.sqlite_version_info < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise LedgerError(f"a ledger requires SQLite {wanted} or newer; this Python has {sqlite3.sqlite_version}.")
    address = f"file:{quote(os.fsencode(path))}?{mode}"  # never creates a file
    found = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        # fullfsync: FULL relies on it, and macOS does it only on request
        for pragma in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF"):
            found.execute(f"PRAGMA {pragma}")
    except BaseException:
        found.close()
        raise
    return found


def schema_names(connection: sqlite3.Connection) -> set[str]:
    """Return the names of all tables, indices and triggers."""
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}


@contextmanager
def exclusive_use(path: Path) -> Iterator[None]:
    """Refuse nested use of a ledger by the same thread, which would wait for itself.

    Raises
    ------
    LedgerError
        Inside a transaction, as in a signal handler that interrupts one.
    """
    if path in _open.used:
        raise LedgerError(
            f"the ledger {str(path)!r} is already in use by this thread. Nothing was charged.",
            remedy="Use it outside of signal handlers and finalizers.",
        )
    try:
        _open.used.add(path)
        yield
    finally:
        _open.used.discard(path)


def _before_fork() -> None:
    _making.acquire()
    for handle in list(_all):
        handle.turn.acquire()
        _waiting.append(handle)
        handle.close()


def _after_fork() -> None:
    while _waiting:
        _waiting.pop().turn.release()
    _making.release()


def _after_fork_in_child() -> None:
    for handle in _waiting:
        handle.give_up()
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
