# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files that are no ledgers: told from ledgers that are damaged, and left as they are."""

import os
from pathlib import Path

from dperm.errors import LedgerError
from dperm.ledger import Ledger
from dperm.ledger.stores import location_of

_SAID = "holds no ledger"


def require_ledger_or_nothing(location: str) -> None:
    """Refuse a file that holds something else: not even a lock is to be left beside it."""
    place = location_of(location)
    if "://" not in place and Path(place).is_file() and Path(place).stat().st_size:
        _require_none_else(place)


def require_ledger(location: str) -> None:
    """Refuse what is no ledger, or cannot be reached: it was not looked at, and that is no finding about it.

    A ledger that is damaged, or was put back, is one. So is whatever stands where the mark beside it says that there
    was one.
    """
    place = location_of(location)
    if "://" in place:
        Ledger(place).accounts()
    elif not Path(place).exists():
        raise LedgerError(f"there is no ledger at {place!r}.")
    elif not os.path.exists(f"{os.path.realpath(place)}.lock"):
        _require_none_else(place)


def _require_none_else(place: str) -> None:
    try:
        Ledger(place).accounts()
    except LedgerError as error:
        if _SAID in str(error):
            raise
