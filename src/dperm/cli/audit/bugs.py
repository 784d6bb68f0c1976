# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit bugs``: known bugs in private learning, each audited together with its correct version."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.audit import options
from dperm.cli.options import AsJson
from dperm.cli.running import VIOLATION, progress_bar, reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.audit.bugs import Bug, Row

HELP = """Audit implementations with known bugs, and check that each bug is caught.

The correct version of each implementation is audited --repeats times and should raise no alarm. The exit code is 5 if a
bug is missed or a correct version raises an alarm. The full set takes about a minute with default settings.

\b
Examples:
  dperm audit bugs --repeats 1 --seed 1
  dperm audit bugs --only "raw floats" --seed 1
  dperm audit bugs --only "wrong adjacency" --only "noise reused every step" --repeats 2 --seed 1 --json
"""

EXPLANATION = "Measured values are lower bounds on epsilon: 0 means no leak, a value above the claim is a violation."
WRONG = "what is wrong"
"""Column that is too wide for the terminal."""


def bugs(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", show_default="all", help="Name of a bug; may be repeated."),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Number of runs per audit.")] = 100_000,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="Number of audits of each correct version.")
    ] = 20,
    seed: options.Seed = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Describe each bug.")] = False,
    plot: options.Plot = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Audit bugs and their correct versions."""
    with reported_errors():
        from dperm.audit.bugs import matrix, table
        from dperm.cli.output import print_json, print_table
        from dperm.cli.output_files import require_picture

        require_picture("--plot", plot, force=force)
        chosen = _chosen(only)
        with progress_bar("Auditing") as progress:
            rows = matrix(runs=runs, repeats=repeats, seed=seed, bugs=chosen, progress=progress)
        if plot is not None:
            _draw(rows, plot)
        if json:
            print_json({"bugs": [_as_data(row) for row in rows]})
        else:
            cells = [{name: text for name, text in row.items() if name != WRONG} for row in table(rows)]
            print_table(list(cells[0]), [list(row.values()) for row in cells])
            _print_summary(rows, verbose)
            if plot is not None:
                typer.echo(f"Written: {plot}")
        if not all(row.caught for row in rows) or any(row.alarms for row in rows):
            raise typer.Exit(VIOLATION)


def _chosen(only: list[str] | None) -> "Sequence[Bug]":
    from dperm.audit.bugs import BUGS

    by_name = {_normalized(bug.name): bug for bug in BUGS}
    chosen = list(dict.fromkeys(map(_normalized, only or ())))
    for name in chosen:
        if name not in by_name:
            names = [bug.name for bug in BUGS]
            near = get_close_matches(name, by_name, 1)
            hint = f" Did you mean {by_name[near[0]].name!r}?" if near else ""
            raise ParameterError(f"--only must be one of {', '.join(map(repr, names))}, got {name!r}.{hint}")
    return tuple(by_name[name] for name in chosen) or BUGS


def _normalized(name: str) -> str:
    """Return a name in lower case, with plain hyphens and single spaces."""
    return " ".join(re.sub("[\u2010-\u2015\u2212]", "-", name).lower().split())


def _as_data(row: "Row") -> dict[str, object]:
    from dperm.cli.audit.findings_output import plain

    found = {"name": row.name, "wrong": row.wrong, "caught": row.caught, "caught_by": row.statistic}
    return {**found, "alarms": row.alarms, "repeats": row.repeats, "finding": plain(row.finding.as_dict())}


def _print_summary(rows: "Sequence[Row]", verbose: bool) -> None:
    if verbose:
        typer.echo()
        for row in rows:
            typer.echo(f"{row.name}: {row.wrong}")
    caught, alarms = sum(row.caught for row in rows), sum(row.alarms for row in rows)
    audits = sum(row.repeats for row in rows)
    typer.echo(f"\nCaught: {caught} of {len(rows)}. Alarms in {audits} audits of correct versions: {alarms}.")
    typer.echo(EXPLANATION)


def _draw(rows: "Sequence[Row]", path: Path) -> None:
    from dperm.report.audit_plots import AuditDot, plot_dots

    found = [(row, row.finding, row.finding.bound) for row in rows]
    plot_dots(
        [AuditDot(row.name, one.claimed_epsilon(bound.delta), bound.epsilon, row.caught) for row, one, bound in found],
        path=path,
    )
