# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How accounts stand, all read at one moment."""

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
class Standing:
    """An account: its balance and those of its ancestors, its anchor and its lines."""

    balances: tuple[Balance, ...]
    counts: ReservationCounts
    anchor: Anchor
    entries: tuple[Entry, ...]

    @property
    def own(self) -> Balance:
        """The balance of the account itself."""
        return self.balances[0]

    @property
    def facts(self) -> AccountFacts:
        """The declarations of the account."""
        return self.own.facts

    @property
    def meters(self) -> Mapping[str, Meter]:
        """Capacity and spending by currency, in units."""
        return self.own.meters

    @cached_property
    def spendable(self) -> Spendable:
        """The size of a release that the account and its ancestors cover."""
        return spendable(self.balances)

    @property
    def open(self) -> int:
        """Reservations that are neither committed nor burned."""
        return self.counts.reserved - self.counts.committed - self.counts.burned

    def data(self) -> dict[str, object]:
        """Everything but the lines, as JSON-ready data."""
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


def standings(location: str, account: str | None = None, *, entries: bool = False) -> tuple[Standing, ...]:
    """The named account of the ledger, or all of them, from books that verify.

    Raises
    ------
    LedgerError
        If there is no such account, or the ledger cannot be read. If an entry or a stored total was changed: then no
        number of the ledger can be trusted.
    """

    def read(books: Books) -> tuple[Standing, ...]:
        _require_verified(books)
        names = books.accounts() if account is None else (the_account(books, account),)
        return tuple(_standing(books, name, entries) for name in names)

    return consult(store_of(location_of(location)), read)


def _require_verified(books: Books) -> None:
    """Refuse books whose hashes, sums or stored totals are wrong."""
    problems = problems_in(books)
    if problems:
        raise LedgerError(
            f"the ledger was changed or is damaged: {problems[0]} Its totals cannot be trusted, and are not shown. Run "
            "dperm ledger verify, and charge nothing to this ledger before the problem is explained."
        )


def _standing(books: Books, name: str, entries: bool) -> Standing:
    head = books.head(name)
    if head is None:
        raise LedgerError(f"account {name!r} has no lines: the ledger is damaged. Verify it.")
    lines = tuple(books.entries(name)) if entries else ()
    return Standing(balances(books, name), books.counts(name), books.identity().anchor(head), lines)
