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

from dperm.errors import NO_LEDGER, LedgerError
from dperm.ledger.anchor import Identity
from dperm.ledger.books import FORMAT, UnreadableLedgerError
from dperm.ledger.disks import require_local
from dperm.ledger.locking import LedgerMark, exclusive, read_mark
from dperm.ledger.private_file import private_file, unused_path
from dperm.ledger.sqlite import handles
from dperm.ledger.sqlite.books import SQLiteBooks
from dperm.ledger.sqlite.tables import migration, tables
from dperm.ledger.verify import problems_in, require_whole

_NOT_READ = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY)
"""Results of SQLite without information about the content of a file."""


@final
@dataclass(frozen=True)
class SQLiteStore:
    """Implementation of `dperm.ledger.books.Store` in SQLite.

    A change waits for the lock (`dperm.ledger.locking`), starts with BEGIN IMMEDIATE, and is on disk when COMMIT
    returns. The setting synchronous = FULL ensures this. With NORMAL, a power loss could undo the last charges and make
    their budget available again.
    """

    path: Path

    def create(self) -> None:
        """Create the file and its tables, if there are none; only its owner may read it, since it contains the keys."""
        require_local(self.path.parent)
        with self._translated(), handles.exclusive_use(self.path):
            if not self.path.exists():
                self._require_new(read_mark(self.path))
            with suppress(FileExistsError):
                # an existing file is not opened: closing it would release this process's locks on it (POSIX)
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
                handles.forget(self.path)
            require_local(self.path)
            with exclusive(self.path) as lock, closing(handles.open_connection(self.path)) as connection:
                if not handles.schema_names(connection):
                    self._require_new(lock.read())
                    _make_tables(connection)
                    _sync(self.path.parent)

    def migrate(self, backup: Path | None) -> tuple[int, Path | None]:
        """Bring the tables to the present format, after copying the file."""
        with self._translated(), handles.exclusive_use(self.path):
            self._require_file()
            require_local(self.path)
            handles.forget(self.path)
            with exclusive(self.path) as lock, closing(handles.open_connection(self.path)) as connection:
                connection.execute("BEGIN IMMEDIATE")  # an early exit closes the connection and undoes the change
                books = SQLiteBooks(connection)
                before = books.format()
                if before == FORMAT:
                    return before, None
                self._require_whole(books, lock.read(), whole=False)
                written = backup or unused_path(self.path.with_name(f"{self.path.name}.format-{before}"))
                _copy(self.path, written)
                for statement in migration(before):
                    connection.execute(statement)
                require_whole(books, after="Report this as a defect of dperm.")
                connection.execute("COMMIT")
                return before, written

    def backup(self, path: Path) -> None:
        """Write a copy of the file, with mode 0600; the copy is a ledger."""
        with self.read() as books:
            require_whole(books, after="Verify the ledger against the anchor of the last artefact.")
        with self._in_use() as handle:
            if not handle.is_frozen:
                _copy(self.path, path)
                return
            _copy(self.path, path, handles.IMMUTABLE)
            handle.require_same_files()

    @contextmanager
    def read(self) -> Iterator[SQLiteBooks]:
        """Yield a consistent snapshot of the books."""
        with self._in_use() as handle:
            mark = read_mark(self.path)  # before the transaction, which then shows a state at least as new
            with _transaction(handle, "DEFERRED") as connection:
                books = SQLiteBooks(connection)
                self._require_whole(books, mark, whole=mark is None or mark.file == handle.inode)
                handle.require_same_files()
                yield books

    @contextmanager
    def write(self, accounts: Iterable[str]) -> Iterator[SQLiteBooks]:
        """Yield the books for writing; writers of all accounts wait in one queue."""
        with self._in_use() as handle, exclusive(self.path) as lock:
            with _transaction(handle, "IMMEDIATE") as connection:
                books = SQLiteBooks(connection)
                handle.require_same_files()
                mark = lock.read()
                self._require_whole(books, mark, whole=mark == _mark(books, handle))
                yield books
                handle.require_same_files()
                last = _mark(books, handle)
            handle.require_same_files()  # replaced during COMMIT: the line is lost, and no release may follow
            if last is not None:
                with suppress(OSError):  # the line is durable; the mark is optional
                    lock.write(last)

    @contextmanager
    def _in_use(self) -> Iterator[handles.Handle]:
        """Yield the handle of this thread; other threads cannot fork meanwhile, since a fork closes connections."""
        with self._translated(), handles.exclusive_use(self.path):
            self._require_file()
            with handles.borrow(self.path) as handle:
                yield handle

    def _require_file(self) -> None:
        if not self.path.exists():
            raise LedgerError(
                f"there is no ledger at {str(self.path)!r}.", remedy="Open one by dperm ledger open or Ledger.open."
            )

    def _require_new(self, mark: LedgerMark | None) -> None:
        """Refuse a new ledger at the place of an earlier one with entries."""
        if mark is not None:
            raise LedgerError(
                f"there was a ledger at {str(self.path)!r}, according to the mark beside it, and it is missing or "
                "empty. A new one would refund its budget.",
                remedy="Restore it, or choose another path. If nothing real was ever charged to it, remove its .lock "
                "file too.",
            )

    def _require_whole(self, books: SQLiteBooks, mark: LedgerMark | None, *, whole: bool) -> None:
        """Refuse a file without tables, or older than its mark.

        If an older file replaces the ledger, or overwrites it, SQLite applies the log of the old file to it: the last
        entries may exist while others are missing. So a ledger that differs from its mark is verified completely, once.
        This also happens after a crash between an entry and its mark.
        """
        books.identity()
        if not whole and (problems := problems_in(books)):
            raise LedgerError(
                f"the ledger {str(self.path)!r} was changed and is not intact: {problems[0]} Nothing was charged.",
                remedy="Restore the right file, and verify it against the anchor of the last artefact.",
            )
        if mark is not None and not books.holds(mark):
            raise LedgerError(
                f"the ledger {str(self.path)!r} is behind the mark beside it: durable lines are missing, as after a "
                "rollback to an older copy. Nothing was charged.",
                remedy="Restore the right file, and verify it against the anchor of the last artefact.",
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate errors of SQLite and of the disk into ledger errors."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0)  # errors raised by Python itself have none
            kind = UnreadableLedgerError if code & 0xFF in _NOT_READ else LedgerError
            code = NO_LEDGER if _is_other_file(error) else ""
            raise kind(f"the ledger {str(self.path)!r} {_describe_error(error)}", code=code) from error
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


def _copy(path: Path, to: Path, mode: str = "mode=rw") -> None:
    """Write a private copy of a ledger during exclusive access; a connection with an open transaction cannot do it."""
    with (
        private_file(to) as partial,
        closing(sqlite3.connect(partial, timeout=0)) as copy,
        closing(handles.open_connection(path, mode)) as source,
    ):
        source.backup(copy)


def _mark(books: SQLiteBooks, handle: handles.Handle) -> LedgerMark | None:
    last = books.mark()
    return None if last is None else replace(last, file=handle.inode)


def _make_tables(connection: sqlite3.Connection) -> None:
    """Create all tables or none: an early exit closes the connection and undoes the changes."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in tables():
        connection.execute(statement)
    keys = Identity.generate()
    values = (FORMAT, keys.public_key, keys.signing_key, keys.fingerprint_key)
    connection.execute("INSERT INTO ledger VALUES (?, ?, ?, ?)", values)
    connection.execute("COMMIT")


def _sync(directory: Path) -> None:
    """Make the name of a new file durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_other_file(error: sqlite3.Error) -> bool:
    return "no such table" in str(error) or "not a database" in str(error)


def _describe_error(error: sqlite3.Error) -> str:
    said = str(error)
    if _is_other_file(error):
        return "holds no ledger: it is another file, or empty. Give the path of a ledger."
    if "full" in said or "disk I/O" in said:
        return f"cannot be written ({said}). Check the free disk space. Unwritten charges were not released."
    if "malformed" in said:
        return f"is damaged ({said}). Restore an intact copy, and verify it against the anchor of the last artefact."
    if "readonly" in said:
        return f"cannot be written ({said}): its medium is read-only, or permissions are missing. Nothing was charged."
    return f"cannot be used ({said})."
