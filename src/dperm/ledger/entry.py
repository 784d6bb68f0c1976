# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Entries of the ledger, their hash chain, and their table rows."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, LiteralString

from dperm.errors import LedgerError

COLUMNS: LiteralString = "account, seq, kind, request_id, about, cost, body, at, previous, hash"
_METERS = "meters"  # stored in the body, where no other key has this name
BEGINNING = "0" * 64
"""Previous hash of an account's first entry."""


class EntryKind(StrEnum):
    """Kind of a ledger entry.

    ``OPEN`` opens an account, ``LIMIT`` changes its limit, ``APPROVE`` approves a request, and ``RESERVE`` charges a
    release; this charge is called a reservation. ``LEASE`` permits noise draws under a reservation, ``STAGE`` records a
    finished stage of a reservation, and ``COMMIT`` or ``BURN`` closes a reservation.
    """

    OPEN = "open"
    """Opening of an account with its data set, unit of privacy and limit; always the first entry."""

    LIMIT = "limit"
    """Change of the limit, with author and reason."""

    APPROVE = "approve"
    """Approval of a request, with author and reason."""

    RESERVE = "reserve"
    """Charge of a release, before its noise is drawn."""

    LEASE = "lease"
    """Permission for the holder of a reservation to draw noise up to a total number of draws, for a resumable run."""

    STAGE = "stage"
    """Facts of a finished stage of an open reservation; it costs nothing."""

    COMMIT = "commit"
    """Closing of a reservation with the digest of the released value."""

    BURN = "burn"
    """Closing of a reservation without a release; the reservation stays charged."""


@dataclass(frozen=True)
class Entry:
    """One entry of an account, immutable once written.

    Attributes
    ----------
    account, seq
        Account name, and number of the entry in the account, starting at 1.
    kind
        Kind of the entry.
    request_id
        Id of the reserved or approved request; None for other kinds of entry.
    about
        Number of the reservation to which a lease, stage, commit or burn refers; None for other kinds of entry.
    cost
        Cost of a reservation in each currency, such as "epsilon", in integer multiples of the account's smallest unit,
        rounded up. Empty for other kinds of entry.
    body
        All other content, as plain JSON data.
    meters
        Capacity and total charged cost in each currency after this entry, in the same unit. The last entry therefore
        states the balance of the account. A ledger whose table of totals disagrees with the last entry is rejected.
    at
        Time of writing in UTC, in ISO 8601 format.
    previous, hash
        SHA-256 hash of the previous entry, and SHA-256 hash of this entry, including ``previous``.
    """

    account: str
    seq: int
    kind: EntryKind
    request_id: str | None
    about: int | None
    cost: Mapping[str, int]
    body: Mapping[str, object]
    meters: Mapping[str, tuple[int, int]]
    at: str
    previous: str
    hash: str = ""

    @property
    def content_hash(self) -> str:
        """Expected ``hash``, computed from the previous hash and every field of this entry."""
        content = [self.previous, self.account, self.seq, self.kind.value, self.request_id, self.about]
        rest = [dict(self.cost), dict(self.body), dict(self.meters), self.at]
        text = json.dumps([*content, *rest], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def with_hash(self) -> "Entry":
        """Return a copy of the entry whose ``hash`` is set to ``content_hash``."""
        return replace(self, hash=self.content_hash)


def next_entry(
    account: str,
    head: Entry | None,
    kind: EntryKind,
    *,
    request_id: str | None = None,
    about: int | None = None,
    cost: Mapping[str, int] | None = None,
    body: Mapping[str, object] | None = None,
    meters: Mapping[str, tuple[int, int]] | None = None,
) -> Entry:
    """Return the entry after ``head``, with its hash; the meters stay unchanged by default."""
    seq, previous, stood = (1, BEGINNING, {}) if head is None else (head.seq + 1, head.hash, head.meters)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    after = dict(stood if meters is None else meters)
    return Entry(
        account,
        seq,
        kind=kind,
        request_id=request_id,
        about=about,
        cost=dict(cost or {}),
        body=dict(body or {}),
        meters=after,
        at=now,
        previous=previous,
    ).with_hash()


def row_of(entry: Entry) -> tuple[str | int | None, ...]:
    """Return the columns of an entry; mappings are stored as text, which no store rewrites."""
    cost, body = json.dumps(dict(entry.cost)), json.dumps({**entry.body, _METERS: dict(entry.meters)})
    names = (entry.account, entry.seq, entry.kind.value, entry.request_id, entry.about)
    return *names, cost, body, entry.at, entry.previous, entry.hash


def entry_of(row: tuple[Any, ...]) -> Entry:
    """Return the entry of a row.

    Raises
    ------
    LedgerError
        If the row is damaged.
    """
    account, seq, kind, request_id, about, cost, body, at, previous, digest = row
    try:
        kinds, costs, content = EntryKind(kind), dict(json.loads(cost)), dict(json.loads(body))
        meters = {name: (capacity, spent) for name, (capacity, spent) in content.pop(_METERS).items()}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise LedgerError(f"line {seq!r} of account {account!r} cannot be read: the ledger is damaged.") from None
    return Entry(
        account,
        seq,
        kind=kinds,
        request_id=request_id,
        about=about,
        cost=costs,
        body=content,
        meters=meters,
        at=at,
        previous=previous,
        hash=digest,
    )
