# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The parts of an untouched ledger, in the words in which a server describes them."""

from collections.abc import Iterator

from dperm.ledger.postgres.tables import functions

_COLUMNS = {
    "ledger": {
        "format": "integer NOT NULL",
        "public_key": "text NOT NULL",
        "signing_key": "text NOT NULL",
        "fingerprint_key": "text NOT NULL",
    },
    "meter": {
        "account": "text NOT NULL C",
        "name": "text NOT NULL C",
        "capacity": "bigint NOT NULL",
        "spent": "bigint NOT NULL",
    },
    "entry": {
        "number": "bigint NOT NULL a",
        "account": "text NOT NULL C",
        "seq": "bigint NOT NULL",
        "kind": "text NOT NULL C",
        "request_id": "text C",
        "about": "bigint",
        "cost": "text NOT NULL",
        "body": "text NOT NULL",
        "at": "text NOT NULL",
        "previous": "text NOT NULL C",
        "hash": "text NOT NULL C",
    },
}
_CONSTRAINTS = {
    "entry.entry_account_previous_key": "UNIQUE (account, previous)",
    "entry.entry_account_seq_key": "UNIQUE (account, seq)",
    "entry.entry_hash_key": "UNIQUE (hash)",
    "entry.entry_pkey": "PRIMARY KEY (number)",
    "meter.meter_pkey": "PRIMARY KEY (account, name)",
    "meter.meter_within": "CHECK (((spent >= 0) AND (spent <= capacity)))",
}
_INDEXES = {
    "by_kind": "INDEX entry USING btree (account, kind, seq)",
    "entry_account_previous_key": "UNIQUE INDEX entry USING btree (account, previous)",
    "entry_account_seq_key": "UNIQUE INDEX entry USING btree (account, seq)",
    "entry_hash_key": "UNIQUE INDEX entry USING btree (hash)",
    "entry_pkey": "UNIQUE INDEX entry USING btree (number)",
    "meter_pkey": "UNIQUE INDEX meter USING btree (account, name)",
    "one_ledger": "UNIQUE INDEX ledger USING btree ((true))",
    "one_request": "UNIQUE INDEX entry USING btree (account, kind, request_id) WHERE (request_id IS NOT NULL)",
    "openings": "INDEX entry USING btree (number) WHERE (kind = 'open'::text)",
    "seeded": """INDEX entry USING btree (account) WHERE (strpos(body, '"seeded": true'::text) > 0)""",
}
_INDEXES_OF = {
    1: {"one_closing": "UNIQUE INDEX entry USING btree (account, about) WHERE (about IS NOT NULL)"},
    2: {
        "leases": "INDEX entry USING btree (account, about, seq) WHERE (kind = 'lease'::text)",
        "one_closing": "UNIQUE INDEX entry USING btree (account, about) "
        "WHERE (kind = ANY (ARRAY['commit'::text, 'burn'::text]))",
    },
}
"""Those that differ between the formats of a ledger."""
_TRIGGERS = {
    "entry_admitted": "BEFORE INSERT ON dperm.entry FOR EACH ROW EXECUTE FUNCTION dperm.admit_entry()",
    "entry_kept": (
        "BEFORE DELETE OR UPDATE OR TRUNCATE ON dperm.entry "
        "FOR EACH STATEMENT "
        "EXECUTE FUNCTION dperm.refuse('the books are append-only')"
    ),
    "ledger_kept": (
        "BEFORE DELETE OR UPDATE OR TRUNCATE ON dperm.ledger "
        "FOR EACH STATEMENT "
        "EXECUTE FUNCTION dperm.refuse('a ledger keeps its keys')"
    ),
    "meter_forward": (
        "BEFORE UPDATE ON dperm.meter "
        "FOR EACH ROW WHEN (((new.spent < old.spent) OR (new.account <> old.account) OR (new.name <> old.name))) "
        "EXECUTE FUNCTION dperm.refuse('what is spent is never given back')"
    ),
    "meter_kept": (
        "BEFORE DELETE OR TRUNCATE ON dperm.meter "
        "FOR EACH STATEMENT "
        "EXECUTE FUNCTION dperm.refuse('what is spent is never given back')"
    ),
}


def parts(number: int) -> Iterator[tuple[str, str, str]]:
    """What is there in an untouched ledger of this format: kind, name and description."""
    yield "sequence", "entry_number_seq", ""
    for table, columns in _COLUMNS.items():
        yield "table", table, ""
        yield from (("column", f"{table}.{name}", made) for name, made in columns.items())
    yield from (("constraint", name, made) for name, made in _CONSTRAINTS.items())
    yield from (("trigger", name, f"CREATE TRIGGER {name} {made}") for name, made in _TRIGGERS.items())
    made_by = functions(number).items()
    yield from (("function", name, f" plpgsql search_path=pg_catalog {body}") for name, body in made_by)
    yield from (("index", name, f"CREATE {made}") for name, made in {**_INDEXES, **_INDEXES_OF[number]}.items())
