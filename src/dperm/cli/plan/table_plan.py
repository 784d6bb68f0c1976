# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan table``: cost of a private preparation, and the number of records that it needs."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dperm.cli.option_names import describe_reason
from dperm.cli.plan.fit_plan import ledger_facts, price_of
from dperm.cli.plan.public_numbers import PrivacyOptions
from dperm.cli.running import REFUSED
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.cli.prepared_columns import PreparedColumns
    from dperm.pipeline import TablePlan
    from dperm.preparation import PreparationPlan
    from dperm.privacy.profile import PrivacyProfile


@dataclass(frozen=True, kw_only=True)
class TablePlanOptions:
    """Options of the planned table, its account and its output; None where an option is left out."""

    data: Path | None
    columns: int | None
    target: str | None
    task: str | None
    most_classes: int | None
    schema: Path | None
    exclude: tuple[str, ...]
    separator: str
    n: int | None
    holdout: float | None
    groups: str | None
    ledger: str | None
    account: str | None
    request_id: str | None
    write_event: Path | None
    force: bool

    def table(self) -> "PreparedColumns":
        """Return the columns, named by the header of the file, or only counted.

        Raises
        ------
        ParameterError
            If both or neither of DATA and --columns are given, or options for a file belong to --columns.
        """
        from dperm.cli.prepared_columns import PreparedColumns, prepared_columns
        from dperm.cli.prepared_fit import refuse_options

        if (self.data is None) == (self.columns is None):
            raise ParameterError(
                "dperm plan table needs DATA, of which only the header is read, or --columns with the number of "
                "columns to prepare, such as --columns 15, and not both."
            )
        if self.data is not None:
            return prepared_columns(
                self.data,
                target=self.target,
                schema=self.schema,
                exclude=self.exclude,
                predicts=True,
                separator=self.separator,
            )
        named = {"--target": self.target, "--schema": self.schema, "--exclude": self.exclude}
        refuse_options(named, "names columns of DATA. Give a file, or count the columns without it in --columns.")
        if self.columns is None or self.columns < 2:
            raise ParameterError(f"--columns must be at least 2, a feature and the target, got {self.columns}.")
        names = tuple(f"column {place}" for place in range(1, self.columns))
        return PreparedColumns(features=names, target="target", schema=None)


def show_table_plan(privacy: PrivacyOptions, options: TablePlanOptions, *, as_json: bool) -> None:
    """Print the plan of a fit with a private preparation; exits with code 3 if the account does not cover it."""
    from dperm.cli import event_input
    from dperm.cli.charging import Account, delta_of, relation_of
    from dperm.cli.declared_groups import declared_groups
    from dperm.cli.prepared_fit import (
        PreparedFitRequest,
        checked_holdout,
        checked_most_classes,
        checked_task,
        refuse_options,
    )

    event_input.require_free(options.write_event, options.force)
    columns = options.table()
    account = Account.of(options.ledger, options.account, options.request_id)
    task = checked_task(options.task, columns)
    request = PreparedFitRequest(
        columns=columns,
        task=task,
        epsilon=privacy.size,
        delta=delta_of(account, privacy.delta),
        adjacency=relation_of(account, privacy.adjacency),
        most_classes=checked_most_classes(options.most_classes, task, columns),
        clip=None,
        n=options.n,
        holdout=checked_holdout(options.holdout, options.groups),
        groups=declared_groups(options.groups),
    )
    if not request.is_planned:
        exact = {"--ledger": options.ledger, "--write-event": options.write_event}
        refuse_options(exact, "needs --n: under replace_one, the number of records is public and affects the event.")
    planned = _PlannedTable(request.plan_for_any_size(), request.adjacency, account, options.n, request.is_planned)
    plan = planned.plan
    if options.write_event is not None:
        event_input.write_event(options.write_event, plan.event, force=options.force)
    (_print_json if as_json else _print_facts)(planned)
    if not planned.price.get("covered", True):
        raise typer.Exit(REFUSED)


@dataclass(frozen=True)
class _PlannedTable:
    """A plan with its price.

    Attributes
    ----------
    plan
        Plan of preparation and training.
    adjacency
        Neighbouring relation.
    account
        Account to check the cost against.
    n
        Public number of records; None if it is not given.
    is_exact
        Whether a fit has this event; otherwise the plan assumes a number of records.
    """

    plan: "TablePlan"
    adjacency: str
    account: "Account | None"
    n: int | None
    is_exact: bool

    @property
    def preparation(self) -> "PreparationPlan":
        """Plan of the preparation; there is always a column to prepare."""
        found = self.plan.preparation
        assert found is not None  # `prepared_columns` has checked it
        return found

    @cached_property
    def price(self) -> dict[str, Any]:
        """Cost, and whether the account covers it; empty without an account."""
        return price_of(self.plan.event, self.account)

    @property
    def profile(self) -> "PrivacyProfile":
        """Privacy profile of the planned release."""
        return self.plan.facts.profile

    @property
    def event_text(self) -> str | None:
        """Event in the grammar of the command line; None if it is not exact, or cannot be written in it."""
        from dperm.cli.event_input import event_text

        return event_text(self.plan.event, self.adjacency) if self.is_exact else None

    @property
    def warnings(self) -> list[str]:
        """Warnings that follow from --n."""
        return [describe_reason(fact) for fact in self.plan.warnings(self.n)]


def stages_and_evaluation(plan: "TablePlan") -> dict[str, object]:
    """Return the stages of a plan and the public numbers of its evaluation as JSON-serialisable data."""
    evaluation = None if plan.evaluation is None else plan.evaluation.public
    return {"holdout": plan.holdout, "stages": [dict(stage) for stage in plan.stages], "evaluation": evaluation}


def _print_json(planned: _PlannedTable) -> None:
    from dperm.cli.event_input import event_data
    from dperm.cli.fit_report import protection_data
    from dperm.cli.output import print_json
    from dperm.privacy.guarantee import guarantee_as_dict

    plan, account = planned.plan, planned.account
    preparation = planned.preparation
    print_json(
        {
            "guarantee": guarantee_as_dict(plan.goal),
            "protection": protection_data(planned.profile),
            "training_guarantee": guarantee_as_dict(plan.training_goal),
            "columns": preparation.width,
            "declared": sorted(preparation.declared),
            "records_needed": preparation.records_needed,
            "least_records": preparation.least_records,
            "category_records": preparation.category_records,
            "n": planned.n,
            "why": list(map(str, plan.why)),
            "warnings": planned.warnings,
            "noise": plan.facts.noise,
            "theorems": list(plan.facts.known["theorems"]),
            **stages_and_evaluation(plan),
            "assumed_n": None if planned.is_exact else plan.n,
            "event": event_data(plan.event) if planned.is_exact else None,
            "event_text": planned.event_text,
            "ledger": {} if account is None else {"account": account.facts.name, **planned.price},
        }
    )


def _print_facts(planned: _PlannedTable) -> None:
    from dperm.cli.fit_report import format_guarantee, print_stages, training_guarantee, weak_protection
    from dperm.cli.output import below, print_facts
    from dperm.preparation.plan import about

    plan, preparation = planned.plan, planned.preparation
    typer.echo("Plan for a private preparation and a model under one guarantee; no records were read.")
    free = f", {len(preparation.declared)} declared, which cost nothing" if preparation.declared else ""
    held_out = ", including held-out records" if plan.holdout else ""
    text, assumed = planned.event_text, "" if planned.is_exact else f", for an assumed {plan.n:,} records; give --n"
    print_facts(
        [
            ("guarantee", format_guarantee(plan.goal)),
            *weak_protection(planned.profile),
            ("training", f"{training_guarantee(plan)} by itself{assumed}"),
            ("columns", f"{preparation.width} to prepare, including the target{free}"),
            ("why", below(map(describe_reason, plan.why))),
            (
                "records",
                f"about {about(preparation.records_needed):,} needed{held_out}; with fewer than "
                f"{preparation.least_records:,}, declare columns instead",
            ),
            *(("WARNING", text) for text in planned.warnings),
            *([] if text is None else [("event", text)]),
            *ledger_facts(planned.account, planned.price),
        ]
    )
    print_stages(plan.stages)
