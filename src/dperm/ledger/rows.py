# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Entries as rows of a table, the same in every store."""

import json
from typing import Any, LiteralString

from dperm.errors import LedgerError
from dperm.ledger.entry import Entry, Kind

COLUMNS: LiteralString = "account, seq, kind, request_id, about, cost, body, at, previous, hash"
_METERS = "meters"  # kept with the body: no other key of it has this name


def row_of(entry: Entry) -> tuple[str | int | None, ...]:
    """The columns of an entry; mappings are kept as text, which no store rewrites."""
    cost, body = json.dumps(dict(entry.cost)), json.dumps({**entry.body, _METERS: dict(entry.meters)})
    names = (entry.account, entry.seq, entry.kind.value, entry.request_id, entry.about)
    return *names, cost, body, entry.at, entry.previous, entry.hash


def entry_of(row: tuple[Any, ...]) -> Entry:
    """The entry of a row.

    Raises
    ------
    LedgerError
        If it is none.
    """
    account, seq, kind, request_id, about, cost, body, at, previous, digest = row
    try:
        kinds, costs, content = Kind(kind), dict(json.loads(cost)), dict(json.loads(body))
        meters = {name: (capacity, spent) for name, (capacity, spent) in content.pop(_METERS).items()}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise LedgerError(f"line {seq!r} of account {account!r} cannot be read: the ledger is damaged.") from None
    return Entry(account, seq, kinds, request_id, about, costs, content, meters, at, previous, digest)
