# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One transaction on the connection of this thread: written when the block is left, undone if it raises."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import LiteralString

from dperm.errors import LedgerError
from dperm.ledger.postgres import connections
from dperm.ledger.postgres.connections import Connection
from dperm.ledger.postgres.words import in_words, named


@contextmanager
def transaction(location: str, kind: LiteralString) -> Iterator[Connection]:
    """The connection, inside a transaction of this kind.

    Raises
    ------
    Interrupted
        If it was cut off, at COMMIT perhaps: then nobody knows whether it was written.
    LedgerError
        If the server cannot be used, or refuses.
    """
    _require_driver()
    import psycopg

    ending = False
    try:
        connection = _idle(location)
        try:
            connection = _begun(location, connection, kind)
            yield connection
            ending = "READ ONLY" not in kind
            _commit(location, connection)
        except BaseException:
            _undo(location, connection)
            raise
    except psycopg.Error as error:
        raise in_words(location, error, ending=ending) from None


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise LedgerError(
            'a ledger in PostgreSQL needs psycopg 3, which is not installed: pip install "dperm[postgres]".'
        ) from None


def _idle(location: str) -> Connection:
    connection = connections.connection(location)
    if connections.is_busy(connection):
        raise LedgerError(f"{named(location)} is in use in this thread: end the one transaction before the next.")
    return connection


def _begun(location: str, connection: Connection, kind: LiteralString) -> Connection:
    from psycopg import OperationalError

    try:
        connection.execute(f"BEGIN {kind}")
    except OperationalError:  # the server was restarted since the last transaction, and this one has not begun
        connections.forget(location)
        connection = connections.connection(location)
        connection.execute(f"BEGIN {kind}")
    return connection


def _commit(location: str, connection: Connection) -> None:
    said = connection.execute("COMMIT").statusmessage
    if said != "COMMIT":  # the answer to COMMIT after a statement that failed is ROLLBACK, and no error
        raise LedgerError(f"{named(location)} undid the transaction, since a statement of it failed. Nothing changed.")


def _undo(location: str, connection: Connection) -> None:
    from psycopg import Error
    from psycopg.pq import TransactionStatus

    if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        with suppress(Error):
            connection.execute("ROLLBACK")
    if connection.info.transaction_status is not TransactionStatus.IDLE:  # lost, or stuck in a statement
        connections.forget(location)
