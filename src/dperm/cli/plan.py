# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan``: what a fit would do, promise and cost; no data."""

from typing import TYPE_CHECKING, Any

import typer

from dperm.cli import model_options as options
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors
from dperm.errors import BudgetError, ParameterError

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.methods.plan import Plan

HELP = """What "dperm fit" would do, promise and cost, from public numbers alone. No data are read.

Under replace_one the number of records is public and has to be given: --n. With --ledger the plan is priced, and
whether the account covers it is said; nothing is charged.

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
    C: options.RegularizationC = None,
    clip: options.Clip = None,
    quantile: options.Quantile = None,
    json: AsJson = False,
) -> None:
    """Plan the model of a command line."""
    with reported_errors():
        from dperm.cli import problem
        from dperm.cli.charging import Account, delta_of, relation_of

        if epsilon is None or epsilon == float("inf"):
            raise ParameterError("--epsilon must be a number such as 1: without noise there is nothing to plan.")
        declared = problem.read_schema(schema, None, None)
        charged = Account.of(ledger, account, None)
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
        kind = type(asked.made()).__name__
        if json:
            _print_json(kind, found, charged)
        else:
            _print_facts(kind, found, charged)


def _priced(found: "Plan", account: "Account") -> dict[str, Any]:
    """What the plan costs, and whether that is covered."""
    cost = account.price(found.event)
    try:
        account.ledger.check(found.event)
    except BudgetError as error:
        return {"cost": cost, "covered": False, "why": str(error)}
    return {"cost": cost, "covered": True, "why": ""}


def _print_json(kind: str, found: "Plan", account: "Account | None") -> None:
    from dperm.cli.output import print_json
    from dperm.cli.subject import event_data
    from dperm.privacy.guarantee import guarantee_as_dict

    print_json(
        {
            "estimator": kind,
            "method": found.method,
            "why": list(found.why),
            "guarantee": guarantee_as_dict(found.goal),
            "noise": found.noise,
            "theorems": list(found.facts.known["theorems"]),
            "numbers": found.describe(),
            "event": event_data(found.event),
            "ledger": {} if account is None else {"account": account.facts.name, **_priced(found, account)},
        }
    )


def _print_facts(kind: str, found: "Plan", account: "Account | None") -> None:
    from dperm.accounting.serialize import event_to_json
    from dperm.cli.fit_report import guarantee_in_words
    from dperm.cli.output import below, print_facts

    typer.echo(f"Plan of a {kind}; no data were read.")
    numbers = [f"{name} = {value}" for name, value in found.describe().items() if not isinstance(value, dict)]
    print_facts(
        [
            ("method", found.method),
            ("why", below(found.why)),
            ("guarantee", guarantee_in_words(found.goal)),
            ("noise", found.noise),
            ("theorems", ", ".join(found.facts.known["theorems"])),
            ("numbers", ", ".join(numbers)),
            ("event", event_to_json(found.event)),
            *_ledger_facts(found, account),
        ]
    )


def _ledger_facts(found: "Plan", account: "Account | None") -> list[tuple[str, str]]:
    from dperm.cli.charging import in_words

    if account is None:
        return []
    priced = _priced(found, account)
    answer = "covered" if priced["covered"] else f"NOT COVERED: {priced['why']}"
    return [("cost", f"{in_words(priced['cost'])}, to {account.described}"), ("ledger", answer)]
