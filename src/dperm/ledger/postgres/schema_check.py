# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the database schema with the schema of an untouched ledger.

A trigger of the right name may do nothing, and one more trigger, rule, policy or inheriting table may bypass all
others. So everything attached to the tables is compared with its definition, as described by the server. Server
versions differ in brackets and spaces, which are ignored.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, LiteralString

from dperm.ledger.postgres.tables import functions

_FIND: LiteralString = """
    WITH own AS (SELECT relname::text AS name, * FROM pg_class WHERE relnamespace = 'dperm'::regnamespace),
    kept AS (SELECT * FROM own WHERE relkind IN ('r', 'p'))
    SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' ELSE 'relation' END, name,
            concat_ws(', ', CASE relpersistence WHEN 'u' THEN 'unlogged' WHEN 't' THEN 'temporary' END,
                CASE WHEN relrowsecurity OR relforcerowsecurity THEN 'row security' END,
                CASE WHEN relispartition OR EXISTS (SELECT FROM pg_inherits i WHERE own.oid IN (inhparent, inhrelid))
                    THEN 'inheritance' END)
        FROM own WHERE relkind NOT IN ('i', 'I')
    UNION ALL SELECT 'column', kept.name || '.' || attname,
            concat_ws(' ', format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'NOT NULL' END,
                nullif(attidentity::text, ''), nullif(attgenerated::text, ''), collname, pg_get_expr(adbin, adrelid))
        FROM kept JOIN pg_attribute ON attrelid = kept.oid AND attnum > 0 AND NOT attisdropped
            LEFT JOIN pg_collation c ON c.oid = attcollation AND collname <> 'default'
            LEFT JOIN pg_attrdef ON adrelid = kept.oid AND adnum = attnum
    UNION ALL SELECT 'index', i.name,
            concat_ws(' ', replace(pg_get_indexdef(indexrelid), i.name || ' ON dperm.', ''),
                CASE WHEN NOT (indisvalid AND indisready) THEN 'off' END)
        FROM own i JOIN pg_index ON indexrelid = i.oid
    UNION ALL SELECT 'constraint', kept.name || '.' || conname,
            concat_ws(' ', pg_get_constraintdef(c.oid), CASE WHEN NOT convalidated THEN 'off' END)
        FROM kept JOIN pg_constraint c ON conrelid = kept.oid AND contype <> 'n'
    UNION ALL SELECT 'trigger', tgname::text,
            concat_ws(' ', pg_get_triggerdef(t.oid), CASE WHEN tgenabled NOT IN ('O', 'A') THEN 'off' END)
        FROM kept JOIN pg_trigger t ON tgrelid = kept.oid
    UNION ALL SELECT 'rule', rulename::text, pg_get_ruledef(r.oid) FROM kept JOIN pg_rewrite r ON ev_class = kept.oid
    UNION ALL SELECT 'policy', polname::text, name FROM kept JOIN pg_policy ON polrelid = kept.oid
    UNION ALL SELECT 'function', proname::text,
            concat_ws(' ', pg_get_function_identity_arguments(p.oid), CASE WHEN prosecdef THEN 'definer' END,
                lanname, array_to_string(proconfig, ' '), prosrc)
        FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE pronamespace = 'dperm'::regnamespace
    ORDER BY 1, 2, 3
"""
_OWNERS: LiteralString = """
    WITH ledger AS (SELECT relowner FROM pg_class WHERE oid = 'dperm.ledger'::regclass)
    SELECT 'relation ' || relname FROM pg_class, ledger l
        WHERE relnamespace = 'dperm'::regnamespace AND pg_class.relowner <> l.relowner
    UNION ALL SELECT 'function ' || proname FROM pg_proc, ledger
        WHERE pronamespace = 'dperm'::regnamespace AND proowner <> relowner
    UNION ALL SELECT 'schema dperm' FROM pg_namespace JOIN pg_roles r ON r.oid = nspowner, ledger
        WHERE nspname = 'dperm' AND nspowner <> relowner AND NOT rolsuper
    ORDER BY 1
"""
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
_WITH_LEASES = {
    "leases": "INDEX entry USING btree (account, about, seq) WHERE (kind = 'lease'::text)",
    "one_closing": "UNIQUE INDEX entry USING btree (account, about) "
    "WHERE (kind = ANY (ARRAY['commit'::text, 'burn'::text]))",
}
_INDEXES_OF = {
    1: {"one_closing": "UNIQUE INDEX entry USING btree (account, about) WHERE (about IS NOT NULL)"},
    2: _WITH_LEASES,
    3: {**_WITH_LEASES, "stages": "INDEX entry USING btree (account, about, seq) WHERE (kind = 'stage'::text)"},
}
"""Indexes that differ between the formats of a ledger."""
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


def changes(run: Callable[[LiteralString], Iterable[tuple[Any, ...]]], number: int) -> Iterator[str]:
    """Yield differences from an untouched ledger of this format, as sentences; ``run`` runs a query."""
    made, found = set(map(_plain, parts(number))), set(map(_plain, run(_FIND)))
    gone = sorted({part[:2] for part in made - found})
    yield from (f"the {kind} {name} is missing, disabled or changed." for kind, name in gone)
    more = sorted({part[:2] for part in found - made}.difference(gone))
    yield from (f"the {kind} {name} does not belong to the ledger." for kind, name in more)
    yield from (f"the {what} belongs to another role than the ledger." for (what,) in run(_OWNERS))


def _plain(part: tuple[str, ...]) -> tuple[str, str, str]:
    kind, name, described = part
    return kind, name, described if kind == "function" else re.sub(r"[\s()]", "", described).lower()


def parts(number: int) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and description of every part of an untouched ledger of this format."""
    yield "sequence", "entry_number_seq", ""
    for table, columns in _COLUMNS.items():
        yield "table", table, ""
        yield from (("column", f"{table}.{name}", made) for name, made in columns.items())
    yield from (("constraint", name, made) for name, made in _CONSTRAINTS.items())
    yield from (("trigger", name, f"CREATE TRIGGER {name} {made}") for name, made in _TRIGGERS.items())
    made_by = functions(number).items()
    yield from (("function", name, f" plpgsql search_path=pg_catalog {body}") for name, body in made_by)
    yield from (("index", name, f"CREATE {made}") for name, made in {**_INDEXES, **_INDEXES_OF[number]}.items())
