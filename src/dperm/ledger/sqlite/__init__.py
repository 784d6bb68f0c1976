# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A ledger in one file: SQLite with a write-ahead log, every commit on the disk before it counts."""

from dperm.ledger.sqlite.store import SQLiteStore as SQLiteStore
