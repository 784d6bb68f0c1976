# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan``: what a fit would do, promise and cost; no data."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dperm.cli import model_options as options
from dperm.cli.options import AsJson
from dperm.cli.running import REFUSED, reported_errors
from dperm.cli.wording import as_typed
from dperm.errors import BudgetError, ParameterError

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.cli.problem import Problem
    from dperm.methods.plan import Plan

HELP = """What "dperm fit" would do, promise and cost, from public numbers alone. No data are read.

Under replace_one the number of records is public and has to be given: --n. With --ledger the plan is priced, and
whether the account covers it is said, with exit code 3 if it does not; nothing is charged. The event can be approved
beforehand: "dperm ledger approve --event", or --event-file with what --write-event wrote.

\b
Examples:
  dperm plan --schema schema.toml --epsilon 1 --n 20000
  dperm plan --schema schema.toml --epsilon 1 --adjacency add_remove --method objective --json
  dperm plan --schema schema.toml --epsilon 1 --n 20000 --ledger census.ledger
"""


def plan(
    schema: options.SchemaFile = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    n: options.Rows = None,
    adjacency: options.Relation = None,
    method: options.MethodName = "auto",
    estimator: options.EstimatorName = None,
    ledger: options.LedgerPlace = None,
    account: options.AccountName = None,
    request_id: Annotated[
        str | None,
        typer.Option("--request-id", metavar="ID", show_default=False, help="That of the fit, if it was approved."),
    ] = None,
    C: options.RegularizationC = None,
    clip: options.Clip = None,
    quantile: options.Quantile = None,
    write_event: Annotated[
        Path | None,
        typer.Option("--write-event", metavar="FILE", show_default=False, help="Store the event as JSON."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --write-event overwrite an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Plan the model of a command line."""
    with reported_errors():
        from dperm.cli import problem, subject
        from dperm.cli.charging import Account, delta_of, relation_of

        if epsilon is None:
            raise ParameterError("--epsilon is missing: how much a record may show, such as --epsilon 1.")
        if epsilon == float("inf"):
            raise ParameterError("--epsilon must be a number such as 1: without noise there is nothing to plan.")
        declared = problem.read_schema(schema, None, None)
        subject.require_free(write_event, force)
        charged = Account.of(ledger, account, request_id)
        relation = relation_of(charged, adjacency)
        asked = problem.Problem(
            declared,
            epsilon,
            delta_of(charged, delta),
            relation,
            method,
            estimator,
            C=C,
            clip=clip,
            n=n,
            quantile=quantile,
        )
        if not asked.is_planned:
            raise ParameterError(
                "--n is missing: under replace_one the number of records is public, and the plan uses it."
            )
        found = asked.plan()
        assert found is not None
        if write_event is not None:
            subject.write_event(write_event, found.event, force=force)
        planned = _Planned(type(asked.made()).__name__, found, asked, charged)
        if json:
            _print_json(planned)
        else:
            _print_facts(planned)
        if not planned.priced.get("covered", True):
            raise typer.Exit(REFUSED)


@dataclass(frozen=True)
class _Planned:
    """A plan, and what it costs the account, if there is one."""

    kind: str
    plan: "Plan"
    asked: "Problem"
    account: "Account | None"

    @cached_property
    def priced(self) -> dict[str, Any]:
        """What the plan costs, and whether that is covered; nothing without an account."""
        if self.account is None:
            return {}
        cost = self.account.price(self.plan.event)
        try:
            self.account.ledger.check(self.plan.event)
        except BudgetError as error:
            return {"cost": cost, "covered": False, "why": as_typed(str(error))}
        return {"cost": cost, "covered": True, "why": ""}

    @property
    def text(self) -> str | None:
        """The event as it can be typed; None if it cannot."""
        from dperm.cli.subject import typed

        return typed(self.plan.event, self.asked.adjacency)

    @property
    def note(self) -> str:
        """Of noise that the account is charged dearly for."""
        from dperm.cli.dear_noise import on_dear_noise

        return "" if self.account is None else on_dear_noise(self.plan.event, self.account, self.asked)


def _print_json(planned: _Planned) -> None:
    from dperm.cli.output import print_json
    from dperm.cli.subject import event_data
    from dperm.privacy.guarantee import guarantee_as_dict

    found, account = planned.plan, planned.account
    print_json(
        {
            "estimator": planned.kind,
            "method": found.method,
            "why": list(found.why),
            "guarantee": guarantee_as_dict(found.goal),
            "noise": found.noise,
            "theorems": list(found.facts.known["theorems"]),
            "numbers": found.describe(),
            "event": event_data(found.event),
            "event_text": planned.text,
            "ledger": {} if account is None else {"account": account.facts.name, **planned.priced},
        }
    )


def _print_facts(planned: _Planned) -> None:
    from dperm.accounting.serialize import event_to_json
    from dperm.cli.fit_report import guarantee_in_words
    from dperm.cli.output import below, print_facts

    found = planned.plan
    typer.echo(f"Plan of a {planned.kind}; no data were read.")
    numbers = [f"{name} = {value}" for name, value in found.describe().items() if not isinstance(value, dict)]
    print_facts(
        [
            ("method", found.method),
            ("why", below(map(as_typed, found.why))),
            ("guarantee", guarantee_in_words(found.goal)),
            ("noise", found.noise),
            ("theorems", ", ".join(found.facts.known["theorems"])),
            ("numbers", below(numbers)),
            ("event", planned.text or event_to_json(found.event)),
            *_ledger_facts(planned),
        ]
    )


def _ledger_facts(planned: _Planned) -> list[tuple[str, str]]:
    from dperm.cli.charging import in_words

    account, priced = planned.account, planned.priced
    if account is None:
        return []
    answer = "covered" if priced["covered"] else f"NOT COVERED: {priced['why']}"
    noted = [("note", planned.note.removeprefix("Note: "))] if planned.note else []
    return [("cost", f"{in_words(priced['cost'])}, to {account.described}"), *noted, ("ledger", answer)]
