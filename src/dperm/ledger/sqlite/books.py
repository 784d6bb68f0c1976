# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Books in SQLite, inside one transaction."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from typing import final

from dperm.errors import LedgerError
from dperm.ledger.anchor import Identity
from dperm.ledger.books import Meter, ReservationCounts, readable_format
from dperm.ledger.entry import COLUMNS, Entry, EntryKind, entry_of, row_of
from dperm.ledger.locking import LedgerMark
from dperm.ledger.sqlite.tables import tables

_COUNTS = "SELECT kind, COUNT(*) FROM entry WHERE account = ? GROUP BY kind"
# instr() as in the index of the tables: the other two conditions run on few lines
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
    """Implementation of `dperm.ledger.books.Books` in SQLite."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def format(self) -> int:
        """Return the version of the tables."""
        row = self._connection.execute("SELECT format FROM ledger").fetchone()
        return readable_format(None if row is None else row[0])

    def identity(self) -> Identity:
        """Return the keys of the ledger."""
        row = self._connection.execute("SELECT format, public_key, signing_key, fingerprint_key FROM ledger").fetchone()
        readable_format(None if row is None else row[0])
        return Identity(*row[1:])

    def accounts(self) -> tuple[str, ...]:
        """Return the account names, in the order of their opening."""
        rows = self._connection.execute("SELECT account FROM entry WHERE kind = 'open' ORDER BY number")
        return tuple(name for (name,) in rows)

    def meters(self, account: str) -> dict[str, Meter]:
        """Return the meters of an account by currency; raise LedgerError for damaged ones."""
        rows = self._connection.execute("SELECT name, capacity, spent FROM meter WHERE account = ?", (account,))
        found = {name: Meter(capacity, spent) for name, capacity, spent in rows}
        if not all(type(number) is int for meter in found.values() for number in (meter.capacity, meter.spent)):
            raise LedgerError(f"the meters of account {account!r} cannot be read: the ledger is damaged.")
        return found

    def entries(self, account: str) -> Iterator[Entry]:
        """Return all entries of an account, in order."""
        return map(entry_of, self._select("account = ? ORDER BY seq", account))

    def head(self, account: str) -> Entry | None:
        """Return the last entry of an account."""
        return self._one("account = ? ORDER BY seq DESC LIMIT 1", account)

    def entry(self, account: str, seq: int) -> Entry | None:
        """Return the entry with this number."""
        return self._one("account = ? AND seq = ?", account, seq)

    def of_kind(self, account: str, kind: EntryKind) -> Iterator[Entry]:
        """Return all entries of this kind, in order."""
        return map(entry_of, self._select("account = ? AND kind = ? ORDER BY seq", account, kind.value))

    def latest(self, account: str, kind: EntryKind) -> Entry | None:
        """Return the last entry of this kind."""
        return self._one("account = ? AND kind = ? ORDER BY seq DESC LIMIT 1", account, kind.value)

    def named(self, account: str, kind: EntryKind, request_id: str) -> Entry | None:
        """Return the entry with this request id."""
        return self._one("account = ? AND kind = ? AND request_id = ?", account, kind.value, request_id)

    def closing(self, account: str, about: int) -> Entry | None:
        """Return the entry that closed a reservation."""
        return self._one("account = ? AND about = ? AND kind IN ('commit', 'burn')", account, about)

    def last_lease(self, account: str, about: int) -> Entry | None:
        """Return the last lease of a reservation."""
        return self._one("account = ? AND about = ? AND kind = 'lease' ORDER BY seq DESC LIMIT 1", account, about)

    def stages(self, account: str, about: int) -> Iterator[Entry]:
        """Return the stages of a reservation, in order."""
        return map(entry_of, self._select("account = ? AND about = ? AND kind = 'stage' ORDER BY seq", account, about))

    def counts(self, account: str) -> ReservationCounts:
        """Return the number of reservations by outcome."""
        found = dict(self._connection.execute(_COUNTS, (account,)).fetchall())
        (seeded,) = self._connection.execute(_SEEDED, (account,)).fetchone()
        reserved, committed, burned = (found.get(kind, 0) for kind in ("reserve", "commit", "burn"))
        return ReservationCounts(reserved, committed, burned, seeded)

    def reserved_before(self, account: str, seq: int) -> int:
        """Return the number of reservations before an entry."""
        query = "SELECT COUNT(*) FROM entry WHERE account = ? AND kind = 'reserve' AND seq < ?"
        return int(self._connection.execute(query, (account, seq)).fetchone()[0])

    def append(self, entry: Entry) -> None:
        """Write an entry after the last one."""
        query = f"INSERT INTO entry ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(query, row_of(entry))

    def set_meter(self, account: str, name: str, meter: Meter) -> None:
        """Set a meter, or create it."""
        values = (meter.capacity, meter.spent, account, name)
        update = "UPDATE meter SET capacity = ?, spent = ? WHERE account = ? AND name = ?"
        if self._connection.execute(update, values).rowcount == 0:
            self._connection.execute("INSERT INTO meter (capacity, spent, account, name) VALUES (?, ?, ?, ?)", values)

    def damage(self) -> Iterator[str]:
        """Yield damage found by SQLite in its file, and changes of tables and triggers."""
        for (found,) in self._connection.execute("PRAGMA integrity_check(10)"):
            if found != "ok":
                yield f"the file is damaged: {found}"
        query = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
        made = sorted(statement.split() for statement in tables(self.format()))
        if sorted(sql.split() for (sql,) in self._connection.execute(query)) != made:
            yield "the tables or their triggers differ from those of a new ledger."
        if self._connection.execute("SELECT COUNT(*) <> COALESCE(MAX(number), 0) FROM entry").fetchone()[0]:
            yield "lines are missing between the first one of the ledger and the last."
        for table in ("entry", "meter"):
            for (name,) in self._connection.execute(_UNOPENED.format(table=table)):
                yield f"account {name!r} has a line or a meter, but was never opened."

    def mark(self) -> LedgerMark | None:
        """Return the last entry over all accounts, and a digest of all accounts."""
        row = self._connection.execute("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1").fetchone()
        return None if row is None else LedgerMark(row[0], row[1], self._standing())

    def holds(self, mark: LedgerMark) -> bool:
        """Return whether the entry of a mark exists."""
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
