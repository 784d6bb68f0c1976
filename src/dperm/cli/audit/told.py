# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What an audit of a plan has found, on the screen, as JSON and as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dperm.cli.audit.printing import plain, print_findings, require_none

if TYPE_CHECKING:
    from dperm.audit import Finding


def tell(
    findings: Sequence["Finding"], about: Mapping[str, object], *, plot: Path | None = None, as_json: bool
) -> None:
    """Print, draw, and end with code 5 on a violation; what was found is said also where nothing can be drawn."""
    from dperm.cli.output import print_json

    if as_json:
        violation = any(finding.violation for finding in findings)
        print_json({**plain(about), "violation": violation, "findings": [plain(one.as_dict()) for one in findings]})
    else:
        print_findings(findings)
    if plot is not None:
        draw(findings, plot)
        if not as_json:
            typer.echo(f"\nWritten: {plot}")
    require_none(findings)


def draw(findings: Sequence["Finding"], path: Path) -> None:
    """What each statistic has measured, beside the claim."""
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
