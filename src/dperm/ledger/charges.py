# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a charge costs an account, and whether the account can be charged."""

from collections.abc import Iterable
from dataclasses import dataclass

from dperm.accounting.event import Event
from dperm.accounting.filters import price
from dperm.accounting.filters.filter import in_brief
from dperm.errors import BudgetError, LedgerError
from dperm.ledger.books import Books, Meter
from dperm.ledger.declared import AccountFacts
from dperm.ledger.entry import Kind
from dperm.ledger.units import Units, amount, cost_units, limits
from dperm.privacy.rounding import round_down, round_up


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
        If they are not those of its rule.
    """
    found = books.meters(facts.name)
    if set(found) != set(facts.rule.names):
        raise LedgerError(f"account {facts.name!r} has other meters than its rule: the ledger is damaged. Verify it.")
    return {name: found[name] for name in facts.rule.names}


def require(books: Books, charges: Iterable[Charge], event: Event, described: object) -> None:
    """Nothing, if every account can be charged: its own limit, approval and request ids allow it.

    Raises
    ------
    BudgetError
        With what was asked, what is true and what to do.
    """
    for charge in charges:
        require_new(books, charge)
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
            f"{charge.request_id!r} is {about}. Nothing was charged. Ask its owner for one, and use "
            "Ledger(..., request_id=...) with an id that was approved."
        )


def require_new(books: Books, charge: Charge) -> None:
    """Nothing, if nobody has charged the account under this request id.

    Raises
    ------
    BudgetError
        If somebody has: on a parent, under an id that looks like a child's.
    """
    if books.named(charge.facts.name, Kind.RESERVE, charge.request_id) is not None:
        raise BudgetError(
            f"request_id={charge.request_id!r} was charged to account {charge.facts.name!r} before. Nothing was "
            "charged. Use another request id."
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
            left = round_down(amount(rule, name, meter.capacity - meter.spent))
            raise BudgetError(
                f"{in_brief(event)} costs {name}={round_up(amount(rule, name, asked))!r}, and {name}={left!r} remains "
                f"of the limit {limits(rule)[name]!r} of account {charge.facts.name!r}. Nothing was charged. "
                f"{_remedy(name, asked, meter)}"
            )


def _remedy(name: str, asked: int, meter: Meter) -> str:
    remains = meter.capacity - meter.spent
    if remains > 0 and (asked - remains) * 10**9 < remains:
        return (
            "It is over by a rounding error: costs are rounded up, and added exactly. Ask for slightly less, such "
            "as what remains."
        )
    if name == "delta":
        return (
            "Every declared block is used. Declare as many blocks as there will be releases when the account is opened."
        )
    return "Ask for less (more noise, fewer steps), or stop here: what was seen must not raise the limit."
