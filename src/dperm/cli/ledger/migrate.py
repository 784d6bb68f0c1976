# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger migrate``: conversion of a ledger to the current format."""

from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.ledger.options import Location
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors, spinner

HELP = """Convert a ledger from an earlier version of dperm to the current format.

The ledger is verified, copied to a private backup (mode 0600, because it contains the signing key), and changed in one
transaction. Entries, totals and keys stay the same, so hash chains, anchors and receipts remain valid. After a crash,
run the command again. A ledger in the current format is left unchanged. Earlier versions of dperm cannot open the
migrated ledger.

\b
Examples:
  dperm ledger migrate census.ledger
  dperm ledger migrate postgresql://owner@host/budget --backup before-0.13.sql
"""


def migrate(
    location: Location,
    backup: Annotated[
        Path | None,
        typer.Option(
            "--backup",
            metavar="FILE",
            show_default=False,
            help="New file for the backup. The default is LEDGER.format-N for a file, and dperm-ledger-ID.format-N.sql "
            "in the current folder for PostgreSQL, where N is the earlier format.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Convert a ledger to the current format, with a backup."""
    with reported_errors():
        from dperm.cli.ledger.layout import print_folded
        from dperm.cli.ledger.location_checks import require_ledger
        from dperm.cli.output import print_json
        from dperm.ledger import migrate as migrated

        require_ledger(location)
        with spinner("Migrating ..."):
            done = migrated(location, backup)
        if json:
            written = None if done.backup is None else str(done.backup)
            print_json({"before": done.before, "after": done.after, "changed": done.changed, "backup": written})
        elif done.changed:
            print_folded(f"Migrated from format {done.before} to {done.after}. No entry was changed.")
            print_folded(f"Backup: {done.backup}. It contains the signing key: keep it private, or remove it.")
        else:
            print_folded(f"The ledger already has format {done.after}. Nothing was changed.")
