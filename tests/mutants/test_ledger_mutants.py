# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the ledger, each against an assertion that must fail on it.

A mutant is a module with one line changed the way ledgers have gone wrong elsewhere: a cost rounded down, a sum not
kept, a request not looked up, a hash that forgets, a lock that is not held, a log that is not synced. It is put in the
place of the real module, in every module that uses it.
"""

import os
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import dperm.ledger
from dperm import GDP, ApproxDP, Laplace, Pure, PureDP
from dperm.errors import BudgetError, DpermError, LedgerError, ParameterError, SupersededError
from dperm.ledger import stores, transactions
from dperm.ledger.entry import row_of
from dperm.ledger.sqlite import handles, tables
from dperm.privacy.guarantee import guarantee_as_dict

pytestmark = pytest.mark.filterwarnings("ignore:account .* remaining, but its ancestor")
ADD = "add_remove"
QUARTER = Pure(0.25, ADD)
WHO = {"reason": "r", "by": "b"}


@contextmanager
def in_place(module: ModuleType) -> Iterator[Path]:
    """``module`` wherever the real one, or something of it, is used; and a directory for ledgers."""
    real = sys.modules[module.__name__.removeprefix("mutant_of_")]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        for name, user in list(sys.modules.items()):
            if name.startswith("dperm.ledger"):
                for key, value in list(vars(user).items()):
                    if value is real:
                        patch.setattr(user, key, module)
                    elif getattr(value, "__module__", None) == real.__name__ and hasattr(module, key):
                        patch.setattr(user, key, getattr(module, key))
        yield Path(folder) / "census.ledger"
        for handle in list(handles._open.handles):
            handles.forget(handle)


def opened(path, limit=1.0, **declared):
    return dperm.ledger.Ledger.open(path, PureDP(limit, ADD), dataset=f"data of {declared}", **declared)


def refused(action, *arguments, **options):
    """What was raised, if it was an error of ours."""
    try:
        action(*arguments, **options)
    except DpermError as error:
        return error
    return None


def units_are_safe(module):
    """Costs up, limits down, in exact fractions."""
    rule = module.rule_of(PureDP(0.3, ADD), None, "basic")
    assert module.amount(rule, "epsilon", module.cost_units(rule, (1e-19,))["epsilon"]) >= Fraction(1e-19)
    assert module.cost_units(rule, (0.3,)) == module.capacity_units(rule), "a limit covers a release of its size"
    square = module.rule_of(GDP(0.3, ADD), None, "basic")  # a square has twice the digits of a double
    assert module.amount(square, "mu_squared", module.capacity_units(square)["mu_squared"]) <= Fraction(0.3) ** 2
    assert isinstance(refused(module.rule_of, PureDP(1e6, ADD), None, "basic", 57), ParameterError)


def a_limit_is_a_limit(module):
    with in_place(module) as path:
        ledger = opened(path)
        granted = sum(refused(ledger.reserve, QUARTER) is None for _ in range(6))
        assert (granted, ledger.spent) == (4, {"epsilon": 1.0})
        assert isinstance(refused(ledger.check, QUARTER), BudgetError)


def one_request_is_one_charge(module):
    with in_place(module) as path:
        ledger = opened(path)
        assert not ledger.reserve(QUARTER, request_id="a").repeated
        assert refused(ledger.reserve, QUARTER, request_id="a") is None
        assert ledger.reserve(QUARTER, request_id="a").repeated
        assert isinstance(refused(ledger.reserve, Pure(0.5, ADD), request_id="a"), BudgetError)
        assert ledger.spent["epsilon"] == 0.25


def closings_are_final(module):
    with in_place(module) as path:
        ledger = opened(path)
        reservation = ledger.reserve(QUARTER)
        reservation.burn("stopped")
        assert isinstance(refused(reservation.commit, "sha256:1"), BudgetError)
        other = ledger.reserve(QUARTER)
        other.commit("sha256:1")
        assert isinstance(refused(other.commit, "sha256:2"), BudgetError)
        assert [booking.state.value for booking in ledger.bookings()] == ["burned", "committed"]
        assert ledger.spent["epsilon"] == 0.5


def a_reservation_is_its_own_line(module):
    with in_place(module) as path:
        here, there = opened(path), opened(path.with_name("other.ledger"))
        mine, _ = there.reserve(QUARTER), here.reserve(QUARTER)
        strange = type(mine)(here.location, mine.places, mine.request_id)
        assert isinstance(refused(strange.commit, "sha256:1"), LedgerError)


def parents_pay_too(module):
    with in_place(module) as path:
        parent = opened(path, 0.5, account="census")
        child = opened(path, account="north", parents=["census"])
        child.reserve(QUARTER, request_id="a").commit("sha256:1")
        assert parent.spent == {"epsilon": 0.25}
        assert [booking.state.value for booking in parent.bookings()] == ["committed"]
        assert isinstance(refused(child.reserve, Pure(0.5, ADD)), BudgetError)
        assert child.spent == {"epsilon": 0.25}
        assert isinstance(refused(parent.reserve, Pure(0.125, ADD), request_id="north/b"), ParameterError)
        assert isinstance(refused(opened, path, account="north/b"), ParameterError)
        assert isinstance(refused(opened, path, account="visits", unit="one visit", parents=["census"]), ParameterError)


def approvals_are_asked_for(module):
    with in_place(module) as path:
        ledger = opened(path, account="census", approval=True)
        child = opened(path, account="north", parents=["census"])
        assert isinstance(refused(ledger.reserve, QUARTER, request_id="a"), BudgetError)
        assert isinstance(refused(child.reserve, QUARTER, request_id="a"), BudgetError)
        ledger.approve("a", event=QUARTER, **WHO)
        assert isinstance(refused(ledger.reserve, Pure(0.5, ADD), request_id="a"), BudgetError)
        assert refused(ledger.reserve, QUARTER, request_id="a") is None


def limits_keep_their_kind_and_what_is_spent(module):
    with in_place(module) as path:
        ledger = opened(path)
        ledger.reserve(Pure(0.5, ADD))
        assert isinstance(refused(ledger.change_limit, PureDP(0.25, ADD), **WHO), BudgetError)
        assert refused(ledger.change_limit, PureDP(2.0, ADD), **WHO) is None
        assert (ledger.spent, ledger.remaining) == ({"epsilon": 0.5}, PureDP(1.5, ADD))
        assert isinstance(refused(opened, path), LedgerError)
        other = dperm.ledger.Ledger.open(path, ApproxDP(1.0, 1e-6, ADD), account="b", dataset="b", blocks=2)
        assert isinstance(refused(other.change_limit, ApproxDP(1.0, 1e-3, ADD), **WHO), ParameterError)
        ledger.change_limit(PureDP(0.5, ADD), **WHO)
        assert (ledger.limit, ledger.promise) == (PureDP(0.5, ADD), PureDP(2.0, ADD))
        ledger.change_limit(PureDP(1.0, ADD), **WHO)
        assert ledger.promise == PureDP(2.0, ADD)
        assert ledger.reserve(Pure(0.0, ADD)).receipt.get("promise") == guarantee_as_dict(PureDP(2.0, ADD))


def tampered(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)


CHANGES = [
    """UPDATE entry SET cost = '{"epsilon": 1}' WHERE seq = 2""",
    "UPDATE entry SET body = replace(body, 'sha256:1', 'sha256:9') WHERE seq = 3",
    "UPDATE entry SET at = '2020' WHERE seq = 2",
    "UPDATE entry SET request_id = 'z' WHERE seq = 2",
    "UPDATE entry SET about = 4 WHERE seq = 3",
    "DELETE FROM entry WHERE seq = 3",
    "UPDATE meter SET spent = 0",
    "UPDATE meter SET capacity = capacity + 1",
    "UPDATE entry SET previous = 'x' WHERE seq = 3",
    """UPDATE entry SET body = replace(body, '"meters": {"epsilon": [', '"meters": {"epsilon": [1') WHERE seq = 4""",
]


def verify_sees_what_was_changed(module):
    for change in CHANGES:
        with in_place(module) as path:
            ledger = opened(path)
            ledger.reserve(QUARTER, request_id="a").commit("sha256:1")
            ledger.reserve(QUARTER, request_id="b")
            assert dperm.ledger.verify(path).ok
            path.with_name(f"{path.name}.lock").unlink()
            tampered(path, change)
            assert not dperm.ledger.verify(path).ok, change


def a_spliced_chain_is_seen(module):
    """A line of another ledger with the right number: its own hash is right, and it does not follow."""
    with in_place(module) as path:
        for name in (path, path.with_name("other.ledger")):
            opened(name).reserve(QUARTER, request_id="a")
        with closing(sqlite3.connect(path.with_name("other.ledger"))) as other:
            row = other.execute("SELECT cost, body, at, previous, hash FROM entry WHERE seq = 2").fetchone()
        path.with_name(f"{path.name}.lock").unlink()
        values = ", ".join(
            f"{name} = '{value}'" for name, value in zip(("cost", "body", "at", "previous", "hash"), row, strict=True)
        )
        tampered(path, f"UPDATE entry SET {values} WHERE seq = 2")
        assert not dperm.ledger.verify(path).ok


def the_hash_depends_on_the_line_before(module):
    first = module.next_entry("a", None, module.EntryKind.OPEN)
    twin = replace(first, at="2020").with_hash()
    lines = [module.next_entry("a", head, module.EntryKind.BURN, about=1) for head in (first, twin)]
    same = [replace(line, at="2020").with_hash().hash for line in lines]
    assert same[0] != same[1]
    changes = ({"cost": {"x": 1}}, {"body": {"x": 1}}, {"meters": {"x": (1, 1)}}, {"about": 3})
    assert len({first.hash, *(replace(first, **change).with_hash().hash for change in changes)}) == 5


def anchors_see_what_is_gone(module):
    with in_place(module) as path:
        ledger = opened(path)
        handles.forget(path)
        shutil.copy(path, path.with_name("old"))
        ledger.reserve(QUARTER)
        anchor = ledger.anchor()
        assert dperm.ledger.verify(path, [anchor]).ok
        for change in ({"seq": 1}, {"hash": "0" * 64}, {"ledger": "0" * 32}, {"signature": "00" * 64}):
            assert not replace(anchor, **change).is_signed
            assert not dperm.ledger.verify(path, [replace(anchor, **change)]).ok
        assert not dperm.ledger.verify(path.with_name("old"), [anchor]).ok
        handles.forget(path.with_name("old"))
        transactions._last.clear()
        dperm.ledger.Ledger(path.with_name("old")).reserve(QUARTER)
        assert not dperm.ledger.verify(path.with_name("old"), [anchor]).ok
        own = Ed25519PrivateKey.generate()
        posing = replace(anchor, public_key=own.public_key().public_bytes_raw().hex())
        assert not replace(posing, signature=own.sign(posing.message).hex()).is_signed


def a_cheated_price_is_seen(module):
    with in_place(module) as path:
        ledger = opened(path)
        ledger.reserve(Laplace(4.0))
        line = ledger.entries()[1]
        claimed = {"epsilon": (line.meters["epsilon"][0], 1)}
        line = replace(line, cost={"epsilon": 1}, meters=claimed).with_hash()
        path.with_name(f"{path.name}.lock").unlink()
        cost, body = row_of(line)[5:7]
        change = f"UPDATE entry SET cost = '{cost}', body = '{body}', hash = '{line.hash}' WHERE seq = 2"
        tampered(path, change, "UPDATE meter SET spent = 1")
        assert dperm.ledger.verify(path).ok
        assert not dperm.ledger.verify(path, prices=True).ok


def an_older_copy_is_refused(module):
    with in_place(module) as path:
        ledger = opened(path)
        handles.forget(path)
        shutil.copy(path, path.with_name("old"))
        ledger.reserve(QUARTER)
        handles.forget(path)
        path.with_name("old").rename(path)
        assert isinstance(refused(ledger.reserve, QUARTER), LedgerError)
        assert isinstance(refused(lambda: ledger.spent), LedgerError)
        path.unlink()
        assert isinstance(refused(opened, path), LedgerError)
        assert not path.exists()


def a_line_is_synced(module):
    with in_place(module) as path:
        opened(path)
        with module.borrow(path) as handle:
            assert handle.connection.execute("PRAGMA synchronous").fetchone() == (2,)
        module.forget(path)


def other_databases_are_left_alone(module):
    with in_place(module) as path:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE places (url TEXT)")
        before = path.read_bytes()
        assert isinstance(refused(opened, path), LedgerError)
        assert path.read_bytes() == before
        module.forget(path)


def a_writer_holds_the_database_from_its_first_line(module):
    """Between the comparison and the charge nobody else writes, not even without the lock beside the file."""
    with in_place(module) as path:
        ledger = opened(path)
        with stores.store_of(ledger.location).write(["main"]), closing(sqlite3.connect(path, timeout=0)) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
                raise AssertionError("somebody else could write")


def a_failed_change_is_undone(module):
    with in_place(module) as path:
        ledger = opened(path)
        with suppress(RuntimeError), stores.store_of(ledger.location).write(["main"]) as books:
            head = books.head("main")
            books.append(dperm.ledger.entry.next_entry("main", head, dperm.ledger.EntryKind.BURN))
            raise RuntimeError
        assert len(ledger.entries()) == 1
        assert refused(ledger.reserve, QUARTER) is None


def a_lock_is_held_by_one(module):
    with in_place(module) as path:
        path.touch()
        inside, most = [], []

        def work():
            with module.exclusive(path):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.02)
                inside.pop()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert max(most) == 1


def a_lock_is_given_back_though_a_copy_of_the_process_has_the_file(module):
    with in_place(module) as path:
        path.touch()
        with module.exclusive(path) as lock:
            copy = os.dup(lock._file)
        mine = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR)
        try:
            module.fcntl.flock(mine, module.fcntl.LOCK_EX | module.fcntl.LOCK_NB)
        except BlockingIOError:
            raise AssertionError("the lock is kept") from None
        finally:
            os.close(copy), os.close(mine)


def a_mark_goes_where_it_belongs(module):
    with in_place(module) as path:
        path.touch()
        victim = path.with_name("victim")
        victim.write_text("mine")
        path.with_name(f"{path.name}.lock").symlink_to(victim)
        with suppress(LedgerError), module.exclusive(path) as lock:
            lock.write(module.LedgerMark(1, "0" * 64, "0" * 64))
        assert victim.read_text() == "mine"


def meters_are_those_of_the_last_line(module):
    """Edited without the mark, and by a way that no full reading guards: through the books themselves."""
    for change in ("capacity = 8 * capacity", "spent = spent - 1", "capacity = capacity, spent = 0"):
        with in_place(module) as path:
            ledger = opened(path)
            ledger.reserve(QUARTER, request_id="a").commit("sha256:1")
            tampered(path, f"UPDATE meter SET {change}")
            path.with_name(f"{path.name}.lock").unlink()
            assert isinstance(refused(lambda one=ledger: one.spent), LedgerError)
            assert isinstance(refused(ledger.check, QUARTER), LedgerError)
            assert isinstance(refused(ledger.reserve, QUARTER), LedgerError)


def a_line_is_written_after_what_it_says(module):
    with in_place(module) as path:
        ledger = opened(path)
        reservation = ledger.reserve(QUARTER)
        with suppress(LedgerError), stores.store_of(ledger.location).write(["main"]) as books:
            books.set_meter("main", "epsilon", replace(books.meters("main")["epsilon"], capacity=2**60))
            bookkeeping = sys.modules["dperm.ledger.reservation"].bookkeeping
            bookkeeping.close(books, reservation.places[0], dperm.ledger.EntryKind.BURN, {"reason": "r"})
            raise AssertionError("the meters are not those of the line before")


def accounts_stand_as_the_mark_says(module):
    with in_place(module) as path:
        for name in ("a", "b"):
            opened(path, account=name).reserve(QUARTER)
        handles.forget(path)
        transactions._last.clear()
        old = ["DELETE FROM entry WHERE account = 'a' AND seq = 2", "UPDATE meter SET spent = 0 WHERE account = 'a'"]
        tampered(path, *old)
        assert isinstance(refused(dperm.ledger.Ledger(path, "a").reserve, QUARTER), LedgerError)


def a_process_knows_what_it_wrote(module):
    with in_place(module) as path:
        ledger = opened(path)
        handles.forget(path)
        shutil.copy(path, path.with_name("old"))
        ledger.reserve(QUARTER)
        assert isinstance(refused(dperm.ledger.Ledger(path.with_name("old")).reserve, QUARTER), LedgerError)


def receipts_are_signed_word_for_word(module):
    with in_place(module) as path:
        receipt = opened(path).reserve(QUARTER).receipt
        assert module.receipt_is_signed(receipt)
        for change in ({"unit": "one visit"}, {"spent": {"epsilon": 0.0}}, {"signature": "00" * 64}):
            assert not module.receipt_is_signed({**receipt, **change})
        strange = module.Identity.generate()
        posing = {name: value for name, value in receipt.items() if name != "receipt_signature"}
        assert not module.receipt_is_signed(strange.sign_receipt({**posing, "public_key": strange.public_key}))


def facts_are_small(module):
    with in_place(module) as path:
        ledger, deep = opened(path), 0
        for _ in range(30):
            deep = [deep]
        for facts in ({"x": deep}, {"x": "x" * 2**16}):
            assert isinstance(refused(ledger.reserve, QUARTER, facts=facts), ParameterError)


def nobody_waits_for_himself(module):
    with in_place(module) as path:
        opened(path)
        with module.exclusive_use(path):
            assert isinstance(refused(lambda: module.exclusive_use(path).__enter__()), LedgerError)


def a_charge_above_is_of_the_same_request(module):
    """The line of the parent is exchanged for one of the same event and id, with a token of its own."""
    with in_place(module) as path:
        parent = opened(path, account="census")
        opened(path, account="north", parents=["census"]).reserve(QUARTER, request_id="a")
        line = parent.entries()[-1]
        new = replace(line, body={**line.body, "token": "0" * 32}).with_hash()
        path.with_name(f"{path.name}.lock").unlink()
        where = "WHERE account = 'census' AND seq = 2"
        tampered(path, f"UPDATE entry SET body = '{row_of(new)[6]}', hash = '{new.hash}' {where}")
        assert not dperm.ledger.verify(path).ok


def the_last_holder_alone_draws(module):
    with in_place(module) as path:
        ledger = opened(path)
        first = ledger.reserve(QUARTER, request_id="a")
        first.lease(10)
        second = ledger.reserve(QUARTER, request_id="a")
        assert second.take_over(4) == 10
        for action in (first.check_holder, lambda: first.lease(20), lambda: first.commit("sha256:1")):
            assert isinstance(refused(action), SupersededError)
        second.lease(20)
        assert ledger.reserve(QUARTER, request_id="a").take_over(0) == 20
        other = ledger.reserve(QUARTER, request_id="b")
        other.lease(5)
        other.burn("stopped")
        assert isinstance(refused(other.lease, 9), BudgetError)
        again = ledger.reserve(QUARTER, request_id="b")
        assert isinstance(refused(again.take_over, 0), BudgetError)
        with stores.store_of(ledger.location).write(["main"]) as books:
            body = {"holder": "x", "draws": 3}
            books.append(
                dperm.ledger.entry.next_entry(
                    "main", books.head("main"), dperm.ledger.EntryKind.LEASE, about=2, body=body
                )
            )
        assert not dperm.ledger.verify(path).ok


def stages_belong_to_an_open_reservation(module):
    with in_place(module) as path:
        ledger = opened(path)
        first = ledger.reserve(QUARTER, request_id="a")
        first.record_stage("preparation", {"digest": "sha256:1"})
        first.record_stage("preparation", {"digest": "sha256:1"})
        assert [line.kind.value for line in ledger.entries()] == ["open", "reserve", "stage"]
        assert isinstance(refused(first.record_stage, "preparation", {"digest": "sha256:2"}), BudgetError)
        other = ledger.reserve(QUARTER, request_id="a")
        assert isinstance(refused(other.record_stage, "training", {}), BudgetError)
        other.take_over(0)
        assert isinstance(refused(first.record_stage, "training", {}), SupersededError)
        other.record_stage("training", {})
        other.commit("sha256:3")
        assert type(refused(other.record_stage, "evaluation", {})) is BudgetError
        assert ledger.spent == {"epsilon": 0.25}
        assert len(ledger.entries()) == 6


def verify_checks_stages(module):
    """Stages that the bookkeeping would not write, with right hashes; and a stage that was edited."""
    for about, name, holder in ((9, "b", ""), (2, "a", ""), (2, "b", "x"), (2, "", "")):
        with in_place(module) as path:
            ledger = opened(path)
            reservation = ledger.reserve(QUARTER)
            reservation.record_stage("a", {})
            kept = reservation.holder
            with stores.store_of(ledger.location).write(["main"]) as books:
                body = {"name": name, "facts": {}, "holder": holder or kept}
                head, stage = books.head("main"), dperm.ledger.EntryKind.STAGE
                books.append(dperm.ledger.entry.next_entry("main", head, stage, about=about, body=body))
            assert not dperm.ledger.verify(path).ok
    with in_place(module) as path:
        ledger = opened(path)
        reservation = ledger.reserve(QUARTER)
        reservation.commit("sha256:1")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("DROP TRIGGER entry_new")
        with stores.store_of(ledger.location).write(["main"]) as books:
            body = {"name": "late", "facts": {}, "holder": reservation.holder}
            head, stage = books.head("main"), dperm.ledger.EntryKind.STAGE
            books.append(dperm.ledger.entry.next_entry("main", head, stage, about=2, body=body))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(tables.ENTRY_NEW[3])
        assert not dperm.ledger.verify(path).ok
    with in_place(module) as path:
        opened(path).reserve(QUARTER).record_stage("a", {"digest": "sha256:1"})
        assert dperm.ledger.verify(path).ok
        path.with_name(f"{path.name}.lock").unlink()
        tampered(path, "UPDATE entry SET body = replace(body, 'sha256:1', 'sha256:2') WHERE seq = 3")
        assert not dperm.ledger.verify(path).ok


def a_burned_charge_is_burned_everywhere(module):
    with in_place(module) as path:
        parent = opened(path, account="census")
        child = opened(path, account="north", parents=["census"])
        running = child.reserve(QUARTER, request_id="a")
        child.burn("a", **WHO)
        assert [one.bookings()[0].state.value for one in (child, parent)] == ["burned", "burned"]
        assert isinstance(refused(running.commit, "sha256:1"), BudgetError)
        assert child.spent == parent.spent == {"epsilon": 0.25}
        assert isinstance(refused(lambda: child.burn("b", **WHO)), BudgetError)


def old_formats_are_not_charged(module):
    with in_place(module) as path:
        ledger = opened(path)
        path.with_name(f"{path.name}.lock").unlink()
        older = [
            "DROP INDEX leases",
            "DROP INDEX stages",
            "DROP INDEX one_closing",
            tables.ONE_CLOSING[1],
            "UPDATE ledger SET format = 1",
        ]
        tampered(path, *older)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("DROP TRIGGER entry_new")
            connection.execute(tables.ENTRY_NEW[1])
        assert dperm.ledger.verify(path).ok
        assert isinstance(refused(ledger.reserve, QUARTER), LedgerError)
        assert len(ledger.entries()) == 1


def a_mounted_file_is_refused(module):
    with in_place(module) as path, pytest.MonkeyPatch.context() as patch:
        opened(path)
        table = path.with_name("mounts")
        table.write_text(f"36 21 8:1 /x {path.resolve()} rw - ext4 /dev/sda1 rw\n")
        patch.setattr(module, "MOUNTS", table)
        assert isinstance(refused(module.require_local, path), LedgerError) or sys.platform != "linux"


MUTANTS = {
    meters_are_those_of_the_last_line: [
        ("charges", "    require_same_meters(facts.name, books.head(facts.name), found)\n", ""),
        ("charges", "if shown != stood or (", "if ("),
    ],
    a_line_is_written_after_what_it_says: [
        ("bookkeeping", "    require_same_meters(account, head, books.meters(account))\n", ""),
    ],
    accounts_stand_as_the_mark_says: [
        ("sqlite.store", "whole=mark == _mark(books, handle)", "whole=True"),
        ("sqlite.books", "json.dumps([heads, meters.fetchall()])", "json.dumps([])"),
    ],
    a_process_knows_what_it_wrote: [
        ("transactions", "        _require_known_lines(books, ledger, names)\n", ""),
        ("transactions", "or line.hash != known.hash", "and False"),
        ("transactions", "checked_write(store, names)", "store.write(names)"),
    ],
    receipts_are_signed_word_for_word: [
        ("anchor", "not isinstance(signature, str) or not anchor.is_signed", "not isinstance(signature, str)"),
        ("anchor", 'json.dumps(["dperm receipt", dict(receipt)]', 'json.dumps(["dperm receipt", receipt["hash"]]'),
    ],
    the_last_holder_alone_draws: [
        ("bookkeeping", "    _append_lease(books, place, last, holder, counted)\n", ""),
        ("bookkeeping", "max(draws, _leased(last))", "draws"),
        ("bookkeeping", 'last.body.get("holder") != holder', "False"),
        ("bookkeeping", "    require_holder(books, place, holder)\n    _require_open", "    _require_open"),
        ("bookkeeping", "    _require_open(books, place)\n    last", "    last"),
        ("reservation", "            bookkeeping.require_holder(books, self.places[0], self.holder)\n", ""),
        ("replay", "if before[0] != holder and draws < before[1]:", "if False:"),
        (
            "ledger",
            "LedgerReservation(self.location, places, asked, repeated, token)",
            "LedgerReservation(self.location, places, asked, repeated, asked)",
        ),
    ],
    stages_belong_to_an_open_reservation: [
        ("bookkeeping", "    require_holder(books, place, holder)\n    line", "    line"),
        (
            "bookkeeping",
            '.last_lease(place.account, place.seq) is None and line.body.get("token") != holder',
            ".head('')",
        ),
        ("bookkeeping", "    _require_open(books, place)\n    body", "    body"),
        ("bookkeeping", 'if stage.body.get("facts") != body["facts"]:', "if False:"),
        ("bookkeeping", 'if stage.body.get("name") == name:', "if False:"),
    ],
    verify_checks_stages: [
        ("replay", "        _check_chain(state, entry)\n", "        entry.about or _check_chain(state, entry)\n"),
        ("replay", "            _stage(state, entry, body)\n", "            pass\n"),
        (
            "replay",
            'state.closed:\n        state.add_problem(entry, "it records a stage of a',
            'state.closed and False:\n        state.add_problem(entry, "it records a stage of a',
        ),
        ("replay", "if (about, name) in state.stages:", "if False:"),
        ("replay", 'if body["holder"] != state.holders.get(about):', "if False:"),
        ("replay", "not isinstance(name, str) or not name or", "not isinstance(name, str) or"),
        ("entry", "dict(self.cost), dict(self.body)", "dict(self.cost), self.body.get('token')"),
    ],
    a_burned_charge_is_burned_everywhere: [
        ("ledger", 'in _known_places(books, line, known, known.body["event"]):', "in [EntryReference.of(known)]:"),
        (
            "ledger",
            "            if known is None:\n                raise",
            "            if known is None:\n                return\n                raise",
        ),
    ],
    old_formats_are_not_charged: [("transactions", "        require_current(books)\n", "")],
    facts_are_small: [
        ("public_facts", "if len(text) > LONGEST_FACTS or not", "if not"),
        ("public_facts", "LONGEST_FACTS or not _is_flat(found, DEEPEST):", "LONGEST_FACTS:"),
    ],
    nobody_waits_for_himself: [("sqlite.handles", "        _open.used.add(path)\n", "")],
    a_charge_above_is_of_the_same_request: [("replay", '[event, entry.body["token"]]', "[event]")],
    a_mounted_file_is_refused: [("disks", "if not path.is_dir() and path.resolve() in", "if False and path in")],
    units_are_safe: [
        ("units", "math.ceil(Fraction(number)", "math.floor(Fraction(number)"),
        ("units", "math.floor(most /", "math.ceil(most /"),
        ("units", "BITS = 57", "BITS = 40"),
        ("units", "if max(capacity_units(counted).values()) > MOST:", "if False:"),
    ],
    a_limit_is_a_limit: [
        ("bookkeeping", "meters[name].spent + units", "meters[name].spent"),
        ("charges", "if asked > meter.capacity - meter.spent:", "if asked > meter.capacity:"),
        ("charges", "        require_covered(books, charge, event)\n", ""),
    ],
    one_request_is_one_charge: [
        ("ledger", 'known.body["token"] != token', "False"),
        ("ledger", 'if known.body["event"] != event:', "if False:"),
        (
            "ledger",
            "            if known is None:\n                return",
            "            if True:\n                return",
        ),
    ],
    closings_are_final: [
        ("bookkeeping", "if closed.kind is not kind or (", "if False and ("),
        ("bookkeeping", "(kind is EntryKind.COMMIT and dict(closed.body) != dict(body))", "False"),
    ],
    a_reservation_is_its_own_line: [("bookkeeping", "if line is None or line.hash != place.hash:", "if line is None:")],
    parents_pay_too: [
        ("bookkeeping", "            waiting += found[name].parents\n", ""),
        ("reservation", "for place in self.places:", "for place in self.places[:1]:"),
        (
            "charges",
            "    for charge in charges:\n        require_approval",
            "    for charge in charges[:1]:\n        require_approval",
        ),
        ("account_facts", 'if "/" in line_of_text(name, value):', "if not line_of_text(name, value):"),
        ("bookkeeping", "if facts.unit != parent.unit:", "if False:"),
    ],
    approvals_are_asked_for: [
        ("charges", "        require_approval(books, charge, described)\n", ""),
        ("charges", 'if given is None or given.body.get("event") not in (None, event):', "if given is None:"),
        (
            "charges",
            "    if not charge.facts.approval:\n",
            '    if "/" in charge.request_id or not charge.facts.approval:\n',
        ),
    ],
    limits_keep_their_kind_and_what_is_spent: [
        ("bookkeeping", "if capacity < meters[name].spent]", "if False]"),
        ("bookkeeping", "Meter(capacity, meters[name].spent)", "Meter(capacity, 0)"),
        ("bookkeeping", '"promise": guarantee_as_dict(facts.promise)', '"promise": guarantee_as_dict(facts.limit)'),
        ("account_facts", "return replace(changed, promised=self.promise) if larger else changed", "return changed"),
        ("reservation", "{} if facts.promised is None else", "{} if True else"),
        ("account_facts", " or _delta(limit) != _delta(self.limit)", ""),
    ],
    verify_sees_what_was_changed: [
        ("replay", "if entry.hash != entry.content_hash:", "if False:"),
        ("verify", "if books.meters(name) == replayed.meters:", "if True:"),
        ("entry", "dict(self.meters), self.at]", "dict(self.meters)]"),
        ("entry", "self.request_id, self.about]", "self.about]"),
    ],
    a_spliced_chain_is_seen: [("replay", "if entry.previous != state.head:", "if False:")],
    the_hash_depends_on_the_line_before: [
        ("entry", "content = [self.previous, self.account", "content = [self.account"),
        ("entry", "self.request_id, self.about]", "self.request_id]"),
        ("entry", "dict(self.cost), dict(self.body)", "dict(self.body)"),
        ("entry", "dict(self.cost), dict(self.body)", "dict(self.cost)"),
        ("entry", "dict(self.meters), self.at]", "self.at]"),
    ],
    anchors_see_what_is_gone: [
        ("verify", "    if line is None:\n", "    if line is None:\n        return []\n    if line is None:\n"),
        ("verify", "if line.hash != anchor.hash:", "if False:"),
        ("verify", "if not anchor.is_signed:", "if False:"),
        ("anchor", " and id_of(self.public_key) == self.ledger", ""),
        ("anchor", "self.account, self.seq, self.hash]", "self.account, self.seq]"),
        ("anchor", "self.account, self.seq, self.hash]", "self.account, self.hash]"),
        ("anchor", "        return False\n    return True", "        return True\n    return True"),
    ],
    a_cheated_price_is_seen: [("replay", "if any(fair[key] > units + 1 + PRICE_TOLERANCE * units", "if any(False")],
    an_older_copy_is_refused: [
        ("sqlite.store", "if mark is not None and not books.holds(mark):", "if False:"),
        ("sqlite.store", "                    lock.write(last)", "                    pass"),
        ("sqlite.store", "                self._require_new(read_mark(self.path))\n", "                pass\n"),
    ],
    a_line_is_synced: [("sqlite.handles", "synchronous = FULL", "synchronous = NORMAL")],
    other_databases_are_left_alone: [("sqlite.handles", 'if "ledger" not in schema_names(connection):', "if False:")],
    a_writer_holds_the_database_from_its_first_line: [
        ("sqlite.store", '_transaction(handle, "IMMEDIATE")', '_transaction(handle, "DEFERRED")')
    ],
    a_failed_change_is_undone: [("sqlite.store", 'connection.execute("ROLLBACK")', 'connection.execute("COMMIT")')],
    a_lock_is_held_by_one: [("locking", "fcntl.flock(self._file, fcntl.LOCK_EX)", "pass")],
    a_lock_is_given_back_though_a_copy_of_the_process_has_the_file: [
        ("locking", "fcntl.flock(self._file, fcntl.LOCK_UN)", "pass")
    ],
    a_mark_goes_where_it_belongs: [("locking", " | os.O_NOFOLLOW", "")],
}


@pytest.mark.parametrize(
    ("check", "name", "old", "new"), [(check, *mutant) for check, mutants in MUTANTS.items() for mutant in mutants]
)
def test_an_unsafe_mutant_is_killed(check, name, old, new, assert_killed):
    assert_killed(check, f"dperm.ledger.{name}", old, new)
