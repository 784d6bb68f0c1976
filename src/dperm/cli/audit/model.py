# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit model``: attack on the method that trained a stored model, without data."""

from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.audit import options
from dperm.cli.options import AsJson
from dperm.cli.running import progress_bar, reported_errors
from dperm.errors import ParameterError

HELP = """Attack the method that trained MODEL, with the stored parameters, on worst-case neighbouring data sets.

No data are read and nothing is charged: anyone with the model file can run this audit. The audit tests the method with
the constants of this model, not the noise that was drawn for it. --out writes a file for the statement: dperm report
MODEL --audit FILE.

\b
Examples:
  dperm audit model model.dperm --seed 1
  dperm audit model model.dperm --out audit.json --runs 10000 --seed 1
  dperm audit model model.dperm --runs 20000 --confidence 0.99 --seed 1 --json
"""


def model(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            help="Model file written by dperm fit; models of dperm search are refused.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", show_default=False, help="JSON file for dperm report --audit."),
    ] = None,
    runs: options.Runs = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = None,
    workers: options.Workers = 1,
    plot: options.Plot = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Audit the plan of a stored model; exits with code 5 on a violation."""
    with reported_errors():
        from dperm.cli.audit.attack import Attack
        from dperm.cli.audit.audit_files import write_audit
        from dperm.cli.audit.findings_output import report_findings
        from dperm.cli.output_files import require_free, require_picture
        from dperm.sklearn.files import load_stored
        from dperm.sklearn.replan import replan

        if out is not None:
            require_free("--out", out, force=force, inputs=(model,))
            if out.suffix.lower() != ".json":
                raise ParameterError(f"--out: {out} must end in .json, for dperm report --audit.")
        require_picture("--plot", plot, force=force, inputs=(model,))
        plan = replan(load_stored(model).estimator)
        with progress_bar("Attacking") as progress:
            findings = Attack(runs, confidence, seed, workers).findings(plan, progress)
        if out is not None:
            write_audit(out, plan, findings)
            if not json:
                typer.echo(f"Written: {out}, for dperm report {model} --audit {out}\n")
        about = {"model": str(model), "method": plan.method, "file": None if out is None else str(out)}
        report_findings(findings, about, plot=plot, as_json=json)
