# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a fit asks for, as public facts that the books keep: a request id stands for one command, and no other."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.errors import BudgetError

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.cli.problem import Problem
    from dperm.ledger import Booking

COMMAND, FILE = "command", "data_file"


def facts_of(asked: "Problem", account: "Account", data: Path) -> dict[str, object]:
    """The options of a command, the digest of its schema, and the keyed fingerprint of its data."""
    options = {
        "schema": asked.schema.digest,
        "target": asked.target.name,
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "adjacency": asked.adjacency,
        "estimator": type(asked.made()).__name__,
        "method": asked.method,
        "C": asked.C,
        "clip": asked.clip,
        "n": asked.n,
        "quantile": asked.quantile,
        "seed": asked.seed,
    }
    return {COMMAND: options, FILE: account.ledger.fingerprint(data)}


def require_same(booked: "Booking", now: Mapping[str, Any]) -> None:
    """Refuse a request id that was used for another command, with what differs.

    Raises
    ------
    BudgetError
        If an option, the schema or the data differ. Of what was booked otherwise than by ``dperm fit`` nothing is
        known, and nothing compared.
    """
    if COMMAND not in booked.facts or FILE not in booked.facts:
        return
    found = [*_differences(booked.facts[COMMAND], now[COMMAND])]
    if booked.facts[FILE] != now[FILE]:
        found.append("the data file has another content")
    if found:
        raise BudgetError(
            f"request id {booked.request_id!r} was used for another command: {'; '.join(found)}. Nothing was charged "
            "now. Repeat the first command, or use a new --request-id for this one."
        )


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name, value in now.items():
        old = before.get(name)
        if old == value:
            continue
        if name == "schema":
            yield "--schema is another one"
        elif name == "target":
            yield f"the target was {old!r}, and is {value!r}"
        else:
            yield f"--{name} was {_shown(old)}, and is {_shown(value)}"


def _shown(value: object) -> str:
    return "left out" if value is None else str(value)
