# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the database has to say of the tables and their guards: every part of it, and nothing beside.

A guard of the right name may do nothing, and one more trigger, rule, policy or heir may undo all others. So everything
that is attached to the tables is compared with what was made, as the server describes it. Versions of the server do
not agree on brackets and spaces, which are left out.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, LiteralString

from dperm.ledger.postgres.made import parts

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


def changes(run: Callable[[LiteralString], Iterable[tuple[Any, ...]]], number: int) -> Iterator[str]:
    """What differs from the guards of a ledger of this format, in sentences; ``run`` runs a query."""
    made, found = set(map(_plain, parts(number))), set(map(_plain, run(_FIND)))
    gone = sorted({part[:2] for part in made - found})
    yield from (f"the {kind} {name} is gone, off or changed." for kind, name in gone)
    more = sorted({part[:2] for part in found - made}.difference(gone))
    yield from (f"the {kind} {name} does not belong to the ledger." for kind, name in more)
    yield from (f"the {what} belongs to another role than the ledger." for (what,) in run(_OWNERS))


def _plain(part: tuple[str, ...]) -> tuple[str, str, str]:
    kind, name, described = part
    return kind, name, described if kind == "function" else re.sub(r"[\s()]", "", described).lower()
