# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The options of ``dperm plan`` that no other verb has."""

import re
from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.options import number


def _read_count(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,30}", text) is None:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise typer.BadParameter(f"{shown!r} is not a whole number in digits alone, such as 8000.")
    return int(text)


RequestId = Annotated[
    str | None,
    typer.Option("--request-id", metavar="ID", show_default=False, help="That of the fit, if it was approved."),
]
WriteEvent = Annotated[
    Path | None, typer.Option("--write-event", metavar="FILE", show_default=False, help="Store the event as JSON.")
]
Expect = Annotated[bool, typer.Option("--expect", help="With --schema: add what accuracy to expect.")]
Rows = Annotated[
    int | None,
    typer.Option(
        "--n", parser=_read_count, metavar="N", show_default=False, help="The public number of records, if known."
    ),
]
Columns = Annotated[
    int | None,
    typer.Option(
        "--dim", parser=_read_count, metavar="D", show_default=False, help="Number of columns, in place of a schema."
    ),
]
Balance = Annotated[float | None, number("--balance", "Share of the positive class.", show_default="0.5")]
Baseline = Annotated[
    float | None,
    number("--baseline", "Accuracy without privacy, if it is known elsewhere.", show_default="a rule of thumb"),
]
FeatureNorm = Annotated[
    float | None, number("--feature-norm", "The public bound on the norm of a row.", show_default="1")
]
ReferenceNorm = Annotated[
    float | None, number("--reference-norm", "Norm of the model that bounds compare with.", show_default="1")
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        show_default="auto; in a table all",
        help="auto, objective, output, gradient, sgd, bolt_on, posterior; without --dim and trials also sufficient.",
    ),
]
TargetExcess = Annotated[
    float | None, number("--target-excess", "How many records for a proved excess risk of at most this?")
]
TargetLoss = Annotated[
    float | None, number("--target-loss", "How many records for so much accuracy lost to privacy, by trials?")
]
NoTrials = Annotated[bool, typer.Option("--no-trials", help="Proved bounds and noise only, at once.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer trials, and wider intervals.")]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="S", show_default="0", help="Of made-up data and simulated noise.")
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", show_default=False, help="Draw accuracy over n and over epsilon."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
