# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reading the books again: what verify finds when somebody has been at them."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from dperm import ApproxDP, Gaussian, Laplace, Pure, PureDP
from dperm.accounting.serialize import event_to_json
from dperm.errors import LedgerError
from dperm.ledger import EntryKind, Ledger, transactions, verify
from dperm.ledger.entry import row_of
from dperm.ledger.sqlite.books import SQLiteBooks

ADD = "add_remove"


@pytest.fixture
def ledger(open_file):
    """Two accounts, one above the other; three releases, one of them burned; a limit that was raised."""
    open_file(PureDP(4.0, ADD), account="census")
    opened = open_file(PureDP(1.0, ADD), account="north", parents=["census"])
    opened.reserve(Laplace(8.0), request_id="a").commit("sha256:1")
    opened.reserve(Laplace(8.0), request_id="b").burn("stopped")
    opened.change_limit(PureDP(2.0, ADD), reason="more", by="owner")
    opened.reserve(Laplace(4.0), request_id="c").commit("sha256:2")
    return opened


def tampered(path, *statements, guards=True):
    """What somebody with write access does: drop the triggers, change lines, and put the triggers back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement, *values in statements:
            assert connection.execute(statement, values).rowcount != 0
        for _, sql in triggers if guards else ():
            connection.execute(sql)


def problems(path, *anchors, **options):
    return " ".join(verify(path, anchors, **options).problems)


NORTH = "account = 'north' AND"


def test_a_whole_ledger_has_no_problems_and_is_summed_up(ledger, path):
    found = verify(path, [ledger.anchor()], prices=True)
    assert (found.ok, found.problems, found.ledger) == (True, (), ledger.anchor().ledger)
    assert {name: one.entries for name, one in found.accounts.items()} == {"census": 7, "north": 8}
    assert found.accounts["north"].spent == {"epsilon": 0.5}
    assert found.accounts["north"].capacity == {"epsilon": 2.0}
    assert found.accounts["north"].head == ledger.anchor().hash


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            f"""UPDATE entry SET cost = '{{"epsilon": 1}}' WHERE {NORTH} seq = 2""",
            "line 2: it was changed after it was written",
        ),
        (
            f"UPDATE entry SET body = replace(body, 'sha256:1', 'sha256:9') WHERE {NORTH} seq = 3",
            "line 3: it was changed",
        ),
        (f"UPDATE entry SET at = '2020-01-01T00:00:00.000+00:00' WHERE {NORTH} seq = 2", "line 2: it was changed"),
        (f"UPDATE entry SET request_id = 'z' WHERE {NORTH} seq = 2", "line 2: it was changed"),
        (f"UPDATE entry SET kind = 'burn' WHERE {NORTH} seq = 3", "line 3: it was changed"),
        (f"UPDATE entry SET about = 4 WHERE {NORTH} seq = 3", "UNIQUE|line 3: it was changed"),
        (f"UPDATE entry SET kind = 'refund' WHERE {NORTH} seq = 3", "line 3 of account 'north' cannot be read"),
        (f"UPDATE entry SET body = '[1]' WHERE {NORTH} seq = 3", "line 3 of account 'north' cannot be read"),
        (f"UPDATE entry SET body = 'x' WHERE {NORTH} seq = 3", "line 3 of account 'north' cannot be read"),
        (f"DELETE FROM entry WHERE {NORTH} seq = 3", "line 4: lines before it are missing"),
        (f"DELETE FROM entry WHERE {NORTH} seq = 1", "line 2: lines before it are missing|was never opened"),
        ("DELETE FROM entry WHERE account = 'census'", "lines are missing between the first one"),
        ("UPDATE meter SET spent = 0 WHERE account = 'north'", "its meters are not the sums of its lines"),
        ("UPDATE meter SET capacity = 2 * capacity WHERE account = 'north'", "its meters are not the sums"),
        ("DELETE FROM meter WHERE account = 'north'", "its meters are not the sums"),
        (
            "INSERT INTO meter VALUES ('nobody', 'epsilon', 5, 0)",
            "account 'nobody' has a line or a meter, but was never opened",
        ),
        ("UPDATE ledger SET fingerprint_key = public_key", "the keys of the ledger do not match each other"),
        ("UPDATE ledger SET format = 4", "has format 4, and this version"),
        ("UPDATE ledger SET format = 1", "differ from those of a new ledger"),
    ],
)
def test_what_was_changed_is_found(ledger, path, change, said):
    path.with_name(f"{path.name}.lock").unlink()
    if "UNIQUE" in said:
        change = change.replace("about = 4", "about = 99")
    tampered(path, (change,))
    found = problems(path)
    assert any(part in found for part in said.split("|")), found


def test_dropped_triggers_are_found(ledger, path):
    tampered(path, ("UPDATE meter SET name = name",), guards=False)
    assert "triggers differ from those of a new ledger" in problems(path)


def test_an_account_without_its_meters_is_damaged_and_charges_nothing(ledger, path):
    tampered(path, ("DELETE FROM meter WHERE account = 'census'",))
    for ask in (lambda: ledger.check(Laplace(8.0)), lambda: Ledger(path, "census").spent):
        with pytest.raises(LedgerError, match="totals of account 'census' do not match its composition rule"):
            ask()
    with pytest.raises(LedgerError, match="account 'census': its meters are not the sums of its lines"):
        ledger.reserve(Laplace(8.0))
    assert len(ledger.entries()) == 8


def test_swapped_lines_are_found(ledger, path):
    path.with_name(f"{path.name}.lock").unlink()
    swap = "UPDATE entry SET seq = ? WHERE account = 'north' AND seq = ?"
    tampered(path, (swap, 99, 3), (swap, 3, 5), (swap, 5, 99))
    assert "line 3: it does not follow the line before it" in problems(path)


def test_a_removed_last_line_is_found_by_the_mark_and_by_an_anchor(ledger, path):
    anchor = Ledger(path, "census").anchor()
    tampered(path, ("DELETE FROM entry WHERE number = (SELECT MAX(number) FROM entry)",))
    assert "behind the mark" in problems(path)
    path.with_name(f"{path.name}.lock").unlink()
    assert verify(path, [ledger.anchor()]).ok
    assert "beyond the last line: the ledger was rolled back to an older state" in problems(path, anchor)


def forge(path, number, **changes):
    """Rewrite a line and everything after it, hashes and all; the signatures of old anchors cannot follow."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        lines = list(SQLiteBooks(connection).entries("north"))
    previous, statements = lines[number - 2].hash, []
    for line in lines[number - 1 :]:
        new = replace(line, previous=previous, **(changes if line.seq == number else {})).with_hash()
        cost, body = row_of(new)[5:7]
        statements.append(
            (
                "UPDATE entry SET cost = ?, body = ?, previous = ?, hash = ? WHERE account = 'north' AND seq = ?",
                *(cost, body, new.previous, new.hash, new.seq),
            )
        )
        previous = new.hash
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
    tampered(path, *statements)


def test_a_rewritten_chain_is_a_chain_and_the_anchor_knows_better(ledger, path):
    anchor = ledger.anchor()
    forge(path, 3, body={"digest": "sha256:other"})
    assert verify(path).ok, "whoever can write the file can rewrite it"
    assert "another hash than the line: the ledger was rolled back and then continued differently" in problems(
        path, anchor
    )


def test_a_price_that_was_not_paid_is_found_when_prices_are_worked_out(open_file, path):
    ledger = open_file(PureDP(1.0, ADD), account="north")
    ledger.reserve(Laplace(8.0), request_id="a")
    capacity, _ = ledger.entries()[1].meters["epsilon"]
    forge(path, 2, cost={"epsilon": 1}, meters={"epsilon": (capacity, 1)})
    tampered(path, ("UPDATE meter SET spent = 1 WHERE account = 'north'",))
    assert verify(path).ok
    assert "line 2: its event costs more than the charged amount" in problems(path, prices=True)


@pytest.mark.parametrize("cost", [{"epsilon": -1}, {"rho": 1}, {}, {"epsilon": 0.5}, {"epsilon": True}])
def test_a_cost_that_makes_no_sense_is_found(ledger, path, cost):
    forge(path, 2, cost=cost)
    assert "line 2: its cost is not in the currencies of the account" in problems(path)


def test_a_parent_that_was_spared_is_found(ledger, path):
    event = json.loads(event_to_json(Pure(1e-9, ADD)))
    body = {**ledger.entries()[1].body, "event": event}
    forge(path, 2, body=body)
    assert "line 2: its parent 'census' was not charged" in problems(path)


def test_a_charge_above_for_something_else_does_not_count(ledger, path):
    """A line of the parent belongs to one charge of the child, by the token of both."""
    forge(path, 2, body={**ledger.entries()[1].body, "token": "0" * 32})
    assert "line 2: its parent 'census' was not charged" in problems(path)


def test_sums_and_promises_that_a_line_only_claims_are_found(ledger, path):
    capacity, spent = ledger.entries()[2].meters["epsilon"]
    forge(path, 3, meters={"epsilon": (capacity, spent - 1)})
    assert "line 3: its totals are not the sums of the lines up to it" in problems(path)
    forge(path, 6, body={**ledger.entries()[5].body, "promise": {"kind": "PureDP", "epsilon": 1.0, "adjacency": ADD}})
    assert "line 6: its promise is not the largest limit so far" in problems(path)


def test_a_charge_without_approval_is_found(open_file, path):
    ledger = open_file(PureDP(1.0, ADD), account="north", approval=True)
    for name in ("a", "b"):
        ledger.approve(name, event=Laplace(8.0), reason="r", by="b")
        ledger.reserve(Laplace(8.0), request_id=name).commit("sha256:1")
    assert verify(path).ok
    forge(path, 2, body={**ledger.entries()[1].body, "event": {"kind": "other"}})
    assert "line 3: it was charged without approval" in problems(path)


def test_more_than_the_limit_is_found(ledger, path):
    forge(path, 2, cost={"epsilon": 3 * 2**ledger.account_facts.exponent})
    assert "line 2: the spent amount exceeds the limit" in problems(path)


def test_a_limit_below_what_was_spent_is_found(ledger, path):
    limit = {"kind": "PureDP", "epsilon": 0.125, "adjacency": ADD}
    forge(path, 6, body={**ledger.entries()[5].body, "limit": limit})
    assert "line 6: the limit is below the spent amount" in problems(path)


def test_an_older_copy_with_its_log_is_whole_and_the_anchor_knows_better(ledger, path, tmp_path):
    """A torn log, or a backup: a valid shorter ledger. The mark beside it refuses; without the mark, the anchor."""
    old = tmp_path / "old" / path.name
    old.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection, closing(sqlite3.connect(old)) as copy:
        connection.backup(copy)
    ledger.reserve(Laplace(8.0)).commit("sha256:3")
    assert verify(old).ok
    assert "beyond the last line: the ledger was rolled back" in problems(old, ledger.anchor())
    shutil.copy(path.with_name(f"{path.name}.lock"), old.with_name(f"{old.name}.lock"))
    assert "behind the mark beside it" in problems(old)


def test_a_fork_is_found_by_the_anchors_of_either_branch(ledger, path, tmp_path):
    twin = tmp_path / "twin.ledger"
    with closing(sqlite3.connect(path)) as connection, closing(sqlite3.connect(twin)) as copy:
        connection.backup(copy)
    ledger.reserve(Laplace(8.0)).commit("sha256:3")
    other = Ledger(twin, "north")
    transactions._last.clear()  # as in another process
    other.reserve(Laplace(8.0)).commit("sha256:4")
    assert verify(path).ok
    assert verify(twin).ok
    assert "another hash than the line" in problems(path, other.anchor())
    assert "another hash than the line" in problems(twin, ledger.anchor())


def test_what_is_no_ledger_is_a_problem_and_no_exception(tmp_path):
    (tmp_path / "text").write_text("census")
    assert "holds no ledger" in problems(tmp_path / "text")
    assert "there is no ledger at" in problems(tmp_path / "nothing")


def test_the_filter_of_many_small_releases_is_replayed_too(open_at, location):
    ledger = open_at(ApproxDP(1.0, 1e-6, ADD), blocks=50, composition="advanced")
    for _ in range(3):
        ledger.reserve(Gaussian(50.0)).commit("sha256:1")
    assert verify(location, [ledger.anchor()], prices=True).ok
    assert [line.kind for line in ledger.entries()[:2]] == [EntryKind.OPEN, EntryKind.RESERVE]
