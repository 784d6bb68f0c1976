# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A backup is whole, verifies, and is readable by its owner only: it holds the signing key."""

import os
import stat
import threading

import pytest
from typer.testing import CliRunner

from dperm import Pure, PureDP
from dperm.cli.app import app
from dperm.errors import LedgerError, ParameterError
from dperm.ledger import Ledger, verify

SMALL = Pure(0.001, "replace_one")


@pytest.fixture
def open_umask():
    """Every permission that a program asks for is granted."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def ledger(open_at):
    made = open_at(PureDP(1.0, "replace_one"))
    made.reserve(SMALL, request_id="a").commit("sha256:00")
    return made


@pytest.mark.parametrize("way", ["library", "command"])
def test_only_the_owner_may_read_a_backup(ledger, location, tmp_path, open_umask, way):
    copy = tmp_path / "copies" / "copy"
    copy.parent.mkdir()
    watched = set()
    real = os.open

    def noted(path, *given, **more):
        found = real(path, *given, **more)
        if str(path).startswith(str(copy.parent)) and stat.S_ISREG(os.fstat(found).st_mode):
            watched.add(stat.S_IMODE(os.fstat(found).st_mode))
        return found

    os.open = noted
    try:
        if way == "library":
            ledger.backup(copy)
        else:
            result = CliRunner().invoke(app, ["ledger", "backup", str(location), str(copy)])
            assert result.exit_code == 0 and "contains the signing key" in result.stdout, result.output
    finally:
        os.open = real
    assert watched == {0o600}
    assert [path.name for path in copy.parent.iterdir()] == ["copy"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_backup_is_the_same_ledger(ledger, location, tmp_path):
    copy = tmp_path / "copy"
    ledger.backup(copy)
    if "://" not in str(location):
        assert Ledger(copy).entries() == ledger.entries()
        assert verify(copy, [ledger.anchor()], prices=True).ok
        return
    import postgres

    with postgres.lent() as url:
        postgres.shared().run(copy.read_text(), url)
        assert Ledger(url).entries() == ledger.entries()
        assert verify(url, [ledger.anchor()], prices=True).ok


def test_a_backup_replaces_nothing_and_leaves_nothing_behind(ledger, tmp_path):
    copy = tmp_path / "copies" / "copy"
    with pytest.raises(ParameterError, match="directory that exists"):
        ledger.backup(copy)
    copy.parent.mkdir()
    copy.write_text("mine")
    with pytest.raises(LedgerError, match="exists already"):
        ledger.backup(copy)
    assert copy.read_text() == "mine" and [path.name for path in copy.parent.iterdir()] == ["copy"]


def test_a_backup_of_a_ledger_in_use_is_consistent(open_file, tmp_path):
    ledger = open_file(PureDP(1.0, "replace_one"))
    done = threading.Event()

    def charge():
        while not done.is_set():
            ledger.reserve(SMALL).commit("sha256:00")

    writer = threading.Thread(target=charge)
    writer.start()
    try:
        for number in range(5):
            ledger.backup(tmp_path / f"copy{number}")
            assert verify(tmp_path / f"copy{number}").ok
    finally:
        done.set()
        writer.join()
