# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Options shared by several verbs."""

from pathlib import Path
from typing import Annotated, Any

import typer


def number(option: str, help: str, **more: Any) -> Any:
    """Return an option with a number as its value; other text is refused and repeated in the message."""
    return typer.Option(option, parser=_read_number, metavar="NUMBER", help=help, **{"show_default": False, **more})


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None


def adjacency_names() -> list[str]:
    """Return the values of --adjacency, for shell completion."""
    return ["add_remove", "replace_one"]


Events = Annotated[
    list[str] | None,
    typer.Argument(metavar="EVENT", show_default=False, help="Events, composed in sequence; see the list above."),
]
EventFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--event-file",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        show_default=False,
        help="JSON file with an additional event; may be repeated.",
    ),
]
AdjacencyName = Annotated[
    str,
    typer.Option(
        "--adjacency",
        metavar="add_remove|replace_one",
        autocompletion=adjacency_names,
        show_default=False,
        help="Neighbouring data sets: one record added or removed, or one record replaced (n is public). [required]",
    ),
]
"""The default "" lets `dperm.cli.event_input.filling` explain the choice, instead of "missing option"."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object; null stands for an infinite number.")]

EVENTS_HELP = """\b
Events:
  gaussian(noise_multiplier)        Gaussian noise
  laplace(noise_multiplier)         Laplace noise
  pure(epsilon)                     any epsilon-DP mechanism
  approximate(epsilon, delta)       any (epsilon, delta)-DP mechanism
  bounded_range(epsilon)            any mechanism whose privacy losses lie in an interval of length epsilon
  randomized_response(epsilon, values=2)
                                    local randomized response with this number of possible values; replace_one only
  poisson(EVENT, rate)              EVENT on a Poisson sample of the records
  without_replacement(EVENT, rate)  EVENT on a sample of fixed size; replace_one only
  replace_one_only(EVENT)           gaussian or laplace noise with a sensitivity proved only under replace_one; the
                                    noise multiplier is relative to half of this sensitivity
  perturbed_objective(noise_multiplier, curvature, monotone=true)
                                    objective perturbation with Gaussian noise; curvature is the smoothness of the
                                    loss of one record divided by the regularization strength; monotone=false for
                                    regression
  perturbed_softmax(noise_multiplier, curvature, classes)
                                    objective perturbation of softmax regression
  thresholded_values(standard_deviation, threshold, values)
                                    release of the values whose noisy counts exceed the threshold; the argument
                                    "values" is the largest number of values that one record can have
  parallel_parts(EVENT, EVENT, ...) one EVENT for each part of the data; secret, independent coin flips assign the
                                    records to the parts
  best_of(EVENT, runs)              best of a random number of runs; runs is geometric(mean), logarithmic(mean),
                                    poisson(mean) or negative_binomial(eta, gamma)
  EVENT * 1000                      EVENT, 1000 times
  EVENT + EVENT, or several EVENTs  composition

A number may be a fraction, such as rate=256/60000. The noise multiplier is the standard deviation of the noise
(laplace: its scale) divided by the sensitivity to one record added or removed. The guarantees in "pure", "approximate"
and "bounded_range" events hold under --adjacency, unless the event names another adjacency: pure(0.1,
adjacency=add_remove).
"""
