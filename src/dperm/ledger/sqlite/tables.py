# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables and their protective triggers: a second line of defence behind `dperm.ledger.bookkeeping`.

INSERT OR REPLACE removes rows without running DELETE triggers, so triggers also refuse such insertions.
"""

from dperm.ledger.books import FORMAT

_CLOSINGS = "CREATE UNIQUE INDEX one_closing ON entry (account, about) WHERE kind IN ('commit', 'burn')"
ONE_CLOSING = {
    1: "CREATE UNIQUE INDEX one_closing ON entry (account, about) WHERE about IS NOT NULL",
    2: _CLOSINGS,
    3: _CLOSINGS,
}
"""Index for single closings, by format of the ledger."""
_CLOSED = """account = NEW.account AND about = NEW.about
            AND kind IN ('commit', 'burn')"""
_CLOSED_BEFORE = {1: "account = NEW.account AND about = NEW.about", 2: _CLOSED, 3: _CLOSED}
ENTRY_NEW = {
    number: f"""
    CREATE TRIGGER entry_new BEFORE INSERT ON entry
    WHEN EXISTS (SELECT 1 FROM entry WHERE number = NEW.number)
        OR EXISTS (SELECT 1 FROM entry WHERE hash = NEW.hash)
        OR EXISTS (SELECT 1 FROM entry WHERE account = NEW.account AND previous = NEW.previous)
        OR EXISTS (SELECT 1 FROM entry WHERE {closed})
        OR EXISTS (
            SELECT 1 FROM entry WHERE account = NEW.account AND kind = NEW.kind AND request_id = NEW.request_id
        )
    BEGIN SELECT RAISE(ABORT, 'a line replaces no other'); END
    """
    for number, closed in _CLOSED_BEFORE.items()
}
"""Insertion trigger by format.

From format 2, leases may precede the closing of a reservation, and nothing follows it. From format 3, stages may too.
"""
LEASES = "CREATE INDEX leases ON entry (account, about, seq) WHERE kind = 'lease'"
STAGES = "CREATE INDEX stages ON entry (account, about, seq) WHERE kind = 'stage'"
LEDGER_UNCHANGED = """
    CREATE TRIGGER ledger_unchanged BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'a ledger keeps its keys'); END
    """

_KEPT = (
    """
    CREATE TABLE ledger (
        format INTEGER NOT NULL,
        public_key TEXT NOT NULL,
        signing_key TEXT NOT NULL,
        fingerprint_key TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE meter (
        account TEXT NOT NULL,
        name TEXT NOT NULL,
        capacity INTEGER NOT NULL,
        spent INTEGER NOT NULL,
        PRIMARY KEY (account, name),
        CHECK (spent >= 0 AND spent <= capacity)
    ) STRICT
    """,
    """
    CREATE TABLE entry (
        number INTEGER PRIMARY KEY,
        account TEXT NOT NULL,
        seq INTEGER NOT NULL,
        kind TEXT NOT NULL,
        request_id TEXT,
        about INTEGER,
        cost TEXT NOT NULL,
        body TEXT NOT NULL,
        at TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        UNIQUE (account, seq),
        UNIQUE (account, previous)
    ) STRICT
    """,
    "CREATE UNIQUE INDEX one_request ON entry (account, kind, request_id) WHERE request_id IS NOT NULL",
    "CREATE INDEX by_kind ON entry (account, kind, seq)",
    "CREATE INDEX openings ON entry (number) WHERE kind = 'open'",
    "CREATE INDEX seeded ON entry (account) WHERE instr(body, '\"seeded\": true')",
    """
    CREATE TRIGGER entry_in_order BEFORE INSERT ON entry
    WHEN NEW.seq <> (SELECT COALESCE(MAX(seq), 0) + 1 FROM entry WHERE account = NEW.account)
    BEGIN SELECT RAISE(ABORT, 'a line follows the last one'); END
    """,
    """
    CREATE TRIGGER entry_unchanged BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'the books are append-only'); END
    """,
    """
    CREATE TRIGGER entry_kept BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'the books are append-only'); END
    """,
    """
    CREATE TRIGGER meter_new BEFORE INSERT ON meter
    WHEN EXISTS (SELECT 1 FROM meter WHERE account = NEW.account AND name = NEW.name)
    BEGIN SELECT RAISE(ABORT, 'what is spent is never given back'); END
    """,
    """
    CREATE TRIGGER meter_forward BEFORE UPDATE ON meter
    WHEN NEW.spent < OLD.spent OR NEW.account <> OLD.account OR NEW.name <> OLD.name
    BEGIN SELECT RAISE(ABORT, 'what is spent is never given back'); END
    """,
    """
    CREATE TRIGGER meter_kept BEFORE DELETE ON meter
    BEGIN SELECT RAISE(ABORT, 'what is spent is never given back'); END
    """,
    """
    CREATE TRIGGER ledger_alone BEFORE INSERT ON ledger
    WHEN EXISTS (SELECT 1 FROM ledger)
    BEGIN SELECT RAISE(ABORT, 'a ledger keeps its keys'); END
    """,
    LEDGER_UNCHANGED,
    """
    CREATE TRIGGER ledger_kept BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'a ledger keeps its keys'); END
    """,
)


def tables(number: int = FORMAT) -> tuple[str, ...]:
    """Return the statements to create a ledger of this format."""
    indexes = (LEASES, STAGES)[: number - 1]
    return (*_KEPT, ONE_CLOSING[number], ENTRY_NEW[number], *indexes)


_STEPS = {
    1: ("DROP INDEX one_closing", ONE_CLOSING[2], "DROP TRIGGER entry_new", ENTRY_NEW[2], LEASES),
    2: (STAGES,),
}
"""Changes of the tables from each format to the next."""


def migration(before: int) -> tuple[str, ...]:
    """Return the statements from an earlier format to the present one; no entry, meter or key changes."""
    changes = (statement for number in range(before, FORMAT) for statement in _STEPS[number])
    return (*changes, "DROP TRIGGER ledger_unchanged", f"UPDATE ledger SET format = {FORMAT}", LEDGER_UNCHANGED)
