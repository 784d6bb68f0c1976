# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledgers of which a part was put back to an older state, or edited: none of it gives budget back."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from warm_python import package

from dperm import Pure, PureDP
from dperm.errors import LedgerError
from dperm.ledger import Ledger, transactions, verify
from dperm.ledger.sqlite import handles

ADD = "add_remove"
EIGHTH = Pure(0.125, ADD)


def process(path, code, *, killed=False):
    """Run some code in a process of its own, which is killed at the end or leaves in peace; what it said."""
    start = "import os, sys; from dperm import Pure, PureDP; from dperm.ledger import Ledger; path = sys.argv[1]\n"
    end = "\nsys.stdout.flush(); os.kill(os.getpid(), 9)" if killed else ""
    event = f"EIGHTH = Pure(0.125, {ADD!r})\n"
    done = package().run(f"{start}{event}{code}{end}", [str(path)], cwd=path.parent, environment=os.environ)
    return done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]


OPEN = """
for name in ("a", "b"):
    Ledger.open(path, PureDP(1.0, "add_remove"), dataset=name, account=name)
"""
CHARGE_A = """
for number in range(7):
    Ledger(path, "a").reserve(EIGHTH, request_id=f"r{number}")
"""
CLOSE_A = """
for number in range(7):
    Ledger(path, "a").reserve(EIGHTH, request_id=f"r{number}").commit("sha256:1")
"""
ASK_AGAIN = 'Ledger(path, "a").reserve(Pure(0.75, "add_remove")); print("granted")'


@pytest.mark.parametrize("way", ["into the file", "into its place"])
@pytest.mark.parametrize("mark", [True, False], ids=["marked", "unmarked"])
def test_a_backup_under_the_log_of_a_killed_process_is_refused(path, way, mark):
    """SQLite reads the log on top of it: the last lines are there, and the sums, or those before, are old."""
    process(path, OPEN)
    shutil.copyfile(path, path.with_name("backup"))
    process(path, CHARGE_A)
    process(path, CLOSE_A, killed=True)
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0
    if way == "into its place":
        path.unlink()  # the next file often gets the same inode
    shutil.copyfile(path.with_name("backup"), path)
    if not mark:
        path.with_name(f"{path.name}.lock").unlink()
    assert "LedgerError" in process(path, ASK_AGAIN)
    assert not verify(path).ok


def test_an_account_that_stands_as_of_old_is_refused_though_the_last_line_is_there(path):
    """As when its pages are those of a backup, and the pages of another account are those of the log."""
    process(path, OPEN)
    process(path, 'Ledger(path, "a").reserve(EIGHTH); Ledger(path, "b").reserve(EIGHTH)')
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        put_back = [
            "DELETE FROM entry WHERE account = 'a' AND seq = 2",
            "UPDATE meter SET spent = 0 WHERE account = 'a'",
        ]
        for statement in [*(f"DROP TRIGGER {name}" for name, _ in triggers), *put_back, *(sql for _, sql in triggers)]:
            connection.execute(statement)
    assert "lines are missing between" in process(path, ASK_AGAIN)


def test_a_backup_under_a_ledger_in_use_is_refused_by_whoever_comes(path):
    process(path, OPEN)
    shutil.copyfile(path, path.with_name("backup"))
    process(path, CHARGE_A)
    Ledger(path, "a").reserve(EIGHTH, request_id="r0").commit("sha256:1")
    shutil.copyfile(path.with_name("backup"), path)
    assert "LedgerError" in process(path, ASK_AGAIN)


def test_after_a_crash_between_a_line_and_its_mark_the_books_are_read_again_and_used(path, monkeypatch):
    process(path, OPEN)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda *_: 0)
        Ledger(path, "a").reserve(EIGHTH)
    assert process(path, ASK_AGAIN) == "granted"
    assert verify(path).ok


@pytest.fixture
def spent(open_file):
    ledger = open_file(PureDP(1.0, ADD))
    ledger.reserve(Pure(1.0, ADD), request_id="a").commit("sha256:1")
    return ledger


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OR REPLACE INTO meter SELECT account, name, capacity, 0 FROM meter",
        "REPLACE INTO meter SELECT account, name, 2 * capacity, spent FROM meter",
        "INSERT OR REPLACE INTO entry SELECT 2, account, 4, 'burn', NULL, NULL, '{}', '{}', at, 'p', 'h' FROM entry",
        "INSERT OR REPLACE INTO entry SELECT 9, account, 4, 'burn', NULL, NULL, '{}', '{}', at, 'p', hash FROM entry",
        "INSERT OR REPLACE INTO entry SELECT 9, account, 4, 'burn', NULL, 2, '{}', '{}', at, 'p', 'h' FROM entry",
        "INSERT OR REPLACE INTO entry SELECT 9, account, 4, 'burn', NULL, 9, '{}', '{}', at, previous, 'h' FROM entry",
        "INSERT OR REPLACE INTO entry SELECT 9, account, 4, 'reserve', 'a', NULL, '{}', '{}', at, 'p', 'h' FROM entry",
        "INSERT INTO ledger SELECT * FROM ledger",
        "REPLACE INTO ledger SELECT * FROM ledger",
    ],
)
def test_an_insertion_that_replaces_is_refused_by_the_tables(spent, path, statement):
    """OR REPLACE removes rows, and asks no trigger for DELETE."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    assert verify(path, [spent.anchor()]).ok


@pytest.mark.parametrize("mark", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("change", ["capacity = 8 * capacity", "capacity = 8 * capacity, spent = 2 * spent"])
def test_meters_that_are_not_those_of_the_last_line_are_refused(spent, path, change, mark):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE meter SET {change}")
    if not mark:
        path.with_name(f"{path.name}.lock").unlink()
    for ask in (
        lambda: spent.reserve(EIGHTH),
        lambda: spent.check(EIGHTH),
        lambda: spent.spent,
        lambda: spent.remaining,
        lambda: spent.change_limit(PureDP(4.0, ADD), reason="r", by="b"),
        lambda: spent.approve("b", reason="r", by="b"),
        lambda: spent.reserve(Pure(1.0, ADD), request_id="a").receipt,
    ):
        with pytest.raises(LedgerError, match=r"meters|stored totals"):
            ask()
    assert not verify(path).ok


def test_every_line_names_the_sums_after_it(open_at):
    ledger = open_at(PureDP(1.0, ADD))
    ledger.reserve(EIGHTH).commit("sha256:1")
    ledger.change_limit(PureDP(2.0, ADD), reason="r", by="b")
    ledger.reserve(EIGHTH).burn("x")
    ledger.approve("a", reason="r", by="b")
    unit = 2**ledger.account_facts.exponent
    found = [tuple(number / unit for number in line.meters["epsilon"]) for line in ledger.entries()]
    assert found == [(1, 0), (1, 0.125), (1, 0.125), (2, 0.125), (2, 0.25), (2, 0.25), (2, 0.25)]
    assert verify(ledger.location).ok


@pytest.mark.parametrize("way", ["copied to another place", "behind a link"])
def test_a_process_knows_what_it_wrote_itself(spent, path, way):
    """Neither the mark nor the chain could tell: the copy is whole, and has no mark."""
    handles.forget(path)
    old = path.with_name("old.ledger")
    shutil.copyfile(path, old)
    spent.change_limit(PureDP(2.0, ADD), reason="r", by="b")
    spent.reserve(Pure(0.5, ADD))
    copy = Ledger(old)
    if way == "behind a link":
        link = path.with_name("link.ledger")
        link.symlink_to(old)
        copy = Ledger(link)
    for ask in (
        lambda: copy.reserve(EIGHTH),
        lambda: copy.change_limit(PureDP(2.0, ADD), reason="r", by="b"),
        lambda: copy.approve("z", reason="r", by="b"),
    ):
        with pytest.raises(LedgerError, match="line 5 of account 'main', written by this process, is missing"):
            ask()
    transactions._last.clear()  # another process has seen nothing
    copy.change_limit(PureDP(2.0, ADD), reason="r", by="b")


def test_an_account_that_is_gone_is_not_opened_a_second_time_by_the_same_process(open_file, path):
    open_file(PureDP(1.0, ADD), account="a")
    handles.forget(path)
    old = path.with_name("old.ledger")
    shutil.copyfile(path, old)
    open_file(PureDP(1.0, ADD), account="b").reserve(Pure(1.0, ADD))
    with pytest.raises(LedgerError, match="account 'b', written by this process, is missing"):
        Ledger.open(old, PureDP(1.0, ADD), account="b", dataset="b", unit="one person")
