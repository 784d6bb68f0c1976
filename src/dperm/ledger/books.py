# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a store of ledgers has to do; `dperm.ledger.sqlite` and `dperm.ledger.postgres` do it.

A store gives transactions, and a transaction gives the books: reads, one way to append a line, and one way to move a
meter. What may be appended is decided above, in `dperm.ledger.bookkeeping`, the same for every store. A store refuses
by itself whatever changes or removes a line, lowers what is spent, or spends more than the limit.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dperm.errors import LedgerError
from dperm.ledger.anchor import Identity
from dperm.ledger.entry import Entry, Kind

FORMAT = 2
"""Version of the tables: 2 has leases of draws. A ledger of an older version can be read, and is changed by
`dperm.ledger.migrate` before anything is charged to it: a program that knows no leases must not resume its runs."""
READABLE = (1, FORMAT)
"""Versions that can be read."""


class UnreadableLedgerError(LedgerError):
    """The ledger exists and this process cannot read it: nothing is known about its content, good or bad."""


@dataclass(frozen=True)
class Meter:
    """One currency of an account, in units."""

    capacity: int
    spent: int = 0


@dataclass(frozen=True)
class Counts:
    """How many reservations an account has, and how they ended."""

    reserved: int
    committed: int
    burned: int
    seeded: int
    """Of the reserved: those whose noise followed from a seed, NOT PRIVATE."""


class Books(Protocol):
    """The lines and meters of a ledger, inside one transaction."""

    def format(self) -> int:
        """The version of the tables, one of `READABLE`.

        Raises
        ------
        LedgerError
            If it is none of them.
        """

    def identity(self) -> Identity:
        """The keys of the ledger."""

    def accounts(self) -> tuple[str, ...]:
        """The names of the accounts, in the order in which they were opened."""

    def meters(self, account: str) -> dict[str, Meter]:
        """The meters of an account by currency; none if there is no such account."""

    def entries(self, account: str) -> Iterator[Entry]:
        """All lines of an account, in their order."""

    def head(self, account: str) -> Entry | None:
        """The last line of an account."""

    def entry(self, account: str, seq: int) -> Entry | None:
        """The line of this number."""

    def of_kind(self, account: str, kind: Kind) -> Iterator[Entry]:
        """All lines of this kind, in their order."""

    def latest(self, account: str, kind: Kind) -> Entry | None:
        """The last line of this kind."""

    def named(self, account: str, kind: Kind, request_id: str) -> Entry | None:
        """The reservation or approval with this request id."""

    def closing(self, account: str, about: int) -> Entry | None:
        """The line that closed the reservation of this number."""

    def last_lease(self, account: str, about: int) -> Entry | None:
        """The last lease of the reservation of this number."""

    def counts(self, account: str) -> Counts:
        """How many reservations there are."""

    def reserved_before(self, account: str, seq: int) -> int:
        """How many reservations stand before the line of this number."""

    def append(self, entry: Entry) -> None:
        """Write a line after the last one."""

    def set_meter(self, account: str, name: str, meter: Meter) -> None:
        """Set a meter; a new one is made."""

    def damage(self) -> Iterable[str]:
        """What the store itself finds wrong with its tables, in words."""


def readable_format(found: object) -> int:
    """``found``, if tables of this version can be read.

    Raises
    ------
    LedgerError
        If not.
    """
    if found not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise LedgerError(
            f"the ledger has format {found!r}, and this version of dperm reads the formats {known}. Use the version of "
            "dperm that wrote it, or a newer one."
        )
    return int(str(found))


def require_current(books: Books) -> None:
    """Check that the tables are of this version, before a change.

    Raises
    ------
    LedgerError
        If they are older.
    """
    if books.format() != FORMAT:
        raise LedgerError(
            f"the ledger has format {books.format()}, of an earlier version of dperm, and can only be read. Nothing "
            f"was charged. Run: dperm ledger migrate LEDGER. It keeps a backup and changes the format to {FORMAT}."
        )


class Store(Protocol):
    """A place where a ledger lives."""

    def create(self) -> None:
        """Make the tables of a new ledger, if there is none; an existing one is left as it is."""

    def migrate(self, backup: Path | None) -> tuple[int, Path | None]:
        """Bring the tables to `FORMAT` in one transaction, after a backup; return the format before, and the backup.

        Raises
        ------
        LedgerError
            If the ledger cannot be read, written or trusted, or the backup exists.
        """

    def backup(self, path: Path) -> None:
        """Write the whole ledger, as it stands at one moment, to a new file with mode 0600: it holds the signing key.

        Raises
        ------
        LedgerError
            If the ledger cannot be read or trusted, or the file exists or cannot be written.
        """

    def read(self) -> AbstractContextManager[Books]:
        """The books as they stand at one moment.

        Raises
        ------
        LedgerError
            If there is no ledger, or it cannot be read or trusted.
        """

    def write(self, accounts: Iterable[str]) -> AbstractContextManager[Books]:
        """The books for a change of these accounts: durable when the block is left, undone if it raises.

        Between the first line of the block and the last nobody else changes them.
        """
