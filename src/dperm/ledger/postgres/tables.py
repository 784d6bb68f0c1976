# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The tables, and the triggers that guard them: a second wall behind `dperm.ledger.bookkeeping`.

Names are always written with their schema, so that no search path leads elsewhere. What is hashed is kept as text, as
it was written: jsonb would change numbers, and refuse some text.
"""

from typing import LiteralString

SCHEMA: LiteralString = "CREATE SCHEMA dperm"

FUNCTIONS: dict[LiteralString, LiteralString] = {
    "refuse": """
    BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
    END
    """,
    "admit_entry": """
    BEGIN
        IF NEW.seq <> (SELECT COALESCE(MAX(seq), 0) + 1 FROM dperm.entry WHERE account = NEW.account) THEN
            RAISE EXCEPTION 'a line follows the last one' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF (NEW.seq = 1) <> (NEW.kind = 'open') THEN
            RAISE EXCEPTION 'an account begins with its opening' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF NEW.kind NOT IN ('reserve', 'commit', 'burn')
                AND NOT has_column_privilege('dperm.meter', 'capacity', 'UPDATE') THEN
            RAISE EXCEPTION 'accounts, limits and approvals are for the owner'
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN NEW;
    END
    """,
}
"""What the triggers do."""

TABLES: tuple[LiteralString, ...] = (
    """
    CREATE TABLE dperm.ledger (
        format integer NOT NULL,
        public_key text NOT NULL,
        signing_key text NOT NULL,
        fingerprint_key text NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX one_ledger ON dperm.ledger ((true))",
    """
    CREATE TABLE dperm.meter (
        account text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        capacity bigint NOT NULL,
        spent bigint NOT NULL,
        PRIMARY KEY (account, name),
        CONSTRAINT meter_within CHECK (spent >= 0 AND spent <= capacity)
    )
    """,
    """
    CREATE TABLE dperm.entry (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        account text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        kind text COLLATE "C" NOT NULL,
        request_id text COLLATE "C",
        about bigint,
        cost text NOT NULL,
        body text NOT NULL,
        at text NOT NULL,
        previous text COLLATE "C" NOT NULL,
        hash text COLLATE "C" NOT NULL UNIQUE,
        UNIQUE (account, seq),
        UNIQUE (account, previous)
    )
    """,
    "CREATE UNIQUE INDEX one_request ON dperm.entry (account, kind, request_id) WHERE request_id IS NOT NULL",
    "CREATE UNIQUE INDEX one_closing ON dperm.entry (account, about) WHERE about IS NOT NULL",
    "CREATE INDEX by_kind ON dperm.entry (account, kind, seq)",
    "CREATE INDEX openings ON dperm.entry (number) WHERE kind = 'open'",
    """CREATE INDEX seeded ON dperm.entry (account) WHERE strpos(body, '"seeded": true') > 0""",
    *(
        f"CREATE FUNCTION dperm.{name}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $${body}$$"
        for name, body in FUNCTIONS.items()
    ),
    """
    CREATE TRIGGER entry_admitted BEFORE INSERT ON dperm.entry
    FOR EACH ROW EXECUTE FUNCTION dperm.admit_entry()
    """,
    """
    CREATE TRIGGER entry_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON dperm.entry
    FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('the books are append-only')
    """,
    """
    CREATE TRIGGER meter_forward BEFORE UPDATE ON dperm.meter
    FOR EACH ROW WHEN (NEW.spent < OLD.spent OR NEW.account <> OLD.account OR NEW.name <> OLD.name)
    EXECUTE FUNCTION dperm.refuse('what is spent is never given back')
    """,
    """
    CREATE TRIGGER meter_kept BEFORE DELETE OR TRUNCATE ON dperm.meter
    FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('what is spent is never given back')
    """,
    """
    CREATE TRIGGER ledger_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON dperm.ledger
    FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('a ledger keeps its keys')
    """,
)
