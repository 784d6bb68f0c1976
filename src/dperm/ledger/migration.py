# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Migration of ledgers of earlier versions to the present format: a backup, then one transaction."""

import os
from dataclasses import dataclass
from pathlib import Path

from dperm.errors import ParameterError
from dperm.ledger.books import FORMAT
from dperm.ledger.stores import location_of, store_of


@dataclass(frozen=True)
class Migration:
    """Result of `migrate`.

    Attributes
    ----------
    before, after
        Format number of the ledger before and after the call; equal if there was nothing to do.
    backup
        File with the previous ledger; None if there was nothing to do.
    """

    before: int
    after: int
    backup: Path | None

    @property
    def changed(self) -> bool:
        """Whether the ledger had an earlier format."""
        return self.before != self.after


def migrate(location: str | os.PathLike[str], backup: str | os.PathLike[str] | None = None) -> Migration:
    """Upgrade a ledger of an earlier dperm version to the format of this version.

    Entries, totals and keys stay the same, so hash chains, anchors and receipts remain valid. The ledger is verified
    before and after. All changes are made in one transaction: after a crash, the ledger has either the old format or
    the new one, and the call can be repeated. Earlier versions of dperm cannot open the migrated ledger.

    Parameters
    ----------
    location
        Path of a file, or URL of a PostgreSQL database for the role that owns the ledger.
    backup
        New file for a copy of the previous ledger, with mode 0600, since it contains the signing key. The copy of a
        ledger file is itself a ledger; the copy of a PostgreSQL ledger is a script for psql. The default is
        ``LEDGER.format-N`` in the same folder as a ledger file, and ``dperm-ledger-ID.format-N.sql`` in the current
        directory for PostgreSQL, where N is the earlier format.

    Returns
    -------
    Migration
        Formats before and after, and the backup.

    Raises
    ------
    LedgerError
        If the ledger cannot be read or written or fails its verification, or if the backup cannot be written. The
        ledger is then unchanged.
    ParameterError
        If the directory of ``backup`` does not exist.
    """
    place = None if backup is None else Path(os.path.abspath(backup))
    if place is not None and not place.parent.is_dir():
        raise ParameterError(argument="backup", rule="must be in a directory that exists", got=repr(os.fspath(place)))
    before, written = store_of(location_of(location)).migrate(place)
    return Migration(before, FORMAT, written)
