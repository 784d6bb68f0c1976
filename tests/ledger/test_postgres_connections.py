# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Connections that are lost, copied or wrong: nothing is charged twice, and no password is told."""

import subprocess
import sys
import threading
import traceback

import postgres
import psycopg
import pytest

from dperm import PureDP
from dperm.accounting import Pure
from dperm.errors import LedgerError
from dperm.ledger import EntryKind, Ledger, verify
from dperm.ledger.entry import next_entry
from dperm.ledger.postgres import PostgresStore, connections, grant_writers, transaction
from dperm.ledger.transactions import TransactionInterruptedError

OPEN = {"dataset": "census 2026", "unit": "one person"}
HALF = Pure(0.5, "replace_one")


@pytest.fixture
def ledger():
    with postgres.lent() as url:
        yield Ledger.open(url, PureDP(10.0, "replace_one"), **OPEN)


def backend_of(url):
    """The process of the server that serves this thread."""
    return connections.connection(url).info.backend_pid


def cut(url):
    """End the connection of this thread, from the side of the server."""
    postgres.shared().run(f"SELECT pg_terminate_backend({backend_of(url)}, 10000)")


def next_line(books):
    return next_entry("main", books.head("main"), EntryKind.APPROVE, request_id="b")


class Cut:
    """COMMIT, cut off the first time: before the server hears of it, or after it is done."""

    def __init__(self, when):
        self.when, self.calls, self.commit = when, 0, transaction._commit

    def __call__(self, location, connection):
        if connection.execute("SHOW transaction_read_only").fetchone() == ("on",):
            return self.commit(location, connection)
        self.calls += 1
        if self.calls > 1 or self.when == "after":
            self.commit(location, connection)
        if self.calls == 1:
            cut(location)
            connection.execute("SELECT 1")
        return None


WHEN = pytest.mark.parametrize("when", ["before", "after"])


@WHEN
def test_a_reservation_cut_off_at_commit_is_made_once_and_is_ones_own(ledger, monkeypatch, when):
    lost = Cut(when)
    monkeypatch.setattr(transaction, "_commit", lost)
    reservation = ledger.reserve(HALF, request_id="a")
    assert (lost.calls, reservation.repeated) == (2, False)
    assert len(ledger.bookings()) == 1 and ledger.spent == {"epsilon": 0.5}
    assert ledger.reserve(HALF, request_id="a").repeated
    assert verify(ledger.location).problems == ()


@WHEN
@pytest.mark.parametrize("close", ["commit", "burn"])
def test_a_closing_cut_off_at_commit_is_written_once(ledger, monkeypatch, when, close):
    reservation, lost = ledger.reserve(HALF), Cut(when)
    monkeypatch.setattr(transaction, "_commit", lost)
    getattr(reservation, close)("sha256:x")
    assert lost.calls == 2
    assert [entry.kind.value for entry in ledger.entries()] == ["open", "reserve", close]


@WHEN
def test_what_cannot_be_asked_twice_says_that_it_is_not_known(ledger, monkeypatch, when):
    monkeypatch.setattr(transaction, "_commit", Cut(when))
    with pytest.raises(TransactionInterruptedError, match="not known"):
        ledger.approve("a", by="officer", reason="agreed")
    assert [entry.kind.value for entry in ledger.entries()][1:] == ["approve"] * (when == "after")


def test_a_connection_that_died_between_two_transactions_is_replaced(ledger):
    before = backend_of(ledger.location)
    cut(ledger.location)
    ledger.approve("a", by="officer", reason="agreed")
    cut(ledger.location)
    assert ledger.spent == {"epsilon": 0.0}
    assert backend_of(ledger.location) != before


READING = {
    "account_facts": lambda ledger: ledger.account_facts.name,
    "accounts": lambda ledger: ledger.accounts(),
    "anchor": lambda ledger: ledger.anchor(),
    "bookings": lambda ledger: ledger.bookings(),
    "capacity": lambda ledger: ledger.capacity,
    "check": lambda ledger: ledger.check(HALF),
    "entries": lambda ledger: ledger.entries(),
    "fingerprint": lambda ledger: ledger.fingerprint(__file__),
    "limit": lambda ledger: ledger.limit,
    "remaining": lambda ledger: ledger.remaining,
    "spent": lambda ledger: ledger.spent,
}


@pytest.mark.parametrize("name", READING)
def test_a_question_that_is_cut_off_is_asked_again(ledger, monkeypatch, name):
    expected, commit, cuts = READING[name](ledger), transaction._commit, []

    def cut_off(location, connection):
        if len(cuts) < 2:  # the second time, for those that ask twice
            cuts.append(cut(location))
        commit(location, connection)

    monkeypatch.setattr(transaction, "_commit", cut_off)
    assert READING[name](ledger) == expected
    assert len(cuts) == 2


def test_a_question_that_is_cut_off_does_not_speak_of_changes(ledger):
    with (
        pytest.raises(TransactionInterruptedError, match="Nothing was changed") as raised,
        PostgresStore(ledger.location).read(),
    ):
        cut(ledger.location)
    assert "not known" not in str(raised.value)


def test_a_transaction_cut_off_in_the_middle_changes_nothing(ledger):
    with (
        pytest.raises(TransactionInterruptedError, match="Nothing was changed"),
        PostgresStore(ledger.location).write(["main"]) as books,
    ):
        books.append(next_line(books))
        cut(ledger.location)
        books.accounts()
    assert len(ledger.entries()) == 1


def test_an_interrupt_undoes_the_transaction_and_the_connection_is_used_again(ledger):
    before = backend_of(ledger.location)
    with pytest.raises(KeyboardInterrupt), PostgresStore(ledger.location).write(["main"]) as books:
        books.append(next_line(books))
        raise KeyboardInterrupt
    assert len(ledger.entries()) == 1
    assert backend_of(ledger.location) == before


def test_an_error_that_is_swallowed_does_not_pass_for_a_commit(ledger):
    with pytest.raises(LedgerError, match="undid"), PostgresStore(ledger.location).write(["main"]) as books:
        line = next_line(books)
        books.append(line)
        with pytest.raises(psycopg.Error):
            books.append(line)
    assert len(ledger.entries()) == 1


def test_a_transaction_inside_another_is_refused_and_does_not_end_it(ledger):
    store = PostgresStore(ledger.location)
    with store.write(["main"]) as books:
        books.append(next_line(books))
        with pytest.raises(LedgerError, match="in use"), store.read():
            pass
    assert len(ledger.entries()) == 2


def test_every_thread_has_its_own_connection_which_ends_with_it(ledger):
    found = []
    thread = threading.Thread(target=lambda: found.append((ledger.spent, backend_of(ledger.location))))
    thread.start()
    thread.join()
    ((spent, backend),) = found
    assert spent == {"epsilon": 0.0} and backend != backend_of(ledger.location)
    alive = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {backend}"
    assert any(postgres.shared().run(alive) == [(0,)] for _ in range(1000))  # the server is slower than we are


def test_a_thread_keeps_few_connections_and_those_it_used_last(ledger):
    def url_of(number):
        return f"{ledger.location}{'&' if '?' in ledger.location else '?'}application_name=run{number}"

    names = "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'run%' ORDER BY 1"
    with PostgresStore(url_of(0)).write(["main"]) as books:
        for number in range(1, 7):
            assert Ledger(url_of(number)).spent == {"epsilon": 0.0}
            assert Ledger(url_of(1)).spent == {"epsilon": 0.0}
        books.append(next_line(books))
    kept = [("run0",), ("run1",), ("run5",), ("run6",)]
    assert any(postgres.shared().run(names) == kept for _ in range(1000))
    assert len(ledger.entries()) == 2


FORKING = """
import os, sys
from dperm.accounting import Pure
from dperm.ledger import Ledger
from dperm.ledger.postgres import connections

ledger = Ledger(sys.argv[1])
backend = lambda: connections.connection(ledger.location).info.backend_pid
ledger.reserve(Pure(0.5, "replace_one"))
mine = backend()
parent = os.fork()
ledger.reserve(Pure(0.5, "replace_one"))
assert (backend() == mine) == (parent != 0)
if parent == 0:
    sys.exit()  # closes what it opened, and not what it inherited
assert os.waitpid(parent, 0)[1] == 0
ledger.reserve(Pure(0.5, "replace_one"))
assert backend() == mine
"""
ORPHANS = """
import os, sys, time
from dperm.ledger.postgres import PostgresStore

with PostgresStore(sys.argv[1]).write(["main"]):
    if os.fork() == 0:
        sys.stdin.read()  # lives on
        os._exit(0)
    os._exit(0)  # dies in the middle
"""

BESIDE_A_THREAD = """
import os, sys, threading
from dperm.ledger import EntryKind
from dperm.ledger.entry import next_entry
from dperm.ledger.postgres import PostgresStore

inside, leave, failed = threading.Event(), threading.Event(), []

def write():
    try:
        with PostgresStore(sys.argv[1]).write(["main"]) as books:
            books.append(next_entry("main", books.head("main"), EntryKind.APPROVE, request_id="b"))
            inside.set()
            leave.wait()
    except BaseException as error:
        failed.append(error)
    inside.set()

thread = threading.Thread(target=write)
thread.start()
inside.wait()
child = os.fork()  # Python drops the other threads of the child, and all that was theirs
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
leave.set()
thread.join()
assert failed == [], failed
"""


@pytest.mark.parametrize(("program", "lines"), [(FORKING, 5), (BESIDE_A_THREAD, 2)], ids=["forking", "beside-a-thread"])
def test_a_copy_of_the_process_leaves_the_connections_of_its_parent_alone(ledger, program, lines):
    # from Python 3.12 on, a fork beside a thread is warned about; here it is meant
    words = [sys.executable, "-X", "dev", "-W", "ignore:This process:DeprecationWarning", "-c", program]
    done = subprocess.run([*words, ledger.location], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(ledger.entries()) == lines


def test_a_copy_of_the_process_does_not_keep_the_locks_of_a_parent_that_died(ledger):
    words = [sys.executable, "-c", ORPHANS, ledger.location]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as parent:
        assert parent.wait(60) == 0
        ledger.reserve(HALF)  # would wait for a minute
        parent.stdin.close()
    assert ledger.spent == {"epsilon": 0.5}


def test_the_server_knows_who_is_connected(ledger):
    name = "SELECT application_name FROM pg_stat_activity WHERE pid = {}"
    assert postgres.shared().run(name.format(backend_of(ledger.location))) == [("dperm",)]
    own = f"{ledger.location}{'&' if '?' in ledger.location else '?'}application_name=night_run"
    assert postgres.shared().run(name.format(backend_of(own))) == [("night_run",)]


def test_a_server_that_was_never_reached_is_reported_at_once(monkeypatch):
    calls, connect = [], psycopg.connect
    monkeypatch.setattr(psycopg, "connect", lambda **given: calls.append(given) or connect(**given))
    with pytest.raises(LedgerError, match="Check that the server is running") as raised:
        Ledger("postgresql://127.0.0.1:1/census").reserve(HALF)
    assert (type(raised.value), len(calls)) == (LedgerError, 1)


SECRET = "hunter2"
URLS = {
    "refused": f"postgresql://ann:{SECRET}@127.0.0.1:1/census",
    "in-query": f"postgresql://127.0.0.1:1/census?user=ann&password={SECRET}",
    "bad-option": f"postgresql://ann:{SECRET}@127.0.0.1:1/census?bogus={SECRET[:3]}",
    "bad-port": f"postgresql://ann:{SECRET}@127.0.0.1:port/census",
    "bad-encoding": f"postgresql://ann:{SECRET}%ZZ@127.0.0.1:1/census",
    "at-sign": f"postgresql://ann:x@{SECRET}@127.0.0.1:1/census",
    "slash": f"postgresql://ann:x/{SECRET}@127.0.0.1:1/census",
    "number-and-slash": f"postgresql://127.0.0.1:1/{SECRET}@127.0.0.1:1/census",
    "no-host": f"postgresql://ann:{SECRET}@/census?host=/nowhere",
    "space-in-query": f"postgresql://ann@127.0.0.1:1/census?password=my {SECRET}",
    "ampersand-in-query": f"postgresql://ann@127.0.0.1:1/census?password=my&{SECRET}",
    "encoded-key": f"postgresql://127.0.0.1:1/census?pass%77ord={SECRET}",
    "slash-in-user": f"postgresql://us/er:{SECRET}@127.0.0.1:1/census",
    "encoded-colon": f"postgresql://ann%3A{SECRET}@127.0.0.1:1/census",
    "in-database": f"postgresql://127.0.0.1:1/ann:{SECRET}@census",
    "no-at-sign": f"postgresql://ann:{SECRET}",
    "no-at-sign-database": f"postgresql://ann:{SECRET}/census",
    "number-sign": f"postgresql://ann:x#{SECRET}@127.0.0.1:1/census",
    "question-mark": f"postgresql://ann:x?{SECRET}@127.0.0.1:1/census",
    "new-line": f"postgresql://ann:x\n{SECRET}@127.0.0.1:1/census",
}


def told(error):
    """Everything that can be read off an error, and off those that hang on it."""
    while error is not None:
        yield "".join(traceback.format_exception(error)) + repr(error) + str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("name", URLS)
def test_a_password_is_never_told(name):
    ledger = Ledger(URLS[name])
    texts = [repr(ledger), repr(ledger._store), *verify(ledger.location).problems]
    asked = [lambda: ledger.reserve(HALF), lambda: ledger.limit, lambda: grant_writers(ledger.location, "bob")]
    for ask in [*asked, lambda: Ledger.open(URLS[name], PureDP(1.0, "replace_one"), **OPEN)]:
        with pytest.raises(LedgerError) as raised:
            ask()
        texts += told(raised.value)
    assert not [text for text in texts if SECRET in text]


def test_a_reason_that_quotes_the_password_is_not_given(monkeypatch):
    def connect(**given):
        raise psycopg.OperationalError(f"cannot connect with {given['password']}")

    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(LedgerError, match="no reason is shown") as raised:
        Ledger(URLS["refused"]).reserve(HALF)
    assert SECRET not in "".join(told(raised.value))


def test_without_psycopg_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    ledger = Ledger("postgresql://127.0.0.1:1/census")
    for ask in (lambda: ledger.reserve(HALF), lambda: grant_writers(ledger.location, "bob")):
        with pytest.raises(LedgerError, match=r'pip install "dperm\[postgres\]"'):
            ask()
    assert "dperm[postgres]" in verify(ledger.location).problems[0]
