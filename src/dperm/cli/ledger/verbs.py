# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The verbs of ``dperm ledger``."""

import typer

from dperm.cli.ledger import approve, backup, burn, migrate, open, show, verify

HELP = """Track privacy budgets in a file or a database: every release is charged to an account before it is computed.

An account belongs to a data set and has a limit: the joint guarantee for all releases charged to the account. LEDGER is
a file on a local disk, or a URL postgresql://USER@HOST/DATABASE.

\b
Examples:
  dperm ledger open census.ledger --dataset "census 2026" --adjacency replace_one --epsilon 3 --delta 1e-6 --blocks 10
  dperm ledger show census.ledger --entries
  dperm ledger verify census.ledger

Exit codes: 0 success, 2 invalid request, 3 request not covered or ledger not trusted, 5 verify found a problem.
"""

app = typer.Typer(name="ledger", help=HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("open", help=open.HELP, short_help="Open an account, and create the ledger if necessary.")(open.open)
app.command("show", help=show.HELP, short_help="Show spent and remaining budgets, and the entries.")(show.show)
app.command("verify", help=verify.HELP, short_help="Check hashes, sums, limits and anchors.")(verify.verify)
app.command("approve", help=approve.HELP, short_help="Approve a request, or change a limit.")(approve.approve)
app.command("burn", help=burn.HELP, short_help="Close the charge of a run that has died.")(burn.burn)
app.command("backup", help=backup.HELP, short_help="Copy a ledger to a private file.")(backup.backup)
app.command("migrate", help=migrate.HELP, short_help="Convert a ledger to the current format.")(migrate.migrate)


@app.callback(help=HELP, invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Show the help if no verb is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
