# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger burn``: end of an open charge whose run has died."""

from dataclasses import asdict
from typing import Annotated

import typer

from dperm.cli.ledger.options import AccountName, Location
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors

HELP = """Close the open charge of a run that has died, for example after a power failure. The budget is not refunded.

A run that was killed leaves an open charge. The ledger does not show whether the run has died or is still in progress,
so a person must decide. After this command, a run that is still alive cannot release anything, and a training run can
no longer resume from a checkpoint. If the release has several stages, the entries of its finished stages stay in the
ledger.

\b
Examples:
  dperm ledger burn census.ledger --request fit-7 --by "A. Officer" --reason "the machine was restarted"
"""


def burn(
    location: Location,
    request: Annotated[str, typer.Option("--request", metavar="ID", help="Request id of the open charge.")],
    by: Annotated[
        str,
        typer.Option("--by", metavar="NAME", help="Name of the person who closes the charge; stored in the ledger."),
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason; stored in the ledger.")],
    account: AccountName = None,
    json: AsJson = False,
) -> None:
    """Burn the open charge of one request."""
    with reported_errors():
        from dperm.cli.ledger.layout import print_folded
        from dperm.cli.output import print_json
        from dperm.ledger import Ledger

        ledger = Ledger(location, account)
        ledger.burn(request, reason=reason, by=by)
        facts = ledger.account_facts
        if json:
            data = {"account": facts.name, "request_id": request, "state": "burned"}
            print_json({**data, "anchor": asdict(ledger.anchor())})
        else:
            also = ", and to its ancestors" if facts.parents else ""
            print_folded(f"Burned request {request!r}. It stays charged to account {facts.name!r}{also}.")
