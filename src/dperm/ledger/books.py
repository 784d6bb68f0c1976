# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Protocols of ledger stores, implemented by `dperm.ledger.sqlite` and `dperm.ledger.postgres`.

A store provides transactions, and a transaction provides the books: reads, one way to append an entry, and one way to
set a meter. `dperm.ledger.bookkeeping` decides which entries are valid, for every store. By itself, a store refuses to
change or remove an entry, to lower spending, and to exceed a limit.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dperm.errors import LedgerError
from dperm.ledger.anchor import Identity
from dperm.ledger.entry import Entry, EntryKind

FORMAT = 3
"""Version of the tables; version 2 has leases of draws, version 3 has stages. Older ledgers are readable.
`dperm.ledger.migrate` converts them before the first charge: a program without leases must not resume their runs, and a
program without stages takes a stage for damage.
"""
READABLE = (1, 2, FORMAT)
"""Readable versions of the tables."""


class UnreadableLedgerError(LedgerError):
    """The ledger exists, but this process cannot read it: nothing is known about its content."""


@dataclass(frozen=True)
class Meter:
    """Capacity and spending of one currency of an account, in units."""

    capacity: int
    spent: int = 0


@dataclass(frozen=True)
class ReservationCounts:
    """Number of reservations of an account, by outcome."""

    reserved: int
    committed: int
    burned: int
    seeded: int
    """Reservations with noise from a seed, NOT PRIVATE; included in ``reserved``."""


class Books(Protocol):
    """Entries and meters of a ledger, inside one transaction."""

    def format(self) -> int:
        """Return the version of the tables, one of `READABLE`.

        Raises
        ------
        LedgerError
            For any other version.
        """

    def identity(self) -> Identity:
        """Return the keys of the ledger."""

    def accounts(self) -> tuple[str, ...]:
        """Return the account names, in the order of their opening."""

    def meters(self, account: str) -> dict[str, Meter]:
        """Return the meters of an account by currency; empty for an unknown account."""

    def entries(self, account: str) -> Iterator[Entry]:
        """Return all entries of an account, in order."""

    def head(self, account: str) -> Entry | None:
        """Return the last entry of an account."""

    def entry(self, account: str, seq: int) -> Entry | None:
        """Return the entry with this number."""

    def of_kind(self, account: str, kind: EntryKind) -> Iterator[Entry]:
        """Return all entries of this kind, in order."""

    def latest(self, account: str, kind: EntryKind) -> Entry | None:
        """Return the last entry of this kind."""

    def named(self, account: str, kind: EntryKind, request_id: str) -> Entry | None:
        """Return the reservation or approval with this request id."""

    def closing(self, account: str, about: int) -> Entry | None:
        """Return the entry that closed the reservation with this number."""

    def last_lease(self, account: str, about: int) -> Entry | None:
        """Return the last lease of the reservation with this number."""

    def stages(self, account: str, about: int) -> Iterator[Entry]:
        """Return the stages of the reservation with this number, in order."""

    def counts(self, account: str) -> ReservationCounts:
        """Return the number of reservations by outcome."""

    def reserved_before(self, account: str, seq: int) -> int:
        """Return the number of reservations before the entry with this number."""

    def append(self, entry: Entry) -> None:
        """Write an entry after the last one."""

    def set_meter(self, account: str, name: str, meter: Meter) -> None:
        """Set a meter, or create it."""

    def damage(self) -> Iterable[str]:
        """Yield the problems found by the store in its own tables, as sentences."""


def readable_format(found: object) -> int:
    """Return ``found`` if tables of this version are readable.

    Raises
    ------
    LedgerError
        For any other version.
    """
    if found not in READABLE:
        known = ", ".join(map(str, READABLE))
        raise LedgerError(
            f"the ledger has format {found!r}, and this version of dperm reads the formats {known}.",
            remedy="Use the version of dperm that wrote the ledger, or a newer one.",
        )
    return int(str(found))


def require_current(books: Books) -> None:
    """Check before a change that the tables have the present format.

    Raises
    ------
    LedgerError
        If they have an older format.
    """
    if books.format() != FORMAT:
        raise LedgerError(
            f"the ledger has format {books.format()}, of an earlier version of dperm, and can only be read. Nothing "
            f"was charged.",
            remedy=f"Run: dperm ledger migrate LEDGER. It keeps a backup and changes the format to {FORMAT}.",
        )


class Store(Protocol):
    """Storage of one ledger, with transactions."""

    def create(self) -> None:
        """Create the tables of a new ledger; an existing ledger is left unchanged."""

    def migrate(self, backup: Path | None) -> tuple[int, Path | None]:
        """Bring the tables to `FORMAT` in one transaction, after a backup; return the previous format and the backup.

        Raises
        ------
        LedgerError
            If the ledger cannot be read, written or trusted, or the backup exists.
        """

    def backup(self, path: Path) -> None:
        """Write a consistent snapshot of the whole ledger to a new file with mode 0600: it contains the signing key.

        Raises
        ------
        LedgerError
            If the ledger cannot be read or trusted, or the file exists or cannot be written.
        """

    def read(self) -> AbstractContextManager[Books]:
        """Return a consistent snapshot of the books.

        Raises
        ------
        LedgerError
            If there is no ledger, or it cannot be read or trusted.
        """

    def write(self, accounts: Iterable[str]) -> AbstractContextManager[Books]:
        """Return the books for changes of these accounts: durable on exit, undone on an exception.

        No other transaction changes these accounts during the ``with`` block.
        """
