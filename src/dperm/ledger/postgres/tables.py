# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables and their protective triggers: a second line of defence behind `dperm.ledger.bookkeeping`.

Names always include their schema, so a search path has no effect. Hashed content is stored as text, since jsonb would
change numbers and refuse some text.
"""

from typing import LiteralString

from dperm.ledger.books import FORMAT

SCHEMA: LiteralString = "CREATE SCHEMA dperm"

_REFUSE: LiteralString = """
    BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
    END
    """
_ADMIT_ENTRY: dict[int, LiteralString] = {
    1: """
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
    2: """
    BEGIN
        IF NEW.seq <> (SELECT COALESCE(MAX(seq), 0) + 1 FROM dperm.entry WHERE account = NEW.account) THEN
            RAISE EXCEPTION 'a line follows the last one' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF (NEW.seq = 1) <> (NEW.kind = 'open') THEN
            RAISE EXCEPTION 'an account begins with its opening' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF EXISTS (
            SELECT 1 FROM dperm.entry
            WHERE account = NEW.account AND about = NEW.about AND kind IN ('commit', 'burn')
        ) THEN
            RAISE EXCEPTION 'nothing follows a closing' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF NEW.kind NOT IN ('reserve', 'lease', 'commit', 'burn')
                AND NOT has_column_privilege('dperm.meter', 'capacity', 'UPDATE') THEN
            RAISE EXCEPTION 'accounts, limits and approvals are for the owner'
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN NEW;
    END
    """,
    3: """
    BEGIN
        IF NEW.seq <> (SELECT COALESCE(MAX(seq), 0) + 1 FROM dperm.entry WHERE account = NEW.account) THEN
            RAISE EXCEPTION 'a line follows the last one' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF (NEW.seq = 1) <> (NEW.kind = 'open') THEN
            RAISE EXCEPTION 'an account begins with its opening' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF EXISTS (
            SELECT 1 FROM dperm.entry
            WHERE account = NEW.account AND about = NEW.about AND kind IN ('commit', 'burn')
        ) THEN
            RAISE EXCEPTION 'nothing follows a closing' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF NEW.kind NOT IN ('reserve', 'lease', 'stage', 'commit', 'burn')
                AND NOT has_column_privilege('dperm.meter', 'capacity', 'UPDATE') THEN
            RAISE EXCEPTION 'accounts, limits and approvals are for the owner'
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN NEW;
    END
    """,
}
_CLOSINGS: LiteralString = (
    "CREATE UNIQUE INDEX one_closing ON dperm.entry (account, about) WHERE kind IN ('commit', 'burn')"
)
_ONE_CLOSING: dict[int, LiteralString] = {
    1: "CREATE UNIQUE INDEX one_closing ON dperm.entry (account, about) WHERE about IS NOT NULL",
    2: _CLOSINGS,
    3: _CLOSINGS,
}
_LEASES: LiteralString = "CREATE INDEX leases ON dperm.entry (account, about, seq) WHERE kind = 'lease'"
_STAGES: LiteralString = "CREATE INDEX stages ON dperm.entry (account, about, seq) WHERE kind = 'stage'"


def functions(number: int = FORMAT) -> dict[LiteralString, LiteralString]:
    """Return the trigger functions of a ledger of this format."""
    return {"refuse": _REFUSE, "admit_entry": _ADMIT_ENTRY[number]}


def _function(name: LiteralString, body: LiteralString) -> LiteralString:
    """Return a statement to create or replace a function."""
    return (
        f"CREATE OR REPLACE FUNCTION dperm.{name}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog "
        f"AS $${body}$$"
    )


_RELATIONS: tuple[LiteralString, ...] = (
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
    "CREATE INDEX by_kind ON dperm.entry (account, kind, seq)",
    "CREATE INDEX openings ON dperm.entry (number) WHERE kind = 'open'",
    """CREATE INDEX seeded ON dperm.entry (account) WHERE strpos(body, '"seeded": true') > 0""",
)

_TRIGGERS: tuple[LiteralString, ...] = (
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


def tables(number: int = FORMAT) -> tuple[LiteralString, ...]:
    """Return the statements to create a ledger of this format."""
    return (
        *_RELATIONS,
        _ONE_CLOSING[number],
        *(_LEASES, _STAGES)[: number - 1],
        *(_function(name, body) for name, body in functions(number).items()),
        *_TRIGGERS,
    )


_STEPS: dict[int, tuple[LiteralString, ...]] = {
    1: ("DROP INDEX dperm.one_closing", _CLOSINGS, _LEASES),
    2: (_STAGES, _function("admit_entry", _ADMIT_ENTRY[3])),
}
"""Changes of the tables from each format to the next; step 2 replaces the function of both earlier formats."""


def migration(before: int) -> tuple[LiteralString, ...]:
    """Return the statements from an earlier format to the present one; no entry, meter or key changes."""
    return (
        *(statement for number in range(before, FORMAT) for statement in _STEPS[number]),
        "ALTER TABLE dperm.ledger DISABLE TRIGGER ledger_kept",
        "UPDATE dperm.ledger SET format = 3",
        "ALTER TABLE dperm.ledger ENABLE TRIGGER ledger_kept",
    )
