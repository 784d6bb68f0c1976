# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Transaction on the connection of this thread: committed on exit, undone on an exception."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import LiteralString

from dperm.errors import LedgerError
from dperm.ledger.postgres import connections
from dperm.ledger.postgres.connections import Connection
from dperm.ledger.postgres.errors import describe_ledger, translate_error


@contextmanager
def transaction(location: str, kind: LiteralString) -> Iterator[Connection]:
    """Yield the connection, inside a transaction of this kind.

    Raises
    ------
    TransactionInterruptedError
        If the connection was lost. After a loss at COMMIT it is unknown whether the change was written.
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
        raise translate_error(location, error, ending=ending) from None


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise LedgerError(
            "a ledger in PostgreSQL requires psycopg 3, which is not installed.",
            remedy='Run: pip install "dperm[postgres]".',
        ) from None


def _idle(location: str) -> Connection:
    connection = connections.connection(location)
    if connections.is_busy(connection):
        raise LedgerError(
            f"{describe_ledger(location)} is in use in this thread.", remedy="End this transaction before the next one."
        )
    return connection


def _begun(location: str, connection: Connection, kind: LiteralString) -> Connection:
    from psycopg import OperationalError

    try:
        connection.execute(f"BEGIN {kind}")
    except OperationalError:  # the server restarted since the last transaction; this one has not started
        connections.forget(location)
        connection = connections.connection(location)
        connection.execute(f"BEGIN {kind}")
    return connection


def _commit(location: str, connection: Connection) -> None:
    said = connection.execute("COMMIT").statusmessage
    if said != "COMMIT":  # after a failed statement, the server answers COMMIT with ROLLBACK and no error
        raise LedgerError(
            f"{describe_ledger(location)} undid the transaction, since one of its statements failed. Nothing changed."
        )


def _undo(location: str, connection: Connection) -> None:
    from psycopg import Error
    from psycopg.pq import TransactionStatus

    if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        with suppress(Error):
            connection.execute("ROLLBACK")
    if connection.info.transaction_status is not TransactionStatus.IDLE:  # lost, or inside a statement
        connections.forget(location)
