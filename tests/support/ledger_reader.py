# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The books of a ledger read without dperm, which cannot vouch for itself: own SQL, own arithmetic, own chain."""

import hashlib
import json
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from urllib.parse import quote

LINES = (
    "SELECT account, seq, kind, request_id, about, cost, body, at, previous, hash FROM {}entry ORDER BY account, seq"
)
METERS = "SELECT account, name, capacity, spent FROM {}meter ORDER BY account, name"
KEYS = "SELECT format, public_key, signing_key, fingerprint_key FROM {}ledger"


@dataclass(frozen=True)
class Line:
    account: str
    seq: int
    kind: str
    request_id: str | None
    about: int | None
    cost: dict[str, int]
    body: dict[str, Any]
    at: str
    previous: str
    hash: str

    @property
    def own_hash(self) -> str:
        content = [self.previous, self.account, self.seq, self.kind, self.request_id, self.about]
        body = {name: value for name, value in self.body.items() if name != "meters"}
        told = [*content, self.cost, body, self.body["meters"], self.at]
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Books:
    lines: tuple[Line, ...]
    meters: tuple[tuple[Any, ...], ...]
    keys: tuple[Any, ...]

    def of(self, account: str) -> list[Line]:
        return [line for line in self.lines if line.account == account]

    def holds(self, anchor: dict[str, Any]) -> bool:
        return any((a.account, a.seq, a.hash) == (anchor["account"], anchor["seq"], anchor["hash"]) for a in self.lines)


def read_books(location: str) -> Books:
    """Everything, at one moment."""
    if location.startswith("postgres"):
        return _read_postgres(location)
    connection = sqlite3.connect(f"file:{quote(location)}?mode=rw", uri=True, timeout=60.0, isolation_level=None)
    try:
        connection.execute("BEGIN")
        found = [connection.execute(query.format("")).fetchall() for query in (LINES, METERS, KEYS)]
        connection.execute("COMMIT")
    finally:
        connection.close()
    return _books(*found)


def _read_postgres(location: str) -> Books:
    import psycopg

    with psycopg.connect(location) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return _books(*(connection.execute(query.format("dperm.")).fetchall() for query in (LINES, METERS, KEYS)))


def _books(lines: list[Any], meters: list[Any], keys: list[Any]) -> Books:
    read = (Line(*row[:5], _json(row[5]), _json(row[6]), *row[7:]) for row in lines)
    return Books(tuple(read), tuple(map(tuple, meters)), tuple(map(tuple, keys)))


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Released:
    """What left the house: one draw of noise."""

    account: str
    request_id: str
    epsilon: float
    nonce: str


@dataclass
class Figures:
    """What a campaign came to. ``bad`` is empty, or the ledger lost money."""

    spends: int = 0
    releases: int = 0
    burnt: int = 0
    overspend: int = 0
    without_reservation: int = 0
    duplicate_draws: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def bad(self) -> list[str]:
        counted = ("overspend", "without_reservation", "duplicate_draws")
        return [f"{name}: {getattr(self, name)}" for name in counted if getattr(self, name)] + self.broken

    def line(self) -> str:
        return (
            f"{self.spends} spends, {self.releases} releases, {self.burnt} burnt, overspend {self.overspend}, "
            f"without reservation {self.without_reservation}, duplicate draws {self.duplicate_draws}"
        )


def audited(books: Books, limits: dict[str, Fraction], released: list[Released], anchors: list[Any]) -> Figures:
    """Hold the books against what left the house before they were read."""
    found = Figures(sum(line.kind == "reserve" for line in books.lines), len(released))
    for account, limit in limits.items():
        lines = books.of(account)
        found.broken += broken_chain(lines)
        _audit_sums(found, books, account, lines)
        own = [one for one in released if one.account == account]
        _audit_releases(found, lines, own, limit / capacity_of(books, account))
        found.overspend += sum(Fraction(one.epsilon) for one in own) > limit
    found.burnt = sum(line.kind == "reserve" and "/" not in str(line.request_id) for line in books.lines) - len(
        released
    )
    found.broken += [f"anchor of line {a['seq']} is not in the books" for a in anchors if not books.holds(a)]
    return found


def broken_chain(lines: list[Line]) -> list[str]:
    """What is wrong with the chain of one account."""
    before, bad = "0" * 64, []
    for number, line in enumerate(lines, 1):
        if line.seq != number or line.previous != before or line.hash != line.own_hash:
            bad.append(f"the chain of {line.account!r} breaks at line {line.seq}")
        before = line.hash
    return bad


def capacity_of(books: Books, account: str) -> int:
    return next(int(capacity) for name, _, capacity, _ in books.meters if name == account)


def _audit_sums(found: Figures, books: Books, account: str, lines: list[Line]) -> None:
    ((_, _, capacity, spent),) = [meter for meter in books.meters if meter[0] == account]
    total = sum(line.cost["epsilon"] for line in lines if line.kind == "reserve")
    found.overspend += total > capacity or spent > capacity
    if lines[-1].body["meters"] != {"epsilon": [capacity, spent]}:
        found.broken.append(f"the last line of {account!r} names other sums than its meter")
    if spent != total:
        found.broken.append(f"the meter of {account!r} shows {spent} of {capacity}, and its lines come to {total}")
    closed = Counter(line.about for line in lines if line.about is not None)
    opened = Counter(line.request_id for line in lines if line.kind == "reserve")
    if max([0, *closed.values(), *opened.values()]) > 1:
        found.broken.append(f"a request of {account!r} is booked or closed twice")


def _audit_releases(found: Figures, lines: list[Line], released: list[Released], worth: Fraction) -> None:
    """``worth`` of a unit is what the whole limit is, divided by the capacity: no rule of dperm's about units is used.

    If every charge is at least its share of the limit, and all are within the capacity, all is within the limit.
    """
    reserved = {line.request_id: line for line in lines if line.kind == "reserve"}
    closing = {line.about: line for line in lines if line.about is not None}
    found.duplicate_draws += len(released) - len({one.request_id for one in released})
    for one in released:
        line = reserved.get(one.request_id)
        if line is None or line.cost["epsilon"] * worth < Fraction(one.epsilon):
            found.without_reservation += 1
            continue
        closed = closing.get(line.seq)
        if closed is not None and closed.body["digest"] != digest_of(one.nonce):
            found.broken.append(f"{one.request_id} was released, and is closed otherwise")


def digest_of(nonce: str) -> str:
    return "sha256:" + hashlib.sha256(nonce.encode()).hexdigest()
