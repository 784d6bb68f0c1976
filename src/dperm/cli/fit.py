# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit``: a private model from a file of data, charged to a ledger."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dperm.cli import model_options as options
from dperm.cli.options import AsJson
from dperm.cli.outcome import note_nothing_charged
from dperm.cli.running import reported_errors
from dperm.errors import LeakError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dperm.cli.charged_run import ChargedRequest
    from dperm.data.files import Declared
    from dperm.data.schema import Schema

HELP = """Fit a private model to DATA, charge its privacy cost to a ledger, and write the model to a file.

DATA is one file, several files of one table, or a quoted pattern. A fit with a schema reads DATA in row groups, so the
table may be larger than memory. The result does not depend on --engine, --memory or --scratch. With --engine dask, the
workers of a cluster read the files and hold the encoded records. Fits with --prepare, --holdout, --method bolt_on or
--method posterior read one file and hold it in memory, as does --model additive.

A schema declares bounds, categories and classes; write it without looking at the data. "dperm schema draft" writes a
draft to fill in. With --prepare, columns need not be declared: the kinds (numbers or categories), ranges, bins,
categories and labels of undeclared columns are found privately. The schema and the model are then released together,
under one guarantee. Column names are public. Columns declared in the schema cost nothing. "dperm plan table" states the
cost and the number of records needed. If the public number of records is too small for a private preparation, the fit
is refused, unless --allow-few-records is given.

With --model additive, the model is a sum of shape functions, one for each column and for each pair that the schema
declares as interactions.

With --holdout, each record is held out with the given probability, by a secret coin flip. The model is evaluated
privately on the held-out records: accuracy, ROC curve and calibration, or the errors of a regression, each with an
interval. One guarantee covers schema, model and metrics; the metrics add nothing to the privacy cost.

Steps: check the options and the schema; plan the fit; check the budget; reserve disk space for the model; read the data
and enforce the bounds; charge the budget; train the model; record the release in the ledger; write the model to a file.
Failures before the charge cost nothing. The charge is not refunded if a later step fails; the message states the amount
charged.

\b
Examples:
  dperm fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger --out model.dperm
  dperm fit data.csv --target income --epsilon 3 --prepare --exclude name --exclude pay --holdout 0.1
  dperm fit data.csv --target income --epsilon inf --not-private --schema schema.toml --out plain.dperm
"""
SCHEMA_ONLY = (
    "cannot be combined with --prepare: the method and the regularization of a prepared table follow from the released "
    "schema. Leave it out, or declare all columns in a --schema."
)
MEMORY_ONLY = "cannot be combined with {}: the table is held in memory. Leave it out."
OTHER_METHODS = "Choose another method, such as --method objective, or write them into one file first."
PREPARE_ONLY = "belongs to --prepare, which is missing: a schema declares everything that is used."


def fit(
    data: options.DataFiles,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="COLUMN", show_default="the target of the schema", help="Column to predict."),
    ] = None,
    epsilon: options.Epsilon = None,
    prepare: options.Prepare = False,
    task: options.TaskName = None,
    exclude: options.Exclude = None,
    most_classes: options.MostClasses = None,
    delta: options.DeltaOfFit = None,
    adjacency: options.Relation = None,
    model: options.ModelName = "linear",
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
    engine: options.EngineName = None,
    scheduler: options.Scheduler = None,
    scratch: options.Scratch = None,
    memory: options.Memory = None,
    holdout: options.Holdout = None,
    groups: options.GroupColumn = None,
    allow_few_records: options.AllowFewRecords = False,
    seed: options.Seed = None,
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Allow --epsilon inf and --seed, which give no guarantee.")
    ] = False,
    diagnose: Annotated[
        bool,
        typer.Option(
            "--diagnose",
            help='List the first 20 cells of DATA that would be rejected under "--invalid raise"; nothing is fitted, '
            "charged or written. The list is private: only the data holder may see it.",
        ),
    ] = False,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Fit a model, charge it and write it."""
    with reported_errors():
        from dperm.cli.interrupts import Interrupts

        with Interrupts() as interrupts, note_nothing_charged(interrupts):
            from dperm.cli.additive_fit import (
                AdditiveFitRequest,
                is_additive,
                refuse_released_schema,
                refuse_with_additive,
            )
            from dperm.cli.charged_run import RunFiles, run_charged
            from dperm.cli.charging import Account, delta_of, relation_of
            from dperm.cli.declared_fit import declared_fit_request
            from dperm.cli.declared_groups import declared_groups
            from dperm.cli.fit_request import IN_MEMORY, FitRequest, checked_privacy, read_additive_schema
            from dperm.cli.prepared_columns import prepared_columns
            from dperm.cli.prepared_fit import (
                PreparedFitRequest,
                checked_holdout,
                checked_most_classes,
                checked_task,
                refuse_options,
                require_noise,
            )
            from dperm.cli.table_reading import TableReading, data_files, only_file
            from dperm.data.bounded import invalid_rows
            from dperm.data.files import separator_name

            paths = data_files(data)
            reading = TableReading(engine, scheduler=scheduler, scratch=scratch, memory=memory)
            additive = is_additive(model)
            if additive:
                linear_only = {
                    "--prepare": prepare,
                    "--holdout": holdout,
                    "--groups": groups,
                    "--estimator": estimator,
                    "--quantile": quantile,
                    "--diagnose": diagnose,
                    **reading.given,
                }
                refuse_with_additive(linear_only)
                only_file(paths, f"--model {model}")
            if diagnose:
                from dperm.cli.diagnosis import print_diagnosis

                one = only_file(paths, "--diagnose")
                print_diagnosis(one, _declarations(schema, target, one, prepare=prepare), separator, as_json=json)
                return
            size = checked_privacy(epsilon, seed, not_private=not_private)
            share, named = checked_holdout(holdout, groups), declared_groups(groups)
            if prepare or share or method in IN_MEMORY:
                option = "--prepare" if prepare else "--holdout" if share else f"--method {method}"
                only_file(paths, option, *([] if prepare or share else [OTHER_METHODS]))
                refuse_options(reading.given, MEMORY_ONLY.format(option))
            request: ChargedRequest
            if prepare:
                chosen = None if method == "auto" else method
                learner = {"--method": chosen, "--estimator": estimator, "--C": C, "--quantile": quantile}
                refuse_options(learner, SCHEMA_ONLY)
                require_noise(size)
                columns = prepared_columns(
                    paths[0], target=target, schema=schema, exclude=exclude or (), predicts=True, separator=separator
                )
                charged = Account.of(ledger, account, request_id)
                kind = checked_task(task, columns)
                request = PreparedFitRequest(
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
                    holdout=share,
                    groups=named,
                    allow_few_records=allow_few_records,
                )
            else:
                preparing = {
                    "--task": task,
                    "--exclude": exclude,
                    "--most-classes": most_classes,
                    "--allow-few-records": allow_few_records,
                }
                refuse_options(preparing, PREPARE_ONLY)
                declared: Any
                if additive:
                    refuse_released_schema(schema)
                    declared = read_additive_schema(schema, target, paths[0])
                else:
                    declared = read_declared_schema(schema, target, paths[0])
                released = None if additive or schema is None else _checked_release(schema, not_private=not_private)
                charged = Account.of(ledger, account, request_id)
                common: dict[str, Any] = {
                    "epsilon": size,
                    "delta": delta_of(charged, delta),
                    "adjacency": relation_of(charged, adjacency),
                    "method": method,
                    "clip": clip,
                    "n": n,
                    "seed": seed,
                    "invalid": invalid_rows(invalid),
                }
                learner = {"estimator": estimator, "quantile": quantile}
                name = separator_name(separator)
                if additive:
                    request = AdditiveFitRequest(schema=declared, C=C, separator=name, **common)
                elif share:
                    common |= {**learner, "holdout": share, "groups": named}
                    request = declared_fit_request(declared, schema, C=C, released=released, separator=name, **common)
                else:
                    common |= {**learner, "schema_release": released, "reading": reading}
                    request = FitRequest(schema=declared, C=C, separator=name, **common)
            inputs = (*paths, *([schema] if schema else []), *([Path(ledger)] if ledger else []))
            files = RunFiles(paths, out, account=charged, force=force, json=json, inputs=inputs)
            run_charged(request, files, interrupts, repeatable=request_id is not None)


def _checked_release(path: Path, *, not_private: bool) -> "Mapping[str, object] | None":
    """Return the facts of the release of a privately found schema; None for a schema of declarations.

    Raises
    ------
    LeakError
        If the schema was drawn from a seed, and ``not_private`` is False.
    """
    from dperm.cli.running import note
    from dperm.cli.schema_fit import schema_release

    found = schema_release(path)
    if found is None:
        return None
    if not found["is_private"] and not not_private:
        raise LeakError(
            f"the schema in {path} was found with noise from a seed, which is NOT PRIVATE: no guarantee covers it, "
            "nor a model that uses it. Find the schema without --seed, or add --not-private if the data may be "
            "disclosed."
        )
    if found["is_private"]:
        note(
            f"Note: the schema in {path} is a private release of its own. The privacy costs of schema and model add up."
        )
    return found


def _declarations(path: Path | None, target: str | None, data: Path, *, prepare: bool) -> "Declared":
    """Return the declarations to compare a file with; of a partial schema, if the other columns are prepared."""
    from dperm.cli.fit_request import read_schema
    from dperm.data.schema import PartialSchema

    if prepare and path is None:
        raise ParameterError(
            "--diagnose compares cells with the declarations of a --schema, which is missing. With --prepare, no "
            "cell of an undeclared column is refused."
        )
    if prepare and path is not None:
        partial = PartialSchema.load(path)
        columns, known = partial.columns, partial.target
    else:
        schema = read_schema(path, target, data)
        columns, known = schema.encoder.columns, schema.target
    return {**columns, **({} if known is None else {known.name: known})}


def read_declared_schema(path: Path | None, target: str | None, data: Path) -> "Schema":
    """Return the schema of a fit; without a file, the error names the private way too."""
    from dperm.cli.fit_request import read_schema

    try:
        return read_schema(path, target, data)
    except LeakError as error:
        if path is None:
            error.add_note("Or add --prepare: it finds them privately, under the same guarantee as the model.")
        raise
