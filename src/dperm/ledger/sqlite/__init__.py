# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledger in one file: SQLite with a write-ahead log, each commit synced to disk."""

from dperm.ledger.sqlite.store import SQLiteStore as SQLiteStore
