# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit membership``: LiRA, a membership attack, on the user's table. NOT PRIVATE."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dperm.cli import model_options
from dperm.cli.audit import options
from dperm.cli.options import AsJson, number
from dperm.cli.running import progress_bar, reported_errors, spinner
from dperm.errors import LeakError, ParameterError

if TYPE_CHECKING:
    from dperm.data.schema import Schema

HELP = """Run the LiRA membership attack on logistic regression fitted WITHOUT noise to DATA.

The attack trains shadow models, each on a random half of the records. Its results are computed from the private
records: no guarantee covers them, and they must not be published. Confirm this with --not-private.

\b
Examples:
  dperm audit membership data.csv --target income --schema schema.toml --not-private
  dperm audit membership data.csv --schema schema.toml --models 64 --C 10 --seed 1 --not-private --json
  dperm audit membership data.csv --schema schema.toml --plot roc.png --not-private
"""
LABEL = "Computed from the private records: not covered by any guarantee. Do not publish."


def membership(
    data: model_options.Data,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="COLUMN", show_default="the target of the schema", help="Column to predict."),
    ] = None,
    schema: model_options.SchemaFile = None,
    models: Annotated[int, typer.Option("--models", metavar="N", help="Number of shadow models; must be even.")] = 256,
    C: Annotated[float, number("--C", "Inverse regularization strength, as in scikit-learn.", show_default="1")] = 1.0,
    confidence: options.IntervalConfidence = 0.95,
    seed: options.Seed = None,
    separator: model_options.Separator = ",",
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Confirm that nobody else will see the results.")
    ] = False,
    plot: options.Plot = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Attack logistic regression on a table."""
    with reported_errors():
        from dperm.audit.membership import lira_logistic
        from dperm.cli.audit.roc_output import report_roc
        from dperm.cli.fit_request import read_schema
        from dperm.cli.output_files import require_picture

        if not not_private:
            raise LeakError(
                "the results are computed from the private records, and no guarantee covers them. Add --not-private if "
                "nobody else will see them."
            )
        require_picture("--plot", plot, force=force, inputs=(data,))
        X, y = _records(data, read_schema(schema, target, data), separator)
        with spinner("Attacking ..."):
            found = lira_logistic(X, y, C=C, models=models, seed=seed)
        report_roc(found.roc, None, (), confidence=confidence, plot=plot, as_json=json, label=LABEL)


def _records(data: Path, schema: "Schema", separator: str) -> tuple[Any, Any]:
    """Return features, with a constant for the intercept, and labels."""
    import numpy as np

    from dperm.cli.encoding import features_of
    from dperm.data.files import read_table

    target = schema.target
    if target is None or target.classes is None or len(target.classes) != 2:
        raise ParameterError("the target must have two classes in the schema: the attack is on logistic regression.")
    with progress_bar(f"Reading {data.name}") as progress:
        table = read_table(data, {**schema.encoder.columns, target.name: target}, progress, separator=separator)
    labels = table.pop(target.name)
    features = features_of(schema.encoder, table)
    dense = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
    return np.column_stack([dense, np.ones(len(dense))]), labels
