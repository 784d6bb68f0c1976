# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan --schema``: what a fit would do, promise and cost."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from dperm.cli.option_names import describe_reason
from dperm.cli.plan.given import Given
from dperm.cli.running import REFUSED
from dperm.errors import BudgetError, ParameterError

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.cli.plan.outlook import Seen
    from dperm.cli.problem import Problem
    from dperm.data.schema import Schema
    from dperm.methods.plan import Plan


def plan_fit(given: Given) -> None:
    """Plan, price, try it if that is asked for, and print; exit code 3 if the account does not cover it."""
    from dperm.cli import subject
    from dperm.cli.charging import Account
    from dperm.cli.plan.schema_outlook import wanted_of
    from dperm.cli.problem import read_schema

    size, model, force = given.promise.size, given.model, given.output.force
    declared = read_schema(model.schema, None, None)
    subject.require_free(model.write_event, force)
    account = Account.of(model.ledger, model.account, model.request_id)
    asked = _problem(given, declared, size, account)
    wanted = wanted_of(given, asked) if given.question.expect else None
    found = asked.plan()
    assert found is not None
    if model.write_event is not None:
        subject.write_event(model.write_event, found.event, force=force)
    seen = None if wanted is None else wanted.seen()
    planned = _Planned(type(asked.made()).__name__, found, asked, account, seen)
    (_print_json if given.output.json else _print_facts)(planned)
    if not planned.priced.get("covered", True):
        raise typer.Exit(REFUSED)


def _problem(given: Given, declared: "Schema", size: float, account: "Account | None") -> "Problem":
    """What would be fitted, if that can be planned from public numbers."""
    from dperm.cli.charging import delta_of, relation_of
    from dperm.cli.problem import Problem

    promise, model = given.promise, given.model
    relation = relation_of(account, promise.adjacency)
    asked = Problem(
        declared,
        size,
        delta_of(account, promise.delta),
        relation,
        promise.method or "auto",
        model.estimator,
        C=model.C,
        clip=model.clip,
        n=given.declared.n,
        quantile=model.quantile,
    )
    if not asked.is_planned:
        raise ParameterError("--n is missing: under replace_one the number of records is public, and the plan uses it.")
    return asked


@dataclass(frozen=True)
class _Planned:
    """A plan, what it costs the account, if there is one, and what to expect of it, if that was asked."""

    kind: str
    plan: "Plan"
    asked: "Problem"
    account: "Account | None"
    seen: "Seen | None"

    @cached_property
    def priced(self) -> dict[str, Any]:
        """What the plan costs, and whether that is covered; nothing without an account."""
        if self.account is None:
            return {}
        cost = self.account.price(self.plan.event)
        try:
            self.account.ledger.check(self.plan.event)
        except BudgetError as error:
            return {"cost": cost, "covered": False, "why": describe_reason(error)}
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
            "why": list(map(str, found.why)),
            "guarantee": guarantee_as_dict(found.goal),
            "noise": found.noise,
            "theorems": list(found.facts.known["theorems"]),
            "numbers": found.describe(),
            "event": event_data(found.event),
            "event_text": planned.text,
            "ledger": {} if account is None else {"account": account.facts.name, **planned.priced},
            **({} if planned.seen is None else planned.seen.as_dict()),
        }
    )


def _print_facts(planned: _Planned) -> None:
    from dperm.accounting.serialize import event_to_json
    from dperm.cli.fit_report import guarantee_in_words
    from dperm.cli.output import below, print_facts
    from dperm.cli.plan.outlook_text import print_outlook

    found = planned.plan
    typer.echo(f"Plan of a {planned.kind}; no data were read.")
    numbers = [f"{name} = {value}" for name, value in found.describe().items() if not isinstance(value, dict)]
    print_facts(
        [
            ("method", found.method),
            ("why", below(map(describe_reason, found.why))),
            ("guarantee", guarantee_in_words(found.goal)),
            ("noise", found.noise),
            ("theorems", ", ".join(found.facts.known["theorems"])),
            ("numbers", below(numbers)),
            ("event", planned.text or event_to_json(found.event)),
            *_declared_n(planned),
            *_ledger_facts(planned),
        ]
    )
    if planned.seen is not None:
        typer.echo()
        print_outlook(planned.seen)


def _declared_n(planned: _Planned) -> list[tuple[str, str]]:
    """Reminder that a fit under add_remove has to declare the same n."""
    from dperm.cli.plan.outlook_text import declared_to_fit

    return [("n", text) for text in declared_to_fit(planned.plan.goal, planned.asked.n)]


def _ledger_facts(planned: _Planned) -> list[tuple[str, str]]:
    from dperm.cli.charging import in_words

    account, priced = planned.account, planned.priced
    if account is None:
        return []
    answer = "covered" if priced["covered"] else f"NOT COVERED: {priced['why']}"
    noted = [("note", planned.note.removeprefix("Note: "))] if planned.note else []
    return [("cost", f"{in_words(priced['cost'])}, to {account.described}"), *noted, ("ledger", answer)]
