# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger backup``: private copy of a ledger."""

from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.ledger.options import Location
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors, spinner

HELP = """Copy a ledger to a new file. The copy contains the signing key, so only the owner of the file can read
it (mode 0600).

The ledger is verified first. The copy is consistent even while other processes charge the ledger. A copy of a ledger
file is itself a ledger; a copy of a PostgreSQL ledger is a psql script. Existing files are never replaced.

\b
Examples:
  dperm ledger backup census.ledger census-2026-05-02.ledger
  dperm ledger backup postgresql://owner@host/budget budget.sql
"""


def backup(
    location: Location,
    copy: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="New file for the copy.")],
    json: AsJson = False,
) -> None:
    """Copy a ledger, after verifying it."""
    with reported_errors():
        from dperm.cli.ledger.layout import print_folded
        from dperm.cli.ledger.location_checks import require_ledger
        from dperm.cli.output import print_json
        from dperm.cli.output_files import require_free
        from dperm.ledger import Ledger

        require_free("FILE", copy, force=False, inputs=[Path(location)])
        require_ledger(location)
        with spinner("Copying ..."):
            Ledger(location).backup(copy)
        if json:
            print_json({"backup": str(copy)})
            return
        print_folded(f"Backup: {copy}. It contains the signing key: keep it private.")
        print_folded(
            "The copy does not contain later charges. To detect a rollback to the copy, store an anchor elsewhere "
            "after the next charge: dperm ledger show LEDGER --write-anchor FILE"
        )
