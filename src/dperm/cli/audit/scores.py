# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit scores``: the ROC curve of a membership attack."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.audit import options
from dperm.cli.options import AsJson, number
from dperm.cli.running import reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.audit import Finding, LowerBound
    from dperm.audit.membership import Roc
    from dperm.privacy import ApproxDP, PureDP

HELP = """Rates, area and ROC curve of a membership attack, from FILE with the columns score and member.

Attacks matter where they rarely accuse falsely: true positives are told at false-positive rates of 0.1 %, 1 % and 10 %,
and --plot has logarithmic axes. With --epsilon the most that the guarantee allows stands beside them. Only with
--trials independent (a training of its own for each record) or one_run (one training, a fair coin for each) do scores
bound epsilon, and can refute a claim; scores of one model depend on each other.

\b
Examples:
  dperm audit scores scores.csv
  dperm audit scores scores.csv --plot roc.png --epsilon 1 --delta 1e-6 --adjacency add_remove
  dperm audit scores scores.csv --trials independent --epsilon 4 --adjacency add_remove --json
"""


def scores(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A .csv.")],
    epsilon: Annotated[float | None, number("--epsilon", "What is claimed.")] = None,
    delta: Annotated[float, number("--delta", "Of the claim.", show_default="0")] = 0.0,
    adjacency: options.ClaimedAdjacency = None,
    trials: Annotated[
        str, typer.Option("--trials", metavar="dependent|one_run|independent", help="How the scores came about.")
    ] = "dependent",
    confidence: options.Confidence = 0.95,
    plot: options.Plot = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Judge the scores of an attack."""
    with reported_errors():
        from dperm.audit.membership import Roc, TrialDependence
        from dperm.cli.audit.printing import require_none
        from dperm.cli.audit.score_file import read_scores
        from dperm.cli.audit.told_roc import tell_roc
        from dperm.cli.drawing import require_picture

        require_picture("--plot", plot, force=force, inputs=(file,))
        kind, claim = TrialDependence.of(trials), _claim(epsilon, delta, adjacency)
        roc = Roc.of(*read_scores(file), trials=kind)
        judged = claim is not None and kind is not TrialDependence.DEPENDENT
        findings: list[Finding] = [roc.finding(claim, confidence=confidence)] if judged and claim else []
        bounds = {} if claim is not None or kind is TrialDependence.DEPENDENT else _bounds(roc, confidence)
        tell_roc(roc, claim, findings, bounds=bounds, confidence=confidence, plot=plot, as_json=json)
        require_none(findings)


def _bounds(roc: "Roc", confidence: float) -> "Mapping[str, LowerBound]":
    """What the scores show of epsilon at delta 0, whatever is claimed."""
    from dperm.privacy import PureDP

    return roc.finding(PureDP(1.0, roc.adjacency or ""), confidence=confidence).bounds  # the claim changes no bound


def _claim(epsilon: float | None, delta: float, adjacency: str | None) -> "PureDP | ApproxDP | None":
    from dperm.cli.audit.claims import guarantee

    if epsilon is not None:
        return guarantee(epsilon, delta, adjacency)
    if adjacency is not None or delta:
        raise ParameterError("--delta and --adjacency belong to a claim: give --epsilon, or leave them out.")
    return None
