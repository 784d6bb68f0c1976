# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Backup of a ledger as a script for psql, which restores it in an empty database."""

from collections.abc import Iterator

from dperm.ledger.entry import COLUMNS
from dperm.ledger.postgres.connections import Connection
from dperm.ledger.postgres.tables import SCHEMA, tables

_HEAD = """\
-- Backup of a dperm ledger of format {number}. It holds the signing key of the ledger: keep it private.
-- Restore: psql --set ON_ERROR_STOP=1 -d DATABASE -f THIS_FILE, as the role that will own the ledger. Then grant the
-- writers again (dperm.ledger.postgres.roles.grant_writers), and verify it against an anchor.
"""


def script(connection: Connection, number: int) -> str:
    """Return the whole ledger of this format, as of the transaction of the connection."""
    return "\n".join([_HEAD.format(number=number), *(f"{one};" for one in _statements(connection, number)), ""])


def _statements(connection: Connection, number: int) -> Iterator[str]:
    from psycopg.sql import SQL, Literal

    def inserted(query: str, rows: str) -> Iterator[str]:
        for row in connection.execute(rows.encode()):
            values = SQL(", ").join(map(Literal, row)).as_string(connection)
            yield f"{query} VALUES ({values})"

    yield "BEGIN"
    yield SCHEMA
    yield from tables(number)
    yield from inserted("INSERT INTO dperm.ledger", "SELECT * FROM dperm.ledger")
    meter = "account, name, capacity, spent"
    yield from inserted(f"INSERT INTO dperm.meter ({meter})", f"SELECT {meter} FROM dperm.meter ORDER BY 1, 2")
    entry = f"number, {COLUMNS}"
    yield from inserted(
        f"INSERT INTO dperm.entry ({entry}) OVERRIDING SYSTEM VALUE",
        f"SELECT {entry} FROM dperm.entry ORDER BY number",
    )
    yield "SELECT setval('dperm.entry_number_seq', (SELECT COALESCE(MAX(number), 0) + 1 FROM dperm.entry), false)"
    yield "COMMIT"
