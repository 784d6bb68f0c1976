# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A line of the books, and the hash that chains it to the line before."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

BEGINNING = "0" * 64
"""What the first entry of an account names as the hash before it."""


class Kind(StrEnum):
    """What an entry says."""

    OPEN = "open"
    """The account: its data set, unit of privacy, limit. The first entry, and only that."""

    LIMIT = "limit"
    """The limit was changed, by whom and why."""

    APPROVE = "approve"
    """A request was approved, by whom and why."""

    RESERVE = "reserve"
    """A release was charged, before it happened."""

    LEASE = "lease"
    """The holder of a reservation may draw noise until so many draws were made in all; its run can be resumed."""

    COMMIT = "commit"
    """A reservation was closed with the digest of what was released."""

    BURN = "burn"
    """A reservation was closed without a release; it stays charged."""


@dataclass(frozen=True)
class Entry:
    """One line of an account, never changed once it is written.

    Attributes
    ----------
    account, seq
        Which account, and its how manieth line, from 1.
    request_id
        Of a reservation or an approval.
    about
        The seq of the reservation that a lease, commit or burn is about.
    cost
        What a reservation charges, in whole units of each currency, rounded up.
    body
        Everything else, as plain JSON data.
    meters
        Capacity and sum of each currency after this line, in units. So the last line says how the account stands, and
        tables of sums that say something else are refused.
    at
        When it was written, UTC, in ISO 8601.
    previous, hash
        SHA-256 of the line before, and of this one with it.
    """

    account: str
    seq: int
    kind: Kind
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
        """What ``hash`` has to be: of the line before and of every field of this one."""
        content = [self.previous, self.account, self.seq, self.kind.value, self.request_id, self.about]
        rest = [dict(self.cost), dict(self.body), dict(self.meters), self.at]
        text = json.dumps([*content, *rest], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def sealed(self) -> "Entry":
        """The same with its hash."""
        return replace(self, hash=self.content_hash)


def following(
    account: str,
    head: Entry | None,
    kind: Kind,
    *,
    request_id: str | None = None,
    about: int | None = None,
    cost: Mapping[str, int] | None = None,
    body: Mapping[str, object] | None = None,
    meters: Mapping[str, tuple[int, int]] | None = None,
) -> Entry:
    """The entry after ``head``, sealed; the meters stay as they were if none are given."""
    seq, previous, stood = (1, BEGINNING, {}) if head is None else (head.seq + 1, head.hash, head.meters)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    after = dict(stood if meters is None else meters)
    return Entry(
        account, seq, kind, request_id, about, dict(cost or {}), dict(body or {}), after, now, previous
    ).sealed()
