# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Where a ledger could leak: interrupts, nested use, locks that outlive their owner, full disks, clocks."""

import errno
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import datetime

import pytest

from dperm import Laplace, PureDP
from dperm.accounting import charged
from dperm.errors import LedgerError
from dperm.ledger import bookkeeping, charges, entry, locking, verify
from dperm.ledger.sqlite import handles, store
from dperm.ledger.stores import store_of

LIMIT = PureDP(1.0, "add_remove")
EVENT = Laplace(8.0)
COPIED = "INSERT INTO entry SELECT 99, account, {}, cost, body, at, 'p', 'h' FROM entry WHERE seq = {}"


@pytest.fixture
def ledger(open_file):
    return open_file(LIMIT)


def in_a_thread(action):
    """What action returned or raised in a thread of its own."""
    found = []

    def run():
        try:
            found.append(action())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it waits forever"
    return found[0]


def test_every_line_is_on_the_disk_before_it_counts(ledger, path):
    """FULL is 2: with NORMAL (1) a power loss could undo the last charges."""
    with handles.borrow(path) as handle:
        settings = {
            name: handle.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        }
        assert settings == {"journal_mode": "wal", "synchronous": 2}
        assert handle.connection.execute("PRAGMA fullfsync").fetchone()[0] == 1


@pytest.mark.parametrize("moment", ["before the line", "before COMMIT", "after COMMIT"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_charges_all_or_nothing_and_leaves_no_lock(ledger, path, monkeypatch, moment, kind):
    """Charged and lost is safe; granted and not charged is not. Others can go on in any case."""

    def interrupted(*arguments):
        raise kind

    place = {
        "before the line": (bookkeeping, "_charge"),
        "before COMMIT": (store.SQLiteBooks, "mark"),
        "after COMMIT": (locking.Lock, "write"),
    }[moment]
    draws = []
    with monkeypatch.context() as patch:
        patch.setattr(*place, interrupted)
        with pytest.raises(kind), charged(ledger, EVENT):
            draws.append(1)
    charges = 1 if moment == "after COMMIT" else 0
    assert (draws, len(ledger.bookings())) == ([], charges)
    assert in_a_thread(lambda: ledger.reserve(EVENT)).state == "reserved"
    ledger.reserve(EVENT).commit("sha256:1")
    assert (ledger.spent["epsilon"], verify(path).ok) == (0.125 * (2 + charges), True)


def test_an_interrupt_after_the_commit_of_a_release_does_not_burn_it(ledger, monkeypatch):
    write = locking.Lock.write
    with pytest.raises(KeyboardInterrupt), charged(ledger, EVENT) as reservation:
        monkeypatch.setattr(locking.Lock, "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        try:
            reservation.commit("sha256:1")
        finally:
            monkeypatch.setattr(locking.Lock, "write", write)
    assert [booking.state for booking in ledger.bookings()] == ["committed"]


DISTURBED = """
import os, signal, sys, threading
from contextlib import suppress
from dperm import Laplace
from dperm.ledger import Ledger

ledger, done, granted, hits, armed = Ledger(sys.argv[1]), threading.Event(), 0, 0, False

def hit(number, frame):
    global armed
    if armed:  # one at a time, and only while the ledger is at work: this program itself is not the subject
        armed = False
        raise KeyboardInterrupt

signal.signal(signal.SIGINT, hit)

def disturb():
    while not done.wait(0.003):
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=disturb, daemon=True).start()
while hits < 200:
    try:
        armed = True
        ledger.reserve(Laplace(8.0))
        armed = False
        granted += 1
    except KeyboardInterrupt:
        hits += 1
done.set()
signal.signal(signal.SIGINT, signal.SIG_IGN)
found = []
other = threading.Thread(target=lambda: found.append(ledger.reserve(Laplace(8.0))), daemon=True)
other.start(), other.join(20)
ledger.reserve(Laplace(8.0))
print(granted + 2 if found else "the lock was kept")
"""


def test_ctrl_c_at_any_time_leaves_whole_books_and_no_lock(open_file, path):
    """Two hundred real signals, wherever they hit: what was granted is charged, and the next one can charge."""
    ledger = open_file(PureDP(10_000.0, "add_remove"))
    command = [sys.executable, "-W", "ignore", "-c", DISTURBED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip().isdigit(), done.stdout + done.stderr
    assert len(ledger.bookings()) >= int(done.stdout)
    assert verify(path, [ledger.anchor()]).ok


def test_a_transaction_inside_another_is_refused_and_does_not_wait_for_itself(ledger):
    def nested(ask):
        with store_of(ledger.location).write(["main"]):
            ask()

    for ask in (lambda: ledger.reserve(EVENT), lambda: ledger.spent, lambda: ledger.anchor()):
        error = in_a_thread(lambda ask=ask: nested(ask))
        assert isinstance(error, LedgerError)
        assert "is already in use by this thread" in str(error)
    assert ledger.bookings() == ()
    ledger.reserve(EVENT)


def test_a_thread_that_dies_in_a_transaction_undoes_it(ledger):
    def die():
        with store_of(ledger.location).write(["main"]) as books:
            line = bookkeeping.family(books, "main")
            bookkeeping.reserve(books, [charges.Charge.of(line[0], EVENT, "a")], EVENT, {"event": {}, "facts": {}})
            raise SystemExit

    assert isinstance(in_a_thread(die), SystemExit)
    assert ledger.bookings() == ()
    ledger.reserve(EVENT)


def test_a_child_that_is_forked_while_another_thread_writes_does_not_keep_the_lock(ledger, path):
    inside, go_on = threading.Event(), threading.Event()

    def write():
        with locking.exclusive(path):
            inside.set()
            go_on.wait(20)

    writer = threading.Thread(target=write)
    writer.start(), inside.wait(20)
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    go_on.set(), writer.join()
    try:
        assert in_a_thread(lambda: ledger.reserve(EVENT)).state == "reserved"
    finally:
        child.kill(), child.join()


def test_a_lock_that_was_removed_while_somebody_waited_is_not_held_by_two(path, open_file):
    open_file(LIMIT)
    lock, holding, order = path.with_name(f"{path.name}.lock"), threading.Event(), []

    def first():
        with locking.exclusive(path):
            holding.set()
            time.sleep(0.2)
            lock.unlink()
            order.append("first leaves")

    def second():
        holding.wait()
        with locking.exclusive(path) as mine:
            order.append("second enters")
            assert os.path.samestat(os.fstat(mine._file), os.stat(lock))

    threads = [threading.Thread(target=one) for one in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert order == ["first leaves", "second enters"]


def test_a_disk_that_is_full_at_the_mark_loses_no_line(ledger, path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        ledger.reserve(EVENT).commit("sha256:1")
    assert ledger.bookings()[0].state == "committed"
    ledger.reserve(EVENT)
    assert verify(path).ok


def test_a_clock_that_goes_back_does_not_matter(ledger, path, monkeypatch):
    ledger.reserve(EVENT).commit("sha256:1")

    class Past(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(1999, 1, 1, tzinfo=tz)

    monkeypatch.setattr(entry, "datetime", Past)
    ledger.reserve(EVENT).commit("sha256:2")
    assert [line.at[:4] for line in ledger.entries()][-2:] == ["1999", "1999"]
    assert verify(path, [ledger.anchor()]).ok


def test_a_reader_of_another_program_stops_nobody(ledger, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as tool:
        tool.execute("BEGIN")
        tool.execute("SELECT COUNT(*) FROM entry").fetchone()
        for _ in range(3):
            ledger.reserve(EVENT).commit("sha256:1")
        assert tool.execute("SELECT COUNT(*) FROM entry").fetchone() == (1,)
    assert ledger.spent == {"epsilon": 0.375}


def test_a_writer_of_another_program_is_waited_for_and_then_reported(ledger, path, monkeypatch):
    monkeypatch.setattr(handles, "PATIENCE", 0.2)
    handles.forget(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as tool:
        tool.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="database is locked"):
            ledger.reserve(EVENT)
        assert ledger.bookings() == ()
    ledger.reserve(EVENT)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entry",
        "UPDATE entry SET body = '{}'",
        "UPDATE meter SET spent = 0",
        "UPDATE meter SET spent = capacity + 1",
        "DELETE FROM meter",
        "UPDATE ledger SET public_key = ''",
        "DELETE FROM ledger",
        COPIED.format("99, kind, 'z', NULL", 2),
        COPIED.format("3, kind, request_id, NULL", 2),
    ],
)
def test_the_tables_guard_themselves(ledger, path, statement):
    """A second wall: a bug above, or a hasty hand, is refused by the database."""
    ledger.reserve(EVENT, request_id="a")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    assert verify(path, [ledger.anchor()]).ok


def test_a_closing_of_the_second_time_is_refused_by_the_tables_too(ledger, path):
    ledger.reserve(EVENT).commit("sha256:1")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(COPIED.format("4, 'burn', NULL, about", 3))


def test_messages_say_no_more_than_names_and_numbers_of_the_ledger(ledger):
    """What a run said about itself stays in the books."""
    ledger.reserve(EVENT, request_id="a", facts={"note": "not for messages"})
    with pytest.raises(Exception, match="was used for") as caught:
        ledger.reserve(Laplace(4.0), request_id="a", facts={"note": "not for messages"})
    assert "not for messages" not in str(caught.value)


FORKING = """
import os, sys, threading
from dperm import Laplace
from dperm.ledger import Ledger

ledger, done, said = Ledger(sys.argv[1]), threading.Event(), []

def work(name):
    try:
        for number in range(40):
            ledger.reserve(Laplace(8.0), request_id=f"{name}-{number}").commit("sha256:1")
    except Exception as error:
        said.append(repr(error))

threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
print(said or "all were released")
"""


def test_a_thread_that_forks_disturbs_no_other(open_file, path):
    """A fork closes connections, and waits for whoever uses one: until the last look at the files, too."""
    ledger = open_file(PureDP(1000.0, "add_remove"))
    command = [sys.executable, "-W", "ignore", "-c", FORKING, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "all were released", done.stdout + done.stderr
    assert [booking.state for booking in ledger.bookings()] == ["committed"] * 80


@pytest.mark.parametrize("where", ["flock", "fstat"])
def test_a_signal_while_the_lock_is_taken_does_not_wait_for_its_own_thread(ledger, monkeypatch, where):
    """No transaction has begun yet; the lock is asked for, or held, by the very thread that the handler runs in."""
    found = []
    module = locking.fcntl if where == "flock" else os
    real = getattr(module, where)

    def interrupted(*arguments):
        result = real(*arguments)
        if not found:
            found.append(None)
            found[0] = in_place(lambda: ledger.reserve(EVENT))
        return result

    def in_place(action):
        try:
            return action()
        except LedgerError as error:
            return error

    def run():
        monkeypatch.setattr(module, where, interrupted)
        return ledger.reserve(EVENT)

    assert in_a_thread(run).state == "reserved"
    assert "is already in use by this thread" in str(found[0])
    assert len(ledger.bookings()) == 1
