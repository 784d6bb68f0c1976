# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What may be written into the books: opening, charging, closing, approving. The same for every store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dperm.accounting.budget import State, superseded
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.errors import BudgetError, LedgerError, ParameterError
from dperm.ledger.books import Books, Meter
from dperm.ledger.charges import Charge, meters_of, require, require_same_meters
from dperm.ledger.declared import AccountFacts
from dperm.ledger.entry import Entry, Kind, following
from dperm.ledger.units import amount, capacity_units
from dperm.presentation.spelling import arg
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict, guarantee_from_dict
from dperm.privacy.rounding import round_up

CLOSED = {Kind.COMMIT: State.COMMITTED, Kind.BURN: State.BURNED}


@dataclass(frozen=True)
class Place:
    """Where a reservation is booked: the number of its line, and the hash, which no other line has."""

    account: str
    seq: int
    hash: str

    @classmethod
    def of(cls, entry: Entry) -> "Place":
        """The place of a line."""
        return cls(entry.account, entry.seq, entry.hash)


def the_account(books: Books, name: str | None) -> str:
    """``name``, if there is such an account; the only one of the ledger if None."""
    known = books.accounts()
    if name is None and len(known) == 1:
        return known[0]
    if name is None or name not in known:
        rest = f"the ledger has {', '.join(map(repr, known))}" if known else "the ledger has none yet: open one"
        if name is None:
            raise LedgerError(argument="account", rule=f"must be given: {rest}")
        raise LedgerError(f"there is no account {shown(name)}: {rest}.")
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
    promise: Any = changed.body["promise"]
    return replace(facts.with_limit(guarantee_from_dict(limit)), promised=guarantee_from_dict(promise))


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


def untied(books: Books, facts: AccountFacts) -> list[str]:
    """Accounts about the same data set that a charge to this one will not be charged to."""
    above = {one.name for parent in facts.parents if parent in books.accounts() for one in family(books, parent)}
    others = (name for name in books.accounts() if name not in above)
    return [name for name in others if facts_of(books, name).dataset == facts.dataset]


def open_account(books: Books, facts: AccountFacts) -> None:
    """Write the first line of an account."""
    known = books.accounts()
    if facts.name in known:
        raise LedgerError(
            f"account {shown(facts.name)} exists already, and an account is opened once: a second opening would give "
            f"its budget back.",
            remedy=f"Charge to it with {arg('account', repr(facts.name))}, or open an account with another name.",
        )
    missing = [parent for parent in facts.parents if parent not in known]
    if missing:
        raise LedgerError(f"parents names {shown(missing[0])}, and there is no such account. Open it first.")
    for parent in facts.parents:
        _require_same_unit(facts, facts_of(books, parent))
    meters = {name: Meter(capacity) for name, capacity in capacity_units(facts.rule).items()}
    _append(books, facts.name, Kind.OPEN, body=facts.to_dict(), meters=meters)


def _require_same_unit(facts: AccountFacts, parent: AccountFacts) -> None:
    """A charge is about one record of the child; it says nothing about a larger unit of the parent."""
    if facts.unit != parent.unit:
        raise ParameterError(
            f"unit={facts.unit!r} is not that of the parent {parent.name!r}, {parent.unit!r}: what is released about "
            "the one would be charged as if it were about the other. Units must be the same, word for word."
        )


def change_limit(books: Books, account: str, limit: AnyGuarantee, *, reason: str, by: str) -> None:
    """Write down a new limit; nothing that was spent is given back."""
    before = facts_of(books, account)
    meters, facts = meters_of(books, before), before.with_limit(limit)
    capacities = capacity_units(facts.rule)
    short = [name for name, capacity in capacities.items() if capacity < meters[name].spent]
    if short:
        spent = round_up(amount(facts.rule, short[0], meters[short[0]].spent))
        raise BudgetError(
            f"limit {facts.limit!r} is below the {short[0]}={spent!r} that is spent already, and nothing is given "
            "back. The lowest limit is what is spent."
        )
    body = {"limit": guarantee_as_dict(facts.limit), "promise": guarantee_as_dict(facts.promise)}
    after = {name: Meter(capacity, meters[name].spent) for name, capacity in capacities.items()}
    _append(books, account, Kind.LIMIT, body={**body, "reason": reason, "by": by}, meters=after)


def approve(books: Books, account: str, request_id: str, body: Mapping[str, object]) -> None:
    """Write down that a request may be charged."""
    if books.named(account, Kind.APPROVE, request_id) is not None:
        raise BudgetError(f"request id {request_id!r} is approved already. Give every release an id of its own.")
    _append(books, account, Kind.APPROVE, request_id=request_id, body=body)


def reserve(books: Books, charges: Iterable[Charge], event: Event, body: Mapping[str, object]) -> tuple[Place, ...]:
    """Charge an event to all accounts at once, or raise and charge none."""
    present = current(books, charges)
    require(books, present, event, body["event"])
    return tuple(_charge(books, charge, body) for charge in present)


def current(books: Books, charges: Iterable[Charge]) -> list[Charge]:
    """The same charges under the limits of this moment: those may have been changed since the pricing."""
    return [replace(charge, facts=facts_of(books, charge.facts.name)) for charge in charges]


def _charge(books: Books, charge: Charge, body: Mapping[str, object]) -> Place:
    account, meters = charge.facts.name, meters_of(books, charge.facts)
    after = {name: Meter(meters[name].capacity, meters[name].spent + units) for name, units in charge.cost.items()}
    entry = _append(
        books, account, Kind.RESERVE, request_id=charge.request_id, cost=charge.cost, body=body, meters=after
    )
    return Place.of(entry)


def _append(
    books: Books,
    account: str,
    kind: Kind,
    *,
    request_id: str | None = None,
    about: int | None = None,
    cost: Mapping[str, int] | None = None,
    body: Mapping[str, object],
    meters: Mapping[str, Meter] | None = None,
) -> Entry:
    """Write a line, and the meters if they move: those that stand there must be those of the line before."""
    head = books.head(account)
    require_same_meters(account, head, books.meters(account))
    totals = None if meters is None else {name: (meter.capacity, meter.spent) for name, meter in meters.items()}
    entry = following(account, head, kind, request_id=request_id, about=about, cost=cost, body=body, meters=totals)
    books.append(entry)
    for name, meter in (meters or {}).items():
        books.set_meter(account, name, meter)
    return entry


def close(books: Books, place: Place, kind: Kind, body: Mapping[str, object]) -> Entry:
    """Close a reservation, once; the same closing again changes nothing."""
    reserved(books, place)
    closed = books.closing(place.account, place.seq)
    if closed is None:
        return _append(books, place.account, kind, about=place.seq, body=body)
    if closed.kind is not kind or (kind is Kind.COMMIT and dict(closed.body) != dict(body)):
        raise BudgetError(
            f"a reservation is closed once: number {place.seq} of account {place.account!r} is "
            f"{CLOSED[closed.kind].value} ({_said(closed.body)}), and cannot be {CLOSED[kind].value} ({_said(body)}). "
            "Reserve again for another release."
        )
    return closed


def take_over(books: Books, place: Place, holder: str, draws: int) -> int:
    """Make ``holder`` the only one that may draw noise under a reservation; return the draws that count as made.

    Draws that were leased to an earlier holder count, made or not: so all holders together make no more draws than the
    largest number of a lease. The same call again changes nothing.
    """
    _require_open(books, place)
    last = books.last_lease(place.account, place.seq)
    counted = draws if last is None else max(draws, _leased(last))
    _append_lease(books, place, last, holder, counted)
    return counted


def lease(books: Books, place: Place, holder: str, draws: int) -> None:
    """Let ``holder`` draw noise until ``draws`` draws were made in all; the same call again changes nothing."""
    require_holder(books, place, holder)
    _require_open(books, place)
    _append_lease(books, place, books.last_lease(place.account, place.seq), holder, draws)


def require_holder(books: Books, place: Place, holder: str) -> None:
    """Check that ``holder`` was the last to take over a reservation whose draws are leased.

    Raises
    ------
    SupersededError
        If another one was.
    """
    line, last = reserved(books, place), books.last_lease(place.account, place.seq)
    if last is not None and last.body.get("holder") != holder:
        raise superseded(line.request_id)


def _require_open(books: Books, place: Place) -> None:
    line, closed = reserved(books, place), books.closing(place.account, place.seq)
    if closed is not None:
        raise BudgetError(
            f"request id {line.request_id!r} is {CLOSED[closed.kind].value}: noise is drawn under an open reservation "
            f"only. Charge another training under a new {arg('request_id')}."
        )


def _append_lease(books: Books, place: Place, last: Entry | None, holder: str, draws: int) -> None:
    body = {"holder": holder, "draws": draws}
    if last is None or dict(last.body) != body:
        _append(books, place.account, Kind.LEASE, about=place.seq, body=body)


def _leased(line: Entry) -> int:
    draws = line.body.get("draws")
    if type(draws) is not int:
        raise LedgerError(f"line {line.seq} of account {line.account!r} is no lease: the ledger is damaged. Verify it.")
    return draws


def reserved(books: Books, place: Place) -> Entry:
    """The line of a reservation.

    Raises
    ------
    LedgerError
        If it is gone, or another line has its number.
    """
    line = books.entry(place.account, place.seq)
    if line is None or line.hash != place.hash:
        raise LedgerError(
            f"line {place.seq} of account {place.account!r} is not the reservation that was made there: the ledger was "
            "put back to an older state, or replaced. Release nothing. Verify the ledger against the anchor of the "
            "last artefact."
        )
    return line


def _said(body: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in body.items())
