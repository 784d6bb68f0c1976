# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledger in a PostgreSQL database, for analysts on several machines. Extra ``postgres``: psycopg 3.

A database holds one ledger, in the schema ``dperm``, with any number of accounts. Two ledgers are two databases.
"""

from dperm.ledger.postgres.roles import grant_writers as grant_writers
from dperm.ledger.postgres.store import PostgresStore as PostgresStore
