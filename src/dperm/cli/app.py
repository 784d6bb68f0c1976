# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The ``dperm`` command and its verbs."""

from typing import Annotated

import typer

from dperm.cli import account, audit, calibrate, explain, fit, ledger, plan, predict, report, reproduce, schema

HELP = """Models learnt from data about people, with a guarantee: planned, charged to a budget, and accounted for.

What is known of the data without looking at them stands in a schema (dperm schema), what may be spent in a ledger
(dperm ledger). account, calibrate and explain read no data at all: events are made of public constants.

\b
Examples:
  dperm fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger
  dperm report model.dperm -o statement.html
  dperm account --adjacency add_remove --delta 1e-5 "poisson(gaussian(1.0), rate=0.01) * 1000"

\b
Exit codes (the message is on stderr):
  0    done
  2    something in the request, in a file or in the data is wrong
  3    the budget does not cover it, or the ledger cannot be trusted
  4    it would let private data out without cover
  5    an audit, a check of a ledger, or a lesson found something
  130  interrupted; what was charged is said
"""

# Plain help and plain errors: they keep the line breaks of the examples, in every version of typer, and start faster.
app = typer.Typer(name="dperm", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command(help=fit.HELP, short_help="Learn a private model from a file of data.")(fit.fit)
app.command(help=predict.HELP, short_help="What a model predicts for the records of a file.")(predict.predict)
app.add_typer(plan.app, name="plan", short_help="Plan a fit: its cost, expected accuracy, and records; no data.")
app.command(help=report.HELP, short_help="The privacy statement of a model, as a page, Markdown or JSON.")(
    report.report
)
app.add_typer(schema.app, name="schema", short_help="Draft and check the public schema of a table.")
app.add_typer(
    ledger.app, name="ledger", short_help="Open, show, verify and approve the budgets that fits are charged to."
)
app.add_typer(audit.app, name="audit", short_help="Attack models and methods, and try to falsify what is claimed.")
app.command(help=account.HELP, short_help="What events have spent: epsilon at a delta, or delta at an epsilon.")(
    account.account
)
app.command(help=calibrate.HELP, short_help="The noise, rate or number of steps that reaches a target.")(
    calibrate.calibrate
)
app.command(help=explain.HELP, short_help="What an attacker can do against a guarantee or against events.")(
    explain.explain
)
app.command(help=reproduce.HELP, short_help="Run the claims and figures of the lectures, with pictures.")(
    reproduce.reproduce
)


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
