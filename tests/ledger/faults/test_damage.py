# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Damage by hand, which no check sum of SQLite sees: keys, triggers, meters, the mark."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from ledger_copies import EVENT, Original, original

from dperm.errors import LedgerError
from dperm.ledger import Ledger, verify

GUARDS = ("entry_unchanged", "entry_kept", "meter_forward", "meter_kept", "ledger_unchanged", "ledger_kept")


@pytest.fixture
def whole(tmp_path: Path) -> Original:
    return original(tmp_path, settled=5, logged=1)


def damaged(whole: Original, folder: Path, *statements: str) -> Path:
    """A copy, changed by somebody who knows SQL, and took the triggers away meanwhile."""
    path = whole.copied(folder / "damaged")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        query = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        guards = dict(connection.execute(query).fetchall())
        for name in guards:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for sql in guards.values():
            connection.execute(sql)
    return path


def test_taking_the_triggers_away_and_putting_them_back_is_no_damage(whole, tmp_path):
    assert verify(damaged(whole, tmp_path), [whole.anchor]).ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET signing_key = '00' || substr(signing_key, 3)",
        "UPDATE ledger SET public_key = '00' || substr(public_key, 3)",
        "UPDATE ledger SET fingerprint_key = '00' || substr(fingerprint_key, 3)",
        "UPDATE ledger SET public_key = '?' || substr(public_key, 2)",
        "UPDATE ledger SET signing_key = '?' || substr(signing_key, 2)",
        "UPDATE ledger SET fingerprint_key = 'key'",
        "UPDATE meter SET spent = spent - 1",
        "UPDATE meter SET capacity = capacity + 1",
        "INSERT INTO meter VALUES ('main', 'rho', 9, 0)",
        "UPDATE entry SET body = json_set(body, '$.facts.seeded', json('true')) WHERE seq = 2",
        "UPDATE entry SET cost = '{\"epsilon\": 1}' WHERE seq = 2",
        "UPDATE entry SET at = '2020' WHERE seq = 3",
        "UPDATE entry SET cost = '[]' WHERE seq = 2",
        "UPDATE entry SET body = '7' WHERE seq = 2",
        "UPDATE entry SET kind = 'gift' WHERE seq = 2",
        "DELETE FROM entry WHERE seq = 13",
        "DELETE FROM entry WHERE seq = 4",
    ],
)
def test_what_was_changed_in_the_tables_is_found(whole, tmp_path, statement):
    assert not verify(damaged(whole, tmp_path, statement), [whole.anchor]).ok


@pytest.mark.parametrize("name", GUARDS)
def test_a_trigger_that_is_missing_is_found(whole, tmp_path, name):
    path = damaged(whole, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"DROP TRIGGER {name}")
    assert not verify(path, [whole.anchor]).ok


@pytest.mark.parametrize("mark", [b"x" * 160, b"0" * 50, b"\0" * 20 + b"1"], ids=["nonsense", "half", "zeros"])
def test_a_damaged_mark_is_refused_and_not_taken_for_none(whole, tmp_path, mark):
    path = whole.copied(tmp_path / "damaged", lock=mark)
    with pytest.raises(LedgerError, match="mark"):
        Ledger(str(path)).reserve(EVENT)
    assert not verify(path).ok


@pytest.mark.parametrize("mark", [None, b"", b"\0" * 160], ids=["no file", "empty", "zeros"])
def test_a_mark_that_was_never_written_is_made(whole, tmp_path, mark):
    """A file system may leave zeros of a file that was never synced."""
    path = whole.copied(tmp_path / "copy", lock=mark)
    Ledger(str(path)).reserve(EVENT)
    assert path.with_name("x.ledger.lock").read_bytes().strip(b"\0") != b""
    assert verify(path, [whole.anchor]).ok
