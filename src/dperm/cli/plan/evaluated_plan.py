# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan fit --holdout``: consequences of a fit with private metrics on held-out records."""

from typing import TYPE_CHECKING

import typer

from dperm.cli.option_names import describe_reason
from dperm.cli.plan.public_numbers import PrivacyOptions
from dperm.cli.running import REFUSED

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.cli.declared_fit import DeclaredFitRequest
    from dperm.cli.plan.fit_plan import FitPlanOptions


def evaluated_request(
    privacy: PrivacyOptions, options: "FitPlanOptions", account: "Account | None", share: float
) -> "DeclaredFitRequest":
    """Return the fit to plan, with metrics on held-out records.

    Raises
    ------
    ParameterError
        If an option cannot be used with --holdout, or --n is missing under replace_one.
    """
    from dperm.cli.charging import delta_of, relation_of
    from dperm.cli.declared_fit import declared_fit_request
    from dperm.cli.declared_groups import declared_groups
    from dperm.cli.fit_request import read_schema
    from dperm.cli.plan.fit_plan import require_planned
    from dperm.cli.schema_fit import schema_release

    request = declared_fit_request(
        read_schema(options.schema, None, None),
        options.schema,
        C=options.C,
        released=schema_release(options.schema),
        separator=",",
        epsilon=privacy.size,
        delta=delta_of(account, privacy.delta),
        adjacency=relation_of(account, privacy.adjacency),
        method=options.method,
        estimator=options.estimator,
        clip=options.clip,
        n=options.n,
        quantile=options.quantile,
        holdout=share,
        groups=declared_groups(options.groups),
    )
    require_planned(request)
    return request


def show_evaluated_plan(
    request: "DeclaredFitRequest", account: "Account | None", options: "FitPlanOptions", *, as_json: bool
) -> None:
    """Print the plan of a model and its metrics; exits with code 3 if the account does not cover it."""
    from dperm.cli import event_input
    from dperm.cli.fit_report import format_guarantee, print_stages, protection_data, weak_protection
    from dperm.cli.output import below, print_facts, print_json
    from dperm.cli.plan.fit_plan import ledger_facts, price_of
    from dperm.cli.plan.table_plan import stages_and_evaluation
    from dperm.privacy.guarantee import guarantee_as_dict

    plan = request.plan()
    assert plan is not None  # `require_planned` has checked it
    if options.write_event is not None:
        event_input.write_event(options.write_event, plan.event, force=options.force)
    price, profile = price_of(plan.event, account), plan.facts.profile
    text, theorems = event_input.event_text(plan.event, request.adjacency), list(plan.facts.known["theorems"])
    estimator = type(request.model.steps[-1][1]).__name__
    if as_json:
        print_json(
            {
                "estimator": estimator,
                "guarantee": guarantee_as_dict(plan.goal),
                "protection": protection_data(profile),
                "why": list(map(str, plan.why)),
                "noise": plan.facts.noise,
                "theorems": theorems,
                **stages_and_evaluation(plan),
                "event": event_input.event_data(plan.event),
                "event_text": text,
                "ledger": {} if account is None else {"account": account.facts.name, **price},
            }
        )
    else:
        typer.echo(f"Plan for {estimator} and its private metrics under one guarantee; no data were read.")
        print_facts(
            [
                ("why", below(map(describe_reason, plan.why))),
                ("guarantee", format_guarantee(plan.goal)),
                *weak_protection(profile),
                ("theorems", ", ".join(theorems)),
                *([] if text is None else [("event", text)]),
                *ledger_facts(account, price),
            ]
        )
        print_stages(plan.stages)
    if not price.get("covered", True):
        raise typer.Exit(REFUSED)
