# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledgers of earlier formats are read as they are, and migrated before they are charged: whole, or not at all."""

import json
import os
import shutil
import signal
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from torch_crashes import in_a_process

from dperm import Pure, PureDP
from dperm.cli.app import app
from dperm.errors import LedgerError, ParameterError
from dperm.ledger import Anchor, Ledger, migrate, transactions, verify
from dperm.ledger.sqlite import handles

WRITTEN = Path(__file__).parents[1] / "compatibility"
OLD = WRITTEN / "0.8.0"
EXPECTED = {1: OLD / "expected.json", 2: WRITTEN / "0.12.0" / "ledgers" / "expected.json"}
LEDGERS = {1: OLD / "ledgers", 2: WRITTEN / "0.12.0" / "ledgers"}


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """Every test has a copy of one ledger, which a process would take for one that was put back."""
    monkeypatch.setattr(transactions, "_last", {})


@pytest.fixture(params=[1, 2])
def number(request):
    """An earlier format."""
    return request.param


@pytest.fixture(params=["sqlite", "postgres"])
def old(request, number, tmp_path):
    """A ledger of an earlier format, and its anchors."""
    written = json.loads(EXPECTED[number].read_text())[request.param]
    anchors = [Anchor.from_json(was["anchor"]) for was in written.values()]
    if request.param == "sqlite":
        yield str(shutil.copy(LEDGERS[number] / "sqlite.ledger", tmp_path / "old.ledger")), anchors
        return
    import postgres

    with postgres.lent() as url:
        postgres.shared().run((LEDGERS[number] / "postgres.sql").read_text(), url)
        yield url, anchors


def account_of(location):
    """The account with a limit of pure privacy, if there is one, or any."""
    return Ledger(location, account=Ledger(location).accounts()[0])


def content(location):
    return [Ledger(location, account=name).entries() for name in Ledger(location).accounts()]


def event_for(ledger):
    return Pure(0.0, ledger.adjacency)


def test_an_old_ledger_is_read_and_refuses_charges(old, number):
    location, anchors = old
    ledger = account_of(location)
    assert verify(location, anchors, prices=True).problems == ()
    before = content(location)
    for action in (
        lambda: ledger.check(event_for(ledger)),
        lambda: ledger.reserve(event_for(ledger)),
        lambda: Ledger.open(location, PureDP(1.0, "add_remove"), account="new", dataset="new"),
    ):
        with pytest.raises(LedgerError, match=rf"format {number}.*can only be read.*dperm ledger migrate"):
            action()
    assert content(location) == before


def test_a_migrated_ledger_has_every_line_and_takes_charges(old, number, tmp_path):
    location, anchors = old
    before = content(location)
    done = migrate(location, tmp_path / "backup")
    assert (done.before, done.after, done.changed, done.backup) == (number, 3, True, tmp_path / "backup")
    assert content(location) == before
    assert verify(location, anchors, prices=True).problems == ()
    ledger = account_of(location)
    reservation = ledger.reserve(event_for(ledger), request_id="after migration")
    reservation.lease(3)
    reservation.record_stage("training", {"digest": "sha256:0"})
    reservation.commit("sha256:1")
    assert verify(location, [*anchors, ledger.anchor()], prices=True).problems == ()


def test_a_second_migration_changes_nothing(old, tmp_path):
    location, _ = old
    migrate(location, tmp_path / "backup")
    after = content(location)
    again = migrate(location, tmp_path / "other")
    assert (again.before, again.after, again.changed, again.backup) == (3, 3, False, None)
    assert content(location) == after and not (tmp_path / "other").exists()


def test_the_backup_is_private_and_is_the_ledger_as_it_was(old, number, tmp_path):
    location, anchors = old
    before, mask = content(location), os.umask(0)
    try:
        backup = migrate(location, tmp_path / "backup").backup
    finally:
        os.umask(mask)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.glob(".*backup*")) == []
    if location.startswith("postgresql"):
        import postgres

        with postgres.lent() as other:
            postgres.shared().run(backup.read_text(), other)
            assert verify(other, anchors, prices=True).problems == ()
            assert content(other) == before
            assert migrate(other, tmp_path / "second").before == number
            ledger = account_of(other)
            ledger.reserve(event_for(ledger)).commit("sha256:1")  # numbers of lines go on
        return
    assert verify(backup, anchors, prices=True).problems == ()
    assert content(str(backup)) == before


def test_a_file_that_exists_is_no_backup(old, number, tmp_path):
    location, _ = old
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(LedgerError, match="exists already"):
        migrate(location, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine"
    with pytest.raises(ParameterError, match="directory that exists"):
        migrate(location, tmp_path / "none" / "backup")
    assert migrate(location, tmp_path / "backup").before == number


def crash_points(location, number):
    """Just before each statement of the migration, and before the commit."""
    if location.startswith("postgresql"):
        from dperm.ledger.postgres.tables import migration

        return [*migration(number), "COMMIT"]
    from dperm.ledger.sqlite.tables import migration

    return [*migration(number), "COMMIT"]


def test_a_crash_leaves_the_old_ledger_or_the_new_one(old, number, tmp_path):
    """Killed at each statement; then the ledger is whole, of the old format, and the next migration succeeds."""
    location, anchors = old
    before, points = content(location), crash_points(location, number)
    handles.forget(Path(location))
    for place, fatal in enumerate(points):

        def killed(fatal=fatal, place=place):
            _kill_at(location, fatal)
            migrate(location, tmp_path / f"backup {place}")

        assert in_a_process(killed) == -signal.SIGKILL, fatal
        assert (tmp_path / f"backup {place}").exists()
    assert verify(location, anchors, prices=True).problems == ()
    assert content(location) == before
    assert migrate(location, tmp_path / "backup").before == number
    assert verify(location, anchors, prices=True).problems == () and content(location) == before


def _kill_at(location, fatal):
    """Be killed instead of running this statement."""
    if location.startswith("postgresql"):
        import psycopg

        execute = psycopg.Connection.execute

        def watched(connection, query, *rest, **options):
            if query == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return execute(connection, query, *rest, **options)

        psycopg.Connection.execute = watched
        return
    opened = handles.open_connection

    class Watched(sqlite3.Connection):
        def execute(self, query, *rest):
            if query == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().execute(query, *rest)

    def watching(path, *mode):
        connect = sqlite3.connect
        sqlite3.connect = lambda *args, **options: connect(*args, factory=Watched, **options)
        try:
            return opened(path, *mode)
        finally:
            sqlite3.connect = connect

    handles.open_connection = watching


def test_a_damaged_ledger_is_not_migrated(tmp_path):
    path = Path(shutil.copy(OLD / "ledgers" / "sqlite.ledger", tmp_path / "old.ledger"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (trigger,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'entry_unchanged'").fetchone()
        connection.execute("DROP TRIGGER entry_unchanged")
        connection.execute("UPDATE entry SET at = '2020' WHERE number = 2")
        connection.execute(trigger)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="changed after it was written"):
        migrate(path)
    assert path.read_bytes() == before and not list(tmp_path.glob("*format-1*"))


def test_only_the_owner_of_a_database_migrates(tmp_path):
    import postgres

    from dperm.ledger.postgres import grant_writers

    with postgres.lent() as url:
        postgres.shared().run((OLD / "ledgers" / "postgres.sql").read_text(), url)
        role = postgres.shared().role()
        grant_writers(url, role)
        with pytest.raises(LedgerError, match="belongs to another role"):
            migrate(postgres.as_role(url, role), tmp_path / "backup")
        assert not (tmp_path / "backup").exists()
        migrate(url, tmp_path / "backup")
        ledger = account_of(postgres.as_role(url, role))
        ledger.reserve(event_for(ledger), request_id="a").lease(3)  # writers stay writers


def test_the_command_names_the_backup(old, number, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    location, _ = old
    monkeypatch.chdir(tmp_path)
    first = CliRunner().invoke(app, ["ledger", "migrate", location])
    assert first.exit_code == 0, first.output
    assert f"format {number} to 3" in first.output and "signing key" in " ".join(first.output.split())
    assert len(list(tmp_path.glob(f"*.format-{number}*"))) >= 1
    again = CliRunner().invoke(app, ["ledger", "migrate", location, "--json"])
    assert json.loads(again.stdout) == {"before": 3, "after": 3, "changed": False, "backup": None}
    refused = CliRunner().invoke(app, ["ledger", "migrate", str(tmp_path / "nothing.ledger")])
    assert refused.exit_code == 3 and "no ledger" in refused.output
