# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The budget that outlives a process: accounts in a file or a database, charged before every release.

`Ledger` is a `dperm.accounting.budget.Budget`: estimators and mechanisms take it as they take a budget in memory.
"""

from dperm.ledger.anchor import Anchor, receipt_is_signed
from dperm.ledger.balance import Balance
from dperm.ledger.declared import AccountFacts
from dperm.ledger.entry import Entry, Kind
from dperm.ledger.ledger import Ledger
from dperm.ledger.migration import Migration, migrate
from dperm.ledger.reservation import Booking, LedgerReservation
from dperm.ledger.verify import Verification, verify

__all__ = [
    "AccountFacts",
    "Anchor",
    "Balance",
    "Booking",
    "Entry",
    "Kind",
    "Ledger",
    "LedgerReservation",
    "Migration",
    "Verification",
    "migrate",
    "receipt_is_signed",
    "verify",
]
