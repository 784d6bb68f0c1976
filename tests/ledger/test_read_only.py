# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A ledger on a read-only medium is verified, or the reason is named; it is never reported as damaged."""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dperm import Pure, PureDP
from dperm.errors import LedgerError
from dperm.ledger import Ledger, verify
from dperm.ledger.sqlite import handles

QUARTER = Pure(0.25, "replace_one")
NOBODY = 65534


@pytest.fixture
def folder():
    """A directory that every user can read."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def ledger_in(folder, *, closed):
    """A ledger with three lines; unless ``closed``, two of them are in the log only."""
    path = folder / "made.ledger"
    ledger = Ledger.open(path, PureDP(1.0, "replace_one"), dataset="census")
    handles.forget(path)
    ledger.reserve(QUARTER, request_id="a").commit("sha256:00")
    if closed:
        handles.forget(path)
    for file in folder.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copy(file, folder / file.name.replace("made", "census"))
            (folder / file.name.replace("made", "census")).chmod(0o444)
    return folder / "census.ledger"


def answer(function):
    """The result or the error of a function, as another user if this one ignores permissions."""
    try:
        return function()
    except LedgerError as error:
        return f"{type(error).__name__}: {error}"


def unprivileged(function):
    """Run the function without the rights of root; the result has to be plain data."""
    if os.geteuid() != 0:
        return answer(function)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY)
            os.write(writing, pickle.dumps(answer(function)))
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as file:
        return pickle.loads(file.read())


def charge(path):
    return Ledger(path).reserve(QUARTER).request_id


@pytest.mark.parametrize("writable_folder", [False, True], ids=["directory", "file"])
def test_a_read_only_ledger_is_verified_and_read_but_not_charged(folder, writable_folder):
    path = ledger_in(folder, closed=True)
    folder.chmod(0o777 if writable_folder else 0o555)
    assert unprivileged(lambda: (verify(path).problems, verify(path).accounts["main"].entries)) == ((), 3)
    assert unprivileged(lambda: Ledger(path).spent["epsilon"]) == 0.25
    refused = unprivileged(lambda: charge(path))
    assert "LedgerError" in refused and "Nothing was charged" in refused
    assert len(Ledger(path).entries()) == 3


def copied(path, to):
    """Problems and entries of a backup."""
    Ledger(path).backup(to)
    return verify(to).problems, len(Ledger(to).entries()), os.stat(to).st_mode & 0o777


@pytest.mark.parametrize("writable_folder", [False, True], ids=["directory", "file"])
def test_a_read_only_ledger_has_a_backup_that_is_whole(folder, writable_folder):
    path, elsewhere = ledger_in(folder, closed=True), folder / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    folder.chmod(0o777 if writable_folder else 0o555)
    assert unprivileged(lambda: copied(path, elsewhere / "copy")) == ((), 3, 0o600)


def test_a_log_that_cannot_be_merged_is_named(folder):
    path = ledger_in(folder, closed=False)
    assert path.with_name("census.ledger-wal").stat().st_size > 0
    folder.chmod(0o555)
    said = unprivileged(lambda: verify(path).problems)
    assert "Unreadable" in said and "census.ledger-wal" in said and "was not read" in said and "Copy the file" in said


def test_a_missing_permission_is_no_finding(folder):
    path = ledger_in(folder, closed=True)
    path.chmod(0o000)
    folder.chmod(0o555)
    assert "permission denied" in unprivileged(lambda: verify(path).problems)


def test_a_damaged_read_only_ledger_is_still_found(folder):
    path = ledger_in(folder, closed=True)
    path.chmod(0o644)
    content = path.read_bytes().replace(b'"epsilon": ', b'"epsilon":1', 1)
    path.write_bytes(content)
    path.chmod(0o444)
    folder.chmod(0o555)
    assert unprivileged(lambda: verify(path).problems)


@pytest.mark.skipif(os.geteuid() != 0, reason="a read-only mount needs root")
@pytest.mark.parametrize("closed", [True, False], ids=["without log", "with log"])
def test_a_read_only_mount(folder, closed):
    path = ledger_in(folder, closed=closed)
    mount = Path(tempfile.mkdtemp())
    bind = [["mount", "--bind", folder, mount], ["mount", "-o", "remount,bind,ro", mount]]
    if any(subprocess.run(words, capture_output=True).returncode for words in bind):
        subprocess.run(["umount", mount], capture_output=True)
        pytest.skip("this system does not allow mounts")
    copy = Path(tempfile.mkdtemp()) / "copy"
    try:
        found = answer(lambda: verify(mount / path.name).problems)
        backup = answer(lambda: copied(mount / path.name, copy))
        charged = answer(lambda: charge(mount / path.name))
    finally:
        handles.forget(mount / path.name)
        subprocess.run(["umount", "-l", mount], check=True)
        mount.rmdir()
        shutil.rmtree(copy.parent)
    assert backup == ((), 3, 0o600) if closed else "census.ledger-wal" in backup
    assert found == () if closed else "census.ledger-wal" in found
    assert ("LedgerError" in charged and "Nothing was charged" in charged) or not closed


def test_a_read_only_ledger_that_is_changed_after_all_is_read_anew(folder, monkeypatch):
    """The connection that takes the file as unchangeable is dropped when the file changes."""
    path = ledger_in(folder, closed=True)
    path.chmod(0o644)
    original = handles._connect

    def refuse(path):
        raise handles.sqlite3.OperationalError("unable to open database file")

    with monkeypatch.context() as patched:
        patched.setattr(handles, "_connect", refuse)
        patched.setattr(handles, "_is_read_only", lambda path: True)
        assert len(Ledger(path).entries()) == 3
    assert handles._connect is original
    subprocess.run(
        [sys.executable, "-c", f"from test_read_only import charge; charge({str(path)!r})"],
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{Path(__file__).parent}"},
        check=True,
    )
    assert len(Ledger(path).entries()) == 4


def test_a_read_only_database_is_verified():
    postgres = pytest.importorskip("postgres")
    with postgres.lent() as url:
        Ledger.open(url, PureDP(1.0, "replace_one"), dataset="census").reserve(QUARTER).commit("sha256:00")
        command = [sys.executable, "-m", "dperm", "ledger", "verify", url]
        settings = {**os.environ, "PGOPTIONS": "-c default_transaction_read_only=on"}
        found = subprocess.run(command, capture_output=True, text=True, env=settings)
    assert (found.returncode, found.stderr) == (0, ""), found.stdout
    assert "3 entries, all valid" in found.stdout
