# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a charge costs an account, and whether the account can be charged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dperm.accounting.event import Event
from dperm.accounting.filters import price
from dperm.accounting.filters.charge import is_rounding_error, request_less, shortage
from dperm.accounting.filters.filter import in_brief
from dperm.errors import BudgetError, LedgerError
from dperm.ledger.books import Books, Meter
from dperm.ledger.declared import AccountFacts
from dperm.ledger.entry import Entry, Kind
from dperm.ledger.units import Units, amount, capacity_units, cost_units, limits
from dperm.presentation.spelling import arg


@dataclass(frozen=True)
class Charge:
    """What an event costs one account."""

    facts: AccountFacts
    cost: Units
    request_id: str

    @classmethod
    def of(cls, facts: AccountFacts, event: Event, request_id: str) -> "Charge":
        """The price of ``event`` under the account's rule, in units."""
        return cls(facts, cost_units(facts.rule, price(facts.rule, event)), request_id)


def meters_of(books: Books, facts: AccountFacts) -> dict[str, Meter]:
    """The meters of an account, in the order of its rule.

    Raises
    ------
    LedgerError
        If they are not those of its rule, or of its last line.
    """
    found = books.meters(facts.name)
    if {name: meter.capacity for name, meter in found.items()} != capacity_units(facts.rule):
        raise LedgerError(
            f"account {facts.name!r} has other meters than its rule: the ledger is damaged. Nothing was charged. "
            "Verify it."
        )
    require_same_meters(facts.name, books.head(facts.name), found)
    return {name: found[name] for name in facts.rule.names}


def require_same_meters(account: str, head: Entry | None, meters: Mapping[str, Meter]) -> None:
    """Nothing, if the meters are what the last line says: a table of sums can be put back, or edited, by itself.

    The line is as it was written, if its hash is.

    Raises
    ------
    LedgerError
        If they are not.
    """
    stood = {} if head is None else dict(head.meters)
    shown = {name: (meter.capacity, meter.spent) for name, meter in meters.items()}
    if shown != stood or (head is not None and head.hash != head.content_hash):
        raise LedgerError(
            f"the meters of account {account!r} are not what its last line says: the ledger is damaged, or a part of "
            "it was put back to an older state. Nothing was charged. Verify it against the anchor of the last artefact."
        )


def require(books: Books, charges: Iterable[Charge], event: Event, described: object) -> None:
    """Nothing, if every account can be charged: its own limit, approval and request ids allow it.

    Raises
    ------
    BudgetError
        With what was asked, what is true and what to do.
    """
    for charge in charges:
        require_approval(books, charge, described)
        require_covered(books, charge, event)


def require_approval(books: Books, charge: Charge, event: object) -> None:
    """Nothing, if the account asks for no approval, or has that of this request.

    A parent is asked too, or a child of it would be a way around. There the child's name is before the id.

    Raises
    ------
    BudgetError
        If the approval is missing, or was given for another event.
    """
    if not charge.facts.approval:
        return
    given = books.named(charge.facts.name, Kind.APPROVE, charge.request_id)
    if given is None or given.body.get("event") not in (None, event):
        about = "for another event" if given is not None else "not given"
        raise BudgetError(
            f"account {charge.facts.name!r} asks for an approval of every release, and that of the request id "
            f"{charge.request_id!r} is {about}. Nothing was charged.",
            remedy=f"Ask the owner of the account for an approval, and charge under a {arg('request_id')} that was "
            "approved.",
        )


def require_covered(books: Books, charge: Charge, event: Event) -> None:
    """Nothing, if the limit covers the charge on top of what is spent.

    Raises
    ------
    BudgetError
        With what was asked, what remains and what to do.
    """
    rule, meters = charge.facts.rule, meters_of(books, charge.facts)
    for name, asked in charge.cost.items():
        meter = meters[name]
        if asked > meter.capacity - meter.spent:
            left = amount(rule, name, meter.capacity - meter.spent)
            raise BudgetError(
                f"{in_brief(event)} {shortage(name, amount(rule, name, asked), left)} of the limit "
                f"{limits(rule)[name]!r} of account {charge.facts.name!r}. Nothing was charged. "
                f"{_remedy(name, amount(rule, name, asked), left)}"
            )


def _remedy(name: str, asked: Fraction, remains: Fraction) -> str:
    if is_rounding_error(asked, remains):
        return (
            "It is over by a rounding error: costs are rounded up, and added exactly. Ask for slightly less, such "
            "as what remains."
        )
    if name == "delta":
        return (
            "Every declared block is used. Declare as many blocks as there will be releases when the account is opened."
        )
    return request_less(name)
