# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledgers of earlier versions, brought to the present format: a backup first, then one transaction."""

import os
from dataclasses import dataclass
from pathlib import Path

from dperm.errors import ParameterError
from dperm.ledger.books import FORMAT
from dperm.ledger.stores import location_of, store_of


@dataclass(frozen=True)
class Migration:
    """The outcome of `migrate`.

    Attributes
    ----------
    before, after
        Format of the ledger before and after; equal if there was nothing to do.
    backup
        The file with the ledger as it was; None if there was nothing to do.
    """

    before: int
    after: int
    backup: Path | None

    @property
    def changed(self) -> bool:
        """Whether the ledger was of an earlier format."""
        return self.before != self.after


def migrate(location: str | os.PathLike[str], backup: str | os.PathLike[str] | None = None) -> Migration:
    """Bring a ledger that an earlier version of dperm wrote to the format of this version.

    No line, meter or key changes, so hash chains, anchors and receipts stay valid. The ledger is verified before and
    after. All changes are one transaction: after a crash the ledger has the old format or the new one, and the call can
    be repeated. Earlier versions refuse the migrated ledger.

    Parameters
    ----------
    location
        A path, or a URL of PostgreSQL, for the role that owns the ledger.
    backup
        A new file for the ledger as it was, with mode 0600: it holds the signing key. For a ledger in a file it is a
        ledger; for PostgreSQL it is a script for psql. By default ``LEDGER.format-1`` beside a file, and
        ``dperm-ledger-ID.format-1.sql`` in the current directory for PostgreSQL.

    Raises
    ------
    LedgerError
        If the ledger cannot be read or written, fails its verification, or the backup cannot be written. Then the
        ledger is as it was.
    """
    place = None if backup is None else Path(os.path.abspath(backup))
    if place is not None and not place.parent.is_dir():
        raise ParameterError(f"backup must be in a directory that exists, got {os.fspath(place)!r}.")
    before, written = store_of(location_of(location)).migrate(place)
    return Migration(before, FORMAT, written)
