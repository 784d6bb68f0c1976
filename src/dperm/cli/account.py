# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm account``: epsilon or delta of a sequence of events."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.options import EVENTS_HELP, AdjacencyName, AsJson, EventFiles, Events, number
from dperm.cli.running import reported_errors, spinner

if TYPE_CHECKING:
    from dperm.accounting.account import AccountedProfile
    from dperm.accounting.engines import Answer

    Rows = list[tuple[float, Answer]]

HELP = f"""Compute the epsilon of a sequence of EVENTs at each --delta, or the delta at each --epsilon.

Each result is an interval that is certified to contain the exact value for the dominating pair of the events. Its upper
endpoint is a valid bound for the mechanism. Upper endpoints are rounded up, lower endpoints down.

{EVENTS_HELP}
\b
Examples:
  dperm account --adjacency add_remove --delta 1e-5 "poisson(gaussian(1.0), rate=0.01) * 1000"
  dperm account --adjacency add_remove --delta 1e-5 --delta 1e-9 "gaussian(4) * 10" "laplace(10) * 50" "pure(0.1)"
  dperm account --adjacency replace_one --epsilon 1 --json "without_replacement(gaussian(2), rate=0.01) * 100"
"""


def account(
    adjacency: AdjacencyName = "",
    events: Events = None,
    delta: Annotated[list[float] | None, number("--delta", "Compute epsilon at this delta; may be repeated.")] = None,
    epsilon: Annotated[
        list[float] | None, number("--epsilon", "Compute delta at this epsilon; may be repeated.")
    ] = None,
    event_file: EventFiles = None,
    write_event: Annotated[
        Path | None,
        typer.Option(
            "--write-event", metavar="FILE", show_default=False, help="Write the composed event to this file as JSON."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --write-event overwrite an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Print epsilon or delta of the events, and store them if requested."""
    with reported_errors():
        from dperm.accounting import account as account_for
        from dperm.cli import event_input

        substitution = event_input.substitution(adjacency)
        quantity, points = _quantity(delta or [], epsilon or [])
        event_input.require_free(write_event, force)
        event = event_input.event_of(event_input.read_events(events, event_file), substitution)
        profile = account_for(event, adjacency)
        with spinner("Accounting ..."):
            rows = [(point, _answer(profile, quantity, point)) for point in points]
        if write_event is not None:
            event_input.write_event(write_event, event, force=force)
        if json:
            _print_json(event_input.event_data(event), profile, quantity, rows)
        else:
            _print_table(profile, quantity, rows)


def answer_data(found: "Answer", quantity: str) -> dict[str, object]:
    """Return an answer and its derivation as JSON-serialisable data; ``quantity`` is "epsilon" or "delta"."""
    return {
        quantity: found.upper,
        f"{quantity}_bracket": [found.lower, found.upper],
        "relative_width": found.width,
        "engine": found.engine,
        "why": found.why,
    }


def _quantity(deltas: list[float], epsilons: list[float]) -> tuple[str, list[float]]:
    """Return "epsilon" or "delta", and the points at which to compute it."""
    from dperm import checks
    from dperm.errors import ParameterError

    if deltas and epsilons:
        raise ParameterError(
            "--delta and --epsilon are mutually exclusive. Give --delta to get epsilon, or --epsilon to get delta."
        )
    if not deltas and not epsilons:
        raise ParameterError("--delta or --epsilon is missing. Give --delta to get epsilon, or --epsilon to get delta.")
    if deltas:
        return "epsilon", [checks.small_delta("--delta", delta) for delta in deltas]
    return "delta", [checks.nonnegative("--epsilon", epsilon) for epsilon in epsilons]


def _other(quantity: str) -> str:
    return "delta" if quantity == "epsilon" else "epsilon"


def _answer(profile: "AccountedProfile", quantity: str, point: float) -> "Answer":
    return profile.epsilon_answer(point) if quantity == "epsilon" else profile.delta_answer(point)


def _print_json(event: object, profile: "AccountedProfile", quantity: str, rows: "Rows") -> None:
    from dperm.cli.output import print_json

    print_json(
        {
            "adjacency": profile.adjacency.value,
            "answers": [{_other(quantity): point, **answer_data(found, quantity)} for point, found in rows],
            "theorems": list(profile.tags),
            "event": event,
        }
    )


def _print_table(profile: "AccountedProfile", quantity: str, rows: "Rows") -> None:
    from dperm.cli.output import bracket, print_facts, print_table, typed, up

    headers = (_other(quantity), f"{quantity} at most", "interval", "relative width", "engine")
    print_table(
        headers,
        [
            (typed(point), up(found.upper), bracket(found.lower, found.upper), up(found.width, 2), found.engine)
            for point, found in rows
        ],
    )
    reasons = dict.fromkeys((found.engine, found.why) for _, found in rows)
    print_facts(
        [
            ("adjacency", profile.adjacency.value),
            ("theorems", ", ".join(profile.tags)),
            *reasons,
            *_advice(quantity, rows),
        ]
    )


def _advice(quantity: str, rows: "Rows") -> list[tuple[str, str]]:
    """Return advice on an epsilon of infinity at delta 0."""
    from dperm.presentation.numbers import INFINITE

    lost = quantity == "epsilon" and any(delta == 0 and math.isinf(found.upper) for delta, found in rows)
    return [(INFINITE, "Give a delta > 0, or use Laplace noise.")] if lost else []
