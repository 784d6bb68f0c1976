# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds and findings as tables, sentences and JSON; a violation ends the command with its code."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from dperm.cli.running import VIOLATION

if TYPE_CHECKING:
    from dperm.audit import Finding, LowerBound
    from dperm.privacy import ApproxDP, PureDP


def tell_bound(
    bound: "LowerBound", claim: "PureDP | ApproxDP | None", *, subject: str, baseline: str, as_json: bool
) -> None:
    """One bound of an attack on ``subject``, and the verdict if there was a claim.

    ``baseline`` says what the counts of the attack are without a leak.
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
    require_none(() if finding is None else (finding,))


def _print_bound(bound: "LowerBound", baseline: str) -> None:
    from dperm.cli.output import down, print_facts

    typer.echo(f"epsilon >= {down(bound.epsilon)} at delta {bound.delta:g}, {confidence_in_words(bound.confidence)}.")
    assumes = [("assumes", bound.assumes)] if bound.assumes else []
    print_facts([("method", bound.method), *assumes, ("baseline", baseline)])


def print_findings(findings: Sequence["Finding"]) -> None:
    """Each with its statistics, and its verdict in a sentence."""
    from dperm.cli.output import print_paragraphs, print_table
    from dperm.presentation.phrases import capitalize
    from dperm.report.audits import POWERLESS

    for place, finding in enumerate(findings):
        typer.echo(f"{'' if place == 0 else chr(10)}{finding.subject}\n")
        print_table(_COLUMNS, [_row(name, bound, finding) for name, bound in finding.bounds.items()])
        typer.echo(f"\n{finding}")
        if POWERLESS in finding.facts:
            typer.echo(capitalize(str(finding.facts[POWERLESS])))
    decisive = next((finding for finding in findings if finding.violation), findings[0])
    print_paragraphs([decisive.explanation])


def print_bounds(bounds: "Mapping[str, LowerBound]") -> None:
    """Bounds that hold together, without a claim, and the largest in a sentence."""
    from dperm.audit.lower_bound import EXPLANATION
    from dperm.cli.output import down, print_table

    typer.echo()
    print_table(_COLUMNS, [_row(name, bound, None) for name, bound in bounds.items()])
    best = max(bounds.values(), key=lambda bound: bound.epsilon)
    typer.echo(
        f"\nepsilon >= {down(best.epsilon)} at delta {best.delta:g}; nothing was claimed, so nothing is refuted."
    )
    typer.echo(EXPLANATION)


_COLUMNS = ("statistic", "epsilon at least", "claimed", "at delta", "confidence", "method")


def _row(name: str, bound: "LowerBound", finding: "Finding | None") -> tuple[str, ...]:
    from dperm.audit.finding import claimed_digits
    from dperm.cli.output import down

    level = "exact" if bound.confidence == 1 else f"{100 * bound.confidence:.6g} %"
    method = f"{bound.method}; assumes that {bound.assumes}" if bound.assumes else bound.method
    claimed = "nothing" if finding is None else claimed_digits(finding.claimed_epsilon(bound.delta))
    return name, down(bound.epsilon), claimed, f"{bound.delta:g}", level, method


def require_none(findings: Iterable["Finding"]) -> None:
    """End with code 5 if a claim was refuted."""
    if any(finding.violation for finding in findings):
        raise typer.Exit(VIOLATION)


def confidence_in_words(confidence: float) -> str:
    """Such as "with 95 % confidence"."""
    return "exactly" if confidence == 1 else f"with {100 * confidence:.6g} % confidence"


def plain(value: Any) -> Any:
    """Data that JSON has: arrays and numbers of numpy become Python's."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value
