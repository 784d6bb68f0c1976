# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The lines of one account, read again: what they come to, and what is wrong with them."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dperm.accounting.filters import price
from dperm.accounting.serialize import event_from_json
from dperm.errors import DpermError
from dperm.ledger.books import Meter
from dperm.ledger.declared import AccountFacts
from dperm.ledger.entry import BEGINNING, Entry, Kind
from dperm.ledger.units import capacity_units, cost_units
from dperm.privacy.guarantee import guarantee_from_dict

PRICE_TOLERANCE = 1e-6
"""A later version may find a slightly larger price; a much larger one was not charged."""


@dataclass
class Replayed:
    """How an account stands after its lines."""

    name: str
    facts: AccountFacts | None = None
    meters: dict[str, Meter] = field(default_factory=dict)
    entries: int = 0
    head: str = BEGINNING
    problems: list[str] = field(default_factory=list)
    reserved: dict[int, str] = field(default_factory=dict)
    """Number and request id of every reservation."""
    closed: set[int] = field(default_factory=set)
    leases: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Holder and draws of the last lease of a reservation, by its number."""
    approved: dict[str, Any] = field(default_factory=dict)
    """Request id and event of every approval."""
    events: dict[str, bytes] = field(default_factory=dict)
    """Request id of every reservation, and a digest of its event and token: the same in the books of its parents."""

    def complain(self, entry: Entry, what: str) -> None:
        """Note what is wrong with a line."""
        self.problems.append(f"account {self.name!r}, line {entry.seq}: {what}")


def replay(name: str, entries: Iterable[Entry], *, prices: bool = False) -> Replayed:
    """Read the lines of an account in their order."""
    state = Replayed(name)
    for entry in entries:
        _check_chain(state, entry)
        try:
            _apply(state, entry, prices)
        except (DpermError, KeyError, RecursionError, TypeError, ValueError) as error:
            state.complain(entry, f"it makes no sense ({type(error).__name__}).")
        if dict(entry.meters) != {key: (meter.capacity, meter.spent) for key, meter in state.meters.items()}:
            state.complain(entry, "the sums that it names are not those of the lines up to it.")
        state.entries, state.head = state.entries + 1, entry.hash
    return state


def _check_chain(state: Replayed, entry: Entry) -> None:
    if entry.seq != state.entries + 1:
        state.complain(entry, "lines before it are missing.")
    if entry.previous != state.head:
        state.complain(entry, "it does not follow the line before it.")
    if entry.hash != entry.content_hash:
        state.complain(entry, "it was changed after it was written.")


def _apply(state: Replayed, entry: Entry, prices: bool) -> None:
    body: Any = entry.body
    match entry.kind:
        case Kind.OPEN:
            if state.facts is not None:
                state.complain(entry, "the account is opened a second time.")
            state.facts = AccountFacts.from_dict(state.name, body)
            state.meters = {key: Meter(units) for key, units in capacity_units(state.facts.rule).items()}
        case Kind.LIMIT:
            _change_limit(state, entry, body)
        case Kind.RESERVE:
            _charge(state, entry)
            _check_event(state, entry, prices)
        case Kind.APPROVE:
            state.approved[str(entry.request_id)] = body["event"]
        case Kind.LEASE:
            _lease(state, entry, body)
        case Kind.COMMIT | Kind.BURN:
            if entry.about not in state.reserved or entry.about in state.closed:
                state.complain(entry, "it closes what was not reserved, or is closed.")
            state.closed.add(entry.about or 0)


def _change_limit(state: Replayed, entry: Entry, body: Any) -> None:
    state.facts = _opened(state).with_limit(guarantee_from_dict(body["limit"]))
    if guarantee_from_dict(body["promise"]) != state.facts.promise:
        state.complain(entry, "the promise that it names is not the largest limit so far.")
    capacities = capacity_units(state.facts.rule)
    state.meters = {key: Meter(capacities[key], meter.spent) for key, meter in state.meters.items()}
    if any(meter.spent > meter.capacity for meter in state.meters.values()):
        state.complain(entry, "the limit is below what was spent.")


def _lease(state: Replayed, entry: Entry, body: Any) -> None:
    about, holder, draws = entry.about or 0, body["holder"], body["draws"]
    if about not in state.reserved or about in state.closed:
        state.complain(entry, "it leases draws of what was not reserved, or is closed.")
    if type(draws) is not int or draws < 0 or not isinstance(holder, str):
        state.complain(entry, "it leases no number of draws to a holder.")
        return
    before = state.leases.get(about, (holder, draws))
    if before[0] != holder and draws < before[1]:
        state.complain(entry, "it leases draws again that were leased to another run.")
    state.leases[about] = (holder, draws)


def _charge(state: Replayed, entry: Entry) -> None:
    state.reserved[entry.seq] = str(entry.request_id)
    units = entry.cost.values()
    if set(entry.cost) != set(state.meters) or not all(type(one) is int and one >= 0 for one in units):
        state.complain(entry, "its cost is not in the currencies of the account.")
        return
    state.meters = {key: Meter(old.capacity, old.spent + entry.cost[key]) for key, old in state.meters.items()}
    if any(meter.spent > meter.capacity for meter in state.meters.values()):
        state.complain(entry, "more is spent than the limit.")


def _check_event(state: Replayed, entry: Entry, prices: bool) -> None:
    facts, event = _opened(state), entry.body["event"]
    request_id = str(entry.request_id)
    if request_id in state.events:
        state.complain(entry, "its request id was charged before.")
    told = json.dumps([event, entry.body["token"]], sort_keys=True)
    state.events[request_id] = hashlib.sha256(told.encode()).digest()
    if facts.approval and state.approved.get(request_id, entry) not in (None, event):
        state.complain(entry, "it was charged without approval.")
    if prices:
        rule = facts.rule
        fair = cost_units(rule, price(rule, event_from_json(json.dumps(event))))
        if any(fair[key] > units + 1 + PRICE_TOLERANCE * units for key, units in entry.cost.items()):
            state.complain(entry, "its event costs more than was charged.")


def _opened(state: Replayed) -> AccountFacts:
    if state.facts is None:
        raise ValueError("not opened")
    return state.facts
