# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledger: persistent budget accounts in a file or a database, charged before every release.

`Ledger` implements `dperm.accounting.budget.Budget`: estimators and mechanisms accept it like a budget in memory.
"""

from dperm.deprecation import deprecated_names
from dperm.ledger.account_facts import AccountFacts
from dperm.ledger.anchor import Anchor, receipt_is_signed
from dperm.ledger.balance import Balance
from dperm.ledger.entry import Entry, EntryKind
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
    "EntryKind",
    "Ledger",
    "LedgerReservation",
    "Migration",
    "Verification",
    "migrate",
    "receipt_is_signed",
    "verify",
]

__getattr__ = deprecated_names(__name__, {"Kind": "dperm.ledger.entry:EntryKind"})
