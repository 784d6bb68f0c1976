# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of a ledger's location: other files are left unchanged, damaged ledgers count as ledgers."""

import os
from pathlib import Path

from dperm.errors import NO_LEDGER, LedgerError
from dperm.ledger import Ledger
from dperm.ledger.stores import location_of


def require_ledger_or_nothing(location: str) -> None:
    """Refuse a file with other content, and leave no lock file beside it."""
    place = location_of(location)
    if "://" not in place and Path(place).is_file() and Path(place).stat().st_size:
        _require_no_other_content(place)


def require_ledger(location: str) -> None:
    """Refuse a location without a ledger, or one that cannot be reached: this is not a finding about a ledger.

    A damaged or rolled-back ledger is a ledger. So is any file at a path whose lock file shows that a ledger was there.
    """
    place = location_of(location)
    if "://" in place:
        Ledger(place).accounts()
    elif not Path(place).exists():
        raise LedgerError(f"there is no ledger at {place!r}.")
    elif not os.path.exists(f"{os.path.realpath(place)}.lock"):
        _require_no_other_content(place)


def _require_no_other_content(place: str) -> None:
    try:
        Ledger(place).accounts()
    except LedgerError as error:
        if error.code == NO_LEDGER:
            raise
