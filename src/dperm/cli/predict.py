# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm predict``: predictions of a model for the records of a file."""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dperm.cli.model_options import Data, Force, ModelFile, Separator
from dperm.cli.options import AsJson
from dperm.cli.running import progress_bar, reported_errors, spinner
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data.columns import Unseen
    from dperm.data.schema import AnySchema

HELP = """Predict the target of each record in DATA with MODEL, in the order of the records.

Predictions are printed as CSV; -o writes them to a CSV, Parquet or Arrow file, depending on its suffix.

The schema stored in the model defines how the columns are read. Columns that are not in the schema are ignored, and the
target column may be missing.

Undeclared categories are encoded as "other". In CSV files, text in a numeric column is treated as a missing value.
Missing values are encoded according to the "missing" or "impute" setting of the column. If the column lacks the setting
that is needed, its features are 0. Numbers outside their bounds are clipped. In an additive model, missing values and
undeclared categories have effects of their own.

\b
Examples:
  dperm predict model.dperm data.csv
  dperm predict model.dperm data.csv -o predictions.csv
  dperm predict model.dperm data.csv --probabilities --json
"""


def predict(
    model: ModelFile,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            show_default="stdout",
            help="File for the predictions: .csv, .parquet, .arrow or .feather.",
        ),
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of each class.")] = False,
    unseen: Annotated[
        str,
        typer.Option(
            "--unseen",
            metavar="other|raise",
            autocompletion=lambda: ["other", "raise"],
            help="Treatment of undeclared categories, text in numeric columns, and missing values that the schema does "
            'not allow. "other" encodes them as described above; "raise" rejects the file. Numbers outside their '
            "bounds are always clipped.",
        ),
    ] = "other",
    separator: Separator = ",",
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Predict the records of a file."""
    with reported_errors():
        from dperm.cli.output import print_json
        from dperm.cli.output_files import require_free
        from dperm.data.encoder import checked_unseen
        from dperm.data.files import require_writable

        treatment = checked_unseen(unseen)
        if output is not None:
            require_writable("-o", output)
            require_free("-o", output, force=force, inputs=(model, data))
        estimator, schema = load_with_schema(model)
        _require_probabilities(estimator, probabilities)
        columns = _predicted(estimator, schema, data, probabilities, treatment, separator)
        if output is not None:
            _write(output, columns)
        if output is not None and json:
            print_json({"file": str(output), "columns": list(columns)})
        elif output is not None:
            typer.echo(f"Written: {output}")
        elif json:
            print_json({"columns": list(columns), "predictions": columns})
        else:
            typer.echo(_as_csv(columns), nl=False)


def load_with_schema(path: Path) -> "tuple[Any, AnySchema]":
    """Return model and schema of a file; raise ParameterError if it has no schema with a target."""
    from dperm.sklearn.files import load_stored

    stored = load_stored(path)
    if stored.schema is None or stored.schema.target is None:
        raise ParameterError(
            f"{path} has no schema: it was saved in Python for arrays of features. Use it there, or run dperm fit."
        )
    return stored.estimator, stored.schema


def _require_probabilities(estimator: Any, wanted: bool) -> None:
    if wanted and not hasattr(estimator, "predict_proba"):
        raise ParameterError(f"--probabilities: {type(estimator).__name__} predicts no probabilities. Leave it out.")


def _predicted(
    estimator: Any, schema: "AnySchema", data: Path, probabilities: bool, unseen: "Unseen", separator: str
) -> dict[str, list[Any]]:
    """Read the data and return the columns of predictions by name."""
    from dperm.cli.encoding import model_input
    from dperm.data.files import read_table

    with progress_bar(f"Reading {data.name}") as progress:
        table = read_table(data, schema.encoder.columns, progress, unseen=unseen, separator=separator)
    with spinner("Predicting ..."):
        features = model_input(schema, table, unseen=unseen)
        return _columns(estimator, schema, features, probabilities)


def _columns(estimator: Any, schema: "AnySchema", features: Any, probabilities: bool) -> dict[str, list[Any]]:
    assert schema.target is not None  # load_with_schema has checked it
    name = schema.target.name
    found = {name: estimator.predict(features).tolist()}
    if probabilities:
        chances = estimator.predict_proba(features).T.tolist()
        found |= {f"{name}={label}": chance for label, chance in zip(estimator.classes_, chances, strict=True)}
    return found


def _write(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write the file atomically, in the format of its suffix."""
    from dperm.data.files import ARROW
    from dperm.report.whole_file import whole_file, write_text

    if path.suffix.lower() not in ARROW:
        write_text(path, _as_csv(columns))
        return
    from dperm.data.arrow_files import as_bytes

    content = as_bytes(columns, path)
    with whole_file(path) as file:
        file.write(content)


def _as_csv(columns: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
