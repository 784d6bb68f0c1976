# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The verbs of ``dperm ledger``."""

import typer

from dperm.cli.ledger import approve, backup, migrate, open, show, verify

HELP = """Budgets in a file or a database: every release is charged to an account before it happens.

An account says whose data it protects and how much may be spent in all. What is promised about everything that was
charged to it, together, is its limit. LEDGER is a file on a local disk, or a URL postgresql://USER@HOST/DATABASE.

\b
Examples:
  dperm ledger open census.ledger --dataset "census 2026" --adjacency replace_one --epsilon 3 --delta 1e-6 --blocks 10
  dperm ledger show census.ledger --entries
  dperm ledger verify census.ledger

Exit codes: 0 done, 2 something in the request is wrong, 3 the budget or the ledger refuses, 5 verify found something.
"""

app = typer.Typer(name="ledger", help=HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("open", help=open.HELP, short_help="Open an account, and make the ledger if there is none.")(open.open)
app.command("show", help=show.HELP, short_help="What is spent and left, and every entry.")(show.show)
app.command("verify", help=verify.HELP, short_help="Read the books again: hashes, sums, limits, anchors.")(
    verify.verify
)
app.command("approve", help=approve.HELP, short_help="Approve a request, or change the limit of an account.")(
    approve.approve
)
app.command("backup", help=backup.HELP, short_help="Copy a ledger to a private file.")(backup.backup)
app.command("migrate", help=migrate.HELP, short_help="Bring a ledger of an earlier version to the present format.")(
    migrate.migrate
)


@app.callback(help=HELP, invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Show the help if no verb is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
