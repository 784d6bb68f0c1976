# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The options that the verbs of an audit share."""

from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.options import number
from dperm.errors import ParameterError

Confidence = Annotated[
    float, number("--confidence", "The probability with which a bound is true.", show_default="0.95")
]
Delta = Annotated[float, number("--delta", "At which epsilon is bounded.", show_default="0")]
Gaussian = Annotated[
    bool,
    typer.Option(
        "--gaussian",
        help=(
            "Tighter, and no bound unless the trade-off is Gaussian, which an epsilon alone does not claim: refutes "
            "nothing. Needs --delta."
        ),
    ),
]
ClaimedEpsilon = Annotated[
    float | None, number("--claimed-epsilon", "What is claimed at --delta: gives a verdict. Needs --adjacency.")
]
ClaimedAdjacency = Annotated[
    str | None,
    typer.Option(
        "--adjacency", metavar="add_remove|replace_one", show_default=False, help="Of the claim, and of the attack."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="S", show_default="from the system", help="Makes the audit repeatable."),
]
Workers = Annotated[int, typer.Option("--workers", metavar="W", help="Processes, for methods that are run one by one.")]
Runs = Annotated[
    int | None,
    typer.Option(
        "--runs", metavar="N", show_default="100000, or 200 where each is a training", help="How often to run it."
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", show_default=False, help="Draw it: a .png, .svg or .pdf.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


def count(option: str, help: str) -> object:
    """A required whole number."""
    return typer.Option(option, metavar="N", show_default=False, help=help, parser=_whole)


def _whole(text: str | int) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number: give a count, not a share.") from None


def require_delta(gaussian: bool, delta: float) -> None:
    """A Gaussian trade-off has a finite epsilon only at a positive delta."""
    if gaussian and delta == 0:
        raise ParameterError("--gaussian needs --delta, such as --delta 1e-5: at delta 0 its epsilon is infinite.")
