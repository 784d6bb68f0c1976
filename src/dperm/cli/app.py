# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The ``dperm`` command and its verbs."""

from typing import Annotated

import typer

from dperm.cli import (
    account,
    audit,
    calibrate,
    completion,
    demo,
    evaluate,
    explain,
    fit,
    ledger,
    plan,
    predict,
    report,
    reproduce,
    schema,
    search,
)

HELP = """Fit models to personal data with differential privacy: plan fits, charge them to a budget, and audit them.

A schema (dperm schema) declares the public bounds of the data; a ledger (dperm ledger) tracks the budget.
"dperm account", "dperm calibrate" and "dperm explain" read no data: they compute privacy costs from public constants
alone.

\b
Examples:
  dperm fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger
  dperm report model.dperm -o statement.html
  dperm account --adjacency add_remove --delta 1e-5 "poisson(gaussian(1.0), rate=0.01) * 1000"

\b
Exit codes (the message is on stderr):
  0    success
  2    invalid option, file or data
  3    the budget does not cover the request, or the ledger cannot be trusted
  4    the request would release private data without a guarantee
  5    "dperm audit", "dperm ledger verify" or "dperm reproduce" found a problem, or an audit given to "dperm report"
       refutes the claim
  130  interrupted by Ctrl-C (143: by SIGTERM); the amount charged is printed
"""

_ACCOUNT = "Compute the epsilon of events at a given delta, or the delta at a given epsilon."

# Plain help and plain errors: they keep the line breaks of the examples, in every version of typer, and start faster.
app = typer.Typer(name="dperm", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command(help=fit.HELP, short_help="Fit a private model to a data file.")(fit.fit)
app.command(help=search.HELP, short_help="Search over settings of a private fit, under one guarantee.")(search.search)
app.command(help=predict.HELP, short_help="Predict the target of each record with a model.")(predict.predict)
app.command(help=evaluate.HELP, short_help="Evaluate a model privately on records it was not trained on.")(
    evaluate.evaluate
)
app.add_typer(
    plan.app, name="plan", short_help="Plan a fit without reading records: cost, accuracy, number of records."
)
app.command(help=report.HELP, short_help="Write the privacy statement of a model.")(report.report)
app.add_typer(schema.app, name="schema", short_help="Draft and check the public schema of a table.")
app.add_typer(ledger.app, name="ledger", short_help="Open accounts, show and verify budgets, and approve releases.")
app.add_typer(audit.app, name="audit", short_help="Attack models and methods to test their privacy claims.")
app.command(help=account.HELP, short_help=_ACCOUNT)(account.account)
app.command(help=calibrate.HELP, short_help="Find the noise, rate or number of steps that meets a target.")(
    calibrate.calibrate
)
app.command(help=explain.HELP, short_help="Bound the success of any attacker, given a guarantee or events.")(
    explain.explain
)
app.command(help=reproduce.HELP, short_help="Check the claims of five lectures on differential privacy.")(
    reproduce.reproduce
)
app.command(help=demo.HELP, short_help="Show the commands at work, on synthetic data.")(demo.demo)
app.command(help=completion.HELP, short_help="Print the completion script for a shell.")(completion.completion)
completion.register_shells()


def _print_version(wanted: bool) -> None:
    if wanted:
        import dperm

        typer.echo(f"dperm {dperm.__version__}")
        raise typer.Exit


@app.callback(help=HELP, invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Show the help if no verb is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
