# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Replay of the entries of one account: its state, and the problems found."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dperm.accounting.filters import price
from dperm.accounting.serialize import event_from_json
from dperm.errors import DpermError
from dperm.ledger.account_facts import AccountFacts
from dperm.ledger.books import Meter
from dperm.ledger.entry import BEGINNING, Entry, EntryKind
from dperm.ledger.units import capacity_units, cost_units
from dperm.privacy.guarantee import guarantee_from_dict

PRICE_TOLERANCE = 1e-6
"""Relative tolerance for prices; a later version may compute a slightly larger price."""


@dataclass
class AccountReplay:
    """State of an account after its entries."""

    name: str
    facts: AccountFacts | None = None
    meters: dict[str, Meter] = field(default_factory=dict)
    entries: int = 0
    head: str = BEGINNING
    problems: list[str] = field(default_factory=list)
    reserved: dict[int, str] = field(default_factory=dict)
    """Request id of every reservation, by entry number."""
    closed: set[int] = field(default_factory=set)
    leases: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Holder and draws of the last lease, by number of the reservation."""
    holders: dict[int, object] = field(default_factory=dict)
    """Token of the run that holds a reservation, by its number."""
    stages: set[tuple[int, str]] = field(default_factory=set)
    """Number of the reservation and name of every stage."""
    approved: dict[str, Any] = field(default_factory=dict)
    """Event of every approval, by request id."""
    events: dict[str, bytes] = field(default_factory=dict)
    """Digest of event and token of every reservation, by request id; the same in the books of its parents."""

    def add_problem(self, entry: Entry, problem: str) -> None:
        """Record a problem with an entry."""
        self.problems.append(f"account {self.name!r}, line {entry.seq}: {problem}")


def replay(name: str, entries: Iterable[Entry], *, prices: bool = False) -> AccountReplay:
    """Read the entries of an account in order and return its state."""
    state = AccountReplay(name)
    for entry in entries:
        _check_chain(state, entry)
        try:
            _apply(state, entry, prices)
        except (DpermError, KeyError, RecursionError, TypeError, ValueError) as error:
            state.add_problem(entry, f"it is invalid ({type(error).__name__}).")
        if dict(entry.meters) != {key: (meter.capacity, meter.spent) for key, meter in state.meters.items()}:
            state.add_problem(entry, "its totals are not the sums of the lines up to it.")
        state.entries, state.head = state.entries + 1, entry.hash
    return state


def _check_chain(state: AccountReplay, entry: Entry) -> None:
    if entry.seq != state.entries + 1:
        state.add_problem(entry, "lines before it are missing.")
    if entry.previous != state.head:
        state.add_problem(entry, "it does not follow the line before it.")
    if entry.hash != entry.content_hash:
        state.add_problem(entry, "it was changed after it was written.")


def _apply(state: AccountReplay, entry: Entry, prices: bool) -> None:
    body: Any = entry.body
    match entry.kind:
        case EntryKind.OPEN:
            if state.facts is not None:
                state.add_problem(entry, "the account is opened a second time.")
            state.facts = AccountFacts.from_dict(state.name, body)
            state.meters = {key: Meter(units) for key, units in capacity_units(state.facts.rule).items()}
        case EntryKind.LIMIT:
            _change_limit(state, entry, body)
        case EntryKind.RESERVE:
            _charge(state, entry)
            _check_event(state, entry, prices)
        case EntryKind.APPROVE:
            state.approved[str(entry.request_id)] = body["event"]
        case EntryKind.LEASE:
            _lease(state, entry, body)
        case EntryKind.STAGE:
            _stage(state, entry, body)
        case EntryKind.COMMIT | EntryKind.BURN:
            if entry.about not in state.reserved or entry.about in state.closed:
                state.add_problem(entry, "it closes a reservation that does not exist or is already closed.")
            state.closed.add(entry.about or 0)


def _change_limit(state: AccountReplay, entry: Entry, body: Any) -> None:
    state.facts = _opened(state).with_limit(guarantee_from_dict(body["limit"]))
    if guarantee_from_dict(body["promise"]) != state.facts.promise:
        state.add_problem(entry, "its promise is not the largest limit so far.")
    capacities = capacity_units(state.facts.rule)
    state.meters = {key: Meter(capacities[key], meter.spent) for key, meter in state.meters.items()}
    if any(meter.spent > meter.capacity for meter in state.meters.values()):
        state.add_problem(entry, "the limit is below the spent amount.")


def _lease(state: AccountReplay, entry: Entry, body: Any) -> None:
    about, holder, draws = entry.about or 0, body["holder"], body["draws"]
    if about not in state.reserved or about in state.closed:
        state.add_problem(entry, "it leases draws of a reservation that does not exist or is closed.")
    if type(draws) is not int or draws < 0 or not isinstance(holder, str):
        state.add_problem(entry, "it is not a valid lease of draws to a holder.")
        return
    before = state.leases.get(about, (holder, draws))
    if before[0] != holder and draws < before[1]:
        state.add_problem(entry, "it leases draws already leased to another run.")
    state.leases[about] = (holder, draws)
    state.holders[about] = holder


def _stage(state: AccountReplay, entry: Entry, body: Any) -> None:
    about, name, facts = entry.about or 0, body["name"], body["facts"]
    if about not in state.reserved or about in state.closed:
        state.add_problem(entry, "it records a stage of a reservation that does not exist or is closed.")
    if not isinstance(name, str) or not name or not isinstance(facts, dict) or entry.cost:
        state.add_problem(entry, "it is not a valid stage with a name, facts and no cost.")
        return
    if (about, name) in state.stages:
        state.add_problem(entry, "it records a stage that was recorded before.")
    if body["holder"] != state.holders.get(about):
        state.add_problem(entry, "it records a stage of a run that does not hold the reservation.")
    state.stages.add((about, name))


def _charge(state: AccountReplay, entry: Entry) -> None:
    state.reserved[entry.seq] = str(entry.request_id)
    units = entry.cost.values()
    if set(entry.cost) != set(state.meters) or not all(type(one) is int and one >= 0 for one in units):
        state.add_problem(entry, "its cost is not in the currencies of the account.")
        return
    state.meters = {key: Meter(old.capacity, old.spent + entry.cost[key]) for key, old in state.meters.items()}
    if any(meter.spent > meter.capacity for meter in state.meters.values()):
        state.add_problem(entry, "the spent amount exceeds the limit.")


def _check_event(state: AccountReplay, entry: Entry, prices: bool) -> None:
    facts, event = _opened(state), entry.body["event"]
    request_id = str(entry.request_id)
    if request_id in state.events:
        state.add_problem(entry, "its request id was charged before.")
    content = json.dumps([event, entry.body["token"]], sort_keys=True)
    state.holders[entry.seq] = entry.body["token"]
    state.events[request_id] = hashlib.sha256(content.encode()).digest()
    if facts.approval and state.approved.get(request_id, entry) not in (None, event):
        state.add_problem(entry, "it was charged without approval.")
    if prices:
        rule = facts.rule
        fair = cost_units(rule, price(rule, event_from_json(json.dumps(event))))
        if any(fair[key] > units + 1 + PRICE_TOLERANCE * units for key, units in entry.cost.items()):
            state.add_problem(entry, "its event costs more than the charged amount.")


def _opened(state: AccountReplay) -> AccountFacts:
    if state.facts is None:
        raise ValueError("not opened")
    return state.facts
