# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Options shared by the verbs of ``dperm audit``, and the guarantee of a claim."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.options import adjacency_names, number
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.privacy import ApproxDP, PureDP

LAMBDA_HELP = "Regularization strength Lambda for the sum (not the mean) of the losses."
Confidence = Annotated[float, number("--confidence", "Confidence level of the bound.", show_default="0.95")]
IntervalConfidence = Annotated[float, number("--confidence", "Confidence level of the intervals.", show_default="0.95")]
ScoresConfidence = Annotated[
    float, number("--confidence", "Confidence level of the intervals and bounds.", show_default="0.95")
]
Delta = Annotated[float, number("--delta", "Delta at which epsilon is bounded.", show_default="0")]
Gaussian = Annotated[
    bool,
    typer.Option(
        "--gaussian",
        help=(
            "Assume a Gaussian trade-off function. The bound is tighter but refutes no claim, because a claimed "
            "epsilon does not imply the assumption. Requires --delta."
        ),
    ),
]
ClaimedEpsilon = Annotated[
    float | None, number("--claimed-epsilon", "Claimed epsilon at --delta; adds a verdict. Requires --adjacency.")
]
ClaimedAdjacency = Annotated[
    str | None,
    typer.Option(
        "--adjacency",
        metavar="add_remove|replace_one",
        autocompletion=adjacency_names,
        show_default=False,
        help="Adjacency of the claim and of the attack.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="S", show_default="random", help="Seed for a reproducible audit."),
]
Workers = Annotated[
    int, typer.Option("--workers", metavar="W", help="Number of processes for methods that train a model in every run.")
]
Runs = Annotated[
    int | None,
    typer.Option(
        "--runs", metavar="N", show_default="100000, or 200 if every run trains a model", help="Number of runs."
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", show_default=False, help="File for a plot: .png, .svg or .pdf.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]


def count(option: str, help: str) -> object:
    """Return the value of a required option, a whole number."""
    return typer.Option(option, metavar="N", show_default=False, help=help, parser=_whole)


def _whole(text: str | int) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number: give a count, not a share.") from None


def require_delta(gaussian: bool, delta: float) -> None:
    """Refuse --gaussian at delta 0, where epsilon is infinite."""
    if gaussian and delta == 0:
        raise ParameterError("--gaussian needs --delta, such as --delta 1e-5: at delta 0 its epsilon is infinite.")


def guarantee(epsilon: float, delta: float, adjacency: str | None) -> "PureDP | ApproxDP":
    """Return the guarantee, checked; it is pure if delta is 0."""
    from dperm import checks
    from dperm.cli.event_input import substitution
    from dperm.privacy import ApproxDP, PureDP

    relation = substitution(adjacency or "").adjacency
    size, small = checks.nonnegative("--epsilon", epsilon), checks.small_delta("--delta", delta)
    return ApproxDP(size, small, relation) if small > 0 else PureDP(size, relation)


def claimed(epsilon: float | None, delta: float, adjacency: str | None) -> "PureDP | ApproxDP | None":
    """Return the claimed guarantee; None without an epsilon."""
    if epsilon is not None:
        return guarantee(epsilon, delta, adjacency)
    if adjacency is not None:
        raise ParameterError("--adjacency belongs to a claim: give --claimed-epsilon, or leave it out.")
    return None
