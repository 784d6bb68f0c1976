# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The options that several verbs share."""

from pathlib import Path
from typing import Annotated, Any

import typer


def number(option: str, help: str, **more: Any) -> Any:
    """An option that takes a number; what is none is refused with the text that was given."""
    return typer.Option(option, parser=_read_number, metavar="NUMBER", help=help, **{"show_default": False, **more})


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None


Events = Annotated[
    list[str] | None,
    typer.Argument(metavar="EVENT", show_default=False, help="What was done, in sequence; see the events above."),
]
EventFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--event-file",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        show_default=False,
        help="Read a further event from this JSON file; may be repeated.",
    ),
]
AdjacencyName = Annotated[
    str,
    typer.Option(
        "--adjacency",
        metavar="add_remove|replace_one",
        show_default=False,
        help="Which data sets are neighbours: one record added or removed, or one replaced (n is public). [required]",
    ),
]
"""Its default is "", for which `dperm.cli.subject.filling` has a better message than "missing option"."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object; null stands for an infinite number.")]

EVENTS_HELP = """\b
Events:
  gaussian(noise_multiplier)        laplace(noise_multiplier)
  pure(epsilon)                     approximate(epsilon, delta)
  randomized_response(epsilon, values=2)
  poisson(EVENT, rate)              without_replacement(EVENT, rate)
  perturbed_objective(noise_multiplier, curvature, monotone=true)
  perturbed_softmax(noise_multiplier, curvature, classes)
  EVENT * 1000 repeats              EVENT + EVENT composes, as several EVENTs do
  rate=256/60000: a number may be a quotient of two

The noise multiplier is the noise's standard deviation (laplace: its scale) divided by the sensitivity to one record
added or removed. pure and approximate are taken under --adjacency unless given as pure(0.1, adjacency=add_remove).
"""
