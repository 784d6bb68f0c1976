# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A ledger in a file: names, permissions, and files that are something else, gone, or replaced."""

import os
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from warm_python import package

from dperm import Laplace, PureDP
from dperm.errors import BudgetError, LedgerError
from dperm.ledger import Anchor, Ledger, disks, verify
from dperm.ledger.sqlite import handles

LIMIT = PureDP(1.0, "add_remove")
EVENT = Laplace(8.0)


def lock_of(path):
    return path.with_name(f"{path.name}.lock")


def elsewhere(path, code="print(ledger.spent['epsilon'])"):
    """What a process of its own says about the ledger."""
    start = "import sys; from dperm import *; from dperm.ledger import Ledger; ledger = Ledger(sys.argv[1]);"
    done = package().run(f"{start}{code}", [str(path)], cwd=path.parent, environment=os.environ)
    return done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]


@pytest.fixture
def ledger(open_file):
    opened = open_file(LIMIT)
    opened.reserve(EVENT).commit("sha256:1")
    return opened


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_may_read_it_for_it_holds_the_keys(path, umask):
    before = os.umask(umask)
    try:
        ledger = Ledger.open(path, LIMIT, dataset="d")
        ledger.reserve(EVENT)
        files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    names = [f"census.ledger{end}" for end in ("", "-shm", "-wal", ".lock")]
    assert files == dict.fromkeys(names, 0o600)


def test_a_ledger_that_is_shared_with_a_group_shares_its_lock(path):
    ledger = Ledger.open(path, LIMIT, dataset="d")
    handles.forget(path)
    path.chmod(0o660)
    before = os.umask(0o077)
    try:
        ledger.reserve(EVENT)
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o660}
        lock_of(path).unlink()
        ledger.reserve(EVENT)
        assert stat.S_IMODE(lock_of(path).stat().st_mode) == 0o660
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "it's",
        'say "x"',
        "what?mode=memory",
        "a#b",
        "100%41",
        "été \U0001f512",
        "a&b=c;d",
        ":memory:",
        "-x",
        "a\\b",
    ],
)
def test_a_path_is_taken_as_it_is(tmp_path, name):
    path = tmp_path / name / f"{name}.ledger"
    path.parent.mkdir()
    Ledger.open(path, LIMIT, dataset="d").reserve(EVENT).commit("sha256:1")
    assert Ledger(str(path)).spent == {"epsilon": 0.125}
    assert verify(path).ok
    ends = ("", "-shm", "-wal", ".lock")
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(f"{path.name}{end}" for end in ends)


def test_a_path_whose_bytes_are_no_text(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.ledger"))
    Ledger.open(path, LIMIT, dataset="d").reserve(EVENT)
    assert Ledger(path).spent == {"epsilon": 0.125}


def test_a_relative_path_is_that_of_the_moment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open("census.ledger", LIMIT, dataset="d")
    monkeypatch.chdir("/")
    ledger.reserve(EVENT)
    assert ledger.location == str(tmp_path / "census.ledger")
    assert Ledger(tmp_path / "census.ledger").spent == {"epsilon": 0.125}


def test_a_symbolic_link_leads_to_the_same_ledger_and_the_same_lock(ledger, path, tmp_path):
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "link.ledger"
    link.symlink_to(path)
    Ledger(link).reserve(EVENT)
    assert ledger.spent == {"epsilon": 0.25}
    assert [file.name for file in link.parent.iterdir()] == ["link.ledger"]
    link.unlink()
    Ledger.open(tmp_path / "other.ledger", LIMIT, dataset="d")
    link.symlink_to(tmp_path / "other.ledger")
    with pytest.raises(LedgerError, match="was replaced or removed while the ledger was open"):
        Ledger(link).reserve(EVENT)


def test_a_hard_link_is_refused_for_it_would_have_a_log_of_its_own(ledger, path, tmp_path):
    os.link(path, tmp_path / "second.ledger")
    for name in (path, tmp_path / "second.ledger"):
        with pytest.raises(LedgerError, match="has a second name"):
            Ledger(name).reserve(EVENT)
    (tmp_path / "second.ledger").unlink()
    ledger.reserve(EVENT)


def test_the_mark_is_not_led_into_somebody_s_file(ledger, path, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    lock_of(path).unlink()
    lock_of(path).symlink_to(victim)
    with pytest.raises(LedgerError, match=r"lock .* cannot be used"):
        ledger.reserve(EVENT)
    assert victim.read_text() == "mine"


def test_a_directory_that_is_not_there_or_cannot_be_written(tmp_path):
    with pytest.raises(LedgerError, match="cannot be used: No such file or directory"):
        Ledger.open(tmp_path / "no" / "census.ledger", LIMIT, dataset="d")
    with pytest.raises(LedgerError, match="directory"):
        Ledger.open(tmp_path, LIMIT, dataset="d")
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger(tmp_path).spent  # noqa: B018
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger.open("/proc/census.ledger", LIMIT, dataset="d")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["text", "empty", "database"])
def test_a_file_that_is_something_else_is_left_as_it_is(path, kind):
    if kind == "database":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE places (url TEXT)")
    else:
        path.write_text("name,age\n" * 1000 if kind == "text" else "")
    before = path.read_bytes()
    asked = [lambda: Ledger(path).spent, lambda: Ledger(path).reserve(EVENT)]
    if kind != "empty":
        asked.append(lambda: Ledger.open(path, LIMIT, dataset="d"))
    for ask in asked:
        with pytest.raises(LedgerError, match="holds no ledger: it is another file, or empty"):
            ask()
    assert path.read_bytes() == before
    assert not [file for file in path.parent.iterdir() if file.name.endswith(("-wal", "-shm"))]


def test_an_empty_file_becomes_a_ledger_when_one_is_opened_there(path):
    path.touch(0o600)
    assert Ledger.open(path, LIMIT, dataset="d").spent == {"epsilon": 0.0}


@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_file_that_is_gone_or_another_is_refused_under_an_open_handle(ledger, path, tmp_path, how):
    other = tmp_path / "other.ledger"
    Ledger.open(other, LIMIT, dataset="d")
    if how == "removed":
        path.unlink()
    elif how == "moved":
        path.rename(tmp_path / "away.ledger")
    else:
        handles.forget(other)
        other.rename(path)
    for ask in (lambda: ledger.reserve(EVENT), lambda: ledger.spent):
        with pytest.raises(
            LedgerError, match=r"there is no ledger at|was replaced or removed while the ledger was open"
        ):
            ask()
    if how == "moved":
        (tmp_path / "away.ledger").rename(path)
        ledger.reserve(EVENT)
        assert ledger.spent == {"epsilon": 0.25}


def test_a_ledger_that_was_removed_is_not_begun_anew_by_accident(ledger, path):
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        file.unlink()
    with pytest.raises(
        LedgerError, match=r"there was a ledger at .* and it is missing or empty. A new one would refund its"
    ):
        Ledger.open(path, LIMIT, dataset="d")
    assert not path.exists()
    path.touch()
    with pytest.raises(LedgerError, match="there was a ledger at"):
        Ledger.open(path, LIMIT, dataset="d")
    path.unlink(), lock_of(path).unlink()
    assert Ledger.open(path, LIMIT, dataset="d").spent == {"epsilon": 0.0}


def test_an_older_copy_is_refused_by_the_mark_and_without_it_by_the_anchor(ledger, path, tmp_path):
    handles.forget(path)  # the last connection writes the log into the file
    shutil.copy(path, tmp_path / "backup")
    receipt = elsewhere(
        path, "r = ledger.reserve(Laplace(8.0)); r.commit('x'); import json; print(json.dumps(dict(r.receipt)))"
    )
    shutil.copy(tmp_path / "backup", tmp_path / "restored")
    (tmp_path / "restored").rename(path)
    assert "behind the mark beside it" in elsewhere(path)
    assert "behind the mark beside it" in elsewhere(path, "ledger.reserve(Laplace(8.0))")
    assert "behind the mark beside it" in verify(path).problems[0]
    lock_of(path).unlink()
    assert elsewhere(path) == "0.125", "two files alone cannot tell"
    anchor = Anchor.from_json(receipt)
    assert "was rolled back to an older state" in verify(path, [anchor]).problems[0]


def test_a_lock_that_is_removed_is_made_again_and_lines_are_kept(ledger, path):
    lock_of(path).unlink()
    ledger.reserve(EVENT).commit("sha256:2")
    assert lock_of(path).exists()
    assert (ledger.spent, verify(path).ok) == ({"epsilon": 0.25}, True)


def test_a_mark_that_is_damaged_is_not_taken_for_none(ledger, path):
    lock_of(path).write_bytes(b"0" * 160)
    with pytest.raises(LedgerError, match=r"the mark .* is damaged"):
        ledger.reserve(EVENT)
    with pytest.raises(LedgerError, match=r"the mark .* is damaged"):
        ledger.spent  # noqa: B018


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p", "virtiofs", "vboxsf"])
def test_a_network_file_system_is_refused(ledger, path, monkeypatch, tmp_path, kind):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        f"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n36 21 0:30 / {path.parent} rw,relatime - {kind} host:/x rw\n"
    )
    monkeypatch.setattr(disks, "MOUNTS", mounts)
    handles.forget(path)
    with pytest.raises(LedgerError, match=rf"is on a network file system \({kind}\)"):
        ledger.reserve(EVENT)
    with pytest.raises(LedgerError, match="Put the ledger on a local disk, or share a PostgreSQL ledger"):
        Ledger.open(path.with_name("new.ledger"), LIMIT, dataset="d")
    assert not path.with_name("new.ledger").exists()


def test_a_thread_closes_its_connection_when_it_ends(ledger, path):
    def files():
        return sum(
            os.path.realpath(f"/proc/self/fd/{one}").startswith(str(path)) for one in os.listdir("/proc/self/fd")
        )

    before = files()
    for _ in range(5):
        thread = threading.Thread(target=ledger.check, args=(EVENT,))
        thread.start(), thread.join()
    assert files() <= before + 1


def test_a_budget_that_is_used_up_is_used_up_everywhere(ledger, path):
    with pytest.raises(BudgetError):
        for _ in range(8):
            ledger.reserve(EVENT)
    assert elsewhere(path) == "1.0"
    assert "BudgetError" in elsewhere(path, "ledger.reserve(Laplace(8.0))")


def test_a_path_is_what_the_system_takes_it_for(path, tmp_path, monkeypatch):
    """The directory above a link is that of what it leads to."""
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "sub")
    Ledger.open(tmp_path / "real" / "x.ledger", LIMIT, dataset="d")
    there = Ledger(f"{tmp_path}/link/../x.ledger")
    assert there.location == os.path.realpath(tmp_path / "real" / "x.ledger")
    assert there.spent == {"epsilon": 0.0}
    monkeypatch.chdir(tmp_path / "link")
    assert Ledger("../x.ledger") == there
    assert Ledger("x.ledger").location == os.path.realpath(tmp_path / "real" / "sub" / "x.ledger")
