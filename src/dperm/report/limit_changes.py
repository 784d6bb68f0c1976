# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is said about a limit that was changed: it binds only as far as nobody moves it.

A receipt tells it by "opening_limit" and "limit_changes", each with "at", "by", "reason", "limit" and "after", the
number of releases that had been charged before.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from dperm.report.labels import epsilon_first
from dperm.report.numbers import rounded_up

KINDS = {"PureDP": "epsilon-DP", "ApproxDP": "(epsilon, delta)-DP", "ZCDP": "zCDP", "GDP": "GDP", "RDP": "Renyi DP"}
NO_LONGER = "What was promised under the smaller limit no longer holds."
LATER = "a limit can be raised later: ask the ledger (dperm ledger show)"
AN_ACCOUNT = "A limit changed because of what was released is an account of what happened, not a guarantee."


def limit_in_words(limit: Mapping[str, Any]) -> str:
    """Such as "(epsilon, delta)-DP with epsilon = 3, delta = 1e-6 (replace_one)"."""
    return f"{_kind(limit)} ({limit.get('adjacency', '')})"


def when_booked(receipt: Mapping[str, Any]) -> str:
    """A receipt knows the limit of its own time: such as "when this was booked (entry 7)"."""
    entry = receipt.get("seq")
    return "when this was booked" if entry is None else f"when this was booked (entry {entry})"


def later(receipt: Mapping[str, Any]) -> str:
    """That the limit may have been raised since; nothing of a budget in memory, whose limit nobody can change."""
    return LATER if receipt.get("account") else ""


def changes_in_words(receipt: Mapping[str, Any]) -> str:
    """Every change of the limit, and what it means; empty if there was none."""
    return " ".join(_sentences(receipt))


def changes_of(receipt: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The changes that a receipt tells."""
    found = receipt.get("limit_changes")
    return [change for change in found if isinstance(change, Mapping)] if isinstance(found, list | tuple) else []


def _sentences(receipt: Mapping[str, Any]) -> Iterator[str]:
    changes = changes_of(receipt)
    limits = [_mapping(receipt.get("opening_limit")), *(_mapping(change.get("limit")) for change in changes)]
    steps = list(zip(pairwise(limits), changes, strict=True))
    for (old, new), change in steps:
        start = f" from {_kind(old)}" if old else ""
        yield f"The limit was changed{start} to {_kind(new)} by {_by(change)}, {_after(change)}."
    late = [limits for limits, change in steps if change.get("after") != 0]
    if any(_is_raised(old, new) for old, new in late):
        yield NO_LONGER
    if late:
        yield AN_ACCOUNT


def _by(change: Mapping[str, Any]) -> str:
    reason, day = change.get("reason"), str(change.get("at") or "").partition("T")[0]
    return f"{change.get('by')!r}" + (f" on {day}" if day else "") + (f" (reason: {reason!r})" if reason else "")


def _after(change: Mapping[str, Any]) -> str:
    many = change.get("after")
    if many == 0:
        return "before any release"
    return "after 1 release" if many == 1 else f"after {many} releases" if many is not None else "at a time not known"


def _is_raised(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether anything is larger than before; what cannot be compared may be."""
    names = [name for name in new if name not in ("kind", "adjacency")]
    try:
        return any(new[name] > old[name] for name in names)
    except (KeyError, TypeError):
        return True


def _kind(limit: Mapping[str, Any]) -> str:
    numbers = {name: value for name, value in limit.items() if name not in ("kind", "adjacency")}
    kind = KINDS.get(str(limit.get("kind")), str(limit.get("kind", "")))
    if "curve" in numbers:
        return f"{kind} at {len(numbers['curve'])} orders"
    return f"{kind} with {', '.join(f'{name} = {_number(value)}' for name, value in epsilon_first(numbers).items())}"


def _number(value: object) -> str:
    return rounded_up(value) if isinstance(value, int | float) else str(value)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
