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
    postgres.shared().run(statement, url)
    assert any(told in problem for problem in verify(url, [anchor]).problems)


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
