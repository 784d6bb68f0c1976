# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Status of accounts: balances, anchor and entries, read in one transaction."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

from dperm.errors import LedgerError
from dperm.ledger import AccountFacts, Anchor, Balance, Entry
from dperm.ledger.balance import Spendable, balances, spendable
from dperm.ledger.bookkeeping import the_account
from dperm.ledger.books import Books, Meter, ReservationCounts
from dperm.ledger.stores import location_of, store_of
from dperm.ledger.transactions import consult
from dperm.ledger.units import amount
from dperm.ledger.verify import problems_in
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.privacy.rounding import round_down


@dataclass(frozen=True)
class AccountStatus:
    """An account with its balance, those of its ancestors, its anchor and its entries."""

    balances: tuple[Balance, ...]
    counts: ReservationCounts
    anchor: Anchor
    entries: tuple[Entry, ...]

    @property
    def own(self) -> Balance:
        """Balance of the account without its ancestors."""
        return self.balances[0]

    @property
    def facts(self) -> AccountFacts:
        """Declarations of the account: data set, unit, limit and others."""
        return self.own.facts

    @property
    def meters(self) -> Mapping[str, Meter]:
        """Capacity and spending by currency, in units."""
        return self.own.meters

    @cached_property
    def spendable(self) -> Spendable:
        """Largest release within the account and its ancestors."""
        return spendable(self.balances)

    @property
    def open(self) -> int:
        """Number of open reservations, neither committed nor burned."""
        return self.counts.reserved - self.counts.committed - self.counts.burned

    def data(self) -> dict[str, object]:
        """Return all fields but the entries as JSON-serialisable data."""
        rule = self.facts.rule
        return {
            "account": self.facts.name,
            **self.facts.to_dict(),
            "share": self.facts.share,
            "capacity": {name: round_down(amount(rule, name, self.meters[name].capacity)) for name in rule.names},
            "spent": self.own.spent,
            "left": {name: round_down(self.own.left(name)) for name in rule.names},
            "remaining": guarantee_as_dict(self.own.remaining),
            "spendable": guarantee_as_dict(self.spendable.guarantee),
            "limited_by": self.spendable.limited_by,
            "ancestors": [one.to_dict() for one in self.balances[1:]],
            "releases": self.counts.committed,
            "burned": self.counts.burned,
            "open": self.open,
            "seeded": self.counts.seeded,
            "anchor": asdict(self.anchor),
        }


def account_statuses(location: str, account: str | None = None, *, entries: bool = False) -> tuple[AccountStatus, ...]:
    """Return the status of the named account, or of all accounts, of a verified ledger.

    Raises
    ------
    LedgerError
        If there is no such account, the ledger cannot be read, or an entry or a stored total was changed.
    """

    def read(books: Books) -> tuple[AccountStatus, ...]:
        _require_verified(books)
        names = books.accounts() if account is None else (the_account(books, account),)
        return tuple(_status(books, name, entries) for name in names)

    return consult(store_of(location_of(location)), read)


def _require_verified(books: Books) -> None:
    """Refuse a ledger with wrong hashes, sums or stored totals."""
    problems = problems_in(books)
    if problems:
        raise LedgerError(
            f"the ledger was changed or is damaged: {problems[0]} Its totals cannot be trusted and are not shown. Run "
            "dperm ledger verify, and charge nothing to this ledger until the problem is explained."
        )


def _status(books: Books, name: str, entries: bool) -> AccountStatus:
    head = books.head(name)
    if head is None:
        raise LedgerError(f"account {name!r} has no entries: the ledger is damaged. Run dperm ledger verify.")
    lines = tuple(books.entries(name)) if entries else ()
    return AccountStatus(balances(books, name), books.counts(name), books.identity().anchor(head), lines)
