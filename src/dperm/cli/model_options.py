# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The options that say which model is learnt, and with what guarantee: of ``dperm fit`` and ``dperm plan``."""

from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.options import number

ESTIMATORS = "logistic|svc|linear|huber|quantile"
Data = Annotated[Path, typer.Argument(metavar="DATA", show_default=False, help="A .csv, .parquet, .arrow or .feather.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A file that dperm fit wrote.")]
Epsilon = Annotated[float | None, number("--epsilon", "How much a record may show. [required]")]
Delta = Annotated[
    float | None,
    number("--delta", "0 asks for a pure guarantee.", show_default="the share of a release in the ledger, or 1e-6"),
]
Relation = Annotated[
    str | None,
    typer.Option(
        "--adjacency",
        metavar="add_remove|replace_one",
        show_default="that of the ledger, or replace_one",
        help="Which data sets are neighbours: one record added or removed, or one replaced (n is public).",
    ),
]
MethodName = Annotated[
    str,
    typer.Option("--method", metavar="NAME", help="auto, objective, output, gradient, sgd, bolt_on, sufficient, ..."),
]
EstimatorName = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        metavar=ESTIMATORS,
        show_default="logistic for classes, linear for a range",
        help="What is learnt.",
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", metavar="FILE", show_default=False, help="Public bounds, categories and classes, as TOML."
    ),
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger", metavar="PATH|URL", show_default=False, help="The ledger to charge: a file, or postgresql://..."
    ),
]
AccountName = Annotated[
    str | None,
    typer.Option("--account", metavar="NAME", show_default="the only one", help="The account in the ledger."),
]
RegularizationC = Annotated[
    float | None, number("--C", "1/Lambda in sum scale, as in scikit-learn.", show_default="the plan chooses")
]
Clip = Annotated[
    float | None, number("--clip", "Share of the largest gradient, in (0, 1].", show_default="the plan chooses")
]
Rows = Annotated[
    int | None,
    typer.Option("--n", metavar="N", show_default=False, help="The public number of records, where it is known."),
]
Quantile = Annotated[float | None, number("--quantile", "Of --estimator quantile, in (0, 1).", show_default="0.5")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")]
