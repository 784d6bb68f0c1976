# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger approve``: approval of a release, or change of a limit."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dperm.cli.ledger.options import AccountName, Location
from dperm.cli.options import AsJson, number
from dperm.cli.running import note, reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.accounting.event import Event
    from dperm.cli.ledger.limits import LimitOptions
    from dperm.ledger import AccountFacts, Ledger
    from dperm.ledger.books import Books

HELP = """Approve one release by its request id, or change the limit of an account. Both are recorded in the ledger.

An account opened with --approval accepts a release only under an approved request id; with --event, only that event may
be charged. A limit keeps its kind, adjacency, delta and order: only its size changes.

\b
Examples:
  dperm ledger approve census.ledger --account research --request fit-7 --by "A. Officer" --reason "plan of 2 May"
  dperm ledger approve census.ledger --account research --request fit-8 --by "A. Officer" --reason "as planned" \\
    --event "gaussian(20) * 10"
  dperm ledger approve census.ledger --account main --epsilon 4 --by "A. Officer" --reason "second wave" --yes
"""


def approve(
    location: Location,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Name of the approver; stored in the ledger.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason; stored in the ledger.")],
    request: Annotated[
        str | None, typer.Option("--request", metavar="ID", show_default=False, help="Request id to approve.")
    ] = None,
    event: Annotated[
        str | None,
        typer.Option("--event", metavar="EVENT", show_default=False, help="With --request: approve only this event."),
    ] = None,
    event_file: Annotated[
        Path | None,
        typer.Option(
            "--event-file",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            show_default=False,
            help="With --request: approve only the event in this JSON file.",
        ),
    ] = None,
    epsilon: Annotated[float | None, number("--epsilon", "New limit on the total epsilon.")] = None,
    delta: Annotated[float | None, number("--delta", "Never changes.", hidden=True)] = None,
    rho: Annotated[float | None, number("--rho", "New limit on the total rho (zCDP).")] = None,
    mu: Annotated[float | None, number("--mu", "New limit on the total mu (Gaussian DP).")] = None,
    tau: Annotated[float | None, number("--tau", "New limit on the total Renyi divergence.")] = None,
    account: AccountName = None,
    yes: Annotated[bool, typer.Option("--yes", help="Change the limit without confirmation.")] = False,
    json: AsJson = False,
) -> None:
    """Approve a request, or change a limit."""
    with reported_errors():
        from dperm.cli.ledger.limits import LimitOptions, change_limit
        from dperm.ledger import Ledger

        if delta is not None:
            raise ParameterError(
                "--delta: the delta of an account never changes, since every release was charged at its share of it. "
                "Leave --delta out, or open another account."
            )
        sizes = LimitOptions(epsilon=epsilon, rho=rho, mu=mu, tau=tau)
        _require_one_subject(request, sizes, event, event_file)
        ledger = Ledger(location, account)
        if request is None:
            change_limit(ledger, sizes, by=by, reason=reason, yes=yes, json=json)
        else:
            facts = ledger.account_facts
            approved = _event(event, event_file, facts)
            if approved is not None:
                _require_chargeable(approved, facts)
            ledger.approve(request, by=by, reason=reason, event=approved)
            _print_approval(ledger, facts, request, approved, json)


def _require_one_subject(
    request: str | None, sizes: "LimitOptions", event: str | None, event_file: Path | None
) -> None:
    if (request is None) == (not sizes.size_options):
        found = "both were given" if sizes.size_options else "neither was given"
        raise ParameterError(f"give --request, or a new limit (--epsilon, --rho, --mu or --tau); {found}.")
    if request is None and (event is not None or event_file is not None):
        raise ParameterError("--event and --event-file belong to --request. Leave them out to change the limit.")
    if event is not None and event_file is not None:
        raise ParameterError("give --event or --event-file, not both.")


def _event(event: str | None, event_file: Path | None, facts: "AccountFacts") -> "Event | None":
    """Return the only permitted event; None for any event."""
    from dperm.cli.event_input import event_of, read_events, substitution

    texts, files = [event] if event is not None else [], [event_file] if event_file is not None else []
    if not texts and not files:
        return None
    return event_of(read_events(texts, files), substitution(facts.adjacency.value))


def _require_chargeable(event: "Event", facts: "AccountFacts") -> None:
    """Refuse an event without a cost in the account's currency, whose approval could never be used."""
    from dperm.accounting.filters import price
    from dperm.accounting.spelling import in_grammar
    from dperm.cli.ledger.formatting import format_limit
    from dperm.errors import DpermError

    try:
        price(facts.rule, event)
    except DpermError as error:
        raise ParameterError(
            f"--event: {in_grammar(event, facts.adjacency.value)} can never be charged to account {facts.name!r}, "
            f"whose limit is {format_limit(facts.limit)}: {error}"
        ) from None


def _children(ledger: "Ledger", name: str) -> list[str]:
    """Return the accounts whose releases are also charged to this one."""
    from dperm.ledger.bookkeeping import family
    from dperm.ledger.stores import store_of
    from dperm.ledger.transactions import consult

    def lines(books: "Books") -> list[str]:
        others = (one for one in books.accounts() if one != name)
        return [one for one in others if name in (facts.name for facts in family(books, one))]

    return consult(store_of(ledger.location), lines)


def _print_approval(ledger: "Ledger", facts: "AccountFacts", request: str, event: "Event | None", json: bool) -> None:
    from dperm.accounting.spelling import spelled
    from dperm.cli.event_input import event_data
    from dperm.cli.ledger.layout import print_folded
    from dperm.cli.output import print_json

    data: Any = None if event is None else event_data(event)
    if not facts.approval:
        note(f"Warning: account {facts.name!r} needs no approvals: releases are charged without one.")
    below = _children(ledger, facts.name)
    if below and not request.startswith(tuple(f"{name}/" for name in below)):
        note(
            f"Note: this approves a release that is charged to {facts.name!r} directly. Releases from account "
            f"{below[0]!r} are also charged to {facts.name!r}; to approve such a release with this id, use "
            f"--request {f'{below[0]}/{request}'!r}."
        )
    if json:
        anchor = asdict(ledger.anchor())
        print_json({"account": facts.name, "request_id": request, "event": data, "anchor": anchor})
        return
    what = "any event" if data is None else spelled(data, facts.adjacency.value)
    print_folded(f"Approved request {request!r} in account {facts.name!r}: {what}, once.")
