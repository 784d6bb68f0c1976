# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger backup``: a private copy of a ledger."""

from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.ledger.options import Location
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors, spinner

HELP = """Copy a ledger to a new file that only its owner may read (mode 0600): it holds the signing key.

The ledger is verified first. The copy is consistent, also while others charge the ledger. A copy of a file is a ledger;
a copy of a PostgreSQL ledger is a script for psql. A copy never replaces a file.

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
    """Back a ledger up."""
    with reported_errors():
        from dperm.cli.ledger.layout import print_folded
        from dperm.cli.ledger.no_ledger import require_ledger
        from dperm.cli.output import print_json
        from dperm.cli.paths import require_free
        from dperm.ledger import Ledger

        require_free("FILE", copy, force=False, inputs=[Path(location)])
        require_ledger(location)
        with spinner("Copying ..."):
            Ledger(location).backup(copy)
        if json:
            print_json({"backup": str(copy)})
            return
        print_folded(f"Backup: {copy}. It holds the signing key: keep it private.")
        print_folded("A copy does not know later charges. Keep an anchor elsewhere to recognise one that was put back.")
