# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What an audit of a plan has found, on the screen, as JSON and as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dperm.cli.audit.printing import plain, print_findings, require_none

if TYPE_CHECKING:
    from dperm.audit import Finding


def tell(
    findings: Sequence["Finding"], about: Mapping[str, object], *, plot: Path | None = None, as_json: bool
) -> None:
    """Print, draw, and end with code 5 on a violation."""
    from dperm.cli.output import print_json

    if plot is not None:
        draw(findings, plot)
    if as_json:
        violation = any(finding.violation for finding in findings)
        print_json({**plain(about), "violation": violation, "findings": [plain(one.as_dict()) for one in findings]})
    else:
        print_findings(findings)
    require_none(findings)


def draw(findings: Sequence["Finding"], path: Path) -> None:
    """Claimed against measured."""
    from dperm.report.audit_plots import plot_claimed_against_measured

    plot_claimed_against_measured({_name(one): one for one in findings}, path=path)


def _name(finding: "Finding") -> str:
    return f"{'exact' if finding.confidence == 1 else 'black box'}: {finding.strongest}"
