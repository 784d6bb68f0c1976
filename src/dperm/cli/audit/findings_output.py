# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Output of bounds and findings as tables, sentences, JSON and plots; a violation has exit code 5."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dperm.cli.running import VIOLATION

if TYPE_CHECKING:
    from dperm.audit import Finding, LowerBound
    from dperm.privacy import ApproxDP, PureDP


def report_bound(
    bound: "LowerBound", claim: "PureDP | ApproxDP | None", *, subject: str, baseline: str, as_json: bool
) -> None:
    """Print the bound of an attack on ``subject``, with the verdict if there is a claim.

    ``baseline`` states the counts of an attack without a leak. Exits with code 5 if the claim is refuted.
    """
    from dperm.audit import Finding
    from dperm.audit.lower_bound import EXPLANATION, NO_LEAK

    finding = None if claim is None else Finding(subject, claim, {"attack": bound}, bound.confidence)
    if as_json:
        from dperm.cli.output import print_json

        data = {**plain(bound.as_dict()), **NO_LEAK}
        verdict = None if finding is None else plain(finding.as_dict())
        print_json({"bound": data, "baseline": baseline, "explanation": EXPLANATION, "finding": verdict})
    else:
        _print_bound(bound, baseline)
        typer.echo(f"\n{EXPLANATION}" if finding is None else f"\n{finding}\n{finding.explanation}")
    exit_on_violation(() if finding is None else (finding,))


def _print_bound(bound: "LowerBound", baseline: str) -> None:
    from dperm.cli.output import down, print_facts

    typer.echo(f"epsilon >= {down(bound.epsilon)} at delta {bound.delta:g}, {format_confidence(bound.confidence)}.")
    assumes = [("assumes", bound.assumes)] if bound.assumes else []
    print_facts([("method", bound.method), *assumes, ("baseline", baseline)])


def print_findings(findings: Sequence["Finding"]) -> None:
    """Print each finding with its statistics and its verdict."""
    from dperm.cli.output import print_paragraphs, print_table
    from dperm.presentation.phrases import capitalize
    from dperm.report.audits import POWERLESS

    for place, finding in enumerate(findings):
        typer.echo(f"{'' if place == 0 else chr(10)}{finding.subject}\n")
        print_table(_COLUMNS, [_row(name, bound, finding) for name, bound in finding.bounds.items()])
        typer.echo(f"\n{finding}")
        if POWERLESS in finding.facts:
            typer.echo(capitalize(str(finding.facts[POWERLESS])))
        for note in finding.notes:
            typer.echo(str(note))
    decisive = next((finding for finding in findings if finding.violation), findings[0])
    print_paragraphs([decisive.explanation])


def print_bounds(bounds: "Mapping[str, LowerBound]") -> None:
    """Print simultaneous bounds without a claim, and the largest in a sentence."""
    from dperm.audit.lower_bound import EXPLANATION
    from dperm.cli.output import down, print_table

    typer.echo()
    print_table(_COLUMNS, [_row(name, bound, None) for name, bound in bounds.items()])
    best = max(bounds.values(), key=lambda bound: bound.epsilon)
    typer.echo(f"\nepsilon >= {down(best.epsilon)} at delta {best.delta:g}; there is no claim to refute.")
    typer.echo(EXPLANATION)


_COLUMNS = ("statistic", "epsilon at least", "claimed", "at delta", "confidence", "method")


def _row(name: str, bound: "LowerBound", finding: "Finding | None") -> tuple[str, ...]:
    from dperm.audit.finding import claimed_digits
    from dperm.cli.output import down

    level = "exact" if bound.confidence == 1 else f"{100 * bound.confidence:.6g} %"
    method = f"{bound.method}; assumes that {bound.assumes}" if bound.assumes else bound.method
    claimed = "nothing" if finding is None else claimed_digits(finding.claimed_epsilon(bound.delta))
    return name, down(bound.epsilon), claimed, f"{bound.delta:g}", level, method


def exit_on_violation(findings: Iterable["Finding"]) -> None:
    """Exit with code 5 if a claim is refuted."""
    if any(finding.violation for finding in findings):
        raise typer.Exit(VIOLATION)


def format_confidence(confidence: float) -> str:
    """Return a confidence as text, such as "with 95 % confidence"."""
    return "with certainty" if confidence == 1 else f"with {100 * confidence:.6g} % confidence"


def plain(value: Any) -> Any:
    """Return the data with NumPy arrays and numbers converted to Python lists and numbers."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def report_findings(
    findings: Sequence["Finding"], about: Mapping[str, object], *, plot: Path | None = None, as_json: bool
) -> None:
    """Print the findings of an audit, then plot them; exits with code 5 on a violation."""
    from dperm.cli.output import print_json

    if as_json:
        violation = any(finding.violation for finding in findings)
        print_json({**plain(about), "violation": violation, "findings": [plain(one.as_dict()) for one in findings]})
    else:
        print_findings(findings)
    if plot is not None:
        _draw(findings, plot)
        if not as_json:
            typer.echo(f"\nWritten: {plot}")
    exit_on_violation(findings)


def _draw(findings: Sequence["Finding"], path: Path) -> None:
    """Plot the bound of each statistic and the claim."""
    from dperm.report.audit_plots import AuditDot, plot_dots

    dots = [
        AuditDot(
            f"{'exact' if one.confidence == 1 else 'black box'}: {name}",
            one.claimed_epsilon(bound.delta),
            bound.epsilon,
            one.violation and name == one.strongest,
        )
        for one in findings
        for name, bound in one.bounds.items()
    ]
    plot_dots(dots, path=path)
