# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Options of ``dperm plan`` alone."""

import re
from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.model_options import EPSILON_HELP, TABLE_HELP
from dperm.cli.options import number


def _read_count(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,30}", text) is None:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise typer.BadParameter(f"{shown!r} is not a whole number in digits alone, such as 8000.")
    return int(text)


RequiredEpsilon = Annotated[float, number("--epsilon", EPSILON_HELP)]
RequiredSchema = Annotated[
    Path,
    typer.Option("--schema", metavar="FILE", show_default=False, help="TOML file with bounds, categories and classes."),
]
PricingLedger = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="PATH|URL",
        show_default=False,
        help="Ledger to check the cost against, without a charge: a file, or postgresql://...",
    ),
]
DefaultsLedger = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="PATH|URL",
        show_default=False,
        help="Take delta and adjacency from an account of this ledger.",
    ),
]
RequestId = Annotated[
    str | None,
    typer.Option("--request-id", metavar="ID", show_default=False, help="Request id under which the fit was approved."),
]
WriteEvent = Annotated[
    Path | None,
    typer.Option("--write-event", metavar="FILE", show_default=False, help="Write the event to this file as JSON."),
]
Expect = Annotated[bool, typer.Option("--expect", help="With --schema: add the expected accuracy.")]
Rows = Annotated[
    int | None,
    typer.Option("--n", parser=_read_count, metavar="N", show_default=False, help="Public number of records."),
]
Columns = Annotated[
    int | None,
    typer.Option(
        "--dim", parser=_read_count, metavar="D", show_default=False, help="Number of columns, if no --schema is given."
    ),
]
HeaderFile = Annotated[
    Path | None,
    typer.Argument(metavar="DATA", show_default=False, help=f"{TABLE_HELP} Only the column names are read."),
]
PreparedColumnCount = Annotated[
    int | None,
    typer.Option(
        "--columns",
        parser=_read_count,
        metavar="D",
        show_default=False,
        help="Number of columns to prepare, including the target, if no DATA is given.",
    ),
]
PreparedTarget = Annotated[
    str | None, typer.Option("--target", metavar="COLUMN", show_default=False, help="Column of DATA to predict.")
]
Balance = Annotated[
    float | None, number("--balance", "Share of the positive class, from 0.01 to 0.99.", show_default="0.5")
]
Baseline = Annotated[
    float | None,
    number("--baseline", "Accuracy without privacy, if publicly known.", show_default="estimated by a rule of thumb"),
]
FeatureNorm = Annotated[float | None, number("--feature-norm", "Public bound on the norm of a row.", show_default="1")]
ReferenceNorm = Annotated[
    float | None,
    number(
        "--reference-norm",
        "The bounds compare the fit with the best coefficients whose norm is at most this number.",
        show_default="1",
    ),
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        show_default="auto; without --schema, all methods are compared",
        help='Method: auto, objective, output, gradient, sgd, bolt_on or posterior; also "sufficient" with --schema.',
    ),
]
TriedMethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        show_default="all methods",
        help="Method: auto, objective, output, gradient, sgd, bolt_on or posterior.",
    ),
]
TrialMethodName = Annotated[
    str,
    typer.Option(
        "--method", metavar="NAME", help="Method: auto, objective, output, gradient, sgd, bolt_on or posterior."
    ),
]
"""Method of trials on simulated tables."""
EXCESS_HELP = "Target for the proved bound on the expected excess risk."
LOSS_HELP = "Largest acceptable accuracy loss due to privacy."
TargetExcess = Annotated[float | None, number("--target-excess", EXCESS_HELP)]
TargetLoss = Annotated[float | None, number("--target-loss", LOSS_HELP)]
RequiredExcess = Annotated[float, number("--target-excess", EXCESS_HELP)]
RequiredLoss = Annotated[float, number("--target-loss", LOSS_HELP)]
NoTrials = Annotated[bool, typer.Option("--no-trials", help="Skip the trials; show only bounds and noise.")]
Quick = Annotated[bool, typer.Option("--quick", help="Run fewer trials, which gives wider intervals.")]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="S", show_default="0", help="Seed for the synthetic data and the simulated noise."),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", show_default=False, help="File for a plot of accuracy against n and epsilon."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
