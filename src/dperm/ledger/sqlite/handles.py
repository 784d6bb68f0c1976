# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Open connections: one for each thread and file, made when it is first needed.

A ledger object holds a path only. Opening SQLite anew for every line would cost more than the line, so the connection
stays open; a copy of the process never uses that of its parent, and a file that took another's place is refused:
whoever still writes to the old one would spend a budget that nobody sees.
"""

import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from dperm.errors import LedgerError

OLDEST = (3, 38, 0)
"""STRICT tables and the operator ->> of JSON."""
PATIENCE = 60.0
"""Seconds to wait for whoever holds the database without the lock beside it."""


class Handle:
    """A connection, the file that it is open on, and the process that opened it."""

    def __init__(self, path: Path) -> None:
        self.process = os.getpid()
        self.file = identity(path)
        self.connection = _connect(path)

    def __del__(self) -> None:
        if getattr(self, "process", None) == os.getpid():
            with suppress(sqlite3.Error, AttributeError):
                self.connection.close()


class _Open(threading.local):
    def __init__(self) -> None:
        self.handles: dict[Path, Handle] = {}


_open = _Open()
_inherited: list[Handle] = []  # of a parent process: neither used nor closed here


def connection(path: Path) -> sqlite3.Connection:
    """The connection of this thread to ``path``.

    Raises
    ------
    LedgerError
        If another file has taken the place of the one that it is open on.
    """
    handle = _open.handles.get(path)
    if handle is not None and handle.process != os.getpid():
        _inherited.append(_open.handles.pop(path))
        handle = None
    if handle is None:
        handle = _open.handles[path] = Handle(path)
    require_same_file(path)
    return handle.connection


def require_same_file(path: Path) -> None:
    """Refuse a ledger whose file was replaced or removed while it was open."""
    if _open.handles[path].file != identity(path):
        raise LedgerError(
            f"the file {str(path)!r} was replaced or removed while the ledger was open: what is charged now would be "
            "lost with the old one. Nothing was charged. Find out who did it, verify the file against an anchor, and "
            "start the process anew."
        )


def forget(path: Path) -> None:
    """Close the connection of this thread to ``path``, if there is one."""
    _open.handles.pop(path, None)


def identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at ``path``; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise LedgerError(f"a ledger needs SQLite {wanted} or newer, and this Python has {sqlite3.sqlite_version}.")
    address = f"file:{quote(str(path))}?mode=rw"  # never makes a file by itself
    found = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "trusted_schema = OFF"):
        found.execute(f"PRAGMA {pragma}")
    return found
