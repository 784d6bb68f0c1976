# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public facts of a command, stored in the ledger: a request id belongs to exactly one command."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.errors import BudgetError

if TYPE_CHECKING:
    from dperm.cli.charged_run import ChargedRequest
    from dperm.cli.charging import Account
    from dperm.ledger import Booking

COMMAND, FILE = "command", "data_file"


def facts_of(request: "ChargedRequest", account: "Account", files: Sequence[Path]) -> dict[str, object]:
    """Return the options of a command, with the digest of its schema, and the keyed fingerprint of its data.

    Several files have a list of fingerprints, in their order.
    """
    found = [account.ledger.fingerprint(path) for path in files]
    return {COMMAND: dict(request.options), FILE: found[0] if len(found) == 1 else found}


def fingerprints(facts: Mapping[str, Any]) -> list[object]:
    """Return the fingerprint of each data file among the facts of a command."""
    found = facts[FILE]
    return list(found) if isinstance(found, list | tuple) else [found]


def require_same(booked: "Booking", now: Mapping[str, Any]) -> None:
    """Refuse a request id of another command.

    Bookings by other means than ``dperm fit`` have no such facts, and are not compared.

    Raises
    ------
    BudgetError
        If an option, the schema or the data differ. The message lists the differences.
    """
    if COMMAND not in booked.facts or FILE not in booked.facts:
        return
    found = [*_differences(booked.facts[COMMAND], now[COMMAND])]
    if booked.facts[FILE] != now[FILE]:
        many = len(fingerprints(now)) > 1 or len(fingerprints(booked.facts)) > 1
        found.append("the data files differ" if many else "the content of the data file differs")
    if found:
        raise BudgetError(
            f"request id {booked.request_id!r} was used for another command: {'; '.join(found)}. Nothing was charged "
            "now. Repeat the first command, or use a new --request-id for this one."
        )


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in [*now, *(name for name in before if name not in now)]:
        old, value = before.get(name), now.get(name)
        if old == value:
            continue
        if name == "schema":
            yield "--schema differs"
        elif name == "model":
            yield "the content of the model file differs"
        elif name == "target":
            yield f"the target was {old!r}, and is now {value!r}"
        else:
            yield f"--{name} was {_shown(old)}, and is now {_shown(value)}"


def _shown(value: object) -> str:
    return "left out" if value is None else str(value)
