# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Migration of ledgers of earlier versions to the present format, in one transaction after a backup."""

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
        Format numbers of the ledger before and after the call. They are equal if the format was already up to date.
    backup
        File with a copy of the previous ledger; None if the format was already up to date.
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
    before and after the migration. All changes are made in one transaction. If the process crashes, the ledger has
    either the old format or the new one, and the call can be repeated. Earlier versions of dperm cannot open the
    migrated ledger.

    Parameters
    ----------
    location
        Path of a file, or URL of a PostgreSQL database for the role that owns the ledger.
    backup
        New file for a copy of the previous ledger. The file has mode 0600, because it contains the signing key. The
        copy of a ledger file is itself a ledger; the copy of a PostgreSQL ledger is a script for psql. The default is
        ``LEDGER.format-N`` in the same folder as a ledger file, and ``dperm-ledger-ID.format-N.sql`` in the current
        directory for PostgreSQL, where N is the earlier format.

    Returns
    -------
    Migration
        Formats before and after the migration, and path of the backup.

    Raises
    ------
    LedgerError
        If the ledger cannot be read or written, if it fails its verification, or if the backup cannot be written. The
        ledger is then unchanged.
    ParameterError
        If the directory of ``backup`` does not exist.
    """
    place = None if backup is None else Path(os.path.abspath(backup))
    if place is not None and not place.parent.is_dir():
        raise ParameterError(argument="backup", rule="must be in a directory that exists", got=repr(os.fspath(place)))
    before, written = store_of(location_of(location)).migrate(place)
    return Migration(before, FORMAT, written)
