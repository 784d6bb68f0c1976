# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan fit``: method, guarantee, noise and cost of a fit."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dperm.cli.option_names import describe_reason
from dperm.cli.plan.public_numbers import PrivacyOptions, TableColumns, guarantee
from dperm.cli.running import REFUSED
from dperm.errors import BudgetError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.event import Event
    from dperm.cli.charging import Account
    from dperm.cli.declared_fit import DeclaredFitRequest
    from dperm.cli.fit_request import FitRequest, ModelFitRequest
    from dperm.cli.plan.outlook import OutlookOptions, OutlookRequest, OutlookResult
    from dperm.methods.plan import Plan
    from dperm.privacy.profile import PrivacyProfile


@dataclass(frozen=True, kw_only=True)
class FitPlanOptions:
    """Options of the planned model, its account and its output; None where an option is left out."""

    schema: Path
    n: int | None
    method: str
    estimator: str | None
    C: float | None
    clip: float | None
    quantile: float | None
    ledger: str | None
    account: str | None
    request_id: str | None
    write_event: Path | None
    force: bool
    holdout: float | None = None
    groups: str | None = None
    model: str = "linear"

    def __post_init__(self) -> None:
        """Refuse options of linear models for an additive model."""
        from dperm.cli.additive_fit import is_additive, refuse_with_additive

        if is_additive(self.model):
            given = {"--holdout": self.holdout, "--groups": self.groups}
            refuse_with_additive({**given, "--estimator": self.estimator, "--quantile": self.quantile})

    def request(self, privacy: PrivacyOptions, account: "Account | None") -> "ModelFitRequest":
        """Return the fit to plan.

        Raises
        ------
        ParameterError
            If --n is missing under replace_one.
        """
        from dperm.cli.additive_fit import AdditiveFitRequest, is_additive, refuse_released_schema
        from dperm.cli.charging import delta_of, relation_of
        from dperm.cli.fit_request import FitRequest, read_additive_schema, read_schema

        common: dict[str, Any] = {
            "epsilon": privacy.size,
            "delta": delta_of(account, privacy.delta),
            "adjacency": relation_of(account, privacy.adjacency),
            "method": self.method,
            "C": self.C,
            "clip": self.clip,
            "n": self.n,
        }
        request: ModelFitRequest
        if is_additive(self.model):
            refuse_released_schema(self.schema)
            request = AdditiveFitRequest(schema=read_additive_schema(self.schema, None, None), **common)
        else:
            learner: dict[str, Any] = {"estimator": self.estimator, "quantile": self.quantile}
            request = FitRequest(schema=read_schema(self.schema, None, None), **common, **learner)
        require_planned(request)
        return request


def require_planned(request: "ModelFitRequest | DeclaredFitRequest") -> None:
    """Raise ParameterError if --n is missing under replace_one."""
    if not request.is_planned:
        raise ParameterError(
            "--n is missing: under replace_one, the number of records is public and required for the plan."
        )


def show_fit_plan(
    privacy: PrivacyOptions, options: FitPlanOptions, *, outlook: "OutlookOptions | None" = None, as_json: bool
) -> None:
    """Print the plan of a fit, its price and, with ``outlook``, its expected accuracy.

    Exits with code 3 if the account does not cover the plan.
    """
    from dperm.cli import event_input
    from dperm.cli.charging import Account
    from dperm.cli.prepared_fit import checked_holdout

    event_input.require_free(options.write_event, options.force)
    share = checked_holdout(options.holdout, options.groups)
    account = Account.of(options.ledger, options.account, options.request_id)
    if share:
        from dperm.cli.plan.evaluated_plan import evaluated_request, show_evaluated_plan

        show_evaluated_plan(evaluated_request(privacy, options, account, share), account, options, as_json=as_json)
        return
    request = options.request(privacy, account)
    wanted = None if outlook is None else _outlook_request(outlook, _linear(request))
    found = request.plan()
    assert found is not None
    if options.write_event is not None:
        event_input.write_event(options.write_event, found.event, force=options.force)
    planned = _PricedPlan(found, request, account, None if wanted is None else wanted.result())
    (_print_json if as_json else _print_facts)(planned)
    if not planned.price.get("covered", True):
        raise typer.Exit(REFUSED)


def _linear(request: "ModelFitRequest") -> "FitRequest":
    """Return the request of a linear model; --expect has no other."""
    from dperm.cli.fit_request import FitRequest

    assert isinstance(request, FitRequest)  # the old spelling, which has --expect, has no --model
    return request


def _outlook_request(options: "OutlookOptions", request: "FitRequest") -> "OutlookRequest":
    """Return the request for the expected accuracy of a fit."""
    columns = TableColumns.of_schema(request.schema, "--expect")
    if request.estimator not in (None, "logistic"):
        raise ParameterError(
            f"--expect tries logistic regression, and --estimator is {request.estimator}. Leave one out."
        )
    if request.n is None:
        raise ParameterError(
            "--n is missing: --expect creates synthetic tables with this number of records. A public estimate suffices."
        )
    goal = guarantee(request.epsilon, request.delta, request.adjacency)
    return options.request(options.tables.shape(request.n, columns), goal, columns)


def price_of(event: "Event", account: "Account | None") -> dict[str, Any]:
    """Return the cost of an event, and whether the account covers it; nothing without an account."""
    if account is None:
        return {}
    cost = account.price(event)
    try:
        account.ledger.check(event)
    except BudgetError as error:
        return {"cost": cost, "covered": False, "why": describe_reason(error)}
    return {"cost": cost, "covered": True, "why": ""}


@dataclass(frozen=True)
class _PricedPlan:
    """A plan with its price and, if requested, its expected accuracy."""

    plan: "Plan"
    request: "ModelFitRequest"
    account: "Account | None"
    outlook: "OutlookResult | None"

    @property
    def estimator(self) -> str:
        return type(self.request.model).__name__

    @property
    def profile(self) -> "PrivacyProfile":
        """Privacy profile of the planned fit."""
        return self.plan.facts.profile

    @cached_property
    def price(self) -> dict[str, Any]:
        """Cost, and whether the account covers it; empty without an account."""
        return price_of(self.plan.event, self.account)

    @property
    def event_text(self) -> str | None:
        """The event in the grammar of the command line; None if it cannot be written in it."""
        from dperm.cli.event_input import event_text

        return event_text(self.plan.event, self.request.adjacency)

    @property
    def cost_note(self) -> str:
        """Note on noise for which the account is charged more than necessary; empty for other noise."""
        from dperm.cli.costly_noise import costly_noise_note

        return "" if self.account is None else costly_noise_note(self.plan.event, self.account, self.request)


def _print_json(planned: _PricedPlan) -> None:
    from dperm.cli.event_input import event_data
    from dperm.cli.fit_report import protection_data
    from dperm.cli.output import print_json
    from dperm.privacy.guarantee import guarantee_as_dict

    found, account = planned.plan, planned.account
    print_json(
        {
            "estimator": planned.estimator,
            "method": found.method,
            "why": list(map(str, found.why)),
            "guarantee": guarantee_as_dict(found.goal),
            "protection": protection_data(planned.profile),
            "noise": found.noise,
            "theorems": list(found.facts.known["theorems"]),
            "numbers": found.describe(),
            "event": event_data(found.event),
            "event_text": planned.event_text,
            "ledger": {} if account is None else {"account": account.facts.name, **planned.price},
            **({} if planned.outlook is None else planned.outlook.as_dict()),
        }
    )


def _print_facts(planned: _PricedPlan) -> None:
    from dperm.accounting.serialize import event_to_json
    from dperm.cli.fit_report import format_guarantee, weak_protection
    from dperm.cli.output import below, print_facts
    from dperm.cli.plan.outlook import declared_n_note, print_outlook

    found = planned.plan
    typer.echo(f"Plan for {planned.estimator}; no data were read.")
    numbers = [f"{name} = {value}" for name, value in found.describe().items() if not isinstance(value, dict)]
    print_facts(
        [
            ("method", found.method),
            ("why", below(map(describe_reason, found.why))),
            ("guarantee", format_guarantee(found.goal)),
            *weak_protection(planned.profile),
            ("noise", found.noise),
            ("theorems", ", ".join(found.facts.known["theorems"])),
            ("numbers", below(numbers)),
            ("event", planned.event_text or event_to_json(found.event)),
            *(("n", text) for text in declared_n_note(found.goal, planned.request.n)),
            *ledger_facts(planned.account, planned.price, planned.cost_note),
        ]
    )
    if planned.outlook is not None:
        typer.echo()
        print_outlook(planned.outlook)


def ledger_facts(account: "Account | None", price: dict[str, Any], cost_note: str = "") -> list[tuple[str, str]]:
    """Return lines on the cost and whether the account covers it; none without an account."""
    from dperm.cli.charging import format_costs

    if account is None:
        return []
    answer = "covered" if price["covered"] else f"NOT COVERED: {price['why']}"
    noted = [("note", cost_note.removeprefix("Note: "))] if cost_note else []
    return [("cost", f"{format_costs(price['cost'])}, to {account.described}"), *noted, ("ledger", answer)]
