# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Who waits for whom in PostgreSQL, and what a transaction sees; with mutants that must die."""

import threading
from contextlib import contextmanager

import postgres
import psycopg
import pytest

from dperm import PureDP
from dperm.accounting import Pure
from dperm.errors import LedgerError
from dperm.ledger import Ledger
from dperm.ledger.books import Meter
from dperm.ledger.postgres import store as postgres_store

pytestmark = pytest.mark.filterwarnings("ignore:account .* is about the same data set")
OPEN = {"dataset": "census 2026", "unit": "one person"}
HALF = Pure(0.5, "replace_one")
STORE = "dperm.ledger.postgres.store"


@pytest.fixture(scope="module")
def url():
    with postgres.lent() as found:
        for name in ("a", "b"):
            Ledger.open(found, PureDP(1000.0, "replace_one"), account=name, **OPEN)
        yield found


@pytest.fixture
def empty():
    with postgres.lent() as found:
        yield found


class Task(threading.Thread):
    """An action in a thread of its own, which keeps what it returned or raised."""

    def __init__(self, action):
        super().__init__(daemon=True)
        self.action, self.error, self.inside = action, None, threading.Event()
        self.start()

    def run(self):
        try:
            self.action(self.inside)
        except Exception as error:
            self.error = error

    def waits(self, url):
        """Whether it came to wait for a lock, and not through."""
        waiting = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{name_of(url)}' AND wait_event_type = 'Lock'"
        while self.is_alive() and not self.inside.is_set():
            if postgres.shared().run(waiting):
                return True
        return False


def name_of(url):
    return psycopg.conninfo.conninfo_to_dict(url)["dbname"]


@contextmanager
def writing(url, names, store=postgres_store):
    """A thread inside a transaction, until the block is left."""
    leave = threading.Event()

    def write(inside):
        with store.PostgresStore(url).write(names):
            inside.set()
            assert leave.wait(60)

    task = Task(write)
    try:
        assert task.inside.wait(60)
        yield
    finally:
        leave.set()
        task.join()
    assert task.error is None


def enter(url, names, store=postgres_store):
    def action(inside):
        with store.PostgresStore(url).write(names):
            inside.set()

    return Task(action)


def test_changes_of_one_account_wait_for_each_other(url, assert_killed):
    def check(store):
        with writing(url, ["a"], store):
            second = enter(url, ["a"], store)
            assert second.waits(url)
        second.join()
        assert second.error is None and second.inside.is_set()

    assert_killed(check, STORE, " FOR UPDATE", "")


def test_changes_of_other_accounts_and_readers_do_not_wait(url):
    with writing(url, ["a"]):
        before = Ledger(url, account="b").spent["epsilon"]
        Ledger(url, account="b").reserve(HALF).commit("sha256:x")
        assert Ledger(url, account="b").spent["epsilon"] == before + 0.5
        assert Ledger(url, account="a").limit == PureDP(1000.0, "replace_one")
        Ledger.open(url, PureDP(1.0, "replace_one"), account=f"c{before}", **OPEN)


def test_accounts_are_locked_in_one_order_so_that_nobody_waits_in_a_circle(url, assert_killed):
    def check(store):
        with writing(url, ["a"]):
            second = enter(url, ["b", "a"], store)
            assert second.waits(url)
            free = "SELECT account FROM dperm.meter WHERE account = 'b' FOR UPDATE SKIP LOCKED"
            held = postgres.shared().run(free, url) == []
        second.join()
        assert not held, "it holds b while it waits for a"

    assert_killed(check, STORE, "ORDER BY account, name", "ORDER BY account DESC, name")


def test_of_two_who_open_an_account_at_once_one_is_refused(empty):
    def opening(_):
        Ledger.open(empty, PureDP(1.0, "replace_one"), account="new", **OPEN)

    Ledger.open(empty, PureDP(1.0, "replace_one"), account="first", **OPEN)
    with writing(empty, ["new"]):
        tasks = [Task(opening), Task(opening)]
        assert all(task.waits(empty) for task in tasks)
    for task in tasks:
        task.join()
    (error,) = [task.error for task in tasks if task.error is not None]
    assert isinstance(error, LedgerError) and "opened once" in str(error)
    assert len(Ledger(empty, account="new").entries()) == 1


def test_many_who_make_the_ledger_at_once_make_one(empty):
    tasks = [
        Task(lambda _, name=name: Ledger.open(empty, PureDP(1.0, "replace_one"), account=name, **OPEN))
        for name in ("x", "x", "y", "y")
    ]
    for task in tasks:
        task.join()
    assert sorted(Ledger(empty).accounts()) == ["x", "y"]
    assert sorted("opened once" in str(task.error) for task in tasks) == [False, False, True, True]
    assert postgres.shared().run("SELECT count(*) FROM dperm.ledger", empty) == [(1,)]


def test_a_reader_sees_one_moment(url, assert_killed):
    def check(store):
        with store.PostgresStore(url).read() as books:
            before = books.meters("a")
            charging = Task(lambda _: Ledger(url, account="a").reserve(HALF))
            charging.join()
            assert charging.error is None
            assert books.meters("a") == before
        with store.PostgresStore(url).read() as books:
            assert books.meters("a") != before

    assert_killed(check, STORE, "REPEATABLE READ, READ ONLY", "READ COMMITTED, READ ONLY")


def test_a_reader_changes_nothing(empty, assert_killed):
    # a ledger of its own: the mutant damages it, and the tests of this module may run in any order
    Ledger.open(empty, PureDP(1000.0, "replace_one"), account="b", **OPEN)

    def check(store):
        with pytest.raises(LedgerError, match="read-only") as raised, store.PostgresStore(empty).read() as books:
            books.set_meter("b", "epsilon", Meter(2**60, 2**50))
        assert raised

    def failing(store):
        try:
            check(store)
        except pytest.fail.Exception as error:  # not an AssertionError
            raise AssertionError(str(error)) from None

    assert_killed(failing, STORE, "READ, READ ONLY", "READ")


def test_commit_waits_for_a_standby_as_long_as_it_takes(url, assert_killed):
    def check(store):
        mine = f"{url}{'&' if '?' in url else '?'}options=-c%20statement_timeout%3D50000"
        with store.PostgresStore(mine).write(["a"]) as books:
            assert books._run("SHOW statement_timeout").fetchone() == ("0",)

    assert_killed(check, STORE, "set_config('statement_timeout', '0', true),", "")


def test_a_weak_setting_of_the_session_does_not_make_charges_forgettable(url, assert_killed):
    def check(store):
        for asked, found in {"off": "on", "local": "on", "remote_apply": "remote_apply"}.items():
            mine = f"{url}{'&' if '?' in url else '?'}options=-c%20synchronous_commit%3D{asked}"
            with store.PostgresStore(mine).write(["a"]) as books:
                assert books._run("SHOW synchronous_commit").fetchone() == (found,)

    assert_killed(
        check, STORE, "'remote_apply' ELSE 'on' END", "'remote_apply' ELSE current_setting('synchronous_commit') END"
    )
