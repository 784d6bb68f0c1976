# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm search``: the best of several settings of a fit, charged to a ledger as one release."""

from pathlib import Path
from typing import Annotated

import typer

from dperm.cli import model_options as options
from dperm.cli.options import AsJson, number
from dperm.cli.outcome import note_nothing_charged
from dperm.cli.running import reported_errors
from dperm.errors import ParameterError

HELP = """Search over settings of a private fit, under one guarantee, and write the best model to a file.

Use --setting once for each parameter to list the values to try. Each combination of values is one setting. Secret
randomness splits the records into training and validation records. The command trains each model with part of epsilon,
scores it on the validation records with noise, and releases the best model, its setting and its score. All other models
and scores stay secret. With three or more settings, the number of training runs is random and must stay secret too: do
not publish the elapsed time, which can reveal this number.

"dperm fit" without a search is often as good: its default settings are chosen without using the data, and training uses
all records and the whole epsilon. The output states the price of the search.

\b
Examples:
  dperm search data.csv --epsilon 1 --schema schema.toml --setting clip=0.3,1.0 --out best.dperm
  dperm search data.csv --target income --epsilon 3 --prepare --exclude name --exclude pay --setting clip=0.5,1.0
  dperm search data.csv --epsilon 1 --schema schema.toml --setting clip=0.5,1.0 --seed 1 --not-private
"""
SETTING_HELP = "Values of a parameter to try, such as clip=0.5,1.0 or method=objective,output; may be repeated."


def search(
    data: options.Data,
    setting: Annotated[
        list[str] | None, typer.Option("--setting", metavar="NAME=V,V", show_default=False, help=SETTING_HELP)
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="COLUMN", show_default="the target of the schema", help="Column to predict."),
    ] = None,
    epsilon: options.Epsilon = None,
    prepare: options.Prepare = False,
    task: options.TaskName = None,
    exclude: options.Exclude = None,
    most_classes: options.MostClasses = None,
    delta: options.PositiveDelta = None,
    adjacency: options.Relation = None,
    validation: Annotated[
        float,
        number(
            "--validation",
            "Share of the records, at most 0.5, used only to score the models.",
            show_default="0.15",
        ),
    ] = 0.15,
    method: options.MethodName = "auto",
    estimator: options.EstimatorName = None,
    schema: options.SchemaFile = None,
    ledger: options.LedgerPlace = None,
    account: options.AccountName = None,
    request_id: options.RequestId = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="File for the model.")] = Path("model.dperm"),
    C: options.RegularizationC = None,
    clip: options.Clip = None,
    n: options.Rows = None,
    quantile: options.Quantile = None,
    invalid: options.Invalid = "raise",
    separator: options.Separator = ",",
    seed: options.Seed = None,
    not_private: Annotated[bool, typer.Option("--not-private", help="Allow --seed, which gives no guarantee.")] = False,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Search, charge the search and write the best model."""
    with reported_errors():
        from dperm.cli.interrupts import Interrupts

        with Interrupts() as interrupts, note_nothing_charged(interrupts):
            from dperm.cli.charged_run import RunFiles, run_charged
            from dperm.cli.charging import Account, delta_of, relation_of
            from dperm.cli.fit import PREPARE_ONLY, SCHEMA_ONLY, read_declared_schema
            from dperm.cli.fit_request import FitRequest, checked_privacy
            from dperm.cli.prepared_columns import prepared_columns
            from dperm.cli.prepared_fit import (
                PreparedFitRequest,
                checked_most_classes,
                checked_task,
                refuse_options,
                require_noise,
            )
            from dperm.cli.schema_fit import schema_release
            from dperm.cli.search_request import SearchRequest, checked_values
            from dperm.data.bounded import invalid_rows
            from dperm.data.files import separator_name

            size, values = checked_privacy(epsilon, seed, not_private=not_private), checked_values(setting)
            require_noise(size)
            fit: FitRequest | PreparedFitRequest
            if prepare:
                chosen = None if method == "auto" else method
                learner = {"--method": chosen, "--estimator": estimator, "--C": C, "--quantile": quantile}
                refuse_options(learner, SCHEMA_ONLY)
                columns = prepared_columns(
                    data, target=target, schema=schema, exclude=exclude or (), predicts=True, separator=separator
                )
                charged = Account.of(ledger, account, request_id)
                kind = checked_task(task, columns)
                fit = PreparedFitRequest(
                    columns=columns,
                    task=kind,
                    epsilon=size,
                    delta=delta_of(charged, delta),
                    adjacency=relation_of(charged, adjacency),
                    most_classes=checked_most_classes(most_classes, kind, columns),
                    clip=clip,
                    n=n,
                    seed=seed,
                    invalid=invalid_rows(invalid),
                )
            else:
                preparing = {"--task": task, "--exclude": exclude, "--most-classes": most_classes}
                refuse_options(preparing, PREPARE_ONLY)
                declared = read_declared_schema(schema, target, data)
                if schema is not None and schema_release(schema) is not None:
                    raise ParameterError(
                        f"the schema in {schema} is a private release of its own, which the guarantee of the search "
                        "would not cover. Use --prepare, or declare the columns in another file."
                    )
                charged = Account.of(ledger, account, request_id)
                fit = FitRequest(
                    schema=declared,
                    epsilon=size,
                    delta=delta_of(charged, delta),
                    adjacency=relation_of(charged, adjacency),
                    method=method,
                    estimator=estimator,
                    C=C,
                    clip=clip,
                    n=n,
                    quantile=quantile,
                    seed=seed,
                    invalid=invalid_rows(invalid),
                    separator=separator_name(separator),
                )
            inputs = (data, *([schema] if schema else []), *([Path(ledger)] if ledger else []))
            files = RunFiles((data,), out, account=charged, force=force, json=json, inputs=inputs)
            request = SearchRequest(fit=fit, settings=values, validation=validation)
            run_charged(request, files, interrupts, repeatable=request_id is not None)
