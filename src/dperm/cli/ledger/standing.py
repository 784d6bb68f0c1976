# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How accounts stand, all read at one moment."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction

from dperm.errors import LedgerError
from dperm.ledger import AccountFacts, Anchor, Entry
from dperm.ledger.bookkeeping import facts_of, the_account
from dperm.ledger.books import Books, Counts, Meter
from dperm.ledger.stores import location_of, store_of
from dperm.ledger.transact import consult
from dperm.ledger.units import amount
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.privacy.rounding import round_down, round_up


@dataclass(frozen=True)
class Standing:
    """An account: what was declared, what is spent, its anchor and its lines."""

    facts: AccountFacts
    meters: Mapping[str, Meter]
    counts: Counts
    anchor: Anchor
    entries: tuple[Entry, ...]

    @property
    def open(self) -> int:
        """Reservations that are neither committed nor burned."""
        return self.counts.reserved - self.counts.committed - self.counts.burned

    def left(self, name: str) -> Fraction:
        """What can still be charged in one currency."""
        return amount(self.facts.rule, name, self.meters[name].capacity - self.meters[name].spent)

    def data(self) -> dict[str, object]:
        """Everything but the lines, as JSON-ready data."""
        rule = self.facts.rule
        return {
            "account": self.facts.name,
            **self.facts.to_dict(),
            "share": self.facts.share,
            "capacity": {name: round_down(amount(rule, name, self.meters[name].capacity)) for name in rule.names},
            "spent": {name: round_up(amount(rule, name, self.meters[name].spent)) for name in rule.names},
            "left": {name: round_down(self.left(name)) for name in rule.names},
            "remaining": guarantee_as_dict(rule.within(tuple(self.left(name) for name in rule.names))),
            "releases": self.counts.committed,
            "burned": self.counts.burned,
            "open": self.open,
            "seeded": self.counts.seeded,
            "anchor": asdict(self.anchor),
        }


def standings(location: str, account: str | None = None, *, entries: bool = False) -> tuple[Standing, ...]:
    """The named account of the ledger, or all of them.

    Raises
    ------
    LedgerError
        If there is no such account, or the ledger cannot be read or trusted.
    """

    def read(books: Books) -> tuple[Standing, ...]:
        names = books.accounts() if account is None else (the_account(books, account),)
        return tuple(_standing(books, name, entries) for name in names)

    return consult(store_of(location_of(location)), read)


def _standing(books: Books, name: str, entries: bool) -> Standing:
    facts, meters, head = facts_of(books, name), books.meters(name), books.head(name)
    if head is None or set(meters) != set(facts.rule.names):
        raise LedgerError(f"account {name!r} has lines or meters missing: the ledger is damaged. Verify it.")
    lines = tuple(books.entries(name)) if entries else ()
    return Standing(facts, meters, books.counts(name), books.identity().anchor(head), lines)
