# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Output of ``dperm fit``: plan, guarantee and charge, and nothing else about the data."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dperm.cli.charging import format_costs
from dperm.cli.option_names import describe_reason
from dperm.cli.output import (
    DIGITS,
    below,
    plain_down,
    plain_up,
    print_facts,
    print_json,
    print_paragraphs,
    print_table,
)
from dperm.errors import DpermError
from dperm.presentation.glossary import CHANGES
from dperm.presentation.numbers import format_number

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.cli.fit_request import FittedModel
    from dperm.evaluation import Metrics
    from dperm.pipeline import TablePlan
    from dperm.preparation import PreparedTable
    from dperm.privacy import Record
    from dperm.privacy.guarantee import AnyGuarantee
    from dperm.privacy.profile import PrivacyProfile

LEFT_OUT = "no value or range stands out from the noise"
"""Reason for which a preparation leaves columns out."""
NOTHING = "none: the model is NOT PRIVATE"
NO_LEDGER = "no --ledger: this release is not recorded. The privacy costs of all releases from the same data add up."


def print_fitted(fitted: "FittedModel", out: Path, account: "Account | None", *, as_json: bool) -> None:
    """Print the facts of a fit."""
    from dperm.privacy.guarantee import guarantee_as_dict

    estimator, table = fitted.estimator, fitted.table
    public, record = estimator._fitted.public, estimator._fitted.record
    promised = estimator.guarantee_
    reasons = (() if table is None else table.plan_.why) + (() if estimator.plan_ is None else estimator.plan_.why)
    if as_json:
        print_json(
            {
                "file": str(out),
                "estimator": type(estimator).__name__,
                "method": public["method"],
                "why": public.get("why", []),
                "private": promised is not None,
                "guarantee": None if promised is None else guarantee_as_dict(promised),
                "protection": protection_data(estimator._fitted.profile),
                "adjacency": estimator.adjacency,
                "theorems": [] if record is None else list(record.theorems),
                **(_shares(table) if _is_prepared(table) else {}),
                "metrics": None if table is None or table.metrics_ is None else table.metrics_.to_dict(),
                "stages": stages_data(record),
                "ledger": {} if record is None else dict(record.ledger),
                **charge_data(account),
            }
        )
        return
    typer.echo(f"Written: {out}")
    print_facts(
        [
            ("estimator", type(estimator).__name__),
            ("method", str(public["method"])),
            ("why", below(map(describe_reason, reasons)) or "no method was chosen: there is no noise"),
            ("guarantee", NOTHING if promised is None else format_guarantee(promised)),
            *(_format_preparation(table) if _is_prepared(table) else []),
            *weak_protection(estimator._fitted.profile),
            *format_budget(account, {} if record is None else dict(record.ledger)),
        ]
    )
    print_stages(stages_data(record))
    if table is not None and table.metrics_ is not None:
        print_metrics(table.metrics_)


def prepared_facts(found: "PreparedTable", holdout: float = 0.0) -> list[tuple[str, str]]:
    """Return lines on the released schema of a table. All of it is covered by the guarantee.

    Parameters
    ----------
    found
        Released schema.
    holdout
        Share of the records that the preparation did not read.
    """
    from dperm.checks import shown

    source = f"from {len(found.encoder.columns)} columns"
    if found.stand_in is not None:
        source = f"which show only whether {shown(found.stand_in)} is missing"
    facts = [("features", f"{len(found.encoder.feature_names)}, {source}")]
    if found.classes is not None:
        facts.append(("classes", ", ".join(map(repr, found.classes)) or "none"))
    if found.label_range is not None:
        facts.append(("label range", " to ".join(f"{end:.6g}" for end in found.label_range)))
    if found.constant:
        facts.append(("left out", f"{', '.join(found.constant)}; {LEFT_OUT}"))
    facts += [("WARNING", describe_reason(fact)) for fact in found.warnings]
    counted = "training records" if holdout else "records"
    return [*facts, ("records", f"about {max(found.records, 0):,.0f} {counted} (a noisy count)")]


def prepared_data(found: "PreparedTable", holdout: float = 0.0) -> dict[str, object]:
    """Return the released schema as JSON-serialisable data; the number of records is that of the whole table."""
    return {
        "columns": list(found.encoder.columns),
        "constant": list(found.constant),
        "features": list(found.encoder.feature_names),
        "classes": None if found.classes is None else list(found.classes),
        "label_range": None if found.label_range is None else list(found.label_range),
        "records": found.records / (1 - holdout),
        "warnings": [describe_reason(fact) for fact in found.warnings],
    }


def stages_data(record: "Record | None") -> list[dict[str, object]]:
    """Return the stages of a release as JSON-serialisable data; empty for a release of one stage."""
    from dperm.report.run_facts import STAGES

    found = () if record is None else record.public.get(STAGES, ())
    assert isinstance(found, list | tuple)  # written by `TablePlan.public`
    return [dict(stage) for stage in found]


def print_stages(stages: Sequence[Mapping[str, Any]]) -> None:
    """Print the stages of a release as a table; nothing for a release of one stage."""
    if not stages:
        return
    typer.echo("\nStages of the release; one guarantee covers all of them:\n")
    print_table(
        ("stage", "releases", "reads", f"epsilon by itself, at delta {plain_up(stages[0]['delta_alone'])}"),
        [
            (str(one["stage"]), str(one["release"]), str(one["records"]), f"{plain_up(one['epsilon_alone'])}")
            for one in stages
        ],
    )


def print_metrics(metrics: "Metrics") -> None:
    """Print private metrics as a table, with notes on them."""
    table = metrics.table()
    typer.echo("\nPrivate metrics of the model:\n")
    print_table(table.header, table.rows)
    print_paragraphs(metrics.notes)


def _is_prepared(table: Any) -> bool:
    """Whether a table model found its schema privately."""
    return table is not None and table.plan_.preparation is not None


def _shares(table: Any) -> dict[str, object]:
    """Return the released schema and the shares of the stages as JSON-serialisable data."""
    from dperm.pipeline.plan import PREPARATION_SHARE
    from dperm.privacy.guarantee import guarantee_as_dict

    plan = table.plan_
    shares = {
        "share": PREPARATION_SHARE,
        "training_guarantee": guarantee_as_dict(plan.training_goal),
        "records_needed": plan.preparation.records_needed,
    }
    return {"prepared": shares | prepared_data(table.prepared_, table.holdout)}


def _format_preparation(table: Any) -> list[tuple[str, str]]:
    """Return lines on the shares of the stages, and on the released schema."""
    return [("shares", _format_shares(table)), *prepared_facts(table.prepared_, table.holdout)]


def training_guarantee(plan: "TablePlan") -> str:
    """Return epsilon and delta of the training stage of a plan as text."""
    return f"epsilon {plan.training_goal.epsilon:.3g} at delta {plain_up(plan.training_goal.delta)}"


def _format_shares(table: Any) -> str:
    """Return the share of the preparation, `dperm.pipeline.plan.PREPARATION_SHARE`, and the guarantee of training."""
    training = training_guarantee(table.plan_)
    return f"the preparation uses a quarter of the privacy budget (in mu^2); training by itself has {training}"


def print_repeated(noun: str, out: Path, account: "Account", *, as_json: bool) -> None:
    """Report that a request was run before."""
    if as_json:
        print_json({"file": str(out), "repeated": True, "request_id": account.ledger.request_id})
        return
    done = "fitted" if noun == "model" else "released"
    typer.echo(
        f"Request id {account.ledger.request_id} was {done} before: {out} is its {noun}, recorded in "
        f"{account.described}. "
        f"Nothing was {done} or charged now."
    )


def format_guarantee(
    promised: "AnyGuarantee", format_value: Callable[[str, Any], str] = lambda name, value: _up(value)
) -> str:
    """Return a guarantee as text: kind, numbers formatted by ``format_value``, and adjacency."""
    from dperm.privacy.guarantee import guarantee_as_dict

    numbers = guarantee_as_dict(promised)
    kind, adjacency = numbers.pop("kind"), numbers.pop("adjacency")
    given = ", ".join(f"{name} = {format_value(name, value)}" for name, value in numbers.items())
    return f"{kind}: {given}, adjacency {adjacency} (one record {CHANGES[str(adjacency)]})"


def weak_protection(profile: "PrivacyProfile | None") -> list[tuple[str, str]]:
    """Return a line about a guarantee with weak protection; empty for other guarantees, and without one."""
    from dperm.privacy.protection import choice, format_success, protection

    found = None if profile is None else protection(profile)
    if found is None or found.level != "weak":
        return []
    success = format_success(found.success)
    return [("protection", f"WEAK: an attacker who {choice('record')} can be {success}")]


def protection_data(profile: "PrivacyProfile | None") -> dict[str, object] | None:
    """Return protection level and rates of the best attack as JSON-serialisable data; None without a guarantee."""
    from dataclasses import asdict

    from dperm.privacy.protection import protection

    found = None if profile is None else protection(profile)
    return None if found is None else {"level": found.level, **asdict(found)}


def format_budget(account: "Account | None", receipt: dict[str, Any]) -> list[tuple[str, str]]:
    """Return lines on the charge and the remaining budget, from the receipt."""
    if account is None:
        return [("budget", NO_LEDGER)]
    spent, capacity = receipt["spent"], receipt["capacity"]
    return [
        ("charged", f"{format_costs(_cost(account))}, to {account.described}"),
        ("spent", "; ".join(_meter(account, name, spent[name], capacity[name]) for name in spent if capacity[name])),
        *_parents(account),
        *_left(account),
        ("request id", str(receipt["request_id"])),
    ]


def _meter(account: "Account", name: str, spent: float, capacity: float) -> str:
    """Return the spending in a currency, rounded up; for delta, the number of equal shares."""
    share = account.facts.share
    if name == "delta" and share:
        return f"{round(spent / share)} of {account.facts.blocks} releases"
    return f"{name} {plain_up(spent)} of {plain_down(capacity)}"


def charge_data(account: "Account | None") -> dict[str, object]:
    """Return the charge and the remaining budget as JSON-serialisable data."""
    return {"charged": {}} if account is None else {"charged": _cost(account), **_left_data(account)}


def _cost(account: "Account") -> dict[str, float]:
    booked = account.booking()
    return {} if booked is None else dict(booked.cost)


def _parents(account: "Account") -> list[tuple[str, str]]:
    """Return the charges of the ancestors; an error while reading them does not fail the fit."""
    try:
        costs = [f"{format_costs(booked.cost)}, to {described}" for described, booked in account.booked_above()]
    except DpermError as error:
        return [("also charged", f"the charges of the parents cannot be read: {error}")]
    return [("also charged", below(costs))] if costs else []


def _left(account: "Account") -> list[tuple[str, str]]:
    """Return the remaining budget, and the spendable part if the ancestors have less; rounded down."""
    from dperm.ledger.balance import spendable

    try:
        chain = account.ledger.balances()
        most = spendable(chain)
    except DpermError as error:
        return [("remaining", f"cannot be read: {error}")]
    if chain[0].releases_left == 0:
        blocks = account.facts.blocks
        return [("remaining", f"nothing: {blocks} of {blocks} releases are used")]
    left = ("remaining", format_guarantee(chain[0].remaining, _down))
    if most.limited_by is None:
        return [left]
    return [left, ("spendable", f"{format_guarantee(most.guarantee, _down)}, limited by account {most.limited_by!r}")]


def _left_data(account: "Account") -> dict[str, object]:
    """Return the remaining budget as JSON-serialisable data; null if the ledger cannot be read."""
    from dperm.ledger.balance import spendable
    from dperm.privacy.guarantee import guarantee_as_dict

    try:
        chain = account.ledger.balances()
        most = spendable(chain)
    except DpermError:
        return {"remaining": None, "spendable": None, "limited_by": None}
    sizes = {"remaining": guarantee_as_dict(chain[0].remaining), "spendable": guarantee_as_dict(most.guarantee)}
    return {**sizes, "limited_by": most.limited_by}


def _up(number: Any) -> str:
    """Return a number rounded up; a Renyi curve is returned in full."""
    return plain_up(number) if isinstance(number, float) else repr(number)


def _down(name: str, number: Any) -> str:
    """Return a number rounded down; delta remains in equal shares and needs no rounding."""
    if not isinstance(number, float):  # a Renyi curve
        return repr(number)
    return format_number(number, digits=DIGITS) if name == "delta" else plain_down(number)
