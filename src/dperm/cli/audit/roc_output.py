# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Output of a ROC curve with its AUC and rates, as text, JSON and a plot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from dperm.audit import Finding, LowerBound
    from dperm.audit.membership import Roc
    from dperm.privacy import ApproxDP, PureDP

UNJUDGED = (
    'No verdict: scores of one model depend on each other, and rates above "at most" refute nothing. See --trials.'
)


def report_roc(
    roc: "Roc",
    claim: "PureDP | ApproxDP | None",
    findings: Sequence["Finding"],
    *,
    confidence: float,
    plot: Path | None,
    as_json: bool,
    bounds: "Mapping[str, LowerBound] | None" = None,
    label: str = "",
) -> None:
    """Print the measured rates and the largest rates that the claim allows."""
    from dperm.cli.audit.findings_output import plain, print_bounds
    from dperm.cli.output import print_json

    ceilings = {} if claim is None else roc.ceilings(claim)
    if plot is not None:
        _draw(roc, claim, plot, label)
    if as_json:
        found = {"label": label} if label else {}
        shown = {name: plain(bound.as_dict()) for name, bound in (bounds or {}).items()}
        verdicts = [plain(one.as_dict()) for one in findings]
        print_json(
            {**found, **plain(roc.as_dict(confidence)), "ceilings": ceilings, "bounds": shown, "findings": verdicts}
        )
        return
    _print(roc, ceilings, confidence)
    if bounds:
        print_bounds(bounds)
    unjudged = [UNJUDGED] if claim is not None and not findings else []
    for line in (*(str(one) for one in findings), *unjudged, *([label] if label else [])):
        typer.echo(f"\n{line}")
    if plot is not None:
        typer.echo(f"\nWritten: {plot}")


def _print(roc: "Roc", ceilings: dict[str, float], confidence: float) -> None:
    from dperm.audit.membership.roc import EXPLANATION, RATES, guessing, rate_name
    from dperm.cli.output import print_facts, print_paragraphs, print_table, up

    points = {rate_name(rate): roc.at(rate, confidence) for rate in RATES}
    measured = {"AUC": (roc.auc, roc.auc_interval(confidence))}
    measured |= {name: (one.true_positive_rate, one.true_positive_interval) for name, one in points.items()}
    head = ("", "measured", f"{100 * confidence:g} % interval", "by guessing", *(["at most"] if ceilings else []))
    guessed = guessing()
    rows = [
        (name, f"{value:.4g}", f"[{low:.4g}, {high:.4g}]", f"{guessed[name]:g}")
        + ((up(ceilings[name], 4),) if ceilings else ())
        for name, (value, (low, high)) in measured.items()
    ]
    print_table(head, rows)
    print_facts(
        [
            ("records", f"{len(roc.members)} members, {len(roc.non_members)} others"),
            ("intervals", str(roc.trials.interval_meaning)),
        ]
    )
    print_paragraphs([EXPLANATION])


def _draw(roc: "Roc", claim: "PureDP | ApproxDP | None", path: Path, label: str) -> None:
    from dperm.report.audit_plots import plot_roc

    plot_roc(roc, guarantee=claim, note="not private: do not publish" if label else "", path=path)
