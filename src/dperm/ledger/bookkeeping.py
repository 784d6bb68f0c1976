# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What may be written into the books: opening, charging, closing, approving. The same for every store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dperm.accounting.budget import State
from dperm.accounting.event import Event
from dperm.accounting.filters import price
from dperm.accounting.filters.filter import in_brief
from dperm.checks import shown
from dperm.errors import BudgetError, LedgerError
from dperm.ledger.books import Books, Meter
from dperm.ledger.declared import AccountFacts
from dperm.ledger.entry import Entry, Kind, following
from dperm.ledger.units import Units, amount, capacity_units, cost_units
from dperm.privacy.guarantee import guarantee_as_dict, guarantee_from_dict
from dperm.privacy.rounding import round_down, round_up

CLOSED = {Kind.COMMIT: State.COMMITTED, Kind.BURN: State.BURNED}


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


@dataclass(frozen=True)
class Place:
    """Where a reservation is booked."""

    account: str
    seq: int


def the_account(books: Books, name: str | None) -> str:
    """``name``, if there is such an account; the only one of the ledger if None."""
    known = books.accounts()
    if name is None and len(known) == 1:
        return known[0]
    if name is None or name not in known:
        asked = "account must be given" if name is None else f"there is no account {shown(name)}"
        rest = f"the ledger has {', '.join(map(repr, known))}" if known else "the ledger has none yet: open one"
        raise LedgerError(f"{asked}: {rest}.")
    return name


def facts_of(books: Books, account: str) -> AccountFacts:
    """What is declared of an account, under its present limit."""
    opened, changed = books.latest(account, Kind.OPEN), books.latest(account, Kind.LIMIT)
    if opened is None:
        raise LedgerError(f"account {shown(account)} has no opening entry: the ledger is damaged. Verify it.")
    facts = AccountFacts.from_dict(account, opened.body)
    if changed is None:
        return facts
    limit: Any = changed.body["limit"]
    return facts.with_limit(guarantee_from_dict(limit))


def family(books: Books, account: str) -> list[AccountFacts]:
    """An account, its parents and theirs, each once: all are charged together."""
    found: dict[str, AccountFacts] = {}
    waiting = [account]
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = facts_of(books, name)
            waiting += found[name].parents
    return list(found.values())


def open_account(books: Books, facts: AccountFacts) -> None:
    """Write the first line of an account."""
    known = books.accounts()
    if facts.name in known:
        raise LedgerError(
            f"account {shown(facts.name)} exists already, and an account is opened once: a second opening would give "
            f"its budget back. Use Ledger(location, account={facts.name!r})."
        )
    missing = [parent for parent in facts.parents if parent not in known]
    if missing:
        raise LedgerError(f"parents names {shown(missing[0])}, and there is no such account. Open it first.")
    books.append(following(facts.name, None, Kind.OPEN, body=facts.to_dict()))
    for name, capacity in capacity_units(facts.rule).items():
        books.set_meter(facts.name, name, Meter(capacity))


def change_limit(books: Books, facts: AccountFacts, *, reason: str, by: str) -> None:
    """Write down the limit of ``facts`` as the new one; nothing that was spent is given back."""
    meters = books.meters(facts.name)
    capacities = capacity_units(facts.rule)
    short = [name for name, capacity in capacities.items() if capacity < meters[name].spent]
    if short:
        spent = round_up(amount(facts.rule, short[0], meters[short[0]].spent))
        raise BudgetError(
            f"limit {facts.limit!r} is below the {short[0]}={spent!r} that is spent already, and nothing is given "
            "back. The lowest limit is what is spent."
        )
    body = {"limit": guarantee_as_dict(facts.limit), "reason": reason, "by": by}
    books.append(following(facts.name, books.head(facts.name), Kind.LIMIT, body=body))
    for name, capacity in capacities.items():
        books.set_meter(facts.name, name, Meter(capacity, meters[name].spent))


def approve(books: Books, account: str, request_id: str, body: Mapping[str, object]) -> None:
    """Write down that a request may be charged."""
    if books.named(account, Kind.APPROVE, request_id) is not None:
        raise BudgetError(f"request_id={request_id!r} is approved already. Give every release an id of its own.")
    books.append(following(account, books.head(account), Kind.APPROVE, request_id=request_id, body=body))


def require_approval(books: Books, facts: AccountFacts, request_id: str | None, event: object) -> None:
    """Nothing, if the account asks for no approval, or has that of this request."""
    if not facts.approval:
        return
    given = None if request_id is None else books.named(facts.name, Kind.APPROVE, request_id)
    if given is None or given.body.get("event") not in (None, event):
        asked = "without a request id" if request_id is None else f"under request_id={request_id!r}"
        about = "for another event" if given is not None else "not given"
        raise BudgetError(
            f"account {facts.name!r} asks for an approval of every release, and the one {asked} is {about}. Nothing "
            "was charged. Ask its owner for one, and use Ledger(..., request_id=...) with the id that was approved."
        )


def require_covered(books: Books, charge: Charge, event: Event) -> None:
    """Nothing, if the limit covers the charge on top of what is spent.

    Raises
    ------
    BudgetError
        With what was asked, what remains and what to do.
    """
    rule, meters = charge.facts.rule, books.meters(charge.facts.name)
    for name, asked in charge.cost.items():
        meter = meters[name]
        if asked > meter.capacity - meter.spent:
            numbers = [
                round_down(amount(rule, name, units)) for units in (meter.capacity - meter.spent, meter.capacity)
            ]
            raise BudgetError(
                f"{in_brief(event)} costs {name}={round_up(amount(rule, name, asked))!r}, and {name}={numbers[0]!r} "
                f"remains of the limit {numbers[1]!r} of account {charge.facts.name!r}. Nothing was charged. "
                f"{_remedy(name, asked, meter)}"
            )


def reserve(books: Books, charges: Sequence[Charge], event: Event, body: Mapping[str, object]) -> tuple[Place, ...]:
    """Charge an event to all accounts at once."""
    for charge in charges:
        require_covered(books, charge, event)
    return tuple(_charge(books, charge, body) for charge in charges)


def _charge(books: Books, charge: Charge, body: Mapping[str, object]) -> Place:
    account, meters = charge.facts.name, books.meters(charge.facts.name)
    entry = following(
        account, books.head(account), Kind.RESERVE, request_id=charge.request_id, cost=charge.cost, body=body
    )
    books.append(entry)
    for name, units in charge.cost.items():
        books.set_meter(account, name, Meter(meters[name].capacity, meters[name].spent + units))
    return Place(account, entry.seq)


def close(books: Books, place: Place, kind: Kind, body: Mapping[str, object]) -> Entry:
    """Close a reservation, once; the same closing again changes nothing."""
    closed = books.closing(place.account, place.seq)
    if closed is None:
        entry = following(place.account, books.head(place.account), kind, about=place.seq, body=body)
        books.append(entry)
        return entry
    if closed.kind is not kind or (kind is Kind.COMMIT and dict(closed.body) != dict(body)):
        raise BudgetError(
            f"a reservation is closed once: number {place.seq} of account {place.account!r} is "
            f"{CLOSED[closed.kind].value} ({_said(closed.body)}), and cannot be {CLOSED[kind].value} ({_said(body)}). "
            "Reserve again for another release."
        )
    return closed


def _said(body: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in body.items())


def _remedy(name: str, asked: int, meter: Meter) -> str:
    remains = meter.capacity - meter.spent
    if remains > 0 and (asked - remains) * 10**9 < remains:
        return "It is over by a rounding error: costs are rounded up, and added exactly. Ask for slightly less."
    if name == "delta":
        return (
            "Every declared block is used. Declare as many blocks as there will be releases when the account is opened."
        )
    return "Ask for less (more noise, fewer steps), or stop here: what was seen must not raise the limit."
