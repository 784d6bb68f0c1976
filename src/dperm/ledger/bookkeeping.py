# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rules for changes of the ledger: open, charge, lease, record a stage, close, approve; the same for every store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dperm.accounting.budget import State, recorded_stage, stage_of_another_run, superseded
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.errors import BudgetError, LedgerError, ParameterError
from dperm.ledger.account_facts import AccountFacts
from dperm.ledger.books import Books, Meter
from dperm.ledger.charges import Charge, meters_of, require, require_same_meters
from dperm.ledger.entry import Entry, EntryKind, next_entry
from dperm.ledger.units import amount, capacity_units
from dperm.presentation.spelling import arg
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict, guarantee_from_dict
from dperm.privacy.rounding import round_up

CLOSED = {EntryKind.COMMIT: State.COMMITTED, EntryKind.BURN: State.BURNED}


@dataclass(frozen=True)
class EntryReference:
    """Reference to an entry of the ledger: account, number, and unique hash."""

    account: str
    seq: int
    hash: str

    @classmethod
    def of(cls, entry: Entry) -> "EntryReference":
        """Return the reference to an entry."""
        return cls(entry.account, entry.seq, entry.hash)


def the_account(books: Books, name: str | None) -> str:
    """Return ``name`` if the account exists; for None, the only account of the ledger.

    Raises
    ------
    LedgerError
        If there is no such account, or None is ambiguous.
    """
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
    """Return the declarations of an account, under its present limit."""
    opened, changed = books.latest(account, EntryKind.OPEN), books.latest(account, EntryKind.LIMIT)
    if opened is None:
        raise LedgerError(
            f"account {shown(account)} has no opening line: the ledger is damaged.", remedy="Verify the ledger."
        )
    facts = AccountFacts.from_dict(account, opened.body)
    if changed is None:
        return facts
    limit: Any = changed.body["limit"]
    promise: Any = changed.body["promise"]
    return replace(facts.with_limit(guarantee_from_dict(limit)), promised=guarantee_from_dict(promise))


def family(books: Books, account: str) -> list[AccountFacts]:
    """Return an account and its ancestors, each once; all of them are charged together."""
    found: dict[str, AccountFacts] = {}
    waiting = [account]
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = facts_of(books, name)
            waiting += found[name].parents
    return list(found.values())


def unlinked_accounts(books: Books, facts: AccountFacts) -> list[str]:
    """Return accounts of the same data set that are not charged together with this one."""
    above = {one.name for parent in facts.parents if parent in books.accounts() for one in family(books, parent)}
    others = (name for name in books.accounts() if name not in above)
    return [name for name in others if facts_of(books, name).dataset == facts.dataset]


def open_account(books: Books, facts: AccountFacts) -> None:
    """Write the opening entry of an account.

    Raises
    ------
    LedgerError
        If the account exists, or a parent does not.
    ParameterError
        If the unit differs from that of a parent.
    """
    known = books.accounts()
    if facts.name in known:
        raise LedgerError(
            f"account {shown(facts.name)} exists already, and an account is opened once: a second opening would give "
            f"its budget back.",
            remedy=f"Charge to it with {arg('account', repr(facts.name))}, or open an account with another name.",
        )
    missing = [parent for parent in facts.parents if parent not in known]
    if missing:
        raise LedgerError(
            argument="parents",
            rule="must be existing accounts",
            got=shown(missing[0]),
            remedy="Open the parent account first.",
        )
    for parent in facts.parents:
        _require_same_unit(facts, facts_of(books, parent))
    meters = {name: Meter(capacity) for name, capacity in capacity_units(facts.rule).items()}
    _append(books, facts.name, EntryKind.OPEN, body=facts.to_dict(), meters=meters)


def _require_same_unit(facts: AccountFacts, parent: AccountFacts) -> None:
    """Check that child and parent have the same unit, since a charge concerns one unit of the child."""
    if facts.unit != parent.unit:
        raise ParameterError(
            argument="unit",
            rule=f"must equal the unit {parent.unit!r} of the parent {parent.name!r}, word for word",
            got=repr(facts.unit),
            remedy="A charge for one unit does not cover another unit.",
        )


def change_limit(books: Books, account: str, limit: AnyGuarantee, *, reason: str, by: str) -> None:
    """Write a new limit; spent amounts are not refunded."""
    before = facts_of(books, account)
    meters, facts = meters_of(books, before), before.with_limit(limit)
    capacities = capacity_units(facts.rule)
    short = [name for name, capacity in capacities.items() if capacity < meters[name].spent]
    if short:
        spent = round_up(amount(facts.rule, short[0], meters[short[0]].spent))
        raise BudgetError(
            argument="limit",
            rule=f"must be at least the spent amount, {short[0]}={spent!r}; charges are not refunded",
            got=repr(facts.limit),
        )
    body = {"limit": guarantee_as_dict(facts.limit), "promise": guarantee_as_dict(facts.promise)}
    after = {name: Meter(capacity, meters[name].spent) for name, capacity in capacities.items()}
    _append(books, account, EntryKind.LIMIT, body={**body, "reason": reason, "by": by}, meters=after)


def approve(books: Books, account: str, request_id: str, body: Mapping[str, object]) -> None:
    """Write the approval of a request."""
    if books.named(account, EntryKind.APPROVE, request_id) is not None:
        raise BudgetError(f"request id {request_id!r} is approved already. Give every release an id of its own.")
    _append(books, account, EntryKind.APPROVE, request_id=request_id, body=body)


def reserve(
    books: Books, charges: Iterable[Charge], event: Event, body: Mapping[str, object]
) -> tuple[EntryReference, ...]:
    """Charge an event to all accounts in one transaction, or raise and charge none.

    Notes
    -----
    **Guarantees.** The total of each account stays within its limit (T14). The limits and approvals of this moment
    apply.
    """
    present = with_current_limits(books, charges)
    require(books, present, event, body["event"])
    return tuple(_charge(books, charge, body) for charge in present)


def with_current_limits(books: Books, charges: Iterable[Charge]) -> list[Charge]:
    """Return the same charges under the present limits, which may have changed since the pricing."""
    return [replace(charge, facts=facts_of(books, charge.facts.name)) for charge in charges]


def _charge(books: Books, charge: Charge, body: Mapping[str, object]) -> EntryReference:
    account, meters = charge.facts.name, meters_of(books, charge.facts)
    after = {name: Meter(meters[name].capacity, meters[name].spent + units) for name, units in charge.cost.items()}
    entry = _append(
        books, account, EntryKind.RESERVE, request_id=charge.request_id, cost=charge.cost, body=body, meters=after
    )
    return EntryReference.of(entry)


def _append(
    books: Books,
    account: str,
    kind: EntryKind,
    *,
    request_id: str | None = None,
    about: int | None = None,
    cost: Mapping[str, int] | None = None,
    body: Mapping[str, object],
    meters: Mapping[str, Meter] | None = None,
) -> Entry:
    """Write an entry, and the meters if they change; the stored meters must match the previous entry."""
    head = books.head(account)
    require_same_meters(account, head, books.meters(account))
    totals = None if meters is None else {name: (meter.capacity, meter.spent) for name, meter in meters.items()}
    entry = next_entry(account, head, kind, request_id=request_id, about=about, cost=cost, body=body, meters=totals)
    books.append(entry)
    for name, meter in (meters or {}).items():
        books.set_meter(account, name, meter)
    return entry


def close(books: Books, place: EntryReference, kind: EntryKind, body: Mapping[str, object]) -> Entry:
    """Close a reservation once; repeating the same call changes nothing."""
    reservation_entry(books, place)
    closed = books.closing(place.account, place.seq)
    if closed is None:
        return _append(books, place.account, kind, about=place.seq, body=body)
    if closed.kind is not kind or (kind is EntryKind.COMMIT and dict(closed.body) != dict(body)):
        raise BudgetError(
            f"a reservation is closed once: line {place.seq} of account {place.account!r} is "
            f"{CLOSED[closed.kind].value} ({_listed(closed.body)}), and cannot be {CLOSED[kind].value} "
            f"({_listed(body)}).",
            remedy="Reserve again for another release.",
        )
    return closed


def take_over(books: Books, place: EntryReference, holder: str, draws: int) -> int:
    """Make ``holder`` the only holder allowed to draw noise under a reservation; return the draws used up.

    Draws leased to an earlier holder count, made or not. So all holders together make no more draws than the largest
    number of a lease. Repeating the same call changes nothing.
    """
    _require_open(books, place)
    last = books.last_lease(place.account, place.seq)
    counted = draws if last is None else max(draws, _leased(last))
    _append_lease(books, place, last, holder, counted)
    return counted


def lease(books: Books, place: EntryReference, holder: str, draws: int) -> None:
    """Allow ``holder`` to draw noise up to a total of ``draws`` draws; repeating the same call changes nothing.

    Notes
    -----
    **Guarantees.** Only the last holder obtains a lease, so two runs never draw noise under one charge.
    """
    require_holder(books, place, holder)
    _require_open(books, place)
    _append_lease(books, place, books.last_lease(place.account, place.seq), holder, draws)


def record_stage(books: Books, place: EntryReference, holder: str, *, name: str, facts: Mapping[str, object]) -> None:
    """Append a finished stage to the open reservation of ``holder``; repeating the same call changes nothing.

    The entry costs nothing. Ancestors have no entry of it, as for leases: their charge is that of the whole release.
    """
    require_holder(books, place, holder)
    line = reservation_entry(books, place)
    if books.last_lease(place.account, place.seq) is None and line.body.get("token") != holder:
        raise stage_of_another_run(line.request_id)
    _require_open(books, place)
    body = {"name": name, "facts": dict(facts), "holder": holder}
    for stage in books.stages(place.account, place.seq):
        if stage.body.get("name") == name:
            if stage.body.get("facts") != body["facts"]:
                raise recorded_stage(name, line.request_id)
            return
    _append(books, place.account, EntryKind.STAGE, about=place.seq, body=body)


def require_holder(books: Books, place: EntryReference, holder: str) -> None:
    """Check that ``holder`` was the last to take over a reservation with leased draws.

    Raises
    ------
    SupersededError
        If another holder took over.
    """
    line, last = reservation_entry(books, place), books.last_lease(place.account, place.seq)
    if last is not None and last.body.get("holder") != holder:
        raise superseded(line.request_id)


def _require_open(books: Books, place: EntryReference) -> None:
    line, closed = reservation_entry(books, place), books.closing(place.account, place.seq)
    if closed is not None:
        raise BudgetError(
            f"request id {line.request_id!r} is {CLOSED[closed.kind].value}: noise is drawn, and stages are recorded, "
            f"under an open reservation only. Charge another run under a new {arg('request_id')}."
        )


def _append_lease(books: Books, place: EntryReference, last: Entry | None, holder: str, draws: int) -> None:
    body = {"holder": holder, "draws": draws}
    if last is None or dict(last.body) != body:
        _append(books, place.account, EntryKind.LEASE, about=place.seq, body=body)


def _leased(line: Entry) -> int:
    draws = line.body.get("draws")
    if type(draws) is not int:
        raise LedgerError(
            f"line {line.seq} of account {line.account!r} is not a valid lease: the ledger is damaged.",
            remedy="Verify the ledger.",
        )
    return draws


def reservation_entry(books: Books, place: EntryReference) -> Entry:
    """Return the entry of a reservation.

    Raises
    ------
    LedgerError
        If the entry is missing or differs, as after a rollback.
    """
    line = books.entry(place.account, place.seq)
    if line is None or line.hash != place.hash:
        raise LedgerError(
            f"line {place.seq} of account {place.account!r} is not the reservation made there: the ledger was rolled "
            "back to an older state, or replaced.",
            remedy="Release nothing. Verify the ledger against the anchor of the last artefact.",
        )
    return line


def _listed(body: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in body.items())
