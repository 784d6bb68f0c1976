# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the database itself refuses, to its owner and to writers, and what `verify` finds when it was not asked."""

import postgres
import psycopg
import pytest

from dperm import PureDP
from dperm.accounting import Pure
from dperm.errors import LedgerError
from dperm.ledger import Anchor, Ledger, verify
from dperm.ledger.postgres import grant_writers

pytestmark = pytest.mark.filterwarnings("ignore:account .* is about the same data set")
OPEN = {"dataset": "census 2026", "unit": "one person"}
HALF = Pure(0.5, "replace_one")
LINE = "INSERT INTO dperm.entry (account, seq, kind, request_id, about, cost, body, at, previous, hash) VALUES"

FOR_NOBODY = {
    "change-line": "UPDATE dperm.entry SET cost = '{}'",
    "change-no-line": "UPDATE dperm.entry SET cost = '{}' WHERE false",
    "remove-line": "DELETE FROM dperm.entry WHERE seq = 3",
    "remove-lines": "TRUNCATE dperm.entry",
    "remove-everything": "TRUNCATE dperm.entry, dperm.meter, dperm.ledger",
    "give-back": "UPDATE dperm.meter SET spent = spent - 1",
    "overspend": "UPDATE dperm.meter SET spent = capacity + 1",
    "limit-below-spent": "UPDATE dperm.meter SET capacity = spent - 1",
    "rename-meter": "UPDATE dperm.meter SET account = 'other'",
    "remove-meter": "DELETE FROM dperm.meter",
    "remove-meters": "TRUNCATE dperm.meter",
    "new-keys": "UPDATE dperm.ledger SET signing_key = ''",
    "remove-keys": "DELETE FROM dperm.ledger",
    "second-keys": "INSERT INTO dperm.ledger VALUES (1, 'a', 'b', 'c')",
    "gap": f"{LINE} ('main', 5, 'reserve', 'b', NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "same-number": f"{LINE} ('main', 3, 'reserve', 'b', NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "request-again": f"{LINE} ('main', 4, 'reserve', 'a', NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "unopened": f"{LINE} ('other', 1, 'reserve', 'b', NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "open-again": f"{LINE} ('main', 4, 'open', NULL, NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "close-again": f"{LINE} ('main', 4, 'burn', NULL, 2, '{{}}', '{{}}', '', 'p', 'h')",
}
FOR_THE_OWNER = {
    "raise-limit": "UPDATE dperm.meter SET capacity = 2 * capacity",
    "new-meter": "INSERT INTO dperm.meter VALUES ('other', 'epsilon', 1, 0)",
    "open": f"{LINE} ('other', 1, 'open', NULL, NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "limit": f"{LINE} ('main', 4, 'limit', NULL, NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "approve": f"{LINE} ('main', 4, 'approve', 'b', NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "unknown-kind": f"{LINE} ('main', 4, 'gift', 'b', NULL, '{{}}', '{{}}', '', 'p', 'h')",
    "trigger-off": "ALTER TABLE dperm.entry DISABLE TRIGGER ALL",
    "drop-trigger": "DROP TRIGGER entry_kept ON dperm.entry",
    "triggers-off": "SET session_replication_role = replica",
    "alter": "ALTER TABLE dperm.meter DROP CONSTRAINT meter_within",
    "drop": "DROP TABLE dperm.entry",
    "function": "CREATE OR REPLACE FUNCTION dperm.refuse() RETURNS trigger LANGUAGE sql AS 'SELECT NULL'",
    "own-table": "CREATE TABLE dperm.other (a integer)",
    "become-owner": "SET ROLE postgres",
}


@pytest.fixture(scope="module")
def used():
    """A ledger with a committed charge, and a role of writers."""
    with postgres.lent() as url:
        role = postgres.shared().role()
        used_once(url)
        grant_writers(url, role)
        yield url, role


@pytest.fixture
def url():
    with postgres.lent() as found:
        yield found


def used_once(url):
    ledger = Ledger.open(url, PureDP(10.0, "replace_one"), **OPEN)
    ledger.reserve(HALF, request_id="a").commit("sha256:x")
    return ledger


def assert_refused(url, statement):
    content = "SELECT e::text FROM dperm.entry e UNION SELECT m::text FROM dperm.meter m ORDER BY 1"
    before = postgres.shared().run(content, url)
    with pytest.raises((psycopg.errors.IntegrityError, psycopg.errors.InsufficientPrivilege)):
        postgres.shared().run(statement, url)
    assert postgres.shared().run(content, url) == before


@pytest.mark.parametrize("name", FOR_NOBODY)
def test_the_tables_refuse_their_owner(used, name):
    assert_refused(used[0], FOR_NOBODY[name])


@pytest.mark.parametrize("name", FOR_NOBODY | FOR_THE_OWNER)
def test_the_server_refuses_a_writer(used, name):
    assert_refused(postgres.as_role(*used), (FOR_NOBODY | FOR_THE_OWNER)[name])


def test_a_writer_cannot_let_others_in(used):
    grants = "SELECT relacl::text FROM pg_class WHERE relnamespace = 'dperm'::regnamespace ORDER BY relname"
    before = postgres.shared().run(grants, used[0])
    postgres.shared().run("GRANT ALL ON dperm.meter, dperm.entry TO PUBLIC", postgres.as_role(*used))  # only warns
    assert postgres.shared().run(grants, used[0]) == before


def test_the_walls_left_the_ledger_whole(used):
    assert verify(used[0]).problems == ()


def test_a_writer_charges_and_does_no_more(url):
    role = postgres.shared().role()
    owner = Ledger.open(url, PureDP(10.0, "replace_one"), **OPEN)
    writer = Ledger(postgres.as_role(url, role))
    with pytest.raises(LedgerError, match="role"):
        writer.reserve(HALF)
    grant_writers(url, role)
    reservation = writer.reserve(HALF, request_id="a")
    reservation.commit("sha256:x")
    writer.reserve(HALF).burn("it crashed")
    assert verify(writer.location, [Anchor.from_receipt(reservation.receipt)]).problems == ()
    before = owner.entries()
    forbidden = {
        "open": lambda: Ledger.open(writer.location, PureDP(1.0, "replace_one"), account="new", **OPEN),
        "limit": lambda: writer.change_limit(PureDP(20.0, "replace_one"), reason="more", by="me"),
        "approve": lambda: writer.approve("b", reason="please", by="me"),
        "grant": lambda: grant_writers(writer.location, "postgres"),
    }
    for ask in forbidden.values():
        with pytest.raises(LedgerError, match=r"role|owner"):
            ask()
    assert owner.entries() == before and owner.accounts() == ("main",)


def test_a_role_without_grants_reads_nothing(used):
    stranger = postgres.as_role(used[0], postgres.shared().role())
    with pytest.raises(LedgerError, match="permission denied"):
        Ledger(stranger).entries()
    assert "permission denied" in verify(stranger).problems[0]


def test_grants_need_a_ledger_and_a_role(used, url):
    with pytest.raises(LedgerError, match="does not exist"):
        grant_writers(used[0], "nobody of this name")
    with pytest.raises(LedgerError, match="holds none"):
        grant_writers(url, used[1])


TAMPERED = {
    "trigger-off": ("ALTER TABLE dperm.meter DISABLE TRIGGER meter_kept", "trigger meter_kept"),
    "trigger-gone": ("DROP TRIGGER entry_kept ON dperm.entry", "trigger entry_kept"),
    "function": (
        "CREATE OR REPLACE FUNCTION dperm.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "function refuse",
    ),
    "constraint": ("ALTER TABLE dperm.meter DROP CONSTRAINT meter_within", "meter_within"),
    "empty-constraint": (
        "ALTER TABLE dperm.meter DROP CONSTRAINT meter_within, ADD CONSTRAINT meter_within CHECK (true)",
        "constraint meter.meter_within",
    ),
    "unchecked-constraint": (
        "ALTER TABLE dperm.meter DROP CONSTRAINT meter_within, "
        "ADD CONSTRAINT meter_within CHECK (spent >= 0 AND spent <= capacity) NOT VALID",
        "constraint meter.meter_within",
    ),
    "trigger-that-never-fires": (
        "DROP TRIGGER meter_forward ON dperm.meter; CREATE TRIGGER meter_forward BEFORE UPDATE ON dperm.meter "
        "FOR EACH ROW WHEN (false) EXECUTE FUNCTION dperm.refuse('what is spent is never given back')",
        "trigger meter_forward",
    ),
    "trigger-elsewhere": (
        "DROP TRIGGER entry_kept ON dperm.entry; CREATE TRIGGER entry_kept BEFORE UPDATE OR DELETE OR TRUNCATE "
        "ON dperm.ledger FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('the books are append-only')",
        "trigger entry_kept",
    ),
    "trigger-of-replicas": ("ALTER TABLE dperm.meter ENABLE REPLICA TRIGGER meter_kept", "trigger meter_kept"),
    "one-more-trigger": (
        "CREATE FUNCTION public.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'; "
        "CREATE TRIGGER zzz BEFORE UPDATE ON dperm.meter FOR EACH ROW EXECUTE FUNCTION public.keep()",
        "trigger zzz",
    ),
    "one-more-function": ("CREATE FUNCTION dperm.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "function f "),
    "same-function": ("CREATE FUNCTION dperm.refuse(int) RETURNS int LANGUAGE sql AS 'SELECT 1'", "function refuse "),
    "function-of-its-owner": ("ALTER FUNCTION dperm.admit_entry() SECURITY DEFINER", "function admit_entry"),
    "function-elsewhere": ("ALTER FUNCTION dperm.admit_entry() RESET search_path", "function admit_entry"),
    "index": ("DROP INDEX dperm.one_request", "index one_request"),
    "weak-index": (
        "DROP INDEX dperm.one_closing; CREATE INDEX one_closing ON dperm.entry (account, about) "
        "WHERE about IS NOT NULL",
        "index one_closing",
    ),
    "unlogged": ("ALTER TABLE dperm.entry SET UNLOGGED", "table entry"),
    "rule": ("CREATE RULE r AS ON UPDATE TO dperm.meter DO INSTEAD NOTHING", "rule r "),
    "row-security": ("ALTER TABLE dperm.entry ENABLE ROW LEVEL SECURITY", "table entry"),
    "policy": ("CREATE POLICY p ON dperm.entry USING (true)", "policy p "),
    "heir": ("CREATE TABLE public.heir () INHERITS (dperm.meter)", "table meter"),
    "default": ("ALTER TABLE dperm.entry ALTER about SET DEFAULT 1", "column entry.about"),
    "nothing-needed": ("ALTER TABLE dperm.meter ALTER spent DROP NOT NULL", "column meter.spent"),
    "one-more-column": ("ALTER TABLE dperm.meter ADD more text", "column meter.more"),
    "one-more-table": ("CREATE TABLE dperm.other (a integer)", "table other"),
    "view": ("CREATE VIEW dperm.v AS SELECT 1", "relation v"),
    "owner": ("ALTER TABLE dperm.meter OWNER TO pg_read_all_stats", "relation meter belongs to another"),
    "owner-of-the-schema": ("ALTER SCHEMA dperm OWNER TO pg_read_all_stats", "schema dperm belongs to another"),
    "opening": ("SET session_replication_role = replica; DELETE FROM dperm.entry WHERE seq = 1", "never opened"),
    "unopened-line": (
        f"SET session_replication_role = replica; {LINE} ('other', 1, 'reserve', 'b', NULL, '', '', '', 'p', 'h')",
        "account 'other': it was never opened",
    ),
    "unopened-meter": ("INSERT INTO dperm.meter VALUES ('other', 'epsilon', 1, 0)", "account 'other'"),
    "meter": ("UPDATE dperm.meter SET spent = spent + 1", "meters"),
    "line": ("SET session_replication_role = replica; UPDATE dperm.entry SET cost = '{\"epsilon\": 0}'", "was changed"),
    "last-line": ("SET session_replication_role = replica; DELETE FROM dperm.entry WHERE seq = 3", "older state"),
    "first-line": ("SET session_replication_role = replica; DELETE FROM dperm.entry WHERE seq = 2", "missing"),
    "keys": ("SET session_replication_role = replica; UPDATE dperm.ledger SET fingerprint_key = 'ab'", "keys"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_an_administrator_changes_is_found(url, name):
    statement, told = TAMPERED[name]
    anchor = used_once(url).anchor()
    assert verify(url, [anchor]).problems == ()
    try:
        postgres.shared().run(statement, url)
        assert any(told in problem for problem in verify(url, [anchor]).problems)
    finally:
        postgres.shared().run("DROP TABLE IF EXISTS public.heir; DROP FUNCTION IF EXISTS public.keep CASCADE", url)


def test_a_schema_that_another_role_made_is_refused(url):
    role = postgres.shared().role()
    for made in (
        f"CREATE SCHEMA dperm AUTHORIZATION {role}",
        f"CREATE TABLE dperm.ledger (); ALTER TABLE dperm.ledger OWNER TO {role}",
    ):
        postgres.shared().run(made, url)
        with pytest.raises(LedgerError, match="belongs to another role"):
            Ledger.open(url, PureDP(1.0, "replace_one"), **OPEN)
        postgres.shared().run("ALTER SCHEMA dperm OWNER TO CURRENT_USER", url)


def test_a_schema_that_an_administrator_made_for_the_owner_is_used(url):
    role = postgres.shared().role()
    postgres.shared().run(f"CREATE SCHEMA dperm; GRANT ALL ON SCHEMA dperm TO {role}", url)
    used_once(postgres.as_role(url, role))
    assert verify(url).problems == ()
    with pytest.raises(LedgerError, match=f"belongs to another role, '{role}'"):
        Ledger.open(url, PureDP(1.0, "replace_one"), account="new", **OPEN)


def test_a_schema_of_a_group_of_the_role_is_used(url):
    group, role = postgres.shared().role(), postgres.shared().role()
    postgres.shared().run(f"GRANT {group} TO {role}; CREATE SCHEMA dperm AUTHORIZATION {group}", url)
    used_once(postgres.as_role(url, role))


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_may_forget_is_refused(setting):
    with postgres.running(**{setting: "off"}) as server:
        url = server.database()
        with pytest.raises(LedgerError, match=f"{setting}=off"):
            Ledger.open(url, PureDP(1.0, "replace_one"), **OPEN)
        assert server.run("SELECT 1 FROM pg_namespace WHERE nspname = 'dperm'", url) == []


def test_a_standby_is_read_and_not_charged():
    with postgres.running() as server:
        url = server.database()
        ledger = Ledger.open(url, PureDP(1.0, "replace_one"), **OPEN)
        ledger.reserve(HALF)
        follower = Ledger(postgres.on_server(url, server.standby()))
        assert follower.spent == {"epsilon": 0.5}
        with pytest.raises(LedgerError, match="standby"):
            follower.reserve(HALF)
        with pytest.raises(LedgerError, match="standby"):
            Ledger.open(follower.location, PureDP(1.0, "replace_one"), account="new", **OPEN)
        assert ledger.spent == {"epsilon": 0.5}
