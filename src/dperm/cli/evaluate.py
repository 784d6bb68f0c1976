# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm evaluate``: private metrics of a saved model, charged to a ledger."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dperm.cli import model_options as options
from dperm.cli.options import AsJson, number
from dperm.cli.outcome import note_nothing_charged
from dperm.cli.running import reported_errors
from dperm.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dperm.cli.charging import Account
    from dperm.data.schema import AnySchema

HELP = """Evaluate MODEL on the records in DATA under a privacy guarantee, and charge the cost to a ledger.

Accuracy, confusion matrix, ROC curve, calibration, Brier score and log loss of a classifier, or R^2 and errors of a
regression, are computed from one noisy release. The interval of each metric accounts for both sampling error and
privacy noise.

The model must not have been trained on the records in DATA: metrics on training records are too optimistic, and their
intervals do not have the stated coverage. With --ledger, DATA is refused if the model was fitted to this file and
that fit was charged to the same ledger (--training-records allows it). No other overlap can be detected. To hold
records out of a fit, use "dperm fit --holdout", which adds nothing to the privacy cost.

No value in DATA is refused: a record with an undeclared label counts as a wrong prediction, and features are encoded as
in predictions. Failures before the charge cost nothing; the charge is not refunded if a later step fails. The output
file contains a privacy statement and the metrics. Its suffix sets the format: JSON (.json), Markdown (.md), or a web
page with plots (.html). "dperm report" reads the JSON file, adds the fields that only you can fill in, and writes the
result in any of these formats.

\b
Examples:
  dperm evaluate model.dperm data.csv --epsilon 1
  dperm evaluate model.dperm data.csv --epsilon 1 --groups work=private,public -o metrics.html
  dperm evaluate model.dperm data.csv --epsilon 1 --ledger census.ledger --request-id check-1 --json
"""
_INFINITE = "--epsilon must be finite: metrics without noise have no guarantee. Choose 1.0, for example."


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="COLUMN", show_default="the target of the model", help="Column with the true labels."
        ),
    ] = None,
    epsilon: options.Epsilon = None,
    delta: options.PositiveDelta = None,
    adjacency: options.Relation = None,
    groups: options.GroupColumn = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive",
            metavar="CLASS",
            show_default="the second of two classes",
            help="Class to treat as positive in the ROC curve, calibration, Brier score and log loss.",
        ),
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option("--bins", metavar="N", show_default="chosen by the plan", help="Even number of score bins."),
    ] = None,
    level: Annotated[
        float, number("--level", "Nominal coverage of the intervals, from 0.5 to 0.9999.", show_default="0.95")
    ] = 0.95,
    ledger: options.LedgerPlace = None,
    account: options.AccountName = None,
    request_id: options.RequestId = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="File for the metrics: .json, .html or .md.")
    ] = Path("evaluation.json"),
    training_records: Annotated[
        bool, typer.Option("--training-records", help="Allow DATA to be the file that the model was fitted to.")
    ] = False,
    separator: options.Separator = ",",
    seed: options.Seed = None,
    not_private: Annotated[bool, typer.Option("--not-private", help="Allow --seed, which gives no guarantee.")] = False,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Measure a model, charge the evaluation and write the metrics."""
    with reported_errors():
        from dperm.cli.interrupts import Interrupts

        with Interrupts() as interrupts, note_nothing_charged(interrupts, "evaluation"):
            from dperm.cli.charged_run import RunFiles, run_charged
            from dperm.cli.charging import Account, delta_of, relation_of
            from dperm.cli.declared_groups import declared_groups
            from dperm.cli.evaluation_request import EvaluationRequest, checked_output
            from dperm.cli.fit_request import checked_privacy
            from dperm.cli.predict import load_with_schema
            from dperm.data.files import require_columns, separator_name, table_file

            size = checked_privacy(epsilon, seed, not_private=not_private, noun="evaluation")
            if size == float("inf"):
                raise ParameterError(_INFINITE)
            checked_output(output)
            named = declared_groups(groups)
            estimator, schema = load_with_schema(model)
            labels = _target_name(target, schema)
            names = list(table_file(data, separator=separator).types())
            require_columns(data, names, dict.fromkeys([labels, *schema.encoder.columns, *_columns(named)]))
            charged = Account.of(ledger, account, request_id, prefix="evaluation")
            if charged is not None and not training_records:
                _require_new_records(charged, estimator, data)
            request = EvaluationRequest(
                path=model,
                estimator=estimator,
                schema=schema,
                target=labels,
                epsilon=size,
                delta=delta_of(charged, delta),
                adjacency=relation_of(charged, adjacency),
                groups=named,
                positive=_class(positive, estimator),
                bins="auto" if bins is None else bins,
                level=level,
                seed=seed,
                separator=separator_name(separator),
            )
            inputs = (model, data, *([Path(ledger)] if ledger else []))
            files = RunFiles((data,), output, account=charged, force=force, json=json, inputs=inputs)
            run_charged(request, files, interrupts, repeatable=request_id is not None)


def _require_new_records(account: "Account", estimator: Any, data: Path) -> None:
    """Refuse the file that the model was fitted to, if the ledger has both."""
    record = getattr(estimator, "record_", None)
    if record is not None and account.has_trained(record.ledger, data):
        raise LedgerError(
            f"the model was fitted to {data}, as the ledger shows: metrics on training records are too optimistic, and "
            "their intervals do not have the stated coverage. Nothing was charged. Use records that the model was not "
            "trained on, or add --training-records."
        )


def _target_name(target: str | None, schema: "AnySchema") -> str:
    """Return the column with the true labels: --target, or the target of the model."""
    assert schema.target is not None  # `load_with_schema` has checked it
    return schema.target.name if target is None else target


def _columns(groups: "Mapping[str, object] | None") -> list[str]:
    return [] if groups is None else list(groups)


def _class(name: str | None, estimator: Any) -> Any:
    """Return the class of the model with this text; the text itself if there is none, which the plan refuses."""
    from dperm.data.canonical import label_text

    if name is None:
        return None
    if not hasattr(estimator, "classes_"):
        raise ParameterError("--positive belongs to a classification, and the model predicts numbers. Leave it out.")
    known = {label_text(label): label for label in estimator.classes_.tolist()}
    return known.get(label_text(name), name)
