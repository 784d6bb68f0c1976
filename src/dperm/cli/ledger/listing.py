# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Entries of an account for people: each reservation with its closing entry."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import typer

from dperm.accounting.budget import State
from dperm.accounting.spelling import spelled
from dperm.cli.ledger.account_status import AccountStatus
from dperm.cli.ledger.formatting import format_currency, format_limit
from dperm.cli.ledger.layout import print_folded
from dperm.cli.output import plain_up
from dperm.ledger import Booking, Entry, EntryKind
from dperm.ledger.reservation import bookings
from dperm.privacy.guarantee import guarantee_from_dict

_STATES = {State.RESERVED: "OPEN", State.COMMITTED: "released", State.BURNED: "burned"}
_PARTS = (EntryKind.COMMIT, EntryKind.BURN, EntryKind.LEASE, EntryKind.STAGE)
"""Entries listed with their reservation."""
_SHORT = 12
_LONGEST_ID = 40
_LONGEST_FACTS = 200


def data_of(status: AccountStatus) -> list[dict[str, object]]:
    """Return the entries as JSON-serialisable data; a reservation includes its stages and its closing entry."""
    return [_data(line) for line in _lines(status)]


def _data(line: Entry | Booking) -> dict[str, object]:
    if isinstance(line, Booking):
        return {"kind": EntryKind.RESERVE.value, **asdict(line), "seeded": _is_seeded(line)}
    return {"kind": line.kind.value, "seq": line.seq, "at": line.at, "request_id": line.request_id, **line.body}


def print_lines(status: AccountStatus) -> None:
    """Print the entries: number, time (UTC) and event; below, indented, cost, request and digest, and the stages."""
    typer.echo()
    width = len(str(status.anchor.seq))
    closings = {entry.about: entry.seq for entry in status.entries if entry.kind in (EntryKind.COMMIT, EntryKind.BURN)}
    leases = Counter(entry.about for entry in status.entries if entry.kind is EntryKind.LEASE)
    for line in _lines(status):
        when = line.at[:19].replace("T", " ")
        if isinstance(line, Booking):
            state, event, details = _booked(line, status, closings.get(line.seq), leases[line.seq])
        else:
            state, event, details = _noted(line, status)
        indent = " " * (width + 2)
        print_folded(visible(event), first=f"{line.seq:>{width}}  {when}  {state:<8}  ", rest=indent + " " * 31)
        print_folded(visible(details), first=indent, rest=indent)
        for stage in line.stages if isinstance(line, Booking) else ():
            text = f"stage {stage.name}, entry {stage.seq}{_facts(stage.facts)}"
            print_folded(visible(text), first=indent, rest=indent)
    typer.echo("Times are UTC.")


def _lines(status: AccountStatus) -> Iterator[Entry | Booking]:
    """Yield the entries in order, with a booking for every reservation."""
    booked = {booking.seq: booking for booking in bookings(status.facts, status.entries)}
    for entry in status.entries:
        if entry.kind not in _PARTS:
            yield booked.get(entry.seq, entry)


def _booked(booking: Booking, status: AccountStatus, closing: int | None, leases: int) -> tuple[str, str, str]:
    """Return state, event and details; receipts and statements have the number of the closing entry."""
    parts = [
        *(["NOT PRIVATE (seeded)"] if _is_seeded(booking) else []),
        ", ".join(_cost(name, cost) for name, cost in booking.cost.items() if cost),
        f"request {_shortened(booking.request_id)}",
        *_evaluation(booking.facts),
        *([_digest(booking.digest)] if booking.digest else []),
        *([f"burned: {booking.reason}"] if booking.reason else []),
        *([f"{leases} {'lease' if leases == 1 else 'leases'} of draws"] if leases else []),
        *([f"closed by entry {closing}"] if closing else []),
    ]
    what = spelled(booking.event, status.facts.adjacency.value)
    return _STATES[booking.state], what, "; ".join(part for part in parts if part)


def _noted(entry: Entry, status: AccountStatus) -> tuple[str, str, str]:
    body: Any = entry.body
    signed = f"by {body.get('by')}: {body.get('reason')}"
    match entry.kind:
        case EntryKind.OPEN:
            return (
                "opened",
                format_limit(guarantee_from_dict(body["limit"])),
                f"{body.get('dataset')}, {body.get('unit')}",
            )
        case EntryKind.LIMIT:
            return "limit", f"now {format_limit(guarantee_from_dict(body['limit']))}", signed
    event = body.get("event")
    only = f"only for {spelled(event, status.facts.adjacency.value)}; " if event else ""
    return "approved", f"request {_shortened(str(entry.request_id))}", only + signed


def _facts(facts: Mapping[str, Any]) -> str:
    """Return public facts of a stage on one line, as far as they fit; digests are shortened."""
    texts = (_digest(value) if name == "digest" else f"{name} {value}" for name, value in facts.items())
    text = "; ".join(str(one) for one in texts)
    return f": {text if len(text) <= _LONGEST_FACTS else f'{text[:_LONGEST_FACTS]}...'}" if text else ""


def _evaluation(facts: Mapping[str, Any]) -> list[str]:
    """Return a phrase on the model and the target of an evaluation; empty for other releases."""
    found = facts.get("evaluation")
    if not isinstance(found, Mapping):
        return []
    model, target = found.get("evaluated_model"), found.get("target")
    known = model if isinstance(model, Mapping) else {}
    file = f" (file sha256:{str(known['sha256_of_file'])[:_SHORT]})" if "sha256_of_file" in known else ""
    of = f" of {known['class']}{file}" if "class" in known else " of scores"
    return [f"evaluation{of}{f', target {_shortened(str(target))}' if target else ''}"]


def _is_seeded(booking: Booking) -> bool:
    return bool(booking.facts.get("seeded"))


def _cost(name: str, cost: float) -> str:
    return "1 release" if name == "delta" else f"{format_currency(name)} {plain_up(cost)}"


def _digest(digest: object) -> str:
    kind, _, rest = str(digest).rpartition(":")
    return f"{kind}:{rest[:_SHORT]}" if kind else rest[:_SHORT]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ID else f"{text[:_LONGEST_ID]}..."


def visible(text: str) -> str:
    """Return the text on one line, escaped: stored text must neither forge lines nor control a terminal."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
