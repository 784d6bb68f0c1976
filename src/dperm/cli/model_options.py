# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Options for the model and its guarantee, of ``dperm fit`` and ``dperm plan``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dperm.cli.options import adjacency_names, number
from dperm.cli.table_reading import DEFAULT_ENGINE, DEFAULT_MEMORY, ENGINES

MODEL_NAMES = "linear|additive"
ESTIMATORS = "logistic|svc|linear|huber|quantile"
TABLE_HELP = "Table in a .csv, .parquet, .arrow or .feather file; CSV may be compressed, as in .csv.gz."
EPSILON_HELP = "Privacy-loss bound epsilon, greater than 0; smaller is more private."
ADJACENCY_HELP = "Neighbouring data sets: one record added or removed, or one record replaced (n is public)."
Data = Annotated[Path, typer.Argument(metavar="DATA", show_default=False, help=TABLE_HELP)]
DataFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Table in .csv, .parquet, .arrow or .feather files, or a quoted pattern such as 'data/*.parquet'. CSV may "
        "be compressed, as in .csv.gz. Each file must have all declared columns.",
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar=ENGINES,
        autocompletion=lambda: ENGINES.split("|"),
        show_default=DEFAULT_ENGINE,
        help="Engine that reads the row groups: one thread (serial), several threads (threads), or the workers of a "
        "Dask cluster (dask), which must find DATA under the same paths. The result does not depend on the engine.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        show_default=False,
        help="Address of the scheduler for --engine dask, such as tcp://scheduler:8786.",
    ),
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        "--scratch",
        metavar="FOLDER",
        show_default=False,
        help="Folder for the encoded records that exceed --memory; choose an encrypted disk. Without --scratch, these "
        "records are read again from DATA in each pass. Not for --engine dask.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        show_default=DEFAULT_MEMORY,
        help="Maximum total size of the encoded records held in memory, such as 500MB or 2GB. Not for --engine dask.",
    ),
]
Separator = Annotated[
    str,
    typer.Option(
        "--separator",
        metavar=",|;|tab|'|'",
        autocompletion=lambda: [",", ";", "tab", "|"],
        help="Separator of the cells of a CSV file: a comma, a semicolon, a tab (tab or \\t) or a vertical bar.",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", show_default=False, help="Model file written by dperm fit or dperm search.")
]
Epsilon = Annotated[float | None, number("--epsilon", f"{EPSILON_HELP} [required]")]
DELTA_HELP = "Delta of the guarantee; 0 for pure DP."
_ACCOUNT_DELTA = "the account's delta per release, or 1e-6"
Delta = Annotated[float | None, number("--delta", DELTA_HELP, show_default=_ACCOUNT_DELTA)]
DeltaOfFit = Annotated[
    float | None,
    number(
        "--delta",
        "Delta of the guarantee; 0 for pure DP, which is not possible with --prepare or --holdout.",
        show_default=_ACCOUNT_DELTA,
    ),
]
"""Delta of ``dperm fit``, with or without a private preparation."""
PositiveDelta = Annotated[
    float | None,
    number("--delta", "Delta of the guarantee; must be greater than 0.", show_default=_ACCOUNT_DELTA),
]
"""Delta of a private preparation, which cannot be pure."""
DeltaWithoutAccount = Annotated[float | None, number("--delta", DELTA_HELP, show_default="1e-6")]
"""Delta of a command without a ledger."""


def _adjacency(default: str) -> Any:
    return typer.Option(
        "--adjacency",
        metavar="add_remove|replace_one",
        autocompletion=adjacency_names,
        show_default=default,
        help=ADJACENCY_HELP,
    )


Relation = Annotated[str | None, _adjacency("the account's adjacency, or replace_one")]
RelationWithoutAccount = Annotated[str | None, _adjacency("replace_one")]
"""Adjacency of a command without a ledger."""
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Method: auto, objective, output, gradient, sgd, bolt_on, sufficient or posterior.",
    ),
]
EstimatorName = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        metavar=ESTIMATORS,
        show_default="logistic if the target has classes, linear if it has a range",
        help="Kind of linear model.",
    ),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        metavar=MODEL_NAMES,
        autocompletion=lambda: MODEL_NAMES.split("|"),
        help="Linear model, or additive model with a shape function for each column. An additive model reads one file "
        "into memory, and its schema may have keys for additive models.",
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", show_default=False, help="TOML file with bounds, categories and classes."),
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger", metavar="PATH|URL", show_default=False, help="Ledger to charge: a file, or postgresql://..."
    ),
]
AccountName = Annotated[
    str | None,
    typer.Option("--account", metavar="NAME", show_default="the only account", help="Account to use in the ledger."),
]
RegularizationC = Annotated[
    float | None,
    number("--C", "Inverse regularization strength, as in scikit-learn.", show_default="chosen by the plan"),
]
Clip = Annotated[
    float | None,
    number(
        "--clip",
        "Clipping norm as a fraction, in (0, 1], of the largest gradient norm without clipping. For the squared loss, "
        "it is a fraction of the largest norm of a row of features; the target is first scaled to [-1, 1].",
        show_default="chosen by the plan",
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--n",
        metavar="N",
        show_default=False,
        help="Public number of records. Under replace_one, the default is the number of records in DATA. Under "
        "add_remove, some methods require --n.",
    ),
]
Invalid = Annotated[
    str,
    typer.Option(
        "--invalid",
        metavar="raise|drop",
        autocompletion=lambda: ["raise", "drop"],
        help="Treatment of invalid labels, undeclared categories, text in numeric columns, and missing values that the "
        'schema does not allow. "raise" rejects the file. "drop" gives weight 0 to records with an invalid label. It '
        'encodes undeclared categories as "other". It treats text in a numeric column as a missing value, and encodes '
        'missing values according to the "missing" or "impute" setting of the column. If the column lacks the setting '
        "that is needed, its features are 0. Numbers outside their bounds are always clipped.",
    ),
]
Quantile = Annotated[
    float | None, number("--quantile", "Quantile for --estimator quantile, in (0, 1).", show_default="0.5")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Prepare = Annotated[
    bool,
    typer.Option(
        "--prepare",
        help="Privately find the kinds, ranges, bins, categories and labels of undeclared columns, as part of the same "
        "release.",
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="classification|regression",
        autocompletion=lambda: ["classification", "regression"],
        show_default="the task of a declared target, or classification",
        help="Task, if the target is not declared in the schema. This choice must be public.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="COLUMN", show_default=False, help="Column to leave out, such as an id; may be repeated."
    ),
]
MostClasses = Annotated[
    int | None,
    typer.Option(
        "--most-classes",
        metavar="K",
        show_default="2",
        help="Upper limit on the number of classes of an undeclared target; it must be public. Only the K most "
        "frequent classes are kept.",
    ),
]
Holdout = Annotated[
    float | None,
    number(
        "--holdout",
        "Probability, at most 0.5, that a record is held out by a secret coin flip. The model is evaluated privately "
        "on the held-out records. The metrics do not add to the privacy cost.",
        show_default="no record is held out",
    ),
]
AllowFewRecords = Annotated[
    bool,
    typer.Option(
        "--allow-few-records",
        help="With --prepare, fit even if the public number of records is too small for a private preparation.",
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN=A,B,...",
        show_default=False,
        help="Column, and those of its values that define groups; the groups must be public. Metrics are computed for "
        "each group, and for all other records together.",
    ),
]
RequestId = Annotated[
    str | None,
    typer.Option(
        "--request-id",
        metavar="ID",
        show_default="a new id",
        help="Id of this request in the ledger. A request that is repeated with the same id is neither charged nor run "
        "again. Required if the account requires approvals.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="S",
        show_default=False,
        help="Seed for the noise; the result is reproducible and NOT PRIVATE. Requires --not-private.",
    ),
]
