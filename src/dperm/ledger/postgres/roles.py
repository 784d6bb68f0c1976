# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Who may do what in the database: the owner opens accounts, sets limits and approves; writers charge."""

import os

from dperm.accounting.budget import checked_text
from dperm.errors import LedgerError
from dperm.ledger.postgres.transaction import transaction
from dperm.ledger.postgres.words import named
from dperm.ledger.stores import location_of

_GRANTS = (
    "GRANT USAGE ON SCHEMA dperm TO {role}",
    "GRANT SELECT ON dperm.ledger TO {role}",
    "GRANT SELECT, INSERT ON dperm.entry TO {role}",
    "GRANT SELECT, UPDATE (spent) ON dperm.meter TO {role}",
)


def grant_writers(location: str | os.PathLike[str], role: str) -> None:
    """Let a role of the database charge the accounts of a ledger, and no more.

    A writer can read everything, reserve, commit and burn. The server refuses a writer who opens an account, changes a
    limit, approves, changes or removes a line, lowers what is spent, or switches a trigger off. A writer does read the
    signing key, as every receipt is signed with it: by hand, a writer can sign an anchor of a line that is not there,
    or write a line that costs less than its event, which ``verify(location, prices=True)`` finds. No writer can remove
    a line, or get budget back.

    Parameters
    ----------
    location
        The URL of the ledger, for the role that owns it.
    role
        The name of the role, which exists; neither a superuser nor a member of the owner.

    Raises
    ------
    LedgerError
        If there is no ledger or no such role, or the role in the URL does not own the ledger.
    """
    place, name = location_of(location), checked_text("role", role)
    with transaction(place, "ISOLATION LEVEL READ COMMITTED") as connection:
        from psycopg.sql import SQL, Identifier

        owned = connection.execute("SELECT has_column_privilege('dperm.meter', 'capacity', 'UPDATE')").fetchone()
        if owned != (True,):  # the server itself would only warn
            raise LedgerError(f"{named(place)} belongs to another role, and only its owner grants anything.")
        for grant in _GRANTS:
            connection.execute(SQL(grant).format(role=Identifier(name)))
