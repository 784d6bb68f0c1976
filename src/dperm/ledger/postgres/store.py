# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Transactions on a ledger in a database."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from dperm.errors import LedgerError
from dperm.ledger.anchor import Identity
from dperm.ledger.books import FORMAT
from dperm.ledger.postgres.backup_script import script
from dperm.ledger.postgres.books import PostgresBooks
from dperm.ledger.postgres.connections import Connection
from dperm.ledger.postgres.errors import describe_ledger
from dperm.ledger.postgres.tables import SCHEMA, migration, tables
from dperm.ledger.postgres.transaction import transaction
from dperm.ledger.private_file import private_file, unused_path
from dperm.ledger.verify import require_whole

# Local to the transaction, for compatibility with connection poolers. A stronger setting of
# synchronous_commit stays; a weaker one could lose the last charges in a crash and refund budget. No
# statement_timeout: at COMMIT it would end the wait for a standby with no more than a warning. Locks have their own.
_PREPARE = """
    SELECT current_setting('fsync'), current_setting('full_page_writes'),
        pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
        set_config('search_path', 'pg_catalog', true),
        set_config('lock_timeout', '60s', true),
        set_config('statement_timeout', '0', true),
        set_config('idle_in_transaction_session_timeout', '60s', true),
        set_config('synchronous_commit',
            CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)
"""
_LOCK = "SELECT account FROM dperm.meter WHERE account = ANY(%s) ORDER BY account, name FOR UPDATE"
_FIND = "SELECT 1 FROM pg_tables WHERE schemaname = 'dperm' AND tablename = 'ledger'"
# also for a superuser, whom pg_has_role counts as a member of every role
_STRANGE = """
    WITH RECURSIVE mine (role) AS (
        SELECT oid FROM pg_roles WHERE rolname = current_user
        UNION SELECT roleid FROM pg_auth_members JOIN mine ON member = role
    ), parts (what, owner) AS (
        SELECT 'schema dperm', nspowner FROM pg_namespace JOIN pg_roles r ON r.oid = nspowner
            WHERE nspname = 'dperm' AND NOT rolsuper
        UNION ALL SELECT 'table dperm.' || relname, relowner FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
            WHERE nspname = 'dperm'
        UNION ALL SELECT 'function dperm.' || proname, proowner FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace
            WHERE nspname = 'dperm'
    )
    SELECT what, pg_get_userbyid(owner) FROM parts WHERE owner NOT IN (SELECT role FROM mine) ORDER BY 1
"""
_OPENING = 0x647065726D  # "dperm": advisory lock for opening a ledger or an account
_CHANGE = "ISOLATION LEVEL READ COMMITTED"
_LOOK = "ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@final
@dataclass(frozen=True)
class PostgresStore:
    """Implementation of `dperm.ledger.books.Store` in PostgreSQL.

    A change first locks the meters of its accounts, always in the same order, so no deadlock occurs. Changes of
    different accounts do not wait for each other. A change is on the server's disk when COMMIT returns.
    """

    location: str = field(repr=False)

    def create(self) -> None:
        """Create the schema and its tables, if there are none.

        Only their owner may read them, since they contain the keys.
        """
        with transaction(self.location, _CHANGE) as connection:
            self._prepare(connection)
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_OPENING,))
            self._require_owner(connection)
            if connection.execute(_FIND).fetchone() is None:
                _make_tables(connection)

    def migrate(self, backup: Path | None) -> tuple[int, Path | None]:
        """Bring the tables to the present format, after writing a script that restores the previous ones."""
        with transaction(self.location, _CHANGE) as connection:
            self._prepare(connection)
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_OPENING,))
            books = _books(connection)
            if (before := books.format()) == FORMAT:
                return before, None
            self._require_owner(connection)
            connection.execute("LOCK TABLE dperm.meter, dperm.entry, dperm.ledger IN EXCLUSIVE MODE")
            require_whole(books, after="Restore the ledger, and verify it against the anchor of the last artefact.")
            default = Path.cwd() / f"dperm-ledger-{books.identity().id}.format-{before}.sql"
            written = backup or unused_path(default)
            with private_file(written) as partial:
                partial.write_text(script(connection, before), encoding="utf-8")
            for statement in migration(before):
                connection.execute(statement)
            require_whole(books, after="Report this as a defect of dperm.")
        return before, written

    def backup(self, path: Path) -> None:
        """Write a script for psql, with mode 0600, to restore the ledger in an empty database."""
        with transaction(self.location, _LOOK) as connection:
            connection.execute("SELECT set_config('search_path', 'pg_catalog', true)")
            books = _books(connection)
            require_whole(books, after="Verify the ledger against the anchor of the last artefact.")
            with private_file(path) as partial:
                partial.write_text(script(connection, books.format()), encoding="utf-8")

    @contextmanager
    def read(self) -> Iterator[PostgresBooks]:
        """Yield a consistent snapshot of the books."""
        with transaction(self.location, _LOOK) as connection:
            connection.execute("SELECT set_config('search_path', 'pg_catalog', true)")
            yield _books(connection)

    @contextmanager
    def write(self, accounts: Iterable[str]) -> Iterator[PostgresBooks]:
        """Yield the books for writing.

        Waits for other changes to the same accounts. When an account is opened, also waits for other openings to
        finish.
        """
        with transaction(self.location, _CHANGE) as connection:
            self._prepare(connection)
            names = sorted(set(accounts))
            locked = connection.execute(_LOCK, (names,)).fetchall()
            if {name for (name,) in locked} != set(names):
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_OPENING,))
                connection.execute(_LOCK, (names,))  # accounts opened while waiting
            yield _books(connection)

    def _require_owner(self, connection: Connection) -> None:
        """Refuse objects owned by another role, which could remove the books or omit their guards."""
        for what, owner in connection.execute(_STRANGE):
            raise LedgerError(
                f"{describe_ledger(self.location)} cannot be opened: the {what} belongs to another role, {owner!r}, "
                "which could change the books. Nothing was opened.",
                remedy="Give the URL of the owner, or make your role the owner.",
            )

    def _prepare(self, connection: Connection) -> None:
        """Set the transaction settings of a change; refuse a server without durable commits."""
        fsync, pages, read_only, *_ = connection.execute(_PREPARE).fetchone() or ("off", "off", True)
        if read_only:
            raise LedgerError(
                f"{describe_ledger(self.location)} can only be read: the server is a standby, or set to read only. "
                "Nothing was charged.",
                remedy="Give the URL of the primary server.",
            )
        if fsync != "on" or pages != "on":
            raise LedgerError(
                f"{describe_ledger(self.location)} is on a server with fsync={fsync} and full_page_writes={pages}: a "
                "crash could lose charges and refund budget. Nothing was charged.",
                remedy="Set both to on.",
            )


def _books(connection: Connection) -> PostgresBooks:
    books = PostgresBooks(connection)
    books.identity()  # raises if there is no ledger, or one of another format
    return books


def _make_tables(connection: Connection) -> None:
    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'dperm'").fetchone() is None:
        connection.execute(SCHEMA)  # an administrator may have created it, for a role without this right
    for statement in tables():
        connection.execute(statement)
    keys = Identity.generate()
    values = (FORMAT, keys.public_key, keys.signing_key, keys.fingerprint_key)
    connection.execute("INSERT INTO dperm.ledger VALUES (%s, %s, %s, %s)", values)
