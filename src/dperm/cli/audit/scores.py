# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit scores``: the ROC curve of a membership attack."""

import csv
import math
from collections.abc import Mapping, Sequence
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

HELP = """Show the rates, AUC and ROC curve of a membership attack. FILE has the columns score and member.

The true-positive rate is shown at false-positive rates of 0.1, 1 and 10 percent. --plot uses logarithmic axes. With
--epsilon, the output includes the largest rates that the claim permits. Scores give a bound on epsilon, and can refute
a claim, only with --trials independent (one training run per record) or one_run (one training run, a fair coin flip per
record). Scores from any other design, such as one model without coin flips, give no valid bound: use --trials
dependent, the default.

\b
Examples:
  dperm audit scores scores.csv
  dperm audit scores scores.csv --plot roc.png --epsilon 1 --delta 1e-6 --adjacency add_remove
  dperm audit scores scores.csv --trials independent --epsilon 4 --adjacency add_remove --json
"""

SCORE, MEMBER = "score", "member"
_BITS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def scores(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="CSV file with the scores.")],
    epsilon: Annotated[float | None, number("--epsilon", "Claimed epsilon.")] = None,
    delta: Annotated[float, number("--delta", "Claimed delta.", show_default="0")] = 0.0,
    adjacency: options.ClaimedAdjacency = None,
    trials: Annotated[
        str, typer.Option("--trials", metavar="dependent|one_run|independent", help="How the scores were obtained.")
    ] = "dependent",
    confidence: options.ScoresConfidence = 0.95,
    plot: options.Plot = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Evaluate the scores of an attack."""
    with reported_errors():
        from dperm.audit.membership import Roc, TrialDependence
        from dperm.cli.audit.findings_output import exit_on_violation
        from dperm.cli.audit.roc_output import report_roc
        from dperm.cli.output_files import require_picture

        require_picture("--plot", plot, force=force, inputs=(file,))
        kind, claim = TrialDependence.of(trials), _claim(epsilon, delta, adjacency)
        roc = Roc.of(*read_scores(file), trials=kind)
        judged = claim is not None and kind is not TrialDependence.DEPENDENT
        findings: list[Finding] = [roc.finding(claim, confidence=confidence)] if judged and claim else []
        bounds = {} if claim is not None or kind is TrialDependence.DEPENDENT else _bounds(roc, confidence)
        report_roc(roc, claim, findings, bounds=bounds, confidence=confidence, plot=plot, as_json=json)
        exit_on_violation(findings)


def _bounds(roc: "Roc", confidence: float) -> "Mapping[str, LowerBound]":
    """Return the lower bounds on epsilon at delta 0 without a claim."""
    from dperm.privacy import PureDP

    return roc.finding(PureDP(1.0, roc.adjacency or ""), confidence=confidence).bounds  # the claim changes no bound


def _claim(epsilon: float | None, delta: float, adjacency: str | None) -> "PureDP | ApproxDP | None":
    from dperm.cli.audit.options import guarantee

    if epsilon is not None:
        return guarantee(epsilon, delta, adjacency)
    if adjacency is not None or delta:
        raise ParameterError("--delta and --adjacency belong to a claim: give --epsilon, or leave them out.")
    return None


def read_scores(path: Path) -> tuple[list[float], list[bool]]:
    """Read the columns "score" and "member" of a CSV file."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            rows.fieldnames = _columns(path, rows.fieldnames)
            found = [(_score(path, rows.line_num, row[SCORE]), _bit(path, rows.line_num, row[MEMBER])) for row in rows]
    except (UnicodeDecodeError, csv.Error):
        raise ParameterError(f"{path} must be a CSV file in UTF-8.") from None
    scores, members = [score for score, _ in found], [member for _, member in found]
    if len(set(members)) < 2:
        kind = "members" if any(members) else "non-members" if members else "nobody"
        raise ParameterError(f"{path} must have members and non-members, but contains only {kind}. Attack both.")
    return scores, members


def _columns(path: Path, names: Sequence[str] | None) -> list[str]:
    """Return the column names in lower case; refuses a file without one score and one member column."""
    found = [name.strip().lower() for name in names or ()]
    missing = [name for name in (SCORE, MEMBER) if found.count(name) != 1]
    if not missing:
        return found
    has = f"It has {', '.join(map(repr, names))}. " if names else "It is empty. "
    split = len(found) == 1 and next((mark for mark in ";\t|" if mark in found[0]), "")
    separator = f"Columns are separated by commas, not by {split!r}. " if split else ""
    raise ParameterError(
        f"{path} must have the columns score and member, and has no {' and no '.join(missing)}. {has}{separator}A "
        "score is a number, larger for members; member is 1 or 0."
    )


def _score(path: Path, line: int, text: str | None) -> float:
    try:
        score = float(text or "")
    except ValueError:
        raise ParameterError(f"{path}, line {line}: the score is not a number.") from None
    if math.isnan(score):
        raise ParameterError(f"{path}, line {line}: the score is NaN. Leave out records without a score.")
    return score


def _bit(path: Path, line: int, text: str | None) -> bool:
    found = _BITS.get((text or "").strip().lower())
    if found is None:
        raise ParameterError(f"{path}, line {line}: member must be 1 or 0, true or false, yes or no.")
    return found
