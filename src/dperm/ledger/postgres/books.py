# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Books in PostgreSQL, inside one transaction."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, LiteralString, final

from dperm.ledger.anchor import Identity
from dperm.ledger.books import Meter, ReservationCounts, readable_format
from dperm.ledger.entry import COLUMNS, Entry, EntryKind, entry_of, row_of
from dperm.ledger.postgres.schema_check import changes

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

_PAGE = 1000
# Candidates only, by an index of the tables: the server's JSON functions fail on text that JSON allows, such as \u0000.
_SEEDED: LiteralString = """account = %s AND strpos(body, '"seeded": true') > 0 AND kind = 'reserve'"""


@final
class PostgresBooks:
    """Implementation of `dperm.ledger.books.Books` in PostgreSQL."""

    def __init__(self, connection: "Connection[tuple[Any, ...]]") -> None:
        self._connection = connection

    def format(self) -> int:
        """Return the version of the tables."""
        row = self._run("SELECT format FROM dperm.ledger").fetchone()
        return readable_format(None if row is None else row[0])

    def identity(self) -> Identity:
        """Return the keys of the ledger."""
        row = self._run("SELECT format, public_key, signing_key, fingerprint_key FROM dperm.ledger").fetchone()
        readable_format(None if row is None else row[0])
        return Identity(*(row or ())[1:])

    def accounts(self) -> tuple[str, ...]:
        """Return the account names, in the order of their opening."""
        rows = self._run("SELECT account FROM dperm.entry WHERE kind = 'open' ORDER BY number")
        return tuple(name for (name,) in rows)

    def meters(self, account: str) -> dict[str, Meter]:
        """Return the meters of an account by currency."""
        rows = self._run("SELECT name, capacity, spent FROM dperm.meter WHERE account = %s", account)
        return {name: Meter(capacity, spent) for name, capacity, spent in rows}

    def entries(self, account: str) -> Iterator[Entry]:
        """Yield all entries of an account, page by page."""
        last = 0
        while page := self._select("account = %s AND seq > %s ORDER BY seq LIMIT %s", account, last, _PAGE).fetchall():
            yield from map(entry_of, page)
            last = page[-1][1]

    def head(self, account: str) -> Entry | None:
        """Return the last entry of an account."""
        return self._one("account = %s ORDER BY seq DESC LIMIT 1", account)

    def entry(self, account: str, seq: int) -> Entry | None:
        """Return the entry with this number."""
        return self._one("account = %s AND seq = %s", account, seq)

    def of_kind(self, account: str, kind: EntryKind) -> Iterator[Entry]:
        """Return all entries of this kind, in order."""
        return map(entry_of, self._select("account = %s AND kind = %s ORDER BY seq", account, kind.value))

    def latest(self, account: str, kind: EntryKind) -> Entry | None:
        """Return the last entry of this kind."""
        return self._one("account = %s AND kind = %s ORDER BY seq DESC LIMIT 1", account, kind.value)

    def named(self, account: str, kind: EntryKind, request_id: str) -> Entry | None:
        """Return the entry with this request id."""
        return self._one("account = %s AND kind = %s AND request_id = %s", account, kind.value, request_id)

    def closing(self, account: str, about: int) -> Entry | None:
        """Return the entry that closed a reservation."""
        return self._one("account = %s AND about = %s AND kind IN ('commit', 'burn')", account, about)

    def last_lease(self, account: str, about: int) -> Entry | None:
        """Return the last lease of a reservation."""
        return self._one("account = %s AND about = %s AND kind = 'lease' ORDER BY seq DESC LIMIT 1", account, about)

    def stages(self, account: str, about: int) -> Iterator[Entry]:
        """Return the stages of a reservation, in order."""
        return map(
            entry_of, self._select("account = %s AND about = %s AND kind = 'stage' ORDER BY seq", account, about)
        )

    def counts(self, account: str) -> ReservationCounts:
        """Return the number of reservations by outcome."""
        found = dict(self._run("SELECT kind, count(*) FROM dperm.entry WHERE account = %s GROUP BY kind", account))
        reserved, committed, burned = (found.get(kind, 0) for kind in ("reserve", "commit", "burn"))
        seeded = self._select(_SEEDED, account)
        return ReservationCounts(reserved, committed, burned, sum(map(_is_seeded, map(entry_of, seeded))))

    def reserved_before(self, account: str, seq: int) -> int:
        """Return the number of reservations before an entry."""
        query: LiteralString = "SELECT count(*) FROM dperm.entry WHERE account = %s AND kind = 'reserve' AND seq < %s"
        ((found,),) = self._run(query, account, seq)
        return int(found)

    def append(self, entry: Entry) -> None:
        """Write an entry after the last one."""
        query: LiteralString = f"INSERT INTO dperm.entry ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        self._run(query, *row_of(entry))

    def set_meter(self, account: str, name: str, meter: Meter) -> None:
        """Set a meter, or create it; the capacity is written only on a change, since writers may not change it."""
        spent = "UPDATE dperm.meter SET spent = %s WHERE account = %s AND name = %s AND capacity = %s"
        if self._run(spent, meter.spent, account, name, meter.capacity).rowcount == 0:
            self._run(
                "INSERT INTO dperm.meter (account, name, capacity, spent) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT (account, name) DO UPDATE SET capacity = excluded.capacity, spent = excluded.spent",
                *(account, name, meter.capacity, meter.spent),
            )

    def damage(self) -> Iterator[str]:
        """Yield changes of the schema, and accounts without an opening."""
        yield from changes(self._run, self.format())
        unopened = self._run(
            "SELECT account FROM dperm.entry UNION SELECT account FROM dperm.meter "
            "EXCEPT SELECT account FROM dperm.entry WHERE kind = 'open' ORDER BY 1"
        )
        yield from (f"account {name!r}: it was never opened, or its first line is missing." for (name,) in unopened)

    def _run(self, query: LiteralString, *values: str | int | None) -> "Cursor[tuple[Any, ...]]":
        return self._connection.execute(query, values)

    def _select(self, rest: LiteralString, *values: str | int) -> "Cursor[tuple[Any, ...]]":
        return self._run(f"SELECT {COLUMNS} FROM dperm.entry WHERE {rest}", *values)

    def _one(self, rest: LiteralString, *values: str | int) -> Entry | None:
        row = self._select(rest, *values).fetchone()
        return None if row is None else entry_of(row)


def _is_seeded(entry: Entry) -> bool:
    facts = entry.body.get("facts")
    return isinstance(facts, dict) and facts.get("seeded") is True
