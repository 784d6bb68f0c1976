# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Open connections: one per thread and URL, created on first use.

A ledger object holds a URL only. A forked process neither uses nor closes the connections of its parent. No message
contains a password, nor the error of a failed connection, since it may contain one.
"""

import atexit
import os
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from dperm.errors import LedgerError
from dperm.ledger.postgres.errors import describe_ledger
from dperm.ledger.stores import is_clear
from dperm.ledger.transactions import TransactionInterruptedError

if TYPE_CHECKING:
    import psycopg

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

OLDEST = 14
"""Oldest supported major version of the server."""
MOST = 4
"""Largest number of connections kept open by a thread, one per URL."""
_DEFAULTS = {
    "application_name": "dperm",
    "connect_timeout": "10",
    # a vanished server is detected within half a minute, not after two hours
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


class Handle:
    """Connection to a database, closed with its last reference."""

    def __init__(self, location: str) -> None:
        self._process = os.getpid()
        self.connection = _connect(location)
        _all.add(self)

    def close(self) -> None:
        """Close the connection; in a forked process, abandon it."""
        with suppress(Exception):  # also during interpreter shutdown; the server detects it in any case
            if os.getpid() == self._process:
                self.connection.close()
            else:  # Python drops the parent's threads before our own hook runs
                self.give_up()

    def give_up(self) -> None:
        """Abandon the connection of a parent process, without a message to the server."""
        with suppress(Exception):
            os.close(self.connection.pgconn.socket)  # otherwise the server would not detect the parent's death
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
    """Return the connection of this thread.

    Raises
    ------
    TransactionInterruptedError
        If the server cannot be reached now, but could before.
    LedgerError
        If the server was never reached.
    """
    handle = _open.handles.pop(location, None)
    if handle is None or handle.connection.closed:
        _make_room()
        handle = Handle(location)
    _open.handles[location] = handle  # most recently used last
    return handle.connection


def forget(location: str) -> None:
    """Close the connection of this thread, if there is one."""
    handle = _open.handles.pop(location, None)
    if handle is not None:
        handle.close()


def is_busy(connection: Connection) -> bool:
    """Return whether the connection is inside a transaction."""
    from psycopg.pq import TransactionStatus

    return connection.info.transaction_status not in (TransactionStatus.IDLE, TransactionStatus.UNKNOWN)


def _make_room() -> None:
    """Close the least recently used connections; servers allow few."""
    idle = [location for location, handle in _open.handles.items() if not is_busy(handle.connection)]
    for location in idle[: max(0, len(_open.handles) - MOST + 1)]:
        forget(location)


def _connect(location: str) -> Connection:
    import psycopg

    settings, refused = _settings(location), ""
    try:
        found = psycopg.connect(autocommit=True, prepare_threshold=None, **settings)
    except psycopg.Error as error:
        refused = _reason(location, error, settings) or "no reason is shown, as it may quote a password"
    if refused:  # outside of the handler: psycopg's error must not be chained to ours
        kind = TransactionInterruptedError if location in _reached else LedgerError
        raise kind(
            f"{describe_ledger(location)} cannot be reached: {refused}.",
            remedy="Check that the server is running and the URL is right.",
        )
    if found.info.server_version < OLDEST * 10_000:
        found.close()
        raise LedgerError(
            f"{describe_ledger(location)} is on a server older than PostgreSQL {OLDEST}.", remedy="Use a newer server."
        )
    _reached.add(location)
    return found


def _settings(location: str) -> dict[str, Any]:
    from psycopg import Error, conninfo

    with suppress(Error):
        given = conninfo.conninfo_to_dict(location)
        if not _is_torn(given):
            return {**_DEFAULTS, **given, "client_encoding": "utf8"}
    raise LedgerError(
        f"{describe_ledger(location)} has a URL that cannot be parsed.",
        remedy="Write postgresql://user@host:5432/database, and %-encode the special characters of a password, or "
        "better store it in the file ~/.pgpass.",
    )


def _is_torn(given: dict[str, Any]) -> bool:
    """Return whether part of a password with an @ or / was parsed as host or database, and would be shown."""
    host, database = str(given.get("host", "")), str(given.get("dbname", ""))
    return "@" in host.lstrip("@") or ("@" in database and "user" not in given)


def _reason(location: str, error: Exception, settings: dict[str, Any]) -> str:
    """Return the reason of a failure; "" if it may quote a password parsed as user, host or database."""
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
