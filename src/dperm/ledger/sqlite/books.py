# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The books in SQLite, inside one transaction."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from typing import final

from dperm.errors import LedgerError
from dperm.ledger.anchor import Identity
from dperm.ledger.books import Counts, Meter, readable_format
from dperm.ledger.entry import Entry, Kind
from dperm.ledger.locking import Mark
from dperm.ledger.rows import COLUMNS, entry_of, row_of
from dperm.ledger.sqlite.tables import tables

_COUNTS = "SELECT kind, COUNT(*) FROM entry WHERE account = ? GROUP BY kind"
# instr() as in the index of the tables: few lines are left for the other two conditions
_SEEDED = """
    SELECT COUNT(*) FROM entry INDEXED BY seeded
    WHERE account = ? AND instr(body, '"seeded": true') AND kind = 'reserve' AND body ->> '$.facts.seeded' = 1
"""
_HEADS = """
    SELECT account, seq, hash FROM (SELECT account AS name FROM entry WHERE kind = 'open' ORDER BY number)
    JOIN entry ON account = name AND seq = (SELECT MAX(seq) FROM entry WHERE account = name)
"""
_UNOPENED = "SELECT DISTINCT account FROM {table} EXCEPT SELECT account FROM entry WHERE kind = 'open'"


@final
class SQLiteBooks:
    """Implements `dperm.ledger.books.Books`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def format(self) -> int:
        """The version of the tables."""
        row = self._connection.execute("SELECT format FROM ledger").fetchone()
        return readable_format(None if row is None else row[0])

    def identity(self) -> Identity:
        """The keys of the ledger."""
        row = self._connection.execute("SELECT format, public_key, signing_key, fingerprint_key FROM ledger").fetchone()
        readable_format(None if row is None else row[0])
        return Identity(*row[1:])

    def accounts(self) -> tuple[str, ...]:
        """The names of the accounts."""
        rows = self._connection.execute("SELECT account FROM entry WHERE kind = 'open' ORDER BY number")
        return tuple(name for (name,) in rows)

    def meters(self, account: str) -> dict[str, Meter]:
        """The meters by currency."""
        rows = self._connection.execute("SELECT name, capacity, spent FROM meter WHERE account = ?", (account,))
        found = {name: Meter(capacity, spent) for name, capacity, spent in rows}
        if not all(type(number) is int for meter in found.values() for number in (meter.capacity, meter.spent)):
            raise LedgerError(f"the meters of account {account!r} cannot be read: the ledger is damaged.")
        return found

    def entries(self, account: str) -> Iterator[Entry]:
        """All lines of an account."""
        return map(entry_of, self._select("account = ? ORDER BY seq", account))

    def head(self, account: str) -> Entry | None:
        """The last line."""
        return self._one("account = ? ORDER BY seq DESC LIMIT 1", account)

    def entry(self, account: str, seq: int) -> Entry | None:
        """The line of this number."""
        return self._one("account = ? AND seq = ?", account, seq)

    def of_kind(self, account: str, kind: Kind) -> Iterator[Entry]:
        """All lines of this kind."""
        return map(entry_of, self._select("account = ? AND kind = ? ORDER BY seq", account, kind.value))

    def latest(self, account: str, kind: Kind) -> Entry | None:
        """The last line of this kind."""
        return self._one("account = ? AND kind = ? ORDER BY seq DESC LIMIT 1", account, kind.value)

    def named(self, account: str, kind: Kind, request_id: str) -> Entry | None:
        """The line with this request id."""
        return self._one("account = ? AND kind = ? AND request_id = ?", account, kind.value, request_id)

    def closing(self, account: str, about: int) -> Entry | None:
        """The line that closed a reservation."""
        return self._one("account = ? AND about = ? AND kind IN ('commit', 'burn')", account, about)

    def last_lease(self, account: str, about: int) -> Entry | None:
        """The last lease of a reservation."""
        return self._one("account = ? AND about = ? AND kind = 'lease' ORDER BY seq DESC LIMIT 1", account, about)

    def counts(self, account: str) -> Counts:
        """How many reservations there are."""
        found = dict(self._connection.execute(_COUNTS, (account,)).fetchall())
        (seeded,) = self._connection.execute(_SEEDED, (account,)).fetchone()
        reserved, committed, burned = (found.get(kind, 0) for kind in ("reserve", "commit", "burn"))
        return Counts(reserved, committed, burned, seeded)

    def reserved_before(self, account: str, seq: int) -> int:
        """How many reservations stand before a line."""
        query = "SELECT COUNT(*) FROM entry WHERE account = ? AND kind = 'reserve' AND seq < ?"
        return int(self._connection.execute(query, (account, seq)).fetchone()[0])

    def append(self, entry: Entry) -> None:
        """Write a line."""
        query = f"INSERT INTO entry ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(query, row_of(entry))

    def set_meter(self, account: str, name: str, meter: Meter) -> None:
        """Set or make a meter."""
        values = (meter.capacity, meter.spent, account, name)
        update = "UPDATE meter SET capacity = ?, spent = ? WHERE account = ? AND name = ?"
        if self._connection.execute(update, values).rowcount == 0:
            self._connection.execute("INSERT INTO meter (capacity, spent, account, name) VALUES (?, ?, ?, ?)", values)

    def damage(self) -> Iterator[str]:
        """What SQLite finds wrong with its file, and whether its tables and triggers are the ones we made."""
        for (found,) in self._connection.execute("PRAGMA integrity_check(10)"):
            if found != "ok":
                yield f"the file is damaged: {found}"
        query = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
        made = sorted(statement.split() for statement in tables(self.format()))
        if sorted(sql.split() for (sql,) in self._connection.execute(query)) != made:
            yield "the tables, or the triggers that guard them, are not the ones that a ledger is made with."
        if self._connection.execute("SELECT COUNT(*) <> COALESCE(MAX(number), 0) FROM entry").fetchone()[0]:
            yield "lines are missing between the first one of the ledger and the last."
        for table in ("entry", "meter"):
            for (name,) in self._connection.execute(_UNOPENED.format(table=table)):
                yield f"account {name!r} has a line or a meter, and was never opened."

    def mark(self) -> Mark | None:
        """The last line of all accounts, and a digest of how each of them stands."""
        row = self._connection.execute("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1").fetchone()
        return None if row is None else Mark(row[0], row[1], self._standing())

    def holds(self, mark: Mark) -> bool:
        """Whether the line of a mark is there."""
        query = "SELECT 1 FROM entry WHERE number = ? AND hash = ?"
        return self._connection.execute(query, (mark.number, mark.hash)).fetchone() is not None

    def _standing(self) -> str:
        heads = self._connection.execute(_HEADS).fetchall()
        meters = self._connection.execute("SELECT account, name, capacity, spent FROM meter ORDER BY account, name")
        return hashlib.sha256(json.dumps([heads, meters.fetchall()]).encode()).hexdigest()

    def _select(self, rest: str, *values: str | int) -> sqlite3.Cursor:
        return self._connection.execute(f"SELECT {COLUMNS} FROM entry WHERE {rest}", values)

    def _one(self, rest: str, *values: str | int) -> Entry | None:
        row = self._select(rest, *values).fetchone()
        return None if row is None else entry_of(row)
