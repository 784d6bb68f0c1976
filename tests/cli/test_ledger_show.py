# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger show``."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm import ZCDP, ApproxDP, Approximate, Gaussian, Laplace, Poisson, Pure, PureDP
from dperm.accounting import PerturbedObjective, RandomizedResponse, ReplaceOneOnly, WithoutReplacement
from dperm.accounting.serialize import event_to_json
from dperm.accounting.spelling import spelled
from dperm.cli.event_grammar import Substitution
from dperm.cli.event_parser import read_expression
from dperm.cli.output import up
from dperm.errors import DpermWarning
from dperm.ledger import Anchor, Ledger, verify
from dperm.ledger.entry import row_of

DIGEST = f"sha256:{'ab' * 32}"


@pytest.fixture
def census(tmp_path, monkeypatch):
    """A ledger with one release of each ending, a child, an approval and a change of the limit."""
    monkeypatch.chdir(tmp_path)
    declared = {"dataset": "census 2026", "unit": "one person"}
    ledger = Ledger.open("census.ledger", ApproxDP(3.0, 1e-6, "replace_one"), **declared, blocks=10)
    ledger.reserve(Pure(0.25, "replace_one"), request_id="fit-1", facts={"seeded": False}).commit(DIGEST)
    ledger.reserve(Laplace(8.0), facts={"seeded": False}).burn("RuntimeError after the charge")
    ledger.reserve(Laplace(8.0), facts={"seeded": True}).commit(DIGEST)
    ledger.reserve(Pure(0.125, "replace_one") * 2 + Pure(0.25, "replace_one"))
    with pytest.warns(DpermWarning, match="but its ancestor 'main', which has"):
        child = Ledger.open(
            "census.ledger",
            ZCDP(0.5, "replace_one"),
            account="part",
            parents=["main"],
            approval=True,
            dataset="region 7",
            unit="one person",
        )
    child.approve("fit-8", by="A. Officer", reason="as planned", event=Gaussian(20.0) * 10)
    ledger = Ledger("census.ledger", "main")
    ledger.change_limit(ApproxDP(4.0, 1e-6, "replace_one"), by="B. Officer", reason="second wave")
    return ledger


def test_json_agrees_with_the_library(answered, census):
    found = answered("ledger show census.ledger")
    assert [account["account"] for account in found["accounts"]] == ["main", "part"]
    main = found["accounts"][0]
    assert main["spent"] == census.spent
    assert main["capacity"] == census.capacity
    assert main["remaining"]["epsilon"] == census.remaining.epsilon
    assert (main["releases"], main["burned"], main["open"], main["seeded"]) == (2, 1, 1, 1)
    assert Anchor.from_receipt(main["anchor"]) == census.anchor()
    assert found["ledger"] == census.anchor().ledger
    assert "entries" not in main


def test_one_account_can_be_asked_for(answered, census):
    (part,) = answered("ledger show census.ledger --account part")["accounts"]
    assert (part["account"], part["parents"], part["approval"]) == ("part", ["main"], True)


def test_json_lists_every_booking_with_how_it_ended(answered, census):
    main, part = answered("ledger show census.ledger --entries")["accounts"]
    kinds = [entry["kind"] for entry in main["entries"]]
    assert kinds == ["open", "reserve", "reserve", "reserve", "reserve", "limit"]
    booked = [entry for entry in main["entries"] if entry["kind"] == "reserve"]
    assert [entry["state"] for entry in booked] == ["committed", "burned", "committed", "reserved"]
    assert [entry["seeded"] for entry in booked] == [False, False, True, False]
    assert (booked[0]["request_id"], booked[0]["digest"]) == ("fit-1", DIGEST)
    assert booked[0]["cost"] == dict(census.bookings()[0].cost)
    assert booked[1]["reason"] == "RuntimeError after the charge"
    assert main["entries"][-1]["by"] == "B. Officer"
    assert part["entries"][-1]["request_id"] == "fit-8"
    assert part["entries"][-1]["event"] == json.loads(event_to_json(Gaussian(20.0) * 10))


def test_the_table_rounds_what_is_spent_up_and_what_is_left_down(dperm, census):
    rows = {tuple(line.split()[:2]): line.split() for line in dperm("ledger show census.ledger").stdout.splitlines()}
    _, _, limit, spent, left, *_ = rows["main", "epsilon"]
    assert limit == "4"
    assert Decimal(spent) >= Decimal(census.spent["epsilon"])
    assert Decimal(left) <= Decimal(census.remaining.epsilon)
    assert rows["releases", "10"][:4] == ["releases", "10", "4", "6"]


def test_the_table_says_what_is_open_and_what_is_not_private(dperm, census):
    out = dperm("ledger show census.ledger").stdout
    assert "main: 1 open charge. A run is in progress, or it was killed" in out
    assert "main: 1 release is NOT PRIVATE" in out
    assert "part: " in out
    assert "Every release needs an approval." in out
    assert "Every release is also charged to main." in out


def test_a_ledger_without_such_entries_says_nothing_of_them(dperm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Ledger.open("plain.ledger", PureDP(1.0, "replace_one"), dataset="x")
    out = dperm("ledger show plain.ledger --entries").stdout
    for word in ("NOT PRIVATE", " 1 open", "OPEN", "approval"):
        assert word not in out


def test_the_entries_are_listed_with_costs_requests_and_digests(dperm, census):
    lines = dperm("ledger show census.ledger --entries").stdout.splitlines()
    first = next(place for place, line in enumerate(lines) if "released  pure(0.25)" in line)
    cost = up(census.bookings()[0].cost["epsilon"])
    assert f"epsilon {cost}, 1 release; request fit-1; sha256:abababababab" in lines[first + 1]
    assert "; closed by entry 3" in lines[first + 1]
    seeded = [lines[place + 1] for place, line in enumerate(lines) if "released  laplace(8)" in line]
    assert ["NOT PRIVATE (seeded)" in line for line in seeded] == [True]
    assert any("OPEN      pure(0.125) * 2 + pure(0.25)" in line for line in lines)
    assert any("burned: RuntimeError after the charge" in line for line in lines)
    assert any("limit     now epsilon 4 at delta 1e-6, replace_one" in line for line in lines)
    assert any("by B. Officer: second wave" in line for line in lines)
    assert any("only for gaussian(20) * 10; by A. Officer: as planned" in line for line in lines)


def test_anchors_of_all_accounts_are_written_and_verify_reads_them(dperm, census, tmp_path):
    assert dperm("ledger show census.ledger --write-anchor anchors.json").exit_code == 0
    data = json.loads((tmp_path / "anchors.json").read_text())
    assert [Anchor.from_receipt(one) for one in data] == [census.anchor(), Ledger("census.ledger", "part").anchor()]
    assert verify("census.ledger", [Anchor.from_receipt(one) for one in data]).ok


def test_an_anchor_that_is_there_is_not_overwritten(refused, dperm, census, tmp_path):
    (tmp_path / "anchor.json").write_text("kept")
    assert "--force" in refused("ledger show census.ledger --write-anchor anchor.json")
    assert (tmp_path / "anchor.json").read_text() == "kept"
    assert dperm("ledger show census.ledger --write-anchor anchor.json --force").exit_code == 0
    assert "signature" in (tmp_path / "anchor.json").read_text()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ledger show no-such.ledger", ["there is no ledger", "no-such.ledger"]),
        ("ledger show census.ledger --account nobody", ["no account 'nobody'", "'main', 'part'"]),
        ("ledger show diary.ledger", ["holds no ledger"]),
        ("ledger show folder", ["folder"]),
    ],
)
def test_what_is_not_there_is_refused(dperm, census, tmp_path, line, words):
    (tmp_path / "diary.ledger").write_text("a diary. " * 200)
    (tmp_path / "folder").mkdir()
    result = dperm(line)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr


def test_reading_makes_no_file(dperm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dperm("ledger show no-such.ledger")
    assert list(tmp_path.iterdir()) == []


EVENTS = [
    Gaussian(2.0) * 10,
    Poisson(Gaussian(1.5), rate=0.01) * 1000 + Laplace(10.0),
    (Gaussian(2.0) + Laplace(3.0)) * 4,
    Pure(0.1, "replace_one"),
    Pure(0.1, "add_remove"),
    Approximate(0.1, 1e-9, "replace_one"),
    RandomizedResponse(1.0, values=4),
    WithoutReplacement(Gaussian(2.0), rate=0.25),
    ReplaceOneOnly(Gaussian(2.0)),
    PerturbedObjective(3.0, 0.1, monotone=False),
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_an_event_is_spelled_as_it_would_be_typed(event):
    text = spelled(json.loads(event_to_json(event)), "replace_one")
    assert read_expression(text).event(Substitution("replace_one")) == event


@given(st.floats(min_value=1e-2, max_value=1e9), st.integers(min_value=1, max_value=10**6))
def test_a_spelled_number_loses_no_digit(noise, count):
    event = Gaussian(noise) * count
    text = spelled(json.loads(event_to_json(event)), "replace_one")
    assert read_expression(text).event(Substitution("replace_one")) == event


def test_an_event_that_is_not_known_is_named_by_its_type():
    assert spelled({"type": "of_the_future", "epsilon": 1.0}, "replace_one") == "of_the_future(1)"
    assert spelled({}, "replace_one") == "?()"


def test_what_writers_put_into_the_books_stays_on_its_line(tmp_path, monkeypatch, dperm):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open("census.ledger", PureDP(1.0, "replace_one"), dataset="x")
    ledger.reserve(Pure(0.5, "replace_one")).burn(
        "oops\n 9  2026-01-01 00:00:00  limit     now epsilon 20\x1b]0;title\x07"
    )
    said = dperm("ledger show census.ledger --entries").stdout
    assert "\x1b" not in said and "oops\\n 9" in " ".join(said.split())
    assert not any(line.startswith(" 9 ") for line in said.splitlines())


def changed(path, statement):
    """Change the tables behind the ledger's back."""
    with closing(sqlite3.connect(path)) as connection:
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, text in guards:
            connection.execute(text)
        connection.commit()


def forged_tail(path):
    """Lower the spending in the meters and in the last line, and seal that line again: its own hash is right."""
    line = Ledger(path, "main").entries()[-1]
    lower = {name: (capacity, 1) for name, (capacity, _) in line.meters.items()}
    new = replace(line, meters=lower).with_hash()
    changed(path, f"UPDATE entry SET body = '{row_of(new)[6]}', hash = '{new.hash}' WHERE hash = '{line.hash}'")
    changed(path, "UPDATE meter SET spent = 1 WHERE account = 'main'")
    (path.parent / f"{path.name}.lock").unlink()


@pytest.mark.parametrize(
    "tamper",
    [
        lambda path: changed(path, "UPDATE meter SET spent = 0 WHERE account = 'main' AND name = 'epsilon'"),
        lambda path: changed(path, 'UPDATE entry SET cost = \'{"epsilon": 1, "delta": 1}\' WHERE seq = 2'),
        forged_tail,
    ],
    ids=["total", "entry", "total and last line"],
)
def test_a_tampered_total_is_refused_and_not_shown(dperm, census, tmp_path, tamper):
    tamper(tmp_path / "census.ledger")
    for line in ("ledger show census.ledger", "ledger show census.ledger --account part --json"):
        result = dperm(line)
        assert (result.exit_code, result.stdout) == (3, ""), result.output
        assert "cannot be trusted" in result.stderr and "dperm ledger verify" in result.stderr


def test_a_tampered_total_in_postgresql_is_refused(dperm):
    postgres = pytest.importorskip("postgres")
    with postgres.lent() as url:
        Ledger.open(url, PureDP(1.0, "replace_one"), dataset="x").reserve(Pure(0.5, "replace_one"))
        assert "0.5" in dperm("ledger show", url).stdout
        postgres.shared().run(
            "ALTER TABLE dperm.meter DISABLE TRIGGER ALL; UPDATE dperm.meter SET spent = 0;"
            "ALTER TABLE dperm.meter ENABLE TRIGGER ALL",
            url,
        )
        result = dperm("ledger show", url)
    assert (result.exit_code, result.stdout) == (3, "") and "cannot be trusted" in result.stderr


def test_the_spendable_amount_is_shown_where_an_ancestor_has_less(dperm, answered, census):
    found = answered("ledger show census.ledger --account part")["accounts"][0]
    child = Ledger("census.ledger", "part")
    assert found["remaining"]["rho"] == 0.5 and found["limited_by"] == "main"
    assert 0 < found["spendable"]["rho"] == child.spendable.rho < 0.3
    assert [one["account"] for one in found["ancestors"]] == ["main"]
    said = dperm("ledger show census.ledger").stdout
    header, row = said.splitlines()[0], next(line for line in said.splitlines() if line.startswith("part "))
    assert header.split() == ["account", "quantity", "limit", "spent", "remaining", "spendable", "used"]
    limit, spent, left, most = map(float, row.split()[2:6])
    assert (limit, spent, left) == (0.5, 0.0, 0.5) and most == pytest.approx(child.spendable.rho, rel=1e-6)
    assert most <= child.spendable.rho and "limited by account 'main'" in said


def test_a_child_beyond_its_parent_is_warned_about_at_the_command_line(dperm, census):
    said = dperm(
        "ledger open census.ledger --account more --parent main --dataset x --adjacency replace_one --epsilon 9"
    )
    assert said.exit_code == 0
    assert "Warning: account 'more' has" in said.stderr and "its ancestor 'main', which has" in said.stderr
