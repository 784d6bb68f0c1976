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
        The seq of the reservation that a commit or burn closes.
    cost
        What a reservation charges, in whole units of each currency, rounded up.
    body
        Everything else, as plain JSON data.
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
    at: str
    previous: str
    hash: str = ""

    @property
    def content_hash(self) -> str:
        """What ``hash`` has to be: of the line before and of every field of this one."""
        content = [self.previous, self.account, self.seq, self.kind.value, self.request_id, self.about]
        text = json.dumps([*content, dict(self.cost), dict(self.body), self.at], sort_keys=True, separators=(",", ":"))
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
) -> Entry:
    """The entry after ``head``, sealed."""
    seq, previous = (1, BEGINNING) if head is None else (head.seq + 1, head.hash)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Entry(account, seq, kind, request_id, about, dict(cost or {}), dict(body or {}), now, previous).sealed()
