# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Open connections: one for each thread and URL, made when it is first needed.

A ledger object holds a URL only. A copy of the process neither uses nor closes the connections of its parent. No
message holds a password, nor the error of a failed connection, which may.
"""

import atexit
import os
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from dperm.errors import LedgerError
from dperm.ledger.postgres.words import named
from dperm.ledger.transact import Interrupted
from dperm.ledger.urls import is_clear

if TYPE_CHECKING:
    import psycopg

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

OLDEST = 14
"""The oldest major version of the server."""
MOST = 4
"""Connections that a thread keeps open, to as many URLs."""
_DEFAULTS = {
    "application_name": "dperm",
    "connect_timeout": "10",
    # a server that vanished is noticed within half a minute, not after two hours
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


class Handle:
    """A connection, closed with its last reference."""

    def __init__(self, location: str) -> None:
        self._process = os.getpid()
        self.connection = _connect(location)
        _all.add(self)

    def close(self) -> None:
        """Close it; in a copy of the process, let go of it."""
        with suppress(Exception):  # also while Python shuts down; the server notices in any case
            if os.getpid() == self._process:
                self.connection.close()
            else:  # Python drops the threads of the parent before our own hook is called
                self.give_up()

    def give_up(self) -> None:
        """Let go of the connection of a parent process, without a word to the server."""
        with suppress(Exception):
            os.close(self.connection.pgconn.socket)  # or the server would not notice when the parent dies
        with suppress(Exception):
            del self.connection.pgconn

    def __del__(self) -> None:
        self.close()


class _Open(threading.local):
    def __init__(self) -> None:
        self.handles: dict[str, Handle] = {}


_open = _Open()
_all: "weakref.WeakSet[Handle]" = weakref.WeakSet()
_reached: set[str] = set()


def connection(location: str) -> Connection:
    """The connection of this thread.

    Raises
    ------
    Interrupted
        If the server cannot be reached, and could before.
    LedgerError
        If it cannot be reached, and never was.
    """
    handle = _open.handles.pop(location, None)
    if handle is None or handle.connection.closed:
        _make_room()
        handle = Handle(location)
    _open.handles[location] = handle  # the last one used is the last one
    return handle.connection


def forget(location: str) -> None:
    """Close the connection of this thread, if there is one."""
    handle = _open.handles.pop(location, None)
    if handle is not None:
        handle.close()


def is_busy(connection: Connection) -> bool:
    """Whether it is inside a transaction."""
    from psycopg.pq import TransactionStatus

    return connection.info.transaction_status not in (TransactionStatus.IDLE, TransactionStatus.UNKNOWN)


def _make_room() -> None:
    """Close the connections that were not used for longest; a server has few of them."""
    idle = [location for location, handle in _open.handles.items() if not is_busy(handle.connection)]
    for location in idle[: max(0, len(_open.handles) - MOST + 1)]:
        forget(location)


def _connect(location: str) -> Connection:
    import psycopg

    settings, refused = _settings(location), ""
    try:
        found = psycopg.connect(autocommit=True, prepare_threshold=None, **settings)
    except psycopg.Error as error:
        refused = _reason(location, error, settings) or "no reason is given, as it may quote a password"
    if refused:  # outside of the handler: the error of psycopg must not hang on ours
        kind = Interrupted if location in _reached else LedgerError
        raise kind(f"{named(location)} cannot be reached: {refused}. Is the server running, and the URL right?")
    if found.info.server_version < OLDEST * 10_000:
        found.close()
        raise LedgerError(f"{named(location)} is on a server older than PostgreSQL {OLDEST}. Use a newer one.")
    _reached.add(location)
    return found


def _settings(location: str) -> dict[str, Any]:
    from psycopg import Error, conninfo

    with suppress(Error):
        given = conninfo.conninfo_to_dict(location)
        if not _is_torn(given):
            return {**_DEFAULTS, **given, "client_encoding": "utf8"}
    raise LedgerError(
        f"{named(location)} has a URL that cannot be read. Write postgresql://user@host:5432/database, and %-encode "
        "the special characters of a password, or better keep it in the file ~/.pgpass."
    )


def _is_torn(given: dict[str, Any]) -> bool:
    """Whether part of a password with an @ or / in it was taken for the host or the database, and would be told."""
    host, database = str(given.get("host", "")), str(given.get("dbname", ""))
    return "@" in host.lstrip("@") or ("@" in database and "user" not in given)


def _reason(location: str, error: Exception, settings: dict[str, Any]) -> str:
    """Why it failed, unless that may quote a password: taken for a user, a host or a database, it would be quoted."""
    if not is_clear(location):
        return ""
    said = " ".join(str(error).split())[:400].rstrip(".")
    secrets = (settings.get("password"), settings.get("sslpassword"), os.environ.get("PGPASSWORD"))
    return "" if any(secret and str(secret) in said for secret in secrets) else said


@atexit.register
def _close_all() -> None:
    for location in tuple(_open.handles):
        forget(location)


def _give_up_all() -> None:
    for handle in tuple(_all):
        handle.give_up()
    _open.handles.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_give_up_all)
