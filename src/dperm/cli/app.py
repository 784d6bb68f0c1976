# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The ``dperm`` command and its verbs."""

from typing import Annotated

import typer

from dperm.cli import account, calibrate, explain

HELP = """What a sequence of private releases has spent, how much noise reaches a target, and what a promise means.

No data is read: events are made of public constants, for example "poisson(gaussian(1.0), rate=0.01) * 1000".

\b
Examples:
  dperm account --adjacency add_remove --delta 1e-5 "poisson(gaussian(1.0), rate=0.01) * 1000"
  dperm calibrate --adjacency add_remove --epsilon 1 --delta 1e-5 "gaussian(?) * 10"
  dperm explain --adjacency replace_one --mu 1

Exit codes: 0 done, 2 something in the request is wrong (the message is on stderr).
"""

# Plain help and plain errors: they keep the line breaks of the examples, in every version of typer, and start faster.
app = typer.Typer(name="dperm", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command(help=account.HELP, short_help="What events have spent: epsilon at a delta, or delta at an epsilon.")(
    account.account
)
app.command(help=calibrate.HELP, short_help="The noise, rate or number of steps that reaches a target.")(
    calibrate.calibrate
)
app.command(help=explain.HELP, short_help="What an attacker can do against a guarantee or against events.")(
    explain.explain
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
