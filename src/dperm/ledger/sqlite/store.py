# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Transactions on a ledger in a file."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from dperm.errors import LedgerError
from dperm.ledger.anchor import Identity
from dperm.ledger.books import FORMAT, UnreadableLedgerError
from dperm.ledger.disks import require_local
from dperm.ledger.locking import Mark, exclusive, mark_of
from dperm.ledger.private_file import private_file, unused
from dperm.ledger.sqlite import handles
from dperm.ledger.sqlite.books import SQLiteBooks
from dperm.ledger.sqlite.tables import MIGRATION, tables
from dperm.ledger.verify import problems_in, require_whole

_NOT_READ = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY)
"""Results of SQLite that say nothing about the content of a file."""


@final
@dataclass(frozen=True)
class SQLiteStore:
    """Implements `dperm.ledger.books.Store`.

    A change waits for its turn (`dperm.ledger.locking`), begins with BEGIN IMMEDIATE, and is on the disk when COMMIT
    returns (synchronous = FULL: with NORMAL a power loss could undo the last charges, and so give budget back).
    """

    path: Path

    def create(self) -> None:
        """Make the file and its tables, if there are none; only its owner may read it, for it holds the keys."""
        require_local(self.path.parent)
        with self._translated(), handles.alone(self.path):
            if not self.path.exists():
                self._require_new(mark_of(self.path))
            with suppress(FileExistsError):
                # an existing file is not even opened: closing it would drop the locks of this process on it (POSIX)
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
                handles.forget(self.path)
            require_local(self.path)
            with exclusive(self.path) as lock, closing(handles.opened(self.path)) as connection:
                if not handles.names(connection):
                    self._require_new(lock.read())
                    _make_tables(connection)
                    _sync(self.path.parent)

    def migrate(self, backup: Path | None) -> tuple[int, Path | None]:
        """Bring the tables to the present format, after a copy of the file was made."""
        with self._translated(), handles.alone(self.path):
            self._require_file()
            require_local(self.path)
            handles.forget(self.path)
            with exclusive(self.path) as lock, closing(handles.opened(self.path)) as connection:
                connection.execute("BEGIN IMMEDIATE")  # whoever leaves early closes the connection, and undoes it
                books = SQLiteBooks(connection)
                before = books.format()
                if before == FORMAT:
                    return before, None
                self._require_whole(books, lock.read(), whole=False)
                written = backup or unused(self.path.with_name(f"{self.path.name}.format-{before}"))
                _copy(self.path, written)
                for statement in MIGRATION:
                    connection.execute(statement)
                require_whole(books, after="Report this as a defect of dperm.")
                connection.execute("COMMIT")
                return before, written

    def backup(self, path: Path) -> None:
        """Write a copy of the file, with mode 0600, which is a ledger too."""
        with self.read() as books:
            require_whole(books, after="Verify it against the anchor of the last artefact.")
        with self._translated(), handles.alone(self.path):
            _copy(self.path, path)

    @contextmanager
    def read(self) -> Iterator[SQLiteBooks]:
        """The books as they stand at one moment."""
        with self._in_use() as handle:
            mark = mark_of(self.path)  # before the transaction: what it shows is at least as new
            with _transaction(handle, "DEFERRED") as connection:
                books = SQLiteBooks(connection)
                self._require_whole(books, mark, whole=mark is None or mark.file == handle.inode)
                handle.require_same_files()
                yield books

    @contextmanager
    def write(self, accounts: Iterable[str]) -> Iterator[SQLiteBooks]:
        """The books for a change; all accounts wait in one queue."""
        with self._in_use() as handle, exclusive(self.path) as lock:
            with _transaction(handle, "IMMEDIATE") as connection:
                books = SQLiteBooks(connection)
                handle.require_same_files()
                mark = lock.read()
                self._require_whole(books, mark, whole=mark == _mark(books, handle))
                yield books
                handle.require_same_files()
                last = _mark(books, handle)
            handle.require_same_files()  # replaced during COMMIT: the line is lost, and nothing may be released
            if last is not None:
                with suppress(OSError):  # the line is durable; the mark is a help
                    lock.write(last)

    @contextmanager
    def _in_use(self) -> Iterator[handles.Handle]:
        """The handle of this thread. No other thread forks until all is done: that would close what is in use."""
        with self._translated(), handles.alone(self.path):
            self._require_file()
            with handles.borrowed(self.path) as handle:
                yield handle

    def _require_file(self) -> None:
        if not self.path.exists():
            raise LedgerError(f"there is no ledger at {str(self.path)!r}. Open one: dperm ledger open, or Ledger.open.")

    def _require_new(self, mark: Mark | None) -> None:
        """Refuse to begin anew where a ledger had lines."""
        if mark is not None:
            raise LedgerError(
                f"there was a ledger at {str(self.path)!r}, as the mark beside it says, and it is gone or empty. A new "
                "one would give its budget back. Put it back, or choose another path; if nothing real was ever charged "
                "to it, remove its .lock file too."
            )

    def _require_whole(self, books: SQLiteBooks, mark: Mark | None, *, whole: bool) -> None:
        """Refuse a file without tables, and one that is older than its mark.

        Where an older file was put, or copied into the old one, SQLite would read the log of the old file on top of
        it: the last lines may be there, and others not. So what does not stand as the mark says is read from the first
        line to the last, once: after a crash, too, between a line and its mark.
        """
        books.identity()
        if not whole and (problems := problems_in(books)):
            raise LedgerError(
                f"the ledger {str(self.path)!r} is not the file that it was, and is not whole: {problems[0]} Nothing "
                "was charged. Put the right file back, and verify it against the anchor of the last artefact."
            )
        if mark is not None and not books.holds(mark):
            raise LedgerError(
                f"the ledger {str(self.path)!r} is behind the mark beside it: lines that were durable are gone, as if "
                "an older copy had been put in its place, and budget with them. Nothing was charged. Put the right "
                "file back, and verify it against the anchor of the last artefact."
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of SQLite and of the disk as ours."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0)  # Python's own errors have none
            kind = UnreadableLedgerError if code & 0xFF in _NOT_READ else LedgerError
            raise kind(f"the ledger {str(self.path)!r} {_in_words(error)}") from error
        except PermissionError as error:
            raise UnreadableLedgerError(f"the ledger {str(self.path)!r} cannot be read: {error.strerror}.") from error
        except OSError as error:
            raise LedgerError(f"the ledger {str(self.path)!r} cannot be used: {error.strerror}.") from error


@contextmanager
def _transaction(handle: handles.Handle, kind: str) -> Iterator[sqlite3.Connection]:
    connection = handle.connection
    try:
        connection.execute(f"BEGIN {kind}")
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


def _copy(path: Path, to: Path) -> None:
    """Write a private copy of a ledger that nobody changes; a connection in a transaction of its own cannot do it."""
    with (
        private_file(to) as partial,
        closing(sqlite3.connect(partial, timeout=0)) as copy,
        closing(handles.opened(path)) as source,
    ):
        source.backup(copy)


def _mark(books: SQLiteBooks, handle: handles.Handle) -> Mark | None:
    last = books.mark()
    return None if last is None else replace(last, file=handle.inode)


def _make_tables(connection: sqlite3.Connection) -> None:
    """All or nothing: leaving it early closes the connection, and undoes what was done."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in tables():
        connection.execute(statement)
    keys = Identity.fresh()
    values = (FORMAT, keys.public_key, keys.signing_key, keys.fingerprint_key)
    connection.execute("INSERT INTO ledger VALUES (?, ?, ?, ?)", values)
    connection.execute("COMMIT")


def _sync(directory: Path) -> None:
    """Make the name of a new file durable too."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _in_words(error: sqlite3.Error) -> str:
    said = str(error)
    if "no such table" in said or "not a database" in said:
        return "holds no ledger: it is something else, or empty. Give the path of a ledger."
    if "full" in said or "disk I/O" in said:
        return f"cannot be written ({said}): is the disk full? What was not written was not released."
    if "malformed" in said:
        return f"is damaged ({said}). Put a whole copy back, and verify it against the anchor of the last artefact."
    if "readonly" in said:
        return f"cannot be written ({said}): its medium is read-only, or permissions are missing. Nothing was charged."
    return f"cannot be used ({said})."
