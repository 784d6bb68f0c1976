# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Costs of a charge for an account, and the checks before it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dperm.accounting.event import Event
from dperm.accounting.filters import price
from dperm.accounting.filters.charge import is_rounding_error, request_less, shortage
from dperm.errors import BudgetError, LedgerError
from dperm.ledger.account_facts import AccountFacts
from dperm.ledger.books import Books, Meter
from dperm.ledger.entry import Entry, EntryKind
from dperm.ledger.units import Units, amount, capacity_units, cost_units, limits
from dperm.presentation.spelling import arg


@dataclass(frozen=True)
class Charge:
    """Cost of an event for one account."""

    facts: AccountFacts
    cost: Units
    request_id: str

    @classmethod
    def of(cls, facts: AccountFacts, event: Event, request_id: str) -> "Charge":
        """Return the price of ``event`` under the account's rule, in units."""
        return cls(facts, cost_units(facts.rule, price(facts.rule, event)), request_id)


def meters_of(books: Books, facts: AccountFacts) -> dict[str, Meter]:
    """Return the meters of an account, in the order of its rule.

    Raises
    ------
    LedgerError
        If the stored meters do not match the rule or the last entry.
    """
    found = books.meters(facts.name)
    if {name: meter.capacity for name, meter in found.items()} != capacity_units(facts.rule):
        raise LedgerError(
            f"the stored totals of account {facts.name!r} do not match its composition rule: the ledger is damaged. "
            "Nothing was charged.",
            remedy="Verify the ledger.",
        )
    require_same_meters(facts.name, books.head(facts.name), found)
    return {name: found[name] for name in facts.rule.names}


def require_same_meters(account: str, head: Entry | None, meters: Mapping[str, Meter]) -> None:
    """Check that the meters match the last entry: a table of totals can be rolled back or edited separately.

    The hash of the entry protects its content.

    Raises
    ------
    LedgerError
        If they differ.
    """
    stood = {} if head is None else dict(head.meters)
    shown = {name: (meter.capacity, meter.spent) for name, meter in meters.items()}
    if shown != stood or (head is not None and head.hash != head.content_hash):
        raise LedgerError(
            f"the meters of account {account!r} differ from its last line: the ledger is damaged, or a part of it was "
            "rolled back to an older state. Nothing was charged.",
            remedy="Verify the ledger against the anchor of the last artefact.",
        )


def require(books: Books, charges: Iterable[Charge], event: Event, described: object) -> None:
    """Check that every account can be charged: limit, approval and request id.

    Raises
    ------
    BudgetError
        With the request, the present state and the remedy.
    """
    for charge in charges:
        require_approval(books, charge, described)
        require_covered(books, charge, event)


def require_approval(books: Books, charge: Charge, event: object) -> None:
    """Check the approval of a request, if the account requires one.

    The check also covers parents, so no child account can bypass it. A parent's request id starts with the child's
    name.

    Raises
    ------
    BudgetError
        If the approval is missing, or was given for another event.
    """
    if not charge.facts.approval:
        return
    given = books.named(charge.facts.name, EntryKind.APPROVE, charge.request_id)
    if given is None or given.body.get("event") not in (None, event):
        about = "for another event" if given is not None else "not given"
        raise BudgetError(
            f"account {charge.facts.name!r} asks for an approval of every release, and that of the request id "
            f"{charge.request_id!r} is {about}. Nothing was charged.",
            remedy=f"Ask the owner of the account for an approval, and charge under a {arg('request_id')} that was "
            "approved.",
        )


def require_covered(books: Books, charge: Charge, event: Event) -> None:
    """Check that the limit covers the charge in addition to the spent amount.

    Raises
    ------
    BudgetError
        With the requested amount, the remaining amount and the remedy.
    """
    rule, meters = charge.facts.rule, meters_of(books, charge.facts)
    for name, asked in charge.cost.items():
        meter = meters[name]
        if asked > meter.capacity - meter.spent:
            left = amount(rule, name, meter.capacity - meter.spent)
            raise BudgetError(
                f"This release {shortage(name, amount(rule, name, asked), left)} of the limit of "
                f"{limits(rule)[name]!r} remains in account {charge.facts.name!r}. Nothing was charged.",
                remedy=_remedy(name, amount(rule, name, asked), left),
            )


def _remedy(name: str, asked: Fraction, remains: Fraction) -> str:
    if is_rounding_error(asked, remains):
        return (
            "The request is over by a rounding error: costs are rounded up, and added exactly. Request slightly less, "
            "such as the remaining amount."
        )
    if name == "delta":
        return "Every declared block is used. When opening an account, declare as many blocks as releases are planned."
    return request_less(name)
