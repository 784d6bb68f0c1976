# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Roles in the database: the owner opens accounts, sets limits and approves; writers charge."""

import os

from dperm.accounting.budget import checked_text
from dperm.errors import LedgerError
from dperm.ledger.postgres.errors import describe_ledger
from dperm.ledger.postgres.transaction import transaction
from dperm.ledger.stores import location_of

_GRANTS = (
    "GRANT USAGE ON SCHEMA dperm TO {role}",
    "GRANT SELECT ON dperm.ledger TO {role}",
    "GRANT SELECT, INSERT ON dperm.entry TO {role}",
    "GRANT SELECT, UPDATE (spent) ON dperm.meter TO {role}",
)


def grant_writers(location: str | os.PathLike[str], role: str) -> None:
    """Allow a database role to charge the accounts of a ledger, and nothing more.

    A writer can read everything, reserve, commit and burn. The server does not let a writer open an account, change a
    limit, approve a release, change or remove an entry, lower spending, or disable a trigger. A writer can read the
    signing key, since every receipt is signed with it. So a malicious writer can sign an anchor of a nonexistent entry.
    Such a writer can also write an entry that charges less than the cost of its event, which
    ``verify(location, prices=True)`` detects.
    No writer can remove an entry or make spent budget available again.

    Parameters
    ----------
    location
        URL of the ledger, for the role that owns it.
    role
        Name of an existing role that is neither a superuser nor a member of the role that owns the ledger.

    Raises
    ------
    LedgerError
        If there is no ledger or no such role, or the role in the URL does not own the ledger.
    """
    place, name = location_of(location), checked_text("role", role)
    with transaction(place, "ISOLATION LEVEL READ COMMITTED") as connection:
        from psycopg.sql import SQL, Identifier

        owned = connection.execute("SELECT has_column_privilege('dperm.meter', 'capacity', 'UPDATE')").fetchone()
        if owned != (True,):  # the server itself only warns
            raise LedgerError(f"{describe_ledger(place)} belongs to another role, and only its owner can grant rights.")
        for grant in _GRANTS:
            connection.execute(SQL(grant).format(role=Identifier(name)))
